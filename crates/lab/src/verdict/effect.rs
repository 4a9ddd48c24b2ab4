//! The effect on one metric, from one value per launch that completed, paired within blocks. Computed once, at the end of a run: a metric never stops it.
//!
//! Blocks whose launches did not both show a value leave values without a partner. Where fewer than two pairs are left, all launches are compared
//! without pairing (Kalibera and Jones for ratios, Welch for differences); where more are, that comparison stands beside, and enters no verdict.

use bystander_model::cell::Cell;

use super::prediction::value;
use crate::ledger::Ledger;
use crate::plan::{Metric, Scale};
use crate::stats::combinatorics::ln_choose;
use crate::stats::{StatsError, equivalence, kalibera_jones, permutation, student};

/// The one-sided level of equivalence.
const ALPHA: f64 = 0.05;
/// Launches without variation that exclude, at 95 %, that three in ten show another value: 1 - 0.05^(1/9) = 0.283. Values that are coarse or nearly always
/// the same look exact for less long than that.
pub(super) const EXACT: u32 = 9;
/// The most pairs whose every sign is flipped: a check must not take longer than the answer.
const MOST_FLIPPED: usize = 14;

/// What the pairs of one contrast say about one metric. On [`Scale::Difference`] effects are differences, treated minus control; on
/// [`Scale::Ratio`] they are ratios, treated to control.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Effect {
    /// Blocks that hold both values.
    pub(super) pairs: Vec<Pair>,
    /// The estimate; `None` without a pair.
    pub(super) estimate: Option<f64>,
    /// The interval at `confidence`; `None` with fewer than two pairs or without any variation.
    pub(super) interval: Option<[f64; 2]>,
    /// The confidence of the interval, between 0 and 1.
    pub(super) confidence: f64,
    /// The two-sided p value of no effect, uncorrected; `None` where there is neither an interval nor an effect that is the same in every pair.
    pub(super) p: Option<f64>,
    /// The p value of lying within the margin; `None` without a margin, an interval or with values that do not fit the scale.
    pub(super) p_within: Option<f64>,
    /// Whether every pair shows the same effect exactly.
    pub(super) identical: bool,
    /// The standard deviation of the effects (of their logarithms on the ratio scale).
    pub(super) spread: Option<f64>,
    /// Whether the launches were compared without pairing.
    pub(super) unpaired: bool,
    /// Every value of the treated cell and of its control, paired or not.
    pub(super) all: [Vec<f64>; 2],
    /// Estimate and interval over all launches without pairing, where pairs leave some of them out.
    pub(super) beside: Option<(f64, [f64; 2])>,
    /// The two-sided p of the sign-flip test over pairs, which assumes no distribution; a check that enters no verdict.
    pub(super) by_flips: Option<f64>,
}

/// The two values of one block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pair {
    pub(super) treated: f64,
    pub(super) control: f64,
}

impl Effect {
    pub(super) fn of(ledger: &Ledger, name: &str, metric: &Metric, treated: &Cell, control: &Cell, confidence: f64) -> Self {
        let mut effect = Self {
            pairs: pairs(ledger, name, treated, control),
            estimate: None,
            interval: None,
            confidence,
            p: None,
            p_within: None,
            identical: false,
            spread: None,
            unpaired: false,
            all: [treated, control].map(|cell| ledger.data(cell).filter_map(|trial| value(trial, name)).collect()),
            beside: None,
            by_flips: None,
        };
        // A ratio of values that are not positive means nothing.
        if metric.scale == Scale::Ratio && effect.all.iter().flatten().any(|value| *value <= 0.0) {
            return effect;
        }
        if effect.pairs.len() < 2 && effect.all.iter().all(|values| values.len() > 1) {
            effect.measure_unpaired(metric.scale);
            effect.keep_within_numbers();
            return effect;
        }
        effect.measure_pairs(metric);
        effect.keep_within_numbers();
        if effect.all.iter().any(|values| values.len() > effect.pairs.len()) {
            effect.beside = effect.without_pairing(metric.scale).map(|(estimate, interval, _)| (estimate, interval));
        }
        effect
    }

    /// Takes back what is larger than a number can be: nothing is shown by an overflow.
    fn keep_within_numbers(&mut self) {
        let mut parts = self.estimate.into_iter().chain(self.interval.into_iter().flatten());
        if parts.any(|part| !part.is_finite()) {
            (self.estimate, self.interval, self.p, self.p_within, self.identical) = (None, None, None, None, false);
        }
    }

    fn measure_pairs(&mut self, metric: &Metric) {
        let effects: Vec<f64> = self.pairs.iter().map(|pair| single(metric.scale, *pair)).collect();
        let Some(first) = effects.first() else { return };
        if effects.iter().any(|one| !one.is_finite()) {
            return;
        }
        self.identical = effects.iter().all(|one| one == first);
        self.estimate = Some(*first);
        if effects.len() < 2 {
            return;
        }
        if self.identical {
            self.p = (*first != none_of(metric.scale)).then(|| self.p_of_sameness());
            return;
        }
        let confidence = self.confidence;
        match metric.scale {
            Scale::Difference => self
                .measure(student::mean_difference(&effects, confidence), metric.margin.map(|m| equivalence::tost(&effects, -m, m, ALPHA))),
            Scale::Ratio => {
                let both: Vec<(f64, f64)> = self.pairs.iter().map(|pair| (pair.treated, pair.control)).collect();
                let within = metric.margin.map(|m| equivalence::tost_ratio(&both, 1.0 - m, 1.0 + m, ALPHA));
                self.measure(student::paired_ratio(&both, confidence), within);
            }
        }
        let plain: Vec<f64> = effects.iter().map(|one| if metric.scale == Scale::Ratio { one.ln() } else { *one }).collect();
        self.spread = Some(deviation(&plain));
        self.by_flips = (plain.len() <= MOST_FLIPPED).then(|| permutation::sign_flip(&plain).ok().map(|found| found.two_sided)).flatten();
    }

    /// The two-sided p of an effect that is the same in every pair. Where each cell has one value, all launches of one lie above all of the other: as often
    /// as that comes by chance, 2 / C(n+m, n). Otherwise every pair goes one way: 2 / 2^n.
    fn p_of_sameness(&self) -> f64 {
        let [x, y] = &self.all;
        let constant = |values: &[f64]| values.windows(2).all(|two| two[0].to_bits() == two[1].to_bits());
        if !(constant(x) && constant(y)) {
            return 2.0_f64.powi(1 - i32::try_from(self.pairs.len()).unwrap_or(i32::MAX));
        }
        let [n, m] = [x, y].map(|values| u32::try_from(values.len()).unwrap_or(u32::MAX));
        separation(n, m)
    }

    /// Launches per cell that show an effect which is the same in all of them, at the level of the interval.
    pub(super) fn blocks_for_sameness(&self) -> Option<u32> {
        (2..=64).find(|n| separation(*n, *n) <= 1.0 - self.confidence)
    }

    /// Compares all launches without pairing. That they are equivalent is never claimed of it.
    fn measure_unpaired(&mut self, scale: Scale) {
        self.unpaired = true;
        let Some((estimate, interval, p)) = self.without_pairing(scale) else { return };
        (self.estimate, self.interval, self.p) = (Some(estimate), Some(interval), Some(p));
    }

    fn without_pairing(&self, scale: Scale) -> Option<(f64, [f64; 2], f64)> {
        let [x, y] = &self.all;
        match scale {
            Scale::Ratio => {
                let found = kalibera_jones::mean_ratio(x, y, self.confidence).ok()?;
                Some((found.estimate, [found.interval.low, found.interval.high], kalibera_jones::p_of_no_difference(x, y).ok()?))
            }
            Scale::Difference => {
                let found = student::welch(x, y, self.confidence).ok()?;
                Some((found.estimate, [found.interval.low, found.interval.high], found.p))
            }
        }
    }

    fn measure(&mut self, estimate: Result<student::TEstimate, StatsError>, within: Option<Result<equivalence::Equivalence, StatsError>>) {
        let Ok(found) = estimate else {
            self.estimate = None;
            return;
        };
        self.estimate = Some(found.estimate);
        self.interval = Some([found.interval.low, found.interval.high]);
        self.p = Some(found.p);
        self.p_within = within.and_then(Result::ok).map(|within| within.p);
    }

    pub(super) fn n(&self) -> u32 {
        let n = if self.unpaired { self.all[0].len().min(self.all[1].len()) } else { self.pairs.len() };
        u32::try_from(n).unwrap_or(u32::MAX)
    }

    /// Whether the interval leaves out "no effect", or every launch shows the same effect, more often than chance does.
    pub(super) fn is_shown(&self, scale: Scale) -> bool {
        let none = none_of(scale);
        match (self.interval, self.estimate) {
            (Some([low, high]), _) => low > none || high < none,
            (None, Some(estimate)) => self.identical && estimate != none && self.p.is_some_and(|p| p <= 1.0 - self.confidence + 1e-12),
            (None, None) => false,
        }
    }

    /// Whether the effect is shown to lie within the margin.
    pub(super) fn is_within(&self, metric: &Metric) -> bool {
        let Some(margin) = metric.margin else { return false };
        if self.identical && self.pairs.len() > 1 {
            return self.estimate.is_some_and(|estimate| (estimate - none_of(metric.scale)).abs() < margin);
        }
        self.p_within.is_some_and(|p| p <= ALPHA)
    }

    /// Whether launches without variation are too few to call the metric exact.
    pub(super) fn may_vary(&self) -> bool {
        self.identical && self.n() < EXACT
    }

    /// Blocks that an equivalence test would need at this spread, where one would do.
    pub(super) fn blocks_for_equivalence(&self, metric: &Metric) -> Option<u32> {
        let (margin, spread) = (metric.margin?, self.spread?);
        let margin = if metric.scale == Scale::Ratio { margin.ln_1p() } else { margin };
        crate::stats::planning::blocks_for_equivalence(margin / spread, ALPHA, 0.8).ok().flatten()
    }
}

/// The value that means "no effect" on a scale.
pub(super) fn none_of(scale: Scale) -> f64 {
    match scale {
        Scale::Difference => 0.0,
        Scale::Ratio => 1.0,
    }
}

/// The two-sided p of n values that all lie on one side of m others: 2 / C(n+m, n).
fn separation(n: u32, m: u32) -> f64 {
    (2.0_f64 * (-ln_choose(n.saturating_add(m), n)).exp()).min(1.0)
}

fn single(scale: Scale, pair: Pair) -> f64 {
    match scale {
        Scale::Difference => pair.treated - pair.control,
        Scale::Ratio => pair.treated / pair.control,
    }
}

fn deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt()
}

fn pairs(ledger: &Ledger, name: &str, treated: &Cell, control: &Cell) -> Vec<Pair> {
    ledger
        .data(treated)
        .filter_map(|trial| {
            let partner = ledger.data(control).find(|other| other.slot.block == trial.slot.block)?;
            Some(Pair { treated: value(trial, name)?, control: value(partner, name)? })
        })
        .collect()
}
