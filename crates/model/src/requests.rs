//! What came of the requests of a workload that is a command, as its own numbers tell it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many requests of one trial's workload failed, and whether its metrics count.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Requests {
    /// Requests that were made; `None` where the workload tells a share alone, or nothing.
    pub sent: Option<u64>,
    /// Those of them that failed.
    pub failed: Option<u64>,
    /// Output tokens, where the file asks for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The share of requests that failed, from 0 to 1; `None` where it is not known.
    pub error_rate: Option<f64>,
    /// The share that is tolerated.
    pub tolerated: f64,
    /// Why the workload as a whole failed; `None` where it passed.
    pub failure: Option<String>,
    /// Why nothing can be said of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

impl Requests {
    /// Whether metrics of the workload count: it is known how many requests failed, and they are not too many.
    #[must_use]
    pub const fn passed(&self) -> bool {
        self.failure.is_none() && self.unknown.is_none()
    }

    /// In words, such as `3 of 40 requests failed (7.5 %)`.
    #[must_use]
    pub fn words(&self) -> String {
        match (self.sent, self.failed, self.error_rate) {
            (Some(sent), Some(failed), Some(rate)) => format!("{failed} of {sent} requests failed ({:.1} %)", rate * 100.0),
            (_, _, Some(rate)) => format!("{:.1} % of the requests failed", rate * 100.0),
            _ => "how many of the requests failed is not known".to_owned(),
        }
    }
}
