//! Checkpoints that are worked out from a configuration: models that see, and quantised ones. Their parameters are those that the classes of `transformers` 4.57 make of
//! the same configurations.

use serde_json::{Value, json};

use crate::ask::model;

/// Bytes of a checkpoint; `None` where they are not known.
fn bytes(config: &Value) -> Option<u64> {
    model(&config.to_string()).1.map(|checkpoint| checkpoint.bytes())
}

/// Qwen2-VL-7B, Qwen2.5-VL-7B, Qwen3-VL-8B and Qwen3-VL-30B-A3B, less what has no part in memory.
pub(crate) fn seeing(name: &str) -> Value {
    let second = json!({
        "architectures": ["Qwen2VLForConditionalGeneration"], "model_type": "qwen2_vl", "hidden_size": 3584, "intermediate_size": 18_944,
        "num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4, "max_position_embeddings": 32_768, "vocab_size": 152_064,
        "tie_word_embeddings": false, "rope_theta": 1e6,
        "vision_config": {
            "depth": 32, "embed_dim": 1280, "mlp_ratio": 4, "in_chans": 3, "hidden_size": 3584, "patch_size": 14, "spatial_merge_size": 2,
            "temporal_patch_size": 2
        }
    });
    let third = json!({
        "architectures": ["Qwen3VLForConditionalGeneration"], "model_type": "qwen3_vl", "tie_word_embeddings": false,
        "text_config": {
            "model_type": "qwen3_vl_text", "head_dim": 128, "hidden_size": 4096, "intermediate_size": 12_288, "num_attention_heads": 32,
            "num_hidden_layers": 36, "num_key_value_heads": 8, "max_position_embeddings": 262_144, "vocab_size": 151_936, "rope_theta": 5e6
        },
        "vision_config": {
            "depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "in_channels": 3, "num_position_embeddings": 2304,
            "out_hidden_size": 4096, "patch_size": 16, "spatial_merge_size": 2, "temporal_patch_size": 2,
            "deepstack_visual_indexes": [8, 16, 24]
        }
    });
    match name {
        "qwen2-vl-7b" => second,
        "qwen2.5-vl-7b" => {
            let mut config = second;
            config["architectures"] = json!(["Qwen2_5_VLForConditionalGeneration"]);
            config["model_type"] = json!("qwen2_5_vl");
            config["max_position_embeddings"] = json!(128_000);
            config["vision_config"] = json!({
                "depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "in_chans": 3, "out_hidden_size": 3584, "patch_size": 14,
                "spatial_merge_size": 2, "temporal_patch_size": 2
            });
            config
        }
        "qwen3-vl-8b" => third,
        _ => {
            let mut config = third;
            config["architectures"] = json!(["Qwen3VLMoeForConditionalGeneration"]);
            config["model_type"] = json!("qwen3_vl_moe");
            for (field, value) in [
                ("model_type", json!("qwen3_vl_moe_text")),
                ("hidden_size", json!(2048)),
                ("intermediate_size", json!(6144)),
                ("moe_intermediate_size", json!(768)),
                ("num_experts", json!(128)),
                ("num_experts_per_tok", json!(8)),
                ("num_hidden_layers", json!(48)),
                ("num_key_value_heads", json!(4)),
            ] {
                config["text_config"][field] = value;
            }
            config["vision_config"]["out_hidden_size"] = json!(2048);
            config
        }
    }
}

/// A model of 8 billion parameters with this `quantization_config`.
pub(crate) fn quantised(how: &Value) -> Value {
    json!({
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14_336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128_256, "max_position_embeddings": 8192, "rope_theta": 5e5,
        "tie_word_embeddings": false, "quantization_config": how
    })
}

fn compressed(weights: &Value, ignore: &Value) -> Value {
    json!({"quant_method": "compressed-tensors", "ignore": ignore, "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}}})
}

#[test]
fn models_that_see_have_the_parameters_of_their_classes() {
    for (name, parameters) in [
        ("qwen2-vl-7b", 8_291_375_616),
        ("qwen2.5-vl-7b", 8_292_166_656),
        ("qwen3-vl-8b", 8_767_123_696),
        ("qwen3-vl-30b-a3b", 31_070_754_032_u64),
    ] {
        assert_eq!(bytes(&seeing(name)), Some(2 * parameters), "{name}");
    }
}

#[test]
fn a_tower_that_says_too_little_or_is_another_has_no_size() {
    for field in ["depth", "patch_size", "intermediate_size", "deepstack_visual_indexes", "out_hidden_size"] {
        let mut config = seeing("qwen3-vl-8b");
        config["vision_config"].as_object_mut().expect("an object").remove(field);
        assert_eq!(bytes(&config), None, "{field}");
    }
    let mut config = quantised(&Value::Null);
    config["vision_config"] = json!({"hidden_size": 1024, "num_hidden_layers": 24});
    assert_eq!(bytes(&config), None);
}

#[test]
fn quantised_weights_are_as_large_as_their_files() {
    // 224 linear layers with 6,979,321,856 weights; embeddings and norms in 16 bits.
    let (weights, plain) = (6_979_321_856_u64, 2 * (2 * 128_256 * 4096 + 65 * 4096));
    let group = weights / 128;
    for (how, expected) in [
        (json!({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true}), weights / 2 + group * 2 + group / 2),
        (json!({"quant_method": "fp8", "activation_scheme": "dynamic"}), weights + 224 * 4),
        (compressed(&json!({"num_bits": 8, "type": "float", "strategy": "tensor"}), &json!(["lm_head"])), weights + 224 * 4),
        (
            compressed(
                &json!({"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128, "symmetric": true}),
                &json!(["lm_head"]),
            ),
            weights / 2 + group * 2 + 224 * 16,
        ),
    ] {
        assert_eq!(bytes(&quantised(&how)), Some(plain + expected), "{how}");
    }
}

#[test]
fn quantisation_that_is_told_by_a_pattern_or_in_groups_has_no_size() {
    let channel = json!({"num_bits": 8, "type": "int", "strategy": "channel", "symmetric": true});
    assert!(bytes(&quantised(&compressed(&channel, &json!(["lm_head", "re:.*gate$"])))).is_some());
    let mut several = compressed(&channel, &json!([]));
    several["config_groups"]["group_1"] = several["config_groups"]["group_0"].clone();
    for how in [
        compressed(&channel, &json!(["re:.*self_attn.*"])),
        several,
        json!({"quant_method": "awq", "bits": 8, "group_size": 128}),
        json!({"quant_method": "awq", "bits": 4, "group_size": 128, "modules_to_not_convert": ["self_attn"]}),
        json!({"quant_method": "gptq", "bits": 4}),
        json!({"quant_method": "gptq", "bits": 4, "group_size": 128, "dynamic": {"-:.*": {}}}),
        json!({"quant_method": "bitsandbytes", "load_in_4bit": true}),
    ] {
        assert_eq!(bytes(&quantised(&how)), None, "{how}");
    }
}
