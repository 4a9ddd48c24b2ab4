//! Launch commands against what the engines' own code came to on simulated cards: SGLang 0.5.9 from its start to the end of its pools, vLLM 0.32 with a KV cache of
//! a given size.

use bystander_memory::plan::gpu::Gpu;
use bystander_memory::plan::launch::Launch;
use bystander_memory::plan::setup::{Engine, Setup, Speculation};
use bystander_memory::version::Release;
use bystander_model::budget::Figure;
use serde_json::{Value, json};

use crate::ask::{column, text};
use crate::checkpoints::{quantised, seeing};

/// A model of 8 billion parameters, less what has no part in memory.
fn llama() -> Value {
    json!({
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128_256, "max_position_embeddings": 8192, "rope_theta": 500_000.0,
        "tie_word_embeddings": false, "torch_dtype": "bfloat16"
    })
}

/// A published configuration with other values in some fields; `null` takes one out.
fn edited(mut config: Value, other: &Value) -> Value {
    let fields = config.as_object_mut().expect("an object");
    for (field, value) in other.as_object().expect("an object") {
        fields.insert(field.clone(), value.clone());
    }
    fields.retain(|_, value| !value.is_null());
    config
}

fn published(model: &str) -> Value {
    serde_json::from_str(&text(model)).expect("JSON")
}

/// gpt-oss in 16 bits.
fn oss() -> Value {
    let types = ["sliding_attention", "full_attention"].repeat(6);
    edited(published("gpt-oss-120b"), &json!({"num_hidden_layers": 12, "layer_types": types, "quantization_config": null}))
}

/// The tokens that a command comes to on cards of this size.
fn tokens(config: &Value, command: &str, card: &str, release: Release) -> Figure {
    let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    let launch = Launch::parse(&words).expect("a command");
    assert_eq!(launch.unknown, Vec::<String>::new(), "{command}");
    let speculation = launch.speculative.as_ref().map(|said| Speculation {
        is_standalone: false,
        is_textual: false,
        draft: None,
        draft_bytes: None,
        steps: said.steps,
        branches: said.branches,
        tokens: said.tokens,
    });
    let setup = Setup { gpu: Some(Gpu::parse(card).expect("a card")), speculation, ..launch.setup };
    column(&config.to_string(), setup, launch.engine, release).tokens.unwrap_or_else(|| panic!("{command}: no tokens"))
}

fn sglang(config: &Value, options: &str, card: &str) -> Figure {
    sglang_of(Release(0, 5, 9), config, options, card)
}

fn sglang_of(release: Release, config: &Value, options: &str, card: &str) -> Figure {
    tokens(config, &format!("sglang serve --model-path m --disable-cuda-graph --disable-overlap-schedule {options}"), card, release)
}

#[test]
fn sglang_gives_a_llama_what_its_own_code_gave_to_the_token() {
    let config = |other: &Value| edited(llama(), other);
    for (other, options, card, expected) in [
        (json!({}), "", "80GiB", 421_755.0),
        (json!({}), "--tp 2", "80GiB", 963_401.0),
        (json!({}), "--tp 2", "24GiB", 201_283.0),
        (json!({"num_key_value_heads": 1}), "--tp 2", "80GiB", 3_865_894.0),
        (json!({"tie_word_embeddings": true}), "--tp 2", "80GiB", 971_433.0),
        (json!({}), "--page-size 64 --mem-fraction-static 0.7", "80GiB", 333_184.0),
        (json!({}), "--kv-cache-dtype fp8_e5m2", "80GiB", 843_510.0),
        (json!({}), "--chunked-prefill-size 16384", "40GiB", 1_238.0),
        (json!({}), "--chunked-prefill-size -1", "80GiB", 324_068.0),
        (json!({}), "--dtype float32", "80GiB", 149_613.0),
        (json!({"torch_dtype": "float32"}), "--dtype half", "80GiB", 421_755.0),
        (json!({}), "", "141GiB", 921_232.0),
    ] {
        assert_eq!(sglang(&config(&other), options, card).value, expected, "{options} on {card}");
    }
}

#[test]
fn stages_of_sglang_agree_on_the_least_that_is_free_anywhere() {
    // The stage with the most layers is not the one with the most weights; a tied head is nowhere on the last stage of this class, an untied one on every.
    let config = |other: &Value| edited(llama(), other);
    for (other, options, expected) in [
        (json!({}), "--pp-size 2", 947_401.0),
        (json!({"tie_word_embeddings": true, "num_hidden_layers": 33}), "--pp-size 2", 906_761.0),
        (json!({"num_hidden_layers": 31}), "--pp-size 2 --tp 2", 2_032_140.0),
        (json!({"num_hidden_layers": 30}), "--pp-size 4", 2_006_796.0),
    ] {
        assert_eq!(sglang(&config(&other), options, "80GiB").value, expected, "{options}");
    }
}

#[test]
fn sglang_gives_other_models_nearly_what_its_own_code_gave() {
    // Their weights lie some segments apart from what is worked out.
    let hybrid = edited(published("qwen3-next-80b-a3b-instruct"), &json!({"num_hidden_layers": 12, "num_experts": 64}));
    let guessing = "--speculative-algorithm NEXTN --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4";
    let latent = edited(
        published("deepseek-v3"),
        &json!({"num_hidden_layers": 5, "n_routed_experts": 32, "n_group": 4, "topk_group": 2, "quantization_config": null}),
    );
    let oss = oss();
    for (config, options, expected) in [
        (&hybrid, String::new(), 5_513_505.0),
        (&hybrid, "--tp 2".to_owned(), 11_590_971.0),
        (&hybrid, "--disable-radix-cache --max-running-requests 64".to_owned(), 10_273_521.0),
        (&hybrid, "--max-mamba-cache-size 300".to_owned(), 9_531_537.0),
        // Prefixes are given up where tokens are guessed: 48 requests have 48 states.
        (&hybrid, guessing.to_owned(), 9_372_845.0),
        (&hybrid, format!("{guessing} --max-running-requests 48"), 9_372_845.0),
        (&hybrid, format!("{guessing} --mamba-scheduler-strategy extra_buffer"), 5_015_261.0),
        (&latent, String::new(), 9_939_884.0),
        (&latent, "--tp 4 --dp-size 4 --enable-dp-attention".to_owned(), 9_426_348.0),
        (&latent, guessing.to_owned(), 9_569_396.0),
        (&latent, "--pp-size 2".to_owned(), 17_748_909.0),
        (&oss, "--tp 2 --swa-full-tokens-ratio 0.5".to_owned(), 3_403_389.0),
    ] {
        let found = sglang(config, &options, "80GiB");
        let is_near = (found.value / expected - 1.0).abs() < 0.005;
        assert!(is_near && found.low <= expected && expected <= found.high, "{options}: {found:?} is not {expected}");
    }
}

#[test]
fn sglang_gives_models_that_see_or_are_quantised_nearly_what_its_own_code_gave() {
    let awq = quantised(&json!({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true}));
    for (config, options, expected) in [
        (published("gemma-3-27b-it"), "--tp 2", 165_543.0),
        (seeing("qwen2-vl-7b"), "--tp 2", 1_591_309.0),
        (seeing("qwen2.5-vl-7b"), "", 821_831.0),
        (seeing("qwen2.5-vl-7b"), "--tp 4", 4_099_005.0),
        (seeing("qwen3-vl-8b"), "--tp 2", 771_196.0),
        (seeing("qwen3-vl-30b-a3b"), "--tp 2", 700_773.0),
        (awq, "--dtype float16", 500_491.0),
    ] {
        let found = sglang(&config, options, "80GiB");
        let is_near = (found.value / expected - 1.0).abs() < 0.005;
        assert!(is_near && found.low <= expected && expected <= found.high, "{options} {found:?} is not {expected}: {config}");
    }
}

#[test]
fn sglang_0_5_5_gave_less_where_it_kept_more() {
    // Its Qwen3-Next has the output embedding in 32 bits, its gpt-oss no pool of windows.
    let hybrid = edited(published("qwen3-next-80b-a3b-instruct"), &json!({"num_hidden_layers": 12, "num_experts": 64}));
    let guessing = "--speculative-algorithm NEXTN --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4";
    for (config, options, expected) in [
        (llama(), "", 421_752.0),
        (edited(llama(), &json!({"num_hidden_layers": 31})), "--pp-size 2 --tp 2", 2_032_129.0),
        (hybrid.clone(), "", 5_462_719.0),
        (hybrid.clone(), "--tp 2", 11_537_666.0),
        (hybrid.clone(), "--disable-radix-cache", 8_763_919.0),
        (hybrid, guessing, 5_279_302.0),
        (oss(), "--tp 2", 2_552_684.0),
        (seeing("qwen2.5-vl-7b"), "", 821_749.0),
    ] {
        let found = sglang_of(Release(0, 5, 5), &config, options, "80GiB");
        let is_near = (found.value / expected - 1.0).abs() < 0.005;
        assert!(is_near && found.low <= expected && expected <= found.high, "{options} {found:?} is not {expected}");
    }
}

#[test]
fn sglang_0_5_7_keeps_prefixes_where_it_guesses() {
    let hybrid = edited(published("qwen3-next-80b-a3b-instruct"), &json!({"num_hidden_layers": 12, "num_experts": 64}));
    let guessing = "--speculative-algorithm NEXTN --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4";
    for (config, options, expected) in [
        (&hybrid, "", 5_513_449.0),
        (&hybrid, guessing, 5_015_196.0),
        (&hybrid, "--disable-radix-cache", 8_864_953.0),
        (&oss(), "--tp 2", 2_552_513.0),
    ] {
        let found = sglang_of(Release(0, 5, 7), config, options, "80GiB");
        let is_near = (found.value / expected - 1.0).abs() < 0.005;
        assert!(is_near && found.low <= expected && expected <= found.high, "{options} {found:?} is not {expected}");
    }
}

#[test]
fn vllm_makes_of_a_cache_what_its_own_code_makes() {
    let vllm = |config: &Value, options: &str| {
        let command = format!("vllm serve m --enforce-eager --kv-cache-memory-bytes 21474836480 {options}");
        tokens(config, &command, "A100-80GB", Release(0, 32, 0)).value
    };
    let mistral = json!({
        "architectures": ["MistralForCausalLM"], "model_type": "mistral", "sliding_window": 4096, "max_position_embeddings": 32_768
    });
    for (config, options, expected) in [
        (llama(), "--max-model-len 8192", 163_840.0),
        (llama(), "--dtype float32", 81_920.0),
        (llama(), "--kv-cache-dtype fp8", 327_680.0),
        (edited(llama(), &mistral), "", 654_082.0),
        (published("gemma-3-27b-it"), "", 212_243.0),
        (oss(), "", 1_692_854.0),
    ] {
        assert_eq!(vllm(&config, options), expected, "{options}: {config}");
    }
}

#[test]
fn a_width_that_does_not_share_out_is_refused_as_the_engines_refuse_it() {
    let other = json!({"num_attention_heads": 30, "num_key_value_heads": 6, "hidden_size": 3840});
    for engine in [Engine::Sglang, Engine::Vllm] {
        let release = engine.newest();
        let setup = |tensor| Setup { tensor, gpu: Some(Gpu::parse("80GiB").expect("a card")), ..Setup::default() };
        let refused = |tensor| column(&edited(llama(), &other).to_string(), setup(tensor), engine, release).refused;
        assert!(refused(3).is_some_and(|why| why.contains("14336 columns")), "{}", engine.name());
        assert_eq!(refused(2), None, "{}", engine.name());
    }
}
