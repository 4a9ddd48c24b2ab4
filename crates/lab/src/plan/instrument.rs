//! What is put into the program: probes and edits, as the file asks for them.

use std::ops::Range;
use std::path::PathBuf;

use bystander_model::probe::{Delivery, ProbeSpec, Spans};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// A probe as the file asks for it; the place is checked by the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// The probe.
    #[serde(flatten)]
    pub spec: ProbeSpec,
    /// Where the keys stand in the experiment file, for diagnostics: `name`, `at`, `after`, `capture`, `capture.N`, `if`, `rank`.
    pub spans: Spans,
}

/// An edit as the file asks for it; the text is looked for by the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Edit {
    /// The name.
    pub name: String,
    /// The file, absolute.
    pub file: PathBuf,
    /// The text that must occur exactly once.
    pub find: String,
    /// What happens to it.
    pub action: EditAction,
    /// SHA-256 that the file must have, in hex.
    pub sha256: Option<String>,
    /// Names that the inserted text may use though nothing in the file defines them.
    pub allow_undefined: Vec<String>,
    /// How it gets in: on disk, or in a mount namespace of the program's own. [`Delivery::Auto`] is on disk.
    #[serde(default)]
    pub delivery: Delivery,
    /// Where the keys stand in the experiment file, for diagnostics: `name`, `file`, `find`, `text`, `sha256`,
    /// `allow_undefined`.
    pub spans: IndexMap<String, Range<usize>>,
}

/// What an edit does with the text it finds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EditAction {
    /// Puts a text after it.
    InsertAfter(String),
    /// Puts a text before it.
    InsertBefore(String),
    /// Puts a text in its place.
    Replace(String),
}
