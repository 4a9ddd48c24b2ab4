//! What the outcomes say about one instrument: whether it is needed for a failure, causes one, hides one, or shows no effect.

use bystander_model::ids::TrialId;
use bystander_model::report::{Answer, Means, Needs, Strength, Verdict};

use super::arm::{Arm, evidence_of, formula, strength_of};
use super::factor::{ZERO_FAILURES, compare, not_compared, say_needs, within_margin};
use super::look::{Look, against_level};
use super::raised;
use super::sentence::{launches, percent};
use super::settling;
use crate::carry::Baselines;
use crate::cold::ColdStart;
use crate::contrast::{self, Contrast, Subject};
use crate::ledger::{Ledger, TrialRecord};
use crate::looks;
use crate::looks::Followed;
use crate::stats::proportion::zero_failure_upper;
use crate::summary::captures;

/// Answers for one instrument level on the outcome.
pub(super) fn on_outcome(ledger: &Ledger, contrast: &Contrast) -> Answer {
    let with = Arm::of(ledger, &contrast.treated);
    let without = Arm::of(ledger, &contrast.control);
    let mut answer = blank(contrast.about(&ledger.plan));
    if with.is_empty() || without.is_empty() {
        not_compared(&mut answer, ledger, &[&without, &with]);
        return answer;
    }
    answer.trials = [without.ids(), with.ids()].concat();
    let name = instrument_name(contrast);
    if let Some(trial) = blamed(ledger, name, &without) {
        return breaks(answer, trial, &without);
    }
    // A failure with which the run began, and which never came back, is none of the program without the instrument.
    let cold = ColdStart::of(ledger);
    if let Some(shared) = with.shares_failure_with(&without).filter(|(_, other)| !cold.holds(other)) {
        if let Some(carried) = Baselines::of(ledger).carried_over().filter(|_| with.trials.iter().any(|trial| !trial.edited.is_empty())) {
            return carried_over(answer, carried, shared);
        }
        not_needed(&mut answer, name, &with, &without, shared);
    } else {
        answer.evidence = [without.evidence(), with.evidence()].concat();
        compare(&mut answer, ledger, contrast, &with, &without);
        settle(&mut answer, ledger, contrast, &with, &without);
    }
    other_states(&mut answer, ledger, name);
    raised::on_outcome(&mut answer, ledger, name, &with, &without);
    never_fired(&mut answer, ledger, name);
    answer
}

/// The failure without the instrument began only after it had been in: that acquits nobody.
fn carried_over(mut answer: Answer, carried: (TrialId, TrialId), shared: (&TrialRecord, &TrialRecord)) -> Answer {
    answer.text = format!(
        "Contaminated: the bare baseline completed before the first edit (trial {}) and never after it (from trial {}), so the failure without it in trial {} may be one that it left behind.",
        carried.0, carried.1, shared.1.id
    );
    answer.evidence = [evidence_of(shared.1), evidence_of(shared.0)].concat();
    let missing = "launches that clean up what the edited program leaves, such as built files".to_owned();
    answer.needs = Some(Needs::of([(Means::Edit, missing)]));
    answer
}

/// A probe that never fired was not tried: launches with it say nothing about what it does when it fires.
pub(super) fn never_fired(answer: &mut Answer, ledger: &Ledger, name: &str) {
    if !matches!(answer.verdict, Verdict::Inert | Verdict::NoEffectSeen) {
        return;
    }
    let probes = ledger
        .plan
        .instruments
        .get(name)
        .into_iter()
        .flatten()
        .filter(|part| ledger.plan.probes.iter().any(|probe| probe.spec.name == **part));
    let silent: Vec<String> = probes.filter_map(|probe| captures::silence(ledger, probe)).collect();
    if silent.is_empty() {
        return;
    }
    answer.verdict = Verdict::Undetermined;
    answer.strength = None;
    answer.text = format!("{}, so what it does when it fires is not known.", silent.join("; "));
    answer.needs =
        Some(Needs::of([(Means::Probe, "a place that is reached, in a process that the probe covers (show --why lists them)".to_owned())]));
}

/// Answers for an instrument that was refused before the first launch.
pub(super) fn left_out(name: &str, why: &str) -> Answer {
    let mut answer = blank(format!("instrument:{name}"));
    answer.text = format!("Refused before any launch, so nothing is known of it: {why}.");
    answer.needs = Some(Needs::of([(Means::Probe, "an instrument that can be put in".to_owned())]));
    answer
}

fn blank(about: String) -> Answer {
    Answer::new(about, "outcome", Verdict::Undetermined)
}

fn instrument_name(contrast: &Contrast) -> &str {
    match &contrast.subject {
        Subject::Instrument { instrument } | Subject::Factor { factor: instrument, .. } => instrument,
        Subject::Combination => "",
    }
}

/// A failing launch whose traceback runs through a line that this instrument added, where the program without it does not fail in that way.
fn blamed<'a>(ledger: &'a Ledger, name: &str, without: &Arm<'a>) -> Option<&'a TrialRecord> {
    let known = without.signatures();
    ledger.trials.values().filter(|trial| trial.counts() && trial.slot.cell.instrument == name).find(|trial| {
        let cause = trial.end.as_ref().and_then(|end| end.cause.as_ref());
        cause.is_some_and(|cause| cause.blames.is_some() && !known.contains_key(cause.signature.as_str()))
    })
}

fn breaks(mut answer: Answer, trial: &TrialRecord, without: &Arm<'_>) -> Answer {
    let cause = trial.end.as_ref().and_then(|end| end.cause.as_ref());
    answer.verdict = Verdict::Perturbs;
    answer.strength = Some(Strength::Shown);
    answer.rule = Some("a failing frame on a line that the instrument inserted, and no such failure without it".to_owned());
    answer.text = format!(
        "It breaks its program: the failing frame of trial {} lies on a line that it inserted ({}); without it, {}.",
        trial.id,
        cause.map_or("", |cause| cause.text.as_str()),
        without.said()
    );
    answer.evidence = cause.map(|cause| cause.evidence.clone()).unwrap_or_default();
    answer.evidence.extend(without.evidence());
    answer
}

fn not_needed(answer: &mut Answer, name: &str, with: &Arm<'_>, without: &Arm<'_>, shared: (&TrialRecord, &TrialRecord)) {
    answer.verdict = Verdict::NotNeeded;
    answer.strength = Some(Strength::Shown);
    answer.rule = Some("one launch without it that fails with the same signature".to_owned());
    answer.numbers = vec![without.said(), with.said(), format!("signature: {}", shared.1.signature())];
    answer.text = format!(
        "The failure happens without it: {} fails in trial {} as {} does in trial {}, with the same signature. That {name} has no effect at all is another claim, and is not made.",
        without.cell, shared.1.id, with.cell, shared.0.id
    );
    answer.evidence = [evidence_of(shared.1), evidence_of(shared.0)].concat();
    let others = with.failures_not_in(without);
    if let Some(other) = others.first() {
        answer.text.push_str(&format!(" Trial {} with {name} also failed in a way that is not seen without it.", other.id));
    }
}

/// Puts a comparison without a shared failure into the words of an instrument.
fn settle(answer: &mut Answer, ledger: &Ledger, contrast: &Contrast, with: &Arm<'_>, without: &Arm<'_>) {
    if answer.verdict == Verdict::Effect {
        answer.verdict = Verdict::Perturbs;
        return;
    }
    answer.verdict = Verdict::Undetermined;
    if with.all_completed() && without.all_completed() {
        no_failure(answer, ledger, with, without);
        return;
    }
    answer.strength = Some(strength_of(with.n().min(without.n())));
    answer.needs = Some(settling::needs(&ledger.plan, with.tally(), without.tally(), contrast.alpha));
    say_needs(answer);
}

fn no_failure(answer: &mut Answer, ledger: &Ledger, with: &Arm<'_>, without: &Arm<'_>) {
    let n = with.n().min(without.n());
    let bound = zero_failure_upper(n, 0.05).unwrap_or(1.0);
    answer.p = None;
    answer.strength = Some(strength_of(n));
    answer.rule = Some(ZERO_FAILURES.to_owned());
    answer.evidence.push(formula("1 - 0.05^(1/n)", format!("no failure in {n}: a failure rate up to {bound:.3} is not excluded (95 %)")));
    let seen = format!("no failure in {} with it and {} without it", launches(with.n()), launches(without.n()));
    match ledger.plan.margin {
        Some(margin) if bound <= margin => {
            answer.verdict = Verdict::Inert;
            answer.strength = Some(Strength::Shown);
            answer.text = format!("Inert within {}: {seen}, so a failure rate above {} is excluded.", percent(margin), percent(bound));
        }
        _ => {
            answer.verdict = Verdict::NoEffectSeen;
            answer.text = format!("No perturbation seen: {seen}. A failure rate up to {} is not excluded.", percent(bound));
            answer.needs = Some(within_margin(ledger));
        }
    }
}

/// Looks at the same instrument beside the other levels: an answer on the baseline alone says so.
fn other_states(answer: &mut Answer, ledger: &Ledger, name: &str) {
    let states = contrast::states_of_instrument(&ledger.plan, name);
    for (with, without) in states.into_iter().filter(|(_, without)| **without != ledger.plan.baseline) {
        let alpha = contrast::state_alpha(&ledger.plan, name, without);
        let followed = looks::follow_cells(ledger, with, without, alpha, ledger.plan.blocks.max);
        let (with, without) = (Arm::of(ledger, with), Arm::of(ledger, without));
        if with.is_empty() || without.is_empty() {
            answer.text.push_str(&format!(" Beside {} it was not compared.", without.cell));
            continue;
        }
        let apart = with.failed() * without.n() != without.failed() * with.n();
        let new = with.failures_not_in(&without);
        if let Some(followed) = followed.filter(Followed::is_shown) {
            interacts(answer, &with, &without, &followed, alpha);
        } else if apart {
            answer.text.push_str(&format!(
                " Beside other levels the data differ, and nothing is shown: {}, {}.",
                with.said(),
                without.said()
            ));
            if matches!(answer.verdict, Verdict::Inert | Verdict::NoEffectSeen) {
                answer.verdict = Verdict::Undetermined;
                answer.strength = None;
            }
        } else if let Some(other) = new.first() {
            answer.text.push_str(&format!(" In {} it fails in another way (trial {}).", with.cell, other.id));
        }
    }
}

/// The instrument is shown to change the outcome beside another level: it perturbs, whatever it does on the baseline.
fn interacts(answer: &mut Answer, with: &Arm<'_>, without: &Arm<'_>, followed: &Followed, alpha: f64) {
    let p = followed.decision.p();
    let does = if with.failed() * without.n() > without.failed() * with.n() { "It breaks" } else { "It hides a failure of" };
    let look = Look::of(followed, with.tally(), without.tally()).map_or_else(String::new, |look| look.said());
    let level = against_level(followed, alpha);
    let seen = format!("{does} {}: {}; {}: {look} ({level}).", without.cell, with.said(), without.said());
    answer.text = if answer.verdict == Verdict::Perturbs {
        format!("{} {seen}", answer.text)
    } else {
        format!("{seen} On the baseline: {}", answer.text)
    };
    answer.verdict = Verdict::Perturbs;
    answer.strength = Some(Strength::Shown);
    answer.p = answer.p.or(Some(p));
    answer.needs = None;
    answer.evidence.extend(with.evidence());
}
