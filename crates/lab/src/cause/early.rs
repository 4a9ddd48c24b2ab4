//! Readiness that did not last: a program that died while its conditions had to go on holding, and one whose work came too early for it.

use bystander_model::evidence::Evidence;
use bystander_model::ids::TimeNs;
use bystander_model::outcome::{Cause, CauseGroup};

use super::ended::{cause, ended_by_itself, workload};
use super::facts::{TrialFacts, WorkloadEnd};

/// Every condition of readiness held since then, and it ended with an exit code before that had lasted.
pub(super) fn died_holding(facts: &TrialFacts, held: TimeNs, code: i32, shell: &str) -> Cause {
    let after = facts.ended.map_or(0.0, |ended| ended.seconds_since(held).max(0.0));
    let text = format!("every condition of readiness held, and {after:.2} s later it ended with exit code {code}{shell}");
    cause("ready_then_died", CauseGroup::Target, format!("exit code {code} after ready"), text)
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

/// Why a program that was to be ready never was, as evidence.
pub(super) fn never_ready(facts: &TrialFacts) -> Option<Evidence> {
    let why = facts.unready.as_ref().filter(|_| facts.expects_ready && facts.ready.is_none())?;
    Some(Evidence::sample(facts.trial, "readiness", why))
}

/// Whether a program that was ready, and that nothing was asked of, had died of itself before it was told to end.
pub(super) fn died_unasked(facts: &TrialFacts) -> bool {
    !facts.expects_workload && ended_by_itself(facts) && (facts.signal.is_some() || facts.exit != Some(0))
}
