//! How launches are ordered, how many there are, and what stops them.

use serde::{Deserialize, Serialize};

/// How launches are ordered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Randomised complete blocks.
    #[default]
    Blocks,
    /// Rows of a Williams design.
    Williams,
    /// Randomised blocks of one cell under two labels.
    Aa,
}

/// What runs one trial at a time, beside others of its kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// The GPUs that its programs see, by their numbers; none hides all.
    pub gpus: Vec<u32>,
}

/// How many blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocks {
    /// No answer before this many, unless the first block settles it.
    pub min: u32,
    /// No more than this many; [`Blocks::OPEN`] where the run goes on until it is decided.
    pub max: u32,
}

impl Blocks {
    /// The greatest number of a run that goes on until it is decided or stopped.
    pub const OPEN: u32 = u32::MAX;

    /// Whether there is no last block.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.max == Self::OPEN
    }
}

/// How outcomes are compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Fisher's exact test after every block, up to the last look that its level allows.
    #[default]
    Fisher,
    /// An e-process: valid whenever one looks or stops, and added to at any time.
    EValue,
}

/// What the baseline is declared to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    /// No gate.
    Any,
    /// It completes.
    Completed,
    /// It fails.
    Failed,
}

/// Whether a first block of one and the same failure stops the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It does: more launches cannot answer the question.
    Same,
    /// It does not: every block is run.
    All,
}

/// What a refused instrument does to the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refused {
    /// Nothing is launched.
    Stop,
    /// Its cells are left out, and the report says so.
    Drop,
}
