//! Takes out an edit whose text went around something that stayed, such as a statement in the middle of a line with its mark at the end. Pure.
//!
//! What stayed is not the edit's: others, or another edit's undo, may have changed it. The two parts must be on one line of the file.

use super::Change;
use crate::locate::occurrences;

/// So many places of a part on one line are looked at.
const PLACES: usize = 16;

/// Gives `current` without both parts; `None` where the edit is not of that kind, or the parts are not there exactly once.
pub(super) fn by_parts(change: &Change<'_>, mark: &[u8], current: &[u8]) -> Option<Vec<u8>> {
    let (head, tail) = parts(change)?;
    if memchr::memmem::find(tail, mark).is_none() || head.contains(&b'\n') || tail.contains(&b'\n') {
        return None;
    }
    let [at] = occurrences(current, tail, 2)[..] else { return None };
    let line = current[..at].iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).map_or(0, |end| end + 1);
    let mut results: Vec<Vec<u8>> = Vec::new();
    for start in occurrences(&current[line..at], head, PLACES) {
        let (start, end) = (line + start, line + start + head.len());
        let result = [&current[..start], &current[end..at], &current[at + tail.len()..]].concat();
        // One text twice in a row: it is the same whichever goes.
        if !results.contains(&result) {
            results.push(result);
        }
    }
    results.pop().filter(|_| results.is_empty())
}

/// What was put in before and behind what stayed; `None` where nothing stayed between.
pub(super) fn parts<'b>(change: &Change<'b>) -> Option<(&'b [u8], &'b [u8])> {
    let kept = &change.before[change.removed.clone()];
    let inserted = &change.after[change.inserted.clone()];
    if kept.is_empty() {
        return None;
    }
    let length = inserted.len().checked_sub(kept.len())?;
    let at = occurrences(inserted, kept, PLACES).into_iter().find(|at| *at > 0 && *at < length)?;
    Some((&inserted[..at], &inserted[at + kept.len()..]))
}
