//! One cell over all its trials.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// The unit, where the file or the source of the metric says it.
    #[serde(default)]
    pub unit: Option<String>,
    /// Launches that showed a value.
    pub n: u32,
    /// The median over launches.
    pub median: Option<f64>,
    /// The values in launch order.
    pub values: Vec<f64>,
    /// The share of requests of the workload that failed in those launches, where the workload is what the metric depends on, and where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_rate: Option<f64>,
}
