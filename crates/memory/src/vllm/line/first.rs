//! The first engine (V0, 0.2 to 0.9): three forms of the same account, one for each generation of its semantics.

use bystander_model::budget::Figure;

use super::Line;
use crate::vllm::amount::{after, amount, amount_after, plain, whole};

/// From 0.6.5: only what this process took is subtracted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum FirstAccount {
    /// `the current vLLM instance can use total_gpu_memory (15.77GiB) x gpu_memory_utilization (0.95) = 14.98GiB`
    Share { total: Figure, share: Option<f64>, requested: Figure },
    /// `model weights take 7.51GiB; non_torch_memory takes 0.39GiB; PyTorch activation peak memory takes 2.53GiB; the rest of the memory reserved for KV Cache is 3.76GiB.`
    Terms { weights: Option<Figure>, non_torch: Option<Figure>, activation: Option<Figure>, kv: Figure },
}

/// Up to 0.6.4: all that is used on the card counts as this process's.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct FirstProfile {
    pub(crate) total: Option<Figure>,
    pub(crate) free: Option<Figure>,
    /// What was used before the profile run, weights included.
    pub(crate) initial: Option<Figure>,
    pub(crate) peak_torch: Option<Figure>,
    pub(crate) non_torch: Option<Figure>,
    /// The peak of all (0.2 to 0.5: `total - free` after the run).
    pub(crate) peak: Option<Figure>,
    pub(crate) kv: Option<Figure>,
    pub(crate) share: Option<f64>,
    /// Bytes of a block of the KV cache.
    pub(crate) block_bytes: Option<f64>,
}

/// Reads what a message says of the first engine's memory.
pub(super) fn read(message: &str, found: &mut Vec<Line>) {
    found.extend(share(message).map(Line::FirstAccount));
    found.extend(terms(message).map(Line::FirstAccount));
    found.extend(profile(message).map(|profile| Line::FirstProfile(Box::new(profile))));
    let blocks = after(message, "# GPU blocks: ").or_else(|| after(message, "# cuda blocks: "));
    found.extend(blocks.and_then(whole).map(|count| Line::Blocks { count, is_first: true }));
    let second = after(message, "after num_gpu_blocks is: ").and_then(whole);
    found.extend(second.map(|count| Line::Blocks { count, is_first: false }));
    if after(message, "num_gpu_blocks: ").is_some_and(|rest| rest.starts_with('-')) {
        found.push(Line::NegativeBlocks);
    }
    if message.contains(" is preempted by ") {
        found.push(Line::Preempted);
    }
}

fn share(message: &str) -> Option<FirstAccount> {
    let rest = after(message, "can use total_gpu_memory (")?;
    // The share was rounded to two decimals, which people rarely exceed.
    let share = after(rest, "gpu_memory_utilization (").and_then(plain);
    Some(FirstAccount::Share { total: amount(rest)?, share, requested: amount_after(rest, ") = ")? })
}

fn terms(message: &str) -> Option<FirstAccount> {
    let kv = amount_after(message, "reserved for KV Cache is ")?;
    Some(FirstAccount::Terms {
        weights: amount_after(message, "model weights take "),
        non_torch: amount_after(message, "non_torch_memory takes "),
        activation: amount_after(message, "activation peak memory takes "),
        kv,
    })
}

fn profile(message: &str) -> Option<FirstProfile> {
    if let Some(rest) = after(message, "Memory profiling results: ") {
        return Some(FirstProfile {
            total: amount_after(rest, "total_gpu_memory="),
            initial: amount_after(rest, "initial_memory_usage="),
            peak_torch: amount_after(rest, "peak_torch_memory="),
            non_torch: amount_after(rest, "non_torch_memory="),
            kv: amount_after(rest, "kv_cache_size="),
            share: after(rest, "gpu_memory_utilization=").and_then(plain),
            ..FirstProfile::default()
        });
    }
    // Printed by hand into the code of 0.2 to 0.5, whose names these are: bytes without a unit.
    let bytes = |name: &str| after(message, name).and_then(whole).filter(|bytes| *bytes >= 1024.0).map(crate::vllm::amount::bytes);
    let profile = FirstProfile {
        total: bytes("total_gpu_memory: "),
        free: bytes("free_gpu_memory: "),
        peak: bytes("peak_memory: "),
        block_bytes: after(message, "cache_block_size: ").and_then(whole).filter(|bytes| *bytes >= 1.0),
        ..FirstProfile::default()
    };
    (profile != FirstProfile::default()).then_some(profile)
}

#[cfg(test)]
mod tests {
    use super::{FirstAccount, Line, read};

    fn lines(message: &str) -> Vec<Line> {
        let mut found = Vec::new();
        read(message, &mut found);
        found
    }

    #[test]
    fn all_three_generations_are_read() {
        let new = lines("the current vLLM instance can use total_gpu_memory (15.77GiB) x gpu_memory_utilization (0.95) = 14.98GiB");
        assert!(matches!(new[..], [Line::FirstAccount(FirstAccount::Share { total, share: Some(share), requested })]
            if total.value == 15.77 && share == 0.95 && requested.value == 14.98));
        let terms = lines(
            "model weights take 7.51GiB; non_torch_memory takes 0.39GiB; PyTorch activation peak memory takes 2.53GiB; the rest of the memory reserved for KV Cache is 3.76GiB.",
        );
        assert!(
            matches!(terms[..], [Line::FirstAccount(FirstAccount::Terms { weights: Some(_), activation: Some(_), kv, .. })] if kv.value == 3.76)
        );
        let old = lines(
            "Memory profiling results: total_gpu_memory=23.58GiB initial_memory_usage=15.34GiB peak_torch_memory=17.98GiB memory_usage_post_profile=15.35GiB non_torch_memory=0.35GiB kv_cache_size=2.89GiB gpu_memory_utilization=0.90",
        );
        assert!(
            matches!(&old[..], [Line::FirstProfile(profile)] if profile.kv.map(|kv| kv.value) == Some(2.89) && profile.share == Some(0.9))
        );
        let negative = lines(
            "Memory profiling results: total_gpu_memory=79.15GiB initial_memory_usage=68.01GiB peak_torch_memory=<G> kv_cache_size=-55.1GiB",
        );
        assert!(
            matches!(&negative[..], [Line::FirstProfile(profile)] if profile.kv.map(|kv| kv.value) == Some(-55.1) && profile.peak_torch.is_none())
        );
        let oldest = lines("free_gpu_memory: 16070606848 total_gpu_memory: 23609475072");
        assert!(matches!(&oldest[..], [Line::FirstProfile(profile)] if profile.total.is_some() && profile.free.is_some()));
        assert_eq!(lines("# GPU blocks: 1478, # CPU blocks: 2048"), [Line::Blocks { count: 1478.0, is_first: true }]);
        assert_eq!(lines("# cuda blocks: 13618, # CPU blocks: 0"), [Line::Blocks { count: 13_618.0, is_first: true }]);
        assert_eq!(lines("num_gpu_blocks: -7816"), [Line::NegativeBlocks]);
        assert!(lines("num_gpu_blocks: 7816").is_empty());
    }
}
