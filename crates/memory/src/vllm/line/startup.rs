//! The start of the second engine (V1, 0.8 to 0.33) as it logs it.

use std::sync::LazyLock;

use bystander_model::budget::Figure;
use regex::Regex;

use super::{Line, Step};
use crate::vllm::amount::{after, amount, amount_after, bytes, plain, rounded, whole};
use crate::vllm::arguments::Arguments;

/// The engine's account of its start (a debug line in 0.11 to 0.25, information since).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Account {
    /// Free memory at the snapshot.
    pub(crate) free: Figure,
    /// The card.
    pub(crate) total: Figure,
    /// `gpu_memory_utilization`.
    pub(crate) share: f64,
    /// The share of the card.
    pub(crate) requested: Figure,
    /// Weights alone (up to 0.25).
    pub(crate) weights: Option<Figure>,
    /// Weights and all that is not torch's (since).
    pub(crate) consumed: Option<Figure>,
    /// The peak of activations above that.
    pub(crate) activation: Option<Figure>,
    /// What is not torch's (up to 0.25).
    pub(crate) non_torch: Option<Figure>,
    /// Graphs as captured.
    pub(crate) graphs: Option<Figure>,
    /// The KV cache in use.
    pub(crate) kv: Option<Figure>,
    /// What it suggests to stay within the share.
    pub(crate) to_fit: Option<Suggestion>,
    /// What it suggests to use all that was free.
    pub(crate) to_fill: Option<Suggestion>,
}

/// A size of the KV cache that the engine suggests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Suggestion {
    /// In bytes.
    pub(crate) bytes: f64,
}

impl Suggestion {
    /// In GiB, exactly.
    pub(crate) fn gib(self) -> Figure {
        bytes(self.bytes)
    }
}

/// What the profile run measured, as far as a line says.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Profile {
    pub(crate) total: Option<Figure>,
    pub(crate) free: Option<Figure>,
    pub(crate) share: Option<f64>,
    pub(crate) requested: Option<Figure>,
    pub(crate) not_kv: Option<Figure>,
    pub(crate) activation: Option<Figure>,
    pub(crate) non_torch: Option<Figure>,
    pub(crate) consumed: Option<Figure>,
    pub(crate) weights: Option<Figure>,
}

/// Reads what a message says of a start.
pub(super) fn read(message: &str, found: &mut Vec<Line>) {
    version(message, found);
    configuration(message, found);
    steps(message, found);
    sizes(message, found);
    graphs(message, found);
    found.extend(account(message).map(|account| Line::Account(Box::new(account))));
    found.extend(profile(message).map(Line::Profile));
    host(message, found);
}

fn version(message: &str, found: &mut Vec<Line>) {
    static STATED: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?:LLM engine \(|version )v?([0-9]+\.[0-9]+[0-9A-Za-z_.+]*)").expect("a literal pattern"));
    // The logo's second line ends in the version; nothing else of the text says whose it is.
    let logo = message.contains('\u{2588}') && message.contains("version ");
    let ours = message.contains("LLM engine (v") || message.contains("vLLM API server version") || message.contains("vLLM server version");
    if ours || logo {
        if let Some(version) = STATED.captures(message).map(|found| found[1].trim_end_matches('.').chars().take(80).collect()) {
            found.push(Line::Version(version));
        }
        found.push(if message.contains("LLM engine (v") { Line::EngineBegins } else { Line::Begins });
    }
}

fn configuration(message: &str, found: &mut Vec<Line>) {
    let config = ["non-default args: ", "args: Namespace(", " with config: "]
        .into_iter()
        .find_map(|name| after(message, name).map(|rest| (name, rest)));
    if let Some((name, rest)) = config.filter(|(name, _)| *name != " with config: " || message.contains("LLM engine (v")) {
        found.push(Line::Configuration(Box::new(Arguments::printed(rest, name == "non-default args: "))));
    }
    if let Some(command) = Arguments::typed(message) {
        found.push(Line::Command(Box::new(command)));
    }
    if let Some(name) = after(message, "Resolved architecture: ") {
        found.push(Line::Architecture(name.trim().chars().take(80).collect()));
    }
    if message.starts_with("Setting attention block size to")
        || message.contains("padding layers, may waste")
        || message.contains("Mamba page size")
        || message.contains("to fit Mamba cache blocks")
    {
        found.push(Line::Hybrid);
    }
}

/// Texts that begin a step, and which.
const STEPS: [(&str, Step); 20] = [
    ("vLLM is using nccl==", Step::Parallel),
    ("Starting to load model", Step::Weights),
    ("Loading model from scratch", Step::Weights),
    ("Loading model weights", Step::Weights),
    ("Loading weights took", Step::Weights),
    ("Loading drafter model", Step::Weights),
    ("oading safetensors checkpoint shards", Step::Weights),
    ("Model loading took", Step::Profile),
    ("torch.compile takes", Step::Profile),
    ("torch.compile took", Step::Profile),
    ("Profiling CUDA graph memory", Step::Profile),
    ("KV cache size: ", Step::Pools),
    // The first engine checks the length of requests after these lines.
    ("# GPU blocks:", Step::Profile),
    ("# cuda blocks:", Step::Profile),
    ("Capturing CUDA graph", Step::Graphs),
    ("Capturing cudagraphs", Step::Graphs),
    ("cuda graph addresses", Step::Graphs),
    ("Graph capturing finished", Step::Captured),
    ("init engine (profile, create kv cache, warmup model) took", Step::Warm),
    ("on startup. Desired GPU memory utilization is", Step::Warm),
];

fn steps(message: &str, found: &mut Vec<Line>) {
    found.extend(STEPS.into_iter().filter(|(text, _)| message.contains(text)).map(|(_, step)| Line::Begun(step)));
    // The first engine says after the weights what they took.
    if message.starts_with("Loading model weights took") {
        found.push(Line::Begun(Step::Profile));
    }
    let serving = message.contains("Application startup complete")
        || message.starts_with("Avg prompt throughput:")
        || message.contains(" throughput: ") && message.contains("KV cache usage:");
    if serving {
        found.push(Line::Serving);
    }
}

/// Whether graphs are inside of the share.
fn graphs(message: &str, found: &mut Vec<Line>) {
    if message.contains("CUDA graph memory profiling is disabled") || message.contains("CUDA graph memory profiling will be enabled") {
        found.push(Line::GraphsOutside);
    }
    if message.starts_with("Using V2 Model Runner") {
        found.push(Line::SecondRunner);
    }
}

fn sizes(message: &str, found: &mut Vec<Line>) {
    let weights = amount_after(message, "Model loading took ").or_else(|| amount_after(message, "Loading model weights took "));
    found.extend(weights.map(Line::Weights));
    found.extend(amount_after(message, "Estimated CUDA graph memory: ").map(Line::GraphsEstimated));
    if message.contains("Graph capturing finished") {
        found.extend(
            amount_after(message, "took ").or_else(|| amount_after(after(message, "secs, ").unwrap_or(""), "took ")).map(Line::GraphsTook),
        );
    }
    if let Some(rest) = after(message, "CUDA graph pool memory: ") {
        found.extend(amount(rest).map(Line::GraphsTook));
        found.extend(after(rest, "(actual), ").and_then(amount).map(Line::GraphsEstimated));
    }
    found.extend(equivalent(message));
    found.extend(amount_after(message, "Available KV cache memory: ").map(Line::Available));
    let reserved = message.strip_prefix("Initial free memory ").and_then(|rest| amount(rest).zip(amount_after(rest, "reserved ")));
    found.extend(reserved.map(|(free, kv)| Line::Reserved { free, kv }));
    found.extend(after(message, "KV cache size: ").and_then(|rest| whole(rest).filter(|_| rest.contains(" tokens"))).map(Line::Tokens));
    if let Some(rest) = after(message, "Maximum concurrency for ") {
        let times = after(rest, "tokens per request: ").and_then(rounded);
        found.extend(whole(rest).zip(times).map(|(length, times)| Line::Concurrency { length, times }));
    }
    if let Some(rest) = after(message, "Overriding num_gpu_blocks=") {
        let to = after(rest, "num_gpu_blocks_override=").and_then(whole);
        found.extend(whole(rest).zip(to).map(|(from, to)| Line::BlocksSet { from, to }));
    }
}

fn equivalent(message: &str) -> Option<Line> {
    let rest = after(message, "The current --gpu-memory-utilization=")?;
    let without = after(rest, "equivalent to --gpu-memory-utilization=").and_then(plain)?;
    let suggested = after(rest, "increase --gpu-memory-utilization to ").and_then(plain);
    Some(Line::Equivalent { share: plain(rest)?, without, suggested })
}

fn account(message: &str) -> Option<Account> {
    static TERM: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(-?[0-9.]+) GiB for ([A-Za-z-]+)").expect("a literal pattern"));
    static SUGGESTED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"--kv-cache-memory(?:-bytes)?=(-?[0-9]+)`?(?: \([^)]*\))? to (fit|fully)").expect("a literal pattern")
    });
    let rest = after(message, "Free memory on device")?;
    let desired = after(rest, "on startup. Desired GPU memory utilization is (")?;
    let cards = after(rest, "(")?;
    let term = |name: &str| TERM.captures_iter(desired).find(|found| &found[2] == name).and_then(|found| rounded(&found[1]));
    let suggestion = |kind: &str| {
        let found = SUGGESTED.captures_iter(desired).find(|found| &found[2] == kind)?;
        found[1].parse().ok().filter(|bytes: &f64| bytes.abs() < 1e15).map(|bytes| Suggestion { bytes })
    };
    Some(Account {
        free: rounded(cards)?,
        total: after(cards, "/").and_then(amount)?,
        share: plain(desired).filter(|share| *share > 0.0)?,
        requested: after(desired, ", ").and_then(amount)?,
        weights: term("weight"),
        consumed: term("consumed"),
        activation: term("peak"),
        non_torch: term("non-torch"),
        graphs: term("CUDAGraph"),
        kv: amount_after(desired, "kv cache memory in use is "),
        to_fit: suggestion("fit"),
        to_fill: suggestion("fully"),
    })
}

fn profile(message: &str) -> Option<Profile> {
    if let Some(rest) = after(message, "Total non KV cache memory: ") {
        return Some(Profile {
            not_kv: amount(rest),
            activation: amount_after(rest, "torch peak memory increase: "),
            non_torch: amount_after(rest, "non-torch forward increase memory: "),
            consumed: amount_after(rest, "total consumed (from mem_get_info): "),
            weights: amount_after(rest, "weights memory: "),
            ..Profile::default()
        });
    }
    if let Some(rest) = message.strip_prefix("Initial free memory: ") {
        let requested = after(rest, "Requested memory: ");
        return Some(Profile {
            free: amount(rest),
            share: requested.and_then(plain),
            requested: requested.and_then(|rest| amount_after(rest, "(util), ")),
            ..Profile::default()
        });
    }
    if message.contains("worker init memory snapshot") {
        return Some(Profile {
            free: amount_after(message, "free_memory="),
            total: amount_after(message, "total_memory="),
            ..Profile::default()
        });
    }
    let requested = amount_after(message, "worker requested memory: ")?;
    Some(Profile { requested: Some(requested), ..Profile::default() })
}

/// `Auto set (5.9/22.96) GiB for KV cache on node 0, with 6.89 GiB requested memory for the worker. 0.99 GiB memory was consumed by non-kv usages.`
fn host(message: &str, found: &mut Vec<Line>) {
    let Some(rest) = message.strip_prefix("Auto set (").or_else(|| message.strip_prefix("Explicitly set (")) else { return };
    let Some((kv, node)) = rounded(rest).zip(after(rest, "/").and_then(rounded)).filter(|_| rest.contains("for KV cache on node")) else {
        return;
    };
    let requested = amount_after(rest, ", with ");
    let consumed = after(rest, "for the worker. ").and_then(amount);
    found.push(Line::Host { kv, node, requested, consumed });
}

#[cfg(test)]
mod tests {
    use super::{Line, account, read};

    fn lines(message: &str) -> Vec<Line> {
        let mut found = Vec::new();
        read(message, &mut found);
        found
    }

    #[test]
    fn both_accounts_are_read() {
        let new = account("Free memory on device (79.5/80.0 GiB) on startup. Desired GPU memory utilization is (0.92, 73.6 GiB). Actual usage is 15.11 GiB for consumed memory (weights + non-torch), 0.21 GiB for peak activation, and 0.0 GiB for CUDAGraph memory. Replace gpu_memory_utilization config with `--kv-cache-memory=62424240231` (58.14 GiB) to fit into requested memory, or `--kv-cache-memory=68759316992` (64.04 GiB) to fully utilize gpu memory. Current kv cache memory in use is 58.28 GiB.").expect("an account");
        assert_eq!((new.share, new.free.value, new.total.value, new.requested.value), (0.92, 79.5, 80.0, 73.6));
        assert_eq!(new.consumed.map(|gib| gib.value), Some(15.11));
        assert_eq!(new.activation.map(|gib| gib.value), Some(0.21));
        assert_eq!(new.graphs.map(|gib| gib.value), Some(0.0));
        assert_eq!(new.kv.map(|gib| gib.value), Some(58.28));
        assert_eq!((new.to_fit.map(|to| to.bytes), new.to_fill.map(|to| to.bytes)), (Some(62_424_240_231.0), Some(68_759_316_992.0)));
        let old = account("Free memory on device (21.4/21.98 GiB) on startup. Desired GPU memory utilization is (0.9, 19.78 GiB). Actual usage is 14.25 GiB for weight, 1.1 GiB for peak activation, 0.06 GiB for non-torch memory, and 0.49 GiB for CUDAGraph memory. Replace gpu_memory_utilization config with `--kv-cache-memory=4000000000` to fit into requested memory, or `--kv-cache-memory=6000000000` to fully utilize gpu memory. Current kv cache memory in use is 4697620480 bytes.").expect("an account");
        assert_eq!((old.weights.map(|gib| gib.value), old.non_torch.map(|gib| gib.value), old.consumed), (Some(14.25), Some(0.06), None));
        assert_eq!(old.kv.map(|gib| gib.value), Some(4.375));
        assert_eq!(old.to_fit.map(|to| to.bytes), Some(4e9));
        assert_eq!(account("Free memory on device (1/2 GiB) on startup is less than desired GPU memory utilization (0.9, 1.8 GiB)."), None);
    }

    #[test]
    fn one_line_or_two_hold_the_size() {
        let one = lines("GPU KV cache size: 477,456 tokens, Maximum concurrency for 8,192 tokens per request: 58.28x");
        assert!(one.contains(&Line::Tokens(477_456.0)));
        assert!(one.iter().any(|line| matches!(line, Line::Concurrency { length, times } if *length == 8192.0 && times.value == 58.28)));
        assert!(lines("KV cache size: , tokens").iter().all(|line| !matches!(line, Line::Tokens(_))));
    }

    #[test]
    fn the_version_is_read_where_it_is_the_engines() {
        let version = |message: &str| {
            lines(message).into_iter().find_map(|line| if let Line::Version(version) = line { Some(version) } else { None })
        };
        assert_eq!(version("Initializing a V1 LLM engine (v0.8.5.post1) with config: model='x'").as_deref(), Some("0.8.5.post1"));
        assert_eq!(version("Initializing an LLM engine (v0.6.4.post1) with config: model='x'").as_deref(), Some("0.6.4.post1"));
        assert_eq!(version("vLLM API server version 0.11.0").as_deref(), Some("0.11.0"));
        assert_eq!(version(" \u{2584}\u{2584} \u{2584}\u{2588} \u{2588}  version 0.32.0").as_deref(), Some("0.32.0"));
        assert_eq!(version("Using FlashAttention version 3"), None);
        assert_eq!(version("CUDA version 12.8"), None);
    }

    #[test]
    fn graphs_and_the_share_they_cost_are_read() {
        let line = lines(
            "CUDA graph memory profiling is enabled (default since v0.21.0). The current --gpu-memory-utilization=0.9500 is equivalent to --gpu-memory-utilization=0.9139 without CUDA graph memory profiling. To maintain the same effective KV cache size as before, increase --gpu-memory-utilization to 0.9861. To disable, set VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0.",
        );
        assert!(line.contains(&Line::Equivalent { share: 0.95, without: 0.9139, suggested: Some(0.9861) }));
        let pool = lines("CUDA graph pool memory: 0.19 GiB (actual), 0.64 GiB (estimated), difference: 0.45 GiB (244.2%).");
        assert!(
            matches!(pool[..], [Line::GraphsTook(took), Line::GraphsEstimated(estimated)] if took.value == 0.19 && estimated.value == 0.64)
        );
        let took = lines("Graph capturing finished in 18 secs, took 0.19 GiB");
        assert!(took.iter().any(|line| matches!(line, Line::GraphsTook(took) if took.value == 0.19)), "{took:?}");
    }

    #[test]
    fn the_memory_of_a_host_is_read() {
        let line = lines(
            "Auto set (5.9/22.96) GiB for KV cache on node 0, with 6.89 GiB requested memory for the worker. 0.99 GiB memory was consumed by non-kv usages.",
        );
        assert!(matches!(&line[..], [Line::Host { kv, node, requested: Some(requested), consumed: Some(consumed) }]
            if kv.value == 5.9 && node.value == 22.96 && requested.value == 6.89 && consumed.value == 0.99));
    }
}
