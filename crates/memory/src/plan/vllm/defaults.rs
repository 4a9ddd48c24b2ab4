//! What vLLM takes where nothing is said, by release and card.

use crate::plan::setup::Setup;
use crate::version::Release;

/// Tokens of one step, and where they come from.
pub(super) struct Chunk {
    pub(super) tokens: u64,
    pub(super) why: String,
}

/// `max_num_batched_tokens` of the API server.
///
/// Source: vLLM `engine/arg_utils.py: get_batch_defaults`.
pub(super) fn chunk(setup: &Setup, release: Release) -> Chunk {
    if let Some(tokens) = setup.chunk {
        return Chunk { tokens, why: format!("max_num_batched_tokens {tokens}, as asked") };
    }
    let Some(gpu) = &setup.gpu else {
        return Chunk { tokens: 8192, why: "max_num_batched_tokens 8192, the default of large cards".to_owned() };
    };
    let gib = gpu.smi_mib / 1024.0;
    let tokens = match gib {
        _ if gpu.is_a100() || gib < 70.0 => 2048,
        160.0.. if release >= Release(0, 29, 0) => 16_384,
        _ => 8192,
    };
    Chunk { tokens, why: format!("max_num_batched_tokens {tokens}, the default of this card") }
}

/// `max_num_seqs` of the API server.
pub(super) fn requests(setup: &Setup) -> u64 {
    let usual = || {
        let is_large = setup.gpu.as_ref().is_some_and(|gpu| gpu.smi_mib / 1024.0 >= 70.0 && !gpu.is_a100());
        if is_large { 1024 } else { 256 }
    };
    setup.requests.unwrap_or_else(usual)
}

/// Tokens that are scheduled and not settled yet: one step, two with asynchronous scheduling.
pub(super) fn in_flight(setup: &Setup, release: Release, chunk: u64) -> u64 {
    let batches = if release >= Release(0, 29, 0) { setup.pipeline + 1 } else { 1 };
    chunk * batches
}

/// `gpu_memory_utilization`.
pub(super) fn fraction(release: Release) -> f64 {
    if release >= Release(0, 22, 0) { 0.92 } else { 0.9 }
}
