//! Takes an edit out by its mark, where others have moved or reformatted its text. Pure.
//!
//! From the mark on, letters are compared one by one in both directions; blanks, line ends and kinds of quotes may differ, and a `;` between
//! statements may be gone. Where every letter of the edit's text is there, it is taken out; anything else is no match.

use std::ops::Range;

use super::Change;
use crate::lines::{Lines, at_line_start, split_end};
use crate::locate::occurrences;

/// Gives `current` without the edit; `None` where the mark is not there exactly once or its text is not around it.
pub(super) fn by_mark(change: &Change<'_>, mark: &[u8], current: &[u8]) -> Option<Vec<u8>> {
    let inserted = &change.after[change.inserted.clone()];
    let [own] = occurrences(inserted, mark, 2)[..] else { return None };
    let [at] = occurrences(current, mark, 2)[..] else { return None };
    let start = backwards(&inserted[..own], &current[..at])?;
    let (rest, tail) = (&inserted[own + mark.len()..], &current[at + mark.len()..]);
    let end = at + mark.len() + forwards(rest, tail)?;
    let removed = &change.before[change.removed.clone()];
    Some(cut(current, start..end, removed, inserted))
}

/// Whether a byte is compared: blanks are not.
fn counts(byte: u8) -> bool {
    !byte.is_ascii_whitespace()
}

/// Whether two bytes are the same to a formatter, which may write one kind of quotes for the other.
fn alike(found: u8, wanted: u8) -> bool {
    let is_quote = |byte| matches!(byte, b'\'' | b'"');
    found == wanted || (is_quote(found) && is_quote(wanted))
}

/// How far `text` reaches back from the end of `current`, as the offset where it starts.
fn backwards(text: &[u8], current: &[u8]) -> Option<usize> {
    let mut at = current.len();
    for &wanted in text.iter().rev().filter(|byte| counts(**byte)) {
        let blanks = current[..at].iter().rev().take_while(|byte| !counts(**byte)).count();
        match current[..at - blanks].last() {
            Some(&found) if alike(found, wanted) => at -= blanks + 1,
            // Formatters put statements on lines of their own.
            _ if wanted == b';' => {}
            _ => return None,
        }
    }
    Some(at)
}

/// How far `text` reaches into `current`.
fn forwards(text: &[u8], current: &[u8]) -> Option<usize> {
    let mut at = 0;
    for &wanted in text.iter().filter(|byte| counts(**byte)) {
        let blanks = current[at..].iter().take_while(|byte| !counts(**byte)).count();
        match current.get(at + blanks) {
            Some(&found) if alike(found, wanted) => at += blanks + 1,
            _ if wanted == b';' => {}
            _ => return None,
        }
    }
    Some(at)
}

/// Cuts a span out: whole lines where it is all that they hold, else with the blanks and the `;` that came with it.
fn cut(current: &[u8], span: Range<usize>, removed: &[u8], inserted: &[u8]) -> Vec<u8> {
    let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
    let line_start = current[..span.start].iter().rposition(is_end).map_or(0, |end| end + 1);
    let body_end = current[span.end..].iter().position(is_end).map_or(current.len(), |length| span.end + length);
    let alone = current[line_start..span.start].trim_ascii().is_empty() && current[span.end..body_end].trim_ascii().is_empty();
    if alone {
        let end_length = Lines::new(&current[body_end..]).next().map_or(0, |line| line.len().min(2));
        let line_end = body_end + if current[body_end..].starts_with(b"\r\n") { 2 } else { end_length.min(1) };
        let own_lines = !split_end(inserted).1.is_empty() || removed.is_empty();
        let start = if at_line_start(current, line_start) { line_start } else { span.start };
        let end = if own_lines { line_end } else { body_end };
        return [&current[..start], removed, &current[end..]].concat();
    }
    let start = if inserted.first().is_some_and(|byte| !counts(*byte)) {
        let blanks = current[..span.start].iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        span.start - blanks
    } else {
        span.start
    };
    let end = if inserted.last().is_some_and(|byte| !counts(*byte)) {
        span.end + current[span.end..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
    } else {
        span.end
    };
    [&current[..start], removed, &current[end..]].concat()
}
