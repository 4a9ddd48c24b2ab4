//! The worst case of a rejection rule over the failure probability that both arms share under the null hypothesis.
//! Which tables a rule rejects belongs to the rule's file.

use super::combinatorics::ln_choose;

/// Grid cells over (0, 1); the best cells are refined.
const GRID: usize = 2000;
/// Golden-section steps per refined cell: narrows it to below 1e-9, where the maximum is flat to rounding.
const REFINE_STEPS: usize = 40;

/// The probability of an event as a function of the shared failure probability.
///
/// Given the total number of failures `s` of `N` trials, the arms' split no longer depends on the probability p, so the event has the
/// probability `sum over s of c_s C(N, s) p^s (1-p)^(N-s)` with `c_s` = P(event | s): a polynomial in Bernstein form.
#[derive(Debug, Clone)]
pub(crate) struct NullProbability {
    given_total: Vec<f64>,
    ln_ways: Vec<f64>,
}

impl NullProbability {
    /// Makes it from P(event | s) for `s = 0..=N`; must not be empty.
    pub(crate) fn new(given_total: Vec<f64>) -> Self {
        let n = (given_total.len() - 1) as u32;
        let ln_ways = (0..=n).map(|s| ln_choose(n, s)).collect();
        Self { given_total, ln_ways }
    }

    /// The probability of the event at failure probability `p` in [0, 1].
    pub(crate) fn at(&self, p: f64) -> f64 {
        let n = self.given_total.len() - 1;
        if p <= 0.0 {
            return self.given_total[0];
        }
        if p >= 1.0 {
            return self.given_total[n];
        }
        // Binomial terms outwards from the likeliest total, each from its neighbour: one exponential per point.
        let mode = (((n + 1) as f64 * p) as usize).min(n);
        let peak = (self.ln_ways[mode] + mode as f64 * p.ln() + (n - mode) as f64 * (-p).ln_1p()).exp();
        let odds = p / (1.0 - p);
        let mut sum = peak * self.given_total[mode];
        let mut term = peak;
        for s in mode..n {
            term *= (n - s) as f64 / (s + 1) as f64 * odds;
            sum += term * self.given_total[s + 1];
        }
        term = peak;
        for s in (1..=mode).rev() {
            term *= s as f64 / (n - s + 1) as f64 / odds;
            sum += term * self.given_total[s - 1];
        }
        sum
    }

    /// The supremum over all failure probabilities: a grid of 2001 points, its four best peaks refined.
    pub(crate) fn sup(&self) -> f64 {
        let values: Vec<f64> = (0..=GRID).map(|i| self.at(i as f64 / GRID as f64)).collect();
        let best = values.iter().copied().fold(0.0, f64::max);
        let is_peak = |i: usize| (i == 0 || values[i] >= values[i - 1]) && (i == GRID || values[i] >= values[i + 1]);
        let mut peaks: Vec<usize> = (0..=GRID).filter(|i| is_peak(*i)).collect();
        peaks.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
        let refined = peaks.into_iter().take(4).map(|i| self.refine(i)).fold(best, f64::max);
        refined.min(1.0)
    }

    /// Golden-section search in the two cells around grid point `i`.
    fn refine(&self, i: usize) -> f64 {
        let ratio = (5.0_f64.sqrt() - 1.0) / 2.0;
        let mut low = i.saturating_sub(1) as f64 / GRID as f64;
        let mut high = (i + 1).min(GRID) as f64 / GRID as f64;
        let mut left = high - ratio * (high - low);
        let mut right = low + ratio * (high - low);
        let (mut at_left, mut at_right) = (self.at(left), self.at(right));
        let mut best = at_left.max(at_right);
        for _ in 0..REFINE_STEPS {
            if at_left < at_right {
                (low, left, at_left) = (left, right, at_right);
                right = low + ratio * (high - low);
                at_right = self.at(right);
            } else {
                (high, right, at_right) = (right, left, at_left);
                left = high - ratio * (high - low);
                at_left = self.at(left);
            }
            best = best.max(at_left).max(at_right);
        }
        best
    }
}
