//! What logs say of the GPU memory of servers: where it went, what failed first, and which knob to turn.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::budget::{Figure, VersionRange};

/// Everything that was found in the logs given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explained {
    /// [`super::FORMAT`].
    pub format: u32,
    /// Every server, in the order in which they begin.
    pub servers: Vec<Server>,
    /// Which terms of two servers differ, where exactly two were compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compared: Vec<Compared>,
    /// What could not be read, and why: one sentence each, with its file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
}

/// One start of one server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Server {
    /// The engine, `sglang` or `vllm`.
    pub engine: String,
    /// The versions that the evidence allows, and the lines they were told from.
    pub version: VersionRange,
    /// The file it was read from, as named; what was mixed into one file stands in [`Server::mixed_in`].
    pub source: String,
    /// By what its lines were told from those of other servers in the same file, where there were others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mixed_in: Option<MixedIn>,
    /// The phase of what failed first; without a failure the last that began.
    pub phase: Phase,
    /// How it ended, as far as the log goes.
    pub state: State,
    /// The answer in one sentence.
    pub answer: String,
    /// Where the memory of each rank went.
    pub ranks: Vec<Rank>,
    /// How the engine sized its KV cache, with numbers, where the formula of its version is known.
    pub formula: Option<Formula>,
    /// What failed first, or what is wrong without a failure.
    pub cause: Option<Cause>,
    /// What to turn, the best first.
    pub advice: Vec<Advice>,
    /// Where two sources, or the engine's own advice and its numbers, do not agree.
    pub contradictions: Vec<String>,
    /// What no formula here covers.
    pub not_modelled: Vec<String>,
}

/// By what lines of one server are told from those of another in the same file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MixedIn {
    /// Such as `container` or `process`.
    pub by: String,
    /// Such as the container's name.
    pub value: String,
}

/// How far a start came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Nothing tells.
    Unknown,
    /// Contexts, process groups, communication buffers.
    ParallelInit,
    /// Weights.
    WeightLoad,
    /// The size of the KV cache is computed and its pools are allocated.
    PoolSizing,
    /// The draft model of speculative decoding is loaded after the pools of the target.
    DraftLoad,
    /// CUDA graphs are captured.
    GraphCapture,
    /// The first requests, which the server sends itself.
    WarmUp,
    /// Requests are answered.
    Serving,
}

impl Phase {
    /// Its name, as in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::ParallelInit => "parallel_init",
            Self::WeightLoad => "weight_load",
            Self::PoolSizing => "pool_sizing",
            Self::DraftLoad => "draft_load",
            Self::GraphCapture => "graph_capture",
            Self::WarmUp => "warm_up",
            Self::Serving => "serving",
        }
    }
}

/// How a start ended, as far as the log goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It served, with a KV cache of use.
    Ready,
    /// It ended with an error.
    Failed,
    /// It served, with a KV cache that is too small for one full request or next to nothing.
    Starved,
    /// The log ends before that can be told.
    Unknown,
}

/// The memory of one rank: terms that add up to the total, the remainder written out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rank {
    /// Its number as the engine prints it, all kinds of parallelism in one label, such as `TP3` or `DP1 TP0`; `None` where the engine prints none.
    pub label: Option<String>,
    /// The tensor-parallel rank.
    pub rank: Option<u32>,
    /// The terms, in the order of [`TermName`]; `total` first.
    pub terms: Vec<Term>,
    /// `total` minus all other terms: what no line accounts for. `None` where `total` is not known.
    pub unexplained_gib: Option<Figure>,
}

/// One term of a rank's memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Term {
    /// Which.
    pub name: TermName,
    /// How much.
    pub gib: Figure,
    /// Where it was read, such as `server.log:118`, or how it was computed.
    pub from: String,
}

/// What memory is held for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TermName {
    /// All that the other terms share: the card, or where the log does not say its size, what was free before the first known allocation.
    Total,
    /// Other processes on the same card.
    OtherProcess,
    /// The CUDA context, with modules and kernels.
    Context,
    /// NCCL and all-reduce buffers; with the context where the engine prints their sum.
    Communication,
    /// The weights.
    Weights,
    /// The draft model's weights and KV cache.
    Draft,
    /// The KV cache.
    Kv,
    /// The request table (`req_to_token`).
    RequestTable,
    /// The state cache of hybrid models.
    StateCache,
    /// The peak of activations, where the engine measures it.
    Activations,
    /// CUDA graphs.
    Graphs,
    /// Workspaces that are allocated after the pools.
    Workspace,
    /// What is left free.
    Headroom,
}

/// How the KV cache was sized.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Formula {
    /// The equation with its numbers, such as `rest = 21.697 - 93.999 * (1 - 0.55)`.
    pub text: String,
    /// The engine's file it was read from, with versions.
    pub source: String,
    /// What is left for the KV cache.
    pub rest_gib: Figure,
    /// Tokens, where the bytes per token are known.
    pub tokens: Option<Figure>,
    /// Bytes of KV cache per token and rank.
    pub cell_bytes: Option<f64>,
}

/// What failed, or is wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// Its class.
    pub class: CauseClass,
    /// How sure that is.
    pub certainty: Certainty,
    /// One sentence.
    pub text: String,
    /// Where it was read, such as `server.log:130`.
    pub evidence: Vec<String>,
}

/// How sure a cause is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// It is one reading of several.
    Possible,
    /// The evidence points to it and leaves another reading.
    Likely,
    /// The lines say so, or the numbers leave nothing else.
    Shown,
}

macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)+) => {
        /// The class of a cause.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum CauseClass { $($(#[$doc])* $name,)+ }

        impl CauseClass {
            /// Every class.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// Its name in documents and tables.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }
        }
    };
}

classes! {
    /// The weights alone take more than the share that weights and KV cache have together.
    FractionBelowWeights = "fraction_below_weights",
    /// The share leaves too little outside it for the capture of CUDA graphs.
    GraphCaptureHeadroom = "graph_capture_headroom",
    /// Another process holds memory of the card.
    OtherProcessHoldsMemory = "other_process_holds_memory",
    /// What holds it is left over from an earlier run.
    LeakedPreviousRun = "leaked_previous_run",
    /// The KV cache is smaller than one request of full length.
    KvBelowContext = "kv_below_context",
    /// The server serves, with a pool too small to be of use.
    PoolUndersized = "pool_undersized",
    /// Draft model or its KV cache were not in the sizing.
    DraftNotAccounted = "draft_not_accounted",
    /// The state cache of a hybrid model takes what the KV cache needs.
    HybridStateCache = "hybrid_state_cache",
    /// The weights are larger than their quantisation suggests.
    QuantizationWeightSize = "quantization_weight_size",
    /// The configuration in effect is not the one that was asked for.
    EffectiveConfigDiffers = "effective_config_differs",
    /// The engine's own advice is contradicted by its numbers.
    EngineAdviceMisleading = "engine_advice_misleading",
    /// What the share is a share of is not what the reader takes it for.
    FractionSemantics = "fraction_semantics",
    /// The context and its libraries alone explain the difference.
    ContextBaseline = "context_baseline",
    /// What is allocated outside the share does not fit beside it.
    HeadroomOutsideStatic = "headroom_outside_static",
    /// A check refuses what would work.
    CheckTooStrict = "check_too_strict",
    /// Two engines, or two versions, mean different things by the same knob.
    EngineSemanticsDiffer = "engine_semantics_differ",
    /// Memory is on, or was measured on, another device.
    WrongDevice = "wrong_device",
    /// The platform says something else than it has: unified memory, MIG, WSL, vGPU.
    PlatformMisreports = "platform_misreports",
    /// The way between the GPUs, not memory.
    InterconnectP2p = "interconnect_p2p",
    /// The memory of the host, not of the GPU.
    HostMemory = "host_memory",
    /// `/dev/shm` of a container is too small.
    DockerShm = "docker_shm",
    /// Activations of requests at run time.
    RuntimeActivation = "runtime_activation",
    /// Nothing is wrong.
    Healthy = "healthy",
    /// Nothing tells.
    Unknown = "unknown",
}

/// Which way to turn a knob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// More.
    Up,
    /// Less.
    Down,
    /// Not at all: this knob does not help, the text says what does.
    None,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    /// The knob by its name in the engine's configuration, such as `mem_fraction_static`; empty where none is to be turned.
    pub knob: String,
    /// Which way.
    pub direction: Direction,
    /// The value at which the outcome changes.
    pub break_even: Option<Figure>,
    /// A value that works with room to spare; `None` where no value does, or where none can be computed.
    pub recommended: Option<f64>,
    /// What that value would give.
    pub gives: Option<Gives>,
    /// One or two sentences.
    pub text: String,
}

/// What a value of a knob would give.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gives {
    /// Tokens of KV cache.
    pub tokens: Option<Figure>,
    /// What is left for everything else.
    pub headroom_gib: Option<Figure>,
}

/// One term in which two servers differ by more than the rounding of their logs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compared {
    /// What differs, such as `weights` or `mem_fraction_static`.
    pub name: String,
    /// In the first.
    pub first: String,
    /// In the second.
    pub second: String,
    /// Second minus first in GiB, for amounts.
    pub difference_gib: Option<Figure>,
    /// Second minus first in tokens, for the KV cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference_tokens: Option<Figure>,
}
