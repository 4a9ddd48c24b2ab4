//! The tensors of a SigLIP vision tower and its projector, as Gemma 3 has them.

use serde_json::Value;

use super::List;

/// Adds the tower; tells whether its configuration says enough.
pub(super) fn siglip(list: &mut List<'_>, vision: &Value, text_hidden: u64) -> bool {
    let of =
        |field: &str, default: u64| vision.get(field).map_or(Some(default), Value::as_u64).filter(|found| *found > 0 && *found < 1 << 20);
    let fields =
        (of("hidden_size", 1152), of("intermediate_size", 4304), of("num_hidden_layers", 27), of("patch_size", 14), of("image_size", 896));
    let (Some(hidden), Some(width), Some(layers), Some(patch), Some(image)) = fields else { return false };
    if patch > image || layers > 1024 {
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
