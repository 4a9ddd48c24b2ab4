//! Looks at the outcomes of one contrast, block by block: the one place where a difference of outcomes is shown or not.
//!
//! The run loop asks it whether more blocks can tell, the answers ask it what was told; both follow the same rule from the first block on, so that
//! blocks which other contrasts needed afterwards change nothing.

use bystander_model::cell::Cell;
use bystander_model::outcome::Outcome;

use crate::contrast::Contrast;
use crate::design::sequential::{Followed, SequentialRule};
use crate::ledger::Ledger;
use crate::stats::Tally;

/// Follows a contrast over the blocks that hold both of its cells, at most up to block `last`; `None` at a level that has no rule.
#[must_use]
pub fn follow(ledger: &Ledger, contrast: &Contrast, last: u32) -> Option<Followed> {
    follow_cells(ledger, &contrast.treated, &contrast.control, contrast.alpha, last)
}

/// The same for any two cells and level.
#[must_use]
pub fn follow_cells(ledger: &Ledger, treated: &Cell, control: &Cell, alpha: f64, last: u32) -> Option<Followed> {
    let rule = SequentialRule::new(alpha, ledger.plan.blocks.max).ok()?;
    let blocks: Vec<(Tally, Tally)> =
        (1..=last).map_while(|block| Some((in_block(ledger, treated, block)?, in_block(ledger, control, block)?))).collect();
    rule.follow(&blocks).ok()
}

/// The launch of a cell in a block, time-outs counted as failures; an undetermined one counts for nothing, a missing one ends the looks.
fn in_block(ledger: &Ledger, cell: &Cell, block: u32) -> Option<Tally> {
    let mut here = ledger.trials.values().filter(|trial| trial.slot.block == block && trial.slot.cell == *cell);
    let trial = here.find(|trial| trial.counts() || trial.outcome() == Some(Outcome::Undetermined))?;
    if !trial.counts() {
        return Some(Tally::default());
    }
    Tally::new(u32::from(trial.outcome() != Some(Outcome::Completed)), 1).ok()
}
