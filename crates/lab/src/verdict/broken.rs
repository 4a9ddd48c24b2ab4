//! A baseline that fails by itself, beside a level that fails too: nothing can be blamed on the level, and how sure that is depends on how often the baseline
//! was launched.

use bystander_model::event::Purpose;
use bystander_model::outcome::Outcome;
use bystander_model::report::{Answer, Means, Needs, Strength, Verdict};

use super::arm::{Arm, evidence_of, strength_of};
use super::factor::level_of;
use super::sentence::launches;
use crate::broken::SHOWN;
use crate::contrast::Contrast;
use crate::design::reach;
use crate::ledger::{Ledger, TrialRecord};

/// Answers for a level where neither the baseline nor the level completed in any block.
pub(super) fn baseline(mut answer: Answer, ledger: &Ledger, contrast: &Contrast, treated: &Arm<'_>, control: &Arm<'_>) -> Answer {
    let level = level_of(contrast);
    let by_itself = Arm { cell: control.cell, trials: launched(ledger, control) };
    answer.verdict = Verdict::BaselineBroken;
    answer.strength = Some(strength(ledger, &by_itself));
    let alike = match treated.shares_failure_with(control) {
        Some(_) if treated.failures_not_in(control).is_empty() => format!("{} fails in the same way", treated.cell),
        _ => format!("{}, but in another way", treated.said()),
    };
    let outside = by_itself.n().saturating_sub(control.n());
    let outside = if outside > 0 { format!(", {outside} of them outside the blocks") } else { String::new() };
    answer.text = format!(
        "Nothing can be blamed on {level}: the baseline fails without it ({}{outside}); {alike}. Whether {level} would break a baseline that works is not known.",
        by_itself.said()
    );
    answer.evidence = control.failures().chain(treated.failures()).flat_map(evidence_of).take(2).collect();
    answer.rule = Some(format!("a baseline that fails in every launch blames nobody; {SHOWN} launches show that it does"));
    answer.numbers = vec![by_itself.said(), treated.said()];
    answer.needs = Some(needs(ledger, contrast, answer.strength));
    if answer.strength != Some(Strength::Shown) {
        answer.text.push_str(&format!(
            " That is not shown: {}, and a cold start or a flaky baseline does that too.",
            if by_itself.all_failed() { format!("it failed in {}, {SHOWN} show it", launches(by_itself.n())) } else { by_itself.said() }
        ));
    }
    answer
}

/// Every launch of a cell that says something, also those that enter no test: of the gate, after the last undo, and those that were made to tell this.
fn launched<'a>(ledger: &'a Ledger, arm: &Arm<'a>) -> Vec<&'a TrialRecord> {
    let counts = |trial: &&TrialRecord| {
        trial.slot.cell == *arm.cell
            && (trial.counts() || trial.slot.purpose != Purpose::Measure && trial.outcome().is_some_and(Outcome::counts))
    };
    ledger.trials.values().filter(counts).collect()
}

/// How sure it is. A cell that is compared in the place of the baseline, of which the plan has no such cell, fails as the baseline does.
fn strength(ledger: &Ledger, by_itself: &Arm<'_>) -> Strength {
    let baseline = Arm::of(ledger, &ledger.plan.baseline);
    let baseline = Arm { cell: baseline.cell, trials: launched(ledger, &baseline) };
    let of_baseline =
        baseline.all_failed() && baseline.failures_not_in(by_itself).is_empty() && by_itself.shares_failure_with(&baseline).is_some();
    let n = if of_baseline { by_itself.n().max(baseline.n()) } else { by_itself.n() };
    match by_itself.all_failed() {
        true if n >= SHOWN => Strength::Shown,
        true => strength_of(n),
        false => Strength::Consistent,
    }
}

fn needs(ledger: &Ledger, contrast: &Contrast, strength: Option<Strength>) -> Needs {
    if strength != Some(Strength::Shown) {
        let rule = format!("{SHOWN} launches of the baseline that all fail, or a comparison where it completes");
        return Needs { launches_per_cell: Some(SHOWN), rule: Some(rule), ..Needs::of([(Means::Launches, "more blocks".to_owned())]) };
    }
    let works = ledger.plan.cells.len();
    Needs {
        launches_per_cell: reach::blocks_needed(contrast.alpha).ok(),
        ..Needs::of([(Means::Edit, format!("a baseline that starts: mend its own failure first, then run the {works} cells again"))])
    }
}
