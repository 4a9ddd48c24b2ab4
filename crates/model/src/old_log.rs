//! Logs of earlier runs: what each says of itself, and what it can and cannot be compared with.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::budget::{BudgetReport, VersionRange};
use crate::evidence::Evidence;
use crate::outcome::{Cause, Outcome};

/// What a log of an earlier run says of itself. Its evidence has no trial; places are `NAME:LINE`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OldLog {
    /// The name that the experiment file gives it, or its file's.
    pub name: String,
    /// The file.
    pub file: PathBuf,
    /// SHA-256 of its text when it was read, unpacked where it is packed, in hex.
    pub sha256: String,
    /// The length of that text in bytes.
    pub bytes: u64,
    /// Its lines.
    pub lines: u64,
    /// The engine that printed it, where a reader knows it.
    pub engine: Option<String>,
    /// The versions of the engine that print such lines.
    pub version: Option<VersionRange>,
    /// The line in which the program says with which configuration it runs; `None` where no reader knows such a line.
    pub configuration: Option<Evidence>,
    /// The outcome as far as positive evidence goes: `failed`, `completed`, else `undetermined`.
    pub outcome: Outcome,
    /// Why, where it failed.
    pub cause: Option<Cause>,
    /// What shows the outcome, and what stands there beside it.
    pub evidence: Vec<Evidence>,
    /// The memory budget, where a reader found one.
    pub budget: Option<BudgetReport>,
}

/// An old log in the report, with what sets it apart from each cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OldLogReport {
    /// What it says of itself.
    #[serde(flatten)]
    pub log: OldLog,
    /// What it differs in from each cell.
    pub against: Vec<AgainstCell>,
    /// What it is good for, in sentences.
    pub text: String,
}

/// What an old log differs in from one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgainstCell {
    /// The cell, such as `nccl/none`.
    pub cell: String,
    /// The engines with their versions, `in the log → in the cell`, where they are two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engines: Option<String>,
    /// Settings and versions that differ, `what: in the log → in the cell`; empty where everything that is known is equal.
    pub differs: Vec<String>,
    /// What of the two is not known, so that it cannot be compared.
    pub unknown: Vec<String>,
    /// Whether everything that is known of both is equal, the printed configuration being known of both.
    pub same: bool,
}
