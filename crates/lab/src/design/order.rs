//! Randomised complete blocks: every cell once per block, in an order that the recorded seed alone gives again.
//!
//! The algorithm is part of the record and never changes under one version tag:
//! 1. The key of ChaCha8 is 32 bytes: seed, block index and number of cells, each as 8 little-endian bytes, then the ASCII tag `order-v1`.
//! 2. The block's order starts as 0, 1, 2, … and is shuffled from the end (Fisher-Yates): for i from cells-1 down to 1, swap i with a draw from 0..=i.
//! 3. A draw from 0..n takes 32-bit words of the key stream until one is below the largest multiple of n that fits in 2^32, modulo n.
//!
//! So a block's order depends on nothing but (seed, block, cells): a resumed or longer run continues the same schedule.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

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
    let mut key = [0_u8; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&(block as u64).to_le_bytes());
    key[16..24].copy_from_slice(&(cells as u64).to_le_bytes());
    key[24..].copy_from_slice(ORDER_VERSION.as_bytes());
    let mut words = ChaCha8Rng::from_seed(key);
    let mut order: Vec<usize> = (0..cells).collect();
    for last in (1..cells).rev() {
        order.swap(last, draw_below(last as u64 + 1, &mut words) as usize);
    }
    order
}

/// A uniform draw from 0..n, for 0 < n <= 2^32.
fn draw_below(n: u64, words: &mut ChaCha8Rng) -> u64 {
    let fair = (1_u64 << 32) / n * n;
    loop {
        let word = u64::from(words.next_u32());
        if word < fair {
            return word % n;
        }
    }
}
