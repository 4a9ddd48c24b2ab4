//! How vLLM and what it stands on say that something failed.

use std::sync::LazyLock;

use bystander_model::budget::Figure;
use regex::Regex;

use crate::vllm::amount::{after, amount, amount_after, plain, rounded, whole};

/// A failure by its own words.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Failure {
    /// Nothing is left for the KV cache.
    NoBlocks,
    /// One request of full length does not fit (0.8 on).
    BelowContext { length: f64, need: Figure, available: Figure, estimate: Option<f64> },
    /// The same of the first engine.
    FewTokens { length: f64, tokens: f64 },
    /// The share is not free (0.9 on).
    ShareNotFree { device: Option<u32>, free: Option<Figure>, total: Option<Figure>, share: Option<f64>, requested: Option<Figure> },
    /// Free memory grew during the profile run.
    Grew { initial: Figure, current: Figure },
    /// The sampler's warm-up found no memory.
    Sampler { requests: f64 },
    /// The load of the weights found no memory.
    Load,
    /// No length at all fits.
    NoLength,
    /// More requests than states of a hybrid model.
    States { requests: f64, blocks: f64 },
    /// The decoding of media in the front end takes more than there is.
    MediaReserve { reserve: Option<Figure> },
    /// CUDA found no memory.
    OutOfMemory(OutOfMemory),
    /// A process ended in native code.
    Native(String),
}

/// What torch says of an allocation that failed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct OutOfMemory {
    pub(crate) device: Option<u32>,
    pub(crate) wanted: Option<Figure>,
    pub(crate) total: Option<Figure>,
    pub(crate) free: Option<Figure>,
    /// What this process holds, torch's and all else.
    pub(crate) own: Option<Figure>,
    /// What graphs and the like hold of it, in pools of their own.
    pub(crate) pools: Option<Figure>,
    /// What other processes on the card hold, as far as they are listed.
    pub(crate) listed: Option<Figure>,
}

/// The first failure that a message tells of.
pub(super) fn read(message: &str) -> Option<Failure> {
    let has = |text: &str| message.contains(text);
    if has("No available memory for the cache blocks") {
        return Some(Failure::NoBlocks);
    }
    if has("max seq len (") {
        return below_context(message);
    }
    if has("on startup is less than desired GPU memory utilization") || has("is less than desired GPU memory") {
        return Some(share_not_free(message));
    }
    if let Some(rest) = after(message, "Error in memory profiling. Initial free memory ") {
        return Some(Failure::Grew { initial: amount(rest)?, current: amount_after(rest, "current free memory ")? });
    }
    if let Some(rest) = after(message, "out of memory occurred when warming up sampler with ") {
        return Some(Failure::Sampler { requests: whole(rest)? });
    }
    if has("Failed to load model - not enough GPU memory") {
        return Some(Failure::Load);
    }
    if has("Cannot auto-fit max_model_len") {
        return Some(Failure::NoLength);
    }
    if let Some(rest) = after(message, "max_num_seqs (").filter(|rest| rest.contains("exceeds available Mamba cache blocks")) {
        return Some(Failure::States { requests: whole(rest)?, blocks: after(rest, "cache blocks (").and_then(whole)? });
    }
    if has("frontend multimodal GPU decoding reserves ") {
        return Some(Failure::MediaReserve { reserve: amount_after(message, "decoding reserves ") });
    }
    beneath(message)
}

/// Whether NCCL found no memory for its buffers, which it allocates when ranks first talk to each other.
pub(crate) fn is_nccl(message: &str) -> bool {
    message.contains("Cuda failure") && message.contains("out of memory")
        || message.contains("Failed to CUDA calloc")
        || message.contains("Failed to CUDA malloc")
}

/// What the engine stands on says.
fn beneath(message: &str) -> Option<Failure> {
    let has = |text: &str| message.contains(text);
    let allocation = has("Tried to allocate ") && has(" total capa");
    if allocation || has("CUDA out of memory") || has("OutOfMemoryError") || has("CUDA error: out of memory") || is_nccl(message) {
        return Some(Failure::OutOfMemory(out_of_memory(message)));
    }
    const NATIVE: [&str; 6] =
        ["realloc(): ", "malloc(): ", "free(): ", "double free or corruption", "corrupted size vs. prev_size", "Fatal Python error: "];
    if NATIVE.iter().any(|text| message.starts_with(text)) {
        return Some(Failure::Native(message.chars().take(120).collect()));
    }
    None
}

fn below_context(message: &str) -> Option<Failure> {
    let length = after(message, "max seq len (").and_then(whole)?;
    if let Some(tokens) = after(message, "stored in KV cache (").and_then(whole) {
        return Some(Failure::FewTokens { length, tokens });
    }
    // A bracket was opened in front of the amount and never closed in some versions.
    let need =
        after(message, "max seq len (").and_then(|rest| after(rest, "), ")).map(|rest| rest.trim_start_matches('(')).and_then(amount)?;
    let available = amount_after(message, "available KV cache memory (")?;
    let estimate = after(message, "maximum model length is ").and_then(whole);
    Some(Failure::BelowContext { length, need, available, estimate })
}

fn share_not_free(message: &str) -> Failure {
    let cards = after(message, "Free memory on device").and_then(|rest| after(rest, "("));
    let desired = after(message, "desired GPU memory utilization (");
    Failure::ShareNotFree {
        device: after(message, "on device cuda:").and_then(whole).map(|device| device as u32),
        free: cards.and_then(rounded),
        total: cards.and_then(|rest| after(rest, "/")).and_then(amount),
        share: desired.and_then(plain).filter(|share| *share > 0.0),
        requested: desired.and_then(|rest| after(rest, ", ")).and_then(amount),
    }
}

/// Forms of torch 1.13 to 2.12: `GPU 0 has a total capacity of X of which Y is free`, and before 2.1 `(GPU 0; X total capacity; …; Y free; …)`.
fn out_of_memory(message: &str) -> OutOfMemory {
    static OTHERS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"Process [0-9]+ has ([0-9.]+ [KMG]iB) memory in use").expect("a literal pattern"));
    let device = after(message, "GPU ").and_then(whole).map(|device| device as u32);
    let listed = OTHERS
        .captures_iter(message)
        .filter_map(|found| amount(found.get(1)?.as_str()).or_else(|| amount(&format!("{} ", &found[1]))))
        .reduce(crate::vllm::amount::plus);
    let nccl = || ["calloc ", "malloc "].iter().find_map(|name| after(message, &format!("Failed to CUDA {name}")).and_then(amount));
    let wanted = amount_after(message, "Tried to allocate ").or_else(nccl);
    if let Some(old) = after(message, " total capacity").and(after(message, "GPU ")).filter(|rest| rest.contains(" already allocated")) {
        let before =
            |name: &str| old.split(';').find_map(|part| part.trim().strip_suffix(name)).and_then(|part| amount(&format!("{part} ")));
        let reserved = old.split(';').find(|part| part.contains("reserved in total")).and_then(|part| amount(part.trim_start()));
        return OutOfMemory { device, wanted, total: before(" total capacity"), free: before(" free"), own: reserved, pools: None, listed };
    }
    let total = amount_after(message, "total capacity of ").or_else(|| amount_after(message, "total capacty of "));
    OutOfMemory {
        device,
        wanted,
        total,
        free: amount_after(message, "of which "),
        own: amount_after(message, "this process has "),
        pools: amount_after(message, ", with ").filter(|_| message.contains("private pools")),
        listed,
    }
}

#[cfg(test)]
mod tests {
    use super::{Failure, OutOfMemory, read};

    #[test]
    fn the_engines_own_failures_are_read_in_all_their_forms() {
        assert_eq!(
            read("ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`"),
            Some(Failure::NoBlocks)
        );
        let old = "ValueError: To serve at least one request with the models's max seq len (262144), (24.0 GiB KV cache is needed, which is larger than the available KV cache memory (3.18 GiB). Based on the available memory, the estimated maximum model length is 34736.";
        assert!(matches!(read(old), Some(Failure::BelowContext { length, need, available, estimate: Some(estimate) })
            if length == 262_144.0 && need.value == 24.0 && available.value == 3.18 && estimate == 34_736.0));
        let new = "ValueError: To serve at least one request with the model's max seq len (131072), 8.18 GiB KV cache is needed, which is larger than the available KV cache memory (7.04 GiB). Try increasing";
        assert!(matches!(read(new), Some(Failure::BelowContext { need, estimate: None, .. }) if need.value == 8.18));
        let few = "The model's max seq len (29000) is larger than the maximum number of tokens that can be stored in KV cache (23648).";
        assert_eq!(read(few), Some(Failure::FewTokens { length: 29_000.0, tokens: 23_648.0 }));
        let check = "ValueError: Free memory on device cuda:0 (102.2/121.69 GiB) on startup is less than desired GPU memory utilization (0.87, 105.87 GiB).";
        assert!(
            matches!(read(check), Some(Failure::ShareNotFree { device: Some(0), free: Some(free), share: Some(share), .. }) if free.value == 102.2 && share == 0.87)
        );
        assert!(
            matches!(read("Free memory on device (1.5/22.06 GiB) on startup is less than desired GPU memory utilization (0.9, 19.85 GiB)"),
            Some(Failure::ShareNotFree { device: None, total: Some(total), .. }) if total.value == 22.06)
        );
        assert_eq!(
            read("ValueError: max_num_seqs (1024) exceeds available Mamba cache blocks (969)."),
            Some(Failure::States { requests: 1024.0, blocks: 969.0 })
        );
        assert_eq!(
            read("CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try lowering"),
            Some(Failure::Sampler { requests: 1024.0 })
        );
    }

    #[test]
    fn an_allocation_that_failed_is_read_in_the_forms_of_torch() {
        let new = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 94.97 GiB of which 164.81 MiB is free. Process 7 has 9.00 GiB memory in use. Including non-PyTorch memory, this process has 3.18 GiB memory in use.";
        let Some(Failure::OutOfMemory(oom)) = read(new) else { panic!("an allocation") };
        let gib = |figure: Option<bystander_model::budget::Figure>| figure.map(|figure| (figure.value * 1024.0).round() / 1024.0);
        assert_eq!(
            (oom.device, gib(oom.wanted), oom.total.map(|total| total.value), oom.own.map(|own| own.value)),
            (Some(0), Some(0.5), Some(94.97), Some(3.18))
        );
        assert_eq!(oom.listed.map(|listed| listed.value), Some(9.0));
        let old = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 1; 23.69 GiB total capacity; 22.10 GiB already allocated; 12.25 MiB free; 22.20 GiB reserved in total by PyTorch)";
        let Some(Failure::OutOfMemory(oom)) = read(old) else { panic!("an allocation") };
        assert_eq!((oom.device, oom.total.map(|total| total.value), oom.own.map(|own| own.value)), (Some(1), Some(23.69), Some(22.2)));
        assert!(oom.free.is_some_and(|free| (free.value - 12.25 / 1024.0).abs() < 1e-9));
        assert_eq!(read("torch.OutOfMemoryError"), Some(Failure::OutOfMemory(OutOfMemory::default())));
    }

    #[test]
    fn wrappers_and_ordinary_lines_are_no_failures() {
        assert_eq!(
            read(
                "Exception: WorkerProc initialization failed due to an exception in a background process. See stack trace for root cause."
            ),
            None
        );
        assert_eq!(read("RuntimeError: Engine core initialization failed. See root cause above."), None);
        assert_eq!(read("If out-of-memory error occurs during cudagraph capture, consider decreasing `gpu_memory_utilization`"), None);
        assert_eq!(read("  File \"x.py\", line 3, in ValueError"), None);
        assert_eq!(read("ImportError: libcudart.so.12: cannot open"), None, "the traceback's own reader finds it");
    }
}
