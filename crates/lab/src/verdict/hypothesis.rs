//! Hypotheses: refuted by one counterexample, supported only when every prediction held as often as the level asks.

use bystander_model::outcome::Outcome;
use bystander_model::report::{Answer, Needs, Strength, Verdict};

use super::arm::{Arm, evidence_of, strength_of};
use super::sentence::{launches, p_value};
use crate::carry::Baselines;
use crate::contrast::ALPHA;
use crate::design::reach;
use crate::design::sequential::Decision;
use crate::ledger::{Ledger, TrialRecord};
use crate::looks;
use crate::plan::{Hypothesis, Prediction};

/// Judges one claim.
pub(super) fn judge(ledger: &Ledger, hypothesis: &Hypothesis) -> Answer {
    let mut answer = Answer::new(format!("hypothesis:{}", hypothesis.claim), "outcome", Verdict::Open);
    if refute(&mut answer, ledger, hypothesis) || carried_over(&mut answer, ledger, hypothesis) {
        return answer;
    }
    let arms: Vec<(Arm<'_>, Outcome)> = hypothesis.predicts.iter().map(|p| (Arm::of(ledger, &p.cell), p.outcome)).collect();
    let unseen: Vec<String> = arms.iter().filter(|(arm, _)| arm.is_empty()).map(|(arm, _)| format!("a launch of {}", arm.cell)).collect();
    if !unseen.is_empty() {
        answer.text = format!("Nothing is known without {}.", unseen.join(" and "));
        answer.needs = Some(Needs { launches_per_cell: None, missing: unseen });
        return answer;
    }
    weigh(&mut answer, ledger, &arms);
    answer
}

/// A trial that did what the claim says it cannot.
fn refute(answer: &mut Answer, ledger: &Ledger, hypothesis: &Hypothesis) -> bool {
    let baselines = Baselines::of(ledger);
    for prediction in &hypothesis.predicts {
        let counterexample = against(ledger, prediction).find(|trial| !baselines.may_be_carried_over(trial));
        if let Some(trial) = counterexample {
            let outcome = trial.outcome().map_or("", Outcome::word);
            answer.verdict = Verdict::Refuted;
            answer.strength = Some(Strength::Shown);
            answer.text = format!(
                "It predicts that {} is {}, and trial {} {outcome}. One counterexample is enough.",
                prediction.cell,
                prediction.outcome.word(),
                trial.id
            );
            answer.evidence = evidence_of(trial);
            return true;
        }
    }
    false
}

/// The trials that did not do what a claim predicts.
fn against<'a>(ledger: &'a Ledger, prediction: &'a Prediction) -> impl Iterator<Item = &'a TrialRecord> {
    // A time-out is a failure, as in every comparison of outcomes.
    let as_predicted = |outcome: Option<Outcome>| {
        outcome == Some(prediction.outcome) || (prediction.outcome == Outcome::Failed && outcome == Some(Outcome::TimedOut))
    };
    ledger.data(&prediction.cell).filter(move |trial| !as_predicted(trial.outcome()))
}

/// Every counterexample may be what an edit left behind: then none is one.
fn carried_over(answer: &mut Answer, ledger: &Ledger, hypothesis: &Hypothesis) -> bool {
    let Some((before, after)) = Baselines::of(ledger).carried_over() else { return false };
    let Some(trial) = hypothesis.predicts.iter().find_map(|prediction| against(ledger, prediction).next()) else { return false };
    answer.text = format!(
        "Contaminated: trial {} speaks against it, but the bare baseline completed before the first edit (trial {before}) and never after it (from trial {after}), so that failure may be what an edit left behind.",
        trial.id
    );
    answer.evidence = evidence_of(trial);
    answer.needs = Some(Needs {
        launches_per_cell: None,
        missing: vec!["launches that clean up what the edited program leaves, such as built files".to_owned()],
    });
    true
}

/// Every prediction held so far: whether that is enough.
fn weigh(answer: &mut Answer, ledger: &Ledger, arms: &[(Arm<'_>, Outcome)]) {
    let least = arms.iter().map(|(arm, _)| arm.n()).min().unwrap_or(0);
    answer.strength = Some(strength_of(least));
    answer.evidence = arms.iter().flat_map(|(arm, _)| arm.evidence()).collect();
    let failing = arms.iter().filter(|(_, outcome)| *outcome != Outcome::Completed).map(|(arm, _)| arm.n()).sum::<u32>();
    let completing = arms.iter().filter(|(_, outcome)| *outcome == Outcome::Completed).map(|(arm, _)| arm.n()).sum::<u32>();
    let held = format!("Every prediction held in {} per cell", launches(least));
    if failing == 0 || completing == 0 {
        answer.text =
            format!("{held}, but the claim predicts the same outcome everywhere, so chance and other causes are not told apart from it.");
        answer.needs = Some(Needs {
            launches_per_cell: None,
            missing: vec!["a prediction of the opposite outcome where the claim's cause is absent".to_owned()],
        });
        return;
    }
    let Some((p, shown)) = follow_pairs(ledger, arms) else { return };
    answer.p = Some(p);
    if shown {
        answer.verdict = Verdict::Supported;
        answer.strength = Some(Strength::Shown);
        answer.text = format!("{held}, and that is beyond chance ({}).", p_value(p));
    } else {
        answer.text = format!("{held}, which chance explains too ({}).", p_value(p));
        answer.needs = Some(Needs {
            launches_per_cell: reach::blocks_needed(ALPHA).ok(),
            missing: vec!["more launches of the cells it predicts".to_owned()],
        });
    }
}

/// Follows every pair of cells for which opposite outcomes are predicted by the rule of outcomes: the largest p, and whether each pair is shown to
/// differ.
fn follow_pairs(ledger: &Ledger, arms: &[(Arm<'_>, Outcome)]) -> Option<(f64, bool)> {
    let (completing, failing): (Vec<_>, Vec<_>) = arms.iter().partition(|(_, outcome)| *outcome == Outcome::Completed);
    let pairs = failing.iter().flat_map(|(fails, _)| completing.iter().map(move |(completes, _)| (fails.cell, completes.cell)));
    let mut all = (0.0_f64, true);
    for (fails, completes) in pairs {
        let decision = looks::follow_cells(ledger, fails, completes, ALPHA, ledger.plan.blocks.max)?.decision;
        all = (all.0.max(decision.p()), all.1 && matches!(decision, Decision::Different { .. }));
    }
    Some(all)
}
