//! What a model keeps per token and per request, layer by layer, told from its configuration.
//!
//! Nothing here knows an engine: how an engine stores it is said in [`super::sglang`] and [`super::vllm`].

mod bounds;
mod heads;
mod known;
mod layers;
mod quantisation;
mod state;

use serde_json::Value;

use super::config::{Config, ConfigError, shown};
use super::dtype::Dtype;

pub use quantisation::{DeclaredKv, Quantisation};
pub use state::State;

/// No model has more layers than this; a configuration that says so is a mistake.
const MOST_LAYERS: u64 = 1024;

/// A model.
#[derive(Debug, Clone)]
pub struct Shape {
    /// The architecture's name, such as `LlamaForCausalLM`.
    pub architecture: String,
    /// The type of the language model, such as `llama`.
    pub model_type: String,
    /// The width between layers.
    pub hidden: u64,
    /// Entries of the vocabulary, where the configuration says it.
    pub vocabulary: Option<u64>,
    /// Query heads.
    pub heads: u64,
    /// The width of one query head.
    pub head_dim: u64,
    /// Of attention with a latent vector: its width, the width of a query without position, the width of a value.
    pub latent_widths: Option<(u64, u64, u64)>,
    /// Numbers of a head that carry the position; zero where none do.
    pub rotary_width: u64,
    /// The width of the dense feed-forward part, where there is one.
    pub intermediate: Option<u64>,
    /// Tokens of the longest request, by the configuration.
    pub context: Option<u64>,
    /// Tokens of the longest request as SGLang reads them, which is more where a factor of positions is in the configuration already.
    pub context_sglang: Option<u64>,
    /// Bits of the numbers of recurrent states, where the configuration says them.
    pub state_bits: Option<u64>,
    /// The layers, draft layers not among them.
    pub layers: Vec<Layer>,
    /// Layers in the checkpoint that predict further tokens.
    pub draft_layers: u64,
    /// Routed experts and what they are made of.
    pub experts: Option<Experts>,
    /// Experts that each token is given to; zero where there are none.
    pub experts_per_token: u64,
    /// The kind of numbers that weights are computed in, where the configuration names one that is not known here.
    pub unknown_dtype: Option<String>,
    /// How the weights are quantised.
    pub quantisation: Option<Quantisation>,
    /// What the checkpoint says of the numbers of its KV cache.
    pub declared_kv: Option<DeclaredKv>,
    /// Layers and width of the vision tower.
    pub vision: Option<(u64, u64)>,
    /// Whether input and output embedding are one.
    pub tied: bool,
    /// What was assumed, a sentence each.
    pub notes: Vec<String>,
}

/// Routed experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Experts {
    /// How many.
    pub count: u64,
    /// The width of one.
    pub intermediate: u64,
}

/// One layer, by what it keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// What it keeps per token.
    pub attention: Option<Attention>,
    /// What it keeps per request.
    pub state: Option<State>,
    /// Whether it uses the keys and values of an earlier layer, and has no need of its own.
    pub is_shared: bool,
}

/// What attention keeps per token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attention {
    /// Keys and values, or one latent vector.
    pub store: Store,
    /// How far back it looks.
    pub reach: Reach,
}

/// What one layer stores of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Store {
    /// Keys and values of several heads, which ranks share.
    Heads {
        /// Heads of keys and values over all ranks.
        heads: u64,
        /// The width of a key.
        key: u64,
        /// The width of a value.
        value: u64,
    },
    /// One compressed vector that every rank keeps whole.
    Latent {
        /// The width of the compressed part.
        rank: u64,
        /// The width of the part that carries the position.
        rope: u64,
        /// The width of the key of the index that picks tokens, where there is one.
        index: Option<u64>,
    },
}

/// How far back attention looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    /// To the first token.
    All,
    /// This many tokens.
    Window(u64),
    /// To the start of a chunk of this many tokens.
    Chunk(u64),
}

impl Store {
    /// Elements per token on one of so many ranks. A head is kept by several ranks where there are more ranks than heads.
    #[must_use]
    pub fn elements(&self, ranks: u64) -> u64 {
        match *self {
            Self::Heads { heads, key, value } => share_of_heads(heads, ranks) * (key + value),
            Self::Latent { rank, rope, .. } => rank + rope,
        }
    }
}

/// Heads that one of so many ranks keeps: whole ones, and at least one.
#[must_use]
pub fn share_of_heads(heads: u64, ranks: u64) -> u64 {
    (heads / ranks.max(1)).max(1)
}

impl Shape {
    /// Reads the shape of a model.
    ///
    /// # Errors
    ///
    /// A field is missing, holds what it cannot hold or contradicts another, or the architecture is none that is modelled.
    pub fn read(config: &Config) -> Result<Self, ConfigError> {
        let model_type = config.model_type().to_owned();
        let architecture = config.architecture().ok_or(ConfigError::Missing { field: "architectures" })?.to_owned();
        refuse_unknown(config, &architecture)?;
        let mut notes = Vec::new();
        if !known::is_known(config.model_type()) {
            notes.push(format!(
                "model type {model_type:?} is not known here: it is read as attention of the plain kind, with the fields that it has"
            ));
        }
        let depth = depth(config)?;
        let hidden = config.needed(&["hidden_size", "n_embd", "d_model"])?;
        let layers = layers::read(config, depth, &mut notes)?;
        let heads = config.any_number(&["num_attention_heads", "n_head", "n_heads"])?.unwrap_or(0);
        let shape = Self {
            architecture,
            model_type,
            hidden,
            vocabulary: config.number("vocab_size")?,
            heads,
            head_dim: heads::head_dim(config)?.unwrap_or(0),
            latent_widths: latent_widths(config)?,
            rotary_width: rotary_width(config)?,
            intermediate: config.any_number(&["intermediate_size", "n_inner", "ffn_hidden_size"])?,
            context: context(config)?,
            context_sglang: context_sglang(config)?,
            state_bits: config.text("mamba_ssm_dtype").and_then(Dtype::of_torch).map(Dtype::bits),
            draft_layers: config
                .any_number(&["num_nextn_predict_layers", "mtp_num_hidden_layers"])?
                .unwrap_or_else(|| drafts_unsaid(config)),
            experts: experts(config)?,
            experts_per_token: config.any_number(&["num_experts_per_tok", "num_experts_per_token", "moe_topk"])?.unwrap_or(0),
            unknown_dtype: unknown_dtype(config),
            quantisation: Quantisation::read(config)?,
            declared_kv: DeclaredKv::read(config),
            vision: vision(config)?,
            tied: config.flag("tie_word_embeddings").unwrap_or_else(|| tied_unsaid(config.model_type())),
            layers,
            notes,
        };
        bounds::check(&shape)?;
        Ok(shape)
    }

    /// Layers that keep something per token of their own.
    pub fn attention(&self) -> impl Iterator<Item = &Attention> {
        self.layers.iter().filter(|layer| !layer.is_shared).filter_map(|layer| layer.attention.as_ref())
    }

    /// Layers that keep something per request.
    pub fn states(&self) -> impl Iterator<Item = &State> {
        self.layers.iter().filter_map(|layer| layer.state.as_ref())
    }

    /// Whether attention keeps one latent vector.
    #[must_use]
    pub fn is_latent(&self) -> bool {
        self.attention().any(|attention| matches!(attention.store, Store::Latent { .. }))
    }

    /// The width of the keys of the index that picks tokens.
    #[must_use]
    pub fn index_width(&self) -> Option<u64> {
        self.attention().find_map(|attention| match attention.store {
            Store::Latent { index, .. } => index,
            Store::Heads { .. } => None,
        })
    }
}

/// Architectures whose memory no formula here covers: better no number than a wrong one.
fn refuse_unknown(config: &Config, architecture: &str) -> Result<(), ConfigError> {
    let not_modelled = |why| Err(ConfigError::NotModelled { architecture: architecture.to_owned(), why });
    if config.get("compress_ratios").is_some() {
        return not_modelled("compressed sparse attention with several pools is not modelled");
    }
    if config.flag("is_encoder_decoder") == Some(true) || config.get("cross_attention_layers").is_some() {
        return not_modelled("cross attention to an encoder is not modelled");
    }
    if config.get("block_configs").is_some() {
        return not_modelled("its layers differ in their heads, each by itself (`block_configs`), which is not modelled");
    }
    if config.flag("use_cla") == Some(true) {
        return not_modelled("layers that use the keys and values of another (`use_cla`) are not modelled");
    }
    match config.model_type() {
        "zamba2" | "plamo2" | "recurrent_gemma" | "rwkv" | "rwkv7" | "xlstm" | "whisper" | "phi4flash" => {
            not_modelled("its layers are not modelled")
        }
        _ => Ok(()),
    }
}

/// How many layers there are.
fn depth(config: &Config) -> Result<u64, ConfigError> {
    let layers = config.needed(&["num_hidden_layers", "num_layers", "n_layer", "n_layers"])?;
    if layers > MOST_LAYERS {
        return Err(ConfigError::Wrong {
            field: "num_hidden_layers".to_owned(),
            found: layers.to_string(),
            expected: "a number of layers (1024 at most)",
        });
    }
    Ok(layers)
}

/// Tokens of the longest request: the least of what the fields say, times a factor that is not in it yet.
fn context(config: &Config) -> Result<Option<u64>, ConfigError> {
    let keys = ["max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "max_sequence_length", "max_seq_length", "seq_len"];
    let mut least = None;
    for key in keys {
        if let Some(found) = config.number(key)? {
            least = Some(least.map_or(found, |least: u64| least.min(found)));
        }
    }
    let least = config.number("model_max_length")?.or(least);
    let scaling = config.get("rope_scaling").or_else(|| config.get("rope_parameters"));
    let kind = scaling.and_then(|rope| rope.get("rope_type").or_else(|| rope.get("type"))).and_then(Value::as_str).unwrap_or_default();
    let scaled = matches!(kind, "su" | "longrope" | "llama3" | "yarn" | "deepseek_yarn") || config.model_type().starts_with("gemma3");
    let factor =
        scaling.and_then(|rope| rope.get("factor")).and_then(Value::as_f64).filter(|factor| !scaled && *factor >= 1.0 && *factor < 1e6);
    Ok(least.map(|least| factor.map_or(least, |factor| (least as f64 * factor) as u64)))
}

/// SGLang's reading: the first field that is there, times the factor unless the length before it is named.
fn context_sglang(config: &Config) -> Result<Option<u64>, ConfigError> {
    let keys = ["max_sequence_length", "seq_length", "max_seq_len", "model_max_length", "max_position_embeddings"];
    let Some(found) = config.any_number(&keys)? else { return Ok(None) };
    let scaling = config.get("rope_scaling").or_else(|| config.get("rope_parameters"));
    let is_scaled = scaling.is_some_and(|rope| {
        rope.get("original_max_position_embeddings").is_some() || rope.get("rope_type").and_then(Value::as_str) == Some("llama3")
    });
    let factor =
        scaling.and_then(|rope| rope.get("factor")).and_then(Value::as_f64).filter(|factor| !is_scaled && *factor >= 1.0 && *factor < 1e6);
    Ok(Some(factor.map_or(found, |factor| (found as f64 * factor) as u64)))
}

fn latent_widths(config: &Config) -> Result<Option<(u64, u64, u64)>, ConfigError> {
    let of = |field| config.number(field);
    Ok(of("kv_lora_rank")?.zip(of("qk_nope_head_dim")?).zip(of("v_head_dim")?).map(|((rank, nope), value)| (rank, nope, value)))
}

/// Numbers of a head that carry the position.
fn rotary_width(config: &Config) -> Result<u64, ConfigError> {
    if config.get("rope_theta").is_none() && config.get("rope_scaling").is_none() && config.get("rope_parameters").is_none() {
        return Ok(0);
    }
    let width = config.number("qk_rope_head_dim")?.or(heads::head_dim(config)?).unwrap_or(0);
    let part = config.get("partial_rotary_factor").and_then(Value::as_f64).filter(|part| *part > 0.0 && *part <= 1.0);
    Ok(part.map_or(width, |part| (width as f64 * part) as u64))
}

/// Checkpoints that carry a draft layer and do not say so in the configuration.
fn drafts_unsaid(config: &Config) -> u64 {
    u64::from(config.model_type() == "qwen3_next")
}

/// Whether a class ties its embeddings where the configuration does not say.
fn tied_unsaid(model_type: &str) -> bool {
    matches!(model_type, "gemma" | "gemma2" | "gemma3_text" | "gemma3n_text" | "gpt2" | "cohere" | "cohere2" | "falcon" | "opt" | "bloom")
}

fn experts(config: &Config) -> Result<Option<Experts>, ConfigError> {
    let count = config.any_number(&["n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts"])?.filter(|count| *count > 1);
    let Some(count) = count else { return Ok(None) };
    let width = config.any_number(&["moe_intermediate_size", "intermediate_size_mlp_expert", "intermediate_size", "ffn_hidden_size"])?;
    Ok(width.map(|intermediate| Experts { count, intermediate }))
}

/// What the configuration says that weights are computed in, unless both engines take 16 bits for it: they do where it says nothing, and cast 32 down.
fn unknown_dtype(config: &Config) -> Option<String> {
    let said = config.get("dtype").or_else(|| config.get("torch_dtype"))?;
    let known = said.as_str().is_some_and(|name| name == "auto" || Dtype::of_torch(name).is_some_and(Dtype::is_plain_float));
    (!known).then(|| shown(Some(said)))
}

fn vision(config: &Config) -> Result<Option<(u64, u64)>, ConfigError> {
    let Some(vision) = config.beside("vision_config").and_then(Value::as_object) else { return Ok(None) };
    let of = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| vision.get(*name).filter(|value| !value.is_null()))
            .map(|value| super::config::number("vision_config", value))
    };
    let layers = of(&["num_hidden_layers"]).transpose()?.unwrap_or(24);
    let hidden = of(&["hidden_size"]).transpose()?.unwrap_or(1024);
    Ok(Some((layers, hidden)))
}
