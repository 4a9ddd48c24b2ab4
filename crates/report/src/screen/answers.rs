//! The answers: what each factor, instrument and claim came to, with the strength and the places that show it.

use bystander_model::evidence::Evidence;
use bystander_model::report::{Answer, Report, Strength, Verdict};

use crate::number;
use crate::page::Page;
use crate::place::bracketed;
use crate::prose::{clean, sentences};
use crate::style::Role;

const OUTCOME: &str = "outcome";
/// An answer takes about this many lines of the screen; further sentences are left to `why`.
const LINES: usize = 3;
const PLACES: usize = 3;
const EFFECTS: usize = 12;

pub(crate) fn write(page: &mut Page<'_>, report: &Report) {
    let main: Vec<&Answer> = report.answers.iter().filter(|answer| is_main(report, answer)).collect();
    if main.is_empty() && report.answers.is_empty() {
        page.heading("Answers");
        page.indented("None yet: nothing was compared.");
        return;
    }
    if main.is_empty() {
        return;
    }
    page.heading("Answers");
    for group in grouped(&main) {
        let (lead, answer) = (lead_of(&group, true), group[0]);
        let evidence: Vec<Evidence> = group.iter().flat_map(|answer| answer.evidence.iter().cloned()).collect();
        let room = page.style().width.saturating_mul(LINES).saturating_sub(lead.len());
        let text = format!("{}{}", sentences(&clean(&answer.text), room), bracketed(&evidence, PLACES));
        page.led(&lead, Some(role(answer.verdict)), 4, &text);
    }
}

/// Whether an answer stands with the first ones: those on outcomes, and before them those on the metric that the question is about.
fn is_main(report: &Report, answer: &Answer) -> bool {
    answer.metric == OUTCOME || answer.metric == report.plan.primary
}

/// Answers that say the same words of several subjects are one; a claim that is settled has its own line all the same.
fn grouped<'a>(answers: &[&'a Answer]) -> Vec<Vec<&'a Answer>> {
    let mut groups: Vec<Vec<&Answer>> = Vec::new();
    for answer in answers {
        let alike = |group: &&mut Vec<&Answer>| {
            let first = group[0];
            (first.verdict, first.strength, first.exploratory, &first.text)
                == (answer.verdict, answer.strength, answer.exploratory, &answer.text)
        };
        let is_settled_claim = matches!(answer.verdict, Verdict::Supported | Verdict::Refuted);
        match groups.iter_mut().find(alike).filter(|_| !is_settled_claim) {
            Some(group) => group.push(answer),
            None => groups.push(vec![answer]),
        }
    }
    groups
}

/// Writes what happened to the metrics, one metric after the other.
pub(crate) fn write_effects(page: &mut Page<'_>, report: &Report) {
    let effects: Vec<&Answer> = report.answers.iter().filter(|answer| !is_main(report, answer)).collect();
    if effects.is_empty() {
        return;
    }
    page.heading("Effects on metrics");
    let mut metrics: Vec<&str> = Vec::new();
    for answer in &effects {
        if !metrics.contains(&answer.metric.as_str()) {
            metrics.push(&answer.metric);
        }
    }
    let mut left = EFFECTS;
    for metric in metrics {
        let of_metric: Vec<&Answer> = effects.iter().filter(|answer| answer.metric == metric).take(left).copied().collect();
        left -= of_metric.len();
        let Some(first) = of_metric.first() else { continue };
        let what = of_metric.iter().find_map(|answer| answer.interval_of.as_deref()).or(first.interval_of.as_deref());
        page.indented(&what.map_or_else(|| clean(metric), |what| format!("{}: {}", clean(metric), clean(what))));
        for group in grouped(&of_metric) {
            let answer = group[0];
            let text = format!("{}{}", sentences(&clean(&answer.text), page.style().width), bracketed(&answer.evidence, PLACES));
            page.led(&format!("  {}", lead_of(&group, false)), Some(role(answer.verdict)), 6, &text);
        }
    }
    if effects.len() > EFFECTS {
        page.indented(&format!("\u{2026} {} more (show --why)", effects.len() - EFFECTS));
    }
}

/// The subject, the verdict and its strength: `  print: not needed (shown). `.
pub(crate) fn lead(answer: &Answer) -> String {
    lead_of(&[answer], true)
}

/// The same of several answers that say one thing; `named` puts the metric behind the subject, where it is not the outcome.
fn lead_of(answers: &[&Answer], named: bool) -> String {
    let Some(answer) = answers.first() else { return String::new() };
    let on = |answer: &Answer| if named && answer.metric != OUTCOME { format!(" on {}", clean(&answer.metric)) } else { String::new() };
    let subjects: Vec<String> = answers.iter().map(|answer| format!("{}{}", subject(&answer.about), on(answer))).collect();
    let words = answer.strength.map(Strength::word).into_iter().chain(answer.exploratory.then_some("exploratory"));
    let words: Vec<&str> = words.collect();
    let strength = if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) };
    format!("  {}: {}{strength}. ", subjects.join(", "), said(answer.verdict))
}

/// What an answer is about, as the user calls it.
pub(crate) fn subject(about: &str) -> String {
    match about.split_once(':') {
        Some(("hypothesis", claim)) => format!("\u{201c}{}\u{201d}", clean(claim)),
        Some(("combination", levels)) => clean(&levels.replace(',', " with ")),
        Some(("factor" | "instrument", name)) => clean(name),
        _ => clean(about),
    }
}

/// The verdict in words.
pub(crate) fn said(verdict: Verdict) -> String {
    verdict.word().replace('_', " ")
}

pub(crate) fn role(verdict: Verdict) -> Role {
    match verdict {
        Verdict::Effect
        | Verdict::InstrumentPerturbs
        | Verdict::BaselineBroken
        | Verdict::MaskedByInstrument
        | Verdict::Perturbs
        | Verdict::Invalid => Role::Bad,
        Verdict::NoEffectWithin | Verdict::Inert | Verdict::NotNeeded => Role::Good,
        Verdict::Insufficient | Verdict::NoEffectSeen | Verdict::Undetermined | Verdict::Open => Role::Open,
        Verdict::Supported | Verdict::Refuted => Role::Heading,
    }
}

/// The figures behind an answer, for the long form: estimate, interval, p.
pub(crate) fn figures(answer: &Answer) -> Option<String> {
    let mut parts: Vec<String> = answer.estimate.iter().map(|estimate| format!("estimate {}", number::figure(*estimate))).collect();
    parts.extend(answer.interval.map(|[low, high]| format!("interval {} to {}", number::figure(low), number::figure(high))));
    parts.extend(answer.interval_of.iter().map(|what| clean(what)));
    let corrected = if answer.exploratory { ", corrected" } else { "" };
    parts.extend(answer.p.map(|p| format!("p = {}{corrected}", number::figure(p))));
    (!parts.is_empty()).then(|| parts.join("; "))
}
