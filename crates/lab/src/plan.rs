//! The checked plan: what an experiment file decides once nothing in it is open any more.
//!
//! It is serialised into the first event of a run, so that a report needs the record alone. Texts may hold placeholders such as `{port}` or `{trial}`
//! (see `spec::placeholder`); they are filled for each trial by [`Template::fill`].

mod conditions;
mod ready;

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use bystander_model::cell::Cell;
use bystander_model::outcome::Outcome;
use bystander_model::probe::{Delivery, ProbeSpec, Spans};
use bystander_model::traffic::Load;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

pub use conditions::Conditions;
pub use ready::{CommandReady, GeneratesReady, HttpReady, Ready, Treatment};

mod metric;

pub use metric::{Extract, MetricSource, Over, Pick, Series, SeriesError, When};

/// Everything that a run needs to know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The experiment file, absolute.
    pub file: PathBuf,
    /// The question, as the file asks it.
    pub question: Option<String>,
    /// The program under test.
    pub program: Program,
    /// What is done to the program once it is ready.
    pub workload: Option<Workload>,
    /// What must hold on the machine for a launch to be a data point.
    #[serde(default)]
    pub conditions: Conditions,
    /// Factors with their levels, in the order of the file.
    pub factors: IndexMap<String, IndexMap<String, Level>>,
    /// Probes that the plan uses.
    pub probes: Vec<Probe>,
    /// Edits that the plan uses.
    pub edits: Vec<Edit>,
    /// Metrics by name.
    pub metrics: IndexMap<String, Metric>,
    /// The cell that everything is compared with.
    pub baseline: Cell,
    /// Every cell once, the baseline first.
    pub cells: Vec<Cell>,
    /// Instrument levels by name: what goes in together. `none` is empty.
    pub instruments: IndexMap<String, Vec<String>>,
    /// The least and greatest number of blocks.
    pub blocks: Blocks,
    /// The seed of the order, where the file fixes it.
    pub seed: Option<u64>,
    /// What the baseline is declared to do.
    pub expect: Expect,
    /// The one answer that may stop the run: `outcome`, or a metric's name.
    pub primary: String,
    /// The difference of failure rates that counts as no effect, as a fraction; `None` claims none.
    pub margin: Option<f64>,
    /// Whether a plan that cannot reach its level is accepted as a description.
    pub describe: bool,
    /// Whether a first block of one and the same failure stops the run.
    pub stop: Stop,
    /// What a refused instrument does to the run.
    pub refused: Refused,
    /// Claims to be judged.
    pub hypotheses: Vec<Hypothesis>,
    /// How launches are ordered.
    #[serde(default)]
    pub kind: Kind,
    /// Whether the file declares which cells there are; otherwise every combination is one.
    #[serde(default)]
    pub declared: bool,
    /// What runs trials at the same time; none is one lane with everything that the machine has.
    #[serde(default)]
    pub lanes: Vec<Lane>,
    /// Whether every launch has a variable of random length in its environment.
    #[serde(default)]
    pub padding: bool,
    /// Commands around the run and around every trial.
    #[serde(default)]
    pub hooks: Hooks,
    /// How outcomes are compared.
    #[serde(default)]
    pub rule: Rule,
    /// Logs of earlier runs, shown as what they are.
    #[serde(default)]
    pub evidence: Vec<OldLogFile>,
    /// Instruments that were refused before the first launch and left out, with the reason.
    #[serde(default)]
    pub left_out: IndexMap<String, String>,
}

impl Plan {
    /// The names of the instruments that go into a cell.
    #[must_use]
    pub fn instruments_of(&self, cell: &Cell) -> &[String] {
        self.instruments.get(&cell.instrument).map_or(&[], Vec::as_slice)
    }

    /// The edits that go into a cell, in the order of the file.
    pub fn edits_of<'a>(&'a self, cell: &'a Cell) -> impl Iterator<Item = &'a Edit> {
        self.edits.iter().filter(|edit| self.instruments_of(cell).contains(&edit.name))
    }

    /// The probes that go into a cell, in the order of the file.
    pub fn probes_of<'a>(&'a self, cell: &'a Cell) -> impl Iterator<Item = &'a Probe> {
        self.probes.iter().filter(|probe| self.instruments_of(cell).contains(&probe.spec.name))
    }

    /// Leaves an instrument out: no cell holds it any more, and the report says why.
    pub fn leave_out(&mut self, name: &str, why: &str) {
        let held: Vec<String> =
            self.instruments.iter().filter(|(_, names)| names.iter().any(|n| n == name)).map(|(level, _)| level.clone()).collect();
        for level in held {
            self.instruments.shift_remove(&level);
            self.cells.retain(|cell| cell.instrument != level);
            self.left_out.insert(level, why.to_owned());
        }
        self.edits.retain(|edit| edit.name != name);
        self.probes.retain(|probe| probe.spec.name != name);
    }

    /// Takes commands and variables from another reading of the same file: in the record their secrets are masked.
    pub fn unmask(&mut self, read: &Self) {
        self.program.command.clone_from(&read.program.command);
        self.program.env.clone_from(&read.program.env);
        self.program.ready.clone_from(&read.program.ready);
        self.factors.clone_from(&read.factors);
        self.workload.clone_from(&read.workload);
        self.hooks.clone_from(&read.hooks);
    }

    /// How many trials run at the same time, at least one.
    #[must_use]
    pub fn lane_count(&self) -> u32 {
        u32::try_from(self.lanes.len()).unwrap_or(u32::MAX).max(1)
    }

    /// A lane by its number, from 1; `None` where the plan declares none.
    #[must_use]
    pub fn lane(&self, number: u32) -> Option<&Lane> {
        self.lanes.get(number.checked_sub(1)? as usize)
    }

    /// The folder that relative paths of the file are relative to.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.file.parent().map_or_else(|| PathBuf::from("."), PathBuf::from)
    }
}

/// A text with placeholders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Template(pub String);

impl Template {
    /// Fills `{name}` for each given name; other braces stay as they are.
    #[must_use]
    pub fn fill(&self, values: &[(&str, &str)]) -> String {
        values.iter().fold(self.0.clone(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
    }

    /// Whether `{name}` occurs.
    #[must_use]
    pub fn mentions(&self, name: &str) -> bool {
        self.0.contains(&format!("{{{name}}}"))
    }
}

/// The program under test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Command and arguments; levels append theirs.
    pub command: Vec<Template>,
    /// The working directory, absolute.
    pub cwd: PathBuf,
    /// Variables set on top of the caller's environment.
    pub env: IndexMap<String, Template>,
    /// What shows that it is ready; `None` for a program that simply ends.
    pub ready: Option<Ready>,
    /// From spawn to the end, workload included.
    pub timeout: Duration,
    /// Without output for this long and not ready, it counts as stalled in the words of a time-out.
    pub stall: Duration,
    /// From SIGTERM to SIGKILL.
    pub grace: Duration,
    /// What every trial has for itself, and not from another.
    #[serde(default)]
    pub fresh: Fresh,
    /// Where the keys stand in the experiment file, for diagnostics: `command`, `cwd`, `ready`.
    #[serde(default)]
    pub spans: IndexMap<String, Range<usize>>,
}

/// What every trial has for itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fresh {
    /// An empty working directory.
    pub cwd: bool,
    /// Empty cache directories; otherwise all trials share those that the caller's environment names.
    pub cache: bool,
}

/// What is done to the ready program: a command, or built-in traffic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Command and arguments; none for built-in traffic.
    pub command: Vec<Template>,
    /// The built-in traffic. Its texts may hold placeholders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Load>,
    /// From its spawn to its end.
    pub timeout: Duration,
    /// Where the keys stand in the experiment file, for diagnostics: `command`, `traffic`, `prompt.file`, `api_key_env`.
    #[serde(default)]
    pub spans: IndexMap<String, Range<usize>>,
}

impl Workload {
    /// Its texts that are filled for a trial.
    pub fn texts(&self) -> impl Iterator<Item = Template> {
        let of_load = |load: &Load| std::iter::once(load.url.clone()).chain(load.model.clone()).map(Template).collect::<Vec<_>>();
        self.command.iter().cloned().chain(self.traffic.as_ref().map(of_load).unwrap_or_default())
    }
}

/// What a level changes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Arguments appended to the command.
    pub args: Vec<Template>,
    /// Variables set.
    pub env: IndexMap<String, Template>,
    /// Variables removed.
    pub unset: Vec<String>,
    /// By what it is seen in the program that this level was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub treatment: Option<Treatment>,
}

impl Level {
    /// Whether another level gives the program the same, however either is seen in it.
    #[must_use]
    pub fn changes_the_same(&self, other: &Self) -> bool {
        self.args == other.args && self.env == other.env && self.unset == other.unset
    }
}

/// A probe as the file asks for it; the place is checked by the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// The probe.
    #[serde(flatten)]
    pub spec: ProbeSpec,
    /// Where the keys stand in the experiment file, for diagnostics: `name`, `at`, `after`, `capture`, `capture.N`, `if`, `rank`.
    pub spans: Spans,
}

/// An edit as the file asks for it; the text is looked for by the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Edit {
    /// The name.
    pub name: String,
    /// The file, absolute.
    pub file: PathBuf,
    /// The text that must occur exactly once.
    pub find: String,
    /// What happens to it.
    pub action: EditAction,
    /// SHA-256 that the file must have, in hex.
    pub sha256: Option<String>,
    /// Names that the inserted text may use though nothing in the file defines them.
    pub allow_undefined: Vec<String>,
    /// How it gets in: on disk, or in a mount namespace of the program's own. [`Delivery::Auto`] is on disk.
    #[serde(default)]
    pub delivery: Delivery,
    /// Where the keys stand in the experiment file, for diagnostics: `name`, `file`, `find`, `text`, `sha256`,
    /// `allow_undefined`.
    pub spans: IndexMap<String, Range<usize>>,
}

/// What an edit does with the text it finds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EditAction {
    /// Puts a text after it.
    InsertAfter(String),
    /// Puts a text before it.
    InsertBefore(String),
    /// Puts a text in its place.
    Replace(String),
}

/// A number read once per launch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// Where it is read.
    pub source: MetricSource,
    /// How effects are expressed.
    pub scale: Scale,
    /// What counts as no effect: in the metric's unit for differences, as a fraction (0.02) for ratios.
    pub margin: Option<f64>,
    /// The unit, for tables.
    pub unit: Option<String>,
}

/// How effects on a metric are expressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// As ratios, computed on logarithms.
    Ratio,
    /// As differences.
    Difference,
}

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

/// Commands around the run and around every trial; none where the file declares none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Hooks {
    /// Before the first launch, whenever the run begins or is taken up.
    pub setup: Vec<HookCommand>,
    /// Before every trial.
    pub prepare: Vec<HookCommand>,
    /// After every trial.
    pub conclude: Vec<HookCommand>,
    /// After the last launch, whenever the run ends or is stopped.
    pub cleanup: Vec<HookCommand>,
    /// How long one command may take.
    pub timeout: Duration,
    /// Whether a trial is no data point where what comes after it fails.
    pub strict: bool,
}

impl Hooks {
    /// Every hook that has commands, by its name.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &[HookCommand])> {
        let named = [("setup", &self.setup), ("prepare", &self.prepare), ("conclude", &self.conclude), ("cleanup", &self.cleanup)];
        named.into_iter().map(|(name, commands)| (name, commands.as_slice())).filter(|(_, commands)| !commands.is_empty())
    }
}

/// One command of a hook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HookCommand {
    /// Command and arguments.
    pub argv: Vec<Template>,
    /// Where it stands in the experiment file, for diagnostics.
    #[serde(default)]
    pub span: Option<Range<usize>>,
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

/// A claim and what it predicts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hypothesis {
    /// The claim.
    pub claim: String,
    /// What must be seen if it is true.
    pub predicts: Vec<Prediction>,
}

/// One thing that a hypothesis predicts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Prediction {
    /// The outcome of every trial of a cell.
    Outcome {
        /// The cell.
        cell: Cell,
        /// The outcome; `failed` holds for a time-out too.
        outcome: Outcome,
    },
    /// Every trial of a cell fails, and for this reason.
    Cause {
        /// The cell.
        cell: Cell,
        /// The class, or the first parts of it: `memory` holds for `memory.host_oom`.
        cause: String,
    },
    /// The value of a metric in every launch of a cell that completes.
    Value {
        /// The cell.
        cell: Cell,
        /// The metric.
        metric: String,
        /// Where it lies.
        #[serde(flatten)]
        range: Bounds,
    },
    /// What one level of a factor does to a metric, against the baseline's level.
    Effect {
        /// The factor.
        factor: String,
        /// The level.
        level: String,
        /// The metric.
        metric: String,
        /// The direction.
        effect: Direction,
    },
}

impl Prediction {
    /// The cell it is about; `None` for an effect, which is about two.
    #[must_use]
    pub const fn cell(&self) -> Option<&Cell> {
        match self {
            Self::Outcome { cell, .. } | Self::Cause { cell, .. } | Self::Value { cell, .. } => Some(cell),
            Self::Effect { .. } => None,
        }
    }
}

/// Where a value is predicted to lie; a bound that is not stated does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// It is greater than this, or equal where both bounds are stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// It is less than this, or equal where both bounds are stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

impl Bounds {
    /// Whether a value lies in it.
    #[must_use]
    pub fn holds(&self, value: f64) -> bool {
        match (self.low, self.high) {
            (Some(low), Some(high)) => (low..=high).contains(&value),
            (Some(low), None) => value > low,
            (None, Some(high)) => value < high,
            (None, None) => true,
        }
    }
}

/// What an effect does to a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// It grows.
    Up,
    /// It shrinks.
    Down,
    /// It stays within the metric's margin.
    None,
}

/// A log of an earlier run, as the file names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OldLogFile {
    /// The name in the report.
    pub name: String,
    /// The file, absolute.
    pub log: PathBuf,
    /// Where it stands in the experiment file, for diagnostics.
    #[serde(default)]
    pub span: Range<usize>,
}
