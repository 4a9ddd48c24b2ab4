//! Takes the text of an edit out of bytes that others have changed since. Pure.
//!
//! The text is taken out where, alone or with the lines around it, it is found exactly once and was not there before
//! the edit; in the line ends that the file has now. Where nothing of it is left, there is nothing to do. Everything
//! else is a conflict, and nothing is guessed.

mod by_mark;
mod by_parts;
mod remains;

use std::borrow::Cow;
use std::ops::Range;

use crate::lines::{LineEnds, at_line_start, crlf_to_lf, lf_to_crlf};
use crate::locate::occurrences;

pub(crate) use remains::statement;

/// A text at more places than this is not looked at one by one.
const PLACES: usize = 64;
/// Lines before and after the text that must be the same, in the order tried.
const CONTEXTS: [(usize, usize); 8] = [(0, 0), (1, 1), (2, 2), (3, 3), (2, 0), (0, 2), (1, 0), (0, 1)];

/// What an edit did to the bytes of a file.
#[derive(Debug, Clone)]
pub(crate) struct Change<'b> {
    /// The bytes before.
    pub(crate) before: &'b [u8],
    /// The bytes with the edit.
    pub(crate) after: &'b [u8],
    /// What was taken out of `before`.
    pub(crate) removed: Range<usize>,
    /// What was put into `after`.
    pub(crate) inserted: Range<usize>,
    /// The mark in what was put in, where there is one.
    pub(crate) mark: Option<&'b [u8]>,
}

/// What became of the edit in the bytes of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Excision {
    /// The bytes without it.
    Cut(Vec<u8>),
    /// Nothing of it is left.
    Gone,
    /// It cannot be told; why.
    Unclear(String),
}

/// The old text that a person who takes the edit out by hand must put back; `None` where the edit took nothing out.
pub(crate) fn put_back<'b>(change: &Change<'b>) -> Option<&'b [u8]> {
    let old = &change.before[change.removed.clone()];
    (!old.trim_ascii().is_empty() && by_parts::parts(change).is_none()).then_some(old)
}

type Translation = for<'t> fn(&'t [u8]) -> Cow<'t, [u8]>;

/// Takes the edit out of `current`.
pub(crate) fn excise(change: &Change<'_>, current: &[u8]) -> Excision {
    let same: Translation = |text| Cow::Borrowed(text);
    let (was, is) = (LineEnds::of(change.after), LineEnds::of(current));
    let translations = match (was, is) {
        (LineEnds::AsIs, LineEnds::Crlf) => vec![lf_to_crlf as Translation],
        (LineEnds::Crlf, LineEnds::AsIs) => vec![crlf_to_lf as Translation, same],
        _ => vec![same],
    };
    for translation in translations {
        match in_line_ends(change, current, translation) {
            Ok(Some(cut)) => return Excision::Cut(cut),
            Ok(None) => {}
            Err(why) => return Excision::Unclear(why),
        }
    }
    if let Some(cut) = change.mark.and_then(|mark| by_mark::by_mark(change, mark, current)) {
        return Excision::Cut(cut);
    }
    if let Some(cut) = change.mark.and_then(|mark| by_parts::by_parts(change, mark, current)) {
        return Excision::Cut(cut);
    }
    match remains::remains(change, current) {
        // Others may have worked on all of its words: what counts is its mark.
        Excision::Gone if change.mark.is_some_and(|mark| memchr::memmem::find(current, mark).is_some()) => {
            Excision::Unclear("its mark is there, and its text is not".to_owned())
        }
        left => left,
    }
}

/// Looks for the edit in one kind of line ends.
fn in_line_ends(change: &Change<'_>, current: &[u8], translation: Translation) -> Result<Option<Vec<u8>>, String> {
    let before = translation(change.before);
    let removed = translation(&change.before[change.removed.clone()]);
    let inserted = translation(&change.after[change.inserted.clone()]);
    let whole_lines = at_line_start(change.after, change.inserted.start);
    for (above, below) in CONTEXTS {
        let head = translation(lines_before(change.after, change.inserted.start, above));
        let tail = translation(lines_after(change.after, change.inserted.end, below));
        let run = Run {
            bytes: [&head[..], &inserted, &tail].concat(),
            from_start: above > 0 && head.is_empty(),
            to_end: below > 0 && tail.is_empty(),
        };
        if run.bytes.is_empty() || (inserted.is_empty() && (above == 0 || below == 0)) || !run.places(&before).is_empty() {
            continue;
        }
        let mut places = run.places(current);
        places.retain(|&at| !whole_lines || at_line_start(current, at + head.len()));
        let mut results: Vec<Vec<u8>> = Vec::new();
        for at in &places {
            let start = at + head.len();
            let result = [&current[..start], &removed, &current[start + inserted.len()..]].concat();
            if !results.contains(&result) {
                results.push(result);
            }
        }
        match results.len() {
            0 => {}
            1 => return Ok(results.pop()),
            _ => return Err(format!("its text is there {} times", places.len())),
        }
    }
    Ok(None)
}

/// Bytes to look for, at the start or the end of the file where the edit was there.
struct Run {
    bytes: Vec<u8>,
    from_start: bool,
    to_end: bool,
}

impl Run {
    fn places(&self, bytes: &[u8]) -> Vec<usize> {
        let mut places = occurrences(bytes, &self.bytes, PLACES);
        places.retain(|&at| (!self.from_start || at == 0) && (!self.to_end || at + self.bytes.len() == bytes.len()));
        places
    }
}

/// The last `count` lines that end at `at`; a part of a line is a line.
fn lines_before(bytes: &[u8], at: usize, count: usize) -> &[u8] {
    let mut start = at;
    for _ in 0..count {
        if start > 0 {
            start = memchr::memrchr(b'\n', &bytes[..start - 1]).map_or(0, |end| end + 1);
        }
    }
    &bytes[start..at]
}

/// The first `count` lines that start at `at`; a part of a line is a line.
fn lines_after(bytes: &[u8], at: usize, count: usize) -> &[u8] {
    let mut end = at;
    for _ in 0..count {
        end = memchr::memchr(b'\n', &bytes[end..]).map_or(bytes.len(), |found| end + found + 1);
    }
    &bytes[at..end]
}

#[cfg(test)]
mod tests {
    use super::{Change, Excision, excise};
    use crate::locate::edit_bytes;
    use crate::spec::Action;

    const FILE: &str = "import os\n\ndef a(x):\n    y = x\n    return y\n\ndef b(x):\n    z = x\n    return z\n";
    const TEXT: &str = "    debug_print(y)\n";

    /// Makes an edit, lets others change the result, and takes the edit out.
    fn undone(before: &str, find: &str, action: &Action, others: impl Fn(String) -> String) -> Excision {
        let edited = edit_bytes(before.as_bytes(), find, action).expect("the text is there once");
        let current = others(String::from_utf8(edited.after.clone()).expect("text"));
        let (after, removed, inserted) = (&edited.after[..], edited.removed, edited.inserted);
        excise(&Change { before: before.as_bytes(), after, removed, inserted, mark: None }, current.as_bytes())
    }

    fn print(others: impl Fn(String) -> String) -> Excision {
        undone(FILE, "    y = x\n", &Action::InsertAfter(TEXT.into()), others)
    }

    fn cut(text: &str) -> Excision {
        Excision::Cut(text.as_bytes().to_vec())
    }

    #[test]
    fn what_others_changed_around_the_text_is_kept() {
        for (was, is) in [("    z = x\n", "    z = x + 1\n"), ("    y = x\n", "    y = x + 5\n"), ("    return y\n", "    return y + 1\n")]
        {
            assert_eq!(print(|text| text.replacen(was, is, 1)), cut(&FILE.replacen(was, is, 1)));
        }
        assert_eq!(print(|text| format!("# new\n# header\n{text}")), cut(&format!("# new\n# header\n{FILE}")));
        assert_eq!(print(|text| text.replace('\n', "\r\n")), cut(&FILE.replace('\n', "\r\n")));
    }

    #[test]
    fn a_text_that_others_took_out_is_gone() {
        assert_eq!(print(|_| FILE.to_owned()), Excision::Gone);
        assert_eq!(print(|_| FILE.replace("z = x", "z = 7")), Excision::Gone);
    }

    #[test]
    fn a_text_that_others_copied_or_rewrote_is_a_conflict() {
        assert!(matches!(print(|text| text + TEXT), Excision::Unclear(why) if why.contains("2 times")));
        assert!(
            matches!(print(|text| text.replace("debug_print(y)", "debug_print( y )")), Excision::Unclear(why) if why.contains("debug_print"))
        );
    }

    #[test]
    fn a_line_of_the_text_that_is_left_is_a_conflict_however_short_it_is() {
        let insert = Action::InsertAfter("    if y:\n        y = 2\n".into());
        let left = |others: &dyn Fn(String) -> String| undone(FILE, "    y = x\n", &insert, others);
        for line in ["    if y:\n", "        y = 2\n"] {
            assert!(matches!(left(&|text| text.replace(line, "")), Excision::Unclear(_)), "{line}");
        }
        assert_eq!(left(&|_| FILE.replace("z = x", "z = 7")), Excision::Gone);
        // A line that the original had too counts where there is one more of it than there was.
        let twice = Action::InsertAfter("    z = x\n    own_call()\n".into());
        assert!(matches!(undone(FILE, "    y = x\n", &twice, |text| text.replace("    own_call()\n", "")), Excision::Unclear(_)));
        assert_eq!(undone(FILE, "    y = x\n", &twice, |_| FILE.replace("import os", "import re")), Excision::Gone);
    }

    #[test]
    fn a_common_text_is_found_by_the_lines_around_it() {
        let insert = Action::InsertAfter("    y = x\n".into());
        let others = |text: String| text.replace("z", "zz");
        assert_eq!(undone(FILE, "    y = x\n", &insert, others), cut(&FILE.replace("z", "zz")));
        let both_sides = |text: String| text.replace("def a(x)", "def a(q)").replace("return y", "return q");
        assert_eq!(undone(FILE, "    y = x\n", &insert, both_sides), cut(&both_sides(FILE.to_owned())));
        let everything = |text: String| text.replace("y = x", "y = 5");
        assert!(matches!(undone(FILE, "    y = x\n", &insert, everything), Excision::Unclear(why) if why.contains("too common")));
    }

    #[test]
    fn a_replacement_and_a_deletion_are_put_back() {
        let others = |text: String| text.replace("z = x", "z = 9");
        let expected = cut(&FILE.replace("z = x", "z = 9"));
        assert_eq!(undone(FILE, "    y = x\n", &Action::Replace("    y = traced(x)\n".into()), others), expected);
        assert_eq!(undone(FILE, "    y = x\n", &Action::Replace(Vec::new()), others), expected);
        assert_eq!(undone(FILE, "import os\n", &Action::Replace(Vec::new()), others), expected);
        assert_eq!(
            undone(FILE, "    return z\n", &Action::Replace(Vec::new()), |text| text.replace("y", "q")),
            cut(&FILE.replace("y", "q"))
        );
        let moved = |text: String| text.replace("def a(x):\n", "def a(q):\n").replace("    return y\n", "    return q\n");
        assert!(matches!(undone(FILE, "    y = x\n", &Action::Replace(Vec::new()), moved), Excision::Unclear(_)));
    }

    #[test]
    fn a_whole_line_is_not_cut_out_of_the_end_of_another() {
        let file = "a\nb\n";
        let others = |_| "a\nbefore_text()\nb\n".to_owned();
        assert_ne!(undone(file, "a\n", &Action::InsertAfter("text()\n".into()), others), cut("a\nbefore_b\n"));
    }
}
