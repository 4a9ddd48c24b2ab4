//! How a trial ended, and why.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::Evidence;

/// How a trial ended. Everything finer is its [`Cause`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Exit 0; with `ready`, it was ready and its workload succeeded.
    Completed,
    /// It ended otherwise, with positive evidence.
    Failed,
    /// It reached its time limit.
    TimedOut,
    /// Contaminated: not a data point.
    Void,
    /// Ended by us before it could answer.
    Interrupted,
    /// No positive evidence either way.
    Undetermined,
}

impl Outcome {
    /// The word used in files, tables and JSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Outcome::Completed => "completed",
            Outcome::Failed => "failed",
            Outcome::TimedOut => "timed_out",
            Outcome::Void => "void",
            Outcome::Interrupted => "interrupted",
            Outcome::Undetermined => "undetermined",
        }
    }

    /// Whether the trial is a data point of a comparison of outcomes.
    #[must_use]
    pub const fn counts(self) -> bool {
        matches!(self, Outcome::Completed | Outcome::Failed | Outcome::TimedOut)
    }
}

/// Whom a cause points at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CauseGroup {
    /// The program under test.
    Target,
    /// What was put in to see.
    Instrument,
    /// The machine or a neighbour: the trial is void.
    Infrastructure,
    /// Bystander itself.
    Harness,
}

/// Why a trial ended as it did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// A dotted class, such as `python.RuntimeError`, `memory.fraction_below_weights`, `exit.code`, `signal`, `port_in_use`, `timeout.starting`,
    /// `timeout.stalled`, `memory_limit`, `instrument.refused`, `workload`, `harness`.
    pub class: String,
    /// Whom it points at.
    pub group: CauseGroup,
    /// The same for the same failure, whatever its numbers, addresses, paths and ranks.
    pub signature: String,
    /// One line for people.
    pub text: String,
    /// The instrument whose added lines hold the failing frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blames: Option<String>,
    /// Whether all that is known tells only that something else failed, such as a child of which nobody says what it died of. Two launches of which no
    /// more is known have not failed in the same way, whatever their signatures.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_echo: bool,
    /// Where it was seen, first cause first.
    pub evidence: Vec<Evidence>,
}

/// An exception on a line that an instrument added, or in what that line called. It need not have decided how the trial ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RaisedByInstrument {
    /// The instrument.
    pub instrument: String,
    /// Whether it ended the function that the line was added to, or a thread or process: what the program would have done there was not done.
    pub cut_short: bool,
    /// The signature of the traceback, as of a cause.
    pub signature: String,
    /// One line for people.
    pub text: String,
    /// The lines of output that show it.
    pub evidence: Vec<Evidence>,
}
