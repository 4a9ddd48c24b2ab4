//! When a contrast of outcomes is decided by an e-process: as soon as its value reaches one over the level, whenever one looks, however long the run.
//!
//! By Ville's inequality the chance that the process of two equal cells ever gets there is at most the level. So there is no cap on looks, a run may
//! be stopped for any reason and taken up again next week, and nothing that was seen is lost.

use crate::design::sequential::Decision;
use crate::stats::evalue::{GAMMA, TwoProportions};
use crate::stats::{StatsError, Tally};

/// The most that one launch of each cell multiplies the value by: each likelihood ratio is at most 2.
const MOST_PER_BLOCK: f64 = 4.0;
/// Rounding of a value that is exactly the threshold must not cost a block.
const ROUNDING: f64 = 1e-9;
/// The most blocks of complete separation that are looked at.
const MOST_NEEDED: u32 = 100;

/// The rule of one contrast.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AnytimeRule {
    threshold: f64,
    last: u32,
}

/// A decision and when it fell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Followed {
    /// The first decision that ends the contrast, or the latest look.
    pub decision: Decision,
    /// The complete blocks at that look.
    pub blocks: u32,
    /// The value of the e-process there.
    pub e_value: f64,
}

impl AnytimeRule {
    /// Makes the rule at a level, for a run of at most `last` blocks.
    ///
    /// # Errors
    /// `alpha` outside (0, 1).
    pub fn new(alpha: f64, last: u32) -> Result<Self, StatsError> {
        if alpha > 0.0 && alpha < 1.0 {
            return Ok(Self { threshold: 1.0 / alpha, last });
        }
        Err(StatsError::OutOfRange { quantity: "alpha", value: alpha, low: 0.0, high: 1.0 })
    }

    /// The fewest blocks in which complete separation gets there; `None` where a hundred do not.
    #[must_use]
    pub fn blocks_needed(&self) -> Option<u32> {
        let (fails, completes) = (Tally::new(1, 1).ok()?, Tally::new(0, 1).ok()?);
        let mut process = TwoProportions::new(GAMMA);
        (1..=MOST_NEEDED).find(|_| process.add(fails, completes) >= self.threshold * (1.0 - ROUNDING))
    }

    /// The value from which on a difference is shown: one over the level.
    #[must_use]
    pub const fn threshold(&self) -> f64 {
        self.threshold
    }

    /// Follows a run block by block, `(arm, control)` per complete block, up to the first look that ends the contrast. Its `p` is one over the
    /// largest value so far: an upper bound of p at any time.
    #[must_use]
    pub fn follow(&self, blocks: &[(Tally, Tally)]) -> Followed {
        let mut process = TwoProportions::new(GAMMA);
        let mut largest = 1.0_f64;
        let mut latest = Followed { decision: self.look(0, 1.0, 1.0), blocks: 0, e_value: 1.0 };
        for (done, (arm, control)) in (1..=self.last).zip(blocks) {
            if !latest.decision.wants_more() {
                break;
            }
            let value = process.add(*arm, *control);
            largest = largest.max(value);
            latest = Followed { decision: self.look(done, value, largest), blocks: done, e_value: value };
        }
        latest
    }

    fn look(&self, done: u32, value: f64, largest: f64) -> Decision {
        let p = (1.0 / largest).min(1.0);
        if value >= self.threshold * (1.0 - ROUNDING) {
            return Decision::Different { p };
        }
        let left = self.last.saturating_sub(done);
        let lacking = (self.threshold / value).ln() / MOST_PER_BLOCK.ln();
        // No value grows faster than this, so a rule that cannot get there is left alone; one that can may still take longer.
        let earliest = if lacking.is_finite() { lacking.ceil().max(1.0) } else { f64::from(u32::MAX) };
        if earliest > f64::from(left) {
            return Decision::CannotReach { p, spared: left };
        }
        Decision::Continue { p, earliest: earliest as u32 }
    }
}
