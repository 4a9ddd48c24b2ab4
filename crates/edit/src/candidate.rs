//! The places of a file that come nearest to a text that is not there, and what differs at each.
//!
//! Work and memory are bounded whatever the file is: whole lines are compared in the first 32 MiB, single
//! characters in the first 8 MiB, at most 4 KiB of a line are looked at, and at most 400 lines of the text.

mod describe;
mod vote;

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::lines::Lines;

/// So many places are given.
const GIVEN: usize = 3;
/// Places less similar than this have little but common words with the text, and are not worth a look.
const LEAST_SIMILARITY: f64 = 0.6;
/// Nor are places that are so much less similar than the best.
const BEHIND_THE_BEST: f64 = 0.2;
/// So many lines around a place are taken in, for lines that were added or lost.
const SLACK: usize = 3;
/// So many lines of the text are compared.
const TEXT_LINES: usize = 400;
/// So many bytes of a line are compared.
pub(crate) const LINE_BYTES: usize = 4096;
/// So many differences of one place are told.
const DIFFERENCES: usize = 8;

/// A place that comes near to the text.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The lines of the place, from 1, end exclusive.
    pub lines: Range<u32>,
    /// How near it comes, from 0 to 1; 1 is the text itself.
    pub similarity: f64,
    /// What differs, one statement each, white space made visible.
    pub differences: Vec<String>,
}

/// A line of the file as compared: its number, its bytes, cut.
#[derive(Debug, Clone, Copy)]
struct FileLine<'b> {
    number: u32,
    bytes: &'b [u8],
}

/// Finds the nearest places, best first, at most three.
pub(crate) fn nearest(bytes: &[u8], find: &[u8]) -> Vec<Candidate> {
    let text: Vec<&[u8]> = Lines::new(find).take(TEXT_LINES).map(|line| cut(&find[line])).collect();
    let starts = vote::starts(bytes, &text);
    let mut found: Vec<Candidate> = windows(bytes, &starts, text.len()).iter().filter_map(|window| compare(&text, window)).collect();
    found.sort_by(|a, b| b.similarity.total_cmp(&a.similarity).then(a.lines.start.cmp(&b.lines.start)));
    let least = found.first().map_or(0.0, |best| best.similarity - BEHIND_THE_BEST);
    let mut best: Vec<Candidate> = Vec::new();
    for candidate in found.into_iter().filter(|candidate| candidate.similarity >= least) {
        let apart = best.iter().all(|seen| seen.lines.end <= candidate.lines.start || candidate.lines.end <= seen.lines.start);
        if apart && best.len() < GIVEN {
            best.push(candidate);
        }
    }
    best
}

/// Cuts a line to what is compared; its end is kept only where the line is not cut.
fn cut(line: &[u8]) -> &[u8] {
    &line[..line.len().min(LINE_BYTES)]
}

/// The lines around a guessed start.
#[derive(Debug, Clone, Default)]
struct Window<'b> {
    lines: Vec<FileLine<'b>>,
    /// Which of them the guess says the text starts at.
    at: usize,
}

/// Takes the lines around each start, which counts from 0 and may lie before the first line.
fn windows<'b>(bytes: &'b [u8], starts: &[i64], length: usize) -> Vec<Window<'b>> {
    let slack = i64::try_from(SLACK).unwrap_or(0);
    let length = i64::try_from(length).unwrap_or(i64::MAX / 2);
    let mut found = vec![Window::default(); starts.len()];
    let Some(last) = starts.iter().max() else { return found };
    for (index, line) in (0_i64..).zip(Lines::new(bytes)) {
        if index > last + length + slack {
            break;
        }
        for (start, window) in starts.iter().zip(&mut found) {
            if (start - slack..start + length + slack).contains(&index) {
                let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
                window.lines.push(FileLine { number, bytes: cut(&bytes[line.clone()]) });
                window.at += usize::from(index < *start);
            }
        }
    }
    found
}

/// Compares the text with the lines of a window; `None` where too little is alike.
fn compare(text: &[&[u8]], window: &Window<'_>) -> Option<Candidate> {
    let text_keys: Vec<Vec<u8>> = text.iter().map(|line| bare(line)).collect();
    let Window { lines: window, at } = window;
    let file_keys: Vec<Vec<u8>> = window.iter().map(|line| bare(line.bytes)).collect();
    let ops = capture_diff_slices(Algorithm::Myers, &text_keys, &file_keys);
    let ops = anchored(&ops, text.len(), window.len(), *at);
    let mut alike = 0.0;
    let mut whole = 0.0;
    let mut differences = Vec::new();
    let mut place: Option<Range<usize>> = None;
    for (old, new) in &ops {
        let paired = old.len().min(new.len());
        for offset in 0..paired {
            let (wanted, line) = (text[old.start + offset], window[new.start + offset]);
            let weight = weight(wanted).max(weight(line.bytes));
            whole += weight;
            alike += weight * describe::likeness(wanted, line.bytes);
            differences.extend(describe::pair(line.number, wanted, line.bytes));
        }
        for &wanted in &text[old.start + paired..old.end] {
            whole += weight(wanted);
            let before = window.get(new.end).or_else(|| window.last()).map_or(1, |line| line.number);
            differences.push(describe::lacking(before, wanted));
        }
        for line in &window[new.start + paired..new.end] {
            whole += weight(line.bytes);
            differences.push(describe::surplus(line.number, line.bytes));
        }
        if !new.is_empty() {
            let start = place.as_ref().map_or(new.start, |place| place.start);
            place = Some(start..new.end);
        }
    }
    let place = place?;
    let similarity = if whole > 0.0 { alike / whole } else { 0.0 };
    if similarity < LEAST_SIMILARITY {
        return None;
    }
    let hidden = differences.len().saturating_sub(DIFFERENCES);
    differences.truncate(DIFFERENCES);
    if hidden > 0 {
        differences.push(format!("{hidden} more lines differ"));
    }
    let lines = window[place.start].number..window[place.end - 1].number.saturating_add(1);
    Some(Candidate { lines, similarity, differences })
}

/// Drops the lines of the window that lie before and after the text.
///
/// A window is wider than the text. Where the text's first or last lines match nothing, as many lines of the window
/// beside the matching ones stand for them. Where no line matches, the text is laid where the guess says.
fn anchored(ops: &[DiffOp], text: usize, window: usize, at: usize) -> Vec<(Range<usize>, Range<usize>)> {
    let equal = |op: &&DiffOp| matches!(op, DiffOp::Equal { .. });
    let (Some(first), Some(last)) = (ops.iter().find(equal), ops.iter().rfind(equal)) else {
        return vec![(0..text, at.min(window)..(at + text).min(window))];
    };
    let (head_old, head_new) = (first.old_range().start, first.new_range().start);
    let (tail_old, tail_new) = (last.old_range().end, last.new_range().end);
    let head = head_old.min(head_new);
    let tail = (text - tail_old).min(window - tail_new);
    let mut pairs = vec![(0..head_old - head, 0..0), (head_old - head..head_old, head_new - head..head_new)];
    pairs.extend(
        ops.iter()
            .map(|op| (op.old_range(), op.new_range()))
            .filter(|(old, new)| old.start >= head_old && old.end <= tail_old && new.start >= head_new && new.end <= tail_new),
    );
    pairs.push((tail_old..text, tail_new..tail_new + tail));
    pairs.retain(|(old, new)| !(old.is_empty() && new.is_empty()));
    pairs
}

/// A line without its white space.
fn bare(line: &[u8]) -> Vec<u8> {
    line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect()
}

/// How much a line counts: its characters, a blank one a little.
fn weight(line: &[u8]) -> f64 {
    let count = line.iter().filter(|byte| !byte.is_ascii_whitespace()).count();
    f64::from(u32::try_from(count).unwrap_or(u32::MAX)) + 0.5
}

#[cfg(test)]
mod tests {
    use super::nearest;

    const FILE: &[u8] = b"import os\n\ndef a(x):\n    y = x + 1\n    return y\n\ndef b(x):\n\tz = x * 2\n\treturn z\n";

    #[test]
    fn white_space_that_differs_is_named() {
        let found = nearest(FILE, b"    z = x * 2\n    return z\n");
        assert_eq!(found[0].lines, 8..10);
        assert_eq!(
            found[0].differences,
            ["line 8: indent is 1 tab, the text has 4 spaces", "line 9: indent is 1 tab, the text has 4 spaces"]
        );
        let found = nearest(b"a = 1  \nb = 2\n", b"a = 1\nb = 2\n");
        assert_eq!(found[0].differences, ["line 1: ends in 2 spaces, the text in none"]);
        let found = nearest(b"f(a,b)\n", b"f(a, b)\n");
        assert_eq!(found[0].differences, ["line 1: white space differs, file: `f(a,b)`, text: `f(a,·b)`"]);
    }

    #[test]
    fn line_ends_that_differ_are_named() {
        let found = nearest(b"a = 1\r\nb = 2\n", b"a = 1\nb = 2\n");
        assert_eq!(found[0].differences, ["line 1: ends in CRLF, the text in LF"]);
        let found = nearest(b"a = 1\nb = 2", b"a = 1\nb = 2\n");
        assert_eq!(found[0].differences, ["line 2: is the last and has no line end, the text has LF: close its quotes on that line"]);
    }

    #[test]
    fn changed_lines_added_lines_and_lost_lines_are_shown() {
        let found = nearest(FILE, b"    y = x + 2\n    return y\n");
        assert_eq!(
            (found[0].lines.clone(), found[0].differences.as_slice()),
            (4..6, &["line 4: differs at column 13, file: `    y = x + 1`, text: `    y = x + 2`".to_owned()][..])
        );
        let found = nearest(FILE, b"def a(x):\n    return y\n");
        assert_eq!(
            (found[0].lines.clone(), found[0].differences.as_slice()),
            (3..6, &["line 4: the text lacks `    y = x + 1`".to_owned()][..])
        );
        let found = nearest(FILE, b"def a(x):\n    y = x + 1\n    print(y)\n    return y\n");
        assert_eq!(
            (found[0].lines.clone(), found[0].differences.as_slice()),
            (3..6, &["before line 5: the file lacks `    print(y)`".to_owned()][..])
        );
    }

    #[test]
    fn characters_that_look_alike_are_named() {
        let found = nearest("x = f\u{a0}(1)\n".as_bytes(), b"x = f (1)\n");
        assert_eq!(found[0].differences, ["line 1: at column 6 the file has U+00A0, the text a space"]);
    }

    #[test]
    fn one_changed_line_is_found_without_a_line_that_matches() {
        let found = nearest(FILE, b"    return why\n");
        assert_eq!(found[0].lines, 5..6);
        assert!(nearest(FILE, b"completely different words here\n").is_empty());
        assert!(nearest(b"", b"a\n").is_empty());
    }

    #[test]
    fn at_most_three_places_are_given_best_first() {
        let file = b"value = compute(1)\n\nvalue = compute(2)\n\nvalue = compute(33)\n\nvalue = compute(4)\n";
        let found = nearest(file, b"value = compute(3)\n");
        assert_eq!(found.len(), 3);
        assert_eq!(found[0].lines, 5..6);
    }

    #[test]
    fn places_that_have_only_common_words_are_not_shown() {
        let file = b"    total = read(device)\n    rest = total - used\n    logger.info(rest)\n\n    other = read(bus)\n    raise ValueError(other)\n";
        let found = nearest(file, b"    total = read(device, 0)\n    rest = total - used\n");
        assert_eq!((found.len(), found[0].lines.clone()), (1, 1..3), "{found:?}");
        // Alike in the frame of the language alone.
        let frame = b"def load(path):\n    with open(path) as handle:\n        return handle.read()\n";
        let found = nearest(frame, b"def save(tensor):\n    with lock:\n        return tensor.numpy()\n");
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn hostile_sizes_are_bounded() {
        let one_line = vec![b'x'; 8 << 20];
        assert!(nearest(&one_line, b"some text that is not there\n").is_empty());
        let many_lines = vec![b'\n'; 2 << 20];
        assert!(nearest(&many_lines, b"some text\n\n\nthat is not there\n").is_empty());
        let same_lines = b"a line of text\n".repeat(1 << 17);
        assert!(!nearest(&same_lines, &b"a line of text\nb\n".repeat(300)).is_empty());
    }
}
