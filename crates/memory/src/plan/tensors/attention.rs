//! The tensors of attention and of what stands in its place.

use super::{Family, List};
use crate::plan::config::{Config, ConfigError};
use crate::plan::shape::{Shape, Store};

pub(super) fn attention(list: &mut List<'_>, config: &Config, shape: &Shape, family: Family, at: &str) -> Result<(), ConfigError> {
    if family == Family::Latent {
        return latent(list, config, shape, at);
    }
    let store = shape.attention().find_map(|attention| match attention.store {
        Store::Heads { heads, key, .. } => Some((heads, key)),
        Store::Latent { .. } => None,
    });
    let (kv_heads, width) = store.ok_or(ConfigError::Missing { field: "num_key_value_heads" })?;
    let hidden = shape.hidden;
    // Gated attention has a gate beside each query.
    let queries = shape.heads * width * if family == Family::Delta { 2 } else { 1 };
    let outputs = [("q_proj", queries), ("k_proj", kv_heads * width), ("v_proj", kv_heads * width)];
    for (name, outputs) in outputs {
        list.linear(&format!("{at}.self_attn.{name}"), outputs, hidden);
    }
    list.linear(&format!("{at}.self_attn.o_proj"), hidden, shape.heads * width);
    let has_biases =
        matches!(family, Family::Biased | Family::Qwen2Experts | Family::Blocks) || config.flag("attention_bias") == Some(true);
    if has_biases {
        for (name, outputs) in outputs {
            list.plain(format!("{at}.self_attn.{name}.bias"), &[outputs]);
        }
    }
    if family == Family::Blocks {
        list.plain(format!("{at}.self_attn.o_proj.bias"), &[hidden]);
        list.plain(format!("{at}.self_attn.sinks"), &[shape.heads]);
    }
    if matches!(family, Family::Normed | Family::Qwen3Experts | Family::Gemma3 | Family::Delta) {
        list.plain(format!("{at}.self_attn.q_norm.weight"), &[width]);
        list.plain(format!("{at}.self_attn.k_norm.weight"), &[width]);
    }
    if family == Family::WideNormed {
        list.plain(format!("{at}.self_attn.q_norm.weight"), &[shape.heads * width]);
        list.plain(format!("{at}.self_attn.k_norm.weight"), &[kv_heads * width]);
    }
    if matches!(family, Family::OneNorm | Family::GlmExperts) && config.flag("use_qk_norm") == Some(true) {
        let rows = |heads| if family == Family::OneNorm { vec![heads, width] } else { vec![width] };
        list.plain(format!("{at}.self_attn.q_norm.weight"), &rows(shape.heads));
        list.plain(format!("{at}.self_attn.k_norm.weight"), &rows(kv_heads));
    }
    Ok(())
}

fn latent(list: &mut List<'_>, config: &Config, shape: &Shape, at: &str) -> Result<(), ConfigError> {
    let (hidden, heads) = (shape.hidden, shape.heads);
    let rank = config.needed(&["kv_lora_rank"])?;
    let nope = config.needed(&["qk_nope_head_dim"])?;
    let rope = config.needed(&["qk_rope_head_dim"])?;
    let value = config.needed(&["v_head_dim"])?;
    let at = format!("{at}.self_attn");
    match config.number("q_lora_rank")?.filter(|rank| *rank > 0) {
        Some(queries) => {
            list.linear(&format!("{at}.q_a_proj"), queries, hidden);
            list.plain(format!("{at}.q_a_layernorm.weight"), &[queries]);
            list.linear(&format!("{at}.q_b_proj"), heads * (nope + rope), queries);
        }
        None => list.linear(&format!("{at}.q_proj"), heads * (nope + rope), hidden),
    }
    list.linear(&format!("{at}.kv_a_proj_with_mqa"), rank + rope, hidden);
    list.plain(format!("{at}.kv_a_layernorm.weight"), &[rank]);
    list.linear(&format!("{at}.kv_b_proj"), heads * (nope + value), rank);
    list.linear(&format!("{at}.o_proj"), hidden, heads * value);
    Ok(())
}

/// The gated delta net of Qwen3-Next.
pub(super) fn delta(list: &mut List<'_>, config: &Config, shape: &Shape, at: &str) -> Result<(), ConfigError> {
    let keys = config.needed(&["linear_num_key_heads"])? * config.needed(&["linear_key_head_dim"])?;
    let heads = config.needed(&["linear_num_value_heads"])?;
    let width = config.needed(&["linear_value_head_dim"])?;
    let values = heads * width;
    let at = format!("{at}.linear_attn");
    list.linear(&format!("{at}.in_proj_qkvz"), 2 * keys + 2 * values, shape.hidden);
    list.linear(&format!("{at}.in_proj_ba"), 2 * heads, shape.hidden);
    list.plain(format!("{at}.conv1d.weight"), &[2 * keys + values, 1, config.needed(&["linear_conv_kernel_dim"])?]);
    list.plain(format!("{at}.dt_bias"), &[heads]);
    list.plain(format!("{at}.A_log"), &[heads]);
    list.plain(format!("{at}.norm.weight"), &[width]);
    list.linear(&format!("{at}.out_proj"), shape.hidden, values);
    Ok(())
}
