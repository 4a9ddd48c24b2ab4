//! What each option of a launch command means for memory, by engine.

use super::{Launch, LaunchError, Speculative, bits, speculative};
use crate::plan::count::count;
use crate::plan::setup::{Engine, KvKind};

/// The meaning of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Model,
    Tensor,
    Pipeline,
    Data,
    Expert,
    ExpertsWhole,
    DataAttention,
    Context,
    Dtype,
    Kv,
    Fraction,
    KvBytes,
    MostTokens,
    Requests,
    Chunk,
    Page,
    GraphBatch,
    GraphSizes,
    NoGraphs,
    PrefillGraphs,
    NoPrefillGraphs,
    NoPrefixCache,
    WindowRatio,
    NoWindowPool,
    StateRatio,
    MostStates,
    StateKind,
    StateBuffer,
    NoOverlap,
    LanguageOnly,
    Multimodal,
    Quantisation,
    AllToAll,
    SymmetricMemory,
    NoCustomAllReduce,
    NoHybridManager,
    SpeculativeMethod,
    SpeculativeSteps,
    SpeculativeBranches,
    SpeculativeTokens,
    SpeculativeConfig,
    Draft,
    Compilation,
}

const SGLANG: &[(&str, Meaning)] = &[
    ("--model-path", Meaning::Model),
    ("--model", Meaning::Model),
    ("--tp", Meaning::Tensor),
    ("--tp-size", Meaning::Tensor),
    ("--tensor-parallel-size", Meaning::Tensor),
    ("--pp", Meaning::Pipeline),
    ("--pp-size", Meaning::Pipeline),
    ("--pipeline-parallel-size", Meaning::Pipeline),
    ("--dp", Meaning::Data),
    ("--dp-size", Meaning::Data),
    ("--data-parallel-size", Meaning::Data),
    ("--ep", Meaning::Expert),
    ("--ep-size", Meaning::Expert),
    ("--expert-parallel-size", Meaning::Expert),
    ("--enable-ep-moe", Meaning::ExpertsWhole),
    ("--enable-dp-attention", Meaning::DataAttention),
    ("--context-length", Meaning::Context),
    ("--dtype", Meaning::Dtype),
    ("--kv-cache-dtype", Meaning::Kv),
    ("--mem-fraction-static", Meaning::Fraction),
    ("--max-total-tokens", Meaning::MostTokens),
    ("--max-running-requests", Meaning::Requests),
    ("--chunked-prefill-size", Meaning::Chunk),
    ("--page-size", Meaning::Page),
    ("--cuda-graph-max-bs", Meaning::GraphBatch),
    ("--cuda-graph-max-bs-decode", Meaning::GraphBatch),
    ("--cuda-graph-bs", Meaning::GraphSizes),
    ("--disable-cuda-graph", Meaning::NoGraphs),
    ("--enable-piecewise-cuda-graph", Meaning::PrefillGraphs),
    ("--disable-piecewise-cuda-graph", Meaning::NoPrefillGraphs),
    ("--disable-radix-cache", Meaning::NoPrefixCache),
    ("--swa-full-tokens-ratio", Meaning::WindowRatio),
    ("--disable-hybrid-swa-memory", Meaning::NoWindowPool),
    ("--mamba-full-memory-ratio", Meaning::StateRatio),
    ("--max-mamba-cache-size", Meaning::MostStates),
    ("--mamba-ssm-dtype", Meaning::StateKind),
    ("--mamba-scheduler-strategy", Meaning::StateBuffer),
    ("--mamba-radix-cache-strategy", Meaning::StateBuffer),
    ("--disable-overlap-schedule", Meaning::NoOverlap),
    ("--language-only", Meaning::LanguageOnly),
    ("--language-model-only", Meaning::LanguageOnly),
    ("--enable-multimodal", Meaning::Multimodal),
    ("--quantization", Meaning::Quantisation),
    ("--moe-a2a-backend", Meaning::AllToAll),
    ("--enable-symm-mem", Meaning::SymmetricMemory),
    ("--disable-custom-all-reduce", Meaning::NoCustomAllReduce),
    ("--speculative-algorithm", Meaning::SpeculativeMethod),
    ("--speculative-algo", Meaning::SpeculativeMethod),
    ("--speculative-num-steps", Meaning::SpeculativeSteps),
    ("--speculative-eagle-topk", Meaning::SpeculativeBranches),
    ("--speculative-num-draft-tokens", Meaning::SpeculativeTokens),
    ("--speculative-draft-model-path", Meaning::Draft),
    ("--speculative-draft-model", Meaning::Draft),
];

const VLLM: &[(&str, Meaning)] = &[
    ("--model", Meaning::Model),
    ("-tp", Meaning::Tensor),
    ("--tensor-parallel-size", Meaning::Tensor),
    ("-pp", Meaning::Pipeline),
    ("--pipeline-parallel-size", Meaning::Pipeline),
    ("-dp", Meaning::Data),
    ("--data-parallel-size", Meaning::Data),
    ("-ep", Meaning::ExpertsWhole),
    ("--enable-expert-parallel", Meaning::ExpertsWhole),
    ("--max-model-len", Meaning::Context),
    ("--dtype", Meaning::Dtype),
    ("--kv-cache-dtype", Meaning::Kv),
    ("--gpu-memory-utilization", Meaning::Fraction),
    ("--kv-cache-memory-bytes", Meaning::KvBytes),
    ("--kv-cache-memory", Meaning::KvBytes),
    ("--max-num-seqs", Meaning::Requests),
    ("--max-num-batched-tokens", Meaning::Chunk),
    ("--block-size", Meaning::Page),
    ("--enforce-eager", Meaning::NoGraphs),
    ("--no-enable-prefix-caching", Meaning::NoPrefixCache),
    ("--disable-hybrid-kv-cache-manager", Meaning::NoHybridManager),
    ("--mamba-ssm-cache-dtype", Meaning::StateKind),
    ("--language-model-only", Meaning::LanguageOnly),
    ("-q", Meaning::Quantisation),
    ("--quantization", Meaning::Quantisation),
    ("--all2all-backend", Meaning::AllToAll),
    ("--disable-custom-all-reduce", Meaning::NoCustomAllReduce),
    ("--speculative-config", Meaning::SpeculativeConfig),
    ("--compilation-config", Meaning::Compilation),
    ("--max-cudagraph-capture-size", Meaning::GraphBatch),
];

/// Beginnings of options that have no part in memory.
const WITHOUT_PART: &[&str] = &[
    "--host",
    "--port",
    "--api-key",
    "--served-model-name",
    "--trust-remote-code",
    "--chat-template",
    "--tool-call-parser",
    "--reasoning-parser",
    "--enable-auto-tool-choice",
    "--log",
    "--disable-log",
    "--enable-metrics",
    "--seed",
    "--random-seed",
    "--tokenizer",
    "--revision",
    "--download-dir",
    "--load-format",
    "--watchdog",
    "--nnodes",
    "--node-rank",
    "--dist-init-addr",
    "--nccl-port",
    "--schedule-policy",
    "--schedule-conservativeness",
    "--stream-interval",
    "--show-time-cost",
    "--uvicorn",
    "--allowed",
    "--ssl",
    "--root-path",
    "--middleware",
    "--response-role",
    "--skip-server-warmup",
    "--decode-log-interval",
    "--sampling",
    "--grammar-backend",
    "--guided-decoding-backend",
    "--generation-config",
    "--override-generation-config",
    "--device",
    "--base-gpu-id",
    "--distributed-executor-backend",
    "--enable-request-id-headers",
    "--collect-tokens-histogram",
    "--weight-version",
];

/// Whether an option has no part in memory.
pub(super) fn is_without_part(flag: &str) -> bool {
    // `-O3` and its kin say how much is compiled.
    let is_level = flag.strip_prefix("-O").is_some_and(|level| level.len() == 1 && level != "0");
    is_level || WITHOUT_PART.iter().any(|known| flag.starts_with(known))
}

impl Meaning {
    /// What an option means; a beginning that only one option has stands for it, as `argparse` allows.
    pub(super) fn of(engine: Engine, flag: &str) -> Option<Self> {
        let table = match engine {
            Engine::Sglang => SGLANG,
            Engine::Vllm => VLLM,
        };
        if let Some((_, meaning)) = table.iter().find(|(name, _)| *name == flag) {
            return Some(*meaning);
        }
        if flag.len() < 6 || is_without_part(flag) {
            return None;
        }
        let mut found = table.iter().filter(|(name, _)| name.starts_with(flag)).map(|(_, meaning)| *meaning);
        let first = found.next()?;
        found.all(|other| other == first).then_some(first)
    }

    /// Whether a value follows.
    pub(super) const fn takes_value(self) -> bool {
        !matches!(
            self,
            Self::ExpertsWhole
                | Self::DataAttention
                | Self::NoGraphs
                | Self::PrefillGraphs
                | Self::NoPrefillGraphs
                | Self::NoPrefixCache
                | Self::NoOverlap
                | Self::NoWindowPool
                | Self::LanguageOnly
                | Self::Multimodal
                | Self::SymmetricMemory
                | Self::NoCustomAllReduce
                | Self::NoHybridManager
        )
    }
}

impl Launch {
    /// Takes an option into the setup.
    pub(super) fn set(&mut self, flag: &str, meaning: Meaning, value: &str) -> Result<(), LaunchError> {
        let wrong = |expected| LaunchError::Value { flag: flag.to_owned(), value: value.to_owned(), expected };
        let whole =
            || value.parse::<u64>().ok().filter(|whole| *whole > 0 && *whole < 1 << 28).ok_or_else(|| wrong("a whole number above zero"));
        let share =
            || value.parse::<f64>().ok().filter(|share| share.is_finite() && *share > 0.0).ok_or_else(|| wrong("a number above zero"));
        let ranks = || whole().and_then(|ranks| if ranks <= 1 << 16 { Ok(ranks) } else { Err(wrong("a number of ranks")) });
        let is_on = value != "false";
        let setup = &mut self.setup;
        match meaning {
            Meaning::Model => self.model = Some(value.to_owned()),
            Meaning::Draft => self.draft = Some(value.to_owned()),
            Meaning::Tensor => setup.tensor = ranks()?,
            Meaning::Pipeline => setup.pipeline = ranks()?,
            Meaning::Data => setup.data = ranks()?,
            Meaning::Expert => setup.expert = Some(ranks()?),
            // All ranks, however many there are in the end.
            Meaning::ExpertsWhole => setup.expert = is_on.then_some(u64::MAX),
            Meaning::DataAttention => setup.attention_is_data_parallel = is_on,
            Meaning::Context => setup.context = context(self.engine, value).ok_or_else(|| wrong(tokens_of(self.engine)))?,
            // Both engines cast 32 bits down where nothing is said.
            Meaning::Dtype if value == "auto" => (setup.in_single_precision, setup.has_dtype) = (false, false),
            Meaning::Dtype => {
                setup.has_dtype = true;
                setup.in_single_precision =
                    bits(value).filter(|bits| *bits >= 16).ok_or_else(|| wrong("auto, bfloat16, float16 or float32"))? == 32;
            }
            Meaning::Kv => {
                setup.kv = KvKind::parse(value)
                    .ok_or_else(|| wrong("a kind of number whose size is known here: auto, bfloat16, fp8_e4m3, \u{2026}"))?
            }
            Meaning::Fraction => {
                setup.fraction = Some(share()?)
                    .filter(|share| *share <= 1.0)
                    .map_or_else(|| Err(wrong("a share between 0 and 1")), |share| Ok(Some(share)))?
            }
            Meaning::KvBytes => setup.kv_bytes = Some(bytes(value).ok_or_else(|| wrong("a number of bytes"))?),
            Meaning::MostTokens => setup.most_tokens = Some(whole()?),
            Meaning::Requests => setup.requests = Some(whole()?),
            Meaning::Chunk if value.starts_with('-') => setup.is_unchunked = true,
            Meaning::Chunk => setup.chunk = Some(context(self.engine, value).flatten().ok_or_else(|| wrong(tokens_of(self.engine)))?),
            Meaning::Page => setup.page = Some(whole()?),
            Meaning::GraphBatch => setup.graph_batch = Some(whole()?),
            Meaning::GraphSizes => setup.graph_batch = setup.graph_batch.max(Some(whole()?)),
            Meaning::NoGraphs => setup.without_graphs = is_on,
            Meaning::PrefillGraphs => setup.prefill_graphs = Some(is_on),
            Meaning::NoPrefillGraphs => setup.prefill_graphs = Some(!is_on),
            Meaning::NoPrefixCache => setup.without_prefix_cache = is_on,
            Meaning::WindowRatio => setup.window_ratio = Some(share()?),
            Meaning::NoWindowPool => setup.without_window_pool = is_on,
            Meaning::StateRatio => setup.state_ratio = Some(share()?),
            Meaning::MostStates => setup.most_states = Some(whole()?),
            Meaning::StateKind if value == "auto" => {}
            Meaning::StateKind => setup.state_bits = Some(bits(value).ok_or_else(|| wrong("float32, bfloat16 or float16"))?),
            Meaning::StateBuffer => setup.states_have_buffer = (value != "auto").then(|| value.starts_with("extra_buffer")),
            Meaning::NoOverlap => setup.without_overlap = is_on,
            Meaning::LanguageOnly => setup.language_only = is_on,
            Meaning::Multimodal => setup.multimodal = Some(is_on),
            Meaning::Quantisation => setup.quantisation = Some(value.to_lowercase()),
            Meaning::AllToAll => setup.deep_ep = value.starts_with("deepep"),
            Meaning::SymmetricMemory => setup.symmetric_gib = if is_on { setup.symmetric_gib.or(Some(4.0)) } else { None },
            Meaning::NoCustomAllReduce => setup.without_custom_all_reduce = is_on,
            Meaning::NoHybridManager => setup.without_hybrid_manager = is_on,
            Meaning::SpeculativeMethod => self.speculative().method = value.to_uppercase(),
            Meaning::SpeculativeSteps => self.speculative().steps = Some(whole()?),
            Meaning::SpeculativeBranches => self.speculative().branches = Some(whole()?),
            Meaning::SpeculativeTokens => self.speculative().tokens = Some(whole()?),
            Meaning::SpeculativeConfig => {
                let (found, draft) =
                    speculative::read(value).ok_or_else(|| wrong("an object in JSON with `method`, `model`, `num_speculative_tokens`"))?;
                self.speculative = Some(found);
                self.draft = draft.or(self.draft.take());
            }
            Meaning::Compilation => setup.without_graphs |= speculative::is_without_graphs(value),
        }
        Ok(())
    }

    fn speculative(&mut self) -> &mut Speculative {
        self.speculative.get_or_insert_default()
    }
}

/// What an engine takes for a number of tokens.
const fn tokens_of(engine: Engine) -> &'static str {
    match engine {
        Engine::Sglang => "a whole number of tokens, which SGLang takes in digits alone",
        Engine::Vllm => "a number of tokens, such as 131072, 128K (of 1,024) or 128k (of 1,000)",
    }
}

/// A number of tokens; vLLM also takes `32k` (thousands), `32K` (of 1,024), and `-1` or `auto` for what fits.
fn context(engine: Engine, value: &str) -> Option<Option<u64>> {
    if let Ok(whole) = value.parse::<u64>() {
        return (whole > 0 && whole < 1 << 28).then_some(Some(whole));
    }
    if engine != Engine::Vllm {
        return None;
    }
    if value == "-1" || value == "auto" {
        return Some(None);
    }
    count(value).filter(|tokens| *tokens < 1 << 28).map(Some)
}

/// A number of bytes, also with `k`, `K` and so on as vLLM takes them.
fn bytes(value: &str) -> Option<u64> {
    count(value).filter(|bytes| *bytes < 1 << 50)
}
