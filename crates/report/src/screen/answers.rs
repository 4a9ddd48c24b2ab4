//! The answers: what each factor, instrument and claim came to, with the strength and the places that show it.

use bystander_model::report::{Answer, Report, Verdict};

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
    let main: Vec<&Answer> = report.answers.iter().filter(|answer| answer.metric == OUTCOME).collect();
    if main.is_empty() && report.answers.is_empty() {
        page.heading("Answers");
        page.indented("None yet: nothing was compared.");
        return;
    }
    if main.is_empty() {
        return;
    }
    page.heading("Answers");
    for answer in main {
        let room = page.style().width.saturating_mul(LINES).saturating_sub(lead(answer).len());
        let text = format!("{}{}", sentences(&clean(&answer.text), room), bracketed(&answer.evidence, PLACES));
        page.led(&lead(answer), Some(role(answer.verdict)), 4, &text);
    }
}

/// Writes what happened to the metrics, one metric after the other.
pub(crate) fn write_effects(page: &mut Page<'_>, report: &Report) {
    let effects: Vec<&Answer> = report.answers.iter().filter(|answer| answer.metric != OUTCOME).collect();
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
        let of_metric: Vec<&&Answer> = effects.iter().filter(|answer| answer.metric == metric).take(left).collect();
        left -= of_metric.len();
        let Some(first) = of_metric.first() else { continue };
        let what = of_metric.iter().find_map(|answer| answer.interval_of.as_deref()).or(first.interval_of.as_deref());
        page.indented(&what.map_or_else(|| clean(metric), |what| format!("{}: {}", clean(metric), clean(what))));
        for answer in of_metric {
            let text = format!("{}{}", sentences(&clean(&answer.text), page.style().width), bracketed(&answer.evidence, PLACES));
            page.led(&format!("  {}", lead(answer)), Some(role(answer.verdict)), 6, &text);
        }
    }
    if effects.len() > EFFECTS {
        page.indented(&format!("\u{2026} {} more (show --why)", effects.len() - EFFECTS));
    }
}

/// The subject, the verdict and its strength: `  print: not needed (shown). `.
pub(crate) fn lead(answer: &Answer) -> String {
    let strength = answer.strength.map_or_else(String::new, |strength| format!(" ({})", strength.word()));
    format!("  {}: {}{strength}. ", subject(&answer.about), said(answer.verdict))
}

/// What an answer is about, as the user calls it.
pub(crate) fn subject(about: &str) -> String {
    match about.split_once(':') {
        Some(("hypothesis", claim)) => format!("\u{201c}{}\u{201d}", clean(claim)),
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
    parts.extend(answer.p.map(|p| format!("p = {}", number::figure(p))));
    (!parts.is_empty()).then(|| parts.join("; "))
}
