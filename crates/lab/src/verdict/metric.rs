//! The words for effects on metrics, and what they say of a factor; what they say of an instrument belongs to `perturbation`.

use bystander_model::cell::Cell;
use bystander_model::evidence::Evidence;
use bystander_model::outcome::Outcome;
use bystander_model::report::{Answer, Means, Needs, Strength, Verdict};

use super::arm::{formula, strength_of};
use super::effect::{EXACT, Effect, none_of};
use super::elsewhere;
use super::exploratory::is_exploratory;
use super::prediction::value;
use super::robust;
use super::sentence::{blocks, figure, launches, p_value, signed};
use crate::contrast::{self, ALPHA, Contrast, Subject};
use crate::ledger::{Ledger, TrialRecord};
use crate::plan::{Metric, MetricSource, Plan, Scale};

/// The effects of one level of a factor on each metric that both of its cells show.
pub(super) fn of_factor(ledger: &Ledger, contrast: &Contrast) -> Vec<Answer> {
    each_metric(ledger, contrast, |metric, effect, answer| {
        let found = |what: &str, name: &str| {
            let (place, beside) = (elsewhere::place(ledger, contrast), elsewhere::told(ledger, contrast, name, metric, effect));
            format!("{what}: {place}{}.{beside}", said(metric, effect))
        };
        if effect.is_within(metric) {
            answer.p = effect.p_within;
            answer.verdict = Verdict::NoEffectWithin;
            answer.strength = Some(within_strength(effect));
            answer.text =
                format!("No effect beyond {}: {}{}{}.", margin(metric), said(metric, effect), detectable(metric, effect), may_vary(effect));
            answer.needs = exact(effect);
            beside(ledger, contrast, metric, answer);
        } else if effect.is_shown(metric.scale) {
            answer.verdict = Verdict::Effect;
            answer.strength = Some(Strength::Shown);
            answer.p = effect.p;
            answer.text = found("An effect", &answer.metric);
        } else {
            answer.verdict = Verdict::Insufficient;
            answer.p = effect.p;
            answer.text = found("Not settled", &answer.metric);
            answer.needs = needs(metric, effect);
        }
    })
}

/// Takes back that a level does nothing to a metric where it seems to do something beside another level.
fn beside(ledger: &Ledger, contrast: &Contrast, metric: &Metric, answer: &mut Answer) {
    let Some(margin) = metric.margin else { return };
    let found = contrast::states_of_level(&ledger.plan, contrast).find_map(|(with, without)| {
        let effect = Effect::of(ledger, &answer.metric, metric, with, without, confidence(contrast));
        let is_outside = effect.estimate.is_some_and(|estimate| (estimate - none_of(metric.scale)).abs() >= margin);
        is_outside.then(|| {
            format!(" Beside other levels it does something, and nothing is shown: {with} against {without}, {}.", said(metric, &effect))
        })
    });
    if let Some(text) = found {
        answer.verdict = Verdict::Insufficient;
        answer.strength = None;
        answer.p = None;
        answer.text.push_str(&text);
    }
}

pub(super) fn each_metric(ledger: &Ledger, contrast: &Contrast, judge: impl Fn(&Metric, &Effect, &mut Answer)) -> Vec<Answer> {
    let plan = &ledger.plan;
    plan.metrics
        .iter()
        // What is there to tell of requests is no question of its own, unless the file makes it one.
        .filter(|(name, _)| !(plan.tells_requests(name) && is_exploratory(plan, name)))
        .filter_map(|(name, metric)| {
            let contrast = &where_seen(plan, contrast, metric)?;
            let effect = Effect::of(ledger, name, metric, &contrast.treated, &contrast.control, confidence(contrast));
            if ledger.data(&contrast.treated).next().is_none() || ledger.data(&contrast.control).next().is_none() {
                return None;
            }
            if effect.estimate.is_none() {
                return unread(ledger, contrast, name, metric, &effect);
            }
            let mut answer = Answer {
                strength: Some(strength_of(effect.n())),
                interval: effect.interval,
                interval_of: effect.interval.map(|_| interval_of(metric.scale, &effect)),
                estimate: effect.estimate,
                rule: Some(rule(metric, &effect)),
                numbers: numbers(metric, &effect),
                trials: [&contrast.control, &contrast.treated]
                    .into_iter()
                    .flat_map(|cell| ledger.data(cell).filter(|trial| value(trial, name).is_some()).map(|trial| trial.id))
                    .collect(),
                evidence: evidence(ledger, name, metric, &contrast.treated, &contrast.control, &effect),
                ..Answer::new(contrast.about(plan), name, Verdict::Insufficient)
            };
            judge(metric, &effect, &mut answer);
            answer.text.extend(of_completed(ledger, contrast));
            answer.text.extend(robust::of_spikes(&contrast.treated, &contrast.control, &effect));
            Some(answer)
        })
        .collect()
}

/// The cells in which a metric can have a value: captures are compared where their probe is, and an instrument that brings them has nothing to be
/// compared with.
pub(super) fn where_seen(plan: &Plan, contrast: &Contrast, metric: &Metric) -> Option<Contrast> {
    let MetricSource::Hits { probe, .. } = &metric.source else { return Some(contrast.clone()) };
    let holds = |cell: &Cell| plan.probes_of(cell).any(|known| known.spec.name == *probe);
    if holds(&contrast.treated) && holds(&contrast.control) {
        return Some(contrast.clone());
    }
    if matches!(contrast.subject, Subject::Instrument { .. }) {
        return None;
    }
    plan.instruments.keys().find_map(|instrument| {
        let with = |cell: &Cell| Cell { instrument: instrument.clone(), ..cell.clone() };
        let (treated, control) = (with(&contrast.treated), with(&contrast.control));
        let is_there = holds(&treated) && plan.cells.contains(&treated) && plan.cells.contains(&control);
        is_there.then(|| Contrast { treated, control, ..contrast.clone() })
    })
}

/// Says where failures leave launches out: a metric of those that completed is one of survivors.
fn of_completed(ledger: &Ledger, contrast: &Contrast) -> Option<String> {
    let share = |cell: &Cell| {
        let (all, completed) = (ledger.data(cell).count(), ledger.data(cell).filter(|t| t.outcome() == Some(Outcome::Completed)).count());
        (completed < all, format!("{completed} of {all} of {cell}"))
    };
    let (treated, control) = (share(&contrast.treated), share(&contrast.control));
    (treated.0 || control.0).then(|| format!(" Only launches that completed are in it: {}, {}.", treated.1, control.1))
}

/// How the effect was judged.
fn rule(metric: &Metric, effect: &Effect) -> String {
    let within = metric
        .margin
        .map_or_else(String::new, |_| format!("; no effect is shown by two one-sided t tests at 0.05 within {}", margin(metric)));
    if effect.unpaired {
        return format!(
            "{}: fewer than two blocks hold both values, so launches are compared without pairing",
            interval_of(metric.scale, effect)
        );
    }
    if effect.identical && effect.n() > 1 {
        let level = 1.0 - effect.confidence;
        return format!(
            "values that do not vary have no interval: an effect is shown where chance would bring them apart this far in at most {} of runs{within}",
            percent_of(level)
        );
    }
    format!("an effect is shown where the interval leaves out none: {}{within}", interval_of(metric.scale, effect))
}

/// What the effect rests on, and what was computed beside it.
fn numbers(metric: &Metric, effect: &Effect) -> Vec<String> {
    let mut numbers: Vec<String> = effect.p.iter().map(|p| format!("no effect: {}", p_value(*p))).collect();
    numbers.extend(effect.p_within.map(|p| format!("outside {}: {} (two one-sided tests)", margin(metric), p_value(p))));
    numbers
        .extend(effect.by_flips.map(|p| format!("check by the design alone: sign-flip test over {} {}", blocks(effect.n()), p_value(p))));
    numbers.extend(robust::shift(metric, effect));
    numbers.extend(effect.beside.map(|(estimate, [low, high])| {
        let [x, y] = &effect.all;
        let method = if metric.scale == Scale::Ratio { "Kalibera-Jones" } else { "Welch" };
        let said = |value: f64| if metric.scale == Scale::Ratio { change(value) } else { signed(value) };
        format!(
            "check over all {} and {} launches, also those whose block holds no partner: {} [{} to {}, {}] ({method}, unpaired)",
            x.len(),
            y.len(),
            said(estimate),
            said(low),
            said(high),
            percent_of(effect.confidence)
        )
    }));
    numbers
}

/// Says why there is no effect to speak of: a metric that vanished without a word would be taken for one that was not asked for.
fn unread(ledger: &Ledger, contrast: &Contrast, name: &str, metric: &Metric, effect: &Effect) -> Option<Answer> {
    let completed = |cell| ledger.data(cell).find(|trial| trial.outcome() == Some(Outcome::Completed));
    // Where no launch of a cell completed there was nothing to measure, and the outcome says so.
    let (treated, control) = (completed(&contrast.treated)?, completed(&contrast.control)?);
    let verdict = if matches!(contrast.subject, Subject::Instrument { .. }) { Verdict::Undetermined } else { Verdict::Insufficient };
    let mut answer = Answer::new(contrast.about(&ledger.plan), name, verdict);
    let is_below_none = effect.all.iter().flatten().any(|value| *value <= 0.0);
    if !effect.pairs.is_empty() && metric.scale == Scale::Ratio && is_below_none {
        answer.text = "No ratio exists: it needs values above 0.".to_owned();
        answer.needs = Some(Needs::of([(Means::File, format!("`scale = \"difference\"` of {name}"))]));
        return Some(answer);
    }
    if let Some(pair) = effect.pairs.first() {
        let [treated, control] = [pair.treated, pair.control].map(|value| format!("{value:e}"));
        answer.text = format!("Not computable: what lies between values such as {treated} and {control} is larger than a number can be.");
        answer.needs = Some(Needs::of([(Means::File, format!("a larger unit of {name}"))]));
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
    answer.needs = Some(Needs::of([(Means::File, metric.source.remedy(name))]));
    Some(answer)
}

/// The confidence of the interval of a contrast: levels of one factor share the level of its test, an instrument's comparisons are corrected together
/// where one of them is claimed to show something (see `perturbation`).
fn confidence(contrast: &Contrast) -> f64 {
    match contrast.subject {
        Subject::Factor { .. } | Subject::Combination => 1.0 - contrast.alpha,
        Subject::Instrument { .. } => 1.0 - ALPHA,
    }
}

fn interval_of(scale: Scale, effect: &Effect) -> String {
    if effect.identical && effect.n() > 1 {
        return "the same in every block, so without an interval".to_owned();
    }
    let level = percent_of(effect.confidence);
    match (scale, effect.unpaired) {
        (Scale::Difference, false) => format!("mean difference within blocks, {level} (t)"),
        (Scale::Ratio, false) => format!("geometric mean of ratios within blocks, {level} (t on logarithms)"),
        (Scale::Difference, true) => format!("difference of means of unpaired launches, {level} (Welch)"),
        (Scale::Ratio, true) => format!("ratio of means of unpaired launches, {level} (Kalibera-Jones)"),
    }
}

/// A confidence in percent: whole where it is, else with one decimal.
pub(super) fn percent_of(confidence: f64) -> String {
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
        Some((low, high)) => format!("{estimate} [{low} to {high}, {}] in {n} per cell", percent_of(effect.confidence)),
        None => format!("{estimate} in {n} per cell, too few for an interval"),
    }
}

/// A ratio as a change in percent.
pub(super) fn change(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    format!("{percent:+.1} %").replace('-', "\u{2212}")
}

pub(crate) fn margin(metric: &Metric) -> String {
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
    if effect.identical && effect.n() > 1 && effect.estimate != Some(none_of(metric.scale)) {
        let level = 1.0 - effect.confidence;
        return Some(Needs {
            launches_per_cell: effect.blocks_for_sameness(),
            rule: Some(format!("one value in each cell, and another in the other: by chance in 2 of C(2n, n) orders, at {level:.4}")),
            ..Needs::of([(Means::Launches, "more blocks".to_owned())])
        });
    }
    let blocks = effect.blocks_for_equivalence(metric);
    let rule = blocks.map(|_| {
        format!("80 % chance to show that nothing beyond {} happens, at the spread seen, by two one-sided t tests at 0.05", margin(metric))
    });
    let mut missing = Vec::new();
    if metric.margin.is_none() {
        missing.push((Means::File, "`margin` of the metric: what counts as no effect".to_owned()));
    }
    if effect.n() < 2 {
        missing.push((Means::Launches, "a second block: one launch per cell has no interval".to_owned()));
    } else if blocks.is_some() {
        missing.push((Means::Launches, "more blocks".to_owned()));
    }
    Some(Needs { launches_per_cell: blocks, rule, ..Needs::of(missing) })
}

/// Without variation the sample says how often the same value came, not how wide an interval is.
pub(super) fn within_strength(effect: &Effect) -> Strength {
    if effect.may_vary() { strength_of(effect.n()) } else { Strength::Shown }
}

/// What launches without variation do not exclude.
pub(super) fn may_vary(effect: &Effect) -> String {
    if !effect.may_vary() {
        return String::new();
    }
    let share = 1.0 - 0.05_f64.powf(1.0 / f64::from(effect.n()));
    format!("; that up to {:.0} % of launches show another value is not excluded", share * 100.0)
}

/// What would make launches without variation exact.
pub(super) fn exact(effect: &Effect) -> Option<Needs> {
    effect.may_vary().then(|| Needs {
        launches_per_cell: Some(EXACT),
        rule: Some(format!("{EXACT} launches without variation exclude, at 95 %, that three in ten show another value")),
        ..Needs::of([(Means::Launches, "more blocks".to_owned())])
    })
}

/// What an effect rests on: a line of each cell, and every value that was paired.
pub(super) fn evidence(ledger: &Ledger, name: &str, metric: &Metric, treated: &Cell, control: &Cell, effect: &Effect) -> Vec<Evidence> {
    let first = |cell| {
        let stated = ledger.data(cell).find_map(|trial| trial.end.as_ref()?.metric_evidence.get(name).cloned());
        // What Bystander times itself has no line: the launch is the place.
        stated.or_else(|| ledger.data(cell).find_map(|trial| Some(Evidence::sample(trial.id, name, &figure(value(trial, name)?)))))
    };
    let mut evidence: Vec<Evidence> = [first(control), first(treated)].into_iter().flatten().collect();
    let list = |values: &mut dyn Iterator<Item = f64>| values.map(figure).collect::<Vec<_>>().join(", ");
    let [x, y] = &effect.all;
    let (of_treated, of_control) = if effect.unpaired {
        (list(&mut x.iter().copied()), list(&mut y.iter().copied()))
    } else {
        (list(&mut effect.pairs.iter().map(|pair| pair.treated)), list(&mut effect.pairs.iter().map(|pair| pair.control)))
    };
    let text = format!("{treated}: {of_treated}; {control}: {of_control}");
    evidence.push(formula(&interval_of(metric.scale, effect), text));
    evidence
}
