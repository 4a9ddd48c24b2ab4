//! Guesses where in a file a text may start: whole lines vote, then the characters of its longest line.
//!
//! Line indexes count from 0 here; a start may be negative where the text's first lines are missing.

use std::collections::HashMap;

use super::LINE_BYTES;
use crate::lines::Lines;

/// Whole lines vote in so many bytes of the file.
const VOTE_BYTES: usize = 32 << 20;
/// Characters are compared in so many bytes of the file.
const FUZZY_BYTES: usize = 8 << 20;
/// So many different starts are counted.
const COUNTED: usize = 100_000;
/// So many starts are given by each way.
const GIVEN: usize = 12;
/// So many bytes of a line are compared by characters.
const FUZZY_LINE: usize = 512;
/// A line must share so much with the longest line of the text.
const LEAST_SHARED: f64 = 0.35;

/// Gives the starts that are worth a closer look.
pub(super) fn starts(bytes: &[u8], text: &[&[u8]]) -> Vec<i64> {
    let (mut starts, share) = by_lines(bytes, text);
    if share < 0.6 {
        starts.extend(by_characters(bytes, text));
    }
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// Counts lines that are the same but for white space; also gives the best share of the text's weight.
fn by_lines(bytes: &[u8], text: &[&[u8]]) -> (Vec<i64>, f64) {
    let mut wanted: HashMap<u64, Vec<(i64, usize)>> = HashMap::new();
    let mut whole = 0;
    for (index, line) in (0_i64..).zip(text) {
        if let Some((key, weight)) = key(line) {
            whole += weight;
            let places = wanted.entry(key).or_default();
            if places.len() < 8 {
                places.push((index, weight));
            }
        }
    }
    let mut votes: HashMap<i64, usize> = HashMap::new();
    for (index, line) in (0_i64..).zip(Lines::new(&bytes[..bytes.len().min(VOTE_BYTES)])) {
        let Some((key, _)) = key(&bytes[line]) else { continue };
        for &(offset, weight) in wanted.get(&key).map_or(&[][..], Vec::as_slice) {
            if votes.len() < COUNTED || votes.contains_key(&(index - offset)) {
                *votes.entry(index - offset).or_default() += weight;
            }
        }
    }
    let mut ranked: Vec<(i64, usize)> = votes.into_iter().collect();
    ranked.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    let share = ranked.first().map_or(0.0, |best| ratio(best.1, whole));
    (ranked.into_iter().take(GIVEN).map(|(start, _)| start).collect(), share)
}

/// Looks for lines that share many runs of three characters with the longest line of the text.
fn by_characters(bytes: &[u8], text: &[&[u8]]) -> Vec<i64> {
    let longest = (0_i64..).zip(text).max_by_key(|(index, line)| (line.len(), -index));
    let Some((anchor, line)) = longest else { return Vec::new() };
    let mut set = vec![false; 1 << 16];
    let mut size = 0_usize;
    for run in runs(line) {
        size += usize::from(!set[run]);
        set[run] = true;
    }
    if size == 0 {
        return Vec::new();
    }
    let mut best: Vec<(f64, i64)> = Vec::new();
    for (index, line) in (0_i64..).zip(Lines::new(&bytes[..bytes.len().min(FUZZY_BYTES)])) {
        let (mut shared, mut all) = (0_usize, 0_usize);
        for run in runs(&bytes[line]) {
            all += 1;
            shared += usize::from(set[run]);
        }
        let score = ratio(2 * shared.min(size), size + all);
        if score >= LEAST_SHARED && (best.len() < GIVEN || best.last().is_some_and(|least| score > least.0)) {
            let at = best.partition_point(|seen| seen.0 >= score);
            best.insert(at, (score, index - anchor));
            best.truncate(GIVEN);
        }
    }
    best.into_iter().map(|(_, start)| start).collect()
}

/// The runs of three characters of a line, white space left out, as numbers below 65,536.
fn runs(line: &[u8]) -> impl Iterator<Item = usize> {
    let mut last = [0_u32; 2];
    let mut seen = 0;
    line.iter().take(FUZZY_LINE).filter(|byte| !byte.is_ascii_whitespace()).filter_map(move |&byte| {
        let byte = u32::from(byte);
        let mixed = (last[0] << 16 | last[1] << 8 | byte).wrapping_mul(0x9e37_79b1) >> 16;
        last = [last[1], byte];
        seen += 1;
        (seen >= 3).then_some(mixed as usize)
    })
}

/// A number for a line without its white space (FNV-1a), and its weight; `None` for a blank line.
fn key(line: &[u8]) -> Option<(u64, usize)> {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut weight = 0;
    for &byte in line.iter().take(LINE_BYTES).filter(|byte| !byte.is_ascii_whitespace()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        weight += 1;
    }
    (weight > 0).then_some((hash, weight))
}

/// `part` of `whole`, 0 where there is no whole.
fn ratio(part: usize, whole: usize) -> f64 {
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    if whole == 0 { 0.0 } else { number(part) / number(whole) }
}
