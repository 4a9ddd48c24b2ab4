//! Another machine, as what was done or seen there says it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The machine that something was done on, where that is another one than the one that tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OnMachine {
    /// Its address, without a folder: `ssh://user@host:port`.
    pub address: String,
    /// What it calls itself.
    pub machine: String,
    /// What its clock shows more than the clock here, in nanoseconds; less than 0 where it is behind. All times that are told are those of the clock here.
    pub clock_ahead_ns: i64,
    /// The most that this can be wrong by, in nanoseconds.
    pub clock_error_ns: u64,
}
