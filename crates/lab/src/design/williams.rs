//! Williams designs: fixed orders that balance what one launch leaves to the next. The randomised order belongs to `order`.
//!
//! Which cell is which of the design, and in which order its rows are run, is drawn from the recorded seed, anew for every cycle of rows. What the
//! last launch of a block leaves to the first of the next is left to chance.

use super::draw::Draws;

/// The version of the algorithm.
const WILLIAMS_VERSION: &str = "willi-v1";

/// Gives the rows of a Williams design for `cells` cells: each cell once per row and equally often in each place, and each ordered pair of
/// neighbours equally often.
///
/// First row 0, 1, n-1, 2, n-2, …; row i adds i modulo n; for an odd number of cells the reversed rows follow. E. J. Williams, Aust. J. Sci. Res. A 2
/// (1949). One row per cell, or two if odd.
#[must_use]
pub fn rows(cells: usize) -> Vec<Vec<usize>> {
    let first: Vec<usize> = (0..cells).map(|place| if place % 2 == 1 { place.div_ceil(2) } else { (cells - place / 2) % cells }).collect();
    let forth: Vec<Vec<usize>> = (0..cells).map(|shift| first.iter().map(|cell| (cell + shift) % cells).collect()).collect();
    let back = forth.iter().filter(|_| cells % 2 == 1 && cells > 1).map(|row| row.iter().rev().copied().collect());
    forth.iter().cloned().chain(back).collect()
}

/// Gives the number of rows of a design: the blocks after which it is balanced.
#[must_use]
pub fn blocks_of_cycle(cells: usize) -> usize {
    if cells % 2 == 1 && cells > 1 { 2 * cells } else { cells.max(1) }
}

/// Gives the order of the cells in every block; block b depends on nothing but (seed, b, cells).
#[must_use]
pub fn schedule(cells: usize, blocks: usize, seed: u64) -> Vec<Vec<usize>> {
    let length = blocks_of_cycle(cells);
    (0..blocks.div_ceil(length)).flat_map(|number| cycle(cells, number, seed)).take(blocks).collect()
}

/// Gives the rows of one cycle, counted from 0, as they are run.
#[must_use]
pub fn cycle(cells: usize, number: usize, seed: u64) -> Vec<Vec<usize>> {
    let mut draws = Draws::of([seed, number as u64, cells as u64], WILLIAMS_VERSION);
    let mut names: Vec<usize> = (0..cells).collect();
    draws.shuffle(&mut names);
    let mut rows = rows(cells);
    draws.shuffle(&mut rows);
    rows.into_iter().map(|row| row.into_iter().map(|cell| names[cell]).collect()).collect()
}
