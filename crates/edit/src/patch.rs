//! Edits as a person types them: a text or a pattern to find, a statement or lines to put in. Found, placed and marked in memory; nothing is written.
//!
//! A text goes on the line of what was found wherever the syntax tree says that this means the same as a line of its own, so that line numbers
//! hold. A mark in a comment names the edit. Where the language is not known there is no mark, unless it is said what begins a comment.

mod error;
mod flow;
mod mark;
mod put;

use std::ops::Range;
use std::path::PathBuf;

use crate::candidate;
use crate::encoding::Encoding;
use crate::lines::{self, LineEnds};
use crate::locate;
use crate::pattern::{self, Language, Place};
use crate::spec::{Action, PrepareError, PreparedEdit};
use crate::target;

pub use error::PatchError;
pub use flow::FlowError;

/// Larger files are edited without a look at their syntax, in bytes, unless they are searched for a pattern.
pub const LARGEST_READ: usize = 2 << 20;
/// So many places are edited by one pattern.
const PLACES: usize = 1000;
/// So many places of a text or pattern are named.
const NAMED_PLACES: usize = 16;

/// What an edit looks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Find {
    /// A text, exactly; it need not be UTF-8.
    Text(Vec<u8>),
    /// Code with holes.
    Pattern(String),
    /// A byte of the file, as it is on disk; of several edits of one file the later must lie before the earlier.
    At(usize),
}

/// An edit as a person types it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchSpec {
    /// Its name.
    pub name: String,
    /// The file; a link is followed and stays as it is.
    pub file: PathBuf,
    /// What to find.
    pub find: Find,
    /// What to do there.
    pub action: Action,
    /// The language, where it is not to be told by the file's name.
    pub language: Option<Language>,
    /// What begins a comment, for a language that is not known.
    pub comment: Option<String>,
    /// Whether every place is edited, not the only one.
    pub all: bool,
    /// Whether the text goes right beside what was found, whatever the line.
    pub inline: bool,
    /// Whether an edit that leaves a syntax error is made all the same.
    pub unchecked: bool,
}

/// A file that is edited, as it stands, and what is known of it.
struct Source<'b> {
    bytes: &'b [u8],
    language: Option<Language>,
    comment: Option<&'b str>,
    encoding: Encoding,
    ends: LineEnds,
}

/// Bytes that come in the place of others.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    at: Range<usize>,
    text: Vec<u8>,
}

impl Change {
    fn made(&self, bytes: &[u8]) -> Vec<u8> {
        [&bytes[..self.at.start], &self.text, &bytes[self.at.end..]].concat()
    }
}

/// Finds, places and marks edits in memory, those of one file on top of each other.
///
/// # Errors
/// The first that cannot be made, with what comes near.
pub fn prepare_patches(specs: &[PatchSpec]) -> Result<Vec<PreparedEdit>, PatchError> {
    let mut made: Vec<PreparedEdit> = Vec::new();
    for spec in specs {
        let target = target::resolve(&spec.file).map_err(PrepareError::from)?;
        let below = made.iter().rfind(|edit| edit.real == target.real);
        let bytes = below.map_or(target.bytes, |edit| edit.after.clone());
        let places = found(spec, &bytes)?;
        // From the end, so that the places before it stay where they are.
        let mut now = bytes;
        for place in places.iter().rev() {
            let edit = build(spec, target.real.clone(), now, place)?;
            now = edit.after.clone();
            made.push(edit);
        }
    }
    Ok(made)
}

fn source_of<'b>(spec: &'b PatchSpec, bytes: &'b [u8]) -> Result<Source<'b>, PatchError> {
    let encoding = Encoding::of(bytes);
    if encoding == Encoding::Wide {
        return Err(PatchError::Encoding { file: spec.file.clone(), encoding: encoding.name(), letter: None });
    }
    // To read a large file takes long: it is edited as text, but for a pattern, which needs its syntax.
    let is_read = bytes.len() <= LARGEST_READ || matches!(spec.find, Find::Pattern(_));
    let language = if is_read { spec.language.or_else(|| Language::of(&spec.file, bytes)) } else { None };
    Ok(Source { bytes, language, comment: spec.comment.as_deref(), encoding, ends: LineEnds::of(bytes) })
}

impl Source<'_> {
    /// A text in the encoding and the line ends of the file. What is no UTF-8 is in the file's own encoding already: its bytes are taken as they are.
    fn encoded(&self, spec: &PatchSpec, text: &[u8]) -> Result<Vec<u8>, PatchError> {
        let Ok(text) = str::from_utf8(text) else { return Ok(self.ends.apply(text).into_owned()) };
        let bytes = self.encoding.encode(text).map_err(|letter| PatchError::Encoding {
            file: spec.file.clone(),
            encoding: self.encoding.name(),
            letter: Some(letter),
        })?;
        Ok(self.ends.apply(&bytes).into_owned())
    }

    /// The line, in the edited file, of the first byte that is no UTF-8, where the language takes nothing else and the file was it.
    fn new_foreign_byte(&self, change: &Change) -> Option<u32> {
        let only_utf8 = matches!(self.language, Some(Language::Python | Language::Rust | Language::Go));
        if !only_utf8 || self.encoding != Encoding::Utf8 {
            return None;
        }
        let made = change.made(self.bytes);
        let error = str::from_utf8(&made).err()?;
        Some(lines::line_of(&made, error.valid_up_to()))
    }
}

/// The places to edit, in order: one, unless all are wanted.
fn found(spec: &PatchSpec, bytes: &[u8]) -> Result<Vec<Place>, PatchError> {
    let source = source_of(spec, bytes)?;
    let file = || spec.file.clone();
    let places = match &spec.find {
        Find::Text(text) if text.is_empty() => return Err(PrepareError::EmptyFind { file: file() }.into()),
        Find::Text(text) => {
            let text = source.encoded(spec, text)?;
            let starts = locate::occurrences(bytes, &text, PLACES + 1);
            if starts.is_empty() {
                return Err(PrepareError::NotFound { file: file(), candidates: candidate::nearest(bytes, &text) }.into());
            }
            let mut apart: Vec<Place> = Vec::new();
            for start in starts {
                if !spec.all || apart.last().is_none_or(|last| last.range.end <= start) {
                    apart.push(Place::of_text(start..start + text.len()));
                }
            }
            apart
        }
        Find::At(offset) => vec![Place::of_text(*offset..*offset)],
        Find::Pattern(pattern) => {
            let Some(language) = source.language else { return Err(PatchError::Language { file: file() }) };
            let found = pattern::places(language, bytes, pattern).map_err(|source| PatchError::Pattern { file: file(), source })?;
            if found.is_empty() {
                return Err(PatchError::NoPlace { file: file(), pattern: pattern.clone(), language });
            }
            found
        }
    };
    let lines = || places.iter().take(NAMED_PLACES).map(|place| lines::line_of(bytes, place.range.start)).collect();
    if places.len() > 1 && !spec.all {
        return Err(PrepareError::Ambiguous { file: file(), lines: lines() }.into());
    }
    if places.len() > PLACES {
        return Err(PatchError::TooMany { file: file(), most: PLACES });
    }
    Ok(places)
}

/// Puts one edit at one place.
fn build(spec: &PatchSpec, real: PathBuf, before: Vec<u8>, place: &Place) -> Result<PreparedEdit, PatchError> {
    let id = crate::marker::new_id().map_err(|source| PatchError::Random { source })?;
    let source = source_of(spec, &before)?;
    let filled = match &spec.find {
        Find::Pattern(_) => place.fill(spec.action.text()),
        Find::Text(_) | Find::At(_) => spec.action.text().to_vec(),
    };
    let text = source.encoded(spec, &filled)?;
    let by_syntax = matches!(spec.find, Find::Pattern(_));
    let put = put::put(&source, place, &spec.action, &text, put::How { by_syntax, inline: spec.inline });
    if put.at.is_empty() && put.text.is_empty() {
        return Err(PrepareError::NoChange { file: spec.file.clone() }.into());
    }
    // A replacement says itself what is to be there, and who names a byte has looked.
    let is_beside = !matches!(spec.action, Action::Replace(_)) && !matches!(spec.find, Find::At(_));
    if is_beside
        && !spec.unchecked
        && let Some(source) = flow::refused(&source, place, &put)
    {
        return Err(PatchError::Flow { file: spec.file.clone(), source });
    }
    if let (Some(line), false) = (source.new_foreign_byte(&put).or_else(|| put::new_error(&source, &put)), spec.unchecked) {
        return Err(PatchError::Breaks { file: spec.file.clone(), line, language: source.language.map_or("", Language::name) });
    }
    let marked = mark::mark(&source, &put, &id);
    let is_marked = marked.is_some();
    let change = marked.unwrap_or(put);
    let after = change.made(&before);
    let inserted = change.at.start..change.at.start + change.text.len();
    let added_lines = lines::lines_of(&after, &inserted);
    Ok(PreparedEdit {
        name: spec.name.clone(),
        file: spec.file.clone(),
        real,
        removed: change.at,
        inserted,
        added_lines,
        id: Some(id),
        marked: is_marked,
        folder: None,
        after,
        before,
    })
}

/// How many lines the lines behind an edit move by; less than 0 where they move up.
#[must_use]
pub fn moved_lines(edit: &PreparedEdit) -> i64 {
    let count = |bytes: &[u8]| i64::try_from(lines::Lines::new(bytes).count()).unwrap_or(i64::MAX);
    count(&edit.after) - count(&edit.before)
}
