//! How many blocks a paired metric needs, from the effect in units of the block differences' standard deviation.

use statrs::function::gamma::ln_gamma;

use super::error::{StatsError, check_open_unit, check_positive};
use super::quantile::normal_cdf;
use super::student::t_factor;

/// The most blocks that are looked at.
pub const MAX_BLOCKS: u32 = 10_000;
/// Panels of the quadrature over the standard deviation's distribution.
const PANELS: usize = 800;

/// Gives the least number of blocks at which the two-sided t test at `alpha` detects a mean of `effect` standard deviations with power `wanted`.
///
/// Power = P(|T'| > t(1-a/2; n-1)) with T' noncentral t of noncentrality `effect sqrt(n)`, by quadrature over the distribution of s.
/// `None` when [`MAX_BLOCKS`] are not enough.
///
/// # Errors
/// `effect` not positive; `alpha` or `wanted` outside (0, 1).
pub fn blocks_to_detect(effect: f64, alpha: f64, wanted: f64) -> Result<Option<u32>, StatsError> {
    check_positive("effect", effect)?;
    check_open_unit("alpha", alpha)?;
    check_open_unit("power", wanted)?;
    least_blocks(wanted, |n| {
        let factor = t_factor(n - 1.0, 1.0 - alpha)?;
        let shift = effect * n.sqrt();
        Ok(expectation_over_s(n - 1.0, |s| normal_cdf(shift - factor * s) + normal_cdf(-shift - factor * s)))
    })
}

/// Gives the least number of blocks at which two one-sided t tests at `alpha` show, with power `wanted`, that a true effect of zero lies within
/// ± `margin` standard deviations.
///
/// Power = E[max(0, 2 Phi(margin sqrt(n) - t s) - 1)] over the distribution of s, t = t(1-a; n-1). `None` when [`MAX_BLOCKS`] are not enough.
///
/// # Errors
/// `margin` not positive; `alpha` outside (0, 0.5); `wanted` outside (0, 1).
pub fn blocks_for_equivalence(margin: f64, alpha: f64, wanted: f64) -> Result<Option<u32>, StatsError> {
    check_positive("margin", margin)?;
    check_open_unit("twice alpha", 2.0 * alpha)?;
    check_open_unit("power", wanted)?;
    least_blocks(wanted, |n| {
        let factor = t_factor(n - 1.0, 1.0 - 2.0 * alpha)?;
        let room = margin * n.sqrt();
        Ok(expectation_over_s(n - 1.0, |s| (2.0 * normal_cdf(room - factor * s) - 1.0).max(0.0)))
    })
}

/// Power grows with n, so the least n is found by doubling and bisection.
fn least_blocks(wanted: f64, power: impl Fn(f64) -> Result<f64, StatsError>) -> Result<Option<u32>, StatsError> {
    let enough = |n: u32| power(f64::from(n)).map(|power| power >= wanted);
    let (mut low, mut high) = (1, 2);
    while !enough(high)? {
        if high >= MAX_BLOCKS {
            return Ok(None);
        }
        (low, high) = (high, (2 * high).min(MAX_BLOCKS));
    }
    while high - low > 1 {
        let middle = u32::midpoint(low, high);
        if enough(middle)? { high = middle } else { low = middle }
    }
    Ok(Some(high))
}

/// The mean of `f(s)` where `df s²` is chi-squared with `df` degrees of freedom: Simpson's rule over ± 10 standard deviations of s.
fn expectation_over_s(df: f64, f: impl Fn(f64) -> f64) -> f64 {
    let log_scale = std::f64::consts::LN_2 + 0.5 * df * (0.5 * df).ln() - ln_gamma(0.5 * df);
    let density = |s: f64| (log_scale + (df - 1.0) * s.ln() - 0.5 * df * s * s).exp();
    let spread = 10.0 / (2.0 * df).sqrt();
    let (from, to) = ((1.0 - spread).max(0.0), 1.0 + spread);
    let step = (to - from) / PANELS as f64;
    let value = |i: usize| {
        let s = from + step * i as f64;
        // At zero the density is finite for one degree of freedom and zero for more.
        let weight = if s > 0.0 {
            density(s)
        } else if df == 1.0 {
            log_scale.exp()
        } else {
            0.0
        };
        weight * f(s)
    };
    let inner: f64 = (1..PANELS).map(|i| if i % 2 == 1 { 4.0 } else { 2.0 } * value(i)).sum();
    (value(0) + inner + value(PANELS)) * step / 3.0
}
