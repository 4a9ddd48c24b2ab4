//! Draws that a recorded seed gives again: a stream of numbers for each purpose, and for each place of a run in it.
//!
//! The algorithm is part of the record and never changes under one tag: the key of ChaCha8 is 32 bytes, three numbers of 8 little-endian bytes each and
//! a tag of 8 ASCII letters; a draw from 0..n takes 32-bit words of its stream until one is below the largest multiple of n that fits in 2^32, modulo n.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// One stream of draws.
#[derive(Debug, Clone)]
pub(crate) struct Draws(ChaCha8Rng);

impl Draws {
    /// Begins the stream of three numbers under a tag of 8 letters.
    pub(crate) fn of(numbers: [u64; 3], tag: &str) -> Self {
        let mut key = [0_u8; 32];
        for (part, number) in key.chunks_exact_mut(8).zip(numbers) {
            part.copy_from_slice(&number.to_le_bytes());
        }
        for (part, letter) in key[24..].iter_mut().zip(tag.bytes()) {
            *part = letter;
        }
        Self(ChaCha8Rng::from_seed(key))
    }

    /// Draws uniformly from 0..n, for 0 < n <= 2^32.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        let fair = (1_u64 << 32) / n * n;
        loop {
            let word = u64::from(self.0.next_u32());
            if word < fair {
                return word % n;
            }
        }
    }

    /// Shuffles from the end (Fisher-Yates): for i from the last down to 1, the i-th changes places with a draw from 0..=i.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}
