//! What an inference engine said of itself before and after a workload.
//!
//! A figure that could not be had is `None` with the reason, never 0. Rates and shares are fractions.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A figure of an engine, by the name that experiment files and reports use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name {
    /// The name after `engine.`.
    pub name: &'static str,
    /// Its unit, for tables; empty for counts and shares.
    pub unit: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Whether it needs a workload: a difference between two readings.
    pub is_delta: bool,
}

/// Every figure, in the order of reports.
pub const NAMES: [Name; 9] = [
    Name {
        name: "accept_length",
        unit: "tokens",
        about: "tokens per step of the large model under speculative decoding, its own among them",
        is_delta: true,
    },
    Name { name: "accept_rate", unit: "", about: "share of the drafted tokens that were accepted", is_delta: true },
    Name { name: "prefix_hit_rate", unit: "", about: "share of the prompt tokens that the prefix cache held", is_delta: true },
    Name { name: "prompt_tokens", unit: "tokens", about: "prompt tokens taken in", is_delta: true },
    Name { name: "generation_tokens", unit: "tokens", about: "tokens given out", is_delta: true },
    Name { name: "preemptions", unit: "", about: "requests that were put back because the KV cache was full", is_delta: true },
    Name { name: "kv_usage", unit: "", about: "share of the KV cache in use, of the fullest engine", is_delta: false },
    Name { name: "running", unit: "requests", about: "requests that were running", is_delta: false },
    Name { name: "queued", unit: "requests", about: "requests that waited", is_delta: false },
];

/// Prompts that are random share nothing: above this share of hits, one arm has read what another left, and they cannot be compared.
pub const RANDOM_PREFIX_HITS: f64 = 0.01;

/// One figure.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EngineFigure {
    /// Over the workload for counts and shares of them, afterwards for states.
    pub value: Option<f64>,
    /// The same before the workload, for states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<f64>,
    /// From which series or fields and how it was computed, with their numbers; or why there is no value.
    pub from: String,
}

/// What an engine said of itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EngineReading {
    /// `vllm` or `sglang`; `None` where neither was recognised.
    pub engine: Option<String>,
    /// The version, where the engine tells it.
    pub version: Option<String>,
    /// The addresses that were asked.
    pub asked: Vec<String>,
    /// Every figure of [`NAMES`].
    pub figures: IndexMap<String, EngineFigure>,
    /// What is worth knowing before trials are compared.
    #[serde(default)]
    pub notes: Vec<String>,
}

impl EngineReading {
    /// A reading without any value, for one and the same reason.
    #[must_use]
    pub fn without(why: &str) -> Self {
        let missing = EngineFigure { value: None, before: None, from: why.to_owned() };
        Self { figures: NAMES.iter().map(|name| (name.name.to_owned(), missing.clone())).collect(), ..Self::default() }
    }
}
