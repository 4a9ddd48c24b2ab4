//! Experiment design, schedule, run loop, causes, hypotheses and verdicts.
#![forbid(unsafe_code)]

pub mod cause;
pub mod design;
pub mod plan;
pub mod spec;
pub mod stats;
