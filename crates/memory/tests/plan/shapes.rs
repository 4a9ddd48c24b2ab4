//! Shapes of popular models against the engines' own code: SGLang 0.5.9 started on simulated cards, vLLM 0.32's own grouping of the layers of each model.
//!
//! `fixtures/shapes.json` has their configurations, less what has no part in memory.

use bystander_memory::plan::config::{Config, ConfigError};
use bystander_memory::plan::setup::{Engine, Setup};
use bystander_memory::plan::shape::Shape;
use bystander_memory::version::Release;
use bystander_model::memory::Column;
use serde_json::Value;

use crate::ask::{column, model, newest, on};

fn shape(name: &str) -> Value {
    let file = format!("{}/tests/fixtures/shapes.json", env!("CARGO_MANIFEST_DIR"));
    let all: Value = serde_json::from_str(&std::fs::read_to_string(&file).expect("the shapes")).expect("JSON");
    all.get(name).cloned().unwrap_or_else(|| panic!("no shape {name}"))
}

fn text(name: &str) -> String {
    shape(name).to_string()
}

fn vllm(name: &str) -> Column {
    column(&text(name), Setup::default(), Engine::Vllm, Release(0, 32, 0))
}

#[test]
fn sglang_gives_other_shapes_what_its_own_code_gave() {
    // (shape, card, ranks, what the engine gave); the first two to the token, of the others the weights lie a segment or two apart.
    let found = |name: &str, gpu: &str, tensor, fraction| {
        let setup = Setup { fraction, without_graphs: true, ..on(gpu, tensor) };
        column(&text(name), setup, Engine::Sglang, Release(0, 5, 9)).tokens.expect("tokens")
    };
    for (name, gpu, tokens) in [("sim-dsv3", "24GiB", 1_379_784.0), ("sim-gemma3", "80GiB", 456_684.0)] {
        assert_eq!(found(name, gpu, 1, None).value, tokens, "{name}");
    }
    for (name, gpu, tensor, fraction, tokens) in [
        ("sim-qwen3", "80GiB", 1, None, 255_138.0),
        ("sim-qwen3", "48GiB", 2, Some(0.8), 315_960.0),
        ("sim-qwen3moe", "80GiB", 1, None, 104_292.0),
        ("sim-gemma3", "24GiB", 2, Some(0.75), 205_861.0),
        ("sim-dsv3", "40GiB", 2, Some(0.6), 1_754_878.0),
    ] {
        let figure = found(name, gpu, tensor, fraction);
        assert!(figure.low <= tokens && tokens <= figure.high && (figure.value / tokens - 1.0).abs() < 0.003, "{name}: {figure:?}");
    }
}

#[test]
fn vllm_gives_a_full_request_what_its_own_code_gives() {
    // GiB of one request of full length, by `get_kv_cache_groups` and `max_memory_usage_bytes`.
    for (name, gib) in [
        ("command-r7b", 5.907_714_843_75),
        ("deepseek-v2-lite", 4.746_093_75),
        ("mimo-v2-flash", 8.152_465_820_312_5),
        ("gemma-4-31b", 33.293_457_031_25),
        ("minimax-m2", 46.5),
        ("mistral-7b-v0.1", 2.501_953_125),
        ("gemma-2-9b", 2.627_563_476_562_5),
        ("olmo3-7b", 15.505_859_375),
        ("gpt-oss-20b", 3.378_295_898_437_5),
        ("phi-3.5-moe", 16.001_953_125),
        ("falcon-7b", 0.015_625),
        ("qwen3-vl-8b", 36.0),
        ("longcat-flash", 7.875),
        ("llama-70b-fp8dyn-kvfp8", 20.0),
        ("mamba2-2.7b", 0.080_047_607_421_875),
    ] {
        let found = vllm(name).kv_gib_full_request.expect("a full request");
        assert!((found - gib).abs() < 1e-9, "{name}: {found}, not {gib}");
    }
}

#[test]
fn room_is_kept_for_states_that_prefix_caching_needs() {
    // Blocks of one request: what `max_memory_usage_bytes` asks for, with the mode that this release takes by itself.
    let line = |column: &Column| column.derivation.iter().find(|line| line.starts_with("room is kept")).cloned();
    for (name, blocks) in [("granite-4-h-small", "276"), ("nemotron-h-8b", "26"), ("jamba-1.5-mini", "3,291"), ("lfm2-1.2b", "8,004")] {
        let line = line(&vllm(name)).unwrap_or_else(|| panic!("{name}: no room"));
        assert!(line.contains(&format!("for {blocks} blocks")), "{name}: {line}");
    }
    let without = Setup { without_prefix_cache: true, ..Setup::default() };
    assert_eq!(line(&column(&text("granite-4-h-small"), without, Engine::Vllm, Release(0, 32, 0))), None);
    assert_eq!(line(&column(&text("granite-4-h-small"), Setup::default(), Engine::Vllm, Release(0, 11, 0))), None);
}

#[test]
fn layers_that_share_keys_are_kept_by_one_engine_and_not_by_the_other() {
    let bytes = |at: usize| newest(&text("gemma-3n-e4b"), Setup::default()).columns[at].kv_bytes_per_token_per_rank.expect("bytes");
    // 20 of 35 layers have keys of their own, 4 of them global; SGLang has a pool for all.
    assert_eq!((bytes(0), bytes(1), bytes(2)), (4.0 * 2048.0, 35.0 * 2048.0, 4.0 * 2048.0));
}

#[test]
fn lists_of_one_number_for_every_layer_are_that_number() {
    let planned = newest(&text("hunyuan-a13b"), Setup::default());
    assert_eq!(planned.columns[2].kv_bytes_per_token_per_rank, Some(131_072.0));
    let mut mixed = shape("hunyuan-a13b");
    mixed["moe_topk"][3] = 2.into();
    let config = Config::parse(&mixed.to_string()).expect("a config");
    assert!(matches!(Shape::read(&config), Err(ConfigError::Wrong { .. })));
}

#[test]
fn what_is_not_modelled_has_no_number() {
    let refused = |name: &str, field: &str, value: Value| {
        let mut changed = shape(name);
        changed[field] = value;
        Shape::read(&Config::parse(&changed.to_string()).expect("a config")).expect_err("no model").to_string()
    };
    let own = serde_json::json!([{"attention": {"n_heads_in_group": 8, "no_op": false}}]);
    assert!(refused("llama-70b-fp8dyn-kvfp8", "block_configs", own).contains("block_configs"));
    assert!(refused("hunyuan-a13b", "use_cla", true.into()).contains("use_cla"));
}

#[test]
fn checkpoints_are_as_large_as_the_parameters_that_vllm_makes_of_them() {
    for (name, bytes) in [
        ("command-r-plus", 207_621_349_376),
        ("command-r7b", 16_056_066_048),
        ("deepseek-v2-lite", 31_412_968_448),
        ("exaone-4-32b", 64_006_432_768),
        ("gemma-2-9b", 18_483_411_968),
        ("mistral-7b-v0.1", 14_483_464_192),
        ("olmo2-13b", 27_432_396_800),
        ("phi-4", 29_319_014_400),
        ("seed-oss-36b", 72_302_209_024),
    ] {
        let (_, checkpoint) = model(&text(name));
        assert_eq!(checkpoint.map(|checkpoint| checkpoint.bytes()), Some(bytes), "{name}");
    }
    // 106 billion parameters, and the layer that predicts a further token, with embeddings of its own.
    let gib = model(&text("glm-4.5-air")).1.expect("a checkpoint").bytes() as f64 / 1_073_741_824.0;
    assert!((gib - 205.764).abs() < 0.001, "{gib}");
}

#[test]
fn weights_that_are_unknown_say_so_and_nothing_is_negative_zero() {
    let planned = newest(&text("longcat-flash"), on("h200", 8));
    for column in &planned.columns[1..] {
        assert!(column.tokens.is_none() && column.not_modelled.iter().any(|line| line.contains("weights")), "{}", column.name);
    }
    for name in ["mistral-7b-v0.1", "mamba2-2.7b"] {
        let planned = newest(&text(name), Setup::default());
        let bytes = planned.columns[0].kv_bytes_per_token_per_rank.expect("bytes");
        assert!(bytes == 0.0 && bytes.is_sign_positive(), "{name}: {bytes}");
    }
}
