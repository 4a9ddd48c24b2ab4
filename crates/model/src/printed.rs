//! What commands print with `--json` beside reports, hits and edits: a list of runs, what two launches differ in, a plan, what works here, and why a
//! command could not do what it was asked.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::diagnostic::Diagnostic;
use crate::elsewhere::OnMachine;
use crate::ids::TrialId;

/// What `show --list` prints: every run of a state directory, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunList {
    /// The version of this form.
    pub format: u32,
    /// The runs.
    pub runs: Vec<ListedRun>,
}

/// One run in a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedRun {
    /// Its id.
    pub run: String,
    /// `run`, or `watch` for a watched command.
    pub kind: String,
    /// The experiment file, or the working directory of a watched command.
    pub file: String,
    /// When it was created, in nanoseconds since the Unix epoch.
    pub created_ns: u64,
    /// How it stands: `running`, `finished`, `gated`, `invalid`, `interrupted`, `broken`.
    pub status: String,
    /// Its first answer; `None` where it has none yet.
    pub answer: Option<String>,
}

/// What `show --diff A B` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialDiff {
    /// The version of this form.
    pub format: u32,
    /// The first trial.
    pub first: TrialId,
    /// The second trial.
    pub second: TrialId,
    /// What they differ in.
    pub differences: Vec<TrialDifference>,
}

/// One thing that two trials differ in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialDifference {
    /// What it is, such as `env MODE` or `package torch`.
    pub what: String,
    /// What it is in the first trial; `None` where it is not there.
    pub first: Option<String>,
    /// What it is in the second trial; `None` where it is not there.
    pub second: Option<String>,
    /// Whether a level or an instrument asks for it.
    pub planned: bool,
}

/// What `run --dry-run` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DryRun {
    /// The version of this form.
    pub format: u32,
    /// The plan as it was checked, secrets masked, in the form of this version: it has no schema of its own.
    pub plan: serde_json::Value,
    /// Launches if every block is run; `None` where the plan has no last block.
    pub launches: Option<u64>,
    /// Launches that are made at most at one place of a block: a void one, or one that is lost, is made again, and this many of them end the run.
    #[serde(default)]
    pub tries: u64,
    /// Where each probe sits and what each edit adds, by instrument.
    pub placed: IndexMap<String, String>,
    /// What the plan can and cannot decide, in sentences.
    pub power: Vec<String>,
}

/// What `doctor` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorReport {
    /// The version of this form.
    pub format: u32,
    /// Each thing that was tried.
    pub findings: Vec<Finding>,
    /// The machine that it was tried on; `None` where that is this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<OnMachine>,
}

/// One thing that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// What was tried.
    pub name: String,
    /// Whether it works.
    pub works: bool,
    /// Whether experiments can be run without it.
    pub optional: bool,
    /// What was found.
    pub found: String,
    /// How to mend it.
    pub mend: Option<String>,
}

/// What every command prints where it could not do what it was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorReport {
    /// The version of this form.
    pub format: u32,
    /// Why not.
    pub error: ErrorSaid,
}

/// Why a command could not do what it was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorSaid {
    /// Whose trouble it is.
    pub kind: ErrorKind,
    /// What failed.
    pub message: String,
    /// Why, outermost first.
    pub causes: Vec<String>,
    /// What to do next.
    pub hints: Vec<String>,
    /// Problems with places in files.
    pub problems: Vec<Diagnostic>,
}

/// Whose trouble it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// What was typed or written in a file: exit code 3.
    User,
    /// The machine, such as a full disk: exit code 4.
    Environment,
    /// The user stopped it: exit code 130.
    Interrupted,
}
