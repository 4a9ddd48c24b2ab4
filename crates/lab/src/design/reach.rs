//! What a plan can reach: the share of alpha of each contrast, and whether its blocks allow a decision at all. Decisions belong to `sequential`.

use crate::stats::fisher::{fisher, reaches};
use crate::stats::peeking::{FIRST_LOOK, MAX_BLOCKS, cap, worst_case};
use crate::stats::{StatsError, Tally};

/// The fixed divisor of alpha for each instrument contrast: on the baseline, on the treatment, and their interaction.
pub const INSTRUMENT_SHARE: u32 = 3;

/// Gives the level of one instrument contrast: a third of `alpha`, fixed before, because Holm's steps would need all p-values at once.
#[must_use]
pub fn instrument_alpha(alpha: f64) -> f64 {
    alpha / f64::from(INSTRUMENT_SHARE)
}

/// Gives the level of the contrast of one of `levels` non-baseline levels with the baseline: `alpha / levels` (Bonferroni); none counts as one.
#[must_use]
pub fn level_alpha(alpha: f64, levels: u32) -> f64 {
    alpha / f64::from(levels.max(1))
}

/// What a contrast of outcomes can reach in a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reach {
    /// The level of the contrast.
    pub alpha: f64,
    /// The blocks that the plan allows at most.
    pub planned: u32,
    /// The last block after which the contrast may be looked at: the lesser of the plan and the cap.
    pub last_look: u32,
    /// The most blocks that looking after each keeps at the level.
    pub cap: u32,
    /// The fewest blocks in which complete separation reaches the level.
    pub needed: u32,
    /// The worst-case false-positive rate of the plan, all looks together.
    pub worst_case: f64,
    /// Whether the plan can reach the level at all.
    pub attainable: bool,
}

/// Computes what a contrast at `alpha` can reach in at most `planned` blocks, looked at after every block from the second on.
///
/// # Errors
/// `alpha` outside (0, 1).
pub fn reach(alpha: f64, planned: u32) -> Result<Reach, StatsError> {
    let cap = cap(alpha)?;
    let last_look = planned.min(cap);
    let needed = blocks_needed(alpha)?;
    Ok(Reach { alpha, planned, last_look, cap, needed, worst_case: worst_case(alpha, last_look)?, attainable: needed <= last_look })
}

/// Tells whether a plan of `blocks` blocks can reach `alpha`: whether complete separation would.
///
/// # Errors
/// `alpha` outside (0, 1).
pub fn attainable(alpha: f64, blocks: u32) -> Result<bool, StatsError> {
    Ok(blocks_needed(alpha)? <= blocks.min(cap(alpha)?))
}

/// Gives the fewest blocks, at least two, in which complete separation reaches `alpha`: least n with `2 / C(2n, n) <= alpha`.
///
/// # Errors
/// `alpha` outside (0, 1), or so small that 100 blocks do not reach it.
pub fn blocks_needed(alpha: f64) -> Result<u32, StatsError> {
    if !(alpha > 0.0 && alpha < 1.0) {
        return Err(StatsError::OutOfRange { quantity: "alpha", value: alpha, low: 0.0, high: 1.0 });
    }
    for n in FIRST_LOOK..=MAX_BLOCKS {
        if reaches(fisher(Tally::new(n, n)?, Tally::new(0, n)?).two_sided, alpha) {
            return Ok(n);
        }
    }
    Err(StatsError::OutOfRange { quantity: "alpha", value: alpha, low: f64::MIN_POSITIVE, high: 1.0 })
}
