//! One command run once with probes: what is recorded of it, and the JSON that it prints.
//!
//! The record is a run whose events are [`WatchEvent`]s and receipts; its hits lie in batches ([`HitBatch`]), many to an event, since a
//! program may give a hundred thousand in a second.

mod batch;

use std::path::PathBuf;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::elsewhere::OnMachine;
use crate::hit::{Hit, Receipt, ReceiptState};
use crate::ids::RunId;
use crate::probe::{Delivery, ProbeSpec};

pub use batch::HitBatch;

/// What happens while a command is watched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "watch", rename_all = "snake_case")]
pub enum WatchEvent {
    /// Everything is checked, and the program is about to be launched; the first event.
    Started(WatchStart),
    /// The program runs; the time of this event is the start of it.
    Launched {
        /// Its process.
        pid: u32,
    },
    /// Hits, in the order in which they were read.
    Hits(HitBatch),
    /// Nothing of the program is left; the last event.
    Ended(WatchEnd),
}

/// What is watched, secrets masked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WatchStart {
    /// The command.
    pub command: Vec<String>,
    /// The working directory.
    pub cwd: PathBuf,
    /// The probes with their places.
    pub probes: Vec<WatchProbe>,
    /// The version of the program's Python.
    pub python: Option<String>,
    /// The version of Bystander.
    pub version: String,
    /// What is to be known beside, in sentences.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// One probe and where it goes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WatchProbe {
    /// The probe as asked for.
    pub spec: ProbeSpec,
    /// The statement and side in words, such as "before line 12 (for)".
    pub placed: String,
    /// The file.
    pub file: PathBuf,
    /// The function, or `<module>`.
    pub function: String,
    /// How it gets in.
    pub delivery: Delivery,
    /// That way in words, why it was chosen and what it cannot do; `None` where nothing is known.
    pub limits: Option<String>,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WatchEnd {
    /// The program's exit code.
    pub exit: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// True where it was stopped: by the user, or by what `why` says.
    pub interrupted: bool,
    /// Why it was stopped, where the user has not asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Seconds from its start to the last process gone.
    pub wall_s: f64,
    /// What it had left behind and what was done about it.
    pub left: Option<String>,
    /// What kept Bystander from seeing all of it.
    pub trouble: Option<String>,
}

/// One line of `watch --json`: a hit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HitLine {
    /// The hit.
    pub hit: Hit,
}

/// The last line of `watch --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SummaryLine {
    /// The summary.
    pub summary: WatchSummary,
}

/// How a watched command stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WatchStatus {
    /// The program ended by itself.
    Ended,
    /// It was stopped, by the user or by what `why` says.
    Interrupted,
    /// It is still being watched.
    Running,
    /// Bystander was killed, or could not write: what is recorded stays, and of the end nothing is known.
    Killed,
}

/// What came of a watched command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchSummary {
    /// The version of this form.
    pub format: u32,
    /// The run in the record.
    pub run: RunId,
    /// How it stands.
    pub status: WatchStatus,
    /// Why it was stopped, where the user has not asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The command, secrets masked.
    pub command: Vec<String>,
    /// The program's exit code; `None` where a signal ended it, or nothing is known.
    pub exit: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Seconds from its start to the last process gone.
    pub wall_s: Option<f64>,
    /// Hits that are in the record.
    pub hits: u64,
    /// The probes, in the order in which they were given.
    pub probes: Vec<ProbeSummary>,
    /// Every process's account of every probe.
    pub receipts: Vec<Receipt>,
    /// What the program had left behind and what was done about it.
    pub left: Option<String>,
    /// What kept Bystander from seeing all of it.
    pub trouble: Option<String>,
    /// The machine that it ran on; `None` where that is this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<OnMachine>,
}

/// What came of one probe, over all processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeSummary {
    /// Its name.
    pub probe: String,
    /// The probe in its one-line form, without its name.
    pub text: String,
    /// The statement and side chosen, with file and function.
    pub placed: String,
    /// How it got in.
    pub delivery: String,
    /// True where captures may have run code of the program.
    #[serde(rename = "unsafe")]
    pub unsafe_capture: bool,
    /// Hits, recorded or not; `None` where no process has told.
    pub hits: Option<u64>,
    /// Hits that are in the record.
    pub recorded: u64,
    /// How often control came to the place; `None` where no process has told.
    pub passes: Option<u64>,
    /// Hits that were not recorded: the ring was full or the limit reached.
    pub dropped: Option<u64>,
    /// Passes that the rate turned away.
    pub throttled: Option<u64>,
    /// The cost of one hit as measured in the program, the mean over its processes, in nanoseconds.
    pub cost_ns: Option<u64>,
    /// Seconds that the hits took: hits times their cost, over all processes.
    pub cost_s: Option<f64>,
    /// That cost as a part of the time that the program ran, for the process with the most; 1 is all of it.
    pub cost_share: Option<f64>,
    /// What recorded: `native`, `python`.
    pub recorders: Vec<String>,
    /// True where it added a point at which the interpreter may switch threads.
    pub adds_switch_point: bool,
    /// The number of processes in each state.
    pub states: IndexMap<ReceiptState, u64>,
    /// Why there is no hit, where there is none.
    pub silent: Option<String>,
}
