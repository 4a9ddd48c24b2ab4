//! An edit as typed, and the same edit found in its file and built in memory. Writes nothing.

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::candidate::{self, Candidate};
use crate::encode::sha256;
use crate::lines::{self, LineEnds};
use crate::locate::{self, Edited, LocateError};
use crate::target::{self, TargetError};

/// An edit as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditSpec {
    /// The instrument's name.
    pub name: String,
    /// The file; a link is followed and stays as it is.
    pub file: PathBuf,
    /// The text to find, exactly once.
    pub find: String,
    /// What to do at the text.
    pub action: Action,
    /// SHA-256, in hex, that the file must have before the first edit.
    pub sha256: Option<String>,
}

/// What an edit does at the text that it finds. Texts are bytes: they need not be UTF-8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Puts a text right after it.
    InsertAfter(Vec<u8>),
    /// Puts a text right before it.
    InsertBefore(Vec<u8>),
    /// Puts a text in its place.
    Replace(Vec<u8>),
}

impl Action {
    /// Gives the text that is put in.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        match self {
            Self::InsertAfter(text) | Self::InsertBefore(text) | Self::Replace(text) => text,
        }
    }
}

/// An edit that was found in its file and built, and is not on disk yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedEdit {
    /// The instrument's name.
    pub name: String,
    /// The file as typed.
    pub file: PathBuf,
    /// The file itself, absolute and without links.
    pub real: PathBuf,
    /// The bytes that the file must have when the edit is made.
    pub before: Vec<u8>,
    /// The bytes with the edit.
    pub after: Vec<u8>,
    /// What is taken out, as offsets into `before`.
    pub removed: Range<usize>,
    /// What is put in, as offsets into `after`.
    pub inserted: Range<usize>,
    /// The lines that hold inserted bytes, from 1, end exclusive: in `after`, or, for an edit out of
    /// [`prepare_stack`], in the file with every edit of the stack.
    pub added_lines: Range<u32>,
    /// The id that the edit gets; `None` where the journal makes one.
    pub id: Option<String>,
    /// Whether a mark with the id is in the text.
    pub marked: bool,
    /// The folder that what is put in works with, such as that of a probe's hits.
    pub folder: Option<PathBuf>,
}

/// Why an edit cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The file cannot be edited, whatever the text.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The text to find has no byte.
    #[error("edit {file}: the text to find is empty", file = file.display())]
    EmptyFind {
        /// The file.
        file: PathBuf,
    },
    /// The edit would leave the file as it is.
    #[error("edit {file}: the edit changes nothing", file = file.display())]
    NoChange {
        /// The file.
        file: PathBuf,
    },
    /// The text is not in the file.
    #[error("edit {file}: the text to find is not in it", file = file.display())]
    NotFound {
        /// The file.
        file: PathBuf,
        /// The nearest places, best first, at most three.
        candidates: Vec<Candidate>,
    },
    /// The text is in the file more than once.
    #[error("edit {file}: the text to find is there more than once, at lines {}", listed(lines), file = file.display())]
    Ambiguous {
        /// The file.
        file: PathBuf,
        /// The lines that the places start at, from 1; at most the first 16.
        lines: Vec<u32>,
    },
    /// The file is not the one that the edit was written for.
    #[error("edit {file}: it changed, its SHA-256 is {found} and not {expected}", file = file.display())]
    Changed {
        /// The file.
        file: PathBuf,
        /// The SHA-256 that was asked for, in hex.
        expected: String,
        /// The SHA-256 of the file, in hex.
        found: String,
        /// The nearest places, best first, at most three; without a difference where the text itself is there.
        candidates: Vec<Candidate>,
    },
}

/// Numbers with commas between.
fn listed(lines: &[u32]) -> String {
    lines.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

/// Reads the file of `spec` and builds the edit in memory.
///
/// # Errors
/// Says why the file cannot be edited, or that the text is not there exactly once, with the nearest places.
pub fn prepare(spec: &EditSpec) -> Result<PreparedEdit, PrepareError> {
    let target = target::resolve(&spec.file)?;
    check_sum(spec, &target.bytes)?;
    prepare_in(spec, &target.real, target.bytes)
}

/// Builds the edit on bytes that stand for the file `real`; looks at no file and at no checksum.
///
/// # Errors
/// Says that the text is not there exactly once, with the nearest places.
pub fn prepare_in(spec: &EditSpec, real: &Path, before: Vec<u8>) -> Result<PreparedEdit, PrepareError> {
    let file = spec.file.clone();
    match locate::edit_bytes(&before, &spec.find, &spec.action) {
        Ok(Edited { after, removed, inserted, added_lines }) => Ok(PreparedEdit {
            name: spec.name.clone(),
            file,
            real: real.to_path_buf(),
            before,
            after,
            removed,
            inserted,
            added_lines,
            id: None,
            marked: false,
            folder: None,
        }),
        Err(LocateError::EmptyFind) => Err(PrepareError::EmptyFind { file }),
        Err(LocateError::NoChange) => Err(PrepareError::NoChange { file }),
        Err(LocateError::Ambiguous { lines }) => Err(PrepareError::Ambiguous { file, lines }),
        Err(LocateError::NotFound) => Err(PrepareError::NotFound { file, candidates: near(&before, &spec.find) }),
    }
}

/// Prepares several edits that are on disk together; of two edits of one file the later is built on the earlier.
///
/// A checksum is that of the file before any of them. The added lines are those of the file with all of them.
///
/// # Errors
/// The first edit that cannot be made, see [`prepare`].
pub fn prepare_stack(specs: &[EditSpec]) -> Result<Vec<PreparedEdit>, PrepareError> {
    let mut made: Vec<PreparedEdit> = Vec::new();
    for spec in specs {
        let target = target::resolve(&spec.file)?;
        check_sum(spec, &target.bytes)?;
        let below = made.iter().rfind(|edit| edit.real == target.real);
        let before = below.map_or(target.bytes, |edit| edit.after.clone());
        made.push(prepare_in(spec, &target.real, before)?);
    }
    for index in 0..made.len() {
        let (done, later) = made.split_at_mut(index + 1);
        let edit = &mut done[index];
        let mut place = edit.inserted.clone();
        let mut top: &[u8] = &edit.after;
        for above in later.iter().filter(|above| above.real == edit.real) {
            place = moved(&place, above);
            top = &above.after;
        }
        edit.added_lines = lines::lines_of(top, &place);
    }
    Ok(made)
}

/// Follows a range of bytes through an edit that is made on top.
fn moved(place: &Range<usize>, above: &PreparedEdit) -> Range<usize> {
    let shift = |at: usize, past: bool| {
        if at > above.removed.end || (at == above.removed.end && past) {
            at - above.removed.len() + above.inserted.len()
        } else {
            at.min(above.removed.start)
        }
    };
    let start = shift(place.start, true);
    start..shift(place.end, false).max(start)
}

fn check_sum(spec: &EditSpec, bytes: &[u8]) -> Result<(), PrepareError> {
    let Some(expected) = &spec.sha256 else { return Ok(()) };
    let found = sha256(bytes);
    if found.eq_ignore_ascii_case(expected.trim()) {
        return Ok(());
    }
    Err(PrepareError::Changed { file: spec.file.clone(), expected: expected.clone(), found, candidates: near(bytes, &spec.find) })
}

/// The nearest places, with the text in the line ends of the file.
fn near(bytes: &[u8], find: &str) -> Vec<Candidate> {
    candidate::nearest(bytes, &LineEnds::of(bytes).apply(find.as_bytes()))
}
