//! One process tree: keeper, spawn, output, readiness, signals, grace, reap, samples.
//!
//! A [`Trial`] is one program under a keeper process of its own ([`keeper`]), with everything that happens to it as one ordered
//! series of [`TrialEvent`]s. Nothing here knows of experiments, probes or edits, or decides what an end means. Blocking
//! threads, no async runtime. Linux only.
//!
//! Units: bytes, `Duration`s, wall-clock stamps in nanoseconds.

pub mod ask;
pub mod cancel;
pub mod census;
mod clock;
pub mod command;
mod cost;
pub mod course;
pub mod exit;
pub mod gpu;
pub mod handover;
pub mod host_memory;
mod host_watch;
mod identity;
pub mod keeper;
pub mod listener;
pub mod memory_limit;
pub mod memory_watch;
pub mod namespace;
pub mod output;
pub mod port;
mod procfs;
mod protocol;
pub mod ready;
pub mod resolve;
pub mod stacks;
mod subject;
pub mod sweep;
pub mod tree;
pub mod trial;
mod user;

pub use ask::{Answer, AskError};
pub use cancel::Canceller;
pub use command::{Command, KeeperProgram, MARKER};
pub use cost::Cost;
pub use course::Course;
pub use exit::{Exit, ExitStatus, TreeEnd, Usage, signal_name};
pub use handover::handover;
pub use listener::{Holder, listener_of};
pub use namespace::{Availability, Namespace, namespaces_available};
pub use output::{Line, Lines, OutputError, OutputPaths, StreamSummary};
pub use port::{pick_free_port, port_free};
pub use ready::{AddressError, CommandCheck, GenerateCheck, HttpAnswer, HttpCheck, Readiness, ReadySpec, ReadySpecError};
pub use resolve::{ResolveError, resolve};
pub use subject::Subject;
pub use sweep::{Swept, remove_leftovers, sweep};
pub use tree::ProcessInfo;
pub use trial::event::{Activity, Finished, KeeperLost, TrialEvent};
pub use trial::{StartError, Trial, TrialSpec};
pub use user::user;
