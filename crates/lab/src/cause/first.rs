//! Which of several tracebacks is the first cause.
//!
//! The first in time is, unless it only tells that something else failed, or ended nothing. One that ended the program comes before one that
//! may only have been printed on the way.

use bystander_model::evidence::{Evidence, EvidenceKind};
use bystander_model::ids::TimeNs;

use super::echo::only_reports;
use super::ended::ended_by_itself;
use super::facts::TrialFacts;
use super::fate::{Fate, fate};
use super::hang_up::is_hang_up;
use super::traceback::Traceback;

/// How long before it was seen to be ready a program may have failed for good, in nanoseconds: readiness is asked for at intervals.
const READY_SLACK: u64 = 1_000_000_000;

/// The traceback that the failure starts with, among those that can have to do with it: after the program was ready, where it was, and before
/// Bystander ended it, and that it did not survive.
#[must_use]
pub fn first_cause(facts: &TrialFacts) -> Option<&Traceback> {
    let from = since(facts);
    let until = facts.stopped.as_ref().map_or(TimeNs(u64::MAX), |stopped| stopped.at);
    let can_matter = |traceback: &&Traceback| !traceback.harmless && traceback.time >= from && traceback.time <= until;
    let lives = !ended_by_itself(facts) && facts.failed_workload().is_some();
    let matters = |traceback: &&Traceback| can_matter(traceback) && !(lives && is_hang_up(traceback));
    let fates = facts.scan.tracebacks.iter().filter(matters).map(|traceback| (traceback, fate(facts, traceback)));
    // Who got ready after it has survived it, unless it is how he ended a moment later.
    let survived = |traceback: &Traceback, fate: &Fate<'_>| match fate {
        Fate::Survived => true,
        Fate::Open(_) => was_before_ready(facts, traceback),
        Fate::Ended => false,
    };
    let all: Vec<(&Traceback, Fate<'_>)> = fates.filter(|(traceback, fate)| !survived(traceback, fate)).collect();
    let find = |wanted: &dyn Fn(&Traceback, &Fate<'_>) -> bool| all.iter().find(|(traceback, fate)| wanted(traceback, fate));
    // A cut one is the last resort: it lacks its type.
    let found = find(&|traceback, fate| is_sure(traceback) && *fate == Fate::Ended).or_else(|| find(&|traceback, _| is_sure(traceback)));
    found.or_else(|| find(&|traceback, _| traceback.complete)).or_else(|| all.first()).map(|(traceback, _)| *traceback)
}

/// From when on what is printed can have to do with a failure: after the program was ready, where it was.
pub(super) fn since(facts: &TrialFacts) -> TimeNs {
    let Some(ready) = &facts.ready else { return TimeNs(0) };
    // Whoever lives on was ready after it. One that died may have failed just before readiness was asked for.
    let may_be_of_its_end = ended_by_itself(facts) || facts.part_died.is_some();
    TimeNs(ready.at.0.saturating_sub(if may_be_of_its_end { READY_SLACK } else { 0 }))
}

/// Whether a traceback was printed before the program was ready: by the time, or by the line of its stream that showed it.
pub(super) fn was_before_ready(facts: &TrialFacts, traceback: &Traceback) -> bool {
    let Some(ready) = &facts.ready else { return false };
    let is_shown_later = |evidence: &Evidence| {
        let line = evidence.place.strip_prefix(traceback.stream.name()).and_then(|rest| rest.strip_prefix(':'));
        evidence.kind == EvidenceKind::Log && line.and_then(|line| line.parse::<u64>().ok()).is_some_and(|line| line > traceback.end_line)
    };
    traceback.time < ready.at || ready.evidence.iter().any(is_shown_later)
}

/// Whether a traceback is whole, and tells more than that something else failed.
pub(super) fn is_sure(traceback: &Traceback) -> bool {
    traceback.complete && !only_reports(traceback.root())
}
