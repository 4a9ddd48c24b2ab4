//! The words of Bystander as types: ids, units, captured values, hits, events, outcomes, reports.
//!
//! Every other crate speaks through these types. Nothing here reads, writes or prints; what is unknown is `None`
//! (`null` in JSON), never 0. Units are in the names: `_ns`, `_s`, `_gib`, `_bytes`.
#![forbid(unsafe_code)]

pub mod address;
pub mod archive;
pub mod budget;
pub mod cell;
pub mod chain;
pub mod diagnostic;
pub mod edit;
pub mod elsewhere;
pub mod engine;
pub mod event;
pub mod evidence;
pub mod hit;
pub mod hook;
pub mod ids;
pub mod memory;
pub mod old_log;
pub mod outcome;
pub mod patch;
pub mod path_text;
pub mod plain;
pub mod printed;
pub mod probe;
pub mod provenance;
pub mod reading;
pub mod report;
pub mod requests;
pub mod samples;
pub mod traffic;
pub mod typed;
pub mod value;
pub mod watch;

/// The version of the machine-readable output; it changes when the meaning of a field changes.
pub const FORMAT: u32 = 1;
