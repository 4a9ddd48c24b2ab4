//! Where a text goes: on the line of what was found, on lines of its own, or right beside it.

use std::ops::Range;

use super::flow::trimmed;
use super::{Change, Source};
use crate::lines::{self, line_of, split_end};
use crate::locate;
use crate::pattern::{Place, Tree, statement};
use crate::spec::Action;

/// How the place was found and what was asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct How {
    /// The place is a node of the syntax tree.
    pub(super) by_syntax: bool,
    /// The text goes right beside it.
    pub(super) inline: bool,
}

/// Decides where the text of an action goes.
pub(super) fn put(source: &Source<'_>, place: &Place, action: &Action, text: &[u8], how: How) -> Change {
    match action {
        Action::Replace(_) => replace(source.bytes, &place.range, text, how),
        _ if how.inline || text.is_empty() => beside(place.range.clone(), action, text),
        Action::InsertAfter(_) => after(source, place, text, how),
        Action::InsertBefore(_) => before(source, place, text, how),
    }
}

/// The line, in the edited file, of a syntax error that the edit makes.
pub(super) fn new_error(source: &Source<'_>, change: &Change) -> Option<u32> {
    let language = source.language?;
    let was = Tree::parse(language, source.bytes)?.errors().len();
    let made = change.made(source.bytes);
    let errors = Tree::parse(language, &made)?.errors();
    if errors.len() <= was {
        return None;
    }
    // The first one at or behind the edit is the likeliest.
    let error = errors.iter().find(|error| error.end >= change.at.start).or(errors.first())?;
    Some(line_of(&made, error.start.max(change.at.start).min(made.len())))
}

fn beside(range: Range<usize>, action: &Action, text: &[u8]) -> Change {
    let at = if matches!(action, Action::InsertBefore(_)) { range.start } else { range.end };
    Change { at: at..at, text: text.to_vec() }
}

/// The line end at the end of the new text follows that of the old one, since a shell takes it away from one and a file adds it to the other.
fn replace(bytes: &[u8], range: &Range<usize>, text: &[u8], how: How) -> Change {
    let old = &bytes[range.clone()];
    let (old_body, old_end) = split_end(old);
    let (new_body, new_end) = split_end(text);
    let at_line_end = matches!(bytes.get(range.end), None | Some(b'\n' | b'\r'));
    let text = match (old_end.is_empty(), new_end.is_empty()) {
        (false, true) if !new_body.is_empty() && !old_body.is_empty() => [new_body, old_end].concat(),
        (true, false) if at_line_end || how.by_syntax => new_body.to_vec(),
        _ => text.to_vec(),
    };
    let (removed, inserted) = locate::differing(old, &text);
    Change { at: range.start + removed.start..range.start + removed.end, text: text[inserted].to_vec() }
}

/// The bytes of a line without its end.
fn line_around(bytes: &[u8], at: usize) -> Range<usize> {
    let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
    let start =
        bytes[..at].iter().rposition(is_end).map_or(if bytes.starts_with(b"\xef\xbb\xbf") && at >= 3 { 3 } else { 0 }, |end| end + 1);
    let end = bytes[at..].iter().position(is_end).map_or(bytes.len(), |end| at + end);
    start..end
}

/// The line end behind a line; that of the file where the line has none.
fn end_of<'b>(bytes: &'b [u8], line: &Range<usize>) -> &'b [u8] {
    match bytes.get(line.end..) {
        Some(rest) if rest.starts_with(b"\r\n") => b"\r\n",
        Some(rest) if !rest.is_empty() => &rest[..1],
        _ if memchr::memmem::find(bytes, b"\r\n").is_some() => b"\r\n",
        _ => b"\n",
    }
}

fn indent_of(line: &[u8]) -> &[u8] {
    &line[..line.len() - line.trim_ascii_start().len()]
}

/// The first line of a text, if it is the only one, without blanks around it.
fn only_line(text: &[u8]) -> Option<&[u8]> {
    let trimmed = text.trim_ascii();
    (!trimmed.is_empty() && !trimmed.iter().any(|byte| matches!(byte, b'\n' | b'\r'))).then_some(trimmed)
}

/// Whether what is left of a line is nothing but a comment.
fn is_blank_or_comment(source: &Source<'_>, rest: &[u8]) -> bool {
    let rest = rest.trim_ascii();
    let Some(language) = source.language else { return rest.is_empty() };
    let starts = |mark: &[u8]| rest.starts_with(mark);
    let whole = starts(b"/*") && rest.ends_with(b"*/") && memchr::memmem::find_iter(rest, b"*/").count() == 1;
    rest.is_empty() || if language.comment().1.is_empty() { starts(b"#") } else { starts(b"//") || whole }
}

/// A text that goes on with what stands before it, rather than a statement.
fn continues(text: &[u8]) -> bool {
    split_end(text).1.is_empty() && text.first().is_some_and(|first| first.is_ascii_whitespace() || b";,.+-*/%&|^<>=?:)]}".contains(first))
}

fn after(source: &Source<'_>, place: &Place, text: &[u8], how: How) -> Change {
    let bytes = source.bytes;
    let range = if how.by_syntax { &place.statement } else { &place.range };
    let end = range.start + split_end(&bytes[range.clone()]).0.len();
    let line = line_around(bytes, end);
    let exact = Change { at: range.end..range.end, text: text.to_vec() };
    let rest = &bytes[end..line.end];
    let beside = Change { at: end..end, text: text.to_vec() };
    // A statement with the indent of its line does not go on with what stands before it.
    let is_indented = text.starts_with(b" ") || text.starts_with(b"\t");
    if continues(text) && !how.by_syntax && !(is_indented && new_error(source, &beside).is_some()) {
        return beside;
    }
    let separator = source.language.map_or("", |language| language.separator());
    let joined = only_line(text).filter(|_| source.language.is_some()).map(|text| {
        let separator = if bytes[..end].ends_with(b";") && separator == "; " { " " } else { separator };
        Change { at: end..end, text: [separator.as_bytes(), text].concat() }
    });
    if !is_blank_or_comment(source, rest) {
        return inside(source, joined, exact, how);
    }
    // A line of its own would be behind the block.
    let tree = source.language.and_then(|language| Tree::parse(language, bytes));
    let joined = match joined {
        Some(joined) if tree.is_some_and(|tree| tree.in_block_on_head_line(&trimmed(bytes, &place.range))) => return joined,
        joined => joined,
    };
    let lines = in_lines(source, text, &indent_at(source, range, &line), &line);
    let own = match end_of_file(bytes, &line) {
        true => Change { at: line.end..line.end, text: [end_of(bytes, &line), split_end(&lines).0].concat() },
        false => {
            let next = line.end + end_of(bytes, &line).len();
            Change { at: next..next, text: lines }
        }
    };
    choose(source, joined, own)
}

fn before(source: &Source<'_>, place: &Place, text: &[u8], how: How) -> Change {
    let bytes = source.bytes;
    let range = if how.by_syntax { &place.statement } else { &place.range };
    let found = &bytes[range.clone()];
    let start = range.start + (found.len() - found.trim_ascii_start().len());
    let line = line_around(bytes, start);
    let exact = Change { at: range.start..range.start, text: text.to_vec() };
    let separator = source.language.map_or("", |language| language.separator());
    let joined = only_line(text).filter(|_| source.language.is_some()).map(|text| {
        let separator = if text.ends_with(b";") && separator == "; " { " " } else { separator };
        Change { at: start..start, text: [text, separator.as_bytes()].concat() }
    });
    if !bytes[line.start..start].trim_ascii().is_empty() {
        return inside(source, joined, exact, how);
    }
    let lines = in_lines(source, text, indent_of(&bytes[line.clone()]), &line);
    choose(source, joined, Change { at: line.start..line.start, text: lines })
}

/// Inside a line: right there, or as a statement between statements where only that can be read.
fn inside(source: &Source<'_>, joined: Option<Change>, exact: Change, how: How) -> Change {
    match joined {
        Some(joined) if how.by_syntax || (new_error(source, &exact).is_some() && new_error(source, &joined).is_none()) => joined,
        _ => exact,
    }
}

fn end_of_file(bytes: &[u8], line: &Range<usize>) -> bool {
    line.end == bytes.len()
}

/// The indent of what follows: that of the statement, or of the next line where the statement goes on behind the line.
fn indent_at(source: &Source<'_>, range: &Range<usize>, line: &Range<usize>) -> Vec<u8> {
    let bytes = source.bytes;
    let found = &bytes[range.clone()];
    let last = range.start + found.trim_ascii_end().len();
    let point = last.saturating_sub(1).max(range.start)..last;
    let around = source.language.and_then(|language| statement(language, bytes, &point));
    match around {
        Some(around) if around.end <= line.end => indent_of(&bytes[line_around(bytes, around.start)]).to_vec(),
        Some(_) => {
            let mut below = lines::Lines::new(&bytes[line.end..]).skip(1).map(|next| &bytes[line.end + next.start..line.end + next.end]);
            below.find(|next| !next.trim_ascii().is_empty()).map_or_else(Vec::new, |next| indent_of(next).to_vec())
        }
        None => indent_of(&bytes[line_around(bytes, range.start + (found.len() - found.trim_ascii_start().len()))]).to_vec(),
    }
}

/// The text as lines: as it is where it ends in a line end, else with the indent of the place.
fn in_lines(source: &Source<'_>, text: &[u8], indent: &[u8], line: &Range<usize>) -> Vec<u8> {
    if !split_end(text).1.is_empty() && (source.language.is_none() || !indent_of(text).is_empty() || indent.is_empty()) {
        return text.to_vec();
    }
    let ranges: Vec<Range<usize>> = lines::Lines::new(text).collect();
    let starts: Vec<usize> = ranges.iter().map(|line| line.start).collect();
    let tree = source.language.and_then(|language| Tree::parse(language, text));
    // Blanks in a text of the program are a part of it.
    let in_text = tree.map_or_else(|| vec![false; starts.len()], |tree| tree.in_texts(&starts));
    let own = ranges.into_iter().map(|line| &text[line]).zip(in_text);
    let counts = own.clone().filter(|(line, in_text)| !in_text && !line.trim_ascii().is_empty());
    let shared = counts.map(|(line, _)| indent_of(line).len()).min().unwrap_or(0);
    let mut out = Vec::new();
    for (line, in_text) in own {
        if in_text {
            out.extend_from_slice(line);
        } else if line.trim_ascii().is_empty() {
            out.extend_from_slice(split_end(line).1);
        } else {
            out.extend_from_slice(indent);
            out.extend_from_slice(&line[shared..]);
        }
    }
    if split_end(&out).1.is_empty() {
        out.extend_from_slice(end_of(source.bytes, line));
    }
    out
}

/// On the line, where that means the same as a line of its own.
fn choose(source: &Source<'_>, joined: Option<Change>, own: Change) -> Change {
    let (Some(language), Some(joined)) = (source.language, joined) else { return own };
    let (one, two) = (joined.made(source.bytes), own.made(source.bytes));
    let trees = Tree::parse(language, &one).zip(Tree::parse(language, &two));
    let same = trees.is_some_and(|(one, two)| one.shape() == two.shape() && one.errors().len() <= two.errors().len());
    if same { joined } else { own }
}
