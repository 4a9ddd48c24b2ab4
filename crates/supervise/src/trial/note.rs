//! What the threads of a trial tell its owner, through one channel: the single order of events.

use std::path::PathBuf;

use bystander_model::evidence::Stream;
use bystander_model::ids::TimeNs;

use crate::exit::{Exit, TreeEnd};
use crate::listener::Holder;
use crate::namespace::Step;
use crate::output::OutputError;
use crate::ready::Readiness;

/// One message to the owner of a trial.
#[derive(Debug)]
pub(crate) enum Note {
    /// Only wakes: new output, or nothing at all.
    Nudge,
    /// The program runs.
    Started { pid: u32, start_time: u64, at_ns: u64 },
    /// The program could not be started.
    NotStarted { errno: i32, step: Option<(Step, Option<PathBuf>)> },
    /// The program has ended; `written` says how much of each stream it had written by then.
    Exited { exit: Exit, written: [u64; 2] },
    /// No process of the tree is left.
    TreeEmpty { end: TreeEnd },
    /// A stream has ended.
    StreamEnded(Stream),
    /// Output could not be kept.
    OutputFailed(OutputError),
    /// Every condition has held for as long as it must.
    Ready(Box<Readiness>),
    /// Every condition holds, since this instant; whether it lasts is not known yet.
    Held(TimeNs),
    /// Why they do not, told when that changes.
    Unready(String),
    /// Somebody else holds the port.
    Foreign(Holder),
    /// The keeper is gone.
    KeeperGone,
    /// The caller wants to stop.
    Cancelled,
}
