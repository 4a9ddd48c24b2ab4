//! What is asked of the server, as the experiment file decides it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A load. Texts may hold placeholders until a trial fills them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// The address of the server, `http://host:port` with or without a path before `/v1`.
    pub url: String,
    /// The model; `None` asks the server for the first one that it lists.
    pub model: Option<String>,
    /// Which part of the interface.
    pub endpoint: Endpoint,
    /// How requests arrive.
    pub arrival: Arrival,
    /// How many are measured.
    pub amount: Amount,
    /// How many go before, apart from everything measured.
    pub warmup: Option<Amount>,
    /// What is asked.
    pub prompt: Prompt,
    /// `max_tokens` of every request.
    pub output_tokens: u32,
    /// Whether `ignore_eos` is sent, so that engines which know it stop at `output_tokens` and not before.
    pub ignore_eos: bool,
    /// The time limit of one request, in seconds from its actual start.
    pub timeout_s: f64,
    /// The share of requests that may fail, from 0 to 1.
    pub errors: f64,
    /// The seed of prompts and arrivals.
    pub seed: u64,
    /// The variable that holds the key of the interface.
    pub api_key_env: Option<String>,
    /// More keys of the request's body.
    pub body: serde_json::Map<String, serde_json::Value>,
}

/// Which part of the interface is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Endpoint {
    /// `/v1/chat/completions`.
    Chat,
    /// `/v1/completions`.
    Completions,
}

/// How requests arrive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrival {
    /// A new one for each that ends, so many at a time.
    Closed {
        /// How many at a time.
        concurrency: u32,
    },
    /// On their own, at random, so many a second on average.
    Poisson {
        /// How many a second.
        rate: f64,
    },
    /// On their own, evenly, so many a second.
    Constant {
        /// How many a second.
        rate: f64,
    },
}

/// How many requests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Amount {
    /// So many.
    Requests(u64),
    /// All that start within so many seconds.
    Seconds(f64),
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prompt {
    /// About so many tokens of common English words, different in every request.
    Random {
        /// How many words: about as many tokens.
        tokens: u32,
        /// A seed of its own, for the same prompts in every trial; without one the load's, which differs from block to block.
        seed: Option<u64>,
    },
    /// The lines of a file, in turn: JSON objects with `prompt` or `messages`, or plain text.
    File {
        /// The file, absolute.
        path: PathBuf,
    },
}

impl std::fmt::Display for Arrival {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Closed { concurrency } => write!(f, "{concurrency} at a time"),
            Self::Poisson { rate } => write!(f, "{rate} a second, Poisson"),
            Self::Constant { rate } => write!(f, "{rate} a second, evenly"),
        }
    }
}
