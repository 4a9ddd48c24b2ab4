//! Answers, and what would settle those that are open.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Strength, Verdict};
use crate::evidence::Evidence;
use crate::ids::TrialId;

/// One answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// `factor:NAME`, `factor:NAME=LEVEL` where a factor has several treatment levels, `combination:NAME=LEVEL,NAME=LEVEL` of levels that are put
    /// together, `instrument:NAME` or `hypothesis:CLAIM`.
    pub about: String,
    /// `outcome` or the metric's name.
    pub metric: String,
    /// Whether nothing declared what is expected of this metric, so that no more than a lead comes of it: it is never `shown`.
    #[serde(default)]
    pub exploratory: bool,
    /// The verdict.
    pub verdict: Verdict,
    /// How much stands behind it; `None` where there is no verdict to stand behind.
    pub strength: Option<Strength>,
    /// The answer in a sentence, then why.
    pub text: String,
    /// The p value of the declared test, where one was made.
    pub p: Option<f64>,
    /// The interval of the effect, in `interval_of`.
    pub interval: Option<[f64; 2]>,
    /// What the interval is of and at which level, such as `difference of failure rates, 95 % (Newcombe)`.
    pub interval_of: Option<String>,
    /// The estimate of the effect, in the interval's unit.
    pub estimate: Option<f64>,
    /// What would settle it.
    pub needs: Option<Needs>,
    /// The rule by which the verdict was reached, with what it asks for.
    #[serde(default)]
    pub rule: Option<String>,
    /// The numbers that went into the rule, and checks beside it that enter no verdict.
    #[serde(default)]
    pub numbers: Vec<String>,
    /// The trials that were counted.
    #[serde(default)]
    pub trials: Vec<TrialId>,
    /// Where it comes from.
    pub evidence: Vec<Evidence>,
}

impl Answer {
    /// An answer with a verdict and nothing else yet.
    #[must_use]
    pub fn new(about: String, metric: &str, verdict: Verdict) -> Self {
        Self {
            about,
            metric: metric.to_owned(),
            exploratory: false,
            verdict,
            strength: None,
            text: String::new(),
            p: None,
            interval: None,
            interval_of: None,
            estimate: None,
            needs: None,
            rule: None,
            numbers: Vec::new(),
            trials: Vec::new(),
            evidence: Vec::new(),
        }
    }
}

/// What would settle an open answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Needs {
    /// Launches per cell in all.
    pub launches_per_cell: Option<u32>,
    /// By which rule, with its cap, and with which chance that number would settle it.
    #[serde(default)]
    pub rule: Option<String>,
    /// What is missing, in sentences.
    pub missing: Vec<String>,
    /// What each of `missing` takes, in the same order.
    #[serde(default)]
    pub means: Vec<Means>,
}

impl Needs {
    /// What is missing, each with what it takes.
    #[must_use]
    pub fn of(missing: impl IntoIterator<Item = (Means, String)>) -> Self {
        let (means, missing) = missing.into_iter().unzip();
        Self { missing, means, ..Self::default() }
    }
}

/// One step that would decide something that is open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NextStep {
    /// The answers that it would decide: `factor:NAME`, `instrument:NAME`, `hypothesis:CLAIM`; none for the run as a whole.
    pub about: Vec<String>,
    /// What it takes, least invasive first.
    pub means: Means,
    /// Launches that it costs; `None` where that is not known.
    pub launches: Option<u32>,
    /// Seconds that these took so far, by the mean of earlier trials; `None` without any.
    pub seconds: Option<f64>,
    /// The step in a sentence.
    pub text: String,
}

/// What a step takes, from the least invasive to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Means {
    /// A log that is there already.
    OldLog,
    /// A change of the experiment file alone: a margin, a pattern, a prediction.
    File,
    /// Launches of the program with nothing put in.
    CleanRun,
    /// Launches of cells of the plan, instruments among them.
    Launches,
    /// A probe.
    Probe,
    /// Something that changes the program or its surroundings.
    Edit,
}

/// Claims that the data cannot tell apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Alternatives {
    /// The claims.
    pub claims: Vec<String>,
    /// Where they differ and nothing was seen yet, such as `b/print: completed or failed`; empty where they differ nowhere.
    pub differ: Vec<String>,
    /// The same in a sentence.
    pub text: String,
}
