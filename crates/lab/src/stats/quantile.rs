//! Distribution functions and quantiles, from `statrs`; quantiles are polished by Newton steps against the distribution function so that they
//! hold 1e-12 relative wherever the vectors look. Test statistics do not belong here.

use statrs::distribution::{Continuous, ContinuousCDF, Normal, StudentsT};
use statrs::function::beta::{beta_reg, inv_beta_reg, ln_beta};
use statrs::function::gamma::gamma_ur;

/// The standard normal distribution function, as `Q(1/2, x²/2) / 2` of the incomplete gamma function: statrs' own holds only 1e-12 absolute.
pub(crate) fn normal_cdf(x: f64) -> f64 {
    if x == 0.0 {
        return 0.5;
    }
    let tail = 0.5 * gamma_ur(0.5, 0.5 * x * x);
    if x < 0.0 { tail } else { 1.0 - tail }
}

/// The standard normal quantile, for `0 < p < 1`.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    let normal = Normal::standard();
    polish(normal.inverse_cdf(p), p, normal_cdf, |x| normal.pdf(x))
}

/// The distribution of Student's t; `None` unless `df` is positive and finite.
pub(crate) fn student(df: f64) -> Option<StudentsT> {
    if df.is_finite() { StudentsT::new(0.0, 1.0, df).ok() } else { None }
}

/// The quantile of Student's t for `0.5 <= p < 1`: works on the upper tail, where nothing cancels.
pub(crate) fn student_upper_quantile(distribution: &StudentsT, tail: f64) -> f64 {
    let start = distribution.inverse_cdf(1.0 - tail);
    -polish(-start, tail, |x| distribution.cdf(x), |x| distribution.pdf(x))
}

/// The probability that Student's t exceeds `t`.
pub(crate) fn student_sf(distribution: &StudentsT, t: f64) -> f64 {
    distribution.cdf(-t)
}

/// The quantile of Beta(a, b), for positive parameters and `0 < p < 1`.
pub(crate) fn beta_quantile(a: f64, b: f64, p: f64) -> f64 {
    let log_normaliser = ln_beta(a, b);
    let density = |x: f64| ((a - 1.0) * x.ln() + (b - 1.0) * (-x).ln_1p() - log_normaliser).exp();
    polish(
        inv_beta_reg(a, b, p),
        p,
        |x| {
            if x <= 0.0 {
                0.0
            } else if x >= 1.0 {
                1.0
            } else {
                beta_reg(a, b, x)
            }
        },
        density,
    )
}

/// Two guarded Newton steps of `cdf(x) = p` from a start that is already close.
fn polish(start: f64, p: f64, cdf: impl Fn(f64) -> f64, density: impl Fn(f64) -> f64) -> f64 {
    let mut x = start;
    for _ in 0..2 {
        let step = (cdf(x) - p) / density(x);
        // A start this close moves by rounding only; a large or undefined step means the density vanished, and the start is kept.
        if !step.is_finite() || step.abs() > 1e-3 * x.abs().max(1.0) {
            break;
        }
        x -= step;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::{beta_quantile, normal_cdf, normal_quantile, student, student_sf, student_upper_quantile};

    #[test]
    fn normal_quantiles_hold_tabled_digits() {
        assert!((normal_quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-14);
        assert!((normal_quantile(0.95) - 1.644_853_626_951_472_7).abs() < 1e-14);
        assert!((normal_cdf(-1.0) - 0.158_655_253_931_457_05).abs() < 1e-15);
        assert!((normal_cdf(40.0) - 1.0).abs() < 1e-15 && normal_cdf(-40.0) >= 0.0);
    }

    #[test]
    fn quantiles_invert_their_distribution_functions() {
        for df in [1.0, 2.5, 3.0, 7.838, 30.0, 500.0] {
            let t = student(df).unwrap();
            for tail in [0.4, 0.1, 0.025, 1e-4] {
                let back = student_sf(&t, student_upper_quantile(&t, tail));
                assert!((back - tail).abs() < 1e-12 * tail.max(1e-3), "{df} {tail} {back}");
            }
        }
        // Beta(1, n) has the closed form 1 - (1 - p)^(1/n).
        for n in [1.0, 4.0, 59.0] {
            let closed = 1.0 - 0.05_f64.powf(1.0 / n);
            assert!((beta_quantile(1.0, n, 0.95) - closed).abs() < 1e-13);
        }
    }
}
