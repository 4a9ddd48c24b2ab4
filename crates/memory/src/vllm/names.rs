//! The names under which the reader keeps amounts and messages. Amounts are GiB of one rank where nothing else is said.

/// Amounts of a rank.
pub(crate) mod amount {
    /// The card.
    pub(crate) const TOTAL: &str = "total";
    /// Free on the card when the engine looked at it first.
    pub(crate) const FREE: &str = "free";
    /// The share, as a number.
    pub(crate) const SHARE: &str = "share";
    /// The share of the card.
    pub(crate) const REQUESTED: &str = "requested";
    /// The weights.
    pub(crate) const WEIGHTS: &str = "weights";
    /// Weights and what is not torch's, together.
    pub(crate) const CONSUMED: &str = "consumed";
    /// What is not torch's.
    pub(crate) const NON_TORCH: &str = "non_torch";
    /// The peak of activations above the weights.
    pub(crate) const ACTIVATION: &str = "activation";
    /// The peak of torch's memory, weights included (up to 0.6.4).
    pub(crate) const PEAK_TORCH: &str = "peak_torch";
    /// The peak of all that is used on the card (up to 0.5).
    pub(crate) const PEAK: &str = "peak";
    /// What was used on the card before the profile run, weights included (up to 0.6.4).
    pub(crate) const INITIAL: &str = "initial";
    /// All that is subtracted from the share.
    pub(crate) const NOT_KV: &str = "not_kv";
    /// Graphs, measured beforehand and subtracted.
    pub(crate) const GRAPHS_ESTIMATED: &str = "graphs_estimated";
    /// Graphs as captured.
    pub(crate) const GRAPHS: &str = "graphs";
    /// What is left for the KV cache.
    pub(crate) const KV: &str = "kv";
    /// A size of the KV cache that was given instead of measured.
    pub(crate) const KV_GIVEN: &str = "kv_given";
    /// A suggested size of the KV cache within the share.
    pub(crate) const TO_FIT: &str = "to_fit";
    /// A suggested size of the KV cache that takes all that was free.
    pub(crate) const TO_FILL: &str = "to_fill";
    /// The share without the estimate of graphs, as a number.
    pub(crate) const WITHOUT_GRAPHS: &str = "without_graphs";
    /// The share that the engine suggests instead, as a number.
    pub(crate) const SUGGESTED: &str = "suggested";
    /// The memory of a NUMA node (CPU backend).
    pub(crate) const NODE: &str = "node";
    /// Tokens of the KV cache.
    pub(crate) const TOKENS: &str = "tokens";
    /// Requests of full length at once.
    pub(crate) const CONCURRENCY: &str = "concurrency";
    /// The full length of a request in tokens.
    pub(crate) const LENGTH: &str = "length";
    /// Blocks of the KV cache.
    pub(crate) const BLOCKS: &str = "blocks";
    /// Bytes of a block.
    pub(crate) const BLOCK_BYTES: &str = "block_bytes";
    /// What is used of a card by `nvidia-smi`, whoever uses it.
    pub(crate) const CARD_USED: &str = "card_used";
    /// The same of a start without graphs.
    pub(crate) const CARD_USED_EAGER: &str = "card_used_eager";
    /// A card by `nvidia-smi`.
    pub(crate) const CARD_TOTAL: &str = "card_total";
    /// What a process in a list of processes holds.
    pub(crate) const HELD: &str = "held";
    /// `MemAvailable` of the host.
    pub(crate) const HOST_AVAILABLE: &str = "host_available";
}

/// Messages of a server.
pub(crate) mod message {
    /// A process of an engine in a list of processes.
    pub(crate) const PROCESS: &str = "process";
    /// The cache has several kinds of layers.
    pub(crate) const HYBRID: &str = "hybrid";
    /// NCCL says what it does.
    pub(crate) const NCCL_TALKS: &str = "nccl_talks";
    /// Kernels are tuned.
    pub(crate) const TUNES: &str = "tunes";
    /// Workers wait for each other.
    pub(crate) const WAITING: &str = "waiting";
    /// The first engine's lines.
    pub(crate) const FIRST_ENGINE: &str = "first_engine";
    /// Fewer blocks than none.
    pub(crate) const NEGATIVE_BLOCKS: &str = "negative_blocks";
    /// Requests were taken back for want of KV cache.
    pub(crate) const PREEMPTED: &str = "preempted";
    /// Graphs come on top of the share, as the engine says.
    pub(crate) const GRAPHS_OUTSIDE: &str = "graphs_outside";
    /// The second model runner, which estimates no graphs (from 0.26 on for some models).
    pub(crate) const SECOND_RUNNER: &str = "second_runner";
    /// Blocks were set by hand.
    pub(crate) const BLOCKS_SET: &str = "blocks_set";
}

/// Settings, beside those under the engine's own names.
pub(crate) mod setting {
    /// The share, as printed by the engine.
    pub(crate) const SHARE: &str = "gpu_memory_utilization";
    /// The share, as typed.
    pub(crate) const TYPED_SHARE: &str = "typed gpu_memory_utilization";
    /// The architecture.
    pub(crate) const ARCHITECTURE: &str = "architecture";
    /// The longest request.
    pub(crate) const LENGTH: &str = "max_model_len";
    /// Requests at once.
    pub(crate) const REQUESTS: &str = "max_num_seqs";
    /// Tokens of one step.
    pub(crate) const BATCHED_TOKENS: &str = "max_num_batched_tokens";
    /// Ranks of tensor parallelism.
    pub(crate) const TENSOR: &str = "tensor_parallel_size";
    /// Stages of pipeline parallelism.
    pub(crate) const PIPELINE: &str = "pipeline_parallel_size";
    /// Layers of each stage.
    pub(crate) const PARTITION: &str = "VLLM_PP_LAYER_PARTITION";
    /// Elements of the KV cache.
    pub(crate) const KV_DTYPE: &str = "kv_cache_dtype";
    /// The KV cache in bytes.
    pub(crate) const KV_BYTES: &str = "kv_cache_memory_bytes";
    /// Whether graphs are off.
    pub(crate) const EAGER: &str = "enforce_eager";
    /// `cuda`, `cpu`.
    pub(crate) const DEVICE: &str = "device";
    /// Whether the line of all changed arguments was seen.
    pub(crate) const ALL_CHANGES: &str = "non-default args";
    /// Whether a draft model is used.
    pub(crate) const SPECULATIVE: &str = "speculative_config";
}
