//! Hits and receipts: what a probe saw, and what became of the probe in each process.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::value::Value;

/// One firing of a probe in one process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hit {
    /// The probe's name.
    pub probe: String,
    /// The process that hit it.
    pub pid: u32,
    /// The thread's native id.
    pub tid: u64,
    /// The rank of the process in its group, where it could be told.
    pub rank: Option<u32>,
    /// The number of the hit in its process, from 0; a gap means dropped hits.
    pub seq: u64,
    /// Wall-clock time, nanoseconds since the epoch.
    pub time_ns: u64,
    /// The source file as the program names it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The function's qualified name.
    pub function: String,
    /// The captured expressions in the order of the specification.
    pub values: IndexMap<String, Value>,
}

/// What became of a probe in one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptState {
    /// In place and hit at least once, or able to be hit.
    Armed,
    /// The place was refused, with the reason in `detail`.
    Refused,
    /// The process ran, but never imported the module.
    NotImported,
    /// In place, and control never came there.
    NotReached,
    /// Compiled away by a compiler inside the program.
    CompiledAway,
    /// A Python process that never loaded the overlay (`-S`, `-I`, `-E`, zipimport, foreign interpreter).
    Uncovered,
    /// Over its budget for now.
    Paused,
    /// Past its hit limit or its time.
    Expired,
}

/// One process's account of one probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// The process.
    pub pid: u32,
    /// Its rank, where it could be told.
    pub rank: Option<u32>,
    /// The probe's name.
    pub probe: String,
    /// What became of it.
    pub state: ReceiptState,
    /// How often control came to the place, counted exactly also where nothing was recorded; more than the hits where a condition did not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<u64>,
    /// Passes that the rate turned away before any other work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled: Option<u64>,
    /// Hits recorded, exact also where records were dropped; `None` of a process that the probe did not cover: it may have passed the place.
    pub hits: Option<u64>,
    /// Hits that found the ring full or the limit reached; `None` as above.
    pub dropped: Option<u64>,
    /// The statement and side chosen, or the reason of a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The interpreter's version, such as `3.11.7`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub python: Option<String>,
    /// What recorded: `native` or `python`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorder: Option<String>,
    /// The cost of one hit as it was measured when the probe was put in, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_ns: Option<u64>,
    /// True where the delivery adds a point at which the interpreter may switch threads.
    #[serde(default)]
    pub adds_switch_point: bool,
}

impl Receipt {
    /// The receipt of a process that the probe did not cover: nothing is known of the place there.
    #[must_use]
    pub fn uncovered(pid: u32, probe: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            pid,
            rank: None,
            probe: probe.into(),
            state: ReceiptState::Uncovered,
            passes: None,
            throttled: None,
            hits: None,
            dropped: None,
            detail: Some(detail.into()),
            python: None,
            recorder: None,
            cost_ns: None,
            adds_switch_point: false,
        }
    }
}
