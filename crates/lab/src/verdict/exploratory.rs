//! Metrics that nobody asked a question about: neither the primary one, nor with a margin, nor predicted by a claim.
//!
//! Of many such metrics one soon differs by chance. Their p values are corrected together (Benjamini and Hochberg) for all levels of all factors, and
//! what is left is a lead to be tested by a run that declares it: it is never `shown`. What an instrument does to metrics is corrected by Holm, all of
//! them together, and is no exploration: an instrument is to do nothing to any.

use bystander_model::report::{Answer, Means, Needs, Strength, Verdict};

use super::sentence::{comparisons, p_value};
use crate::contrast::ALPHA;
use crate::design::aa;
use crate::plan::{Plan, Prediction};
use crate::stats::multiplicity::benjamini_hochberg;

/// Whether nothing of a plan declares what is expected of a metric. A comparison of the baseline with itself asks the same of all.
pub(crate) fn is_exploratory(plan: &Plan, name: &str) -> bool {
    let predicted = plan.hypotheses.iter().flat_map(|claim| &claim.predicts).any(|predicted| match predicted {
        Prediction::Value { metric, .. } | Prediction::Effect { metric, .. } => metric == name,
        Prediction::Outcome { .. } | Prediction::Cause { .. } => false,
    });
    let has_margin = plan.metrics.get(name).is_some_and(|metric| metric.margin.is_some());
    plan.metrics.contains_key(name) && plan.primary != name && !predicted && !has_margin && aa::factor(plan).is_none()
}

/// Marks the answers of factors on exploratory metrics, and holds their p values, corrected together, against 0.05.
pub(super) fn correct(plan: &Plan, answers: &mut [Answer]) {
    let is_one = |answer: &&mut Answer| {
        (answer.about.starts_with("factor:") || answer.about.starts_with("combination:")) && is_exploratory(plan, &answer.metric)
    };
    let mut found: Vec<&mut Answer> = answers.iter_mut().filter(is_one).collect();
    found.iter_mut().for_each(|answer| answer.exploratory = true);
    found.retain(|answer| answer.p.is_some());
    let tested: Vec<f64> = found.iter().filter_map(|answer| answer.p).collect();
    let corrected = benjamini_hochberg(&tested).unwrap_or_default();
    for (answer, p) in found.into_iter().zip(corrected) {
        judge(answer, p, tested.len());
    }
}

/// A difference that the correction leaves is a lead, and no more; one that it does not leave is what chance explains.
fn judge(answer: &mut Answer, corrected: f64, count: usize) {
    let of = comparisons(count);
    answer.numbers.push(format!(
        "exploratory: {} after Benjamini and Hochberg's correction for {of} of metrics that nothing declares; intervals are not corrected",
        p_value(corrected)
    ));
    answer.p = Some(corrected);
    answer.rule = Some(format!(
        "exploratory metrics differ where p, corrected by Benjamini and Hochberg for all of them, is at most {ALPHA}; they are never shown"
    ));
    if answer.verdict != Verdict::Effect {
        return;
    }
    let said = answer.text.strip_prefix("An effect: ").unwrap_or(&answer.text).to_owned();
    let by = format!("{} among {of}", p_value(corrected));
    if corrected <= ALPHA {
        answer.text = format!("A difference, exploratory ({by}): {said}");
    } else {
        answer.verdict = Verdict::Insufficient;
        answer.text = format!("Not settled; chance explains it ({by}): {said}");
    }
    answer.strength = answer.strength.map(|_| Strength::Consistent);
    answer.needs = Some(Needs::of([declared()]));
}

fn declared() -> (Means, String) {
    let text = "`margin` of the metric, a claim that predicts it, or `primary`, before a new run: what is declared after it was seen is not tested by it";
    (Means::File, text.to_owned())
}
