//! Bounds on failure probabilities and on their difference. Tests of equality belong to `fisher` and `boschloo`.

use super::error::{StatsError, check_open_unit};
use super::interval::Interval;
use super::quantile::{beta_quantile, normal_quantile};
use super::tally::Tally;

/// Computes the Clopper-Pearson interval of a failure probability at confidence `level`.
///
/// Ends: Beta quantiles `B(a/2; x, n-x+1)` and `B(1-a/2; x+1, n-x)` with a = 1 - level, 0 and 1 at the edges. C. J. Clopper and E. S. Pearson,
/// Biometrika 26 (1934). Covers at least `level`. Without trials it is [0, 1].
///
/// # Errors
/// `level` outside (0, 1).
pub fn clopper_pearson(tally: Tally, level: f64) -> Result<Interval, StatsError> {
    let tail = (1.0 - check_open_unit("level", level)?) / 2.0;
    let (x, rest) = (f64::from(tally.failures()), f64::from(tally.successes()));
    let low = if tally.failures() == 0 { 0.0 } else { beta_quantile(x, rest + 1.0, tail) };
    // The upper end through the mirrored lower tail: `1 - tail` would lose digits.
    let high = if tally.successes() == 0 { 1.0 } else { 1.0 - beta_quantile(rest, x + 1.0, tail) };
    Ok(Interval::new(low, high))
}

/// Computes Wilson's score interval of a failure probability at confidence `level`.
///
/// The values q with `|x/n - q| <= z sqrt(q(1-q)/n)`. E. B. Wilson, JASA 22 (1927). Without trials it is [0, 1].
///
/// # Errors
/// `level` outside (0, 1).
pub fn wilson(tally: Tally, level: f64) -> Result<Interval, StatsError> {
    let z = normal_quantile(1.0 - (1.0 - check_open_unit("level", level)?) / 2.0);
    let Some(share) = tally.proportion() else { return Ok(Interval::new(0.0, 1.0)) };
    let n = f64::from(tally.trials());
    let centre = share + z * z / (2.0 * n);
    let half = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z * z / n;
    // At the edges the end is exactly the edge; the formula gives it only up to rounding.
    let low = if tally.failures() == 0 { 0.0 } else { (centre - half) / scale };
    let high = if tally.successes() == 0 { 1.0 } else { (centre + half) / scale };
    Ok(Interval::new(low.max(0.0), high.min(1.0)))
}

/// Computes Newcombe's hybrid score interval of the difference of failure probabilities, first arm minus second, at confidence `level`.
///
/// `d - sqrt((p1-l1)^2 + (u2-p2)^2)` to `d + sqrt((u1-p1)^2 + (p2-l2)^2)` from the Wilson intervals (l, u). R. G. Newcombe, Statistics in Medicine 17
/// (1998), method 10. If an arm has no trials it is [-1, 1].
///
/// # Errors
/// `level` outside (0, 1).
pub fn newcombe(arm: Tally, control: Tally, level: f64) -> Result<Interval, StatsError> {
    let (first, second) = (wilson(arm, level)?, wilson(control, level)?);
    let (Some(p1), Some(p2)) = (arm.proportion(), control.proportion()) else { return Ok(Interval::new(-1.0, 1.0)) };
    let below = (p1 - first.low).hypot(second.high - p2);
    let above = (first.high - p1).hypot(p2 - second.low);
    Ok(Interval::new((p1 - p2 - below).max(-1.0), (p1 - p2 + above).min(1.0)))
}

/// Gives the upper bound of a failure probability after no failure in `trials`, at one-sided level `alpha`.
///
/// `1 - alpha^(1/n)`: the exact form of the rule of three. Without trials it is 1.
///
/// # Errors
/// `alpha` outside (0, 1).
pub fn zero_failure_upper(trials: u32, alpha: f64) -> Result<f64, StatsError> {
    let alpha = check_open_unit("alpha", alpha)?;
    Ok(if trials == 0 { 1.0 } else { -(alpha.ln() / f64::from(trials)).exp_m1() })
}

/// Gives the least number of launches that, all without failure, put the failure probability below `delta` at one-sided level `alpha`.
///
/// Least n with `(1 - delta)^n <= alpha`, i.e. `n >= ln alpha / ln(1 - delta)`. Also the launches needed to see, with probability 1 - alpha, at
/// least one failure of a program that fails at rate `delta`. Its exact worst-case level is at most `alpha`.
///
/// # Errors
/// `delta` or `alpha` outside (0, 1).
pub fn launches_to_bound(delta: f64, alpha: f64) -> Result<u32, StatsError> {
    let delta = check_open_unit("delta", delta)?;
    let alpha = check_open_unit("alpha", alpha)?;
    let exact = alpha.ln() / (-delta).ln_1p();
    // A quotient that is an integer up to rounding is that integer.
    Ok((exact - 1e-9).ceil().max(1.0) as u32)
}
