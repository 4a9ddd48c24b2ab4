//! Events: everything that happens in a run, in one order, recorded before it is shown.
//!
//! An event is identified by `(run, trial, origin, seq)` and inserted idempotently, so that a stream that is sent twice is recorded once.
//! The state of a run is a fold over its events; nothing else is kept.

use std::path::PathBuf;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::budget::{BudgetReport, VersionRange};
use crate::cell::Cell;
use crate::edit::{AppliedEdit, RevertedEdit};
use crate::engine::EngineReading;
use crate::evidence::{Evidence, Stream};
use crate::hit::{Hit, Receipt};
use crate::hook::HookRun;
use crate::ids::{RunId, TimeNs, TrialId};
use crate::old_log::OldLog;
use crate::outcome::{Cause, Outcome, RaisedByInstrument};
use crate::provenance::Provenance;
use crate::report::Conclusion;
use crate::requests::Requests;
use crate::samples::Samples;
use crate::traffic::Summary;
use crate::watch::WatchEvent;

/// How a body of hits begins.
pub(crate) const HITS: &str = r#"{"kind":"watch","watch":"hits","#;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The run.
    pub run: RunId,
    /// The trial; `None` for what concerns the run as a whole.
    pub trial: Option<TrialId>,
    /// Who saw it.
    pub origin: Origin,
    /// Its number among the events of `(run, trial, origin)`, from 0.
    pub seq: u64,
    /// When it was seen.
    pub time: TimeNs,
    /// What it was.
    pub body: EventBody,
}

/// An event as a line of JSON has it, whose body is not taken apart yet.
#[derive(Deserialize)]
struct EventLine<'a> {
    run: RunId,
    trial: Option<TrialId>,
    origin: Origin,
    seq: u64,
    time: TimeNs,
    #[serde(borrow)]
    body: &'a RawValue,
}

impl EventBody {
    /// Reads the text of a body.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str) -> serde_json::Result<Self> {
        // Tags are only known to be first by whoever wrote them; without that knowledge all of it is kept beside while they are looked for, which takes as long
        // again as all the rest, for millions of hits.
        if text.starts_with(HITS) { Ok(Self::Watch(WatchEvent::Hits(serde_json::from_str(text)?))) } else { serde_json::from_str(text) }
    }
}

impl Event {
    /// Reads an event.
    ///
    /// # Errors
    /// The line is none.
    pub fn parse(line: &[u8]) -> serde_json::Result<Self> {
        let EventLine { run, trial, origin, seq, time, body } = serde_json::from_slice(line)?;
        Ok(Self { run, trial, origin, seq, time, body: EventBody::parse(body.get())? })
    }

    /// The same event for a reader with another clock: `clock` gives every time that it holds.
    #[must_use]
    pub fn by_clock(mut self, clock: impl Fn(TimeNs) -> TimeNs) -> Self {
        self.time = clock(self.time);
        match &mut self.body {
            EventBody::Hit(hit) => hit.time_ns = clock(TimeNs(hit.time_ns)).0,
            EventBody::Watch(WatchEvent::Hits(hits)) => hits.by_clock(clock),
            _ => {}
        }
        self
    }
}

/// Who saw an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The run loop.
    Lab,
    /// The place where the trial runs.
    Host,
}

/// Why a trial is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// It is a cell of a block: a data point.
    Measure,
    /// It checks the baseline against `expect`, and enters no test.
    Gate,
    /// A bare baseline after the last undo: shows by behaviour that everything is as before. Enters no test.
    Clean,
    /// The bare baseline once more, where every cell of the first block failed in the same way: shows that it goes on failing. Enters no test.
    Confirm,
}

/// Where a trial stands in the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// Why it is run.
    pub purpose: Purpose,
    /// The block, from 1; 0 outside blocks.
    pub block: u32,
    /// The position in the block, from 1; counts gate and clean trials from 1.
    pub position: u32,
    /// 1 for the first launch at this position, then one more for each void or interrupted one.
    pub attempt: u32,
    /// Which of the lanes that run trials at the same time it has, from 1.
    #[serde(default = "only_lane")]
    pub lane: u32,
    /// The cell.
    pub cell: Cell,
}

/// The lane of a run that has one.
const fn only_lane() -> u32 {
    1
}

/// How a run came to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum RunEnd {
    /// Every planned block was run, or more could not change the primary answer.
    Finished {
        /// Why it stopped where it did, in a sentence.
        why: String,
    },
    /// The baseline was not as `expect` declares.
    Gated {
        /// What it was instead.
        why: String,
    },
    /// Three voids in one position.
    Invalid {
        /// What contaminated them, naming the holder.
        why: String,
    },
    /// The user stopped it; the same command goes on.
    Interrupted,
    /// Nobody was there for it within its lease; the same command goes on.
    Abandoned {
        /// That, with the length of the lease.
        why: String,
    },
    /// Bystander could not go on, such as with a full disk.
    Broken {
        /// What failed.
        why: String,
    },
}

/// How a trial ended, with everything that was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialEnd {
    /// The outcome.
    pub outcome: Outcome,
    /// The cause, for every outcome but `completed`.
    pub cause: Option<Cause>,
    /// What shows that the outcome is so: the ready line, the exit status, the workload's exit.
    pub evidence: Vec<Evidence>,
    /// The exit code of the main process.
    pub exit: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Seconds from spawn to ready.
    pub ready_s: Option<f64>,
    /// Seconds from spawn to the last process gone.
    pub wall_s: f64,
    /// Metrics by name; `None` where the source showed no value.
    pub metrics: IndexMap<String, Option<f64>>,
    /// Where each metric was read.
    pub metric_evidence: IndexMap<String, Evidence>,
    /// The units that stood behind numbers, by metric, where one that is known did; `None` in records of versions that did not look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<IndexMap<String, String>>,
    /// Metrics of which there was a number that could not be read as a whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// The engine's memory budget, where one could be read.
    pub budget: Option<Box<BudgetReport>>,
    /// The effective configuration that the program printed, with its place; `None` where no reader knows such a line.
    #[serde(default)]
    pub configuration: Option<Evidence>,
    /// Exceptions on lines that instruments added, whether or not they decided anything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raised: Vec<RaisedByInstrument>,
    /// Signatures of the tracebacks that it printed, whether or not they decided anything; the first dozens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub printed: Vec<String>,
    /// The versions of the engine that print such lines; `None` where no reader knows the engine.
    #[serde(default)]
    pub version: Option<VersionRange>,
    /// The engine that prints such lines, such as `sglang`; `None` where no reader knows it, and of records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed_by: Option<String>,
    /// Peak resident memory of the process tree, in bytes, as sampled.
    pub peak_rss_bytes: Option<u64>,
    /// What came of built-in traffic; `None` without it, or where it did not come to its end.
    #[serde(default)]
    pub traffic: Option<Box<Summary>>,
    /// What came of the requests of a command, where the file says which numbers tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Box<Requests>>,
    /// What the engine said of itself before and after the workload; `None` where nobody asked.
    #[serde(default)]
    pub engine: Option<Box<EngineReading>>,
    /// What samples have seen of memory; `None` where nothing was launched.
    #[serde(default)]
    pub samples: Option<Samples>,
}

impl TrialEnd {
    /// An end of which nothing but the outcome is known.
    #[must_use]
    pub fn new(outcome: Outcome) -> Self {
        Self {
            outcome,
            cause: None,
            evidence: Vec::new(),
            exit: None,
            signal: None,
            ready_s: None,
            wall_s: 0.0,
            metrics: IndexMap::new(),
            metric_evidence: IndexMap::new(),
            units: None,
            refused: Vec::new(),
            budget: None,
            configuration: None,
            raised: Vec::new(),
            printed: Vec::new(),
            version: None,
            printed_by: None,
            peak_rss_bytes: None,
            traffic: None,
            requests: None,
            engine: None,
            samples: None,
        }
    }
}

/// A process that conducts a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// The version of Bystander.
    pub version: String,
    /// The kernel's id of this start of the machine; `None` where it cannot be told.
    #[serde(default)]
    pub boot: Option<String>,
    /// The process.
    pub pid: u32,
}

/// A file that an instrument touched or could have touched, before the run and now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileProof {
    /// The file.
    pub file: PathBuf,
    /// SHA-256 before the run, in hex.
    pub before_sha256: String,
    /// SHA-256 now; `None` where it is gone.
    pub after_sha256: Option<String>,
    /// Whether mode, owner, modification time and extended attributes are as before.
    pub metadata_same: bool,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "events are built one at a time and serialised at once")]
pub enum EventBody {
    /// The run was created.
    RunStarted {
        /// The checked plan, as the lab serialises it.
        plan: serde_json::Value,
        /// What must be the same for a resume: hashes of specification, program and instrumented files.
        fingerprint: IndexMap<String, String>,
        /// The seed of the order.
        seed: u64,
        /// The version of Bystander.
        version: String,
        /// Files that instruments touch, as they are before the first launch.
        files: Vec<FileProof>,
    },
    /// The same command took up a run that had been stopped.
    RunResumed,
    /// A process began to conduct the run, or went on with it: it follows the start and every resume.
    Session(Session),
    /// A trial takes its place in the plan.
    TrialStarted {
        /// Where it stands.
        slot: Slot,
    },
    /// The program was spawned.
    Launched {
        /// What was launched.
        provenance: Box<Provenance>,
        /// The main process.
        pid: u32,
    },
    /// An edit was put on disk.
    Edited(AppliedEdit),
    /// An edit was undone.
    Undone(RevertedEdit),
    /// The program was ready.
    Ready {
        /// Seconds from spawn.
        after_s: f64,
        /// What showed it.
        evidence: Vec<Evidence>,
    },
    /// A probe fired.
    Hit(Hit),
    /// A process's account of a probe.
    Receipt(Receipt),
    /// An output stream was kept.
    Output {
        /// The stream.
        stream: Stream,
        /// The file, relative to the state directory.
        path: PathBuf,
        /// Its length.
        bytes: u64,
        /// Its lines.
        lines: u64,
        /// SHA-256 in hex.
        sha256: String,
    },
    /// A command of a hook was run: of the trial, or of the run.
    Hook(HookRun),
    /// The trial is over and nothing of it is left.
    TrialEnded(TrialEnd),
    /// The files were compared with how they were before the run.
    Restored {
        /// Each file.
        files: Vec<FileProof>,
    },
    /// Something worth saying that is none of the above.
    Note {
        /// A sentence.
        text: String,
    },
    /// Something of a command that is watched.
    Watch(WatchEvent),
    /// A log of an earlier run was read.
    OldLog(Box<OldLog>),
    /// What was concluded when the run came to an end, or to a stop; later evidence may contradict it, and it stays.
    Concluded {
        /// The answers as they were given.
        answers: Vec<Conclusion>,
    },
    /// The run came to an end.
    RunEnded(RunEnd),
}
