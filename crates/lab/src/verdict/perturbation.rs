//! What an instrument does to each metric: it changes it, it does not within a stated margin, or nothing was seen.
//!
//! An instrument is compared on every metric, on the baseline and beside every other combination of levels. Of that many comparisons one soon
//! differs by chance, so a change is claimed only where its p value, corrected by Holm for all comparisons of the instrument, is at most
//! the level that the instrument has on outcomes. That nothing is there must hold in every comparison.

use bystander_model::cell::Cell;
use bystander_model::report::{Answer, Strength, Verdict};

use super::arm::strength_of;
use super::effect::{Effect, none_of};
use super::instrument;
use super::metric::{detectable, each_metric, evidence, exact, margin, may_vary, needs, not_excluded, said, within_strength};
use super::raised;
use super::sentence::{comparisons, p_value};
use crate::contrast::{self, ALPHA, Contrast, INSTRUMENT_ALPHA, Subject};
use crate::ledger::Ledger;
use crate::plan::Metric;
use crate::stats::multiplicity::holm;

/// The effects of one instrument on each metric.
pub(super) fn of_instrument(ledger: &Ledger, contrast: &Contrast) -> Vec<Answer> {
    let Subject::Instrument { instrument } = &contrast.subject else { return Vec::new() };
    let family = family(ledger, instrument);
    let mut answers = each_metric(ledger, contrast, |metric, _effect, answer| {
        let states: Vec<&Comparison<'_>> = family.iter().filter(|one| one.name == answer.metric).collect();
        judge(ledger, metric, &states, answer);
    });
    for answer in &mut answers {
        raised::on_metric(answer, ledger, instrument);
        instrument::never_fired(answer, ledger, instrument);
    }
    answers
}

/// One metric with and without an instrument, everything else being equal.
struct Comparison<'a> {
    name: &'a str,
    with: &'a Cell,
    without: &'a Cell,
    effect: Effect,
    finding: Finding,
    /// The p value of no effect, corrected for all comparisons of the instrument, and their number.
    corrected: Option<(f64, usize)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finding {
    Changes,
    Within,
    NotSeen,
    Unmeasured,
}

/// Every comparison of an instrument: each metric in each state, the baseline first.
fn family<'a>(ledger: &'a Ledger, instrument: &str) -> Vec<Comparison<'a>> {
    let mut found = Vec::new();
    for (name, metric) in &ledger.plan.metrics {
        for (with, without) in contrast::states_of_instrument(&ledger.plan, instrument) {
            let effect = Effect::of(ledger, name, metric, with, without, 1.0 - ALPHA);
            found.push(Comparison { name, with, without, effect, finding: Finding::Unmeasured, corrected: None });
        }
    }
    let tested: Vec<f64> = found.iter().filter_map(|one| one.effect.p).collect();
    let corrected = holm(&tested).unwrap_or_default();
    for (one, p) in found.iter_mut().filter(|one| one.effect.p.is_some()).zip(corrected) {
        one.corrected = Some((p, tested.len()));
    }
    for one in &mut found {
        one.finding = one.find(&ledger.plan.metrics[one.name]);
    }
    found
}

impl Comparison<'_> {
    fn find(&self, metric: &Metric) -> Finding {
        let changes = match self.corrected {
            Some((p, _)) => p <= INSTRUMENT_ALPHA,
            None => self.effect.is_shown(metric.scale),
        };
        match &self.effect {
            effect if effect.estimate.is_none() => Finding::Unmeasured,
            effect if effect.is_within(metric) => Finding::Within,
            _ if changes => Finding::Changes,
            _ => Finding::NotSeen,
        }
    }

    /// Where it was made, to stand before what was found.
    fn place(&self, ledger: &Ledger) -> String {
        if *self.without == ledger.plan.baseline { "on the baseline".to_owned() } else { format!("beside {}", self.without) }
    }

    /// The effect with what the correction makes of it.
    fn said(&self, metric: &Metric) -> String {
        let mut text = said(metric, &self.effect);
        let Some((p, count)) = self.corrected.filter(|(_, count)| *count > 1) else { return text };
        if self.finding == Finding::Changes {
            text.push_str(&format!(", {} after Holm's correction for {}", p_value(p), comparisons(count)));
        } else if self.finding == Finding::NotSeen && self.effect.is_shown(metric.scale) {
            text.push_str(&format!(
                ", which chance explains: {} after Holm's correction for {}, above {:.4}",
                p_value(p),
                comparisons(count),
                INSTRUMENT_ALPHA
            ));
        }
        text
    }
}

/// Puts what was found in every state into one answer: a change anywhere is one, "inert" must hold everywhere.
fn judge(ledger: &Ledger, metric: &Metric, states: &[&Comparison<'_>], answer: &mut Answer) {
    let first = |finding| states.iter().find(|one| one.finding == finding);
    let Some(lead) = first(Finding::Changes).or_else(|| first(Finding::NotSeen)).or_else(|| first(Finding::Within)) else { return };
    let (effect, place) = (&lead.effect, lead.place(ledger));
    let said = lead.said(metric);
    match lead.finding {
        Finding::Changes => {
            answer.verdict = Verdict::Perturbs;
            answer.strength = Some(Strength::Shown);
            answer.p = lead.corrected.map(|(p, _)| p);
            answer.text = format!("It changes the program: {place} {said}");
        }
        Finding::Within => {
            answer.verdict = Verdict::Inert;
            answer.strength = Some(within_strength(effect));
            answer.p = effect.p_within;
            answer.text = format!("Inert within {}: {place} {said}{}{}", margin(metric), detectable(metric, effect), may_vary(effect));
            answer.needs = exact(effect);
        }
        Finding::NotSeen | Finding::Unmeasured => {
            let same = effect.identical && effect.estimate == Some(none_of(metric.scale));
            let bounded = effect.interval.is_some() || (same && effect.n() > 1);
            answer.verdict = if bounded { Verdict::NoEffectSeen } else { Verdict::Undetermined };
            answer.strength = Some(strength_of(effect.n()));
            let seen = if effect.identical && !same { "Not settled" } else { "No perturbation seen" };
            let open = if same { may_vary(effect) } else { not_excluded(metric, effect) };
            answer.text = format!("{seen}: {place} {said}{open}");
            answer.needs = needs(metric, effect);
        }
    }
    answer.estimate = effect.estimate;
    answer.interval = effect.interval;
    if *lead.without != ledger.plan.baseline {
        answer.evidence.extend(evidence(ledger, lead.name, metric, lead.with, lead.without, effect));
    }
    for other in states.iter().filter(|one| !std::ptr::eq(**one, *lead)) {
        let said = if other.finding == Finding::Unmeasured { "not measured".to_owned() } else { other.said(metric) };
        answer.text.push_str(&format!("; {} {said}", other.place(ledger)));
    }
    answer.text.push('.');
}
