//! What the outcomes say about one level of a factor. The comparison is made with nothing put in: that is how the program runs for others.

use bystander_model::outcome::Outcome;
use bystander_model::report::{Answer, Needs, Strength, Verdict};

use super::arm::{Arm, evidence_of, formula, strength_of};
use super::sentence::{blocks, launches, p_value, percent};
use crate::contrast::{ALPHA, Contrast, Subject};
use crate::design::sequential::Decision;
use crate::design::{reach, settle};
use crate::ledger::Ledger;
use crate::looks;
use crate::stats::proportion::{launches_to_bound, newcombe, zero_failure_upper};

/// Answers for one level of a factor on the outcome.
pub(super) fn on_outcome(ledger: &Ledger, contrast: &Contrast) -> Answer {
    let treated = Arm::of(ledger, &contrast.treated);
    let control = Arm::of(ledger, &contrast.control);
    let mut answer = Answer {
        evidence: [control.evidence(), treated.evidence()].concat(),
        ..Answer::new(contrast.about(&ledger.plan), "outcome", Verdict::Insufficient)
    };
    if treated.is_empty() || control.is_empty() {
        return missing(answer, &[&control, &treated]);
    }
    if control.all_failed() && !treated.all_completed() {
        return broken_baseline(answer, ledger, contrast, &treated, &control);
    }
    compare(&mut answer, ledger, contrast, &treated, &control);
    if let Some(shared) = treated.shares_failure_with(&control) {
        answer.text.push_str(&format!(" The same failure happens without it, in trial {}.", shared.1.id));
    }
    if answer.verdict == Verdict::Effect {
        masked(&mut answer, ledger, contrast);
    } else if control.all_completed() && treated.all_completed() {
        no_failure(&mut answer, ledger, &treated, &control);
    } else {
        unsettled(&mut answer, ledger, contrast, &treated, &control);
    }
    answer
}

fn missing(mut answer: Answer, arms: &[&Arm<'_>]) -> Answer {
    let missing: Vec<String> = arms.iter().filter(|arm| arm.is_empty()).map(|arm| format!("a launch of {}", arm.cell)).collect();
    answer.text = format!("No comparison exists without {}.", missing.join(" and "));
    answer.needs = Some(Needs { launches_per_cell: None, missing });
    answer
}

fn broken_baseline(mut answer: Answer, ledger: &Ledger, contrast: &Contrast, treated: &Arm<'_>, control: &Arm<'_>) -> Answer {
    answer.verdict = Verdict::BaselineBroken;
    answer.strength = Some(Strength::Shown);
    let level = level_of(contrast);
    let alike = match treated.shares_failure_with(control) {
        Some(_) if treated.failures_not_in(control).is_empty() => format!("{} fails in the same way", treated.cell),
        _ => format!("{}, but in another way", treated.said()),
    };
    answer.text = format!(
        "Nothing can be blamed on {level}: the baseline fails without it ({}); {alike}. Whether {level} would break a baseline that works is not known.",
        control.said()
    );
    answer.evidence = control.failures().chain(treated.failures()).flat_map(evidence_of).take(2).collect();
    let works = ledger.plan.cells.len();
    answer.needs = Some(Needs {
        launches_per_cell: reach::blocks_needed(contrast.alpha).ok(),
        missing: vec![format!("a baseline that starts: mend its own failure first, then run the {works} cells again")],
    });
    answer
}

/// Tells whether a difference of failure rates is shown, by the rule that the plan fixed: Fisher, looked at after every block up to the last look.
pub(super) fn compare(answer: &mut Answer, ledger: &Ledger, contrast: &Contrast, treated: &Arm<'_>, control: &Arm<'_>) {
    let (a, n1, b, n2) = (treated.failed(), treated.n(), control.failed(), control.n());
    let Some(followed) = looks::follow(ledger, contrast, ledger.plan.blocks.max) else { return };
    let (p, alpha) = (followed.decision.p(), contrast.alpha);
    let difference = f64::from(a) / f64::from(n1) - f64::from(b) / f64::from(n2);
    answer.p = Some(p);
    answer.interval = newcombe(treated.tally(), control.tally(), 0.95).ok().map(|interval| [interval.low, interval.high]);
    answer.interval_of = answer.interval.map(|_| "difference of failure rates, 95 % (Newcombe)".to_owned());
    answer.estimate = Some(difference);
    let shown = matches!(followed.decision, Decision::Different { .. });
    let seen = if shown { "a difference is shown" } else { "no difference is shown" };
    let after = blocks(followed.blocks);
    answer.text = if followed.blocks == 0 {
        format!("{}; {}: too few blocks for a test.", treated.said(), control.said())
    } else {
        format!("{}; {}: {seen} after {after} ({} against {alpha:.3}).", treated.said(), control.said(), p_value(p))
    };
    answer.evidence.push(formula("Fisher, two-sided", format!("after {after}: p = {p:.4}; in all, {a} of {n1} against {b} of {n2}")));
    if shown {
        answer.verdict = Verdict::Effect;
        answer.strength = Some(Strength::Shown);
        let does = if difference > 0.0 { "breaks it" } else { "makes a failing baseline work" };
        answer.text = format!("It {does}: {}", answer.text);
    }
}

/// Says where an instrument hides the effect of a level.
fn masked(answer: &mut Answer, ledger: &Ledger, contrast: &Contrast) {
    let hidden = ledger.plan.cells.iter().filter(|cell| cell.levels == contrast.treated.levels && !cell.is_bare()).find(|cell| {
        let (with, bare) = (Arm::of(ledger, cell), Arm::of(ledger, &contrast.treated));
        let followed = looks::follow_cells(ledger, cell, &contrast.treated, ALPHA / 3.0, ledger.plan.blocks.max);
        let shown = followed.is_some_and(|followed| matches!(followed.decision, Decision::Different { .. }));
        shown && with.failed() * bare.n() < bare.failed() * with.n()
    });
    if let Some(cell) = hidden {
        answer.verdict = Verdict::MaskedByInstrument;
        answer.text.push_str(&format!(" With {} put in it does not happen: the instrument hides it.", cell.instrument));
    }
}

/// Both arms complete in every launch.
fn no_failure(answer: &mut Answer, ledger: &Ledger, treated: &Arm<'_>, control: &Arm<'_>) {
    let n = treated.n().min(control.n());
    let bound = zero_failure_upper(n, 0.05).unwrap_or(1.0);
    answer.p = None;
    let seen = format!("No failure in {} of {} nor of {}", launches(n), treated.cell, control.cell);
    answer.evidence.push(formula("1 - 0.05^(1/n)", format!("no failure in {n}: a failure rate up to {bound:.3} is not excluded (95 %)")));
    match ledger.plan.margin {
        Some(margin) if bound <= margin => {
            answer.verdict = Verdict::NoEffectWithin;
            answer.strength = Some(Strength::Shown);
            answer.text =
                format!("{seen}: a failure rate above {} is excluded, which is within the stated {}.", percent(bound), percent(margin));
        }
        _ => {
            answer.strength = Some(strength_of(n));
            answer.text = format!("{seen}. A failure rate up to {} is not excluded.", percent(bound));
            answer.needs = Some(Needs { launches_per_cell: ledger.plan.margin.and_then(launches_within), missing: margin_missing(ledger) });
        }
    }
}

fn margin_missing(ledger: &Ledger) -> Vec<String> {
    match ledger.plan.margin {
        Some(_) => Vec::new(),
        None => vec!["`margin` in [plan]: which difference of failure rates counts as no effect".to_owned()],
    }
}

/// A difference in the data that the rule does not show yet.
fn unsettled(answer: &mut Answer, ledger: &Ledger, contrast: &Contrast, treated: &Arm<'_>, control: &Arm<'_>) {
    let apart = (treated.all_failed() && control.all_completed()) || (treated.all_completed() && control.all_failed());
    if apart {
        answer.strength = Some(strength_of(treated.n().min(control.n())));
        if control.all_failed() {
            answer.verdict = Verdict::Insufficient;
            answer.text = format!("The baseline fails and {} does not: {}", level_of(contrast), answer.text);
        }
    } else if treated.trials.iter().any(|trial| trial.outcome() == Some(Outcome::TimedOut)) {
        answer.text.push_str(" Time-outs are counted as failures.");
    }
    answer.needs = Some(Needs {
        launches_per_cell: launches_to_settle(treated, control, contrast.alpha),
        missing: vec![format!("more blocks (the plan allows {})", ledger.plan.blocks.max)],
    });
}

/// Launches per cell that would settle a difference, if both cells go on as they began.
pub(super) fn launches_to_settle(treated: &Arm<'_>, control: &Arm<'_>, alpha: f64) -> Option<u32> {
    settle::launches_to_settle(treated.tally(), control.tally(), alpha).ok().flatten().map(|needs| needs.per_arm)
}

/// Launches without failure that put a failure rate below a margin.
pub(super) fn launches_within(margin: f64) -> Option<u32> {
    launches_to_bound(margin, 0.05).ok()
}

/// `allreduce=custom`, or the instrument's name.
pub(super) fn level_of(contrast: &Contrast) -> String {
    match &contrast.subject {
        Subject::Factor { factor, level } => format!("{factor}={level}"),
        Subject::Instrument { instrument } => instrument.clone(),
    }
}
