//! Randomised complete blocks: every cell once per block, in an order that the recorded seed alone gives again.
//!
//! The algorithm is part of the record and never changes under one version tag:
//! 1. The stream is that of seed, block index and number of cells under the tag `order-v1` (see `draw`).
//! 2. The block's order starts as 0, 1, 2, … and is shuffled.
//!
//! So a block's order depends on nothing but (seed, block, cells): a resumed or longer run continues the same schedule.

use super::draw::Draws;

/// The version of the algorithm, to be recorded beside the seed.
pub const ORDER_VERSION: &str = "order-v1";

/// Gives the order of the cells in every block; `schedule[b][i]` is the cell launched i-th in block b.
#[must_use]
pub fn schedule(cells: usize, blocks: usize, seed: u64) -> Vec<Vec<usize>> {
    (0..blocks).map(|block| block_order(cells, block, seed)).collect()
}

/// Gives the order of the cells in one block, indexed from 0.
#[must_use]
pub fn block_order(cells: usize, block: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..cells).collect();
    Draws::of([seed, block as u64, cells as u64], ORDER_VERSION).shuffle(&mut order);
    order
}
