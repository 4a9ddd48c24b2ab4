//! The names under which amounts and messages of SGLang's log are kept, see [`crate::explain::facts`].
//!
//! Amounts are GiB where nothing else is said.

/// Memory that contexts and process groups took.
pub(crate) const INIT_USED: &str = "init_used";
/// Free before the weights.
pub(crate) const LOAD_BEGIN: &str = "load_begin";
/// Free after the weights.
pub(crate) const LOAD_END: &str = "load_end";
/// What the engine says the weights took.
pub(crate) const LOAD_USED: &str = "load_used";
/// Free before the weights of a draft model.
pub(crate) const DRAFT_LOAD_BEGIN: &str = "draft_load_begin";
/// Free after the weights of a draft model.
pub(crate) const DRAFT_LOAD_END: &str = "draft_load_end";
/// Tokens of a pool of the target.
pub(crate) const POOL_TOKENS: &str = "pool_tokens";
/// A pool of the target.
pub(crate) const POOL_GIB: &str = "pool_gib";
/// A pool of a draft model.
pub(crate) const DRAFT_POOL_GIB: &str = "draft_pool_gib";
/// Both pools of a sliding-window hybrid together.
pub(crate) const SWA_GIB: &str = "swa_gib";
/// Tokens of the pool of full-attention layers.
pub(crate) const FULL_TOKENS: &str = "full_tokens";
/// Tokens of the pool of sliding-window layers.
pub(crate) const SWA_TOKENS: &str = "swa_tokens";
/// Caches of states.
pub(crate) const STATE_GIB: &str = "state_gib";
/// Requests that the state cache has room for.
pub(crate) const STATE_SLOTS: &str = "state_slots";
/// Free after the pools of the target.
pub(crate) const POOL_END: &str = "pool_end";
/// Free after the pool of a draft model.
pub(crate) const DRAFT_POOL_END: &str = "draft_pool_end";
/// Free before graphs are captured.
pub(crate) const GRAPH_BEGIN: &str = "graph_begin";
/// Free after graphs were captured.
pub(crate) const GRAPH_END: &str = "graph_end";
/// What the engine says the graphs took.
pub(crate) const GRAPH_USED: &str = "graph_used";
/// Free at the last step of the capture whose progress was printed.
pub(crate) const CAPTURING: &str = "capturing";
/// Tokens of KV cache on the last line of the start.
pub(crate) const TOKENS: &str = "tokens";
/// Requests at once on that line.
pub(crate) const MAX_RUNNING: &str = "max_running";
/// Tokens of the longest request on that line.
pub(crate) const CONTEXT: &str = "context";
/// Free memory on that line, not emptied of what the allocator holds back.
pub(crate) const FINAL: &str = "final";
/// Tokens that the sizing gave before a cap.
pub(crate) const PROFILED: &str = "profiled";
/// What is kept back for multimodal models.
pub(crate) const MM_RESERVED: &str = "mm_reserved";
/// Symmetric memory that is allocated in advance.
pub(crate) const SYMMETRIC: &str = "symmetric";
/// Buffers of the all-reduce.
pub(crate) const ALL_REDUCE: &str = "all_reduce";

/// Free before adapters were loaded.
pub(crate) const LORA_BEGIN: &str = "lora_begin";
/// Free after adapters were loaded.
pub(crate) const LORA_END: &str = "lora_end";
/// Free before the weights, as a print in the sizing shows it.
pub(crate) const SEEN_TOTAL: &str = "seen_total";
/// Free after the weights, as a print in the sizing shows it.
pub(crate) const SEEN_AVAILABLE: &str = "seen_available";

/// Message: the capture's progress.
pub(crate) const PROGRESS: &str = "progress";
/// Message: addresses of graphs are registered with the all-reduce.
pub(crate) const REGISTERED: &str = "registered";
/// Message: requests were fewer than asked for.
pub(crate) const REDUCED: &str = "requests_reduced";
/// Message: requests were retracted for want of KV cache.
pub(crate) const RETRACTED: &str = "retracted";
/// Message: a batch did not fit into the pool.
pub(crate) const POOL_EXHAUSTED: &str = "pool_exhausted";
/// Message: the custom all-reduce could not be set up.
pub(crate) const ALL_REDUCE_FAILED: &str = "all_reduce_failed";
/// Message: the custom all-reduce is not used, and why.
pub(crate) const ALL_REDUCE_OFF: &str = "all_reduce_off";
/// Message: a rank waits for others.
pub(crate) const RANK_WAITS: &str = "rank_waits";
/// Message: a kind of pool that is not modelled.
pub(crate) const OTHER_POOL: &str = "other_pool";
/// Message: the pool was resized after the capture.
pub(crate) const RESIZED: &str = "resized";
/// Message: the command line, as somebody echoed it.
pub(crate) const COMMAND: &str = "command";
/// Message: the weights came after the graphs.
pub(crate) const OVERLAPPED: &str = "overlapped";
/// Message: a line about memory that is of no known kind.
pub(crate) const UNKNOWN: &str = "unknown_line";
/// Message: the weights were loaded.
pub(crate) const LOADED: &str = "loaded";

/// Setting: the class of the model, as the line after the weights has it.
pub(crate) const MODEL_CLASS: &str = "(model class)";
/// Setting: the element type of the KV cache in effect.
pub(crate) const KV_DTYPE: &str = "(kv dtype)";
