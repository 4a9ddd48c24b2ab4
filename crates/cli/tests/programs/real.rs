//! Engines that many people run, watched with their ready-made sets of probes while they size their KV cache.
//!
//! `BYSTANDER_REAL` names a folder with a folder an engine, as `just real` says; an engine that is not there is told and passed over.
//! A folder holds `bin/python3` and `serve`, an executable that becomes the server with the arguments it is given.

mod engine;
mod experiment;
mod planned;
mod sets;

use engine::watch;
use serde_json::Value;

/// Looks at the sizing of SGLang: the same arithmetic on every rank, at the end of which a pool is made.
fn sglang(name: &str, ranks: usize) {
    let Some(seen) = watch(name, "sglang-memory", &["sglang.pool", "sglang.requests"], ranks) else { return };
    seen.nothing_refused();
    let rest = seen.each("sglang.rest");
    assert_eq!((rest.len(), seen.ranks("sglang.rest")), (ranks, (0..ranks as u64).collect()), "{name}: {rest:#?}");
    for hit in rest {
        let value = |key: &str| hit["values"][key].as_f64();
        let baseline = value("total_gpu_memory").or_else(|| value("pre_model_load_memory")).expect("a baseline");
        let available = value("available_gpu_memory").expect("free memory");
        let slack = value("slack_gb").or_else(|| Some(baseline * (1.0 - value("self.mem_fraction_static")?))).expect("slack");
        let left = available - slack - value("mm_reservation_gb").unwrap_or(0.0);
        let rest = value("rest_memory").expect("what is left");
        assert!((rest - left).abs() < 1e-9 && rest > 0.0, "{name}: {rest} is not {left}: {hit:#}");
        let (cell, profiled) = (seen.of_process("sglang.cell", hit), seen.of_process("sglang.profiled", hit));
        let (cell, profiled) = (whole(cell, "return"), whole(profiled, "return"));
        let bytes = (rest * f64::from(1 << 30)) as u64;
        assert!(profiled == bytes || profiled == bytes / cell, "{name}: {profiled} is neither {bytes} nor {bytes} / {cell}");
        let pool = whole(seen.of_process("sglang.pool", hit), "self.max_total_num_tokens");
        assert!(pool > 0 && pool <= bytes / cell, "{name}: {pool} of {} tokens", bytes / cell);
        let buffers = seen.of_process("sglang.buffers", hit);
        assert_eq!(whole(buffers, "self.size"), pool, "{name}: {buffers:#}");
    }
}

fn whole(hit: &Value, key: &str) -> u64 {
    hit["values"][key].as_u64().unwrap_or_else(|| panic!("{key} is no number: {hit:#}"))
}

#[test]
fn sglang_0_5_9_sizes_its_cache_on_a_cpu() {
    sglang("sglang-0.5.9-cpu", 1);
}

#[test]
fn sglang_0_5_9_sizes_its_cache_on_two_ranks() {
    sglang("sglang-0.5.9-tp2", 2);
}

#[test]
fn sglang_0_5_9_sizes_its_cache_on_a_simulated_gpu() {
    sglang("sglang-0.5.9-gpu", 1);
}

#[test]
fn sglang_0_5_9_sizes_its_cache_on_two_simulated_gpus() {
    sglang("sglang-0.5.9-gpu-tp2", 2);
}

#[test]
fn sglang_0_5_23_sizes_its_cache_on_a_cpu() {
    sglang("sglang-0.5.23-cpu", 1);
}

#[test]
fn sglang_0_5_23_sizes_its_cache_on_a_simulated_gpu() {
    sglang("sglang-0.5.23-gpu", 1);
}

/// Looks at the sizing of vLLM: what the workers were granted is what the engine lays out.
fn vllm(name: &str, granted: &str, workers: usize) {
    let Some(seen) = watch(name, "vllm-memory", &["vllm.engine"], 1) else { return };
    seen.nothing_refused();
    let engine = seen.each("vllm.engine")[0];
    let told: Vec<u64> =
        engine["values"]["available_gpu_memory"]["items"].as_array().expect("a list").iter().filter_map(Value::as_u64).collect();
    let mut given: Vec<u64> = seen.each(granted).into_iter().map(|hit| whole(hit, "return")).collect();
    given.sort_unstable();
    let mut sorted = told;
    sorted.sort_unstable();
    assert_eq!((sorted.len(), &sorted), (workers, &given), "{name}");
    let blocks = whole(seen.each("vllm.blocks")[0], "min_num_blocks");
    let layout = seen.each("vllm.layout").into_iter().map(|hit| whole(hit, "return.num_blocks")).min();
    assert_eq!(layout, Some(blocks), "{name}");
    for pool in seen.each("vllm.pool") {
        assert_eq!(whole(pool, "kv_cache_config.num_blocks"), blocks, "{name}");
    }
    assert_eq!(seen.ranks(granted), (0..workers as u64).collect(), "{name}");
}

#[test]
fn vllm_0_32_sizes_its_cache_on_a_cpu() {
    vllm("vllm-0.32-cpu", "vllm.cpu-available", 1);
}

#[test]
fn vllm_0_32_sizes_its_cache_on_two_ranks() {
    vllm("vllm-0.32-cpu-tp2", "vllm.cpu-available", 2);
}

#[test]
fn vllm_0_32_sizes_its_cache_on_a_simulated_gpu() {
    vllm("vllm-0.32-gpu", "vllm.granted", 1);
}
