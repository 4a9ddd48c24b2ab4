//! A workload that ended with exit code 0 and whose own numbers say that its requests failed, or do not say whether they did.

use bystander_model::evidence::{Evidence, EvidenceKind};
use bystander_model::outcome::{Cause, CauseGroup};

use super::ended::cause;
use super::facts::{TrialFacts, WorkloadEnd};
use super::work::workload_evidence;
use crate::requests::Judged;

/// What came of the requests, as evidence: the sum, and the numbers that it was made of.
pub(super) fn evidence(facts: &TrialFacts) -> Vec<Evidence> {
    let Some(judged) = judged(facts) else { return Vec::new() };
    let Judged { requests, evidence } = judged;
    let text = requests.failure.clone().or_else(|| requests.unknown.clone()).unwrap_or_else(|| requests.words());
    let sum = Evidence { trial: Some(facts.trial), kind: EvidenceKind::Sample, place: "requests".into(), text };
    std::iter::once(sum).chain(evidence.iter().cloned()).collect()
}

/// The cause of a workload that ended well, and of whose requests too many failed.
pub(super) fn refused(facts: &TrialFacts, end: &WorkloadEnd) -> Option<Cause> {
    let judged = judged(facts).filter(|_| end.succeeded())?;
    let failure = judged.requests.failure.as_ref()?;
    let signature = match (judged.requests.sent, judged.requests.error_rate) {
        (Some(0), _) => "the workload made no request",
        (_, Some(rate)) if rate >= 1.0 => "every request of the workload failed",
        (_, Some(rate)) if rate > judged.requests.tolerated => "more requests of the workload failed than are tolerated",
        _ => "no output token came of the workload",
    };
    let mut cause =
        cause("workload", CauseGroup::Target, signature, format!("the workload ended with exit code 0, and by its own numbers {failure}"));
    cause.evidence.extend(evidence(facts));
    cause.evidence.extend(workload_evidence(facts));
    Some(cause)
}

/// The cause of a workload that ended well, and of which nobody can say how many requests failed.
pub(super) fn untold(facts: &TrialFacts) -> Option<Cause> {
    let judged = judged(facts).filter(|_| facts.workload.as_ref().is_some_and(WorkloadEnd::succeeded))?;
    let why = judged.requests.unknown.as_ref()?;
    let text = format!("the workload ended with exit code 0, and how many of its requests failed is not known: {why}");
    let mut cause = cause("unknown", CauseGroup::Harness, "how many requests of the workload failed is not known", text);
    cause.evidence.extend(judged.evidence.iter().cloned());
    Some(cause)
}

fn judged(facts: &TrialFacts) -> Option<&Judged> {
    facts.requests.as_ref().filter(|_| facts.workload.is_some())
}
