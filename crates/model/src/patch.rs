//! The answers of `patch status` and `patch verify`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where an edit stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EditState {
    /// On disk now.
    Live,
    /// Undone.
    Reverted,
    /// Could not be undone without a person.
    Conflict,
}

/// One edit in `patch status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EditStatus {
    /// The journal's id.
    pub id: String,
    /// The instrument's name.
    pub name: String,
    /// The file.
    pub file: PathBuf,
    /// Where it stands.
    pub state: EditState,
    /// When it was made, RFC 3339.
    pub made: String,
    /// When it undoes itself; `None` for edits that live as long as a trial.
    pub expires: Option<String>,
    /// The user who made it, by numeric id.
    pub by: String,
    /// The state directory whose journal holds it.
    pub journal: PathBuf,
}

/// What a problem of `patch verify` is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// Text that an edit inserted is still there.
    Marker,
    /// The bytes are not those of before.
    Bytes,
    /// Mode, owner, times or extended attributes are not those of before.
    Metadata,
    /// Bytecode of the edited text is still there.
    Bytecode,
    /// Something was built from the edited text.
    Build,
}

/// One problem of `patch verify`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// What it is about.
    pub kind: ProblemKind,
    /// What is wrong and what to do.
    pub text: String,
}

/// The answer of `patch status`, `patch revert` and `patch verify`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PatchReport {
    /// The version of this form.
    pub format: u32,
    /// The edits, newest last.
    pub edits: Vec<EditStatus>,
    /// Whether nothing is live, in conflict or left behind.
    pub clean: bool,
    /// What is left behind.
    pub problems: Vec<Problem>,
}
