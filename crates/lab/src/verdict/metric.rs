//! The words for effects on metrics, and what they say of a factor; what they say of an instrument belongs to `perturbation`.

use bystander_model::cell::Cell;
use bystander_model::evidence::Evidence;
use bystander_model::outcome::Outcome;
use bystander_model::report::{Answer, Needs, Strength, Verdict};

use super::arm::{formula, strength_of};
use super::effect::{Effect, Pair, none_of};
use super::sentence::{figure, launches, signed};
use crate::contrast::{ALPHA, Contrast, Subject};
use crate::ledger::{Ledger, TrialRecord};
use crate::plan::{Metric, Scale};

/// The effects of one level of a factor on each metric that both of its cells show.
pub(super) fn of_factor(ledger: &Ledger, contrast: &Contrast) -> Vec<Answer> {
    each_metric(ledger, contrast, |metric, effect, answer| {
        if effect.is_within(metric) {
            answer.p = effect.p_within;
            answer.verdict = Verdict::NoEffectWithin;
            answer.strength = Some(Strength::Shown);
            answer.text = format!("No effect beyond {}: {}{}.", margin(metric), said(metric, effect), detectable(metric, effect));
        } else if effect.is_shown(metric.scale) {
            answer.verdict = Verdict::Effect;
            answer.strength = Some(if effect.identical { identical_strength(effect) } else { Strength::Shown });
            answer.text = format!("An effect: {}.", said(metric, effect));
        } else {
            answer.verdict = Verdict::Insufficient;
            answer.text = format!("Not settled: {}.", said(metric, effect));
            answer.needs = needs(metric, effect);
        }
    })
}

pub(super) fn each_metric(ledger: &Ledger, contrast: &Contrast, judge: impl Fn(&Metric, &Effect, &mut Answer)) -> Vec<Answer> {
    let plan = &ledger.plan;
    plan.metrics
        .iter()
        .filter_map(|(name, metric)| {
            let effect = Effect::of(ledger, name, metric, &contrast.treated, &contrast.control, confidence(contrast));
            if ledger.data(&contrast.treated).next().is_none() || ledger.data(&contrast.control).next().is_none() {
                return None;
            }
            if effect.estimate.is_none() {
                return unread(ledger, contrast, name, metric, &effect);
            }
            let mut answer = Answer {
                about: contrast.about(plan),
                metric: name.clone(),
                verdict: Verdict::Insufficient,
                strength: Some(strength_of(effect.n())),
                text: String::new(),
                p: None,
                interval: effect.interval,
                interval_of: effect.interval.map(|_| interval_of(metric.scale, effect.confidence)),
                estimate: effect.estimate,
                needs: None,
                evidence: evidence(ledger, name, metric, &contrast.treated, &contrast.control, &effect),
            };
            judge(metric, &effect, &mut answer);
            Some(answer)
        })
        .collect()
}

/// Says why there is no effect to speak of: a metric that vanished without a word would be taken for one that was not asked for.
fn unread(ledger: &Ledger, contrast: &Contrast, name: &str, metric: &Metric, effect: &Effect) -> Option<Answer> {
    let completed = |cell| ledger.data(cell).find(|trial| trial.outcome() == Some(Outcome::Completed));
    // Where no launch of a cell completed there was nothing to measure, and the outcome says so.
    let (treated, control) = (completed(&contrast.treated)?, completed(&contrast.control)?);
    let verdict = if matches!(contrast.subject, Subject::Factor { .. }) { Verdict::Insufficient } else { Verdict::Undetermined };
    let mut answer = Answer::new(contrast.about(&ledger.plan), name, verdict);
    if !effect.pairs.is_empty() && metric.scale == Scale::Ratio {
        answer.text = "No ratio exists: it needs values above 0.".to_owned();
        answer.needs = Some(Needs { launches_per_cell: None, missing: vec![format!("`scale = \"difference\"` of {name}")] });
        return Some(answer);
    }
    let why = |trial: &TrialRecord| {
        let end = trial.end.as_ref()?;
        let unread = end.metrics.get(name).is_none_or(|value| value.is_none_or(|value| !value.is_finite()));
        unread.then(|| (trial.id, end.metric_evidence.get(name).cloned()))
    };
    let (trial, evidence) = why(control).or_else(|| why(treated))?;
    let found = evidence.as_ref().map_or_else(|| "no line of its output matches".to_owned(), |evidence| evidence.text.clone());
    answer.text = format!("No value in trial {trial}: {found}.");
    answer.evidence.extend(evidence);
    answer.needs = Some(Needs {
        launches_per_cell: None,
        missing: vec![format!("a pattern of {name} that matches one line with a number, or a `pick`")],
    });
    Some(answer)
}

/// The confidence of the interval of a contrast: levels of one factor share the level of its test, an instrument's comparisons are corrected together
/// where one of them is claimed to show something (see `perturbation`).
fn confidence(contrast: &Contrast) -> f64 {
    match contrast.subject {
        Subject::Factor { .. } => 1.0 - contrast.alpha,
        Subject::Instrument { .. } => 1.0 - ALPHA,
    }
}

fn interval_of(scale: Scale, confidence: f64) -> String {
    let level = percent_of(confidence);
    match scale {
        Scale::Difference => format!("mean difference within blocks, {level} (t)"),
        Scale::Ratio => format!("geometric mean of ratios within blocks, {level} (t on logarithms)"),
    }
}

/// A confidence in percent: whole where it is, else with one decimal.
fn percent_of(confidence: f64) -> String {
    let percent = (confidence * 1000.0).round() / 10.0;
    format!("{percent} %")
}

/// The estimate with its interval, in the metric's scale and unit.
pub(super) fn said(metric: &Metric, effect: &Effect) -> String {
    let unit = metric.unit.as_deref().map_or_else(String::new, |unit| format!(" {unit}"));
    let Some(estimate) = effect.estimate else { return "no launch shows a value".to_owned() };
    let n = launches(effect.n());
    if effect.identical && effect.n() > 1 {
        return match (estimate == none_of(metric.scale), metric.scale) {
            (true, _) => format!("identical in {n}"),
            (false, Scale::Difference) => format!("{}{unit}, identical in {n}", signed(estimate)),
            (false, Scale::Ratio) => format!("\u{d7} {}, identical in {n}", figure(estimate)),
        };
    }
    let (estimate, interval) = match (metric.scale, effect.interval) {
        (Scale::Difference, interval) => (format!("{}{unit}", signed(estimate)), interval.map(|[low, high]| (signed(low), signed(high)))),
        (Scale::Ratio, interval) => (change(estimate), interval.map(|[low, high]| (change(low), change(high)))),
    };
    match interval {
        Some((low, high)) => format!("{estimate} [{low} to {high}] in {n} per cell"),
        None => format!("{estimate} in {n} per cell, too few for an interval"),
    }
}

/// A ratio as a change in percent.
fn change(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    format!("{percent:+.1} %").replace('-', "\u{2212}")
}

pub(super) fn margin(metric: &Metric) -> String {
    let unit = metric.unit.as_deref().map_or_else(String::new, |unit| format!(" {unit}"));
    match (metric.margin, metric.scale) {
        (Some(margin), Scale::Difference) => format!("{}{unit}", figure(margin)),
        (Some(margin), Scale::Ratio) => format!("{:.0} %", margin * 100.0),
        (None, _) => "a margin that is not stated".to_owned(),
    }
}

/// What an effect that is shown and within the margin is.
pub(super) fn detectable(metric: &Metric, effect: &Effect) -> &'static str {
    if effect.is_shown(metric.scale) { "; detectable, but within what counts as no effect" } else { "" }
}

pub(super) fn not_excluded(metric: &Metric, effect: &Effect) -> String {
    let Some([low, high]) = effect.interval else { return String::new() };
    let none = none_of(metric.scale);
    let farthest = if (high - none).abs() >= (low - none).abs() { high } else { low };
    match metric.scale {
        Scale::Difference => format!("; up to {} is not excluded", signed(farthest)),
        Scale::Ratio => format!("; up to {} is not excluded", change(farthest)),
    }
}

pub(super) fn needs(metric: &Metric, effect: &Effect) -> Option<Needs> {
    let mut needs = Needs { launches_per_cell: effect.blocks_for_equivalence(metric), missing: Vec::new() };
    if metric.margin.is_none() {
        needs.missing.push("`margin` of the metric: what counts as no effect".to_owned());
    }
    if effect.n() < 2 {
        needs.missing.push("a second block: one launch per cell has no interval".to_owned());
    }
    Some(needs)
}

/// Without variation the sample says how often the same value came, not how wide an interval is.
pub(super) fn identical_strength(effect: &Effect) -> Strength {
    if effect.n() >= 4 { Strength::Shown } else { strength_of(effect.n()) }
}

/// What an effect rests on: a line of each cell, and every value that was paired.
pub(super) fn evidence(ledger: &Ledger, name: &str, metric: &Metric, treated: &Cell, control: &Cell, effect: &Effect) -> Vec<Evidence> {
    let first = |cell| ledger.data(cell).find_map(|trial| trial.end.as_ref()?.metric_evidence.get(name).cloned());
    let mut evidence: Vec<Evidence> = [first(control), first(treated)].into_iter().flatten().collect();
    let values = |side: fn(&Pair) -> f64| effect.pairs.iter().map(|pair| figure(side(pair))).collect::<Vec<_>>().join(", ");
    let text = format!("{treated}: {}; {control}: {}", values(|pair| pair.treated), values(|pair| pair.control));
    evidence.push(formula(&interval_of(metric.scale, effect.confidence), text));
    evidence
}
