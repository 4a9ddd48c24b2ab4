//! Which of several tracebacks is the first cause.
//!
//! The first in time is, unless it only tells that something else failed, or ended nothing. One that ended the program comes before one that
//! may only have been printed on the way.

use bystander_model::ids::TimeNs;

use super::facts::TrialFacts;
use super::fate::{Fate, fate};
use super::traceback::{Raised, Traceback};

/// How long before it was seen to be ready a program may have failed for good, in nanoseconds: readiness is asked for at intervals.
const READY_SLACK: u64 = 1_000_000_000;

/// Messages of those who only report that another process failed, or that it no longer answers.
const REPORTS: [&str; 27] = [
    "Engine core initialization failed",
    "Engine process failed to start",
    "See root cause above",
    "See stack trace for root cause",
    "see the error messages above",
    "scheduler is dead",
    "killed by signal",
    "terminated abruptly",
    "died unexpectedly",
    "exited unexpectedly",
    "Rank 0 scheduler died",
    "a child process",
    "received sigquit",
    "sigquit received",
    "No available shared memory broadcast block",
    "RPC call to sample_tokens timed out",
    "RPC call to execute_model timed out",
    "caught collective operation timeout",
    "NCCL communicator was aborted",
    "ncclRemoteError",
    "remote process exited or there was a network error",
    "Connection closed by peer",
    "Connection reset by peer",
    "Got fatal signal from worker processes",
    "terminated with the following error",
    "Worker proc died",
    "failed to terminate gracefully",
];

/// Types of exceptions that only report that another process failed, or that one was told to end.
const REPORTERS: [&str; 12] = [
    "KeyboardInterrupt",
    "SystemExit",
    "CancelledError",
    "GeneratorExit",
    "CalledProcessError",
    "ChildFailedError",
    "ProcessRaisedException",
    "ProcessExitedException",
    "BrokenProcessPool",
    "EngineDeadError",
    "BrokenBarrierError",
    "EOFError",
];

/// The traceback that the failure starts with, among those that can have to do with it: after the program was ready, where it was, and before
/// Bystander ended it, and that it did not survive.
#[must_use]
pub fn first_cause(facts: &TrialFacts) -> Option<&Traceback> {
    let from = since(facts);
    let until = facts.stopped.as_ref().map_or(TimeNs(u64::MAX), |stopped| stopped.at);
    let can_matter = |traceback: &&Traceback| !traceback.harmless && traceback.time >= from && traceback.time <= until;
    let fates = facts.scan.tracebacks.iter().filter(can_matter).map(|traceback| (traceback, fate(facts, traceback)));
    let all: Vec<(&Traceback, Fate<'_>)> = fates.filter(|(_, fate)| *fate != Fate::Survived).collect();
    let find = |wanted: &dyn Fn(&Traceback, &Fate<'_>) -> bool| all.iter().find(|(traceback, fate)| wanted(traceback, fate));
    // A cut one is the last resort: it lacks its type.
    let found = find(&|traceback, fate| is_sure(traceback) && *fate == Fate::Ended).or_else(|| find(&|traceback, _| is_sure(traceback)));
    found.or_else(|| find(&|traceback, _| traceback.complete)).or_else(|| all.first()).map(|(traceback, _)| *traceback)
}

/// From when on what is printed can have to do with a failure: after the program was ready, where it was.
pub(super) fn since(facts: &TrialFacts) -> TimeNs {
    facts.ready.as_ref().map_or(TimeNs(0), |ready| TimeNs(ready.at.0.saturating_sub(READY_SLACK)))
}

/// Whether a traceback is whole, and tells more than that something else failed.
pub(super) fn is_sure(traceback: &Traceback) -> bool {
    traceback.complete && !only_reports(traceback.root())
}

/// Whether an exception only tells that something else failed.
fn only_reports(raised: &Raised) -> bool {
    // Who reads from a terminal that is not there has failed himself.
    if raised.short_kind() == "EOFError" && raised.message.starts_with("EOF when reading a line") {
        return false;
    }
    REPORTERS.contains(&raised.short_kind()) || is_echo(&raised.message) || raised.more.first().is_some_and(|line| is_echo(line))
}

/// Whether a text only tells that something else failed or no longer answers. Alone it is no cause: such lines stand in healthy logs too.
pub(super) fn is_echo(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    REPORTS.iter().any(|report| lower.contains(&report.to_ascii_lowercase()))
}
