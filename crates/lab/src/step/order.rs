//! The order of the cells in one block, and the lane of each, from the plan and the seed alone.

use crate::design::lanes::lanes_of_block;
use crate::design::{order, williams};
use crate::plan::{Expect, Kind, Plan};

/// A cell at its place in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Placed {
    /// Its position, from 1.
    pub(super) position: u32,
    /// Its index among the cells of the plan.
    pub(super) cell: usize,
    /// Its lane, from 1.
    pub(super) lane: u32,
}

/// Gives every cell of a block, counted from 1, in the order of launches.
pub(super) fn of_block(plan: &Plan, seed: u64, block: u32) -> Vec<Placed> {
    let (cells, index) = (plan.cells.len(), block.saturating_sub(1) as usize);
    let lanes = lanes_of_block(cells, plan.lane_count() as usize, index, seed);
    let lane = |cell: usize| u32::try_from(lanes[cell]).unwrap_or(0).saturating_add(1);
    (1..).zip(cells_of_block(plan, seed, index)).map(|(position, cell)| Placed { position, cell, lane: lane(cell) }).collect()
}

/// The order by the kind of the plan. Where no gate launches the baseline first, it comes before the first edited cell of the first block: whether what an
/// edit left is gone can only be told against a launch before it. It changes places with that cell or, in a Williams design, whose rows stay as they
/// are, the first block does with one that has it so.
fn cells_of_block(plan: &Plan, seed: u64, index: usize) -> Vec<usize> {
    let cells = plan.cells.len();
    match plan.kind {
        Kind::Blocks | Kind::Aa => {
            let mut row = order::block_order(cells, index, seed);
            if let Some((edited, baseline)) = edited_first(plan, &row).filter(|_| index == 0) {
                row.swap(edited, baseline);
            }
            row
        }
        Kind::Williams => {
            let length = williams::blocks_of_cycle(cells);
            let mut rows = williams::cycle(cells, index / length, seed);
            let other = rows.iter().position(|row| edited_first(plan, row).is_none());
            if let Some(other) = other.filter(|_| index < length) {
                rows.swap(0, other);
            }
            rows.swap_remove(index % length)
        }
    }
}

/// The places of an edited cell and of the baseline after it, where the first edit would come too early.
fn edited_first(plan: &Plan, row: &[usize]) -> Option<(usize, usize)> {
    if plan.expect != Expect::Any {
        return None;
    }
    let baseline = row.iter().position(|cell| plan.cells[*cell] == plan.baseline)?;
    let edited = row.iter().position(|cell| plan.edits_of(&plan.cells[*cell]).next().is_some())?;
    (edited < baseline).then_some((edited, baseline))
}
