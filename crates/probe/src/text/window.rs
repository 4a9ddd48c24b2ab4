//! A text that is in a file once and touches one offset of it: how an edit by exact text names a place.

use bystander_edit::Action;

/// Finds the text for an insertion at `offset`, and what is done with it; `None` where there is none that is UTF-8.
pub(super) fn around(bytes: &[u8], offset: usize, text: String) -> Option<(String, Action)> {
    let (before, behind) = bytes.split_at_checked(offset)?;
    // What stands behind the place, then what stands before it, then both: the shortest of whole lines that is there once.
    for end in line_ends(behind) {
        if is_single(bytes, &behind[..end]) {
            return Some((spelled(&behind[..end])?, Action::InsertBefore(text.into_bytes())));
        }
    }
    for start in line_starts(before) {
        if is_single(bytes, &before[start..]) {
            return Some((spelled(&before[start..])?, Action::InsertAfter(text.into_bytes())));
        }
    }
    // The whole file is there once.
    Some((spelled(bytes)?, Action::Replace([before, text.as_bytes(), behind].concat())))
}

fn spelled(bytes: &[u8]) -> Option<String> {
    std::str::from_utf8(bytes).ok().map(str::to_owned)
}

/// The lengths of the first line, the first two, and so on.
fn line_ends(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let breaks = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    breaks.chain((!bytes.is_empty() && !bytes.ends_with(b"\n")).then_some(bytes.len()))
}

/// The starts of the last line, the last two, and so on.
fn line_starts(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let breaks = bytes.iter().enumerate().rev().filter(|(at, byte)| **byte == b'\n' && at + 1 < bytes.len()).map(|(at, _)| at + 1);
    breaks.chain((!bytes.is_empty()).then_some(0))
}

/// Whether a part of the bytes is nowhere else in them, overlapping places counted.
fn is_single(bytes: &[u8], part: &[u8]) -> bool {
    // A part that has text in it at all: blank lines are everywhere, and counting them is dear.
    part.iter().any(|byte| !byte.is_ascii_whitespace()) && bytes.windows(part.len()).filter(|window| *window == part).nth(1).is_none()
}

#[cfg(test)]
mod tests {
    use bystander_edit::{Action, edit_bytes};

    use super::around;

    fn edited(bytes: &[u8], offset: usize) -> Option<Vec<u8>> {
        let (find, action) = around(bytes, offset, "X; ".to_owned())?;
        Some(edit_bytes(bytes, &find, &action).expect("is there once").after)
    }

    #[test]
    fn an_insertion_lands_at_its_offset_wherever_that_is() {
        for file in ["a = 1\nb = 2\na = 1\n", "a = 1\na = 1\n", "a = 1", "aa\naa\naa\naa\n", "\u{e9} = 1\r\n\u{e9} = 1\r\n", "a\n\n\n\na\n"]
        {
            for (offset, _) in file.char_indices().chain([(file.len(), ' ')]) {
                let expected = [&file.as_bytes()[..offset], b"X; ", &file.as_bytes()[offset..]].concat();
                // A lone CRLF is one end of a line; nothing is put between its bytes.
                if file[..offset].ends_with('\r') {
                    continue;
                }
                assert_eq!(edited(file.as_bytes(), offset).as_deref(), Some(&expected[..]), "{file:?} at {offset}");
            }
        }
    }

    #[test]
    fn the_shortest_text_is_taken() {
        let (find, action) = around(b"a = 1\nb = 2\nc = 3\n", 6, "X; ".to_owned()).expect("is there");
        assert_eq!((find.as_str(), action), ("b = 2\n", Action::InsertBefore("X; ".into())));
    }

    #[test]
    fn other_encodings_are_fine_away_from_the_place() {
        assert_eq!(edited(b"# \xe9\nb = 2\n", 4).as_deref(), Some(&b"# \xe9\nX; b = 2\n"[..]));
        assert_eq!(edited(b"b = '\xe9'\n", 0), None);
        assert_eq!(edited(b"b\n", 9), None);
    }
}
