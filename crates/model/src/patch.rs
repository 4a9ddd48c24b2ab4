//! The answers of `patch status` and `patch verify`.

use std::collections::BTreeMap;
use std::ops::Range;
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
    #[serde(serialize_with = "crate::path_text::one")]
    pub file: PathBuf,
    /// Where it stands.
    pub state: EditState,
    /// When it was made, RFC 3339.
    pub made: String,
    /// When it undoes itself; `None` for edits that live as long as a trial.
    pub expires: Option<String>,
    /// Whether it stays until it is taken back, and not only as long as the trial that made it.
    #[serde(default)]
    pub kept: bool,
    /// The folder of a probe's hits; `None` for edits that are none.
    #[serde(default)]
    #[serde(serialize_with = "crate::path_text::some")]
    pub folder: Option<PathBuf>,
    /// The user who made it, by numeric id.
    pub by: String,
    /// The state directory whose journal holds it.
    #[serde(serialize_with = "crate::path_text::one")]
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
    #[serde(serialize_with = "crate::path_text::one")]
    pub file: PathBuf,
    /// What it is about.
    pub kind: ProblemKind,
    /// What is wrong and what to do.
    pub text: String,
}

/// Something worth knowing that is no problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PatchNote {
    /// The file, where it is about one.
    #[serde(serialize_with = "crate::path_text::some")]
    pub file: Option<PathBuf>,
    /// What there is to know.
    pub text: String,
}

/// A user whose live edits may not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnseenUser {
    /// The name.
    pub user: String,
    /// Where the list of edits would be below.
    #[serde(serialize_with = "crate::path_text::one")]
    pub home: PathBuf,
    /// Why it cannot be read.
    pub why: String,
}

/// One edit that `patch apply` made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PatchApplied {
    /// The journal's id; `patch revert ID` takes it back.
    pub id: String,
    /// The edit's name.
    pub name: String,
    /// The file, absolute and without links.
    #[serde(serialize_with = "crate::path_text::one")]
    pub file: PathBuf,
    /// The lines that hold what was put in, in the edited file, from 1, end exclusive.
    pub lines: Range<u32>,
    /// By how many lines the lines behind it moved.
    pub moved_lines: i64,
    /// Whether a mark with the id is in the text.
    pub marked: bool,
    /// The edit as a unified diff.
    pub diff: String,
}

/// The answer of `patch apply`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApplyReport {
    /// The version of this form.
    pub format: u32,
    /// Whether the edits are on disk; not where only a look was asked for.
    pub made: bool,
    /// The edits, in the order that they were made.
    pub edits: Vec<PatchApplied>,
    /// When they take themselves back, RFC 3339; `None` where they stay.
    pub expires: Option<String>,
}

/// One live edit as a difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EditDiff {
    /// The journal's id.
    pub id: String,
    /// The edit's name.
    pub name: String,
    /// The file.
    #[serde(serialize_with = "crate::path_text::one")]
    pub file: PathBuf,
    /// Whether others changed the file since, or another edit lies on top.
    pub changed: bool,
    /// The edit as a unified diff; bytes that are not UTF-8 are shown as `\xff`.
    pub text: String,
}

/// The answer of `patch diff`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiffReport {
    /// The version of this form.
    pub format: u32,
    /// The live edits, oldest first.
    pub edits: Vec<EditDiff>,
    /// Live edits on other machines that the state directory knows, as they were last seen: they are no part of the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostEdits>,
}

/// The answer of `patch status`, `patch revert` and `patch verify`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PatchReport {
    /// The version of this form.
    pub format: u32,
    /// The edits, newest last.
    pub edits: Vec<EditStatus>,
    /// Whether nothing is live, in conflict or left behind.
    pub clean: bool,
    /// What is left behind.
    pub problems: Vec<Problem>,
    /// What is worth knowing.
    #[serde(default)]
    pub notes: Vec<PatchNote>,
    /// Users whose live edits may not be read.
    #[serde(default)]
    pub unseen: Vec<UnseenUser>,
    /// How many files were searched for marks; `None` where none were to be.
    #[serde(default)]
    pub searched_files: Option<u64>,
    /// The names of users whose numbers stand in `by`, where the machine knows them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub users: BTreeMap<String, String>,
    /// Live edits on other machines that the state directory knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostEdits>,
}

/// Live edits on another machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostEdits {
    /// The machine: `ssh://user@host:port`.
    pub address: String,
    /// Other addresses of the same machine and user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// What a verb of `patch` follows so that it works there: `bystander --on ssh://user@host patch`.
    #[serde(default)]
    pub command: String,
    /// Whether this command has tried to ask it; otherwise all is as it was last seen.
    #[serde(default)]
    pub asked: bool,
    /// When they were seen, as RFC 3339, where that is not now; `None` where nothing was ever seen.
    #[serde(default)]
    pub as_of: Option<String>,
    /// Why the machine cannot be asked now, if it cannot.
    #[serde(default)]
    pub unreachable: Option<String>,
    /// What it says, or last said.
    pub report: Box<PatchReport>,
}

impl HostEdits {
    /// The edits that are on disk there, as far as is known.
    pub fn live(&self) -> impl Iterator<Item = &EditStatus> {
        self.report.edits.iter().filter(|edit| edit.state != EditState::Reverted)
    }

    /// Whether it holds, or may hold, what a command that asks every machine must not pass over; of one that was not asked only what was seen counts.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        if self.asked { self.report.clean && self.unreachable.is_none() } else { self.live().next().is_none() }
    }
}
