//! What happens to a trial, as its owner is told.

use bystander_model::evidence::Stream;
use bystander_model::ids::TimeNs;
use bystander_model::samples::Samples;

use crate::exit::{Exit, TreeEnd};
use crate::listener::Holder;
use crate::output::{Line, Lines, OutputError, StreamSummary};
use crate::ready::Readiness;
use crate::tree::ProcessInfo;

/// One event. They come in the order in which things happened, as far as that can be known: every line that was written before
/// the program ended comes before [`TrialEvent::Exited`], and the rest before [`TrialEvent::TreeEmpty`].
#[derive(Debug)]
pub enum TrialEvent {
    /// A line of output.
    Line(Line),
    /// Several lines of output; only where the caller asked for it ([`crate::Trial::in_blocks`]).
    Lines(Lines),
    /// All conditions of readiness hold; once.
    Ready(Box<Readiness>),
    /// Somebody outside the tree listens where the program should; once for each socket.
    ForeignListener(Holder),
    /// The program itself has ended; its descendants may still run. Once.
    Exited(Exit),
    /// A stream has ended; the program may go on without it.
    StreamEnded(Stream),
    /// No process of the tree is left; once.
    TreeEmpty(TreeEnd),
    /// Output could not be kept: the record of this trial is not whole.
    OutputFailed(OutputError),
    /// The keeper is gone before its time, and what it had left was killed: a fault of the harness, not of the program.
    KeeperLost(KeeperLost),
    /// The caller's [`crate::Canceller`] was raised; once.
    Cancelled,
}

/// The loss of a keeper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeeperLost {
    /// How many orphans were killed.
    pub orphans: u32,
    /// Whether every orphan that was found is gone.
    pub cleared: bool,
}

/// Facts about the course of a trial so far, for telling slow from stuck.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Activity {
    /// The last whole line of standard output.
    pub last_stdout: Option<Line>,
    /// The last whole line of standard error.
    pub last_stderr: Option<Line>,
    /// When bytes came last on either stream, whole lines or not.
    pub last_output: Option<TimeNs>,
    /// The span that the next two figures are about; shorter than asked for when the trial is young.
    pub span: std::time::Duration,
    /// Bytes written in that span.
    pub output_bytes: u64,
    /// Time spent on processors in that span, by all processes of the tree.
    pub cpu: std::time::Duration,
}

/// The whole account of a trial that is over.
#[derive(Debug)]
pub struct Finished {
    /// The end of the program; `None` when the keeper was lost before it.
    pub exit: Option<Exit>,
    /// The end of the tree; `None` when the keeper was lost, or when processes hang in the kernel.
    pub tree: Option<TreeEnd>,
    /// The loss of the keeper.
    pub keeper_lost: Option<KeeperLost>,
    /// What came on standard output.
    pub stdout: StreamSummary,
    /// What came on standard error.
    pub stderr: StreamSummary,
    /// Every process that a sample has seen, by pid; the program itself is always among them.
    pub processes: Vec<ProcessInfo>,
    /// The largest sum of resident memory in any sample, where memory that processes share is counted for each; at least that of the largest process by the
    /// kernel's account, so that a peak between two samples is not missed.
    pub peak_rss_bytes: u64,
    /// What samples have seen of memory, that of GPUs included where they were watched.
    pub samples: Samples,
}
