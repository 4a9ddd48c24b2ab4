//! Conclusions, and those that later evidence contradicts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Strength, Verdict};
use crate::evidence::Evidence;
use crate::ids::TrialId;

/// A conclusion as it was given at the end of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conclusion {
    /// What it was about.
    pub about: String,
    /// `outcome` or the metric's name.
    pub metric: String,
    /// The verdict.
    pub verdict: Verdict,
    /// How much stood behind it.
    pub strength: Option<Strength>,
    /// Its estimate, in the interval's unit.
    pub estimate: Option<f64>,
    /// The first trial that it named as evidence.
    pub trial: Option<TrialId>,
    /// The answer as it was given.
    pub text: String,
}

/// A conclusion that later evidence contradicts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Superseded {
    /// The run that gave it.
    pub run: String,
    /// When, in nanoseconds since the Unix epoch.
    pub time_ns: u64,
    /// What it was.
    pub conclusion: Conclusion,
    /// The run that contradicts it.
    pub by_run: String,
    /// What is said now.
    pub now: Verdict,
    /// The first trial of that run that speaks against it; `None` where no single one does.
    pub by_trial: Option<TrialId>,
    /// The same in a sentence.
    pub text: String,
    /// What shows it.
    pub evidence: Vec<Evidence>,
}
