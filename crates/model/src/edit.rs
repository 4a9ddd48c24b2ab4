//! Edits on disk as the record sees them.

use std::ops::Range;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an applied edit changed, for the blame check and the proof of undo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AppliedEdit {
    /// The journal's id of the edit.
    pub id: String,
    /// The instrument's name.
    pub name: String,
    /// The file, absolute and without links.
    pub file: PathBuf,
    /// SHA-256 of the file before, in hex.
    pub before_sha256: String,
    /// SHA-256 of the file with the edit, in hex.
    pub after_sha256: String,
    /// The lines that the edit added, in the edited file, from 1, end exclusive.
    pub added_lines: Range<u32>,
}

/// What an undone edit left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RevertedEdit {
    /// The journal's id of the edit.
    pub id: String,
    /// The instrument's name.
    pub name: String,
    /// The file.
    pub file: PathBuf,
    /// Whether the file is byte for byte what it was before the edit.
    pub exact: bool,
    /// SHA-256 of the file after the undo, in hex; `None` where the file is gone.
    pub sha256: Option<String>,
    /// What was done, such as `restored`, `excised from a file that others changed`, `already as before`.
    pub how: String,
    /// Bytecode files that the edit had left and that were removed.
    pub bytecode_removed: Vec<PathBuf>,
}
