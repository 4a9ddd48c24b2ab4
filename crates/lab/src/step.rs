//! What comes next in a run: a pure function of its ledger, so that a run that was killed goes on exactly where it stood.
//!
//! Lanes run trials of one block at the same time, never of two: a block is what happens under the same conditions, and after it the run may end. Which lane
//! a place has is fixed with the order, and a launch is made again in the same lane. Gate and clean launches are made alone, in the first.

mod order;

use std::collections::BTreeSet;

use bystander_model::cell::Cell;
use bystander_model::event::{Purpose, RunEnd, Slot};
use bystander_model::outcome::Outcome;

use crate::broken;
use crate::contrast::{self, Subject};
use crate::design::sequential::Decision;
use crate::ledger::{Ledger, TrialRecord};
use crate::looks;
use crate::plan::{Expect, Stop};
use crate::verdict::applied::unapplied;

/// Launches that check the baseline against `expect`.
pub const GATE_LAUNCHES: u32 = 2;

/// Launches at one place of the plan that were void, or lost by Bystander itself, that end the run.
pub const VOIDS_THAT_END: usize = 3;

/// The class of causes that are of Bystander itself.
const HARNESS: &str = "harness";

/// The lane of launches that are made alone.
const FIRST_LANE: u32 = 1;

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Make a launch.
    Launch(Slot),
    /// Nothing for this lane until a trial of another has ended.
    Wait,
    /// End the run; no trial runs any more.
    End(RunEnd),
}

/// Decides what comes next in a lane, counted from 1.
#[must_use]
pub fn next(ledger: &Ledger, lane: u32) -> Step {
    match decide(ledger, lane) {
        Step::End(_) if is_running(ledger) => Step::Wait,
        step => step,
    }
}

fn decide(ledger: &Ledger, lane: u32) -> Step {
    match gate(ledger) {
        Some(Step::End(end)) => return finish(ledger, lane, end),
        Some(step) => return alone(ledger, lane, step),
        None => {}
    }
    let plan = &ledger.plan;
    let settled = settled_places(ledger);
    let places = u32::try_from(plan.cells.len()).unwrap_or(u32::MAX);
    let Some(block) = (1..=plan.blocks.max).find(|block| (1..=places).any(|position| !settled.contains(&(*block, position)))) else {
        let blocks = plan.blocks.max;
        let why = reason_to_stop(ledger, blocks).unwrap_or_else(|| match blocks {
            1 => "the one planned block was run".to_owned(),
            _ => format!("all {blocks} planned blocks were run"),
        });
        return finish(ledger, lane, RunEnd::Finished { why });
    };
    // The first block left nothing to compare: whether the baseline fails by itself, launches of it alone tell.
    if block == 2
        && plan.stop == Stop::Same
        && let Some(step) = confirm(ledger, lane)
    {
        return step;
    }
    // A block that was begun is run to its end: every cell once, or the comparison within blocks is lost.
    let begun = ledger.trials.values().any(|trial| trial.slot.purpose == Purpose::Measure && trial.slot.block == block);
    if block > 1
        && !begun
        && let Some(why) = reason_to_stop(ledger, block - 1)
    {
        return finish(ledger, lane, RunEnd::Finished { why });
    }
    in_block(ledger, lane, block)
}

/// The places of blocks that are filled.
fn settled_places(ledger: &Ledger) -> BTreeSet<(u32, u32)> {
    let measured = ledger.trials.values().filter(|trial| trial.slot.purpose == Purpose::Measure && settled(trial));
    measured.map(|trial| (trial.slot.block, trial.slot.position)).collect()
}

/// What a lane does in a block that is not whole.
fn in_block(ledger: &Ledger, lane: u32, block: u32) -> Step {
    let plan = &ledger.plan;
    let missing: Vec<(Step, u32)> = order::of_block(plan, ledger.seed, block)
        .into_iter()
        .filter_map(|placed| {
            let step = place(ledger, Purpose::Measure, block, placed.position, placed.lane, &plan.cells[placed.cell])?;
            Some((step, placed.lane))
        })
        .collect();
    if let Some((Step::End(end), _)) = missing.iter().find(|(step, _)| matches!(step, Step::End(_))) {
        return finish(ledger, lane, end.clone());
    }
    match missing.into_iter().find(|(_, of)| *of == lane) {
        Some((Step::Launch(slot), _)) if block == 1 && waits_for_baseline(ledger, &slot) => Step::Wait,
        Some((step, _)) => step,
        None => Step::Wait,
    }
}

/// Whether an edited cell comes too early: whether what an edit left is gone can only be told against a launch of the baseline before it.
fn waits_for_baseline(ledger: &Ledger, slot: &Slot) -> bool {
    let plan = &ledger.plan;
    plan.lane_count() > 1
        && plan.edits_of(&slot.cell).next().is_some()
        && !ledger.trials.values().any(|trial| trial.slot.cell == plan.baseline && settled(trial))
}

/// A launch that nothing else may run beside.
fn alone(ledger: &Ledger, lane: u32, step: Step) -> Step {
    if lane == FIRST_LANE && !is_running(ledger) { step } else { Step::Wait }
}

/// Whether a trial was started and has no end yet.
fn is_running(ledger: &Ledger) -> bool {
    ledger.trials.values().rev().any(|trial| trial.end.is_none())
}

/// The launch that is still missing at one place of the plan, the end of the run if the place cannot be filled, or nothing if it is filled.
///
/// A place whose trial runs is waited for.
fn place(ledger: &Ledger, purpose: Purpose, block: u32, position: u32, lane: u32, cell: &Cell) -> Option<Step> {
    let here: Vec<&TrialRecord> = ledger.at(purpose, block, position).collect();
    if here.iter().any(|trial| settled(trial)) {
        return None;
    }
    if here.iter().any(|trial| trial.end.is_none()) {
        return Some(Step::Wait);
    }
    let voids: Vec<&&TrialRecord> = here.iter().filter(|trial| trial.outcome() == Some(Outcome::Void) || lost_by_harness(trial)).collect();
    if voids.len() >= VOIDS_THAT_END {
        return Some(Step::End(RunEnd::Invalid { why: all_void(&voids, cell, block) }));
    }
    let attempt = u32::try_from(here.len()).unwrap_or(u32::MAX).saturating_add(1);
    Some(Step::Launch(Slot { purpose, block, position, attempt, lane, cell: cell.clone() }))
}

/// That every attempt at a place was void or lost, how many of them were launches at all, and why the last one was.
fn all_void(voids: &[&&TrialRecord], cell: &Cell, block: u32) -> String {
    let why = voids.last().and_then(|trial| trial.end.as_ref()?.cause.as_ref()).map_or_else(String::new, |cause| cause.text.clone());
    let launched = voids.iter().filter(|trial| trial.launched.is_some()).count();
    let all = voids.len();
    let place = format!("{cell} in block {block}");
    let what = match all - launched {
        0 => format!("{all} launches of {place} were contaminated or lost"),
        before if before == all => format!("{place} was not launched: {all} looks before the launch found what would have contaminated it"),
        before => format!("of {all} attempts at {place}, {before} ended before the launch and {launched} after it, contaminated or lost"),
    };
    format!("{what}: {why}")
}

/// The launches for which a run ended as invalid or gated: every attempt at the place that could not be filled, or the baseline that was not as declared.
pub(crate) fn ended_by(ledger: &Ledger) -> Vec<&TrialRecord> {
    let is_lost = |trial: &&TrialRecord| trial.outcome() == Some(Outcome::Void) || lost_by_harness(trial);
    match &ledger.end {
        Some(RunEnd::Invalid { .. }) => {
            let attempts = |slot: &Slot| ledger.at(slot.purpose, slot.block, slot.position).filter(is_lost).collect::<Vec<_>>();
            let lost = ledger.trials.values().rev().filter(is_lost).map(|trial| attempts(&trial.slot));
            lost.into_iter().find(|attempts| attempts.len() >= VOIDS_THAT_END).unwrap_or_default()
        }
        Some(RunEnd::Gated { .. }) => {
            let gate = ledger.trials.values().rev().filter(|trial| trial.slot.purpose == Purpose::Gate);
            gate.filter(|trial| trial.outcome().is_some_and(|outcome| outcome != Outcome::Interrupted) && !is_lost(trial)).take(1).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether a launch fills its place: it is a data point, or one of which nothing can be told.
fn settled(trial: &TrialRecord) -> bool {
    trial.outcome().is_some_and(|outcome| outcome.counts() || outcome == Outcome::Undetermined) && !lost_by_harness(trial)
}

/// Whether a launch says nothing because Bystander itself failed in it, such as by the loss of its keeper: another one may be made.
fn lost_by_harness(trial: &TrialRecord) -> bool {
    let cause = trial.end.as_ref().and_then(|end| end.cause.as_ref());
    trial.outcome() == Some(Outcome::Undetermined) && cause.is_some_and(|cause| cause.class == HARNESS)
}

/// The gate: the baseline does what `expect` declares, or the run ends.
fn gate(ledger: &Ledger) -> Option<Step> {
    let expected = match ledger.plan.expect {
        Expect::Any => return None,
        Expect::Completed => Outcome::Completed,
        Expect::Failed => Outcome::Failed,
    };
    for position in 1..=GATE_LAUNCHES {
        if let Some(step) = place(ledger, Purpose::Gate, 0, position, FIRST_LANE, &ledger.plan.baseline) {
            return Some(step);
        }
        let odd = ledger
            .at(Purpose::Gate, 0, position)
            .find(|t| t.outcome().is_some_and(|o| o != expected && o != Outcome::Void && o != Outcome::Interrupted));
        if let Some(trial) = odd {
            let what = trial.outcome().map_or("", Outcome::word);
            let cause = trial.end.as_ref().and_then(|end| end.cause.as_ref()).map_or_else(String::new, |cause| format!(": {}", cause.text));
            let why = format!("the baseline was declared to be {}, but trial {} {what}{cause}", expected.word(), trial.id);
            return Some(Step::End(RunEnd::Gated { why }));
        }
    }
    None
}

/// Why the run stops after `block`, if it does.
fn reason_to_stop(ledger: &Ledger, block: u32) -> Option<String> {
    let plan = &ledger.plan;
    let contrasts = contrast::contrasts(plan);
    if contrasts.is_empty() {
        return None;
    }
    let (void, contrasts): (Vec<_>, Vec<_>) = contrasts.into_iter().partition(|contrast| unapplied(ledger, contrast).is_some());
    // Levels put together are compared with nothing where none of them was applied.
    if contrasts.iter().all(|contrast| contrast.subject == Subject::Combination) && !void.is_empty() {
        let text = void.first().and_then(|contrast| unapplied(ledger, contrast)).map(|found| found.text);
        return Some(format!("{}; more launches would compare nothing either", text.unwrap_or_default()));
    }
    if block < plan.blocks.min.max(2) || plan.primary != "outcome" {
        return None;
    }
    // Without a last block, what is shown to lie within the margin has no more to wait for.
    let (within, open): (Vec<_>, Vec<_>) =
        contrasts.iter().partition(|contrast| plan.blocks.is_open() && looks::is_within_margin(ledger, contrast));
    if open.is_empty() {
        return Some("no comparison of outcomes fails more often than the stated margin".to_owned());
    }
    // A contrast whose rule cannot be made has no look to wait for.
    let decisions: Vec<Decision> = open.iter().filter_map(|contrast| Some(looks::follow(ledger, contrast, block)?.decision)).collect();
    if decisions.iter().any(Decision::wants_more) {
        return None;
    }
    let shown = decisions.iter().filter(|decision| matches!(decision, Decision::Different { .. })).count();
    if block == plan.blocks.max && shown < decisions.len() {
        return None;
    }
    Some(match (shown, decisions.len()) {
        (0, _) => "no outcome of the blocks that are left could show a difference any more".to_owned(),
        (n, all) if n == all && within.is_empty() => "every comparison of outcomes is shown".to_owned(),
        (n, all) if n == all => format!("every comparison of outcomes is shown, or within the stated margin ({})", within.len()),
        (n, all) => {
            let are = if n == 1 { "is" } else { "are" };
            format!("{n} of {all} comparisons of outcomes {are} shown, and no outcome of the blocks that are left could show another")
        }
    })
}

/// After a first block whose cells all failed in the same way: launches of the bare baseline alone, until it has failed as often as it takes to call it
/// broken, and the end. One that ends in any other way lets the blocks go on: what a cold start or a flaky baseline does is no answer.
fn confirm(ledger: &Ledger, lane: u32) -> Option<Step> {
    let signature = broken::first_block(ledger)?;
    let launches = broken::launches_left(ledger);
    for position in 1..=launches {
        match place(ledger, Purpose::Confirm, 0, position, FIRST_LANE, &ledger.plan.baseline) {
            Some(Step::End(end)) => return Some(finish(ledger, lane, end)),
            Some(step) => return Some(alone(ledger, lane, step)),
            None => {}
        }
        if !ledger.at(Purpose::Confirm, 0, position).any(|trial| broken::fails_as(trial, signature)) {
            return None;
        }
    }
    let again = match launches {
        0 => String::new(),
        1 => ", and so did the baseline once more by itself".to_owned(),
        more => format!(", and so did the baseline {more} times more by itself"),
    };
    let why = format!(
        "every cell of the first block failed in the same way{again}: more launches cannot answer the question, and what they could refute is refuted"
    );
    Some(finish(ledger, lane, RunEnd::Finished { why }))
}

/// Ends the run, after a bare baseline that shows by behaviour that every edit is gone.
fn finish(ledger: &Ledger, lane: u32, end: RunEnd) -> Step {
    if ledger.trials.values().all(|trial| trial.edited.is_empty()) {
        return Step::End(end);
    }
    let shown = clean_trial(ledger).is_some();
    if shown || matches!(end, RunEnd::Invalid { .. }) {
        return Step::End(end);
    }
    match place(ledger, Purpose::Clean, 0, 1, FIRST_LANE, &ledger.plan.baseline) {
        Some(Step::Launch(slot)) => alone(ledger, lane, Step::Launch(slot)),
        Some(Step::Wait) => Step::Wait,
        _ => Step::End(end),
    }
}

/// The launch of a bare baseline that shows by behaviour that every edit is gone: one that began after the last edit was undone.
///
/// Beside other lanes that is one of a later block, or one that was launched alone.
#[must_use]
pub fn clean_trial(ledger: &Ledger) -> Option<&TrialRecord> {
    let last = ledger.trials.values().rev().find(|trial| !trial.edited.is_empty())?;
    let after =
        |trial: &TrialRecord| ledger.plan.lane_count() == 1 || trial.slot.purpose != Purpose::Measure || trial.slot.block > last.slot.block;
    let mut later = ledger.trials.values().filter(|trial| trial.id > last.id && after(trial));
    later.find(|trial| trial.slot.cell == ledger.plan.baseline && trial.outcome().is_some_and(Outcome::counts))
}
