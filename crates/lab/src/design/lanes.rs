//! Which lane each cell has in each block, where trials of a block run at the same time.
//!
//! A lane is a nuisance like the time of day: another GPU, another socket. Blocks come in turns of as many as there are lanes. In the first block of a turn
//! the cells are dealt out in an order of their own, in each further one every cell moves on by one lane. So within a block no lane has more than
//! one cell more than another, and over a turn every cell was once in every lane. It depends on nothing but (seed, block, cells, lanes).

use super::draw::Draws;

/// The version of the algorithm.
const LANES_VERSION: &str = "lanes-v1";

/// Gives the lane of every cell in one block, both indexed from 0.
#[must_use]
pub fn lanes_of_block(cells: usize, lanes: usize, block: usize, seed: u64) -> Vec<usize> {
    let lanes = lanes.max(1);
    let (turn, moved) = (block / lanes, block % lanes);
    let mut dealt: Vec<usize> = (0..cells).collect();
    Draws::of([seed, turn as u64, cells as u64], LANES_VERSION).shuffle(&mut dealt);
    let mut lane_of = vec![0; cells];
    for (place, cell) in dealt.into_iter().enumerate() {
        lane_of[cell] = (place + moved) % lanes;
    }
    lane_of
}
