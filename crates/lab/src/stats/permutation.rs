//! Permutation tests of means, by full enumeration: their validity rests on randomisation alone.

use super::error::{StatsError, check_sample};
use super::fisher::ExactP;

/// The most arrangements that are enumerated: sign flips of 22 blocks, or two samples of 12.
pub const MAX_ARRANGEMENTS: u64 = 1 << 22;

/// Computes the exact sign-flip test of block differences against "no effect in any block".
///
/// Share of the `2^n` sign assignments whose mean is at least (at most, at least in magnitude) the observed one; ties within
/// `1e-12 max(1, |mean|)`. R. A. Fisher, *The Design of Experiments* (1935), section 21. Least two-sided p is `2/2^n`: six blocks for 0.05.
///
/// # Errors
/// No differences, values not finite, or more than 22.
pub fn sign_flip(differences: &[f64]) -> Result<ExactP, StatsError> {
    check_sample(differences, 1)?;
    check_arrangements(2_f64.powi(differences.len().min(1000) as i32))?;
    let observed: f64 = differences.iter().sum();
    let mut tails = Tails::new(observed, differences.len() as f64);
    flip(differences, 0.0, &mut tails);
    Ok(tails.p())
}

/// Computes the exact two-sample permutation test of the difference of means, first minus second.
///
/// Share of the `C(n+m, n)` ways to relabel whose difference is at least (at most, at least in magnitude) the observed one, ties as in
/// [`sign_flip`]. E. J. G. Pitman, Suppl. JRSS 4 (1937). For unblocked launches. Least two-sided p for n = m is `2/C(2n, n)`.
///
/// # Errors
/// An empty sample, values not finite, or more than [`MAX_ARRANGEMENTS`] ways.
pub fn two_sample(x: &[f64], y: &[f64]) -> Result<ExactP, StatsError> {
    check_sample(x, 1)?;
    check_sample(y, 1)?;
    check_arrangements(ways(x.len(), y.len()))?;
    let pooled: Vec<f64> = x.iter().chain(y).copied().collect();
    let (n, m) = (x.len() as f64, y.len() as f64);
    let total: f64 = pooled.iter().sum();
    // mean(x) - mean(y) in terms of the first sample's sum alone.
    let difference = move |sum: f64| sum / n - (total - sum) / m;
    let mut tails = Tails::new(difference(x.iter().sum()), 1.0);
    choose(&pooled, x.len(), 0.0, &difference, &mut tails);
    Ok(tails.p())
}

/// Counts of arrangements at or beyond the observed statistic.
struct Tails {
    observed: f64,
    tolerance: f64,
    at_least: u64,
    at_most: u64,
    as_far: u64,
    all: u64,
}

impl Tails {
    /// `scale` turns the statistic into the mean on which the tie tolerance is defined.
    fn new(observed: f64, scale: f64) -> Self {
        let tolerance = 1e-12 * (observed / scale).abs().max(1.0) * scale;
        Self { observed, tolerance, at_least: 0, at_most: 0, as_far: 0, all: 0 }
    }

    fn count(&mut self, statistic: f64) {
        self.all += 1;
        self.at_least += u64::from(statistic >= self.observed - self.tolerance);
        self.at_most += u64::from(statistic <= self.observed + self.tolerance);
        self.as_far += u64::from(statistic.abs() >= self.observed.abs() - self.tolerance);
    }

    fn p(&self) -> ExactP {
        let share = |count: u64| count as f64 / self.all as f64;
        ExactP { greater: share(self.at_least), less: share(self.at_most), two_sided: share(self.as_far) }
    }
}

fn flip(rest: &[f64], sum: f64, tails: &mut Tails) {
    match rest.split_first() {
        None => tails.count(sum),
        Some((value, rest)) => {
            flip(rest, sum + value, tails);
            flip(rest, sum - value, tails);
        }
    }
}

fn choose(rest: &[f64], wanted: usize, sum: f64, statistic: &impl Fn(f64) -> f64, tails: &mut Tails) {
    if wanted == 0 {
        tails.count(statistic(sum));
        return;
    }
    if rest.len() < wanted {
        return;
    }
    choose(&rest[1..], wanted - 1, sum + rest[0], statistic, tails);
    choose(&rest[1..], wanted, sum, statistic, tails);
}

/// The number of ways to choose n of n + m, as a float: saturates instead of overflowing.
fn ways(n: usize, m: usize) -> f64 {
    (1..=n.min(m)).map(|i| (n.max(m) + i) as f64 / i as f64).product()
}

fn check_arrangements(count: f64) -> Result<(), StatsError> {
    if count <= MAX_ARRANGEMENTS as f64 * (1.0 + 1e-9) {
        Ok(())
    } else {
        Err(StatsError::TooMany { most: MAX_ARRANGEMENTS, given: count as u64 })
    }
}
