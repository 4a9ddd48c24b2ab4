//! Boschloo's unconditional exact test. It assumes a fixed number of launches: not for looks after every block.

use super::combinatorics::hypergeometric;
use super::error::StatsError;
use super::fisher::{ExactP, fisher};
use super::nuisance::NullProbability;
use super::tally::Tally;

/// The most trials of both arms together: beyond it the enumeration is slow and Fisher's test loses little.
pub const MAX_BOTH_ARMS: u32 = 400;
/// One-sided Fisher p-values this close are the same statistic.
const TIE: f64 = 1.0 + 1e-12;

/// Computes Boschloo's test: Fisher's one-sided p as the statistic, its distribution taken at the worst shared failure probability.
///
/// `p = sup over q in [0,1] of P(T <= t_observed)`, both arms binomial with q; `two_sided = min(1, 2 min(greater, less))`, scipy's convention.
/// R. D. Boschloo, Statistica Neerlandica 24 (1970). Uniformly more powerful than Fisher at a fixed number of launches; with a look after every
/// block from 2 to 10 its worst-case level at 0.05 is 0.0945, so it never stops a run.
///
/// # Errors
/// More than [`MAX_BOTH_ARMS`] trials in both arms together.
pub fn boschloo(arm: Tally, control: Tally) -> Result<ExactP, StatsError> {
    check_size(arm.trials(), control.trials())?;
    let conditional = fisher(arm, control);
    let greater = size_at(arm.trials(), control.trials(), conditional.greater);
    // "Less" is "greater" with the arms exchanged.
    let less = size_at(control.trials(), arm.trials(), conditional.less);
    Ok(ExactP { greater, less, two_sided: (2.0 * greater.min(less)).min(1.0) })
}

/// The worst-case probability that Fisher's "greater" p is at most `bound`.
fn size_at(n1: u32, n2: u32, bound: f64) -> f64 {
    let bound = bound * TIE;
    let given_total = (0..=n1 + n2).map(|total| largest_tail_within(n1, n2, total, bound)).collect();
    NullProbability::new(given_total).sup()
}

/// The largest upper tail of the first arm's failures, given the total, that is at most `bound`.
fn largest_tail_within(n1: u32, n2: u32, total: u32, bound: f64) -> f64 {
    let pmf = hypergeometric(n1, n2, total);
    let mut tail = 0.0;
    let mut largest = 0.0;
    for mass in pmf.mass.iter().rev() {
        tail += mass;
        if f64::min(tail, 1.0) > bound {
            break;
        }
        largest = tail;
    }
    f64::min(largest, 1.0)
}

/// The largest one-sided Fisher p that Boschloo's two-sided test rejects at `alpha` with `n` trials per arm; `None` if it rejects nothing.
///
/// The worst-case probability grows with the bound, so the bound is found by bisection over the p-values that occur.
pub(crate) fn critical_fisher_p(n: u32, alpha: f64) -> Option<f64> {
    let mut values: Vec<f64> = (0..=2 * n).flat_map(|total| upper_tails(n, total)).collect();
    values.sort_by(f64::total_cmp);
    values.dedup_by(|a, b| *a <= *b * TIE);
    let rejected = values.partition_point(|p| 2.0 * size_at(n, n, *p) <= alpha);
    rejected.checked_sub(1).map(|last| values[last] * TIE)
}

fn upper_tails(n: u32, total: u32) -> Vec<f64> {
    let pmf = hypergeometric(n, n, total);
    let mut tail = 0.0;
    pmf.mass
        .iter()
        .rev()
        .map(|mass| {
            tail += mass;
            f64::min(tail, 1.0)
        })
        .collect()
}

pub(crate) fn check_size(n1: u32, n2: u32) -> Result<(), StatsError> {
    let both = n1.saturating_add(n2);
    if both > MAX_BOTH_ARMS { Err(StatsError::TooMany { most: u64::from(MAX_BOTH_ARMS), given: u64::from(both) }) } else { Ok(()) }
}
