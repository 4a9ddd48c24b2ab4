//! Experiment design, schedule, run loop, causes, hypotheses and verdicts.
//!
//! The road through it: [`spec`] (as typed) → [`plan`] (checked) → [`conduct`] drives a [`place`] and records events → [`ledger`] folds them →
//! [`verdict`] and [`summary`] answer. [`step`] alone decides what comes next, from the ledger alone, so that a killed run goes on where it stood.
#![forbid(unsafe_code)]

pub mod aa;
pub mod broken;
pub mod carry;
pub mod cause;
pub mod cold;
pub mod conduct;
pub mod contrast;
pub mod design;
pub mod exact;
pub mod json_path;
pub mod ledger;
pub mod live;
pub mod looks;
pub mod old_log;
pub mod place;
pub mod plan;
pub mod printed;
pub mod provenance;
pub mod requests;
pub mod spec;
pub mod stats;
pub mod step;
pub mod summary;
pub mod superseding;
pub mod verdict;
