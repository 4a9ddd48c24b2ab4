//! What the outcomes say about one level of a factor. The comparison is made with nothing put in: that is how the program runs for others.

use bystander_model::outcome::Outcome;
use bystander_model::report::{Answer, Means, Needs, Strength, Verdict};

use super::arm::{Arm, formula, strength_of};
use super::look::{Look, against_level};
use super::sentence::{blocks, launches, p_value, percent};
use super::{broken, combination, pooled, settling};
use crate::contrast::{self, Contrast, Subject};
use crate::ledger::Ledger;
use crate::looks;
use crate::stats::Tally;
use crate::stats::proportion::{launches_to_bound, newcombe, zero_failure_upper};
use crate::stats::sign::sign_test;

/// Answers for one level of a factor on the outcome.
pub(super) fn on_outcome(ledger: &Ledger, contrast: &Contrast) -> Answer {
    let treated = Arm::of(ledger, &contrast.treated);
    let control = Arm::of(ledger, &contrast.control);
    let mut answer = Answer {
        evidence: [control.evidence(), treated.evidence()].concat(),
        trials: [control.ids(), treated.ids()].concat(),
        ..Answer::new(contrast.about(&ledger.plan), "outcome", Verdict::Insufficient)
    };
    if treated.is_empty() || control.is_empty() {
        return missing(answer, ledger, &[&control, &treated]);
    }
    if control.all_failed() && treated.all_failed() {
        return broken::baseline(answer, ledger, contrast, &treated, &control);
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
    combination::beside(&mut answer, ledger, contrast);
    pooled::describe(&mut answer, ledger, contrast);
    answer
}

/// Says which launches are missing for any comparison.
pub(super) fn not_compared(answer: &mut Answer, ledger: &Ledger, arms: &[&Arm<'_>]) {
    let empty = arms.iter().filter(|arm| arm.is_empty());
    let needs = Needs::of(empty.map(|arm| settling::launch_of(&ledger.plan, arm.cell)));
    answer.text = format!("No comparison exists without {}.", needs.missing.join(" and "));
    answer.needs = Some(needs);
}

fn missing(mut answer: Answer, ledger: &Ledger, arms: &[&Arm<'_>]) -> Answer {
    not_compared(&mut answer, ledger, arms);
    answer
}

/// Tells whether a difference of failure rates is shown, by the rule that the plan fixed and its level.
pub(super) fn compare(answer: &mut Answer, ledger: &Ledger, contrast: &Contrast, treated: &Arm<'_>, control: &Arm<'_>) {
    let (a, n1, b, n2) = (treated.failed(), treated.n(), control.failed(), control.n());
    let Some(followed) = looks::follow(ledger, contrast, ledger.plan.blocks.max) else { return };
    let p = followed.decision.p();
    let difference = f64::from(a) / f64::from(n1) - f64::from(b) / f64::from(n2);
    answer.p = Some(p);
    answer.interval = newcombe(treated.tally(), control.tally(), 0.95).ok().map(|interval| [interval.low, interval.high]);
    answer.interval_of = answer.interval.map(|_| "difference of failure rates over all launches, 95 % (Newcombe)".to_owned());
    answer.estimate = Some(difference);
    answer.rule = Some(settling::rule_said(&ledger.plan, contrast.alpha));
    let (all, look) = (format!("{}; {}", treated.said(), control.said()), Look::of(&followed, treated.tally(), control.tally()));
    answer.text = match &look {
        None => format!("{all}: too few blocks for a test."),
        Some(look) => format!("{all}: {} ({}).", look.said(), against_level(&followed, contrast.alpha)),
    };
    if let Some(look) = look {
        let (name, value) = match followed.e_value {
            Some(e) => ("e-value, two proportions", format!("e = {e:.3}, p at any time at most {p:.4}")),
            None => ("Fisher, two-sided", format!("p = {p:.4}")),
        };
        let at = format!("at the look after {}: {}, {value}", blocks(followed.blocks), look.counts);
        answer.evidence.push(formula(name, format!("{at}; in all, {a} of {n1} against {b} of {n2}")));
        answer.numbers.push(at);
    } else {
        answer.p = None;
    }
    answer.numbers.extend(by_signs(ledger, contrast));
    if followed.is_shown() {
        answer.verdict = Verdict::Effect;
        answer.strength = Some(Strength::Shown);
        let does = match (difference > 0.0, treated.all_completed()) {
            (true, _) => "breaks it",
            (false, true) => "makes a failing baseline work",
            (false, false) => "makes a failing baseline work more often",
        };
        answer.text = format!("It {does}: {}", answer.text);
    }
}

/// The check that randomisation within blocks strictly licenses; it enters no verdict.
fn by_signs(ledger: &Ledger, contrast: &Contrast) -> Option<String> {
    let pairs = looks::paired(ledger, &contrast.treated, &contrast.control, ledger.plan.blocks.max);
    let count = |of: fn(&Tally, &Tally) -> bool| u32::try_from(pairs.iter().filter(|(x, y)| of(x, y)).count()).unwrap_or(u32::MAX);
    let (only, other) = (count(|x, y| x.failures() > y.failures()), count(|x, y| x.failures() < y.failures()));
    let p = sign_test(only, other).ok().filter(|_| only + other > 0)?.two_sided;
    Some(format!(
        "check by the design alone: {} fails without its control in {}, its control without it in {}; sign test {}",
        contrast.treated,
        blocks(only),
        blocks(other),
        p_value(p)
    ))
}

/// Says where an instrument hides the effect of a level.
fn masked(answer: &mut Answer, ledger: &Ledger, contrast: &Contrast) {
    let hidden = ledger.plan.cells.iter().filter(|cell| cell.levels == contrast.treated.levels && !cell.is_bare()).find(|cell| {
        let (with, bare) = (Arm::of(ledger, cell), Arm::of(ledger, &contrast.treated));
        let alpha = contrast::state_alpha(&ledger.plan, &cell.instrument, &contrast.treated);
        let followed = looks::follow_cells(ledger, cell, &contrast.treated, alpha, ledger.plan.blocks.max);
        followed.is_some_and(|followed| followed.is_shown()) && with.failed() * bare.n() < bare.failed() * with.n()
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
    answer.rule = Some(ZERO_FAILURES.to_owned());
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
            answer.needs = Some(within_margin(ledger));
        }
    }
}

/// The rule of launches without failure.
pub(super) const ZERO_FAILURES: &str =
    "n launches without failure exclude a failure rate above 1 - 0.05^(1/n); \"no effect\" is shown where that is within the stated margin";

/// What would show that nothing fails more often than the margin allows.
pub(super) fn within_margin(ledger: &Ledger) -> Needs {
    match ledger.plan.margin {
        Some(margin) => Needs {
            launches_per_cell: launches_to_bound(margin, 0.05).ok(),
            rule: Some(format!("launches without failure that exclude a rate above {} (95 %)", percent(margin))),
            ..Needs::of([(Means::Launches, "more blocks".to_owned())])
        },
        None => Needs::of([(Means::File, "`margin` in [plan]: which difference of failure rates counts as no effect".to_owned())]),
    }
}

/// A difference in the data that the rule does not show yet.
fn unsettled(answer: &mut Answer, ledger: &Ledger, contrast: &Contrast, treated: &Arm<'_>, control: &Arm<'_>) {
    let apart = (treated.all_failed() && control.all_completed()) || (treated.all_completed() && control.all_failed());
    if apart {
        answer.strength = Some(strength_of(treated.n().min(control.n())));
    }
    if control.all_failed() {
        answer.verdict = Verdict::Insufficient;
        let does = if treated.all_completed() { "does not" } else { "does not always" };
        answer.text = format!("The baseline fails and {} {does}: {}", level_of(contrast), answer.text);
    } else if !apart && treated.trials.iter().any(|trial| trial.outcome() == Some(Outcome::TimedOut)) {
        answer.text.push_str(" Time-outs are counted as failures.");
    }
    answer.needs = Some(settling::needs(&ledger.plan, treated.tally(), control.tally(), contrast.alpha));
    say_needs(answer);
}

/// Puts the number that would decide into the answer's text.
pub(super) fn say_needs(answer: &mut Answer) {
    let Some(needs) = &answer.needs else { return };
    match (needs.launches_per_cell, &needs.rule) {
        (Some(n), Some(rule)) => answer.text.push_str(&format!(" {} of each cell would decide it ({rule}).", launches(n))),
        (None, Some(rule)) => answer.text.push_str(&format!(" No number of launches to plan with: {rule}.")),
        _ => {}
    }
}

/// `allreduce=custom`, or the instrument's name.
pub(super) fn level_of(contrast: &Contrast) -> String {
    match &contrast.subject {
        Subject::Factor { factor, level } => format!("{factor}={level}"),
        Subject::Combination => contrast.levels(),
        Subject::Instrument { instrument } => instrument.clone(),
    }
}
