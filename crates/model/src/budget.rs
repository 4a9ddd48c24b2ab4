//! Where the GPU memory of one rank goes: an identity of terms, each with its source. Amounts in GiB = 2^30 bytes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::Evidence;

/// A figure with the range that its rounded sources leave; `low == high == value` where it is exact.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// The best value.
    pub value: f64,
    /// The least value that the sources allow.
    pub low: f64,
    /// The greatest value that the sources allow.
    pub high: f64,
}

impl Figure {
    /// A figure without error.
    #[must_use]
    pub const fn exact(value: f64) -> Self {
        Self { value, low: value, high: value }
    }
}

/// What the sizing of one server computes, with numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetReport {
    /// The engine, such as `sglang`.
    pub engine: String,
    /// The versions that the evidence allows, such as `0.5.7` and `0.5.9`, and from what.
    pub version: VersionRange,
    /// The rank it was read from; the result is the same on all ranks, since the inputs are minima over ranks.
    pub rank: Option<u32>,
    /// Free memory before the weights, minimum over ranks.
    pub total_gib: Figure,
    /// Free memory after the weights, minimum over ranks.
    pub available_gib: Figure,
    /// The static fraction: what weights and KV cache together may take of `total_gib`.
    pub fraction: f64,
    /// `available - total * (1 - fraction)`: what is left for the KV cache.
    pub rest_gib: Figure,
    /// Bytes of KV cache per token and rank.
    pub cell_bytes: Option<u64>,
    /// Tokens of KV cache; zero or less means that the server cannot start.
    pub tokens: Option<Figure>,
    /// The equation with its numbers, such as `rest = 21.697 - 93.999 * (1 - 0.55) = -20.603 GiB`.
    pub equation: String,
    /// The fraction above which the KV cache is more than nothing: `1 - available / total`.
    pub break_even: Figure,
    /// Tokens at other fractions.
    pub alternatives: Vec<Alternative>,
    /// What the numbers mean, in sentences.
    pub text: Vec<String>,
    /// The sources of the inputs.
    pub evidence: Vec<Evidence>,
    /// What the formula does not cover here.
    pub not_modelled: Vec<String>,
    /// Why the server is of little use though it serves, and what to turn; absent where nothing says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_little_use: Option<String>,
}

/// What another fraction would give.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Alternative {
    /// The static fraction.
    pub fraction: f64,
    /// What it leaves for the KV cache.
    pub rest_gib: Figure,
    /// Tokens, where the bytes per token are known.
    pub tokens: Option<Figure>,
    /// What is left for everything else: graphs, activations, request table.
    pub headroom_gib: Figure,
}

/// The versions that the evidence allows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VersionRange {
    /// The oldest version.
    pub low: Option<String>,
    /// The newest version.
    pub high: Option<String>,
    /// The lines it was told from.
    pub from: Vec<String>,
}
