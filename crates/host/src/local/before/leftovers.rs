//! What earlier trials have left running: by the marker in its environment, or by a title that only an engine's processes have.
//!
//! Every process of a trial is ended with it, wherever it goes in its tree. What is found here was started for a trial by somebody outside its tree, or
//! by a run whose process was killed together with its keeper. A title is no proof of whose a process is: it is told, and never ended.

use bystander_lab::cause::Contamination;
use bystander_lab::place::TrialOrder;
use bystander_lab::plan::Plan;
use bystander_model::ids::TrialId;
use bystander_supervise::census::Suspect;
use bystander_supervise::sweep;

use super::grounds::Entered;
use super::{finding, words};
use crate::local::LocalPlace;
use crate::local::left::owner_is_gone;

/// Every leftover that is alive, and what was ended: what carries the marker of a run whose process is gone is ended here as by the next start of any run.
pub(super) fn alive(plan: &Plan, order: &TrialOrder, place: &LocalPlace, entered: &Entered<'_>) -> (Vec<Contamination>, Vec<String>) {
    let titles = &plan.conditions.titles;
    let mut suspects = place.grounds.suspects(titles);
    let mut ended = Vec::new();
    if suspects.iter().any(|suspect| suspect.marked_itself && suspect.marker.as_deref().is_some_and(is_of_the_dead)) {
        let swept = sweep::sweep(is_of_the_dead);
        ended = swept
            .killed
            .iter()
            .map(|process| format!("ended pid {} ({}), left of a run that was killed", process.pid, words::title(process)))
            .collect();
        suspects = place.grounds.suspects(titles);
    }
    (suspects.iter().filter_map(|suspect| judge(suspect, order, place, entered)).collect(), ended)
}

fn is_of_the_dead(marker: &str) -> bool {
    marker.split('/').next().is_some_and(owner_is_gone)
}

fn judge(suspect: &Suspect, order: &TrialOrder, place: &LocalPlace, entered: &Entered<'_>) -> Option<Contamination> {
    let pid = suspect.process.pid;
    let who = words::process(&suspect.process);
    let seen_at = format!("pid {pid}");
    if let Some(marker) = &suspect.marker {
        if is_ours(marker, order, place) && trial_of(marker).is_none_or(|trial| entered.is_running(trial)) {
            return None;
        }
        let whose = whose(marker, order, place)?;
        return Some(finding(order, "leftover", &seen_at, format!("{who} is still running, {whose}; end it: kill {pid}")));
    }
    let title = suspect.title.as_ref()?;
    let text = format!(
        "{who} has a title like the processes of an engine (`{title}`) and belongs to no running trial: an engine beside the trial holds memory and \
         ports; end it (kill {pid}) if it is left of an earlier start, or leave `{title}` out of `titles` in [conditions] if it may be there"
    );
    Some(finding(order, "leftover", &seen_at, text))
}

/// Says of which trial a marker is, where that is over; `None` for one of a run that is alive, whose business it is.
pub(super) fn whose(marker: &str, order: &TrialOrder, place: &LocalPlace) -> Option<String> {
    let mut parts = marker.split('/');
    let (owner, run) = (parts.next()?, parts.next()?);
    let trial = parts.next()?;
    if is_ours(marker, order, place) {
        return (trial.parse() != Ok(order.trial.0)).then(|| format!("a leftover of trial {trial} of this run"));
    }
    owner_is_gone(owner).then(|| format!("a leftover of trial {trial} of run {run}, which was killed"))
}

fn is_ours(marker: &str, order: &TrialOrder, place: &LocalPlace) -> bool {
    marker.starts_with(&format!("{}/{}/", place.owner, order.run))
}

fn trial_of(marker: &str) -> Option<TrialId> {
    marker.rsplit('/').next()?.parse().ok().map(TrialId)
}
