//! Finds a text exactly once and builds the edited bytes. Pure: no file is read or written here.
//!
//! Matching is of exact bytes. One thing is translated: where a file ends every line with CRLF, an LF of the text to
//! find or to insert stands for CRLF. A file with mixed line ends is matched as it is. The position is that of the
//! text and nothing else: a text that starts or ends inside a line is inserted after, before or replaced right there.

use std::ops::Range;

use crate::lines::{self, LineEnds};
use crate::spec::Action;

/// So many places of an ambiguous text are named.
const NAMED_PLACES: usize = 16;

/// Bytes with one edit made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The bytes with the edit.
    pub after: Vec<u8>,
    /// What was taken out, as offsets into the bytes before; whole lines that stay as they were are not counted.
    pub removed: Range<usize>,
    /// What was put in, as offsets into [`Edited::after`].
    pub inserted: Range<usize>,
    /// The lines that hold inserted bytes, in the edited bytes, from 1, end exclusive.
    pub added_lines: Range<u32>,
}

/// Why no edited bytes could be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocateError {
    /// The text to find has no byte.
    #[error("find an empty text")]
    EmptyFind,
    /// The edit would leave the file as it is.
    #[error("make an edit that changes nothing")]
    NoChange,
    /// The text is nowhere.
    #[error("find the text")]
    NotFound,
    /// The text is at several places.
    #[error("find the text only once: it is at lines {lines:?}")]
    Ambiguous {
        /// The lines that the places start at, from 1; at most the first 16.
        lines: Vec<u32>,
    },
}

/// Finds `find` exactly once in `bytes` and makes the edit.
///
/// # Errors
/// See [`LocateError`]; `bytes` are never changed.
pub fn edit_bytes(bytes: &[u8], find: &str, action: &Action) -> Result<Edited, LocateError> {
    if find.is_empty() {
        return Err(LocateError::EmptyFind);
    }
    let ends = LineEnds::of(bytes);
    let find = ends.apply(find.as_bytes());
    let places = occurrences(bytes, &find, NAMED_PLACES);
    let start = match places[..] {
        [] => return Err(LocateError::NotFound),
        [one] => one,
        _ => return Err(LocateError::Ambiguous { lines: places.iter().map(|&at| lines::line_of(bytes, at)).collect() }),
    };
    let text = ends.apply(action.text());
    let (removed, text) = match action {
        Action::InsertAfter(_) => (start + find.len()..start + find.len(), &text[..]),
        Action::InsertBefore(_) => (start..start, &text[..]),
        Action::Replace(_) => {
            let (old, new) = differing(&find, &text);
            (start + old.start..start + old.end, &text[new])
        }
    };
    if removed.is_empty() && text.is_empty() {
        return Err(LocateError::NoChange);
    }
    let after = [&bytes[..removed.start], text, &bytes[removed.end..]].concat();
    let inserted = removed.start..removed.start + text.len();
    let added_lines = lines::lines_of(&after, &inserted);
    Ok(Edited { after, removed, inserted, added_lines })
}

/// Gives the offsets of `needle`, overlapping ones included, at most `limit`.
pub(crate) fn occurrences(bytes: &[u8], needle: &[u8], limit: usize) -> Vec<usize> {
    let finder = memchr::memmem::Finder::new(needle);
    let mut found = Vec::new();
    let mut from = 0;
    while found.len() < limit && from <= bytes.len() {
        let Some(at) = finder.find(&bytes[from..]) else { break };
        found.push(from + at);
        from += at + 1;
    }
    found
}

/// Narrows a replacement to the part between the whole lines that both texts share at their ends.
pub(crate) fn differing(old: &[u8], new: &[u8]) -> (Range<usize>, Range<usize>) {
    let same = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let head =
        if same == old.len() && same == new.len() { same } else { old[..same].iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1) };
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let mut tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let starts_line = |rest: &[u8], tail: usize| rest.len() == tail || rest[rest.len() - tail - 1] == b'\n';
    while tail > 0 && !(starts_line(old_rest, tail) && starts_line(new_rest, tail)) {
        tail -= 1;
    }
    (head..old.len() - tail, head..new.len() - tail)
}

#[cfg(test)]
mod tests {
    use super::{Edited, LocateError, edit_bytes, occurrences};
    use crate::spec::Action;

    fn after(text: &str) -> Action {
        Action::InsertAfter(text.into())
    }

    fn replace(text: &str) -> Action {
        Action::Replace(text.into())
    }

    fn made(bytes: &[u8], find: &str, action: &Action) -> Edited {
        edit_bytes(bytes, find, action).expect("the text is there once")
    }

    #[test]
    fn an_insertion_goes_exactly_after_or_before_the_text() {
        let edit = made(b"a\nb\nc\n", "b\n", &after("x\ny\n"));
        assert_eq!(edit.after, b"a\nb\nx\ny\nc\n");
        assert_eq!(edit.added_lines, 3..5);
        let edit = made(b"a\nb\nc\n", "b\n", &Action::InsertBefore("x\n".into()));
        assert_eq!((edit.after.as_slice(), edit.added_lines), (&b"a\nx\nb\nc\n"[..], 2..3));
    }

    #[test]
    fn a_text_inside_a_line_is_edited_inside_the_line() {
        let edit = made(b"f(1, 2)\n", "1", &after("0"));
        assert_eq!((edit.after.as_slice(), edit.added_lines), (&b"f(10, 2)\n"[..], 1..2));
    }

    #[test]
    fn a_replacement_counts_only_the_lines_that_differ() {
        let edit = made(b"a\nb\nc\nd\n", "a\nb\nc\n", &replace("a\nB\nB\nc\n"));
        assert_eq!((edit.removed, edit.inserted, edit.added_lines), (2..4, 2..6, 2..4));
        let edit = made(b"a\nb\nc\n", "b\n", &replace(""));
        assert_eq!((edit.after.as_slice(), edit.added_lines), (&b"a\nc\n"[..], 2..2));
        let edit = made(b"a\na\nb\n", "a\nb", &replace("a\na\nb"));
        assert_eq!((edit.after.as_slice(), edit.removed, edit.inserted), (&b"a\na\na\nb\n"[..], 4..4, 4..6));
    }

    #[test]
    fn a_file_of_crlf_is_matched_and_edited_in_crlf() {
        let edit = made(b"a\r\nb\r\n", "a\nb\n", &after("x\n"));
        assert_eq!(edit.after, b"a\r\nb\r\nx\r\n");
        assert_eq!(edit_bytes(b"a\r\nb\n", "a\nb\n", &after("x\n")), Err(LocateError::NotFound));
        assert_eq!(made(b"a\r\nb\nc\n", "b\nc\n", &after("x\n")).after, b"a\r\nb\nc\nx\n");
    }

    #[test]
    fn what_is_not_there_once_or_changes_nothing_is_refused() {
        assert_eq!(edit_bytes(b"aaa", "aa", &after("x")), Err(LocateError::Ambiguous { lines: vec![1, 1] }));
        assert_eq!(edit_bytes(b"a\nb\na\n", "a\n", &after("x")), Err(LocateError::Ambiguous { lines: vec![1, 3] }));
        assert_eq!(edit_bytes(b"", "a", &after("x")), Err(LocateError::NotFound));
        assert_eq!(edit_bytes(b"a", "", &after("x")), Err(LocateError::EmptyFind));
        assert_eq!(edit_bytes(b"a", "a", &after("")), Err(LocateError::NoChange));
        assert_eq!(edit_bytes(b"a\n", "a\n", &replace("a\n")), Err(LocateError::NoChange));
    }

    #[test]
    fn bytes_that_are_not_utf_8_and_a_byte_order_mark_are_kept() {
        assert_eq!(made(b"\xe9\xff\na\n", "a\n", &after("b\n")).after, b"\xe9\xff\na\nb\n");
        assert_eq!(made(b"\xef\xbb\xbfa\n", "a\n", &Action::InsertBefore("b\n".into())).after, b"\xef\xbb\xbfb\na\n");
    }

    #[test]
    fn overlapping_places_are_counted_up_to_the_limit() {
        assert_eq!(occurrences(&[b'a'; 100], b"aa", 5), [0, 1, 2, 3, 4]);
    }
}
