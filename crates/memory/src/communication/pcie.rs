//! The workspace of FlashInfer's all-reduce over PCIe.
//!
//! Source: FlashInfer 0.7.4, as SGLang 0.5.21 to 0.5.23 and vLLM 0.33 use it: four slots for each rank, a staged ring, on two ranks a single one, and a pipelined ring.

/// Bytes on each rank for so many rows of so many 16-bit numbers; `None` for a number of ranks that it does not serve.
#[must_use]
pub fn workspace_bytes(world: u64, rows: u64, hidden: u64) -> Option<u64> {
    let payload = rows.checked_mul(hidden)?.checked_mul(2)?;
    // Quarters of the payload: 4 N, the ring, the pipelined ring.
    let quarters = match world {
        2 => 4 * 4 * 2 + 4,
        4 => 4 * 4 * 4 + 6 + 12,
        8 => 4 * 4 * 8 + 7 + 14,
        _ => return None,
    };
    payload.checked_mul(quarters).map(|bytes| bytes / 4)
}

#[cfg(test)]
mod tests {
    use super::workspace_bytes;

    #[test]
    fn the_workspace_is_a_multiple_of_the_payload() {
        let factor = |world| workspace_bytes(world, 1, 2).map(|bytes| bytes as f64 / 4.0);
        assert_eq!((factor(8), factor(4), factor(2), factor(6)), (Some(37.25), Some(20.5), Some(9.0), None));
        let mib = |rows| workspace_bytes(8, rows, 6144).map(|bytes| bytes as f64 / 1_048_576.0);
        assert_eq!((mib(512), mib(2048)), (Some(223.5), Some(894.0)));
        assert!((mib(8192).unwrap_or(0.0) / 1024.0 - 3.49).abs() < 0.01);
        assert_eq!(workspace_bytes(8, u64::MAX, 2), None);
    }
}
