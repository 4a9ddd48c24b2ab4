//! Readiness that did not last: a program that died while its conditions had to go on holding, and one whose work came too early for it.

use bystander_model::evidence::Evidence;
use bystander_model::ids::TimeNs;
use bystander_model::outcome::{Cause, CauseGroup};

use super::ended::{cause, ended_by_itself};
use super::facts::{TrialFacts, Unanswering, WorkloadEnd};
use super::standstill;
use super::work::workload;

/// Every condition of readiness held since then, and it ended before that had lasted: how, in words that fit after "it", and in short.
pub(super) fn died_holding(facts: &TrialFacts, held: TimeNs, how: &str, short: &str) -> Cause {
    let after = facts.ended.map_or(0.0, |ended| ended.seconds_since(held).max(0.0));
    let text = format!("every condition of readiness held, and {after:.2} s later it {how}");
    cause("ready_then_died", CauseGroup::Target, format!("{short} after ready"), text)
}

/// The work failed on a program that was not ready for it, whatever it had shown before.
pub(super) fn too_early(facts: &TrialFacts, end: &WorkloadEnd, shown: &Evidence) -> Cause {
    let Cause { signature, text, evidence, .. } = workload(facts, end);
    let text = format!("it counted as ready, and was not ready for work: {}; {text}", shown.text);
    let mut early = cause("ready_too_early", CauseGroup::Target, format!("ready too early; {signature}"), text);
    early.evidence.push(shown.clone());
    early.evidence.extend(facts.ready.iter().flat_map(|ready| ready.evidence.clone()));
    early.evidence.extend(evidence);
    early
}

/// The work failed on a program that had been ready and has stopped answering, while its processes live.
pub(super) fn stopped_answering(facts: &TrialFacts, end: &WorkloadEnd, found: &Unanswering) -> Cause {
    let Cause { signature, text, evidence, .. } = workload(facts, end);
    let text = format!("it was ready, and stopped answering under its workload: {}; {text}", found.shown.text);
    let (class, signature) = match (found.silent, &facts.standstill) {
        (true, Some(still)) => ("hang", standstill::signature(facts, still)),
        (true, None) => ("hang", "hang under its workload".to_owned()),
        (false, _) => ("died_under_load", format!("stopped answering under its workload; {signature}")),
    };
    let mut stopped = cause(class, CauseGroup::Target, signature, text);
    stopped.evidence.push(found.shown.clone());
    stopped.evidence.extend(evidence);
    stopped.evidence.extend(facts.ready.iter().flat_map(|ready| ready.evidence.clone()));
    stopped
}

/// Adds where the processes stood when the work had failed, where that was looked at.
pub(super) fn with_places(facts: &TrialFacts, mut cause: Cause) -> Cause {
    if let Some(found) = &facts.standstill {
        cause.text = format!("{}; {}", cause.text, standstill::places(facts, found));
        cause.evidence.extend(standstill::evidence(facts, found));
    }
    cause
}

/// Adds that the program answers whoever asks it by itself, where that was seen: the work failed by what it asked, by how much of it, or by how soon it
/// wanted an answer.
pub(super) fn with_answer(facts: &TrialFacts, mut cause: Cause) -> Cause {
    if let Some(shown) = &facts.answers {
        cause.text = format!("{}; it does not hang: {}", cause.text, shown.text);
        cause.evidence.push(shown.clone());
    }
    cause
}

/// Why a program that was to be ready never was, as evidence.
pub(super) fn never_ready(facts: &TrialFacts) -> Option<Evidence> {
    let why = facts.unready.as_ref().filter(|_| facts.expects_ready && facts.ready.is_none())?;
    Some(Evidence::sample(facts.trial, "readiness", why))
}

/// Whether a program that was ready, and that nothing was asked of, had died of itself before it was told to end.
pub(super) fn died_unasked(facts: &TrialFacts) -> bool {
    !facts.expects_workload && ended_by_itself(facts) && (facts.signal.is_some() || facts.exit != Some(0))
}
