//! Evidence: where a statement comes from, in a form that the user can open.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::TrialId;

/// What sort of source a statement has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceKind {
    /// A line of captured output; `where` is `stderr:120`.
    Log,
    /// An exit status or signal.
    Exit,
    /// A probe's hit; `where` is `kv-budget/pid 812/0`.
    Hit,
    /// An HTTP answer.
    Http,
    /// A measurement taken from outside, such as a counter of the kernel.
    Sample,
    /// An equation with its numbers.
    Formula,
    /// A file on disk.
    File,
}

/// One source of one statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The trial it was seen in; `None` for statements about the files or the plan.
    pub trial: Option<TrialId>,
    /// What sort of source it is.
    pub kind: EvidenceKind,
    /// The place, such as `stderr:120`, `exit`, or `kv-budget/pid 812/0`.
    #[serde(rename = "where")]
    pub place: String,
    /// What stands there.
    pub text: String,
}

impl Evidence {
    /// Evidence from something that was measured or looked at, such as the processes of a trial.
    #[must_use]
    pub fn sample(trial: TrialId, place: &str, text: &str) -> Self {
        Self { trial: Some(trial), kind: EvidenceKind::Sample, place: place.to_owned(), text: text.to_owned() }
    }

    /// A line of captured output.
    #[must_use]
    pub fn log(trial: TrialId, stream: Stream, line: u64, text: impl Into<String>) -> Self {
        Self { trial: Some(trial), kind: EvidenceKind::Log, place: format!("{}:{line}", stream.name()), text: text.into() }
    }

    /// Says of the evidence of a value that it does not count, and why.
    pub fn take_back(&mut self, value: f64, why: &str) {
        self.text = format!("{value} does not count: {why}; it was read of: {}", self.text);
    }
}

/// One of the two output streams of the program, or of its workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// The program's standard output.
    Stdout,
    /// The program's standard error.
    Stderr,
    /// The workload's standard output.
    Workload,
    /// The workload's standard error.
    WorkloadStderr,
    /// The stacks of the program's processes, taken while they stood still: not what it wrote, and kept beside it.
    Stacks,
}

impl Stream {
    /// Every stream.
    pub const ALL: [Stream; 4] = [Stream::Stdout, Stream::Stderr, Stream::Workload, Stream::WorkloadStderr];

    /// The name used in evidence and file names.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
            Stream::Workload => "workload",
            Stream::WorkloadStderr => "workload_stderr",
            Stream::Stacks => "stacks",
        }
    }

    /// Whether it is one of the workload's.
    #[must_use]
    pub const fn is_of_workload(self) -> bool {
        matches!(self, Stream::Workload | Stream::WorkloadStderr)
    }

    /// The stream of the workload that corresponds to one of the program's.
    #[must_use]
    pub const fn of_workload(self) -> Self {
        match self {
            Stream::Stdout | Stream::Workload => Stream::Workload,
            Stream::Stderr | Stream::WorkloadStderr => Stream::WorkloadStderr,
            Stream::Stacks => Stream::Stacks,
        }
    }
}
