//! The report of a run: `run --json` and `show --json` print it, the text rendering is made from it alone.

use std::path::PathBuf;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::budget::BudgetReport;
use crate::evidence::Evidence;
use crate::hit::{Hit, Receipt};
use crate::ids::TrialId;
use crate::old_log::OldLogReport;
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
}

/// What was planned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanSummary {
    /// The greatest number of blocks; `None` where the run goes on until it is decided or stopped.
    pub blocks: Option<u32>,
    /// How outcomes are compared: `fisher` or `e_value`.
    #[serde(default)]
    pub rule: String,
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
    /// Why they were, by class.
    #[serde(default)]
    pub void_causes: Vec<CauseCount>,
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
    /// Where each of them was read, or why it has no value.
    #[serde(default)]
    pub metric_evidence: IndexMap<String, Evidence>,
    /// What the engine said of itself before and after the workload; `None` where no metric asks.
    #[serde(default)]
    pub engine: Option<crate::engine::EngineReading>,
    /// Each process's account of each probe.
    pub receipts: Vec<Receipt>,
    /// The files that hold the captured output, by stream.
    pub output: IndexMap<String, PathBuf>,
    /// What came of built-in traffic.
    #[serde(default)]
    pub traffic: Option<crate::traffic::Summary>,
    /// What samples have seen of memory; the series are left out, which the record keeps.
    #[serde(default)]
    pub samples: Option<Samples>,
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
