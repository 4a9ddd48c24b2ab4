//! The treatment's effect pooled over strata (the instrument's levels), and whether it is the same in each.

use super::combinatorics::{LIKELIHOOD_TIE, Pmf, hypergeometric};
use super::error::StatsError;
use super::fisher::ExactP;
use super::tally::Tally;

/// The most combinations of tables that [`zelen`] enumerates.
pub const MAX_COMBINATIONS: u64 = 2_000_000;
/// The most strata and, through [`Tally`], the most trials that are pooled.
const MAX_STRATA: usize = 64;

/// One stratum: the arm and its control under the same other conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stratum {
    /// The arm under question.
    pub arm: Tally,
    /// Its control.
    pub control: Tally,
}

impl Stratum {
    fn pmf(self) -> Pmf {
        hypergeometric(self.arm.trials(), self.control.trials(), self.arm.failures() + self.control.failures())
    }
}

/// Computes the exact Cochran-Mantel-Haenszel test that the common odds ratio is one.
///
/// Conditional on all margins, the sum of the first arms' failures is the convolution of the strata's hypergeometrics; tails and the
/// least-likelihood two-sided sum at the observed value. M. W. Birch, JRSS B 26 (1964); A. Agresti, *Categorical Data Analysis*, 6.7. Pooling assumes
/// that the strata share one effect: see [`zelen`]. Without strata every p is 1.
///
/// # Errors
/// More than 64 strata.
pub fn exact_cmh(strata: &[Stratum]) -> Result<ExactP, StatsError> {
    check_strata(strata)?;
    let pmf = strata.iter().fold(Pmf::zero(), |sum, stratum| sum.convolve(&stratum.pmf()));
    let observed = strata.iter().map(|stratum| stratum.arm.failures()).sum();
    Ok(ExactP { greater: pmf.upper_tail(observed), less: pmf.lower_tail(observed), two_sided: pmf.at_most_as_likely(observed) })
}

/// Computes Zelen's exact test that the odds ratio is the same in every stratum; a small p says that the effects differ.
///
/// Over all tables with the observed margins and the observed sum of first-arm failures, the share of probability of those at most as likely as the
/// observed one (times 1 + 1e-7). M. Zelen, Biometrika 58 (1971). One stratum gives 1.
///
/// # Errors
/// More than 64 strata, or more than [`MAX_COMBINATIONS`] tables to enumerate.
pub fn zelen(strata: &[Stratum]) -> Result<f64, StatsError> {
    check_strata(strata)?;
    let pmfs: Vec<Pmf> = strata.iter().map(|stratum| stratum.pmf()).collect();
    let combinations = pmfs.iter().fold(1_u64, |product, pmf| product.saturating_mul(pmf.mass.len() as u64));
    if combinations > MAX_COMBINATIONS {
        return Err(StatsError::TooMany { most: MAX_COMBINATIONS, given: combinations });
    }
    let observed: f64 = strata.iter().zip(&pmfs).map(|(stratum, pmf)| pmf.at(stratum.arm.failures())).product();
    let sum: u32 = strata.iter().map(|stratum| stratum.arm.failures()).sum();
    let mut share = Share { bound: observed * LIKELIHOOD_TIE, at_most: 0.0, all: 0.0 };
    share.add_tables(&pmfs, sum, 1.0);
    Ok((share.at_most / share.all).min(1.0))
}

/// The probability of the tables with one sum: in all, and of those no likelier than the bound.
struct Share {
    bound: f64,
    at_most: f64,
    all: f64,
}

impl Share {
    fn add_tables(&mut self, pmfs: &[Pmf], left: u32, probability: f64) {
        let Some((pmf, rest)) = pmfs.split_first() else {
            if left == 0 {
                self.all += probability;
                self.at_most += if probability <= self.bound { probability } else { 0.0 };
            }
            return;
        };
        for (value, mass) in (pmf.first..).zip(&pmf.mass) {
            if value > left {
                break;
            }
            self.add_tables(rest, left - value, probability * mass);
        }
    }
}

fn check_strata(strata: &[Stratum]) -> Result<(), StatsError> {
    if strata.len() > MAX_STRATA { Err(StatsError::TooMany { most: MAX_STRATA as u64, given: strata.len() as u64 }) } else { Ok(()) }
}
