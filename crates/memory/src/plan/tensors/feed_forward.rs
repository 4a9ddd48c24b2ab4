//! The tensors of feed-forward parts: dense ones, and experts.

use super::{Family, List};
use crate::plan::config::{Config, ConfigError};
use crate::plan::dtype::Dtype;
use crate::plan::shape::{Experts, Shape};

/// Numbers that share a scale in the 4-bit format of gpt-oss, and bytes that hold them.
const BLOCK: (u64, u64) = (32, 16);

pub(super) fn feed_forward(
    list: &mut List<'_>,
    config: &Config,
    shape: &Shape,
    family: Family,
    layer: u64,
    at: &str,
) -> Result<(), ConfigError> {
    let dense = || shape.intermediate.ok_or(ConfigError::Missing { field: "intermediate_size" });
    let experts = shape.experts.ok_or(ConfigError::Missing { field: "num_experts" });
    match family {
        Family::Plain
        | Family::Biased
        | Family::Normed
        | Family::WideNormed
        | Family::OneNorm
        | Family::Gemma
        | Family::Gemma2
        | Family::Gemma3 => gated(list, shape, &format!("{at}.mlp"), dense()?),
        Family::Mixtral => mixtral(list, shape, experts?, at),
        Family::Blocks => blocks(list, shape, experts?, at),
        Family::Qwen2Experts | Family::Qwen3Experts | Family::Delta => {
            if is_dense(config, layer)? {
                gated(list, shape, &format!("{at}.mlp"), dense()?);
                return Ok(());
            }
            routed(list, shape, experts?, at);
            if family != Family::Qwen3Experts {
                gated(list, shape, &format!("{at}.mlp.shared_expert"), config.needed(&["shared_expert_intermediate_size"])?);
                list.plain(format!("{at}.mlp.shared_expert_gate.weight"), &[1, shape.hidden]);
            }
        }
        Family::Latent | Family::GlmExperts => {
            let step = config.or("moe_layer_freq", 1)?;
            if layer < config.number("first_k_dense_replace")?.unwrap_or(0) || !layer.is_multiple_of(step) || shape.experts.is_none() {
                gated(list, shape, &format!("{at}.mlp"), dense()?);
                return Ok(());
            }
            let experts = experts?;
            routed(list, shape, experts, at);
            if config.text("topk_method") == Some("noaux_tc") || family == Family::GlmExperts {
                list.push(format!("{at}.mlp.gate.e_score_correction_bias"), Dtype::F32, &[experts.count]);
            }
            let shared = config.number("n_shared_experts")?.unwrap_or(0);
            if shared > 0 {
                gated(list, shape, &format!("{at}.mlp.shared_experts"), experts.intermediate * shared);
            }
        }
    }
    Ok(())
}

/// Whether a layer of a model of experts has none.
fn is_dense(config: &Config, layer: u64) -> Result<bool, ConfigError> {
    let only = config.numbers("mlp_only_layers")?.unwrap_or_default();
    let step = config.or("decoder_sparse_step", 1)?;
    Ok(only.contains(&layer) || !(layer + 1).is_multiple_of(step))
}

fn gated(list: &mut List<'_>, shape: &Shape, at: &str, width: u64) {
    list.linear(&format!("{at}.gate_proj"), width, shape.hidden);
    list.linear(&format!("{at}.up_proj"), width, shape.hidden);
    list.linear(&format!("{at}.down_proj"), shape.hidden, width);
}

fn routed(list: &mut List<'_>, shape: &Shape, experts: Experts, at: &str) {
    list.plain(format!("{at}.mlp.gate.weight"), &[experts.count, shape.hidden]);
    list.alike = experts.count;
    gated(list, shape, &format!("{at}.mlp.experts.0"), experts.intermediate);
    list.alike = 1;
}

fn mixtral(list: &mut List<'_>, shape: &Shape, experts: Experts, at: &str) {
    list.plain(format!("{at}.block_sparse_moe.gate.weight"), &[experts.count, shape.hidden]);
    list.alike = experts.count;
    let at = format!("{at}.block_sparse_moe.experts.0");
    list.linear(&format!("{at}.w1"), experts.intermediate, shape.hidden);
    list.linear(&format!("{at}.w3"), experts.intermediate, shape.hidden);
    list.linear(&format!("{at}.w2"), shape.hidden, experts.intermediate);
    list.alike = 1;
}

/// Experts of gpt-oss: all of a layer in one tensor, 4-bit numbers two to a byte, or plain ones.
fn blocks(list: &mut List<'_>, shape: &Shape, experts: Experts, at: &str) {
    let (hidden, width, count) = (shape.hidden, experts.intermediate, experts.count);
    list.plain(format!("{at}.mlp.router.weight"), &[count, hidden]);
    list.plain(format!("{at}.mlp.router.bias"), &[count]);
    for (name, outputs, inputs) in [("gate_up_proj", 2 * width, hidden), ("down_proj", hidden, width)] {
        let at = format!("{at}.mlp.experts.{name}");
        list.plain(format!("{at}_bias"), &[count, outputs]);
        if shape.quantisation.is_none() {
            list.plain(at, &[count, inputs, outputs]);
            continue;
        }
        list.push(format!("{at}_blocks"), Dtype::I8, &[count, outputs, inputs.div_ceil(BLOCK.0), BLOCK.1]);
        list.push(format!("{at}_scales"), Dtype::I8, &[count, outputs, inputs.div_ceil(BLOCK.0)]);
    }
}
