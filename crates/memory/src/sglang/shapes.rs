//! Bytes per token of models whose class has one published shape, for logs that end before the pool is printed.

use crate::explain::Facts;
use crate::formula::Cell;

use super::names;

/// A class of models with latent attention (MLA): elements per token and layer, and layers.
struct Latent {
    class: &'static str,
    /// What the model's path must hold, where the class has several shapes.
    path: &'static [&'static str],
    elements: u64,
    layers: u64,
}

/// Classes, from their published configurations: `kv_lora_rank + qk_rope_head_dim` elements in each layer, on every rank in full.
const LATENT: [Latent; 2] = [
    Latent { class: "KimiK25ForConditionalGeneration", path: &[], elements: 576, layers: 61 },
    Latent {
        class: "DeepseekV3ForCausalLM",
        path: &["Kimi-K2", "DeepSeek-V3", "DeepSeek-R1", "kimi-k2", "deepseek-v3", "deepseek-r1"],
        elements: 576,
        layers: 61,
    },
];

/// Bytes per token and rank by two bytes an element and by one, for a class that has latent attention of a published shape, whatever the path says.
pub(super) fn cells_by_element(facts: &Facts) -> Option<[f64; 2]> {
    let class = facts.settings.get(names::MODEL_CLASS)?;
    let shape = LATENT.iter().find(|shape| shape.class == class)?;
    Some([2, 1].map(|bytes| (shape.elements * shape.layers * bytes) as f64))
}

/// The bytes per token and rank that the class of the model has; `None` where the class, or the element type, leaves it open.
pub(super) fn cell_of_class(facts: &Facts) -> Option<Cell> {
    let class = facts.settings.get(names::MODEL_CLASS)?;
    let path = facts.settings.get("model_path").unwrap_or("");
    let shape =
        LATENT.iter().find(|shape| shape.class == class && (shape.path.is_empty() || shape.path.iter().any(|part| path.contains(part))))?;
    // Stages hold a part of the layers each; a draft adds its own.
    let is_plain = facts.settings.count("pp_size").unwrap_or(1) == 1 && facts.settings.get("speculative_algorithm").is_none();
    let bytes = element_bytes(facts)?;
    Cell::exact(shape.elements * shape.layers * bytes).filter(|_| is_plain)
}

/// Bytes of an element of the KV cache.
fn element_bytes(facts: &Facts) -> Option<u64> {
    let dtype = facts.settings.get(names::KV_DTYPE).or_else(|| facts.settings.get("kv_cache_dtype"))?;
    Some(match dtype.trim_start_matches("torch.") {
        "auto" | "bfloat16" | "bf16" | "float16" => 2,
        "fp8_e4m3" | "fp8_e5m2" | "float8_e4m3fn" | "float8_e5m2" => 1,
        _ => return None,
    })
}
