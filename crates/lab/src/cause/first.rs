//! Which of several tracebacks is the first cause.
//!
//! The first in time is, unless it only tells that something else failed, or ended nothing.

use bystander_model::ids::TimeNs;

use super::facts::TrialFacts;
use super::traceback::{Raised, Traceback};

/// How long before it was seen to be ready a program may have failed for good, in nanoseconds: readiness is asked for at intervals.
const READY_SLACK: u64 = 1_000_000_000;

/// Messages of those who only report that another process failed.
const REPORTS: [&str; 12] = [
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
];

/// Types of exceptions that only report that another process failed, or that one was told to end.
const REPORTERS: [&str; 11] = [
    "KeyboardInterrupt",
    "SystemExit",
    "CancelledError",
    "GeneratorExit",
    "ChildFailedError",
    "ProcessRaisedException",
    "ProcessExitedException",
    "BrokenProcessPool",
    "EngineDeadError",
    "BrokenBarrierError",
    "EOFError",
];

/// The traceback that the failure starts with, among those that can have to do with it: after the program was ready, where it was, and before
/// Bystander ended it.
#[must_use]
pub fn first_cause(facts: &TrialFacts) -> Option<&Traceback> {
    let from = facts.ready.as_ref().map_or(TimeNs(0), |ready| TimeNs(ready.at.0.saturating_sub(READY_SLACK)));
    let until = facts.stopped.as_ref().map_or(TimeNs(u64::MAX), |stopped| stopped.at);
    let can_matter = |traceback: &&Traceback| !traceback.harmless && traceback.time >= from && traceback.time <= until;
    let mut all = facts.scan.tracebacks.iter().filter(can_matter);
    // A cut one is the last resort: it lacks its type.
    let sure = |traceback: &&Traceback| traceback.complete && !only_reports(traceback.root());
    all.clone().find(sure).or_else(|| all.clone().find(|traceback| traceback.complete)).or_else(|| all.next())
}

/// Whether an exception only tells that something else failed.
fn only_reports(raised: &Raised) -> bool {
    REPORTERS.contains(&raised.short_kind()) || REPORTS.iter().any(|text| raised.message.contains(text))
}
