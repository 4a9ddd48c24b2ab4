//! E-processes: evidence that may be looked at, and added to, at any time. Reject at level alpha once the value is at least 1/alpha.

mod power;

use super::combinatorics::ln_choose;
use super::error::{StatsError, check_open_unit, check_positive};
use super::nuisance::NullProbability;
use super::tally::Tally;

pub use power::{MAX_BLOCKS, blocks_for_power};

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
    let mut process = TwoProportions::new(check_positive("gamma", gamma)?);
    Ok(blocks.iter().map(|(arm, control)| process.add(*arm, *control)).collect())
}

/// The e-process of [`two_proportions`], block by block.
#[derive(Debug, Clone, Copy)]
pub struct TwoProportions {
    gamma: f64,
    before: [Counts; 2],
    log_value: f64,
}

impl TwoProportions {
    /// Starts before the first block, with the value 1; `gamma` is positive.
    #[must_use]
    pub const fn new(gamma: f64) -> Self {
        Self { gamma, before: [Counts { failures: 0.0, trials: 0.0 }; 2], log_value: 0.0 }
    }

    /// Takes the next block and gives the value after it.
    pub fn add(&mut self, arm: Tally, control: Tally) -> f64 {
        let theta = [self.before[0].smoothed(self.gamma), self.before[1].smoothed(self.gamma)];
        let (n1, n2) = (f64::from(arm.trials()), f64::from(control.trials()));
        if n1 + n2 > 0.0 {
            let shared = (n1 * theta[0] + n2 * theta[1]) / (n1 + n2);
            self.log_value += log_ratio(arm, theta[0], shared) + log_ratio(control, theta[1], shared);
        }
        self.before[0].add(arm);
        self.before[1].add(control);
        self.log_value.exp()
    }
}

/// The most blocks whose every outcome [`worst_case`] goes through.
pub const MOST_ENUMERATED: u32 = 12;

/// Computes the worst-case false-positive rate of "the e-process reaches `1/alpha` within `blocks` blocks of one launch per arm".
///
/// Exact: every sequence of outcomes is gone through; those that get there are counted by their total of failures, and the largest probability over the
/// arms' common failure rate is taken. By Ville's inequality it is at most `alpha` for any number of blocks; this shows it for few.
///
/// # Errors
/// `alpha` outside (0, 1), or more than [`MOST_ENUMERATED`] blocks.
pub fn worst_case(alpha: f64, blocks: u32) -> Result<f64, StatsError> {
    check_open_unit("alpha", alpha)?;
    if blocks > MOST_ENUMERATED {
        return Err(StatsError::TooMany { most: u64::from(MOST_ENUMERATED), given: u64::from(blocks) });
    }
    let outcomes = [Tally::new(0, 1)?, Tally::new(1, 1)?];
    let mut rejected = vec![0.0; 2 * blocks as usize + 1];
    go(TwoProportions::new(GAMMA), &outcomes, (1.0 / alpha).ln() - 1e-9, 0, blocks, &mut rejected);
    let launches = 2 * blocks;
    let share = |(total, paths): (u32, &f64)| (paths.ln() - ln_choose(launches, total)).exp().min(1.0);
    Ok(NullProbability::new((0..).zip(&rejected).map(share).collect()).sup())
}

/// Goes through every outcome of the blocks that are left, and counts by failures the sequences that get there at some block.
fn go(process: TwoProportions, outcomes: &[Tally; 2], threshold: f64, failures: u32, left: u32, rejected: &mut [f64]) {
    if process.log_value >= threshold {
        // However it goes on, it got there: all continuations are counted at once.
        for more in 0..=2 * left {
            rejected[(failures + more) as usize] += ln_choose(2 * left, more).exp().round();
        }
        return;
    }
    if left == 0 {
        return;
    }
    for arm in outcomes {
        for control in outcomes {
            let mut next = process;
            next.add(*arm, *control);
            go(next, outcomes, threshold, failures + arm.failures() + control.failures(), left - 1, rejected);
        }
    }
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

#[derive(Debug, Clone, Copy)]
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
