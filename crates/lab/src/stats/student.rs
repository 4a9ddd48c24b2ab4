//! Inference from a few launches by Student's t: the mean of block differences, plain or as a ratio. Equivalence belongs to `equivalence`.
//! Values are in the metric's unit; ratios have none.

use super::error::{StatsError, check_open_unit, check_sample, checked_logs};
use super::interval::Interval;
use super::quantile::{student, student_sf, student_upper_quantile};

/// Spread at or below this share of the largest magnitude is rounding, not variance.
const ROUNDING: f64 = 1e-12;

/// What a t procedure says about one quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TEstimate {
    /// Number of observations (of both samples where there are two).
    pub n: usize,
    /// The estimate: a mean, a difference of means, or a ratio of geometric means.
    pub estimate: f64,
    /// Interval at the level asked for, on the scale of the estimate.
    pub interval: Interval,
    /// The t statistic against no effect.
    pub t: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// Two-sided p against no effect.
    pub p: f64,
}

impl TEstimate {
    /// The same result with estimate and interval taken from logarithms to ratios.
    pub(crate) fn exp(self) -> Self {
        Self { estimate: self.estimate.exp(), interval: self.interval.exp(), ..self }
    }
}

/// Computes the t interval and test of the mean of `differences`, one per complete block, against zero.
///
/// `mean ± t(1-a/2; n-1) s/sqrt(n)`. Student, Biometrika 6 (1908). At least two differences; coverage holds near normal data only.
///
/// # Errors
/// Fewer than two, values not finite, `level` outside (0, 1), or [`StatsError::ZeroVariance`] (say "identical in n launches").
pub fn mean_difference(differences: &[f64], level: f64) -> Result<TEstimate, StatsError> {
    let moments = Moments::of(differences)?;
    moments.check_spread()?;
    t_estimate(moments.n, moments.mean, moments.standard_error(), moments.df(), level)
}

/// Computes the ratio first to second of paired positive values, `(first, second)` per complete block: [`mean_difference`] of log differences, exponentiated.
///
/// The estimate is the geometric mean of the blocks' ratios.
///
/// # Errors
/// As [`mean_difference`], or a value that is not positive.
pub fn paired_ratio(blocks: &[(f64, f64)], level: f64) -> Result<TEstimate, StatsError> {
    Ok(mean_difference(&log_differences(blocks)?, level)?.exp())
}

/// Computes the difference of means of two independent samples, first minus second, without assuming equal variances.
///
/// `t = (x - y) / sqrt(sx²/n + sy²/m)`, degrees of freedom by Welch and Satterthwaite. B. L. Welch, Biometrika 34 (1947). At least two values each.
/// For unblocked launches only: blocks are compared by [`mean_difference`].
///
/// # Errors
/// As [`mean_difference`]; zero variance only if both samples have none.
pub fn welch(x: &[f64], y: &[f64], level: f64) -> Result<TEstimate, StatsError> {
    let (first, second) = (Moments::of(x)?, Moments::of(y)?);
    if first.check_spread().is_err() && second.check_spread().is_err() {
        return Err(StatsError::ZeroVariance { n: x.len() + y.len() });
    }
    let (a, b) = (first.standard_error().powi(2), second.standard_error().powi(2));
    let df = (a + b).powi(2) / (a * a / first.df() + b * b / second.df());
    t_estimate(first.n + second.n, first.mean - second.mean, (a + b).sqrt(), df, level)
}

/// Computes the ratio of geometric means of two independent positive samples: [`welch`] of the logarithms, exponentiated.
///
/// # Errors
/// As [`welch`], or a value that is not positive.
pub fn welch_ratio(x: &[f64], y: &[f64], level: f64) -> Result<TEstimate, StatsError> {
    Ok(welch(&checked_logs(x)?, &checked_logs(y)?, level)?.exp())
}

/// The differences of logarithms of paired positive values.
pub(crate) fn log_differences(blocks: &[(f64, f64)]) -> Result<Vec<f64>, StatsError> {
    let first = checked_logs(&blocks.iter().map(|(first, _)| *first).collect::<Vec<_>>())?;
    let second = checked_logs(&blocks.iter().map(|(_, second)| *second).collect::<Vec<_>>())?;
    Ok(first.iter().zip(&second).map(|(first, second)| first - second).collect())
}

/// Mean and spread of a sample of at least two.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moments {
    pub(crate) n: usize,
    pub(crate) mean: f64,
    /// Standard deviation with n - 1 in the denominator.
    pub(crate) sd: f64,
    largest: f64,
}

impl Moments {
    pub(crate) fn of(sample: &[f64]) -> Result<Self, StatsError> {
        check_sample(sample, 2)?;
        let n = sample.len();
        let mean = sample.iter().sum::<f64>() / n as f64;
        let squares: f64 = sample.iter().map(|value| (value - mean).powi(2)).sum();
        let largest = sample.iter().fold(0.0, |most, value| f64::max(most, value.abs()));
        Ok(Self { n, mean, sd: (squares / (n as f64 - 1.0)).sqrt(), largest })
    }

    pub(crate) fn standard_error(&self) -> f64 {
        self.sd / (self.n as f64).sqrt()
    }

    pub(crate) fn df(&self) -> f64 {
        self.n as f64 - 1.0
    }

    pub(crate) fn check_spread(&self) -> Result<(), StatsError> {
        if self.sd <= ROUNDING * self.largest { Err(StatsError::ZeroVariance { n: self.n }) } else { Ok(()) }
    }
}

/// The half-width factor of a two-sided t interval.
pub(crate) fn t_factor(df: f64, level: f64) -> Result<f64, StatsError> {
    let tail = (1.0 - check_open_unit("level", level)?) / 2.0;
    let distribution = student(df).ok_or(StatsError::OutOfRange { quantity: "df", value: df, low: 0.0, high: f64::INFINITY })?;
    Ok(student_upper_quantile(&distribution, tail))
}

/// The probability that t with `df` degrees of freedom exceeds `t`.
pub(crate) fn t_upper_tail(df: f64, t: f64) -> Result<f64, StatsError> {
    let distribution = student(df).ok_or(StatsError::OutOfRange { quantity: "df", value: df, low: 0.0, high: f64::INFINITY })?;
    Ok(student_sf(&distribution, t))
}

fn t_estimate(n: usize, estimate: f64, error: f64, df: f64, level: f64) -> Result<TEstimate, StatsError> {
    let half = t_factor(df, level)? * error;
    let t = estimate / error;
    let p = (2.0 * t_upper_tail(df, t.abs())?).min(1.0);
    Ok(TEstimate { n, estimate, interval: Interval::new(estimate - half, estimate + half), t, df, p })
}
