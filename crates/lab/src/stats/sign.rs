//! The sign test over blocks: what randomisation within blocks strictly licenses.

use super::combinatorics::binomial;
use super::error::StatsError;
use super::fisher::ExactP;
use super::tally::MAX_TRIALS;

/// Computes the exact sign test of `positive` against `negative` blocks; blocks without a difference are left out before.
///
/// Binomial(n, 1/2) tails, `two_sided = min(1, 2 min(greater, less))`. J. Arbuthnot 1710. For pass/fail outcomes of paired launches it is McNemar's
/// exact test (Q. McNemar, Psychometrika 12, 1947) with the discordant blocks as signs. Needs six blocks on one side for 0.05. No blocks give 1.
///
/// # Errors
/// More than [`MAX_TRIALS`] blocks.
pub fn sign_test(positive: u32, negative: u32) -> Result<ExactP, StatsError> {
    let n = positive.saturating_add(negative);
    if n > MAX_TRIALS {
        return Err(StatsError::TooMany { most: u64::from(MAX_TRIALS), given: u64::from(n) });
    }
    let pmf = binomial(n, 0.5);
    let (greater, less) = (pmf.upper_tail(positive), pmf.lower_tail(positive));
    Ok(ExactP { greater, less, two_sided: (2.0 * greater.min(less)).min(1.0) })
}

/// Computes McNemar's exact test from paired outcomes, `(arm failed, control failed)` per block.
///
/// [`sign_test`] of the discordant blocks.
///
/// # Errors
/// As [`sign_test`].
pub fn mcnemar(blocks: &[(bool, bool)]) -> Result<ExactP, StatsError> {
    let count = |wanted: (bool, bool)| u32::try_from(blocks.iter().filter(|block| **block == wanted).count()).unwrap_or(u32::MAX);
    sign_test(count((true, false)), count((false, true)))
}
