//! How a model is to be started: what was typed, or told from a launch command. What is not said is `None`, and each engine's rules fill it in.

use super::gpu::Gpu;
use super::shape::Shape;
use crate::version::Release;

/// The newest release of SGLang whose rules are known here.
pub const NEWEST_SGLANG: Release = Release(0, 5, 23);
/// The newest release of vLLM whose rules are known here.
pub const NEWEST_VLLM: Release = Release(0, 33, 0);

/// An engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// SGLang.
    Sglang,
    /// vLLM.
    Vllm,
}

impl Engine {
    /// Its name in documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sglang => "sglang",
            Self::Vllm => "vllm",
        }
    }

    /// Its newest release whose rules are known here.
    #[must_use]
    pub const fn newest(self) -> Release {
        match self {
            Self::Sglang => NEWEST_SGLANG,
            Self::Vllm => NEWEST_VLLM,
        }
    }

    /// Its oldest release whose rules are known here.
    #[must_use]
    pub const fn oldest(self) -> Release {
        match self {
            Self::Sglang => Release(0, 4, 3),
            Self::Vllm => Release(0, 8, 0),
        }
    }
}

/// What the numbers of a KV cache are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KvKind {
    /// What the engine takes by itself.
    #[default]
    Auto,
    /// 32-bit floating numbers.
    Full,
    /// 16-bit floating numbers.
    Half,
    /// 8-bit floating numbers.
    Fp8,
    /// 4-bit floating numbers with a scale for each 16.
    Fp4,
}

impl KvKind {
    /// Reads the name that an engine has for it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text.to_lowercase().as_str() {
            "auto" => Self::Auto,
            "float32" | "fp32" => Self::Full,
            "bf16" | "bfloat16" | "fp16" | "float16" | "half" => Self::Half,
            "fp8" | "fp8_e4m3" | "fp8_e5m2" | "fp8_inc" | "fp8_ds_mla" => Self::Fp8,
            "fp4" | "fp4_e2m1" | "nvfp4" => Self::Fp4,
            _ => return None,
        })
    }
}

/// How further tokens are guessed.
#[derive(Debug, Clone)]
pub struct Speculation {
    /// Whether the draft is an own model that answers like the target (`STANDALONE`, `draft_model`).
    pub is_standalone: bool,
    /// Whether nothing is loaded: tokens are guessed from the text (`NGRAM`, `ngram`, `suffix`).
    pub is_textual: bool,
    /// The draft model; `None` takes the layers for it in the checkpoint.
    pub draft: Option<Shape>,
    /// Its weights over all ranks, in bytes, where they are known.
    pub draft_bytes: Option<u64>,
    /// Steps of the draft.
    pub steps: Option<u64>,
    /// Branches of each step.
    pub branches: Option<u64>,
    /// Tokens that are checked at once.
    pub tokens: Option<u64>,
}

/// How a model is to be started.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Ranks that share each layer.
    pub tensor: u64,
    /// Stages that share the layers.
    pub pipeline: u64,
    /// Copies that share the requests.
    pub data: u64,
    /// Ranks that share out whole experts; one: each expert is cut.
    pub expert: Option<u64>,
    /// Whether SGLang's copies share the ranks (DP attention).
    pub attention_is_data_parallel: bool,
    /// The card.
    pub gpu: Option<Gpu>,
    /// What is free on each card before the weights, in GiB, where it is known.
    pub free_gib: Option<f64>,
    /// Tokens of the longest request.
    pub context: Option<u64>,
    /// Whether the model is to be computed in 32-bit numbers (`--dtype float32`).
    pub in_single_precision: bool,
    /// Whether the kind of numbers that the model is computed in was named (`--dtype`), so that what the configuration says counts for nothing.
    pub has_dtype: bool,
    /// Numbers of the KV cache.
    pub kv: KvKind,
    /// The share of memory: `mem_fraction_static`, `gpu_memory_utilization`.
    pub fraction: Option<f64>,
    /// A KV cache of so many bytes on each rank (`--kv-cache-memory-bytes`).
    pub kv_bytes: Option<u64>,
    /// How further tokens are guessed.
    pub speculation: Option<Speculation>,
    /// Requests at once.
    pub requests: Option<u64>,
    /// Tokens of one prefill step: `chunked_prefill_size`, `max_num_batched_tokens`.
    pub chunk: Option<u64>,
    /// Whether prefill is never cut (`--chunked-prefill-size -1`).
    pub is_unchunked: bool,
    /// Tokens of a page or block.
    pub page: Option<u64>,
    /// Tokens that the KV cache may have at most.
    pub most_tokens: Option<u64>,
    /// The largest batch with a graph.
    pub graph_batch: Option<u64>,
    /// Whether no graphs are captured.
    pub without_graphs: bool,
    /// Whether graphs of prefill were asked for.
    pub prefill_graphs: Option<bool>,
    /// Whether finished prefixes are not kept.
    pub without_prefix_cache: bool,
    /// Tokens of windowed layers for each token of global ones.
    pub window_ratio: Option<f64>,
    /// Whether windowed layers are kept at full length.
    pub without_window_pool: bool,
    /// State memory for each byte of KV cache.
    pub state_ratio: Option<f64>,
    /// States that are kept at most.
    pub most_states: Option<u64>,
    /// Whether each request has further slots for its states (`--mamba-scheduler-strategy extra_buffer`), where it is said.
    pub states_have_buffer: Option<bool>,
    /// Whether a step is prepared only after the one before it (`--disable-overlap-schedule`).
    pub without_overlap: bool,
    /// Bits of a number of a recurrent state.
    pub state_bits: Option<u64>,
    /// Whether images and sounds are left out.
    pub language_only: bool,
    /// Whether images and sounds were asked for.
    pub multimodal: Option<bool>,
    /// The quantisation that was asked for.
    pub quantisation: Option<String>,
    /// Whether expert layers talk through DeepEP.
    pub deep_ep: bool,
    /// GiB that SGLang sets aside for symmetric memory.
    pub symmetric_gib: Option<f64>,
    /// Whether custom all-reduce is off.
    pub without_custom_all_reduce: bool,
    /// Whether GPUs talk over PCIe alone.
    pub is_pcie: Option<bool>,
    /// Whether the all-reduce of FlashInfer over PCIe is on.
    pub pcie_ipc: bool,
    /// Numbers of the largest reduction that it serves, where the environment says them (`SGLANG_PCIE_IPC_MAX_NUMEL`).
    pub pcie_ipc_numbers: Option<u64>,
    /// Whether windows count for nothing (`--disable-hybrid-kv-cache-manager`).
    pub without_hybrid_manager: bool,
    /// Whether a context above the model's is let through.
    pub longer_context_allowed: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            tensor: 1,
            pipeline: 1,
            data: 1,
            expert: None,
            attention_is_data_parallel: false,
            gpu: None,
            free_gib: None,
            context: None,
            in_single_precision: false,
            has_dtype: false,
            kv: KvKind::Auto,
            fraction: None,
            kv_bytes: None,
            speculation: None,
            requests: None,
            chunk: None,
            is_unchunked: false,
            page: None,
            most_tokens: None,
            graph_batch: None,
            without_graphs: false,
            prefill_graphs: None,
            without_prefix_cache: false,
            window_ratio: None,
            without_window_pool: false,
            state_ratio: None,
            most_states: None,
            states_have_buffer: None,
            without_overlap: false,
            state_bits: None,
            language_only: false,
            multimodal: None,
            quantisation: None,
            deep_ep: false,
            symmetric_gib: None,
            without_custom_all_reduce: false,
            is_pcie: None,
            pcie_ipc: false,
            pcie_ipc_numbers: None,
            without_hybrid_manager: false,
            longer_context_allowed: false,
        }
    }
}

/// What cannot be counted of a draft, where something cannot.
pub(super) fn unknown_draft(shape: &Shape, setup: &Setup) -> Option<String> {
    let speculation = setup.speculation.as_ref().filter(|speculation| !speculation.is_textual)?;
    match &speculation.draft {
        Some(_) if speculation.draft_bytes.is_none() => Some("draft weights: the draft's tensors are not known".to_owned()),
        None if shape.draft_layers == 0 => Some(
            "draft weights: the draft is not at hand; its KV cache is counted as one layer more (--speculative FOLDER tells both)"
                .to_owned(),
        ),
        _ => None,
    }
}

impl Setup {
    /// Ranks among which attention is cut: with DP attention the ranks of one copy.
    #[must_use]
    pub fn attention_ranks(&self) -> u64 {
        if self.attention_is_data_parallel { (self.tensor / self.data.max(1)).max(1) } else { self.tensor }
    }

    /// Bits of the numbers that the model is computed in.
    #[must_use]
    pub const fn bits(&self) -> u64 {
        if self.in_single_precision { 32 } else { 16 }
    }

    /// Cards in all.
    #[must_use]
    pub const fn world(&self) -> u64 {
        let copies = if self.attention_is_data_parallel { 1 } else { self.data };
        self.tensor * self.pipeline * copies
    }
}
