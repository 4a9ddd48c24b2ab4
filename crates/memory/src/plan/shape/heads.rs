//! Heads of keys and values, under the names that families have for them.

use super::Store;
use crate::plan::config::{Config, ConfigError, number};

/// The width of a head of keys, where there is attention.
pub(super) fn head_dim(config: &Config) -> Result<Option<u64>, ConfigError> {
    if let Some(found) =
        config.any_number(&["head_dim", "hidden_size_per_head", "kv_channels", "attention_head_dim"])?.filter(|width| *width > 0)
    {
        return Ok(Some(found));
    }
    let heads = config.any_number(&["num_attention_heads", "n_head", "n_heads"])?.filter(|heads| *heads > 0);
    let hidden = config.any_number(&["hidden_size", "n_embd", "d_model"])?;
    let (Some(heads), Some(hidden)) = (heads, hidden) else { return Ok(None) };
    if hidden % heads != 0 {
        return Err(contradiction("num_attention_heads", heads, "hidden_size", hidden));
    }
    Ok(Some(hidden / heads))
}

pub(super) fn contradiction(first: &str, a: u64, second: &str, b: u64) -> ConfigError {
    ConfigError::Contradiction { first: format!("{first} {a}"), second: format!("{second} {b}") }
}

/// Heads of keys and values, under the names that families have for them.
fn kv_heads(config: &Config) -> Result<u64, ConfigError> {
    let falcon = matches!(config.model_type(), "falcon" | "RefinedWeb" | "RefinedWebModel");
    let is_new = falcon && config.flag("new_decoder_architecture") == Some(true);
    if !is_new && config.flag("multi_query") == Some(true) {
        return Ok(1);
    }
    if let Some(inner) = config.get("attn_config").and_then(|inner| inner.get("kv_n_heads")) {
        return number("kv_n_heads", inner);
    }
    let names = ["n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num", "num_attention_groups"];
    let found = config.any_number(&names)?;
    let heads = config.needed(&["num_attention_heads", "n_head", "n_heads"])?;
    let found = found.unwrap_or(heads);
    if found == 0 || found > heads || heads % found != 0 {
        return Err(contradiction("num_key_value_heads", found, "num_attention_heads", heads));
    }
    Ok(found)
}

pub(super) fn store(config: &Config, sliding: bool) -> Result<Store, ConfigError> {
    if let Some(rank) = config.number("kv_lora_rank")?.filter(|rank| *rank > 0) {
        let rope = config.needed(&["qk_rope_head_dim"])?;
        let index = if config.get("index_topk").is_some() { Some(config.needed(&["index_head_dim"])?) } else { None };
        return Ok(Store::Latent { rank, rope, index });
    }
    let heads = kv_heads(config)?;
    let key = head_dim(config)?.ok_or(ConfigError::Missing { field: "head_dim" })?;
    let value = config.number("v_head_dim")?.unwrap_or(key);
    if sliding {
        let other = config.get("attention_other_setting").and_then(|other| other.get("num_attention_groups"));
        let other = other.map(|value| number("num_attention_groups", value)).transpose()?;
        let heads = config.number("swa_num_key_value_heads")?.or(other).unwrap_or(heads);
        let key = config.number("swa_head_dim")?.unwrap_or(key);
        let value = config.any_number(&["swa_v_head_dim", "v_head_dim"])?.unwrap_or(value);
        return Ok(Store::Heads { heads, key, value });
    }
    // Gemma 4 has wider heads in its global layers.
    match config.number("global_head_dim")? {
        Some(width) => Ok(Store::Heads { heads: config.number("num_global_key_value_heads")?.unwrap_or(heads), key: width, value: width }),
        None => Ok(Store::Heads { heads, key, value }),
    }
}

pub(super) fn window(config: &Config) -> Result<u64, ConfigError> {
    config.needed(&["sliding_window", "sliding_window_size"])
}
