//! Showing that an effect is within a margin. "No difference found" is not here, because it shows nothing.

use super::error::{StatsError, check_open_unit, check_positive};
use super::interval::Interval;
use super::permutation::sign_flip;
use super::student::{Moments, log_differences, t_factor, t_upper_tail};

/// The result of two one-sided tests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Equivalence {
    /// Against: the effect is at or below the lower margin.
    pub p_lower: f64,
    /// Against: the effect is at or above the upper margin.
    pub p_upper: f64,
    /// The larger of the two: the p of equivalence.
    pub p: f64,
    /// The interval at confidence 1 - 2 alpha; equivalent exactly when it lies inside the margins. Infinite for the sign-flip form.
    pub interval: Interval,
    /// Whether the effect is shown to lie inside the margins at level alpha.
    pub equivalent: bool,
}

/// Tests that the mean of `differences` lies between `low` and `high` by two one-sided t tests at level `alpha`.
///
/// `t_L = (mean - low)/se`, `t_U = (high - mean)/se`, n - 1 degrees of freedom; equivalent when both p are at most alpha. D. J. Schuirmann,
/// J. Pharmacokinet. Biopharm. 15 (1987). At least two differences; the margins are declared before.
///
/// # Errors
/// As [`super::student::mean_difference`]; `alpha` outside (0, 0.5); `low` not below `high`.
pub fn tost(differences: &[f64], low: f64, high: f64, alpha: f64) -> Result<Equivalence, StatsError> {
    check_margins(low, high, alpha)?;
    let moments = Moments::of(differences)?;
    moments.check_spread()?;
    let error = moments.standard_error();
    let p_lower = t_upper_tail(moments.df(), (moments.mean - low) / error)?;
    let p_upper = t_upper_tail(moments.df(), (high - moments.mean) / error)?;
    let half = t_factor(moments.df(), 1.0 - 2.0 * alpha)? * error;
    Ok(joined(p_lower, p_upper, Interval::new(moments.mean - half, moments.mean + half), alpha))
}

/// Tests that the ratio first to second of paired positive values lies between `low` and `high`: [`tost`] on logarithms.
///
/// Margins such as 0.98 and 1.02; the interval is one of ratios.
///
/// # Errors
/// As [`tost`], or a value or margin that is not positive.
pub fn tost_ratio(blocks: &[(f64, f64)], low: f64, high: f64, alpha: f64) -> Result<Equivalence, StatsError> {
    check_positive("low", low)?;
    let result = tost(&log_differences(blocks)?, low.ln(), high.ln(), alpha)?;
    Ok(Equivalence { interval: result.interval.exp(), ..result })
}

/// Tests that the mean of `differences` lies between `low` and `high` by two one-sided sign-flip tests: no normal distribution assumed.
///
/// The upper test is the "less" p of `d - high`, the lower the "greater" p of `d - low`. Least attainable p is `2^-n`, so five blocks for 0.05.
///
/// # Errors
/// As [`sign_flip`]; `alpha` outside (0, 0.5); `low` not below `high`.
pub fn tost_sign_flip(differences: &[f64], low: f64, high: f64, alpha: f64) -> Result<Equivalence, StatsError> {
    check_margins(low, high, alpha)?;
    let shifted = |margin: f64| differences.iter().map(|value| value - margin).collect::<Vec<_>>();
    let p_lower = sign_flip(&shifted(low))?.greater;
    let p_upper = sign_flip(&shifted(high))?.less;
    Ok(joined(p_lower, p_upper, Interval::new(f64::NEG_INFINITY, f64::INFINITY), alpha))
}

fn joined(p_lower: f64, p_upper: f64, interval: Interval, alpha: f64) -> Equivalence {
    let p = p_lower.max(p_upper);
    Equivalence { p_lower, p_upper, p, interval, equivalent: p <= alpha }
}

fn check_margins(low: f64, high: f64, alpha: f64) -> Result<(), StatsError> {
    check_open_unit("twice alpha", 2.0 * alpha)?;
    if low < high { Ok(()) } else { Err(StatsError::OutOfRange { quantity: "low", value: low, low: f64::NEG_INFINITY, high }) }
}
