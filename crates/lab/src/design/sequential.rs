//! When a contrast of outcomes is decided: two-sided Fisher, looked at after every complete block up to a cap, and curtailment.
//! The rates of false positives that this costs are enumerated in `stats::peeking`.

use crate::stats::fisher::{fisher, reaches, two_sided_given_total};
use crate::stats::peeking::{FIRST_LOOK, cap};
use crate::stats::{StatsError, Tally};

/// What a look says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Decision {
    /// The arms differ at the rule's level: stop.
    Different {
        /// Fisher's two-sided p at this look.
        p: f64,
    },
    /// Not yet, and a later look can still decide.
    Continue {
        /// Fisher's two-sided p so far.
        p: f64,
        /// The fewest further blocks after which some outcome would decide.
        earliest: u32,
    },
    /// No outcome of the remaining blocks can decide any more, or none remain: more blocks are of no use to this contrast.
    CannotReach {
        /// Fisher's two-sided p so far.
        p: f64,
        /// The planned blocks that need not be run.
        spared: u32,
    },
}

impl Decision {
    /// Tells whether the contrast wants another block.
    #[must_use]
    pub const fn wants_more(&self) -> bool {
        matches!(self, Decision::Continue { .. })
    }

    /// Fisher's two-sided p at this look.
    #[must_use]
    pub const fn p(&self) -> f64 {
        match self {
            Decision::Different { p } | Decision::Continue { p, .. } | Decision::CannotReach { p, .. } => *p,
        }
    }
}

/// A decision and when it fell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Followed {
    /// The first decision that ends the contrast, or the latest look.
    pub decision: Decision,
    /// The complete blocks at that look.
    pub blocks: u32,
}

/// The rule of one contrast: its level and its last look, fixed before the first launch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SequentialRule {
    alpha: f64,
    last_look: u32,
}

impl SequentialRule {
    /// Makes the rule for a plan of at most `planned` blocks; the last look is the lesser of the plan and the cap of `alpha`.
    ///
    /// # Errors
    /// `alpha` outside (0, 1).
    pub fn new(alpha: f64, planned: u32) -> Result<Self, StatsError> {
        Ok(Self { alpha, last_look: planned.min(cap(alpha)?) })
    }

    /// The level.
    #[must_use]
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The last block after which the rule looks.
    #[must_use]
    pub const fn last_look(&self) -> u32 {
        self.last_look
    }

    /// Looks at both arms' tallies after `blocks` complete blocks.
    ///
    /// An arm's trials may be fewer than the blocks, where outcomes stayed undetermined. Curtailment enumerates all outcomes of the remaining blocks, each
    /// with one launch per arm. Before the second block and after the last look nothing is ever `Different`.
    #[must_use]
    pub fn look(&self, blocks: u32, arm: Tally, control: Tally) -> Decision {
        let p = fisher(arm, control).two_sided;
        if (FIRST_LOOK..=self.last_look).contains(&blocks) && reaches(p, self.alpha) {
            return Decision::Different { p };
        }
        let left = self.last_look.saturating_sub(blocks);
        let first = FIRST_LOOK.saturating_sub(blocks).max(1);
        match (first..=left).find(|more| self.can_decide(*more, arm, control)) {
            Some(earliest) => Decision::Continue { p, earliest },
            None => Decision::CannotReach { p, spared: left },
        }
    }

    /// Follows a run block by block, `(arm, control)` per complete block, and gives the first look that ends the contrast.
    ///
    /// Blocks that other contrasts needed after that change nothing: the same record gives the same decision, resumed or not.
    ///
    /// # Errors
    /// More trials than a [`Tally`] holds.
    pub fn follow(&self, blocks: &[(Tally, Tally)]) -> Result<Followed, StatsError> {
        let (mut arm, mut control) = (Tally::default(), Tally::default());
        let mut latest = Followed { decision: self.look(0, arm, control), blocks: 0 };
        for (done, (first, second)) in (1..).zip(blocks) {
            if !latest.decision.wants_more() {
                break;
            }
            arm = arm.plus(first.failures(), first.trials())?;
            control = control.plus(second.failures(), second.trials())?;
            latest = Followed { decision: self.look(done, arm, control), blocks: done };
        }
        Ok(latest)
    }

    /// Whether some outcome of exactly `more` further launches per arm reaches the level.
    fn can_decide(&self, more: u32, arm: Tally, control: Tally) -> bool {
        let before = arm.failures() + control.failures();
        (0..=2 * more).any(|failures| {
            let (first, p) = two_sided_given_total(arm.trials() + more, control.trials() + more, before + failures);
            // Of these failures the first arm takes what the second cannot, at least, and its own launches, at most.
            let least = arm.failures() + failures.saturating_sub(more);
            let most = arm.failures() + failures.min(more);
            (least..=most).any(|a| p.get((a - first) as usize).is_some_and(|p| reaches(*p, self.alpha)))
        })
    }
}
