//! The proof that every file is as before.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::TrialId;

/// The proof that every file is as before.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Restored {
    /// How many files instruments had changed.
    pub files: u32,
    /// Whether all are byte for byte and in their metadata as before; `None` while edits are live or nothing was compared.
    pub exact: Option<bool>,
    /// A bare baseline trial that ran after the last undo and behaved as those before the first edit.
    pub clean_trial: Option<TrialId>,
    /// Why "restored" is not shown by behaviour, where edits were made and `clean_trial` is `None`.
    #[serde(default)]
    pub not_shown: Option<String>,
    /// Edits that were put on disk, and those of them that were undone.
    #[serde(default)]
    pub made: u32,
    /// See `made`.
    #[serde(default)]
    pub undone: u32,
    /// Each file.
    pub proofs: Vec<RestoredFile>,
}

/// The proof for one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RestoredFile {
    /// The file.
    pub file: PathBuf,
    /// SHA-256 before the run, in hex.
    pub before_sha256: String,
    /// SHA-256 now, in hex.
    pub after_sha256: Option<String>,
    /// Whether mode, owner, modification time and extended attributes are as before.
    pub metadata_same: bool,
    /// How often it was edited and restored.
    pub edits: u32,
}
