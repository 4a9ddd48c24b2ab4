//! The few lines of a file that a problem is about, with the place mapped into them.
//!
//! Lines end at `\n` or `\r\n`. Long lines are cut around the place; a place beyond the end of the file is its end. Offsets are bytes.

use std::ops::Range;

/// Lines shown before the first one that is meant.
const BEFORE: usize = 1;
/// Of a place that spans more lines than this, the first and the last ones are shown.
const MOST_LINES: usize = 40;
const CUT: &str = "\u{2026}";

/// Some lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Excerpt {
    /// The lines, ended by `\n`.
    pub(super) text: String,
    /// The number of the first one, from 1.
    pub(super) first_line: usize,
    /// The place in `text`.
    pub(super) span: Range<usize>,
    /// The line in the file where the place begins, from 1.
    pub(super) line: usize,
    /// The character in that line, from 1.
    pub(super) column: usize,
}

impl Excerpt {
    /// Takes the lines around `span` out of a file, none wider than about `columns` characters.
    pub(super) fn of(source: &str, span: Range<usize>, columns: usize) -> Self {
        let span = within(source, span);
        let first = source[..span.start].matches('\n').count();
        let last = first + source[span.start..span.end].trim_end_matches('\n').matches('\n').count();
        let last = last.min(first + MOST_LINES);
        let from = first.saturating_sub(BEFORE);
        let (mut text, mut start, mut end) = (String::new(), None, 0);
        let mut at = 0;
        for (number, raw) in source.split('\n').enumerate().take(last + 1) {
            let line = raw.strip_suffix('\r').unwrap_or(raw);
            if number >= from {
                let piece = Piece::of(line, here(&span, at, line.len()), columns);
                let (piece_start, piece_end) = (text.len() + piece.span.start, text.len() + piece.span.end);
                text.push_str(&piece.text);
                text.push('\n');
                if number >= first {
                    start.get_or_insert(piece_start);
                    end = piece_end;
                }
            }
            at += raw.len() + 1;
        }
        let start = start.unwrap_or(0);
        let before = source[..span.start].rsplit('\n').next().unwrap_or_default();
        Self { text, first_line: from + 1, span: start..end.max(start), line: first + 1, column: before.chars().count() + 1 }
    }
}

impl Excerpt {
    /// The character at which the place begins in the line as it was cut; `None` where that is the one in the file.
    pub(super) fn shown_column(&self) -> Option<usize> {
        let before = self.text[..self.span.start].rsplit('\n').next().unwrap_or_default();
        let shown = before.chars().count() + 1;
        (shown != self.column).then_some(shown)
    }
}

/// The part of a place that lies on a line that begins at `at`, relative to the line.
fn here(span: &Range<usize>, at: usize, len: usize) -> Range<usize> {
    let start = span.start.saturating_sub(at).min(len);
    let end = span.end.saturating_sub(at).min(len);
    start..end.max(start)
}

/// Moves a place into the text and onto character borders.
fn within(source: &str, span: Range<usize>) -> Range<usize> {
    let (mut start, mut end) = (span.start.min(source.len()), span.end.min(source.len()));
    while !source.is_char_boundary(start) {
        start -= 1;
    }
    while !source.is_char_boundary(end) {
        end += 1;
    }
    start..end.max(start)
}

/// One line, cut around a place in it.
struct Piece {
    text: String,
    span: Range<usize>,
}

impl Piece {
    fn of(line: &str, span: Range<usize>, columns: usize) -> Self {
        if line.chars().count() <= columns {
            return Self { text: line.to_owned(), span };
        }
        // A third of the room shows what comes before the place.
        let from = back(line, span.start, columns / 3);
        let to = forward(line, from, columns);
        let (before, after) = (if from > 0 { CUT } else { "" }, if to < line.len() { CUT } else { "" });
        let moved = |offset: usize| offset.clamp(from, to) - from + before.len();
        Self { span: moved(span.start)..moved(span.end), text: format!("{before}{}{after}", &line[from..to]) }
    }
}

/// The offset that lies so many characters before `at`.
fn back(line: &str, at: usize, characters: usize) -> usize {
    line[..at].char_indices().rev().take(characters).last().map_or(at, |(offset, _)| offset)
}

/// The offset that lies so many characters after `at`.
fn forward(line: &str, at: usize, characters: usize) -> usize {
    line[at..].char_indices().nth(characters).map_or(line.len(), |(offset, _)| at + offset)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::Excerpt;

    fn excerpt(source: &str, span: std::ops::Range<usize>) -> (String, usize, String) {
        let excerpt = Excerpt::of(source, span, 30);
        let meant = excerpt.text[excerpt.span.clone()].to_owned();
        (excerpt.text, excerpt.first_line, meant)
    }

    #[test]
    fn the_line_before_comes_along() {
        assert_eq!(excerpt("a\nbb\ncc\ndd\n", 5..7), ("bb\ncc\n".into(), 2, "cc".into()));
        assert_eq!(excerpt("aa\nb", 0..1), ("aa\n".into(), 1, "a".into()));
    }

    #[test]
    fn carriage_returns_are_no_part_of_a_line() {
        assert_eq!(excerpt("a\r\nbcd\r\ne\r\n", 4..6), ("a\nbcd\n".into(), 1, "cd".into()));
        assert_eq!(excerpt("a\r\nbcd\r\ne\r\n", 0..5), ("a\nbcd\n".into(), 1, "a\nbc".into()));
    }

    #[test]
    fn a_place_at_or_beyond_the_end_is_the_end() {
        assert_eq!(excerpt("ab\ncd", 5..5), ("ab\ncd\n".into(), 1, String::new()));
        assert_eq!(excerpt("ab\ncd\n", 60..70), ("cd\n\n".into(), 2, String::new()));
        assert_eq!(excerpt("", 3..4), ("\n".into(), 1, String::new()));
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let line = format!("{}KEY{}", "a".repeat(500), "b".repeat(500));
        let (text, _, meant) = excerpt(&line, 500..503);
        assert_eq!(meant, "KEY");
        assert_eq!(text, format!("\u{2026}{}KEY{}\u{2026}\n", "a".repeat(10), "b".repeat(17)));
        let (text, _, meant) = excerpt(&line, 100..900);
        assert_eq!(meant, "a".repeat(20), "what fits of a long place, in {text}");
    }

    proptest! {
        #[test]
        fn any_place_in_any_text_gives_lines_with_a_place(source in any::<String>(), start in 0_usize..40, len in 0_usize..40) {
            let excerpt = Excerpt::of(&source, start..start + len, 12);
            assert!(excerpt.text.get(excerpt.span.clone()).is_some(), "{excerpt:?}");
            assert!(excerpt.text.ends_with('\n') && excerpt.first_line >= 1);
        }

        #[test]
        fn a_place_on_one_short_line_is_shown_as_it_is(before in "[a-z\n]{0,30}", meant in "[A-Z]{1,9}", after in "[a-z]{0,9}\n?[a-z]{0,9}") {
            let source = format!("{before}{meant}{after}");
            let excerpt = Excerpt::of(&source, before.len()..before.len() + meant.len(), 60);
            assert_eq!(&excerpt.text[excerpt.span.clone()], meant);
        }
    }
}
