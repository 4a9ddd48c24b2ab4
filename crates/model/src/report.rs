//! The report of a run: `run --json` and `show --json` print it, the text rendering is made from it alone.

use std::path::PathBuf;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::budget::BudgetReport;
use crate::evidence::Evidence;
use crate::hit::{Hit, Receipt};
use crate::ids::TrialId;
use crate::outcome::{Cause, Outcome};
use crate::provenance::Provenance;

use crate::samples::Samples;
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
    /// The answers: treatment first, then instruments, then hypotheses.
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
    /// What else is worth knowing.
    pub notes: Vec<String>,
    /// What would be needed to know more.
    pub next: Vec<String>,
}

/// What was planned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanSummary {
    /// The greatest number of blocks.
    pub blocks: u32,
    /// Blocks that were completed.
    pub blocks_done: u32,
    /// The seed of the order.
    pub order_seed: u64,
    /// The number of cells.
    pub cells: u32,
    /// Launches if every block is run.
    pub launches: u32,
    /// What the plan can and cannot decide, in sentences.
    pub power: Vec<String>,
}

/// One cell over all its trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellReport {
    /// Factor name to level name.
    pub levels: IndexMap<String, String>,
    /// The instrument level.
    pub instrument: String,
    /// Data points: completed, failed and timed out together.
    pub trials: u32,
    /// Trials that completed.
    pub completed: u32,
    /// Trials that failed.
    pub failed: u32,
    /// Trials that reached their time limit.
    pub timed_out: u32,
    /// Launches that were contaminated and are no data points.
    pub void: u32,
    /// Launches without positive evidence.
    pub undetermined: u32,
    /// Causes by signature.
    pub causes: Vec<CauseCount>,
    /// Metrics over the completed trials.
    pub metrics: IndexMap<String, MetricSummary>,
}

/// How often one cause came up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CauseCount {
    /// The class.
    pub class: String,
    /// The signature.
    pub signature: String,
    /// One line for people.
    /// Why they were, by class.
    #[serde(default)]
    pub void_causes: Vec<CauseCount>,
    pub text: String,
    /// How many trials.
    pub count: u32,
}

/// One metric over the trials of a cell.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricSummary {
    /// Launches that showed a value.
    pub n: u32,
    /// The median over launches.
    pub median: Option<f64>,
    /// The values in launch order.
    pub values: Vec<f64>,
}

/// The words of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A factor: a difference was shown.
    Effect,
    /// A factor: shown to lie within the margin.
    NoEffectWithin,
    /// A factor: an instrument changes the outcome, so the factor cannot be judged with it.
    InstrumentPerturbs,
    /// A factor: the baseline itself fails; nothing can be blamed on the factor.
    BaselineBroken,
    /// A factor: the instrument hides the effect.
    MaskedByInstrument,
    /// A factor: the data cannot decide; `needs` says what would.
    Insufficient,
    /// The run is contaminated or gated.
    Invalid,
    /// An instrument: shown to lie within the margin.
    Inert,
    /// An instrument: no difference; the text says what is not excluded.
    NoEffectSeen,
    /// An instrument: a difference was shown, or the failing frame lies on a line that it added.
    Perturbs,
    /// An instrument: the same failure happens without it.
    NotNeeded,
    /// An instrument: the data cannot decide.
    Undetermined,
    /// A hypothesis: every prediction held, as often as its level asks.
    Supported,
    /// A hypothesis: a counterexample was seen.
    Refuted,
    /// A hypothesis: neither.
    Open,
}

impl Verdict {
    /// The word used in files, tables and JSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Verdict::Effect => "effect",
            Verdict::NoEffectWithin => "no_effect_within",
            Verdict::InstrumentPerturbs => "instrument_perturbs",
            Verdict::BaselineBroken => "baseline_broken",
            Verdict::MaskedByInstrument => "masked_by_instrument",
            Verdict::Insufficient => "insufficient",
            Verdict::Invalid => "invalid",
            Verdict::Inert => "inert",
            Verdict::NoEffectSeen => "no_effect_seen",
            Verdict::Perturbs => "perturbs",
            Verdict::NotNeeded => "not_needed",
            Verdict::Undetermined => "undetermined",
            Verdict::Supported => "supported",
            Verdict::Refuted => "refuted",
            Verdict::Open => "open",
        }
    }
}

/// How much stands behind an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    /// One launch per arm.
    Anecdotal,
    /// Two or three, all alike.
    Consistent,
    /// The declared rule is met, or a counterexample suffices.
    Shown,
}

impl Strength {
    /// The word used in files, tables and JSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Strength::Anecdotal => "anecdotal",
            Strength::Consistent => "consistent",
            Strength::Shown => "shown",
        }
    }
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// `factor:NAME`, `factor:NAME=LEVEL` where a factor has several treatment levels, `instrument:NAME` or `hypothesis:CLAIM`.
    pub about: String,
    /// `outcome` or the metric's name.
    pub metric: String,
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
            verdict,
            strength: None,
            text: String::new(),
            p: None,
            interval: None,
            interval_of: None,
            estimate: None,
            needs: None,
            evidence: Vec::new(),
        }
    }
}

/// What would settle an open answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Needs {
    /// Launches per cell in all.
    pub launches_per_cell: Option<u32>,
    /// What is missing, in sentences.
    pub missing: Vec<String>,
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

/// The values one probe saw on one rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Capture {
    /// The cell, such as `nccl/kv-budget`.
    pub cell: String,
    /// The trial.
    pub trial: TrialId,
    /// The first hit of the probe on this rank.
    pub hit: Hit,
    /// Hits of the probe in this process, those without a record included.
    pub hits: u64,
    /// Whether the captures may have run code of the program (`unsafe = true`).
    #[serde(default)]
    pub unsafe_capture: bool,
}

/// One launch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialReport {
    /// The trial's number.
    pub id: TrialId,
    /// The block, from 1; 0 for gate and clean trials.
    pub block: u32,
    /// `measure`, `gate` or `clean`.
    pub purpose: String,
    /// Factor name to level name.
    pub levels: IndexMap<String, String>,
    /// The instrument level.
    pub instrument: String,
    /// The outcome; `None` while it runs.
    pub outcome: Option<Outcome>,
    /// The class of the cause.
    pub cause: Option<String>,
    /// The cause in full.
    pub cause_detail: Option<Cause>,
    /// What shows the outcome.
    pub evidence: Vec<Evidence>,
    /// Seconds from spawn to ready.
    pub ready_s: Option<f64>,
    /// Seconds from spawn to the last process gone.
    pub wall_s: Option<f64>,
    /// Metrics by name.
    pub metrics: IndexMap<String, Option<f64>>,
    /// Each process's account of each probe.
    pub receipts: Vec<Receipt>,
    /// The files that hold the captured output, by stream.
    pub output: IndexMap<String, PathBuf>,
    /// The configuration that the program printed, with its place; `None` where no reader knows such a line.
    #[serde(default)]
    pub configuration: Option<Evidence>,
    /// With what it was launched; left out of JSON unless `--why` asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
}

/// The proof that every file is as before.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Restored {
    /// How many files instruments had changed.
    pub files: u32,
    /// Whether all are byte for byte and in their metadata as before; `None` while edits are live or nothing was compared.
    pub exact: Option<bool>,
    /// A bare baseline trial that ran after the last undo and behaved as those before the first edit.
    pub clean_trial: Option<TrialId>,
    /// Why "restored" is not shown by behaviour, where edits were made and `clean_trial` is `None`.
    #[serde(default)]
    pub not_shown: Option<String>,
    /// Edits that were put on disk, and those of them that were undone.
    #[serde(default)]
    pub made: u32,
    /// See `made`.
    #[serde(default)]
    pub undone: u32,
    /// Each file.
    pub proofs: Vec<RestoredFile>,
}

/// The proof for one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RestoredFile {
    /// The file.
    pub file: PathBuf,
    /// SHA-256 before the run, in hex.
    pub before_sha256: String,
    /// SHA-256 now, in hex.
    pub after_sha256: Option<String>,
    /// Whether mode, owner, modification time and extended attributes are as before.
    pub metadata_same: bool,
    /// How often it was edited and restored.
    pub edits: u32,
}
    /// What samples have seen of memory; the series are left out, which the record keeps.
    #[serde(default)]
    pub samples: Option<Samples>,
