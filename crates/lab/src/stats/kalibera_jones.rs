//! Ratios of means with their interval, and how variance splits between launches and the iterations inside them.
//! T. Kalibera and R. Jones, *Rigorous Benchmarking in Reasonable Time*, ISMM 2013; arXiv 2007.10899.

use super::error::{StatsError, check_positive, check_sample};
use super::interval::Interval;
use super::student::{Moments, t_factor};

/// A ratio of means with its interval; no unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanRatio {
    /// mean(x) / mean(y).
    pub estimate: f64,
    /// The interval at the level asked for.
    pub interval: Interval,
}

/// Computes the ratio of means of two independent samples, one value per launch.
///
/// `(xy ± sqrt((xy)² - (x² - hx²)(y² - hy²))) / (y² - hy²)` with the means x, y and the half-widths `h = t(1-a/2; n-1) s/sqrt(n)`: Fieller's interval
/// without covariance. At least two values each; conservative for few.
///
/// # Errors
/// Fewer than two values, not finite, `level` outside (0, 1), or [`StatsError::DenominatorNearZero`] when `y² <= hy²`.
pub fn mean_ratio(x: &[f64], y: &[f64], level: f64) -> Result<MeanRatio, StatsError> {
    let (first, second) = (Moments::of(x)?, Moments::of(y)?);
    let half = |moments: &Moments| t_factor(moments.df(), level).map(|factor| factor * moments.standard_error());
    let (hx, hy) = (half(&first)?, half(&second)?);
    let (mx, my) = (first.mean, second.mean);
    let denominator = my * my - hy * hy;
    if denominator.is_nan() || denominator <= 0.0 {
        return Err(StatsError::DenominatorNearZero);
    }
    let product = mx * my;
    let root = (product * product - (mx * mx - hx * hx) * denominator).max(0.0).sqrt();
    Ok(MeanRatio { estimate: mx / my, interval: Interval::new((product - root) / denominator, (product + root) / denominator) })
}

/// Steps of the bisection of [`p_of_no_difference`].
const STEPS: u32 = 60;

/// Computes the two-sided p of "the means are the same" that belongs to [`mean_ratio`]: one less the highest level whose interval leaves out 1.
///
/// By bisection over the level, to within 1e-15; 1 where no level leaves it out, as when both means are the same.
///
/// # Errors
/// Fewer than two values, or values not finite.
pub fn p_of_no_difference(x: &[f64], y: &[f64]) -> Result<f64, StatsError> {
    let leaves_out = |level: f64| match mean_ratio(x, y, level) {
        Ok(found) => Ok(found.interval.low > 1.0 || found.interval.high < 1.0),
        Err(StatsError::DenominatorNearZero) => Ok(false),
        Err(error) => Err(error),
    };
    let (mut inside, mut outside) = (0.0_f64, 1.0_f64);
    for _ in 0..STEPS {
        let level = f64::midpoint(inside, outside);
        if level <= 0.0 || level >= 1.0 {
            break;
        }
        if leaves_out(level)? { inside = level } else { outside = level }
    }
    Ok(1.0 - inside)
}

/// Variance of a metric split into its two levels; variances in the metric's unit squared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoLevel {
    /// Mean over all launches and iterations.
    pub grand_mean: f64,
    /// Variance between iterations of one launch, averaged over launches (S1² = T1²).
    pub within: f64,
    /// Variance between the launches' means (S2²).
    pub between_means: f64,
    /// Variance that launches themselves add (T2² = S2² - S1²/r1); negative when iterations explain it all.
    pub between: f64,
    /// Share of the variance that lies between launches, in [0, 1].
    pub intraclass: f64,
    /// Interval of the grand mean: launches are the replicates.
    pub interval: Interval,
}

impl TwoLevel {
    /// Gives the number of iterations per launch that makes the interval tightest for its cost: `sqrt((c2/c1)(T1²/T2²))`.
    ///
    /// Costs in seconds (or any one unit) of one launch and of one iteration; `None` when launches add no variance.
    ///
    /// # Errors
    /// A cost that is not positive.
    pub fn best_iterations(&self, launch_cost: f64, iteration_cost: f64) -> Result<Option<f64>, StatsError> {
        let ratio = check_positive("launch cost", launch_cost)? / check_positive("iteration cost", iteration_cost)?;
        Ok((self.between > 0.0).then(|| (ratio * self.within / self.between).sqrt()))
    }
}

/// Splits the variance of `launches`, each the same number of iterations.
///
/// `S1²` = mean of the launches' variances, `S2²` = variance of their means, `T2² = S2² - S1²/r1` (the corrected form: the first printing had T1 here),
/// interval `mean ± t(1-a/2; r2-1) sqrt(S2²/r2)`. At least two launches of at least two iterations.
///
/// # Errors
/// Too few launches or iterations, launches of different length, values not finite, or `level` outside (0, 1).
pub fn two_level(launches: &[Vec<f64>], level: f64) -> Result<TwoLevel, StatsError> {
    let first = launches.first().map_or(0, Vec::len);
    if let Some(other) = launches.iter().find(|launch| launch.len() != first) {
        return Err(StatsError::Unpaired { left: first, right: other.len() });
    }
    launches.iter().try_for_each(|launch| check_sample(launch, 2))?;
    let inside: Vec<Moments> = launches.iter().map(|launch| Moments::of(launch)).collect::<Result<_, _>>()?;
    let means: Vec<f64> = inside.iter().map(|moments| moments.mean).collect();
    let across = Moments::of(&means)?;
    let within = inside.iter().map(|moments| moments.sd.powi(2)).sum::<f64>() / inside.len() as f64;
    let between_means = across.sd.powi(2);
    let between = between_means - within / first as f64;
    let added = between.max(0.0);
    let intraclass = if added + within > 0.0 { added / (added + within) } else { 0.0 };
    let half = t_factor(across.df(), level)? * across.standard_error();
    let interval = Interval::new(across.mean - half, across.mean + half);
    Ok(TwoLevel { grand_mean: across.mean, within, between_means, between, intraclass, interval })
}
