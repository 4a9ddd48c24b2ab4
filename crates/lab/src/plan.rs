//! The checked plan: what an experiment file decides once nothing in it is open any more.
//!
//! It is serialised into the first event of a run, so that a report needs the record alone. Texts may hold placeholders such as `{port}` or `{trial}`
//! (see `spec::placeholder`); they are filled for each trial by [`Template::fill`].

mod conditions;
mod design;
mod hooks;
mod hypothesis;
mod instrument;
mod metric;
mod ports;
mod program;
mod ready;
mod requests;
mod series;

use std::ops::Range;
use std::path::PathBuf;

use bystander_model::cell::Cell;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

pub use conditions::Conditions;
pub use design::{Blocks, Expect, Kind, Lane, Refused, Rule, Stop};
pub use hooks::{HookCommand, Hooks};
pub use hypothesis::{Bounds, Direction, Hypothesis, Prediction};
pub use instrument::{Edit, EditAction, Probe};
pub use metric::{Extract, Metric, MetricSource, Over, Pick, Scale, When};
pub use ports::FixedBy;
pub use program::{Fresh, Level, Program, Workload};
pub use ready::{CommandReady, GeneratesReady, HttpReady, Ready, STABLE, STABLE_ALONE, Treatment};
pub use requests::{Count, RequestCounts};
pub use series::{Series, SeriesError};

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

    /// Which metrics tell how many requests of the workload failed, where the file says so.
    #[must_use]
    pub fn request_counts(&self) -> Option<&RequestCounts> {
        self.workload.as_ref()?.requests.as_ref()
    }

    /// Whether a metric is there to tell of requests, and is no number of its own.
    #[must_use]
    pub fn tells_requests(&self, metric: &str) -> bool {
        self.request_counts().is_some_and(|counts| counts.metrics().any(|name| name == metric))
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
