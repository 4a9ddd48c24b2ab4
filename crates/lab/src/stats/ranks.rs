//! Exact rank tests and the distributions behind them. Shift estimates belong to `location`.
//!
//! The exact Mann-Whitney is our own: the one in statrs 0.19.1 gives p = 1 for complete separation when the first sample is not the longer one.

use super::combinatorics::Pmf;
use super::error::{StatsError, check_sample};
use super::fisher::ExactP;

/// The most observations of one sample for which exact rank distributions are built.
pub const MAX_RANKED: usize = 200;
/// Magnitudes this close, relative, are tied: they differ by rounding only.
const TIE: f64 = 1e-12;

/// The result of an exact rank test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankTest {
    /// The statistic: positive ranks' sum W+ for Wilcoxon, U of the first sample for Mann-Whitney.
    pub statistic: f64,
    /// The p-values; `greater` speaks for larger values in the first sample.
    pub p: ExactP,
}

/// Computes Wilcoxon's exact signed-rank test of block differences against symmetry about zero.
///
/// W+ = sum of the ranks of |d| with d > 0; its null distribution counts subsets of 1..n; `two_sided = min(1, 2 min tail)`.
/// F. Wilcoxon, Biometrics 1 (1945). Six blocks for a two-sided 0.05.
///
/// # Errors
/// No differences, more than [`MAX_RANKED`], values not finite, or [`StatsError::Ties`] with equal magnitudes or zeros: use the sign-flip test then.
pub fn wilcoxon(differences: &[f64]) -> Result<RankTest, StatsError> {
    check_sample(differences, 1)?;
    let mut ordered = differences.to_vec();
    ordered.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    if ordered[0] == 0.0 || has_ties(ordered.iter().map(|value| value.abs())) {
        return Err(StatsError::Ties);
    }
    let pmf = signed_rank_pmf(differences.len())?;
    let positive = ordered.iter().zip(1_u32..).filter(|(value, _)| **value > 0.0).map(|(_, rank)| rank).sum();
    Ok(tested(positive, &pmf))
}

/// Computes the exact Mann-Whitney test of two independent samples.
///
/// U = number of pairs with the first sample's value above; its null distribution counts arrangements; `two_sided = min(1, 2 min tail)`.
/// H. B. Mann and D. R. Whitney, Ann. Math. Stat. 18 (1947). Four launches each for a two-sided 0.05.
///
/// # Errors
/// An empty sample, more than [`MAX_RANKED`] in one, values not finite, or [`StatsError::Ties`].
pub fn mann_whitney(x: &[f64], y: &[f64]) -> Result<RankTest, StatsError> {
    check_sample(x, 1)?;
    check_sample(y, 1)?;
    let mut pooled: Vec<f64> = x.iter().chain(y).copied().collect();
    pooled.sort_by(f64::total_cmp);
    if has_ties(pooled.iter().copied()) {
        return Err(StatsError::Ties);
    }
    let pmf = rank_sum_pmf(x.len(), y.len())?;
    let u = x.iter().map(|first| y.iter().filter(|second| first > second).count() as u32).sum();
    Ok(tested(u, &pmf))
}

/// Gives the probability that a value of the first sample exceeds one of the second, ties counted half.
///
/// `U / (n m)`; Cliff's delta is twice this minus one. R. J. Grissom and J. J. Kim. In [0, 1].
///
/// # Errors
/// An empty sample or values not finite.
pub fn probability_of_superiority(x: &[f64], y: &[f64]) -> Result<f64, StatsError> {
    check_sample(x, 1)?;
    check_sample(y, 1)?;
    let score = |first: f64, second: f64| {
        if first > second {
            1.0
        } else if first == second {
            0.5
        } else {
            0.0
        }
    };
    let wins: f64 = x.iter().flat_map(|first| y.iter().map(move |second| score(*first, *second))).sum();
    Ok(wins / (x.len() as f64 * y.len() as f64))
}

/// The null distribution of W+ for `n` blocks: the sum of a random subset of 1..=n.
pub(crate) fn signed_rank_pmf(n: usize) -> Result<Pmf, StatsError> {
    check_ranked(n)?;
    let mut mass = vec![1.0];
    for rank in 1..=n {
        let mut next = vec![0.0; mass.len() + rank];
        for (sum, probability) in mass.iter().enumerate() {
            next[sum] += 0.5 * probability;
            next[sum + rank] += 0.5 * probability;
        }
        mass = next;
    }
    Ok(Pmf { first: 0, mass })
}

/// The null distribution of U for samples of `n` and `m`.
///
/// The largest value belongs to the first sample with probability n/(n+m), and then beats all m: `P(n,m) = n/(n+m) P(n-1,m) shifted by m + m/(n+m) P(n,m-1)`.
pub(crate) fn rank_sum_pmf(n: usize, m: usize) -> Result<Pmf, StatsError> {
    check_ranked(n.max(m))?;
    // `row[j]` is the distribution for (i, j); rows grow from i = 0, where U is zero.
    let mut row: Vec<Vec<f64>> = vec![vec![1.0]; m + 1];
    for i in 1..=n {
        let mut next: Vec<Vec<f64>> = Vec::with_capacity(m + 1);
        next.push(vec![1.0]);
        for j in 1..=m {
            let mut mass = vec![0.0; i * j + 1];
            let share = i as f64 / (i + j) as f64;
            for (u, probability) in row[j].iter().enumerate() {
                mass[u + j] += share * probability;
            }
            for (u, probability) in next[j - 1].iter().enumerate() {
                mass[u] += (1.0 - share) * probability;
            }
            next.push(mass);
        }
        row = next;
    }
    Ok(Pmf { first: 0, mass: row.swap_remove(m) })
}

fn tested(statistic: u32, pmf: &Pmf) -> RankTest {
    let (greater, less) = (pmf.upper_tail(statistic), pmf.lower_tail(statistic));
    RankTest { statistic: f64::from(statistic), p: ExactP { greater, less, two_sided: (2.0 * greater.min(less)).min(1.0) } }
}

/// Whether neighbours of an ascending sequence are equal up to rounding.
fn has_ties(ascending: impl Iterator<Item = f64> + Clone) -> bool {
    ascending.clone().zip(ascending.skip(1)).any(|(low, high)| high - low <= TIE * high.abs().max(low.abs()))
}

fn check_ranked(n: usize) -> Result<(), StatsError> {
    if n > MAX_RANKED { Err(StatsError::TooMany { most: MAX_RANKED as u64, given: n as u64 }) } else { Ok(()) }
}
