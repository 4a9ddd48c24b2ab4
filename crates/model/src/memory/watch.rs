//! What `memory watch` says when it is over. Units: bytes, seconds since the start.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::samples::Samples;

/// The memory of GPUs, of processes and of the machine over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedMemory {
    /// [`super::FORMAT`].
    pub format: u32,
    /// What was watched.
    pub what: WatchedSubject,
    /// What ended it.
    pub ending: WatchEnding,
    /// Why it was stopped, where the user has not asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The exit code of the command; `None` where a signal ended it, and where no command was run.
    pub exit: Option<i32>,
    /// The signal that ended the command.
    pub signal: Option<i32>,
    /// How long it took.
    pub wall_s: f64,
    /// The time between two samples, as asked for.
    pub interval_s: f64,
    /// The version of the GPU driver; `None` where it does not tell, or is not there.
    pub driver: Option<String>,
    /// Why nothing is told of GPUs; `None` where they were watched.
    pub no_gpus: Option<String>,
    /// How processes on GPUs were told to be processes here, in a sentence; `None` without GPUs.
    pub told_by: Option<String>,
    /// All memory of the machine.
    pub machine_bytes: Option<u64>,
    /// What looking has cost.
    pub cost: SamplingCost,
    /// What was seen, on one time axis. Its processes are those watched; where no process was named, those that were on a GPU.
    pub samples: Samples,
    /// What is to be known beside, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What was watched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum WatchedSubject {
    /// All GPUs of the machine, and whoever is on them.
    Machine,
    /// A process that was there, with everything below it.
    Process {
        /// The process.
        pid: u32,
        /// Its title at the start, without secrets.
        title: String,
    },
    /// A command that was run for it.
    Command {
        /// The process.
        pid: u32,
        /// The command, without secrets.
        command: Vec<String>,
    },
}

/// What ended a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WatchEnding {
    /// The command ended by itself.
    CommandEnded,
    /// The process ended.
    ProcessEnded,
    /// The time that was asked for is over.
    TimeOver,
    /// It was stopped, by the user or by what `why` says.
    Interrupted,
}

/// What samples have cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SamplingCost {
    /// Samples of processes and of the machine.
    pub samples: u64,
    /// Milliseconds that one took on average.
    pub mean_ms: f64,
    /// Samples of GPUs.
    pub gpu_samples: u64,
    /// Milliseconds that the driver took for one of all GPUs, on average.
    pub gpu_mean_ms: f64,
    /// Milliseconds that it took at most.
    pub gpu_worst_ms: f64,
    /// Processor time of the watch itself by the time that passed, 1 being a whole processor.
    pub processor_share: f64,
}
