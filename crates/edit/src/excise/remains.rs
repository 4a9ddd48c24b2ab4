//! Tells, where the text of an edit was not found as a whole, whether parts of it may still be there. Pure.
//!
//! Its lines count one by one, without blanks, its mark, and a `;` at either end; one that the original had too counts where there is more of it
//! now. A word that the original has not counts wherever it stands.

use super::by_parts::parts;
use super::{Change, Excision, PLACES};
use crate::lines::Lines;
use crate::locate::occurrences;
use crate::marker;

/// Tells whether something of the edit is left.
pub(super) fn remains(change: &Change<'_>, current: &[u8]) -> Excision {
    let inserted = &change.after[change.inserted.clone()];
    if inserted.is_empty() {
        let put_back = occurrences(current, &change.before[change.removed.clone()], PLACES).len();
        let had = occurrences(change.before, &change.before[change.removed.clone()], PLACES).len();
        return if put_back >= had {
            Excision::Gone
        } else {
            Excision::Unclear("the place that its text was taken out of is not there any more".to_owned())
        };
    }
    let own = change.mark.map_or_else(|| inserted.to_vec(), |mark| marker::without(inserted, mark));
    // Of a text around something that stayed, only what stands before it is the edit's.
    let own = parts(change).filter(|_| change.mark.is_some()).map_or(own, |(head, _)| head.to_vec());
    let words: Vec<&[u8]> = words(&own).filter(|word| memchr::memmem::find(change.before, word).is_none()).collect();
    if let Some(left) = words.iter().find(|word| memchr::memmem::find(current, word).is_some()) {
        return unclear(left);
    }
    let (was, is) = (bare(change.before), bare(current));
    let mut seen = false;
    for line in Lines::new(&own).map(|line| statement(&own[line])) {
        let text = bare(line);
        if text.is_empty() {
            continue;
        }
        let had = occurrences(&was, &text, PLACES).len();
        // Brackets alone tell nothing where the original had some.
        let tells = had == 0 || text.iter().any(|byte| byte.is_ascii_alphanumeric() || *byte >= 0x80);
        if tells && occurrences(&is, &text, PLACES).len() > had {
            return unclear(line);
        }
        seen |= had == 0;
    }
    if seen || !words.is_empty() {
        return Excision::Gone;
    }
    Excision::Unclear("its text is too common to be told from that of others".to_owned())
}

fn unclear(left: &[u8]) -> Excision {
    Excision::Unclear(format!("parts of its text seem to be there, such as `{}`", String::from_utf8_lossy(left)))
}

/// A line without what only joins it to its neighbours.
pub(crate) fn statement(line: &[u8]) -> &[u8] {
    let joins = |byte: &u8| byte.is_ascii_whitespace() || *byte == b';';
    let start = line.iter().position(|byte| !joins(byte)).unwrap_or(line.len());
    let end = line.iter().rposition(|byte| !joins(byte)).map_or(start, |last| last + 1);
    &line[start..end]
}

/// A text without blanks, with one kind of quotes: as a formatter leaves it.
fn bare(text: &[u8]) -> Vec<u8> {
    let quotes = |byte| if byte == b'\'' { b'"' } else { byte };
    text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).map(quotes).collect()
}

/// The words of a text that are long enough to tell it from another.
fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| !(byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80)).filter(|word| word.len() >= 4)
}
