//! The conditions under which a launch is a data point: what is looked at before it and waited for after it.
//!
//! They are fixed with the plan, before the first launch, so that no launch is left out because of what came of it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What others may hold on a GPU before a launch, where the file does not say: a desktop and the driver's own share stay below it, a model does not.
const DEFAULT_GPU_MEMORY: u64 = 1 << 30;
/// How long a condition that does not hold is waited for, where the file does not say.
const DEFAULT_SETTLE: Duration = Duration::from_secs(60);
/// Titles that engines give to their processes, which tell a leftover when its parent, its port and its container are gone.
const DEFAULT_TITLES: [&str; 3] = ["VLLM::*", "sglang::*", "ray::*"];

/// Rules that make a launch void, fixed before the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Conditions {
    /// The GPUs of the program, by index in the order of the driver or by UUID; `None` where its environment says it, or else all.
    pub gpus: Option<Vec<String>>,
    /// What others may hold on each of them before a launch, in bytes.
    pub gpu_memory_bytes: u64,
    /// The least memory that must be available on the machine, in bytes.
    pub free_memory_bytes: Option<u64>,
    /// The greatest load of the machine (average of the last minute).
    pub load: Option<f64>,
    /// Patterns of process titles that only a leftover has; `*` stands for anything.
    pub titles: Vec<String>,
    /// How long is waited for what may still come right by itself: before a launch for memory and load, after it for its GPU memory.
    pub settle: Duration,
}

impl Default for Conditions {
    fn default() -> Self {
        Self {
            gpus: None,
            gpu_memory_bytes: DEFAULT_GPU_MEMORY,
            free_memory_bytes: None,
            load: None,
            titles: DEFAULT_TITLES.map(str::to_owned).to_vec(),
            settle: DEFAULT_SETTLE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Conditions;

    #[test]
    fn a_plan_of_before_there_were_conditions_has_the_defaults() {
        let read: Conditions = serde_json::from_str("{}").expect("every field has a default");
        assert_eq!(read, Conditions::default());
        assert_eq!((read.free_memory_bytes, read.load), (None, None), "a busy machine voids nothing");
    }
}
