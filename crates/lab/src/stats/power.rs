//! How many launches a test of outcomes needs, at a fixed number of launches. Plans with looks belong to `peeking`.

use super::boschloo::{check_size, critical_fisher_p};
use super::combinatorics::{binomial, hypergeometric};
use super::error::{StatsError, check_open_unit, check_probability};
use super::fisher::{fisher, reaches, two_sided_given_total};
use super::tally::Tally;

/// The most launches per arm that [`launches_for_power`] looks at.
pub const MAX_LAUNCHES: u32 = 200;

/// How many more launches must keep a power once it is reached.
const SAW_TOOTH: u32 = 8;

/// Which two-sided test is planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutcomeTest {
    /// Fisher's exact test.
    Fisher,
    /// Boschloo's test.
    Boschloo,
}

/// Computes the probability that a two-sided test at `alpha` rejects with `n` launches per arm, when the arms fail with `p1` and `p0`.
///
/// Sum over all tables that the test rejects of their probability: exact.
///
/// # Errors
/// A probability out of range, or more than [`MAX_LAUNCHES`] launches per arm.
pub fn power(test: OutcomeTest, n: u32, p1: f64, p0: f64, alpha: f64) -> Result<f64, StatsError> {
    check_probability("p1", p1)?;
    check_probability("p0", p0)?;
    check_open_unit("alpha", alpha)?;
    if n > MAX_LAUNCHES {
        return Err(StatsError::TooMany { most: u64::from(MAX_LAUNCHES), given: u64::from(n) });
    }
    check_size(n, n)?;
    let (first, second) = (binomial(n, p1), binomial(n, p0));
    let rejected = rejected_tables(test, n, alpha);
    Ok(rejected.into_iter().map(|(a, b)| first.at(a) * second.at(b)).sum::<f64>().min(1.0))
}

/// Gives the least number of launches per arm from which on the power is at least `wanted`; `None` when [`MAX_LAUNCHES`] are not enough.
///
/// The power of an exact test is a saw-tooth in n: a number that is lost again within the next eight launches does not count.
///
/// # Errors
/// As [`power`]; `wanted` outside (0, 1).
pub fn launches_for_power(test: OutcomeTest, p1: f64, p0: f64, alpha: f64, wanted: f64) -> Result<Option<u32>, StatsError> {
    check_open_unit("power", wanted)?;
    // Equal arms are told apart with probability alpha at most, however many launches.
    if p1 == p0 && wanted > alpha {
        return power(test, 1, p1, p0, alpha).map(|_| None);
    }
    let enough = |n: u32| power(test, n, p1, p0, alpha).map(|power| power >= wanted);
    let (mut low, mut high) = (0, 1);
    while !enough(high)? {
        if high == MAX_LAUNCHES {
            return Ok(None);
        }
        (low, high) = (high, (2 * high).min(MAX_LAUNCHES));
    }
    while high - low > 1 {
        let middle = u32::midpoint(low, high);
        if enough(middle)? { high = middle } else { low = middle }
    }
    past_the_saw_tooth(high, enough)
}

/// The first number from `start` on that is enough and stays so.
fn past_the_saw_tooth(start: u32, enough: impl Fn(u32) -> Result<bool, StatsError>) -> Result<Option<u32>, StatsError> {
    let mut first = start;
    let mut next = start + 1;
    while next <= (first + SAW_TOOTH).min(MAX_LAUNCHES) {
        if !enough(next)? {
            first = next + 1;
        }
        next += 1;
    }
    Ok((first <= MAX_LAUNCHES).then_some(first))
}

/// Gives the least number of failures of `n` launches that differ from no failure in `n` at `alpha`, two-sided; `None` if even `n` do not.
///
/// # Errors
/// `alpha` outside (0, 1), or more than [`MAX_LAUNCHES`] launches.
pub fn least_failures_against_none(test: OutcomeTest, n: u32, alpha: f64) -> Result<Option<u32>, StatsError> {
    check_open_unit("alpha", alpha)?;
    if n > MAX_LAUNCHES {
        return Err(StatsError::TooMany { most: u64::from(MAX_LAUNCHES), given: u64::from(n) });
    }
    Ok(rejected_tables(test, n, alpha).into_iter().filter(|(_, b)| *b == 0).map(|(a, _)| a).min())
}

/// Gives the least number of launches, all without failure, that differ from `observed` at `alpha` by Fisher's two-sided test.
///
/// `None` when [`MAX_LAUNCHES`] are not enough. What "it no longer fails" needs.
///
/// # Errors
/// `alpha` outside (0, 1).
pub fn clean_launches_against(observed: Tally, alpha: f64) -> Result<Option<u32>, StatsError> {
    check_open_unit("alpha", alpha)?;
    for n in 1..=MAX_LAUNCHES {
        if reaches(fisher(observed, Tally::new(0, n)?).two_sided, alpha) {
            return Ok(Some(n));
        }
    }
    Ok(None)
}

/// The tables `(first arm's failures, second arm's)` with `n` launches per arm that the test rejects.
fn rejected_tables(test: OutcomeTest, n: u32, alpha: f64) -> Vec<(u32, u32)> {
    let mut rejected = Vec::new();
    let critical = match test {
        OutcomeTest::Fisher => None,
        OutcomeTest::Boschloo => match critical_fisher_p(n, alpha) {
            Some(critical) => Some(critical),
            None => return rejected,
        },
    };
    for total in 0..=2 * n {
        let (first, p) = match critical {
            None => two_sided_given_total(n, n, total),
            Some(_) => one_sided_given_total(n, total),
        };
        let keeps = |p: f64| critical.map_or_else(|| reaches(p, alpha), |critical| p <= critical);
        rejected.extend((first..).zip(p).filter(|(_, p)| keeps(*p)).map(|(a, _)| (a, total - a)));
    }
    rejected
}

/// The smaller one-sided Fisher p of every table with `n` launches per arm and this total.
fn one_sided_given_total(n: u32, total: u32) -> (u32, Vec<f64>) {
    let pmf = hypergeometric(n, n, total);
    let last = pmf.first + pmf.mass.len() as u32;
    (pmf.first, (pmf.first..last).map(|a| pmf.upper_tail(a).min(pmf.lower_tail(a))).collect())
}
