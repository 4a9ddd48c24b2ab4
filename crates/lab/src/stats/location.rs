//! Hodges-Lehmann shifts with exact intervals: robust beside the t interval. Values are in the metric's unit.

use super::combinatorics::Pmf;
use super::error::{StatsError, check_open_unit, check_sample};
use super::interval::Interval;
use super::ranks::{rank_sum_pmf, signed_rank_pmf};

/// A shift with its exact interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// The Hodges-Lehmann estimate.
    pub estimate: f64,
    /// The interval; infinite where so few launches cannot give the level.
    pub interval: Interval,
    /// The confidence that the interval really has: at least the level asked for.
    pub achieved: f64,
}

/// Estimates the centre of block differences: the median of the Walsh averages `(d_i + d_j)/2`, i <= j.
///
/// Interval: k-th smallest to k-th largest average, `k = max{k: P(W+ <= k-1) <= a/2}`. J. L. Hodges and E. L. Lehmann, Ann. Math. Stat. 34 (1963).
/// Finite at 0.95 from six blocks.
///
/// # Errors
/// No differences, more than 200, values not finite, or `level` outside (0, 1).
pub fn paired_shift(differences: &[f64], level: f64) -> Result<Shift, StatsError> {
    check_sample(differences, 1)?;
    let pmf = signed_rank_pmf(differences.len())?;
    let averages = differences.iter().enumerate().flat_map(|(i, first)| differences[i..].iter().map(move |second| (first + second) / 2.0));
    shift(averages.collect(), &pmf, level)
}

/// Estimates the shift of one sample against another: the median of all differences `x_i - y_j`.
///
/// Interval: k-th smallest to k-th largest difference, k from the Mann-Whitney distribution as in [`paired_shift`]. P. K. Sen 1963. Finite at 0.95 from
/// four launches each.
///
/// # Errors
/// An empty sample, more than 200 in one, values not finite, or `level` outside (0, 1).
pub fn two_sample_shift(x: &[f64], y: &[f64], level: f64) -> Result<Shift, StatsError> {
    check_sample(x, 1)?;
    check_sample(y, 1)?;
    let pmf = rank_sum_pmf(x.len(), y.len())?;
    shift(x.iter().flat_map(|first| y.iter().map(move |second| first - second)).collect(), &pmf, level)
}

fn shift(mut candidates: Vec<f64>, pmf: &Pmf, level: f64) -> Result<Shift, StatsError> {
    let tail = (1.0 - check_open_unit("level", level)?) / 2.0;
    candidates.sort_by(f64::total_cmp);
    let (k, below) = order_statistic(pmf, tail);
    let interval = match k.checked_sub(1) {
        Some(index) => Interval::new(candidates[index], candidates[candidates.len() - 1 - index]),
        None => Interval::new(f64::NEG_INFINITY, f64::INFINITY),
    };
    Ok(Shift { estimate: middle(&candidates), interval, achieved: 1.0 - 2.0 * below })
}

/// The largest k with `P(W <= k-1) <= tail`, and that probability.
fn order_statistic(pmf: &Pmf, tail: f64) -> (usize, f64) {
    let mut below = 0.0;
    for (k, mass) in pmf.mass.iter().enumerate() {
        // The probabilities are sums of powers of two or short products: equal up to rounding counts as equal.
        if below + mass > tail * (1.0 + 1e-12) {
            return (k, below);
        }
        below += mass;
    }
    (pmf.mass.len(), below)
}

/// The median of values in any order; `None` of none.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut ascending = values.to_vec();
    ascending.sort_by(f64::total_cmp);
    (!ascending.is_empty()).then(|| middle(&ascending))
}

/// The median of an ascending, non-empty sample.
fn middle(ascending: &[f64]) -> f64 {
    let middle = ascending.len() / 2;
    if ascending.len() % 2 == 1 { ascending[middle] } else { f64::midpoint(ascending[middle - 1], ascending[middle]) }
}
