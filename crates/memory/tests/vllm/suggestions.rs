//! The engine's own advice against its own numbers.

use bystander_model::memory::{CauseClass, TermName};

use crate::told::{class, same, server, term};

fn served(account: &str) -> String {
    format!(
        "(EngineCore pid=7) INFO 11-29 13:20:15 [core.py:1] Initializing a V1 LLM engine (v0.29.0) with config: model='x'\n(EngineCore pid=7) INFO 11-29 13:20:16 [m.py:1] Model loading took 80.0 GiB memory and 9.0 seconds\n(EngineCore pid=7) INFO 11-29 13:20:16 [g.py:1] Estimated CUDA graph memory: 0.64 GiB total\n(EngineCore pid=7) INFO 11-29 13:20:16 [g.py:1] Available KV cache memory: 7.64 GiB\n(EngineCore pid=7) INFO 11-29 13:20:16 [g.py:1] CUDA graph pool memory: 0.64 GiB (actual), 0.64 GiB (estimated), difference: 0.00 GiB (0.0%).\n{account}(APIServer pid=1) INFO:     Application startup complete.\n"
    )
}

const ACCOUNT: &str = "(EngineCore pid=7) INFO 11-29 13:20:17 [g.py:9] Free memory on device (93.83/95.01 GiB) on startup. Desired GPU memory utilization is (0.975, 92.63 GiB). Actual usage is 82.69 GiB for consumed memory (weights + non-torch), 1.66 GiB for peak activation, and 0.64 GiB for CUDAGraph memory. Replace gpu_memory_utilization config with `--kv-cache-memory=BYTES` (7.50 GiB) to fit into requested memory, or `--kv-cache-memory=9820551680` (9.15 GiB) to fully utilize gpu memory. Current kv cache memory in use is 7.64 GiB.\n";

#[test]
fn a_suggestion_that_keeps_150_mib_back_is_sound() {
    let left = 92.635 - 82.69 - 1.66 - 0.64 - 150.0 / 1024.0;
    let found = server(&served(&ACCOUNT.replace("BYTES", &format!("{:.0}", left * 1_073_741_824.0))));
    assert_eq!(class(&found), CauseClass::Healthy);
    let rank = &found.ranks[0];
    same(term(rank, TermName::Headroom), 93.83 - 92.635, 2);
    assert!(rank.unexplained_gib.is_some_and(|rest| rest.value.abs() < 0.02), "{rank:#?}");
}

#[test]
fn a_suggestion_that_subtracts_twice_is_named() {
    let left = 92.635 - 82.69 - 1.66 - 0.64 - 150.0 / 1024.0 - 0.64;
    let found = server(&served(&ACCOUNT.replace("BYTES", &format!("{:.0}", left * 1_073_741_824.0))));
    assert_eq!(class(&found), CauseClass::EngineAdviceMisleading);
    assert!(found.contradictions.iter().any(|text| text.contains("CUDA graphs (0.64 GiB) twice")), "{:?}", found.contradictions);
}

#[test]
fn a_share_that_its_own_check_refuses_is_contradicted() {
    let equal = "(EngineCore pid=7) INFO 11-29 13:20:16 [g.py:1] CUDA graph memory profiling is enabled (default since v0.21.0). The current --gpu-memory-utilization=0.9750 is equivalent to --gpu-memory-utilization=0.9683 without CUDA graph memory profiling. To maintain the same effective KV cache size as before, increase --gpu-memory-utilization to 0.9891. To disable, set VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0.\n";
    let left = 92.635 - 82.69 - 1.66 - 0.64 - 150.0 / 1024.0;
    let found = server(&served(&format!("{equal}{}", ACCOUNT.replace("BYTES", &format!("{:.0}", left * 1_073_741_824.0)))));
    assert!(found.contradictions.iter().any(|text| text.contains("0.9891") && text.contains("0.9875")), "{:?}", found.contradictions);
}

#[test]
fn a_pool_of_no_use_is_not_called_ready() {
    let log = served("").replace("Available KV cache memory: 7.64 GiB\n", "Available KV cache memory: 7.64 GiB\n(EngineCore pid=7) INFO 11-29 13:20:16 [k.py:1] GPU KV cache size: 1,600 tokens, Maximum concurrency for 8,192 tokens per request: 0.20x\n");
    let found = server(&log);
    assert_eq!((found.state, class(&found)), (bystander_model::memory::State::Starved, CauseClass::KvBelowContext));
}
