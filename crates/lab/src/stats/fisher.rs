//! Fisher's exact test of two proportions, and its mid-p. Looking more than once belongs to `peeking`.

use super::combinatorics::hypergeometric;
use super::tally::Tally;

/// The exact p-values of a 2x2 table; each in (0, 1].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExactP {
    /// Against: the first arm fails more often.
    pub greater: f64,
    /// Against: the first arm fails less often.
    pub less: f64,
    /// Against: the arms differ.
    pub two_sided: f64,
}

/// Computes Fisher's exact test.
///
/// Given the margins, the first arm's failures are hypergeometric. `greater` and `less` are its tails at the observed value; `two_sided` sums all
/// tables at most as likely as the observed one, times 1 + 1e-7 (the convention of R `fisher.test` and scipy `fisher_exact`). R. A. Fisher,
/// *Statistical Methods for Research Workers*, 5th ed. 1934. Any tallies; an arm without trials gives 1.
#[must_use]
pub fn fisher(arm: Tally, control: Tally) -> ExactP {
    let pmf = hypergeometric(arm.trials(), control.trials(), arm.failures() + control.failures());
    let a = arm.failures();
    ExactP { greater: pmf.upper_tail(a), less: pmf.lower_tail(a), two_sided: pmf.at_most_as_likely(a) }
}

/// Computes the one-sided mid-p of Fisher's test against "the first arm fails more often".
///
/// `P(A > a) + P(A = a) / 2` with A hypergeometric. H. O. Lancaster, JASA 56 (1961). Not conservative: its level may be exceeded. Any tallies.
#[must_use]
pub fn mid_p_greater(arm: Tally, control: Tally) -> f64 {
    let pmf = hypergeometric(arm.trials(), control.trials(), arm.failures() + control.failures());
    let a = arm.failures();
    (pmf.upper_tail(a) - 0.5 * pmf.at(a)).clamp(0.0, 1.0)
}

/// The two-sided p of every table with these margins: entry `i` is for `first + i` failures of the first arm.
pub(crate) fn two_sided_given_total(n1: u32, n2: u32, total: u32) -> (u32, Vec<f64>) {
    let pmf = hypergeometric(n1, n2, total);
    (pmf.first, pmf.each_at_most_as_likely())
}

/// Tells whether a p-value reaches a level; equal within rounding counts as reached, in every rule alike.
#[must_use]
pub fn reaches(p: f64, alpha: f64) -> bool {
    p <= alpha * (1.0 + 1e-12)
}
