//! The design of an experiment as pure functions: the order of launches, when a contrast may stop, and what more would settle it.
//!
//! Running trials, reading specifications and wording belong elsewhere in this crate. Blocks are counted from 1 after they are complete; in the
//! order they are indexed from 0.

pub mod aa;
mod draw;
pub mod lanes;
pub mod nuisance;
pub mod order;
pub mod reach;
pub mod sequential;
pub mod settle;
pub mod williams;
