//! The lines of vLLM's log that hold memory numbers, and of what is pasted around them.
//!
//! Readers look at texts that the engine prints since a version and keep printing; where a text changed, both forms are read. Texts: vLLM 0.2 to 0.33.

mod failure;
mod first;
mod outside;
mod startup;

use bystander_model::budget::Figure;

pub(crate) use self::failure::Failure;
pub(crate) use self::first::{FirstAccount, FirstProfile};
pub(crate) use self::outside::is_wrapper;
pub(crate) use self::startup::{Account, Profile, Suggestion};

use super::arguments::Arguments;

/// What a line says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Line {
    /// The version as the engine states it.
    Version(String),
    /// A server's first line: what comes after it belongs to one start.
    Begins,
    /// An engine begins; with data parallelism one of several of the same start.
    EngineBegins,
    /// The configuration in effect, or a part of it.
    Configuration(Box<Arguments>),
    /// The command that was typed.
    Command(Box<Arguments>),
    /// The architecture of the model by its class.
    Architecture(String),
    /// A phase begins.
    Begun(Step),
    /// What the weights took.
    Weights(Figure),
    /// What graphs will take, as the engine measured beforehand.
    GraphsEstimated(Figure),
    /// What graphs took.
    GraphsTook(Figure),
    /// The share with the estimate of graphs inside, and what it was without.
    Equivalent { share: f64, without: f64, suggested: Option<f64> },
    /// Graphs are estimated, and the estimate is not subtracted.
    GraphsOutside,
    /// The second model runner is used.
    SecondRunner,
    /// What is left for the KV cache; may be negative.
    Available(Figure),
    /// The KV cache was given in bytes, and nothing was measured.
    Reserved { free: Figure, kv: Figure },
    /// What the profile run measured (debug lines).
    Profile(Profile),
    /// The account that the engine gives of a whole start.
    Account(Box<Account>),
    /// The same of the first engine (V0) since 0.6.5, in two or three lines.
    FirstAccount(FirstAccount),
    /// The same up to 0.6.4.
    FirstProfile(Box<FirstProfile>),
    /// Tokens of the KV cache.
    Tokens(f64),
    /// How many requests of full length fit.
    Concurrency { length: f64, times: Figure },
    /// Blocks of the KV cache, by the first engine or the second.
    Blocks { count: f64, is_first: bool },
    /// Fewer blocks than none.
    NegativeBlocks,
    /// Blocks were set by hand.
    BlocksSet { from: f64, to: f64 },
    /// The memory of the CPU backend.
    Host { kv: Figure, node: Figure, requested: Option<Figure>, consumed: Option<Figure> },
    /// The cache is of several kinds of layers, so that tokens do not follow from bytes.
    Hybrid,
    /// What stands on the card as `nvidia-smi` shows it.
    Card { used: Figure, total: Figure, eager: bool },
    /// A process of an engine in a list of processes.
    Process { title: String, holds: Option<Figure> },
    /// `MemAvailable` of the host.
    HostAvailable(Figure),
    /// A kind of machine whose numbers mean something else.
    Platform(Platform),
    /// Workers wait for each other.
    Waiting,
    /// NCCL says what it does, which somebody asked it to.
    NcclTalks,
    /// Kernels are tuned, or that has ended.
    Tunes { ends: bool },
    /// It answers requests.
    Serving,
    /// The first engine runs out of KV cache and takes requests back.
    Preempted,
    /// It failed.
    Failed(Failure),
    /// Another process reports that one failed.
    Wrapped,
}

/// A step of a start whose beginning is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    /// Process groups.
    Parallel,
    /// Weights.
    Weights,
    /// The profile run and what follows up to the pools.
    Profile,
    /// The pools stand; kernels are warmed up, graphs follow.
    Pools,
    /// Graphs are captured.
    Graphs,
    /// All that is allocated at the start is.
    Warm,
    /// Graphs were captured; there may be more of them.
    Captured,
}

/// A kind of machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Platform {
    /// Host and GPU share one memory.
    Unified,
    /// Windows' subsystem for Linux.
    Wsl,
    /// A part of a card.
    Slice,
}

/// Any of these in a line, and it is worth a look. What is printed while it serves, such as throughput every ten seconds, has none of them; they are few,
/// since all logs are searched for all of them.
pub(crate) const TEXTS: &[&str] = &[
    "LLM engine (v",
    "vLLM ",
    "\u{2588}  version ",
    "non-default args",
    "args: Namespace(",
    "Resolved architecture",
    "LAYER_PARTITION",
    "to load model",
    "oading ",
    "GiB",
    // Also of the share's name, of errors, and of what is left for the cache.
    "emory",
    "KV cache size",
    "max seq len (",
    "Maximum concurrency",
    " blocks: ",
    "num_gpu_blocks",
    "block_size: ",
    "CUDA graph",
    "cudagraph",
    // SGLang says of each batch whether it ran as a "cuda graph": only what is registered is of a start.
    "cuda graph addresses",
    "torch.compile t",
    "init engine (",
    "Application startup complete",
    "attention block size",
    "padding layers",
    "Mamba",
    "MemAvailable",
    "DGX Spark",
    "WSL",
    "preempted by",
    "(): invalid",
    "corrupt",
    "V2 Model Runner",
    "NCCL INFO",
    "utotuning process",
];

pub(crate) use self::failure::is_nccl;

/// The failure that a message tells of by its words.
pub(crate) fn failure(message: &str) -> Option<Failure> {
    failure::read(message)
}

/// Reads a line that may be worth it: its level and its message.
pub(crate) fn read(level: &str, message: &str) -> Vec<Line> {
    let mut found = Vec::new();
    // A warning that a library is missing may hold a whole traceback; none of it is a failure.
    if matches!(level, "" | "ERROR" | "CRITICAL") {
        found.extend(failure::read(message).map(Line::Failed));
    }
    if outside::is_wrapper(message) {
        found.push(Line::Wrapped);
    }
    if found.is_empty() {
        startup::read(message, &mut found);
        first::read(message, &mut found);
        outside::read(level, message, &mut found);
    }
    outside::platform(message, &mut found);
    found
}

#[cfg(test)]
mod tests {
    use super::{TEXTS, read};
    use crate::vllm::prefix;

    /// Logs of real starts: a simulated GPU, and the CPU backend.
    const LOGS: [&str; 4] = [
        include_str!("../../tests/fixtures/vllm-0.32.0-simulated-llama8b-eager.log"),
        include_str!("../../tests/fixtures/vllm-0.32.0-cpu-tp2.log"),
        include_str!("../../tests/fixtures/vllm-0.32.0-cpu-share.log"),
        include_str!("../../tests/fixtures/vllm-0.32.0-cpu-given.log"),
    ];

    #[test]
    fn every_line_of_real_logs_with_an_amount_is_known_and_found_by_the_search() {
        for line in LOGS.iter().flat_map(|log| log.lines()) {
            let text = line.split_once(") ").filter(|_| line.starts_with('(')).map_or(line, |(_, text)| text);
            let (level, message) = prefix::split(text);
            let has_amount = ["GiB", "KV cache size"].iter().any(|unit| message.contains(unit));
            assert!(!has_amount || !read(level, message).is_empty(), "{line}");
            let found = TEXTS.iter().chain(crate::explain::spoken::TEXTS).any(|text| line.contains(text));
            assert!(found || read(level, message).is_empty(), "read, and never found: {line}");
        }
    }
}
