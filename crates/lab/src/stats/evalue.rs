//! E-processes: evidence that may be looked at, and added to, at any time. Reject at level alpha once the value is at least 1/alpha.

use super::error::{StatsError, check_positive};
use super::tally::Tally;

/// The default prior weight of [`two_proportions`], as in R `safestats`.
pub const GAMMA: f64 = 0.18;

/// Computes the e-process for two proportions: its value after each block.
///
/// Before a block, `theta_g = (S_g + gamma) / (N_g + 2 gamma)` from the earlier blocks alone, and `theta_0` is their average weighted by the block's
/// trials; the value is multiplied by the block's likelihood ratio of (theta_a, theta_b) to theta_0. R. J. Turner, A. Ly, P. D. Grunwald,
/// *Generic E-Variables for Exact Sequential k-Sample Tests that allow for Optional Stopping*, arXiv 2106.02693. Starts at 1 in the first block.
///
/// # Errors
/// `gamma` not positive.
pub fn two_proportions(blocks: &[(Tally, Tally)], gamma: f64) -> Result<Vec<f64>, StatsError> {
    let gamma = check_positive("gamma", gamma)?;
    let mut before = [Counts::default(); 2];
    let mut log_value = 0.0;
    let mut path = Vec::with_capacity(blocks.len());
    for (arm, control) in blocks {
        let theta = [before[0].smoothed(gamma), before[1].smoothed(gamma)];
        let (n1, n2) = (f64::from(arm.trials()), f64::from(control.trials()));
        if n1 + n2 > 0.0 {
            let shared = (n1 * theta[0] + n2 * theta[1]) / (n1 + n2);
            log_value += log_ratio(*arm, theta[0], shared) + log_ratio(*control, theta[1], shared);
        }
        before[0].add(*arm);
        before[1].add(*control);
        path.push(f64::exp(log_value));
    }
    Ok(path)
}

/// Computes the sign e-process: its value after each block, `true` for a positive difference.
///
/// Beta(a, a) mixture over the probability of a positive sign against 1/2: each block multiplies by `2 (c + a) / (k + 2a)`, c being the earlier
/// blocks of the same sign and k the earlier blocks. H. Robbins, Ann. Math. Stat. 41 (1970). With a = 1/2 it passes 20 with the seventh block of one
/// sign.
///
/// # Errors
/// `a` not positive.
pub fn signs(positive: &[bool], a: f64) -> Result<Vec<f64>, StatsError> {
    let a = check_positive("a", a)?;
    let mut seen = [0.0_f64; 2];
    let mut value = 1.0;
    let step = |sign: &bool| {
        let side = usize::from(*sign);
        value *= 2.0 * (seen[side] + a) / (seen[0] + seen[1] + 2.0 * a);
        seen[side] += 1.0;
        value
    };
    Ok(positive.iter().map(step).collect())
}

#[derive(Clone, Copy, Default)]
struct Counts {
    failures: f64,
    trials: f64,
}

impl Counts {
    fn smoothed(self, gamma: f64) -> f64 {
        (self.failures + gamma) / (self.trials + 2.0 * gamma)
    }

    fn add(&mut self, tally: Tally) {
        self.failures += f64::from(tally.failures());
        self.trials += f64::from(tally.trials());
    }
}

fn log_ratio(tally: Tally, theta: f64, shared: f64) -> f64 {
    f64::from(tally.failures()) * (theta / shared).ln() + f64::from(tally.successes()) * ((1.0 - theta) / (1.0 - shared)).ln()
}
