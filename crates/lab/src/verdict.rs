//! The answers: what the data of a run say about each factor, each instrument and each hypothesis.
//!
//! Refuting and attributing are different. That something is *not needed* for a failure takes one launch that fails in the same way without it;
//! that something *causes* a failure takes replicates; that something has *no effect* must be shown within a stated margin. A missing line, a missing
//! launch and a contaminated launch say nothing.

mod alternatives;
mod arm;
mod effect;
mod factor;
mod hypothesis;
mod instrument;
mod metric;
mod perturbation;
mod pooled;
mod prediction;
pub(crate) mod sentence;
pub(crate) mod settling;

use bystander_model::event::RunEnd;
use bystander_model::report::{Answer, Means, Needs, Verdict};

pub(crate) use self::alternatives::alternatives;

use crate::contrast::{self, Subject};
use crate::ledger::Ledger;

/// Every answer of a run: factors, then instruments, then hypotheses; for each the primary (outcome) before the metrics.
#[must_use]
pub fn answers(ledger: &Ledger) -> Vec<Answer> {
    let contrasts = contrast::contrasts(&ledger.plan);
    let mut answers = Vec::new();
    let factors = contrasts.iter().filter(|contrast| matches!(contrast.subject, Subject::Factor { .. }));
    for contrast in factors {
        answers.push(factor::on_outcome(ledger, contrast));
        answers.extend(metric::of_factor(ledger, contrast));
    }
    let of_instrument = |contrast: &&contrast::Contrast| matches!(contrast.subject, Subject::Instrument { .. });
    let instruments = contrasts.iter().filter(of_instrument).filter(|contrast| contrast.is_with_baseline(&ledger.plan));
    for contrast in instruments {
        answers.push(instrument::on_outcome(ledger, contrast));
        answers.extend(perturbation::of_instrument(ledger, contrast));
    }
    answers.extend(ledger.plan.left_out.iter().map(|(name, why)| instrument::left_out(name, why)));
    answers.extend(ledger.plan.hypotheses.iter().map(|claim| hypothesis::judge(ledger, claim)));
    if let Some(why) = invalid(ledger) {
        answers.iter_mut().for_each(|answer| void(answer, &why));
    }
    answers
}

/// Why nothing of this run is an answer, if so.
fn invalid(ledger: &Ledger) -> Option<String> {
    match ledger.end.as_ref()? {
        RunEnd::Invalid { why } | RunEnd::Gated { why } => Some(why.clone()),
        _ => None,
    }
}

/// Takes back an answer of a contaminated or gated run. Refutations stand: a counterexample is one whatever came after it.
fn void(answer: &mut Answer, why: &str) {
    if matches!(answer.verdict, Verdict::NotNeeded | Verdict::Refuted) {
        return;
    }
    answer.verdict = match answer.about.split(':').next() {
        Some("factor") => Verdict::Invalid,
        Some("instrument") => Verdict::Undetermined,
        _ => Verdict::Open,
    };
    answer.strength = None;
    answer.p = None;
    answer.interval = None;
    answer.interval_of = None;
    answer.estimate = None;
    answer.text = format!("The run says nothing about this: {why}.");
    answer.rule = Some("a contaminated or gated run shows nothing but counterexamples".to_owned());
    answer.numbers.clear();
    answer.needs = Some(Needs::of([(Means::Edit, "a run that is not stopped by this".to_owned())]));
}
