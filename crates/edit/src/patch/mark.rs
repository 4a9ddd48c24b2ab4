//! Puts the mark of an edit into its text, where the syntax tree says that it is a comment or a text that does nothing.

use std::ops::Range;

use super::{Change, Source};
use crate::lines::split_end;
use crate::marker;
use crate::pattern::{Language, Tree};

/// So many lines of a text are tried.
const LINES: usize = 40;

/// A change with a mark: where in the text the mark stands.
struct Marked {
    change: Change,
    mark: Range<usize>,
}

/// Gives the change with the mark of `id`; `None` where there is no place for one.
pub(super) fn mark(source: &Source<'_>, change: &Change, id: &str) -> Option<Change> {
    let mark = marker::of(id);
    match (source.language, source.comment) {
        (Some(language), _) => {
            let (open, close) = language.comment();
            let comment = format!("{open}{mark}{close}");
            candidates(source, change, &comment, language).into_iter().find(|marked| fits(source, change, marked, language))
        }
        (None, Some(open)) => {
            // Whoever named the comment answers for it.
            let comment = format!("{} {mark}", open.trim_end());
            at_line_ends(source, change, &comment).into_iter().next()
        }
        (None, None) => None,
    }
    .map(|marked| marked.change)
}

/// Whether the mark does nothing to the program.
fn fits(source: &Source<'_>, plain: &Change, marked: &Marked, language: Language) -> bool {
    let (with, without) = (marked.change.made(source.bytes), plain.made(source.bytes));
    let place = marked.change.at.start + marked.mark.start..marked.change.at.start + marked.mark.end;
    let (Some(with), Some(without)) = (Tree::parse(language, &with), Tree::parse(language, &without)) else { return false };
    if with.errors().len() > without.errors().len() {
        return false;
    }
    (with.in_comment(&place) && with.shape() == without.shape()) || (language == Language::Python && with.in_idle_text(&place))
}

fn candidates(source: &Source<'_>, change: &Change, comment: &str, language: Language) -> Vec<Marked> {
    let mut found = Vec::new();
    if language == Language::Python {
        found.extend(as_idle_text(change, comment.trim_start_matches("# ")));
    } else if !change.text.trim_ascii().is_empty() {
        // A comment that ends may stand anywhere: right behind the last letter of the text.
        let body = change.text.trim_ascii_end().len();
        found.push(inserted(change.clone(), body, &format!(" {comment}")));
    }
    found.extend(at_line_ends(source, change, comment));
    found
}

/// `print(x); 'mark'; ` before a statement on the same line.
fn as_idle_text(change: &Change, mark: &str) -> Option<Marked> {
    let body = change.text.strip_suffix(b"; ")?;
    Some(inserted(change.clone(), body.len(), &format!("; '{mark}'")))
}

/// Comments at the end of a line: of the text's last line, of the line that it is put in, of its other lines, on a line of its own.
fn at_line_ends(source: &Source<'_>, change: &Change, comment: &str) -> Vec<Marked> {
    let mut found = Vec::new();
    let line_end = source.bytes[change.at.end..].iter().position(|byte| matches!(byte, b'\n' | b'\r'));
    let line_end = line_end.map_or(source.bytes.len(), |length| change.at.end + length);
    let rest = &source.bytes[change.at.end..line_end];
    let (body, end) = split_end(&change.text);
    let spaced = format!("  {comment}");
    if !body.trim_ascii().is_empty() {
        let body = body.trim_ascii_end().len();
        if !end.is_empty() || rest.trim_ascii().is_empty() || rest.trim_ascii_start().starts_with(b"#") {
            found.push(inserted(change.clone(), body, &spaced));
        }
    }
    let removes_lines = !split_end(&source.bytes[change.at.clone()]).1.is_empty();
    if end.is_empty() && !removes_lines && !rest.trim_ascii().is_empty() {
        let rest = &rest[..rest.trim_ascii_end().len()];
        let text = [&change.text[..], rest].concat();
        let length = text.len();
        found.push(inserted(Change { at: change.at.start..change.at.end + rest.len(), text }, length, &spaced));
    }
    if change.text.is_empty() {
        let removed = &source.bytes[change.at.clone()];
        let indent = &removed[..removed.len() - removed.trim_ascii_start().len()];
        let text = [indent, split_end(removed).1].concat();
        found.push(inserted(Change { text, ..change.clone() }, indent.len(), comment));
    }
    let ends = change.text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).take(LINES);
    for at in ends {
        let line = &change.text[..at];
        let at = line.trim_ascii_end().len();
        let is_blank = line[..at].ends_with(b"\n") || at == 0;
        if !is_blank {
            found.push(inserted(change.clone(), at, &spaced));
        }
    }
    found
}

/// Puts a comment into the text of a change.
fn inserted(mut change: Change, at: usize, comment: &str) -> Marked {
    let offset = memchr::memmem::find(comment.as_bytes(), marker::PREFIX.as_bytes()).unwrap_or(0);
    let length = marker::PREFIX.len() + marker::DIGITS;
    change.text.splice(at..at, comment.bytes());
    Marked { change, mark: at + offset..at + offset + length }
}
