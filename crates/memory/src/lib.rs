//! Engine memory budgets: log readers, formulas, causes, advice.
//!
//! A reader takes the lines and hits of one trial as they come, keeps bounded memory, and says at the end where the memory of one rank went.
//! It reads no files and starts nothing. Amounts are GiB = 2^30 bytes, which the engines print as "GB".
#![forbid(unsafe_code)]

pub mod communication;
pub mod explain;
pub mod figures;
pub mod formula;
pub mod line;
pub mod phases;
pub mod plan;
pub mod sglang;
pub mod version;
pub mod vllm;
