//! The requests of a command by its own numbers; where too many failed, or nobody knows, nothing that it measured counts.

use bystander_lab::plan::Plan;
use bystander_lab::requests::{Judged, Told, judge};

use super::Values;

/// Judges the requests of a trial whose workload ran, and takes back what its workload measured where that does not count. `None` where the file does not say what
/// tells them.
pub(crate) fn of_workload(plan: &Plan, read: &mut Values) -> Option<Judged> {
    let counts = plan.request_counts()?;
    let told = |name: &str| Told { value: read.values.get(name).copied().flatten(), evidence: read.evidence.get(name).cloned() };
    let judged = judge(counts, told);
    let requests = &judged.requests;
    let Some(why) = requests.failure.as_ref().or(requests.unknown.as_ref()) else { return Some(judged) };
    let of_workload = plan.metrics.iter().filter(|(name, metric)| metric.source.is_of_workload() && !plan.tells_requests(name));
    for (name, _) in of_workload {
        let Some(value) = read.values.get_mut(name).and_then(Option::take) else { continue };
        if let Some(evidence) = read.evidence.get_mut(name) {
            evidence.take_back(value, why);
        }
    }
    Some(judged)
}
