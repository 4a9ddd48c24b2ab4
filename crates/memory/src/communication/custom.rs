//! Buffers of custom all-reduce, and of symmetric memory.
//!
//! Source: SGLang `distributed/device_communicators/custom_all_reduce.py` and `custom_all_reduce_v2.py` (tables of 0.5.23), vLLM
//! `distributed/device_communicators/custom_all_reduce.py` and `symm_mem.py`.

use super::MIB;
use crate::plan::setup::Engine;
use crate::version::Release;

/// Bytes of the older custom all-reduce of a group, and how they come to be.
#[must_use]
pub fn legacy_bytes(engine: Engine, release: Release) -> (u64, String) {
    match engine {
        Engine::Sglang => (24 * MIB + 7_552, "signals and staging of 8 MiB + a buffer of 8 MiB + a table of 8 MiB".to_owned()),
        Engine::Vllm if release >= Release(0, 29, 0) => {
            (32 * MIB, "staging of 8 MiB + a buffer of 16 MiB + a table of 8 MiB; 96 MiB more where multicast works".to_owned())
        }
        Engine::Vllm => (24 * MIB + 2_560, "signals and staging of 8 MiB + a buffer of 8 MiB + a table of 8 MiB".to_owned()),
    }
}

/// Bytes of the second custom all-reduce of SGLang: symmetric memory and memory for graphs. `None` where it does not serve so many ranks.
#[must_use]
pub fn v2_bytes(world: u64, capability: Option<(u8, u8)>) -> Option<(u64, u64)> {
    let tenths = match (world, capability) {
        (2, Some((9 | 10, _))) => 800,
        (3, Some((9, _))) => 340,
        (4, Some((9, _))) => 230,
        (5, Some((9, _))) => 198,
        (6, Some((9, _))) => 183,
        (7, Some((9, _))) => 178,
        (8, Some((9, _))) => 180,
        (3, Some((10, _))) => 640,
        (4, Some((10, _))) => 480,
        (5, Some((10, _))) => 360,
        (6, Some((10, _))) => 310,
        (7, Some((10, _))) => 300,
        (8, Some((10, _))) => 480,
        (16, Some((10, _))) => 240,
        (2, _) => 200,
        (4, _) => 240,
        (8, _) => 320,
        _ => return None,
    };
    Some((tenths * MIB / 10, world * MIB))
}

/// Bytes of torch's symmetric memory as vLLM takes it, by ranks and card.
#[must_use]
pub fn symmetric_bytes(world: u64, capability: Option<(u8, u8)>) -> Option<u64> {
    let mib = match (capability?, world) {
        ((9, 0), 4) => 32,
        ((9, 0), 2 | 6 | 8) => 64,
        ((10, 0), 2) => 8,
        ((10, 0), 4) => 32,
        ((10, 0), 6 | 8) => 128,
        ((10, 3), 2) => 4,
        ((10, 3), 4) => 32,
        ((10, 3), 6 | 8) => 64,
        _ => return None,
    };
    Some(mib * MIB)
}

#[cfg(test)]
mod tests {
    use super::{MIB, symmetric_bytes, v2_bytes};

    #[test]
    fn the_tables_are_those_of_the_kernels() {
        assert_eq!(v2_bytes(8, Some((9, 0))), Some((18 * MIB, 8 * MIB)));
        assert_eq!(v2_bytes(2, Some((10, 0))), Some((80 * MIB, 2 * MIB)));
        assert_eq!(v2_bytes(8, Some((12, 0))), Some((32 * MIB, 8 * MIB)));
        assert_eq!(v2_bytes(6, Some((12, 0))), None);
        assert_eq!(symmetric_bytes(8, Some((9, 0))), Some(64 * MIB));
        assert_eq!(symmetric_bytes(8, None), None);
    }
}
