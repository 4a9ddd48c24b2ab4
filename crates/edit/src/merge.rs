//! A 3-way merge of one edit: the file with the edit is the base, the file of others and the file before are the sides. Pure.
//!
//! The edit is one run of lines. It is taken back where others left these lines and their neighbours as they were; where they did not, there is
//! no merge.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::excise::Change;
use crate::lines::Lines;

/// Files with more lines than this are not merged.
const LINES: usize = 200_000;

/// Gives the bytes of others without the edit; `None` where both changed the same lines.
pub(crate) fn merge(change: &Change<'_>, current: &[u8]) -> Option<Vec<u8>> {
    let split = |bytes| Lines::new(bytes).take(LINES + 1).collect::<Vec<_>>();
    let (base, ours) = (split(change.after), split(current));
    if base.len() > LINES || ours.len() > LINES {
        return None;
    }
    let texts = |bytes: &'_ [u8], lines: &[Range<usize>]| lines.iter().map(|line| bytes[line.clone()].to_vec()).collect::<Vec<_>>();
    let ops = capture_diff_slices(Algorithm::Myers, &texts(change.after, &base), &texts(current, &ours));
    let touched = lines_of(&base, &change.inserted);
    let around = touched.start.saturating_sub(1)..(touched.end + 1).min(base.len());
    let offset = ops.iter().find_map(|op| match *op {
        DiffOp::Equal { old_index, new_index, len } if old_index <= around.start && around.end <= old_index + len => {
            Some((old_index, new_index))
        }
        _ => None,
    });
    // Of an empty file there is nothing to compare: it is as it was, or it is not.
    let (old, new) = if around.is_empty() && current.is_empty() { (0, 0) } else { offset? };
    let line = ours.get(new + (touched.start - old)).map_or(current.len(), |line| line.start);
    let start = line + (change.inserted.start - base.get(touched.start).map_or(change.after.len(), |line| line.start));
    let end = start + change.inserted.len();
    let removed = &change.before[change.removed.clone()];
    Some([&current[..start], removed, current.get(end..)?].concat())
}

/// The lines that a range lies on, from 0.
fn lines_of(lines: &[Range<usize>], range: &Range<usize>) -> Range<usize> {
    let first = lines.iter().position(|line| range.start < line.end).unwrap_or(lines.len());
    let last = lines.iter().rposition(|line| line.start < range.end).map_or(first, |last| last + 1);
    first..last.max(first)
}

#[cfg(test)]
mod tests {
    use super::merge;
    use crate::excise::Change;
    use crate::locate::edit_bytes;
    use crate::spec::Action;

    fn merged(before: &str, find: &str, action: &Action, others: impl Fn(&str) -> String) -> Option<String> {
        let made = edit_bytes(before.as_bytes(), find, action).expect("there once");
        let current = others(std::str::from_utf8(&made.after).expect("text"));
        let change = Change { before: before.as_bytes(), after: &made.after, removed: made.removed, inserted: made.inserted, mark: None };
        merge(&change, current.as_bytes()).map(|bytes| String::from_utf8(bytes).expect("text"))
    }

    #[test]
    fn lines_that_others_left_alone_are_taken_back_in_their_place() {
        let file = "a\nb\nc\nd\ne\n";
        let insert = Action::InsertAfter("c\n".into());
        assert_eq!(merged(file, "c\n", &insert, |text| format!("new\n{text}tail\n")).as_deref(), Some("new\na\nb\nc\nd\ne\ntail\n"));
        let delete = Action::Replace(Vec::new());
        assert_eq!(merged(file, "c\n", &delete, |text| text.replace("a\n", "A\n")).as_deref(), Some("A\nb\nc\nd\ne\n"));
        assert_eq!(merged(file, "a\nb\nc\nd\ne\n", &delete, str::to_owned).as_deref(), Some(file));
    }

    #[test]
    fn lines_that_others_changed_too_are_no_merge() {
        let insert = Action::InsertAfter("x\n".into());
        assert_eq!(merged("a\nb\nc\n", "b\n", &insert, |text| text.replace("x\n", "X\n")), None);
        assert_eq!(merged("a\nb\nc\n", "b\n", &insert, |text| text.replace("c\n", "C\n")), None);
    }
}
