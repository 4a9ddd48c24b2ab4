//! The answers: what the data of a run say about each factor, each instrument and each hypothesis.
//!
//! Refuting and attributing are different. That something is *not needed* for a failure takes one launch that fails in the same way without it;
//! that something *causes* a failure takes replicates; that something has *no effect* must be shown within a stated margin. A missing line, a missing
//! launch and a contaminated launch say nothing.

mod alternatives;
pub(crate) mod applied;
mod arm;
mod broken;
mod cached;
mod combination;
mod contaminated;
mod effect;
mod elsewhere;
pub(crate) mod exploratory;
mod factor;
mod found;
mod hypothesis;
mod instrument;
mod look;
mod metric;
mod perturbation;
mod pooled;
mod prediction;
mod raised;
mod robust;
pub(crate) mod sentence;
pub(crate) mod settling;
mod survivors;
mod unanswered;
pub(crate) mod unequal;

use bystander_model::event::RunEnd;
use bystander_model::evidence::Evidence;
use bystander_model::report::{Answer, Means, Needs, Verdict};

pub(crate) use self::alternatives::alternatives;
pub(crate) use self::metric::margin;
pub use self::unanswered::{Unanswered, unanswered};

use crate::contrast::{self, Subject};
use crate::ledger::Ledger;
use crate::step;

/// Every answer of a run: those on the primary metric, then the others; in each factors, then levels put together, then instruments, then hypotheses.
#[must_use]
pub fn answers(ledger: &Ledger) -> Vec<Answer> {
    let contrasts = contrast::contrasts(&ledger.plan);
    let mut answers = Vec::new();
    let factors = contrasts.iter().filter(|contrast| matches!(contrast.subject, Subject::Factor { .. }));
    for contrast in factors {
        let mut of_level = vec![factor::on_outcome(ledger, contrast)];
        of_level.extend(metric::of_factor(ledger, contrast));
        contaminated::of_factor(ledger, contrast, &mut of_level);
        answers.extend(of_level);
    }
    for contrast in contrasts.iter().filter(|contrast| contrast.subject == Subject::Combination) {
        let mut together = combination::answers(ledger, contrast);
        contaminated::of_factor(ledger, contrast, &mut together);
        answers.extend(together);
    }
    exploratory::correct(&ledger.plan, &mut answers);
    let of_instrument = |contrast: &&contrast::Contrast| matches!(contrast.subject, Subject::Instrument { .. });
    let instruments = contrasts.iter().filter(of_instrument).filter(|contrast| contrast.is_with_baseline(&ledger.plan));
    for contrast in instruments {
        answers.push(instrument::on_outcome(ledger, contrast));
        let mut of_instrument = perturbation::of_instrument(ledger, contrast);
        contaminated::of_instrument(ledger, contrast, &mut of_instrument);
        answers.extend(of_instrument);
    }
    answers.extend(ledger.plan.left_out.iter().map(|(name, why)| instrument::left_out(name, why)));
    // What the question is about comes first; the order is otherwise that of the file.
    answers.sort_by_key(|answer| answer.metric != ledger.plan.primary);
    answers.extend(ledger.plan.hypotheses.iter().map(|claim| hypothesis::judge(ledger, claim)));
    if let Some((why, shown)) = invalid(ledger) {
        answers.iter_mut().for_each(|answer| void(answer, &why, &shown));
    }
    answers
}

/// Why nothing of this run is an answer, if so, and what shows it in the launches that ended the run.
fn invalid(ledger: &Ledger) -> Option<(String, Vec<Evidence>)> {
    let (RunEnd::Invalid { why } | RunEnd::Gated { why }) = ledger.end.as_ref()? else { return None };
    Some((why.clone(), step::ended_by(ledger).into_iter().flat_map(arm::evidence_of).collect()))
}

/// Takes back an answer of a contaminated or gated run. Refutations stand: a counterexample is one whatever came after it.
fn void(answer: &mut Answer, why: &str, shown: &[Evidence]) {
    if matches!(answer.verdict, Verdict::NotNeeded | Verdict::Refuted) {
        return;
    }
    take_back(
        answer,
        &format!("The run says nothing about this: {why}."),
        "a contaminated or gated run shows nothing but counterexamples",
        (Means::Edit, "mend what stopped the run, then run it anew".to_owned()),
    );
    answer.evidence = shown.to_vec();
}

/// Leaves nothing of an answer but why it is none.
fn take_back(answer: &mut Answer, text: &str, rule: &str, needs: (Means, String)) {
    answer.verdict = match answer.about.split(':').next() {
        Some("factor" | "combination") => Verdict::Invalid,
        Some("instrument") => Verdict::Undetermined,
        _ => Verdict::Open,
    };
    answer.strength = None;
    answer.p = None;
    answer.interval = None;
    answer.interval_of = None;
    answer.estimate = None;
    text.clone_into(&mut answer.text);
    answer.rule = Some(rule.to_owned());
    answer.numbers.clear();
    answer.needs = Some(Needs::of([needs]));
}
