//! Which metrics tell how many requests of a workload that is a command failed.

use serde::{Deserialize, Serialize};

/// What tells the requests of a workload: a share, or two of three counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestCounts {
    /// The metric that is the share of requests that failed, from 0 to 1.
    pub error_rate: Option<String>,
    /// The metric that counts requests which completed.
    pub completed: Option<String>,
    /// The metric that counts requests which failed.
    pub failed: Option<String>,
    /// How many requests there are: a number, or the metric that counts them.
    pub requests: Option<Count>,
    /// The metric that counts output tokens.
    pub tokens: Option<String>,
    /// The share that may fail.
    pub tolerated: f64,
}

/// How many there are of something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Count {
    /// So many in every launch.
    Fixed(u64),
    /// As many as a metric says.
    Metric(String),
}

impl RequestCounts {
    /// The metrics that are named.
    pub fn metrics(&self) -> impl Iterator<Item = &str> {
        let all = match &self.requests {
            Some(Count::Metric(name)) => Some(name),
            _ => None,
        };
        [&self.error_rate, &self.completed, &self.failed, &self.tokens].into_iter().flatten().chain(all).map(String::as_str)
    }
}
