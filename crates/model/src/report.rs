//! The report of a run: `run --json` and `show --json` print it, the text rendering is made from it alone.

mod answer;
mod cell;
mod restored;
mod superseded;
mod trial;
mod verdict;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::budget::BudgetReport;
use crate::elsewhere::OnMachine;
use crate::ids::TrialId;
use crate::old_log::OldLogReport;

pub use answer::{Alternatives, Answer, Means, Needs, NextStep};
pub use cell::{CauseCount, CellReport, MetricSummary};
pub use restored::{Restored, RestoredFile};
pub use superseded::{Conclusion, Superseded};
pub use trial::{Capture, TrialReport};
pub use verdict::{Strength, Verdict};

/// The whole report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// The version of this form.
    pub format: u32,
    /// The run's id.
    pub run: String,
    /// The experiment file.
    pub file: PathBuf,
    /// The question, as the file asks it.
    pub question: Option<String>,
    /// How the run stands: `running`, `finished`, `gated`, `invalid`, `interrupted`, `broken`.
    pub status: String,
    /// Why it stopped where it did.
    pub why: Option<String>,
    /// What was planned.
    pub plan: PlanSummary,
    /// One row per cell, in the order of the plan.
    pub cells: Vec<CellReport>,
    /// The answers: those on the primary metric first; of each metric the treatment, then instruments, then hypotheses.
    pub answers: Vec<Answer>,
    /// Why the memory is as it is, one per distinct budget.
    pub budgets: Vec<BudgetFinding>,
    /// The captured values, one per probe, cell and rank, the newest trial's.
    pub captures: Vec<Capture>,
    /// Every launch.
    pub trials: Vec<TrialReport>,
    /// The proof that every file is as before.
    pub restored: Restored,
    /// Cells that differ from the baseline in more than their levels.
    pub differences: Vec<String>,
    /// Of which metrics nobody knows how many of the requests behind them failed; `None` where that is known, or there are no requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unrated: Option<String>,
    /// What else is worth knowing.
    pub notes: Vec<String>,
    /// Logs of earlier runs, shown as what they are.
    #[serde(default)]
    pub old_logs: Vec<OldLogReport>,
    /// Claims that the data cannot tell apart.
    #[serde(default)]
    pub alternatives: Vec<Alternatives>,
    /// Conclusions that later evidence contradicts, oldest first.
    #[serde(default)]
    pub superseded: Vec<Superseded>,
    /// What would decide what is open: for each answer the least invasive step first.
    pub next: Vec<NextStep>,
    /// What came of comparing the baseline with itself; `None` for every other plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aa: Option<AaReport>,
    /// The machine that it ran on; `None` where that is this one, or the one that made the archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<OnMachine>,
}

/// What was planned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanSummary {
    /// The greatest number of blocks; `None` where the run goes on until it is decided or stopped.
    pub blocks: Option<u32>,
    /// How outcomes are compared: `fisher` or `e_value`.
    #[serde(default)]
    pub rule: String,
    /// What the question is about: `outcome` or a metric's name.
    #[serde(default = "outcome")]
    pub primary: String,
    /// Blocks that were completed.
    pub blocks_done: u32,
    /// The seed of the order.
    pub order_seed: u64,
    /// The number of cells.
    pub cells: u32,
    /// Launches if every block is run; `None` without a last block.
    pub launches: Option<u32>,
    /// What the plan can and cannot decide, in sentences.
    pub power: Vec<String>,
}

/// What a question is about where nothing else is said.
fn outcome() -> String {
    "outcome".to_owned()
}

/// A budget and the cells it was seen in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetFinding {
    /// The trials it was read in.
    pub trials: Vec<TrialId>,
    /// The cells, such as `nccl/none`.
    pub cells: Vec<String>,
    /// The budget.
    pub budget: BudgetReport,
}

/// What came of comparing a cell with itself under two labels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AaReport {
    /// The comparisons that were made.
    pub tests: u32,
    /// The differences that were found, all of them false.
    pub differences: u32,
    /// What they were found in.
    pub differing: Vec<String>,
    /// The level of each comparison.
    pub level: f64,
    /// How many false differences are to be expected at that level, at most.
    pub expected: f64,
    /// The chance of as many differences or more.
    pub chance: f64,
    /// Whether there are more than chance explains.
    pub beyond_chance: bool,
    /// The same in a sentence.
    pub text: String,
}
