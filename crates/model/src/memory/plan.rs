//! What a model needs on given cards, before a start: by the architecture, by SGLang's rules and by vLLM's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::budget::Figure;

/// How the line of a derivation begins that says that a model starts at no fraction.
pub const NONE_STARTS: &str = "no fraction starts";

/// How the line of a derivation begins that says that a cap on tokens counts.
pub const CAP: &str = "max_total_tokens";

/// A plan: the same model and cards in columns beside each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Planned {
    /// [`super::FORMAT`].
    pub format: u32,
    /// The model as it was named.
    pub model: String,
    /// What was read of it and of the launch command, in lines.
    pub read: Vec<String>,
    /// `architecture`, `sglang`, `vllm`, in this order, those that were asked for.
    pub columns: Vec<Column>,
}

/// The rules of one engine version, or of the architecture alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Column {
    /// `architecture`, `sglang` or `vllm`.
    pub name: String,
    /// The engine version whose rules these are; empty for the architecture.
    pub version: String,
    /// Why the engine refuses to start this, where it does.
    pub refused: Option<String>,
    /// Bytes of KV cache per token and rank; not always whole (a share of a pool per token). `None`: unknown, [`Column::not_modelled`] says why.
    pub kv_bytes_per_token_per_rank: Option<f64>,
    /// Bytes per request and rank that do not grow with its length: sliding windows at their full size, states.
    pub fixed_bytes_per_request: Option<u64>,
    /// Weights per rank, in GiB, the fullest rank; an interval where kernels pad.
    pub weights_gib_per_rank: Option<Figure>,
    /// KV cache of one request of full length, in GiB per rank.
    pub kv_gib_full_request: Option<f64>,
    /// Tokens of KV cache at the fraction asked for, or the engine's default.
    pub tokens: Option<Figure>,
    /// Requests of full length at once.
    pub concurrency: Option<Figure>,
    /// Which fractions work.
    pub fraction: Option<FractionRange>,
    /// What other fractions give.
    pub table: Vec<Row>,
    /// How each figure came to be, a line each, with its source.
    pub derivation: Vec<String>,
    /// What these rules leave out here.
    pub not_modelled: Vec<String>,
}

/// Which fractions work.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FractionRange {
    /// The least that starts at all.
    pub least: Figure,
    /// From where one full request fits up to where graphs and activations no longer do; `None`: no value works.
    pub works: Option<(f64, f64)>,
    /// A value with room on both sides; `None` where no value works.
    pub recommended: Option<f64>,
}

/// What one fraction gives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// The fraction.
    pub fraction: f64,
    /// Tokens of KV cache; zero or less: it does not start.
    pub tokens: Figure,
    /// Requests of full length at once.
    pub concurrency: Figure,
    /// What is left for everything else, in GiB.
    pub headroom_gib: Figure,
}
