//! Looks at the outcomes of one contrast, block by block: the one place where a difference of outcomes is shown or not.
//!
//! The run loop asks it whether more blocks can tell, the answers ask it what was told; both follow the same rule from the first block on, so that
//! blocks which other contrasts needed afterwards change nothing. Which rule it is, the plan fixed before the first launch.

pub mod anytime;

use std::collections::BTreeMap;

use bystander_model::cell::Cell;
use bystander_model::outcome::Outcome;

use self::anytime::AnytimeRule;
use crate::contrast::Contrast;
use crate::design::sequential::{Decision, SequentialRule};
use crate::ledger::{Ledger, TrialRecord};
use crate::plan::{Blocks, Plan, Rule};
use crate::stats::Tally;
use crate::stats::proportion::zero_failure_upper;

/// A decision, when it fell, and from what.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Followed {
    /// The first decision that ends the contrast, or the latest look.
    pub decision: Decision,
    /// The complete blocks at that look.
    pub blocks: u32,
    /// The treated cell's tally at that look.
    pub treated: Tally,
    /// The control's tally at that look.
    pub control: Tally,
    /// The value of the e-process at that look; `None` where the rule is Fisher's.
    pub e_value: Option<f64>,
}

impl Followed {
    /// Whether a difference is shown.
    #[must_use]
    pub const fn is_shown(&self) -> bool {
        matches!(self.decision, Decision::Different { .. })
    }
}

/// Follows a contrast over the blocks that hold both of its cells, at most up to block `last`; `None` at a level that has no rule.
#[must_use]
pub fn follow(ledger: &Ledger, contrast: &Contrast, last: u32) -> Option<Followed> {
    follow_cells(ledger, &contrast.treated, &contrast.control, contrast.alpha, last)
}

/// The same for any two cells and level.
#[must_use]
pub fn follow_cells(ledger: &Ledger, treated: &Cell, control: &Cell, alpha: f64, last: u32) -> Option<Followed> {
    let blocks = paired(ledger, treated, control, last);
    follow_blocks(&blocks, &ledger.plan, alpha)
}

/// Follows outcomes that are given block by block, `(treated, control)`, by the rule of a plan.
#[must_use]
pub fn follow_blocks(blocks: &[(Tally, Tally)], plan: &Plan, alpha: f64) -> Option<Followed> {
    let (decision, at, e_value) = match plan.rule {
        Rule::Fisher => {
            let followed = SequentialRule::new(alpha, plan.blocks.max).ok()?.follow(blocks).ok()?;
            (followed.decision, followed.blocks, None)
        }
        Rule::EValue => {
            let followed = AnytimeRule::new(alpha, plan.blocks.max).ok()?.follow(blocks);
            (followed.decision, followed.blocks, Some(followed.e_value))
        }
    };
    let sum = |side: fn(&(Tally, Tally)) -> Tally| {
        let seen = blocks.iter().take(usize::try_from(at).unwrap_or(usize::MAX)).map(side);
        seen.fold(Tally::default(), |sum, one| sum.plus(one.failures(), one.trials()).unwrap_or(sum))
    };
    Some(Followed { decision, blocks: at, treated: sum(|block| block.0), control: sum(|block| block.1), e_value })
}

/// The outcomes of two cells in every block from the first on that holds both, in order; the first block that does not ends them.
#[must_use]
pub fn paired(ledger: &Ledger, treated: &Cell, control: &Cell, last: u32) -> Vec<(Tally, Tally)> {
    let (treated, control) = (by_block(ledger, treated), by_block(ledger, control));
    (1..=last).map_while(|block| Some((*treated.get(&block)?, *control.get(&block)?))).collect()
}

/// Whether a contrast can be left alone because nothing failed often enough: both cells are without failure, and the failure rate that is not
/// excluded is within the plan's margin. Once true it stays true, however often one looks, as long as nothing fails.
#[must_use]
pub fn is_within_margin(ledger: &Ledger, contrast: &Contrast) -> bool {
    let Some(margin) = ledger.plan.margin else { return false };
    [&contrast.treated, &contrast.control].into_iter().all(|cell| {
        let failed = ledger.data(cell).any(|trial| trial.outcome() != Some(Outcome::Completed));
        let n = u32::try_from(ledger.data(cell).count()).unwrap_or(u32::MAX);
        !failed && n > 0 && zero_failure_upper(n, 0.05).is_ok_and(|bound| bound <= margin)
    })
}

/// The blocks that a rule can use of a plan without end.
#[must_use]
pub fn said_last(blocks: Blocks) -> Option<u32> {
    (!blocks.is_open()).then_some(blocks.max)
}

/// The launches of a cell by block, time-outs counted as failures; an undetermined one counts for nothing, unless another one filled its place.
fn by_block(ledger: &Ledger, cell: &Cell) -> BTreeMap<u32, Tally> {
    let mut blocks = BTreeMap::new();
    for trial in ledger.trials.values().filter(|trial| trial.slot.cell == *cell && trial.slot.block > 0) {
        if let Some(tally) = counted(trial) {
            let known = blocks.entry(trial.slot.block).or_insert(tally);
            if known.trials() == 0 {
                *known = tally;
            }
        }
    }
    blocks
}

fn counted(trial: &TrialRecord) -> Option<Tally> {
    if trial.counts() {
        return Tally::new(u32::from(trial.outcome() != Some(Outcome::Completed)), 1).ok();
    }
    (trial.outcome() == Some(Outcome::Undetermined)).then(Tally::default)
}
