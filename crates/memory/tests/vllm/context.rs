//! The KV cache is smaller than one request.

use bystander_model::memory::{CauseClass, Direction};

use crate::told::{advice, class, same, server, share, text};

#[test]
fn stages_hold_less_than_the_engine_counts() {
    let message = "ValueError: To serve at least one request with the models's max seq len (262144), (24.0 GiB KV cache is needed, which is larger than the available KV cache memory (3.18 GiB). Based on the available memory, the estimated maximum model length is 34736. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.\n";
    let config = "(EngineCore_DP0 pid=7) INFO 01-29 13:20:15 [core.py:1] Initializing a V1 LLM engine (v0.15.2rc1) with config: model='x', max_seq_len=262144, tensor_parallel_size=1, pipeline_parallel_size=2\n";
    let found = server(&format!(
        "VLLM_PP_LAYER_PARTITION=16,32 vllm serve x --pipeline-parallel-size 2\n{config}(EngineCore_DP0 pid=7) ERROR 01-29 13:20:16 [core.py:2] {message}"
    ));
    assert_eq!(class(&found), CauseClass::KvBelowContext);
    assert!(text(&found).contains("104,202 tokens fit there, and a full request needs 8.00 GiB"), "{}", text(&found));
    let shorter = advice(&found, "max_model_len");
    assert_eq!((shorter.direction, shorter.recommended), (Direction::Down, Some(34_736.0)));
    assert!(found.contradictions.iter().any(|text| text.contains("48 layers")), "{:?}", found.contradictions);
    let unknown = server(&format!("{config}ERROR 01-29 13:20:16 [core.py:2] {message}"));
    assert!(unknown.contradictions.iter().any(|text| text.contains("all layers as though")), "{:?}", unknown.contradictions);
    let bare = server(&format!("ERROR 01-29 13:20:16 [core.py:2] {message}"));
    assert_eq!(class(&bare), CauseClass::KvBelowContext);
    assert_eq!((bare.advice[0].knob.as_str(), bare.advice[0].recommended), ("max_model_len", Some(34_736.0)));
}

#[test]
fn a_share_that_is_large_enough_is_computed_where_the_card_is_known() {
    let found = server(
        "(EngineCore pid=1) INFO 06-01 10:00:00 [core.py:1] Initializing a V1 LLM engine (v0.22.0) with config: model='x'\n(EngineCore pid=1) INFO 06-01 10:00:00 [g.py:1] Estimated CUDA graph memory: 1.11 GiB total\n(EngineCore pid=1) INFO 06-01 10:00:00 [g.py:1] Available KV cache memory: 7.04 GiB\n(EngineCore pid=1) INFO 06-01 10:00:00 [g.py:1] CUDA graph memory profiling is enabled (default since v0.21.0). The current --gpu-memory-utilization=0.8600 is equivalent to --gpu-memory-utilization=0.8351 without CUDA graph memory profiling. To maintain the same effective KV cache size as before, increase --gpu-memory-utilization to 0.8849. To disable, set VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0.\n(EngineCore pid=1) ERROR 06-01 10:00:00 [c.py:1] ValueError: To serve at least one request with the model's max seq len (131072), (8.18 GiB KV cache is needed, which is larger than the available KV cache memory (7.04 GiB). Based on the available memory, the estimated maximum model length is 112896. Try increasing\n",
    );
    assert_eq!(class(&found), CauseClass::KvBelowContext);
    // The estimate of graphs is 0.0249 of the card: 44.6 GiB, told to a few hundred MiB.
    let advice = share(&found, Direction::Up);
    let even = advice.break_even.expect("a share");
    assert!(even.low < 0.86 + 1.14 / 44.4 && 0.86 + 1.14 / 44.8 < even.high, "{even:?}");
    assert_eq!(advice.recommended, Some(0.91));
}

#[test]
fn the_first_engine_counts_tokens() {
    let log = "INFO 11-23 10:00:00 model_runner.py:1077] Loading model weights took 14.9888 GB\nINFO 11-23 10:00:00 worker.py:232] Memory profiling results: total_gpu_memory=23.58GiB initial_memory_usage=15.34GiB peak_torch_memory=17.98GiB memory_usage_post_profile=15.35GiB non_torch_memory=0.35GiB kv_cache_size=2.89GiB gpu_memory_utilization=0.90\nINFO 11-23 10:00:00 gpu_executor.py:113] # GPU blocks: 1478, # CPU blocks: 2048\nValueError: The model's max seq len (29000) is larger than the maximum number of tokens that can be stored in KV cache (23648). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.\n";
    let found = server(log);
    assert_eq!((class(&found), found.phase), (CauseClass::KvBelowContext, bystander_model::memory::Phase::PoolSizing));
    let formula = found.formula.as_ref().expect("a formula");
    same(formula.rest_gib.value, 2.89, 2);
    assert_eq!(formula.tokens.map(|tokens| tokens.value), Some(23_648.0));
    assert!(text(&found).contains("3.54 GiB are needed and 2.89 GiB are there"), "{}", text(&found));
    assert_eq!(advice(&found, "max_model_len").recommended, Some(23_648.0));
    same(share(&found, Direction::Up).break_even.expect("a share").value, 0.9 + (3.540 - 2.887) / 23.58, 2);
    assert_eq!(advice(&found, "enable_chunked_prefill").direction, Direction::Up);
    assert!(found.ranks[0].unexplained_gib.is_some_and(|rest| rest.value.abs() < 0.02), "{:#?}", found.ranks);
    let shorter = server(
        &log.replace("17.98", "17.06")
            .replace("2.89GiB", "3.81GiB")
            .replace("1478", "1952")
            .replace("29000", "40000")
            .replace("23648", "31232"),
    );
    same(shorter.formula.expect("a formula").rest_gib.value, 3.81, 2);
}

#[test]
fn without_bytes_per_token_no_gib_are_named() {
    let found = server(
        "ValueError: The model's max seq len (32768) is larger than the maximum number of tokens that can be stored in KV cache (7344). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.\n",
    );
    assert_eq!(class(&found), CauseClass::KvBelowContext);
    assert_eq!((found.advice[0].knob.as_str(), found.advice[0].recommended), ("max_model_len", Some(7344.0)));
    assert!(text(&found).contains("4.46 times as much"), "{}", text(&found));
    // With the block's bytes, both sides are known.
    let known = server(
        "cache_block_size: 8388608\nValueError: The model's max seq len (32768) is larger than the maximum number of tokens that can be stored in KV cache (7344).\n",
    );
    assert!(text(&known).contains("16.00 GiB are needed and 3.59 GiB are there"), "{}", text(&known));
}
