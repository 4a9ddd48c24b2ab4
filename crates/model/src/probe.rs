//! A probe as a person asks for it: one tree for the line on the command line and for the table in an experiment.
//!
//! Nothing here looks at a file: whether a place exists is for the program's own interpreter to say.

mod place;
mod rate;
pub mod syntax;

use std::ops::Range;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

pub use place::{Moment, Place, PlaceError};
pub use rate::{Rate, RateError};

/// The number of hits a probe records in one process unless its limit says otherwise; counting goes on beyond it.
pub const DEFAULT_LIMIT: u64 = 1000;

/// One probe as typed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProbeSpec {
    /// The name that hits and receipts carry.
    pub name: String,
    /// The function or line.
    pub at: Place,
    /// A statement by syntax, after which the probe goes; `...` stands for anything.
    pub after: Option<String>,
    /// The expressions to capture.
    pub capture: Vec<String>,
    /// An expression that must hold for a hit.
    pub condition: Option<String>,
    /// The number of hits to record in each process; [`DEFAULT_LIMIT`] where `None`.
    pub limit: Option<u64>,
    /// The most hits in a span of time, in each process.
    pub rate: Option<Rate>,
    /// An expression whose value is the rank of the process.
    pub rank: Option<String>,
    /// True where expressions may run code of the program.
    #[serde(alias = "allow_unsafe")]
    pub unsafe_capture: bool,
    /// What to do where a compiler takes the function over.
    pub compiled: Compiled,
    /// How the probe gets in.
    pub delivery: Delivery,
}

impl Default for ProbeSpec {
    fn default() -> Self {
        Self::new("", Place::Line { path: "".into(), line: 1 })
    }
}

impl ProbeSpec {
    /// Makes a probe with nothing but a name and a place.
    #[must_use]
    pub fn new(name: impl Into<String>, at: Place) -> Self {
        Self {
            name: name.into(),
            at,
            after: None,
            capture: Vec::new(),
            condition: None,
            limit: None,
            rate: None,
            rank: None,
            unsafe_capture: false,
            compiled: Compiled::Refuse,
            delivery: Delivery::Auto,
        }
    }
}

/// What to do with a place in a function that a compiler takes over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compiled {
    /// The probe is refused, with the reason.
    #[default]
    Refuse,
    /// The probe goes in, and breaks the graph there.
    Break,
    /// The probe goes in and stands aside while the function is compiled: compiled calls give no hit by design.
    Skip,
}

impl Compiled {
    /// The words that a file or a command line may hold.
    pub const WORDS: [(&str, Self); 3] = [("refuse", Self::Refuse), ("break", Self::Break), ("skip", Self::Skip)];
}

/// How an instrument gets into the program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// The least disturbing one that reaches the program.
    #[default]
    Auto,
    /// The import is rewritten in the process; nothing on disk changes.
    Overlay,
    /// The program sees a changed file in a mount namespace of its own; nothing on disk changes.
    Mount,
    /// The file on disk is changed, and changed back.
    Patch,
}

impl Delivery {
    /// The words that a file or a command line may hold.
    pub const WORDS: [(&str, Self); 4] = [("auto", Self::Auto), ("overlay", Self::Overlay), ("mount", Self::Mount), ("patch", Self::Patch)];

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, delivery)| *delivery == self).map_or("auto", |(word, _)| word)
    }
}

/// Where the parts of a probe stand in the text that they were read from, in bytes: `at`, `after`, `capture.N`, `if`, `rank`, `name`.
pub type Spans = IndexMap<String, Range<usize>>;
