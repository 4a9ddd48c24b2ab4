//! How PyTorch hands out CUDA memory: segments of 2 MiB for small tensors, of 20 MiB for middling ones, whole MiB for large ones.
//!
//! Source: PyTorch `c10/cuda/CUDACachingAllocator.cpp`, with its default settings.

use std::collections::HashMap;

const MIB: u64 = 1 << 20;
/// Every tensor is rounded up to this.
const STEP: u64 = 512;
/// What is at most this large comes from segments of 2 MiB.
const SMALL: u64 = MIB;
const SMALL_SEGMENT: u64 = 2 * MIB;
/// What is smaller than this comes from segments of 20 MiB.
const MIDDLING: u64 = 10 * MIB;
const MIDDLING_SEGMENT: u64 = 20 * MIB;
/// What is larger gets a segment of its own, in steps of this.
const LARGE_STEP: u64 = 2 * MIB;

/// Memory that tensors hold.
#[derive(Debug, Default)]
pub(super) struct Allocator {
    fused: HashMap<u64, u64>,
    alone: Vec<u64>,
}

impl Allocator {
    /// Adds bytes to the parameter with this key.
    pub(super) fn put(&mut self, key: u64, bytes: u64) {
        let held = self.fused.entry(key).or_default();
        *held = held.saturating_add(bytes);
    }

    /// Takes a tensor of its own.
    pub(super) fn take(&mut self, bytes: u64) {
        self.alone.push(bytes);
    }

    /// Bytes of all segments.
    pub(super) fn held(&self) -> u64 {
        let mut sizes: Vec<u64> = self.fused.values().chain(&self.alone).map(|bytes| bytes.div_ceil(STEP).saturating_mul(STEP)).collect();
        // The largest first: the result does not hang on the order of a hash.
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        let (mut large, mut small) = (0_u64, 0_u64);
        let mut open: Vec<u64> = Vec::new();
        let mut middling = 0;
        for size in sizes {
            if size <= SMALL {
                small += size;
            } else if size >= MIDDLING {
                large = large.saturating_add(size.div_ceil(LARGE_STEP).saturating_mul(LARGE_STEP));
            } else if let Some(room) = open.iter_mut().find(|room| **room >= size) {
                *room -= size;
            } else {
                middling += MIDDLING_SEGMENT;
                open.push(MIDDLING_SEGMENT - size);
                // What is nearly full takes nothing more.
                open.retain(|room| *room > SMALL);
            }
        }
        // The first small segment is there before the weights are.
        let small = small.div_ceil(SMALL_SEGMENT).saturating_sub(1) * SMALL_SEGMENT;
        large.saturating_add(middling).saturating_add(small)
    }
}

#[cfg(test)]
mod tests {
    use super::{Allocator, MIB};

    #[test]
    fn memory_comes_in_segments() {
        let held = |sizes: &[u64]| {
            let mut allocator = Allocator::default();
            sizes.iter().for_each(|size| allocator.take(*size));
            allocator.held() / MIB
        };
        assert_eq!(held(&[]), 0);
        assert_eq!(held(&[1]), 0);
        assert_eq!(held(&[MIB, MIB, MIB]), 2);
        assert_eq!(held(&[4 * MIB]), 20);
        assert_eq!(held(&[4 * MIB, 8 * MIB, 8 * MIB]), 20);
        assert_eq!(held(&[11 * MIB]), 12);
        assert_eq!(held(&[501 * MIB, 1, MIB]), 502);
    }
}
