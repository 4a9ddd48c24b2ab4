//! Launches whose requests did not settle: medians over them speak of no state that the program stays in.

use bystander_model::ids::TrialId;
use bystander_model::traffic::Course;
use indexmap::IndexMap;

use crate::ledger::Ledger;
use crate::verdict::sentence::launches;

/// One sentence for each way in which times did not stay as they were, with the launches.
pub(super) fn notes(ledger: &Ledger) -> Vec<String> {
    let mut found: IndexMap<(String, String), Vec<(TrialId, Course)>> = IndexMap::new();
    for trial in ledger.trials.values().filter(|trial| trial.counts()) {
        let courses = trial.end.iter().filter_map(|end| end.traffic.as_deref()).flat_map(|summary| &summary.courses);
        for course in courses.filter(|course| course.kind != "flat") {
            found.entry((course.kind.clone(), course.of.clone())).or_default().push((trial.id, course.clone()));
        }
    }
    found.iter().filter_map(|((kind, of), seen)| said(kind, of, seen)).collect()
}

fn said(kind: &str, of: &str, seen: &[(TrialId, Course)]) -> Option<String> {
    let trials: Vec<String> = seen.iter().map(|(trial, _)| trial.0.to_string()).collect();
    let n = launches(u32::try_from(seen.len()).unwrap_or(u32::MAX));
    let place = format!("in {n} (trial {})", trials.join(", "));
    let latest = seen.iter().filter_map(|(_, course)| Some((course.settled_from?, course.requests))).max();
    let from = latest.map_or_else(String::new, |(from, all)| format!("from request {from} of {all} on at the latest"));
    let name = if of == "ttft" { "TTFT" } else { "the time of whole answers" };
    Some(match kind {
        "no_steady_state" => {
            format!(
                "no steady state {place}: {name} still changed within the last quarter of the requests, so its medians and rates are those of a passage; more requests or a longer `warmup` would show whether it settles."
            )
        }
        "warm_up" => {
            format!(
                "warm-up {place}: {name} fell and then stayed, {from}; what came before is in the figures, and `warmup` would keep it out."
            )
        }
        "slow_down" => format!("slow-down {place}: {name} rose and then stayed, {from}; the figures hold both levels."),
        _ => return None,
    })
}
