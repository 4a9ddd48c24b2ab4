//! What went on while memory was sampled: phases and moments, on the same time axis, with what was held.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A moment of the course of things.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Moment {
    /// When.
    pub at_s: f64,
    /// The phase that it fell into, by [`PhaseSamples::name`]; `None` where nobody told of phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
}

/// One phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseSamples {
    /// Its name, such as `starting`, `weight_load`, `graph_capture`, `serving`, `ready`, `workload`.
    pub name: String,
    /// When it began.
    pub at_s: f64,
    /// What told that it began, such as `stderr:118`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The largest sum of resident memory in it; `None` where no sample fell into it.
    pub peak_rss_bytes: Option<u64>,
    /// The least memory that the kernel said to be available in it.
    pub least_available_bytes: Option<u64>,
    /// The most that was held on each GPU in it, by whomever.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<GpuHeld>,
}

/// What is held on one GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GpuHeld {
    /// The GPU, by its index in the order of the driver.
    pub index: u32,
    /// What is held on it, by whomever.
    pub bytes: u64,
}

/// Something that happened at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mark {
    /// When.
    pub at_s: f64,
    /// What kind of thing.
    pub kind: MarkKind,
    /// What, in a few words.
    pub text: String,
    /// Where more stands of it, such as `probe/pid 812/0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The sum of resident memory at the last sample before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rss_bytes: Option<u64>,
    /// What was held on each GPU at the last sample before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<GpuHeld>,
}

/// What kind of thing happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MarkKind {
    /// A probe fired.
    Hit,
    /// The program itself ended.
    Ended,
}
