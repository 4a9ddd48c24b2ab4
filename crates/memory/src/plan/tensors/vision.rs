//! The tensors of vision towers and of what joins them to the language model: SigLIP as Gemma 3 has it, the towers of Qwen.

use serde_json::Value;

use super::List;

/// No field of a tower is larger; what says so is a mistake.
const MOST: u64 = 1 << 20;
/// No tower has more layers.
const MOST_LAYERS: u64 = 1024;

/// Adds the tower of a model of this type; tells whether it is known and its configuration says enough.
pub(super) fn tower(list: &mut List<'_>, model_type: &str, vision: &Value, text_hidden: u64) -> bool {
    match model_type {
        "gemma3_text" => siglip(list, vision, text_hidden),
        "qwen2_vl" | "qwen2_vl_text" => {
            qwen(list, vision, &Qwen { width: Width::Times, out: "hidden_size", own: "embed_dim", has_gate: false, is_third: false })
        }
        "qwen2_5_vl" | "qwen2_5_vl_text" => {
            qwen(list, vision, &Qwen { width: Width::Said, out: "out_hidden_size", own: "hidden_size", has_gate: true, is_third: false })
        }
        "qwen3_vl_text" | "qwen3_vl_moe_text" => {
            qwen(list, vision, &Qwen { width: Width::Said, out: "out_hidden_size", own: "hidden_size", has_gate: false, is_third: true })
        }
        _ => false,
    }
}

/// Where the width of the feed-forward part is said.
enum Width {
    /// As a multiple of the tower's own, `mlp_ratio`.
    Times,
    /// By itself, `intermediate_size`.
    Said,
}

/// How the towers of Qwen differ.
struct Qwen {
    width: Width,
    /// The field with the width of the language model.
    out: &'static str,
    /// The field with the tower's own width.
    own: &'static str,
    /// Qwen2.5-VL: a gate in each feed-forward part, and norms without biases.
    has_gate: bool,
    /// Qwen3-VL: positions that are learnt, and further joints after some layers.
    is_third: bool,
}

/// Checked against the classes of `transformers` 4.57, by parameters: 8,291,375,616 of Qwen2-VL-7B, 8,292,166,656 of Qwen2.5-VL-7B, 8,767,123,696 of Qwen3-VL-8B.
fn qwen(list: &mut List<'_>, vision: &Value, kind: &Qwen) -> bool {
    let of = |field: &str| vision.get(field).and_then(Value::as_u64).filter(|found| *found > 0 && *found < MOST);
    let (Some(own), Some(out), Some(layers)) = (of(kind.own), of(kind.out), of("depth")) else { return false };
    let width = match kind.width {
        Width::Times => of("mlp_ratio").map(|times| times * own),
        Width::Said => of("intermediate_size"),
    };
    let channels = of("in_channels").or_else(|| of("in_chans")).unwrap_or(3);
    let sizes = (width, of("patch_size"), of("temporal_patch_size"), of("spatial_merge_size"));
    let (Some(width), Some(patch), Some(frames), Some(merge)) = sizes else { return false };
    let merged = merge * merge * own;
    if layers > MOST_LAYERS || patch > 1024 || merge > 64 {
        return false;
    }
    list.plain("visual.patch_embed.proj.weight", &[own, channels, frames, patch, patch]);
    for layer in 0..layers {
        let at = format!("visual.blocks.{layer}");
        linear(list, &format!("{at}.attn.qkv"), 3 * own, own);
        linear(list, &format!("{at}.attn.proj"), own, own);
        let (up, down) = if kind.is_third { ("linear_fc1", "linear_fc2") } else { ("fc1", "fc2") };
        if kind.has_gate {
            linear(list, &format!("{at}.mlp.gate_proj"), width, own);
        }
        linear(list, &format!("{at}.mlp.{}", if kind.has_gate { "up_proj" } else { up }), width, own);
        linear(list, &format!("{at}.mlp.{}", if kind.has_gate { "down_proj" } else { down }), own, width);
        norm(list, &format!("{at}.norm1"), own, !kind.has_gate);
        norm(list, &format!("{at}.norm2"), own, !kind.has_gate);
    }
    let mut joint = |at: &str, normed: u64, has_bias: bool| {
        let names = if kind.is_third { ["norm", "linear_fc1", "linear_fc2"] } else { ["ln_q", "mlp.0", "mlp.2"] };
        norm(list, &format!("{at}.{}", names[0]), normed, has_bias);
        linear(list, &format!("{at}.{}", names[1]), merged, merged);
        linear(list, &format!("{at}.{}", names[2]), out, merged);
    };
    joint("visual.merger", own, !kind.has_gate);
    if !kind.is_third {
        return true;
    }
    let Some(joints) = vision.get("deepstack_visual_indexes").and_then(Value::as_array) else { return false };
    (0..joints.len().min(64)).for_each(|at| joint(&format!("visual.deepstack_merger_list.{at}"), merged, true));
    let Some(positions) = of("num_position_embeddings") else { return false };
    list.plain("visual.patch_embed.proj.bias", &[own]);
    list.plain("visual.pos_embed.weight", &[positions, own]);
    true
}

fn linear(list: &mut List<'_>, at: &str, outputs: u64, inputs: u64) {
    list.plain(format!("{at}.weight"), &[outputs, inputs]);
    list.plain(format!("{at}.bias"), &[outputs]);
}

fn norm(list: &mut List<'_>, at: &str, width: u64, has_bias: bool) {
    list.plain(format!("{at}.weight"), &[width]);
    if has_bias {
        list.plain(format!("{at}.bias"), &[width]);
    }
}

/// A SigLIP tower and its projector.
fn siglip(list: &mut List<'_>, vision: &Value, text_hidden: u64) -> bool {
    let of = |field: &str, default: u64| vision.get(field).map_or(Some(default), Value::as_u64).filter(|found| *found > 0 && *found < MOST);
    let fields =
        (of("hidden_size", 1152), of("intermediate_size", 4304), of("num_hidden_layers", 27), of("patch_size", 14), of("image_size", 896));
    let (Some(hidden), Some(width), Some(layers), Some(patch), Some(image)) = fields else { return false };
    if patch > image || layers > MOST_LAYERS {
        return false;
    }
    let at = "vision_tower.vision_model";
    list.plain(format!("{at}.embeddings.patch_embedding.weight"), &[hidden, 3, patch, patch]);
    list.plain(format!("{at}.embeddings.patch_embedding.bias"), &[hidden]);
    list.plain(format!("{at}.embeddings.position_embedding.weight"), &[(image / patch).pow(2), hidden]);
    for layer in 0..layers {
        let at = format!("{at}.encoder.layers.{layer}");
        let mut both = |name: &str, outputs: u64, inputs: u64| {
            list.plain(format!("{at}.{name}.weight"), &[outputs, inputs]);
            list.plain(format!("{at}.{name}.bias"), &[outputs]);
        };
        for name in ["q_proj", "k_proj", "v_proj", "out_proj"] {
            both(&format!("self_attn.{name}"), hidden, hidden);
        }
        both("mlp.fc1", width, hidden);
        both("mlp.fc2", hidden, width);
        both("layer_norm1", hidden, 1);
        both("layer_norm2", hidden, 1);
    }
    list.plain(format!("{at}.post_layernorm.weight"), &[hidden]);
    list.plain(format!("{at}.post_layernorm.bias"), &[hidden]);
    list.plain("multi_modal_projector.mm_input_projection_weight", &[hidden, text_hidden]);
    list.plain("multi_modal_projector.mm_soft_emb_norm.weight", &[hidden]);
    true
}
