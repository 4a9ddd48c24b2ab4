//! Where a trial runs: this machine, or another one that is reached over SSH ([`remote`]).
//!
//! [`local::LocalPlace`] puts the parts together for the lab: edits and probes go in, the program is spawned and watched, the workload is run,
//! everything is taken out again, and each thing that happens is handed to the lab as an event. Nothing here decides what a trial means.
#![forbid(unsafe_code)]

pub mod environment;
pub mod folder_times;
pub mod local;
pub mod machine;
pub mod metrics;
pub mod owner;
pub mod proof;
pub mod remote;
pub mod scrape;
pub mod secrets;
pub mod watching;
