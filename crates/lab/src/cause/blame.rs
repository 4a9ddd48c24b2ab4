//! The blame check: does the failing stack run through a line that an edit added?

use std::path::Path;

use bystander_model::edit::AppliedEdit;

use super::facts::Place;
use super::traceback::{Frame, Raised, Traceback};

/// Where in a stack an added line was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spot {
    /// The exception was raised on it, or it does not parse there.
    Innermost,
    /// It called what raised the exception.
    Outer,
    /// It is in the stack of an exception that came of the first one, or in another member of its group.
    Later,
}

/// An instrument whose added line is in a failing stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blame {
    /// The instrument.
    pub instrument: String,
    /// The entry that falls on the added line.
    pub frame: Frame,
    /// Where in the stack it is.
    pub spot: Spot,
}

/// Finds the instrument whose added line is in a traceback, the one nearest to the first exception.
#[must_use]
pub fn blame(traceback: &Traceback, edits: &[AppliedEdit], place: &Place) -> Option<Blame> {
    if edits.is_empty() {
        return None;
    }
    let later = traceback.raised.iter().skip(1).chain(&traceback.siblings);
    let root = in_stack(traceback.root(), edits, place);
    root.or_else(|| later.filter_map(|raised| in_stack(raised, edits, place)).next().map(|blame| Blame { spot: Spot::Later, ..blame }))
}

fn in_stack(raised: &Raised, edits: &[AppliedEdit], place: &Place) -> Option<Blame> {
    let innermost = raised.frames.len().checked_sub(1)?;
    raised.frames.iter().enumerate().rev().find_map(|(at, frame)| {
        let edit = edits.iter().find(|edit| falls_on(frame, edit) && is_file(&frame.file, &edit.file, place))?;
        let spot = if at == innermost { Spot::Innermost } else { Spot::Outer };
        Some(Blame { instrument: edit.name.clone(), frame: frame.clone(), spot })
    })
}

/// Whether an entry's line is one that the edit added. A parser may notice only on the next line that something is missing.
fn falls_on(frame: &Frame, edit: &AppliedEdit) -> bool {
    let added = &edit.added_lines;
    let one_past = frame.function.is_none() && !added.is_empty() && frame.line == added.end;
    added.contains(&frame.line) || one_past
}

/// Whether a printed file is an edited one. Files are looked up only where the names are the same.
fn is_file(printed: &str, edited: &Path, place: &Place) -> bool {
    let path = place.cwd.join(printed);
    path == edited || (path.file_name() == edited.file_name() && place.file(printed).is_some_and(|real| real == edited))
}
