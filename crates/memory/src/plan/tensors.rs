//! The tensors of a checkpoint, worked out from the configuration where no weights are at hand: families whose checkpoints are known to the byte.

mod attention;
mod feed_forward;
mod packing;
mod vision;

use super::checkpoint::{Checkpoint, Tensor};
use super::config::{Config, ConfigError};
use super::dtype::Dtype;
use super::shape::Shape;
use packing::Packing;

/// Works out the tensors of a model; `None` where its family, or how it is quantised, is not known here.
///
/// # Errors
///
/// A field that the family needs is missing or wrong.
pub fn worked_out(config: &Config, shape: &Shape) -> Result<Option<Checkpoint>, ConfigError> {
    let Some(family) = Family::of(&shape.model_type) else { return Ok(None) };
    let quantised = shape.quantisation.as_ref();
    let packing = quantised.and_then(|quantised| Packing::of(config, quantised));
    let is_known = match (family, quantised) {
        (Family::Blocks, Some(quantised)) => quantised.method == "mxfp4",
        (_, None) => true,
        (Family::Delta, Some(quantised)) => quantised.is_block_fp8(),
        (_, Some(_)) => packing.is_some(),
    };
    let Some(vocabulary) = shape.vocabulary.filter(|_| is_known) else { return Ok(None) };
    let mut list = List { tensors: Vec::new(), alike: 1, packing, kept: quantised.map_or(&[], |quantised| &quantised.kept) };
    list.plain("model.embed_tokens.weight", &[vocabulary, shape.hidden]);
    if !shape.tied {
        list.plain("lm_head.weight", &[vocabulary, shape.hidden]);
    }
    list.plain("model.norm.weight", &[shape.hidden]);
    for layer in 0..shape.layers.len() as u64 {
        let at = format!("model.layers.{layer}");
        layer_tensors(&mut list, config, shape, family, layer, &at)?;
    }
    drafts(&mut list, config, shape, family, vocabulary)?;
    if let Some(found) = config.beside("vision_config")
        && !vision::tower(&mut list, &shape.model_type, found, shape.hidden)
    {
        return Ok(None);
    }
    Ok(Some(Checkpoint { tensors: list.tensors, is_read: false }))
}

/// Families by how their layers are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    /// Llama and what is built like it.
    Plain,
    /// With biases on queries, keys and values.
    Biased,
    /// With norms on queries and keys.
    Normed,
    /// With norms over all queries and over all keys: OLMo 2 and 3.
    WideNormed,
    /// One norm a layer, in front of attention and feed-forward part together: Command R.
    OneNorm,
    /// GLM 4.5: experts as DeepSeek has them, attention of the plain kind.
    GlmExperts,
    /// Gemma 1.
    Gemma,
    /// Gemma 2: four norms.
    Gemma2,
    /// Gemma 3: four norms, and norms on queries and keys.
    Gemma3,
    /// Mixtral.
    Mixtral,
    /// Qwen2-MoE: biases, a shared expert.
    Qwen2Experts,
    /// Qwen3-MoE: norms, no shared expert.
    Qwen3Experts,
    /// DeepSeek V2, V3 and what is built like them.
    Latent,
    /// gpt-oss: experts in blocks of 4-bit numbers.
    Blocks,
    /// Qwen3-Next: gated delta net and gated attention.
    Delta,
}

impl Family {
    fn of(model_type: &str) -> Option<Self> {
        Some(match model_type {
            // Some put queries, keys and values, and both halves of the gate, into one tensor: as large as the parts.
            "llama" | "mistral" | "ministral" | "phi3" | "granite" | "smollm3" | "seed_oss" | "ernie4_5" => Self::Plain,
            "qwen2" | "qwen2_vl" | "qwen2_vl_text" | "qwen2_5_vl" | "qwen2_5_vl_text" => Self::Biased,
            "qwen3" | "qwen3_vl_text" | "exaone4" | "hunyuan_v1_dense" => Self::Normed,
            "olmo2" | "olmo3" => Self::WideNormed,
            "cohere" | "cohere2" => Self::OneNorm,
            "glm4_moe" => Self::GlmExperts,
            "gemma" => Self::Gemma,
            "gemma2" => Self::Gemma2,
            "gemma3_text" => Self::Gemma3,
            "mixtral" => Self::Mixtral,
            "qwen2_moe" => Self::Qwen2Experts,
            "qwen3_moe" | "qwen3_vl_moe_text" => Self::Qwen3Experts,
            "deepseek_v2" | "deepseek_v3" | "kimi_k2" => Self::Latent,
            "gpt_oss" => Self::Blocks,
            "qwen3_next" => Self::Delta,
            _ => return None,
        })
    }
}

/// A list of tensors that grows.
struct List<'a> {
    tensors: Vec<Tensor>,
    /// How many there are of each that is added: experts of a layer are alike.
    alike: u64,
    /// How linear layers are stored, where they are quantised.
    packing: Option<Packing>,
    /// Modules that are left as they are.
    kept: &'a [String],
}

impl List<'_> {
    fn push(&mut self, name: impl Into<String>, dtype: Dtype, shape: &[u64]) {
        self.tensors.push(Tensor { name: name.into(), dtype, shape: shape.to_vec(), count: self.alike });
    }

    /// A tensor in 16 bits.
    fn plain(&mut self, name: impl Into<String>, shape: &[u64]) {
        self.push(name, Dtype::Half, shape);
    }

    /// The weight of a linear layer, as it is stored where the model is quantised.
    fn linear(&mut self, at: &str, outputs: u64, inputs: u64) {
        match self.packing {
            Some(packing) if !self.kept.iter().any(|kept| kept == at) => packing.add(self, at, outputs, inputs),
            _ => self.plain(format!("{at}.weight"), &[outputs, inputs]),
        }
    }
}

fn layer_tensors(list: &mut List<'_>, config: &Config, shape: &Shape, family: Family, layer: u64, at: &str) -> Result<(), ConfigError> {
    let norms: &[&str] = match family {
        Family::Gemma2 | Family::Gemma3 => {
            &["input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm"]
        }
        Family::OneNorm => &["input_layernorm"],
        _ => &["input_layernorm", "post_attention_layernorm"],
    };
    for norm in norms {
        list.plain(format!("{at}.{norm}.weight"), &[shape.hidden]);
    }
    let has_state = usize::try_from(layer).ok().and_then(|layer| shape.layers.get(layer)).is_some_and(|layer| layer.state.is_some());
    if has_state {
        attention::delta(list, config, shape, at)?;
    } else {
        attention::attention(list, config, shape, family, at)?;
    }
    feed_forward::feed_forward(list, config, shape, family, layer, at)
}

/// Layers that predict further tokens, as they lie in the checkpoint.
fn drafts(list: &mut List<'_>, config: &Config, shape: &Shape, family: Family, vocabulary: u64) -> Result<(), ConfigError> {
    let (hidden, depth) = (shape.hidden, shape.layers.len() as u64);
    match family {
        Family::Latent | Family::GlmExperts => {
            for layer in depth..depth + shape.draft_layers.min(16) {
                let at = format!("model.layers.{layer}");
                list.plain(format!("{at}.embed_tokens.weight"), &[vocabulary, hidden]);
                list.plain(format!("{at}.shared_head.head.weight"), &[vocabulary, hidden]);
                list.plain(format!("{at}.eh_proj.weight"), &[hidden, 2 * hidden]);
                for norm in ["enorm", "hnorm", "shared_head.norm"] {
                    list.plain(format!("{at}.{norm}.weight"), &[hidden]);
                }
                layer_tensors(list, config, shape, family, layer, &at)?;
            }
        }
        Family::Delta => {
            list.plain("mtp.fc.weight", &[hidden, 2 * hidden]);
            for norm in ["pre_fc_norm_hidden", "pre_fc_norm_embedding", "norm"] {
                list.plain(format!("mtp.{norm}.weight"), &[hidden]);
            }
            layer_tensors(list, config, shape, family, depth, "mtp.layers.0")?;
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::worked_out;
    use crate::plan::config::Config;
    use crate::plan::shape::Shape;

    #[test]
    fn a_family_that_is_not_known_has_no_tensors() {
        let config = Config::parse(
            r#"{"architectures": ["X"], "model_type": "x", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "vocab_size": 9}"#,
        );
        let config = config.expect("a config");
        let shape = Shape::read(&config).expect("a shape");
        assert!(worked_out(&config, &shape).expect("no error").is_none());
    }
}
