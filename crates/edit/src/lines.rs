//! Lines and line ends of text that may be in any encoding that keeps ASCII.
//!
//! A line ends at LF, CRLF or a lone CR, as Python, Java and JavaScript count them. Numbers count from 1.

use std::borrow::Cow;
use std::ops::Range;

/// How the lines of a file end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEnds {
    /// CRLF throughout.
    Crlf,
    /// LF throughout, several kinds, or none at all: text is taken as it is.
    AsIs,
}

impl LineEnds {
    /// Tells how the lines of `bytes` end.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut any = false;
        let mut at = 0;
        while let Some(found) = memchr::memchr2(b'\n', b'\r', &bytes[at..]) {
            let position = at + found;
            if bytes[position] != b'\r' || bytes.get(position + 1) != Some(&b'\n') {
                return Self::AsIs;
            }
            any = true;
            at = position + 2;
        }
        if any { Self::Crlf } else { Self::AsIs }
    }

    /// Gives `text` these line ends.
    pub(crate) fn apply<'t>(self, text: &'t [u8]) -> Cow<'t, [u8]> {
        match self {
            Self::Crlf => lf_to_crlf(text),
            Self::AsIs => Cow::Borrowed(text),
        }
    }
}

/// Puts a CR before every LF that has none.
pub(crate) fn lf_to_crlf(text: &[u8]) -> Cow<'_, [u8]> {
    let mut out = Vec::new();
    let mut copied = 0;
    for position in memchr::memchr_iter(b'\n', text) {
        if position > 0 && text[position - 1] == b'\r' {
            continue;
        }
        out.extend_from_slice(&text[copied..position]);
        out.push(b'\r');
        copied = position;
    }
    if copied == 0 && out.is_empty() {
        return Cow::Borrowed(text);
    }
    out.extend_from_slice(&text[copied..]);
    Cow::Owned(out)
}

/// Takes the CR out of every CRLF.
pub(crate) fn crlf_to_lf(text: &[u8]) -> Cow<'_, [u8]> {
    let mut out = Vec::new();
    let mut copied = 0;
    for position in memchr::memmem::find_iter(text, b"\r\n") {
        out.extend_from_slice(&text[copied..position]);
        copied = position + 1;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.extend_from_slice(&text[copied..]);
    Cow::Owned(out)
}

/// Gives the number of the line that holds the byte at `offset`.
pub(crate) fn line_of(bytes: &[u8], offset: usize) -> u32 {
    let ends =
        memchr::memchr2_iter(b'\n', b'\r', &bytes[..offset]).filter(|&at| bytes[at] == b'\n' || bytes.get(at + 1) != Some(&b'\n')).count();
    u32::try_from(ends).unwrap_or(u32::MAX - 1).saturating_add(1)
}

/// Gives the numbers of the lines that the bytes of `range` lie on; empty where the range is.
pub(crate) fn lines_of(bytes: &[u8], range: &Range<usize>) -> Range<u32> {
    let first = line_of(bytes, range.start);
    if range.is_empty() {
        return first..first;
    }
    let inside = &bytes[range.start..range.end - 1];
    let more = memchr::memchr2_iter(b'\n', b'\r', inside)
        .filter(|&at| inside[at] == b'\n' || bytes.get(range.start + at + 1) != Some(&b'\n'))
        .count();
    first..first.saturating_add(u32::try_from(more).unwrap_or(u32::MAX)).saturating_add(1)
}

/// Tells whether a line starts at `offset`; a byte order mark is no text.
pub(crate) fn at_line_start(bytes: &[u8], offset: usize) -> bool {
    match offset.checked_sub(1).map(|before| bytes[before]) {
        None | Some(b'\n') => true,
        Some(b'\r') => bytes.get(offset) != Some(&b'\n'),
        Some(_) => offset == 3 && bytes.starts_with(b"\xef\xbb\xbf"),
    }
}

/// The lines of a text, each with its end, as byte ranges.
#[derive(Debug, Clone)]
pub(crate) struct Lines<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Lines<'b> {
    /// Walks over the lines of `bytes`.
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0 }
    }
}

impl Iterator for Lines<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        if start >= self.bytes.len() {
            return None;
        }
        let end = match memchr::memchr2(b'\n', b'\r', &self.bytes[start..]) {
            None => self.bytes.len(),
            Some(found) => {
                let at = start + found;
                let crlf = self.bytes[at] == b'\r' && self.bytes.get(at + 1) == Some(&b'\n');
                at + 1 + usize::from(crlf)
            }
        };
        self.at = end;
        Some(start..end)
    }
}

/// Splits a line into its text and its end.
pub(crate) fn split_end(line: &[u8]) -> (&[u8], &[u8]) {
    let length = if line.ends_with(b"\r\n") { 2 } else { usize::from(line.ends_with(b"\n") || line.ends_with(b"\r")) };
    line.split_at(line.len() - length)
}

#[cfg(test)]
mod tests {
    use super::{LineEnds, Lines, at_line_start, crlf_to_lf, lf_to_crlf, line_of, lines_of, split_end};

    #[test]
    fn crlf_is_only_a_file_whose_every_line_ends_so() {
        assert_eq!(LineEnds::of(b"a\r\nb\r\n"), LineEnds::Crlf);
        assert_eq!(LineEnds::of(b"a\r\nb\n"), LineEnds::AsIs);
        assert_eq!(LineEnds::of(b"a\r\nb\r"), LineEnds::AsIs);
        assert_eq!(LineEnds::of(b"a\nb"), LineEnds::AsIs);
        assert_eq!(LineEnds::of(b"no end"), LineEnds::AsIs);
    }

    #[test]
    fn line_ends_are_translated_both_ways() {
        assert_eq!(&*lf_to_crlf(b"\na\r\nb\n"), b"\r\na\r\nb\r\n");
        assert_eq!(&*crlf_to_lf(b"a\r\n\rb\r\n"), b"a\n\rb\n");
        assert_eq!(&*lf_to_crlf(b"\n"), b"\r\n");
        assert_eq!(&*crlf_to_lf(b"\r\nx"), b"\nx");
    }

    #[test]
    fn lines_count_from_one_and_end_at_lf_crlf_and_cr() {
        let text = b"a\nb\r\nc\rd";
        assert_eq!(Lines::new(text).map(|line| text[line].to_vec()).collect::<Vec<_>>(), [&b"a\n"[..], b"b\r\n", b"c\r", b"d"]);
        assert_eq!([0, 1, 2, 4, 5, 7].map(|at| line_of(text, at)), [1, 1, 2, 2, 3, 4]);
        assert_eq!(lines_of(text, &(2..7)), 2..4);
        assert_eq!(lines_of(text, &(5..5)), 3..3);
        assert_eq!(lines_of(text, &(0..8)), 1..5);
    }

    #[test]
    fn a_line_starts_after_a_line_end_or_a_byte_order_mark() {
        assert!(at_line_start(b"\xef\xbb\xbfa", 3));
        assert!(at_line_start(b"a\r\nb", 3));
        assert!(!at_line_start(b"a\r\nb", 2));
        assert!(!at_line_start(b"ab", 1));
        assert_eq!(split_end(b"x\r\n"), (&b"x"[..], &b"\r\n"[..]));
    }
}
