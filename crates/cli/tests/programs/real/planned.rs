//! A plan before a start against what the engine then comes to: the tokens of its KV cache lie in the plan's interval, and nearly on its value.
//!
//! The folder of an engine that has a file `plan` is tried, whatever GPU, simulated or not, it is started on.

use bystander_testkit::{Mark, skip};
use serde_json::Value;

use super::engine::{Seen, installed, watch};
use super::whole;
use crate::experiment::world;

/// Tokens of a block of vLLM where nothing else is asked for.
const BLOCK: u64 = 16;

/// The tokens that a plan gives, for the engine of a folder.
fn planned(name: &str, engine: &str) -> Option<Value> {
    let file = installed(name)?.join("plan");
    let Ok(typed) = std::fs::read_to_string(&file) else {
        skip(&format!("{} is not there: no plan to compare with", file.display()), Mark::Download);
        return None;
    };
    let arguments: Vec<&str> = typed.split_whitespace().collect();
    let world = world();
    let planned = world.bystander(["memory", "plan", "--json", "--engine", engine]).args(&arguments).run().exits(0).json();
    let column = planned["columns"].as_array().expect("columns").iter().find(|column| column["name"] == engine).cloned();
    let tokens = column.expect("its column")["tokens"].clone();
    assert!(tokens.is_object(), "{name}: the plan knows no tokens: {planned:#}");
    Some(tokens)
}

/// Compares a plan with the tokens that were seen; `near` is the share by which its value may be off.
fn compare(name: &str, tokens: &Value, seen: u64, near: f64) {
    let of = |bound: &str| tokens[bound].as_f64().expect("a number");
    let seen = seen as f64;
    assert!(of("low") <= seen && seen <= of("high"), "{name} came to {seen} tokens, planned were {tokens}");
    assert!((of("value") / seen - 1.0).abs() <= near, "{name} came to {seen} tokens, planned were {tokens}");
}

fn sglang(name: &str, ranks: usize) {
    let Some(tokens) = planned(name, "sglang") else { return };
    let Some(seen) = watch(name, "sglang-memory", &["sglang.pool"], ranks) else { return };
    let pools = |seen: &Seen| seen.each("sglang.pool").into_iter().map(|hit| whole(hit, "self.max_total_num_tokens")).min();
    compare(name, &tokens, pools(&seen).expect("a pool"), 0.005);
}

#[test]
fn sglang_0_5_9_comes_to_what_was_planned() {
    sglang("sglang-0.5.9-gpu", 1);
}

#[test]
fn sglang_0_5_9_comes_to_what_was_planned_on_two_ranks() {
    sglang("sglang-0.5.9-gpu-tp2", 2);
}

#[test]
fn sglang_0_5_23_comes_to_what_was_planned() {
    sglang("sglang-0.5.23-gpu", 1);
}

#[test]
fn vllm_0_32_comes_to_what_was_planned() {
    // Its profile is measured; the plan estimates it, with bounds.
    let name = "vllm-0.32-gpu";
    let Some(tokens) = planned(name, "vllm") else { return };
    let Some(seen) = watch(name, "vllm-memory", &["vllm.engine"], 1) else { return };
    compare(name, &tokens, whole(seen.each("vllm.blocks")[0], "min_num_blocks") * BLOCK, 0.05);
}
