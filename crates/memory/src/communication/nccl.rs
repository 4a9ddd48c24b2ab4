//! Buffers of NCCL: one set for each channel of each connection to a peer.
//!
//! Source: NCCL 2.30 `src/include/comm.h`, `device.h`, `transport`: buffers of the protocols LL, LL128 and Simple, rounded up to 2 MiB of device memory.

/// Buffer of LL: 8 steps, 512 threads, 8 lines of 16 bytes.
const LL: u64 = 8 * 512 * 8 * 16;
/// Buffer of LL128: 120 elements, 640 threads, 8 steps of 8 bytes.
const LL128: u64 = 120 * 640 * 8 * 8;
/// Buffer of Simple, `NCCL_BUFFSIZE`.
const SIMPLE: u64 = 4 << 20;
/// Device memory comes in steps of this.
const STEP: u64 = 2 << 20;

/// Bytes of one channel of one connection with default settings: the 10,485,760 of "failed to CUDA calloc".
pub const CONNECTION_BYTES: u64 = connection_bytes(SIMPLE);

/// Bytes of one channel of one connection with another `NCCL_BUFFSIZE`.
#[must_use]
pub const fn connection_bytes(simple: u64) -> u64 {
    (LL + LL128 + simple).div_ceil(STEP) * STEP
}

/// Whether an amount is a whole number of connections: then NCCL is a likely owner. Returns how many.
#[must_use]
pub fn is_connections(bytes: u64) -> Option<u64> {
    (bytes > 0 && bytes.is_multiple_of(CONNECTION_BYTES)).then_some(bytes / CONNECTION_BYTES)
}

#[cfg(test)]
mod tests {
    use super::{CONNECTION_BYTES, LL, LL128, SIMPLE, is_connections};

    #[test]
    fn a_connection_takes_ten_mebibytes() {
        assert_eq!((LL, LL128, SIMPLE), (524_288, 4_915_200, 4_194_304));
        assert_eq!(LL + LL128 + SIMPLE, 9_633_792);
        assert_eq!(CONNECTION_BYTES, 10_485_760);
        assert_eq!(is_connections(31_457_280), Some(3));
        assert_eq!(is_connections(31_457_281), None);
        assert_eq!(is_connections(0), None);
    }
}
