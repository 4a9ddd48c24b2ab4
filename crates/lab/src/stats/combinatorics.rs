//! Counts and the two discrete distributions that exact tests are made of. Decisions do not belong here.

use statrs::function::factorial::ln_binomial;

/// The tie rule of R's and scipy's two-sided exact tests: a table counts as at most as likely within this relative tolerance.
pub(crate) const LIKELIHOOD_TIE: f64 = 1.0 + 1e-7;

/// The natural logarithm of the number of ways to choose `k` of `n`; minus infinity for `k > n`.
pub(crate) fn ln_choose(n: u32, k: u32) -> f64 {
    ln_binomial(u64::from(n), u64::from(k))
}

/// A distribution over consecutive integers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pmf {
    /// The integer of the first entry.
    pub(crate) first: u32,
    /// The probabilities from there on.
    pub(crate) mass: Vec<f64>,
}

impl Pmf {
    /// The point mass at zero: the neutral element of convolution.
    pub(crate) fn zero() -> Self {
        Self { first: 0, mass: vec![1.0] }
    }

    /// The probability of `value`, zero outside the support.
    pub(crate) fn at(&self, value: u32) -> f64 {
        value.checked_sub(self.first).and_then(|offset| self.mass.get(offset as usize)).copied().unwrap_or(0.0)
    }

    /// The distribution of the sum with an independent other.
    pub(crate) fn convolve(&self, other: &Self) -> Self {
        let mut mass = vec![0.0; self.mass.len() + other.mass.len() - 1];
        for (i, left) in self.mass.iter().enumerate() {
            for (j, right) in other.mass.iter().enumerate() {
                mass[i + j] += left * right;
            }
        }
        Self { first: self.first + other.first, mass }
    }

    /// The probability of `value` and above.
    pub(crate) fn upper_tail(&self, value: u32) -> f64 {
        let skip = value.saturating_sub(self.first) as usize;
        self.mass.iter().skip(skip).rev().sum::<f64>().min(1.0)
    }

    /// The probability of `value` and below.
    pub(crate) fn lower_tail(&self, value: u32) -> f64 {
        let Some(last) = value.checked_sub(self.first) else { return 0.0 };
        self.mass.iter().take(last as usize + 1).sum::<f64>().min(1.0)
    }

    /// The probability of all values that are at most as likely as `value`, ties by [`LIKELIHOOD_TIE`].
    pub(crate) fn at_most_as_likely(&self, value: u32) -> f64 {
        let bound = self.at(value) * LIKELIHOOD_TIE;
        self.mass.iter().filter(|mass| **mass <= bound).sum::<f64>().min(1.0)
    }

    /// [`Pmf::at_most_as_likely`] of every value of the support in order, in one sorted pass.
    pub(crate) fn each_at_most_as_likely(&self) -> Vec<f64> {
        let mut ascending = self.mass.clone();
        ascending.sort_by(f64::total_cmp);
        let mut sum = 0.0;
        let mut sums = vec![0.0];
        for mass in &ascending {
            sum += mass;
            sums.push(f64::min(sum, 1.0));
        }
        self.mass.iter().map(|mass| sums[ascending.partition_point(|other| *other <= mass * LIKELIHOOD_TIE)]).collect()
    }
}

/// The failures of the first arm, given `n1` and `n2` trials and `total` failures in both, when failure does not depend on the arm.
pub(crate) fn hypergeometric(n1: u32, n2: u32, total: u32) -> Pmf {
    let first = total.saturating_sub(n2);
    let last = total.min(n1);
    let all = ln_choose(n1 + n2, total);
    let mass = (first..=last).map(|a| (ln_choose(n1, a) + ln_choose(n2, total - a) - all).exp()).collect();
    Pmf { first, mass }
}

/// The failures in `n` independent trials that each fail with probability `p` in [0, 1].
pub(crate) fn binomial(n: u32, p: f64) -> Pmf {
    let (ln_p, ln_q) = (p.ln(), (-p).ln_1p());
    // `0 * -inf` is not a number; a probability to the power zero is one.
    let power = |count: u32, log: f64| if count == 0 { 0.0 } else { f64::from(count) * log };
    let mass = (0..=n).map(|k| (ln_choose(n, k) + power(k, ln_p) + power(n - k, ln_q)).exp()).collect();
    Pmf { first: 0, mass }
}
