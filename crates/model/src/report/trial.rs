//! One launch, and what its probes saw.

use std::path::PathBuf;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::Evidence;
use crate::hit::{Hit, Receipt};
use crate::ids::TrialId;
use crate::outcome::{Cause, Outcome};
use crate::provenance::Provenance;
use crate::samples::Samples;

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
    /// What the engine said of itself before and after the workload; `None` where neither built-in traffic nor a metric asks.
    #[serde(default)]
    pub engine: Option<crate::engine::EngineReading>,
    /// Each process's account of each probe.
    pub receipts: Vec<Receipt>,
    /// The files that hold the captured output, by stream.
    pub output: IndexMap<String, PathBuf>,
    /// What came of built-in traffic.
    #[serde(default)]
    pub traffic: Option<crate::traffic::Summary>,
    /// What came of the requests of a command, where the file says which numbers tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<crate::requests::Requests>,
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
