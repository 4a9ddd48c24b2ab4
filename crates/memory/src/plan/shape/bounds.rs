//! What the fields of a model can be at most: beyond it lies a mistake, and products that no number holds.

use super::{Shape, State, Store};
use crate::plan::config::ConfigError;

/// Heads, or groups of them.
const HEADS: u64 = 1 << 12;
/// The width of one head, of a latent vector, of the state of a channel.
const WIDTH: u64 = 1 << 13;
/// The width between layers.
const HIDDEN: u64 = 1 << 20;
/// The width of a feed-forward part.
const INTERMEDIATE: u64 = 1 << 22;
/// Experts, and those that a token is given to.
const EXPERTS: u64 = 1 << 14;
/// Taps of a convolution.
const TAPS: u64 = 1 << 10;

/// Refuses a model that cannot be.
pub(super) fn check(shape: &Shape) -> Result<(), ConfigError> {
    within("hidden_size", shape.hidden, HIDDEN)?;
    within("num_attention_heads", shape.heads, HEADS)?;
    within("head_dim", shape.head_dim, WIDTH)?;
    within("intermediate_size", shape.intermediate.unwrap_or(0), INTERMEDIATE)?;
    within("num_experts_per_tok", shape.experts_per_token, EXPERTS)?;
    within("num_nextn_predict_layers", shape.draft_layers, HEADS)?;
    within("head_dim", shape.rotary_width, WIDTH)?;
    if let Some(experts) = shape.experts {
        within("num_experts", experts.count, EXPERTS)?;
        within("moe_intermediate_size", experts.intermediate, INTERMEDIATE)?;
    }
    if let Some((rank, nope, value)) = shape.latent_widths {
        [("kv_lora_rank", rank), ("qk_nope_head_dim", nope), ("v_head_dim", value)]
            .into_iter()
            .try_for_each(|(field, found)| within(field, found, WIDTH))?;
    }
    if let Some((layers, hidden)) = shape.vision {
        within("vision_config.num_hidden_layers", layers, HEADS)?;
        within("vision_config.hidden_size", hidden, HIDDEN)?;
    }
    shape.attention().try_for_each(|attention| store(&attention.store))?;
    shape.states().try_for_each(state)
}

fn store(store: &Store) -> Result<(), ConfigError> {
    let fields = match *store {
        Store::Heads { heads, key, value } => {
            within("num_key_value_heads", heads, HEADS)?;
            [("head_dim", key), ("v_head_dim", value), ("v_head_dim", 0)]
        }
        Store::Latent { rank, rope, index } => [("kv_lora_rank", rank), ("qk_rope_head_dim", rope), ("index_head_dim", index.unwrap_or(0))],
    };
    fields.into_iter().try_for_each(|(field, found)| within(field, found, WIDTH))
}

fn state(state: &State) -> Result<(), ConfigError> {
    let fields: &[(&'static str, u64, u64)] = &match *state {
        State::Delta { key_heads, value_heads, key, value, kernel } => {
            within("linear_conv_kernel_dim", kernel, TAPS)?;
            [
                ("linear_num_key_heads", key_heads, HEADS),
                ("linear_num_value_heads", value_heads, HEADS),
                ("linear_key_head_dim", key, WIDTH),
                ("linear_value_head_dim", value, WIDTH),
            ]
        }
        State::Kimi { heads, width, kernel } => {
            [("num_heads", heads, HEADS), ("head_dim", width, WIDTH), ("short_conv_kernel_size", kernel, TAPS), ("head_dim", width, WIDTH)]
        }
        State::Mamba2 { inner, groups, heads, width, state, kernel } => {
            within("mamba_d_ssm", inner, HIDDEN)?;
            within("conv_kernel", kernel, TAPS)?;
            [
                ("n_groups", groups, HEADS),
                ("mamba_num_heads", heads, HEADS),
                ("mamba_head_dim", width, WIDTH),
                ("ssm_state_size", state, WIDTH),
            ]
        }
        State::Mamba1 { inner, state, kernel } => [
            ("intermediate_size", inner, HIDDEN),
            ("state_size", state, WIDTH),
            ("mamba_d_conv", kernel, TAPS),
            ("state_size", state, WIDTH),
        ],
        State::Lightning { heads, width } => {
            [("num_attention_heads", heads, HEADS), ("head_dim", width, WIDTH), ("head_dim", width, WIDTH), ("head_dim", width, WIDTH)]
        }
        State::Convolution { width, kernel } => {
            [("conv_dim", width, HIDDEN), ("conv_L_cache", kernel, TAPS), ("conv_dim", width, HIDDEN), ("conv_L_cache", kernel, TAPS)]
        }
    };
    fields.iter().try_for_each(|(field, found, most)| within(field, *found, *most))
}

fn within(field: &'static str, found: u64, most: u64) -> Result<(), ConfigError> {
    if found <= most {
        return Ok(());
    }
    Err(ConfigError::Wrong { field: field.to_owned(), found: found.to_string(), expected: "a number that a model can have there" })
}
