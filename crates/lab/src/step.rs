//! What comes next in a run: a pure function of its ledger, so that a run that was killed goes on exactly where it stood.

use std::collections::BTreeSet;

use bystander_model::cell::Cell;
use bystander_model::event::{Purpose, RunEnd, Slot};
use bystander_model::outcome::Outcome;

use crate::contrast;
use crate::design::order::schedule;
use crate::design::sequential::Decision;
use crate::ledger::{Ledger, TrialRecord};
use crate::looks;
use crate::plan::{Expect, Stop};

/// Launches that check the baseline against `expect`.
pub const GATE_LAUNCHES: u32 = 2;

/// Launches at one place of the plan that were void, or lost by Bystander itself, that end the run.
pub const VOIDS_THAT_END: usize = 3;

/// The class of causes that are of Bystander itself.
const HARNESS: &str = "harness";

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Make a launch.
    Launch(Slot),
    /// End the run.
    End(RunEnd),
}

/// Decides what comes next.
#[must_use]
pub fn next(ledger: &Ledger) -> Step {
    match gate(ledger) {
        Some(Step::End(end)) => return finish(ledger, end),
        Some(launch) => return launch,
        None => {}
    }
    let blocks = ledger.plan.blocks.max;
    let order = order(ledger);
    for (block, cells) in (1..).zip(&order) {
        let missing =
            (1..).zip(cells).find_map(|(position, cell)| place(ledger, Purpose::Measure, block, position, &ledger.plan.cells[*cell]));
        let Some(step) = missing else { continue };
        // A block that was begun is run to its end: every cell once, or the comparison within blocks is lost.
        let begun = ledger.trials.values().any(|trial| trial.slot.purpose == Purpose::Measure && trial.slot.block == block);
        if block > 1
            && !begun
            && let Some(why) = reason_to_stop(ledger, block - 1)
        {
            return finish(ledger, RunEnd::Finished { why });
        }
        return match step {
            Step::End(end) => finish(ledger, end),
            launch => launch,
        };
    }
    let why = reason_to_stop(ledger, blocks).unwrap_or_else(|| format!("all {blocks} planned blocks were run"));
    finish(ledger, RunEnd::Finished { why })
}

/// The order of the cells in every block. Where no gate launches the baseline first, it comes before the first edited cell of the first block, which
/// changes places with it: whether what an edit left is gone can only be told against a launch before it.
fn order(ledger: &Ledger) -> Vec<Vec<usize>> {
    let plan = &ledger.plan;
    let mut order = schedule(plan.cells.len(), plan.blocks.max as usize, ledger.seed);
    if let Some(first) = order.first_mut().filter(|_| plan.expect == Expect::Any) {
        let baseline = first.iter().position(|cell| plan.cells[*cell] == plan.baseline);
        let edited = first.iter().position(|cell| plan.edits_of(&plan.cells[*cell]).next().is_some());
        if let (Some(baseline), Some(edited)) = (baseline, edited)
            && edited < baseline
        {
            first.swap(edited, baseline);
        }
    }
    order
}

/// The launch that is still missing at one place of the plan, the end of the run if the place cannot be filled, or nothing if it is filled.
fn place(ledger: &Ledger, purpose: Purpose, block: u32, position: u32, cell: &Cell) -> Option<Step> {
    let here: Vec<&TrialRecord> = ledger.at(purpose, block, position).collect();
    let filled = |trial: &TrialRecord| trial.outcome().is_some_and(|o| o.counts() || o == Outcome::Undetermined) && !lost_by_harness(trial);
    if here.iter().any(|trial| filled(trial)) {
        return None;
    }
    let voids: Vec<&&TrialRecord> = here.iter().filter(|trial| trial.outcome() == Some(Outcome::Void) || lost_by_harness(trial)).collect();
    if voids.len() >= VOIDS_THAT_END {
        let why = voids.last().and_then(|trial| trial.end.as_ref()?.cause.as_ref()).map_or_else(String::new, |cause| cause.text.clone());
        return Some(Step::End(RunEnd::Invalid {
            why: format!("{VOIDS_THAT_END} launches of {cell} in block {block} were contaminated or lost: {why}"),
        }));
    }
    let attempt = u32::try_from(here.len()).unwrap_or(u32::MAX).saturating_add(1);
    Some(Step::Launch(Slot { purpose, block, position, attempt, cell: cell.clone() }))
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
        if let Some(step) = place(ledger, Purpose::Gate, 0, position, &ledger.plan.baseline) {
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
    if block == 1
        && ledger.plan.stop == Stop::Same
        && let Some(why) = all_fail_alike(ledger)
    {
        return Some(why);
    }
    let plan = &ledger.plan;
    if block < plan.blocks.min.max(2) || plan.primary != "outcome" {
        return None;
    }
    let contrasts = contrast::contrasts(plan);
    if contrasts.is_empty() {
        return None;
    }
    // A contrast whose rule cannot be made has no look to wait for.
    let decisions: Vec<Decision> = contrasts.iter().filter_map(|contrast| Some(looks::follow(ledger, contrast, block)?.decision)).collect();
    if decisions.iter().any(Decision::wants_more) {
        return None;
    }
    let shown = decisions.iter().filter(|decision| matches!(decision, Decision::Different { .. })).count();
    if block == plan.blocks.max && shown < decisions.len() {
        return None;
    }
    Some(match (shown, decisions.len()) {
        (0, _) => "no outcome of the blocks that are left could show a difference any more".to_owned(),
        (n, all) if n == all => "every comparison of outcomes is shown".to_owned(),
        (n, all) => {
            format!("{n} of {all} comparisons of outcomes are shown, and no outcome of the blocks that are left could show another")
        }
    })
}

fn all_fail_alike(ledger: &Ledger) -> Option<String> {
    let first: Vec<&TrialRecord> = ledger.trials.values().filter(|trial| trial.slot.block == 1 && trial.counts()).collect();
    let signatures: BTreeSet<&str> = first.iter().map(|trial| trial.signature()).collect();
    // A time-out is a failure, as in every comparison of outcomes.
    let all_failed = first.iter().all(|trial| matches!(trial.outcome(), Some(Outcome::Failed | Outcome::TimedOut)));
    let every_cell = ledger.plan.cells.iter().all(|cell| first.iter().any(|trial| trial.slot.cell == *cell));
    let alike = signatures.len() == 1 && !signatures.contains("");
    (all_failed && every_cell && alike && first.len() > 1).then(|| {
        "every cell of the first block failed in the same way: more launches cannot answer the question, and what they could refute is refuted".to_owned()
    })
}

/// Ends the run, after a bare baseline that shows by behaviour that every edit is gone.
fn finish(ledger: &Ledger, end: RunEnd) -> Step {
    let Some(last_edit) = ledger.trials.values().rev().find(|trial| !trial.edited.is_empty()).map(|trial| trial.id) else {
        return Step::End(end);
    };
    let shown = ledger
        .trials
        .values()
        .any(|trial| trial.id > last_edit && trial.slot.cell == ledger.plan.baseline && trial.outcome().is_some_and(Outcome::counts));
    if shown || matches!(end, RunEnd::Invalid { .. }) {
        return Step::End(end);
    }
    match place(ledger, Purpose::Clean, 0, 1, &ledger.plan.baseline) {
        Some(Step::Launch(slot)) => Step::Launch(slot),
        _ => Step::End(end),
    }
}
