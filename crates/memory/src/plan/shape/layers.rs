//! Which kind each layer is, and what that kind keeps: `layer_types` where it is written, the rule of the class where it is not.

use serde_json::Value;

use super::heads::{contradiction, head_dim, store, window};
use super::{Attention, Layer, Reach, State};
use crate::plan::config::{Config, ConfigError, list};

/// The kind of one layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Full,
    Sliding,
    Chunked,
    Delta,
    Kimi,
    Mamba1,
    Mamba2,
    Lightning,
    Convolution,
    /// Attention and Mamba 2 side by side.
    Both,
    /// Nothing is kept.
    Plain,
}

/// Reads every layer.
pub(super) fn read(config: &Config, depth: u64, notes: &mut Vec<String>) -> Result<Vec<Layer>, ConfigError> {
    let kinds = kinds(config, depth, notes)?;
    let mut layers = Vec::with_capacity(kinds.len());
    // Every kind is read once, and only where a layer has it.
    let mut known: Vec<(Kind, Layer)> = Vec::new();
    for kind in kinds {
        if let Some((_, layer)) = known.iter().find(|(known, _)| *known == kind) {
            layers.push(layer.clone());
            continue;
        }
        let layer = layer(config, kind)?;
        known.push((kind, layer.clone()));
        layers.push(layer);
    }
    share(config, depth, &mut layers, notes)?;
    if config.model_type() == "longcat_flash" {
        notes.push("each layer has attention twice: both are counted".to_owned());
        layers = layers.into_iter().flat_map(|layer| [layer.clone(), layer]).collect();
    }
    Ok(layers)
}

/// The last layers of some models use the keys and values of earlier ones and keep none.
fn share(config: &Config, depth: u64, layers: &mut [Layer], notes: &mut Vec<String>) -> Result<(), ConfigError> {
    let shared = config.number("num_kv_shared_layers")?.unwrap_or(0);
    if shared == 0 {
        return Ok(());
    }
    if shared >= depth {
        return Err(contradiction("num_kv_shared_layers", shared, "num_hidden_layers", depth));
    }
    notes.push(format!("the last {shared} layers use the keys and values of earlier ones"));
    layers.iter_mut().rev().take(usize::try_from(shared).unwrap_or(0)).for_each(|layer| layer.is_shared = true);
    Ok(())
}

fn layer(config: &Config, kind: Kind) -> Result<Layer, ConfigError> {
    let attention = match kind {
        Kind::Full | Kind::Both => Some(Attention { store: store(config, false)?, reach: Reach::All }),
        Kind::Sliding => Some(Attention { store: store(config, true)?, reach: Reach::Window(window(config)?) }),
        Kind::Chunked => Some(Attention { store: store(config, false)?, reach: Reach::Chunk(config.needed(&["attention_chunk_size"])?) }),
        _ => None,
    };
    let state = match kind {
        Kind::Delta => Some(State::delta(config)?),
        Kind::Kimi => Some(State::kimi(config.get("linear_attn_config").unwrap_or(&Value::Null))?),
        Kind::Mamba1 => Some(State::mamba1(config)?),
        Kind::Mamba2 | Kind::Both => Some(State::mamba2(config)?),
        Kind::Lightning => {
            Some(State::Lightning { heads: config.needed(&["num_attention_heads"])?, width: head_dim(config)?.unwrap_or(0) })
        }
        Kind::Convolution => Some(State::Convolution {
            width: config.any_number(&["conv_dim", "hidden_size"])?.unwrap_or(0),
            kernel: config.any_number(&["conv_L_cache"])?.unwrap_or(3),
        }),
        _ => None,
    };
    Ok(Layer { attention, state, is_shared: false })
}

fn kinds(config: &Config, depth: u64, notes: &mut Vec<String>) -> Result<Vec<Kind>, ConfigError> {
    let written = config.texts("layer_types")?.or(config.texts("layers_block_type")?);
    if let Some(written) = written {
        return named(config, depth, &written, notes);
    }
    let found = hybrid(config, depth)?;
    if let Some(found) = found {
        return Ok(found);
    }
    windowed(config, depth, notes)
}

/// The kinds that `layer_types` names.
fn named(config: &Config, depth: u64, written: &[&str], notes: &mut Vec<String>) -> Result<Vec<Kind>, ConfigError> {
    let count = written.len() as u64;
    if count < depth {
        return Err(contradiction("the length of layer_types", count, "num_hidden_layers", depth));
    }
    if count > depth {
        notes.push(format!("layer_types names {count} layers; the first {depth} are those of the model"));
    }
    let linear = if config.get("linear_attn_config").is_some() { Kind::Kimi } else { Kind::Delta };
    let unmodelled = || ConfigError::NotModelled {
        architecture: config.architecture().unwrap_or_default().to_owned(),
        why: "a kind of layer in layer_types is not known here",
    };
    let kind = |name: &&str| {
        Ok(match *name {
            "full_attention" | "attention" | "global_attention" | "global" => Kind::Full,
            "sliding_attention" | "sliding" | "local_attention" => Kind::Sliding,
            "chunked_attention" => Kind::Chunked,
            "linear_attention" | "kda" => linear,
            "mamba" if config.model_type() == "jamba" => Kind::Mamba1,
            "mamba" | "mamba2" => Kind::Mamba2,
            "conv" => Kind::Convolution,
            "mlp" | "moe" => Kind::Plain,
            _ => return Err(unmodelled()),
        })
    };
    written.iter().take(usize::try_from(depth).unwrap_or(usize::MAX)).map(kind).collect()
}

/// Models of attention and something else, by the rule of their class.
fn hybrid(config: &Config, depth: u64) -> Result<Option<Vec<Kind>>, ConfigError> {
    if let Some(pattern) = config.text("hybrid_override_pattern") {
        return pattern_letters(depth, pattern).map(Some);
    }
    if let Some(linear) = config.get("linear_attn_config") {
        let layers = linear.get("full_attn_layers").map(|layers| list("full_attn_layers", layers)).transpose()?.unwrap_or_default();
        // These count from one.
        return Ok(Some((1..=depth).map(|layer| if layers.contains(&layer) { Kind::Full } else { Kind::Kimi }).collect()));
    }
    let every = |period: u64, offset: u64, other: Kind| {
        (0..depth).map(|layer| if layer % period == offset { Kind::Full } else { other }).collect::<Vec<_>>()
    };
    let among =
        |full: &[u64], other: Kind| (0..depth).map(|layer| if full.contains(&layer) { Kind::Full } else { other }).collect::<Vec<_>>();
    Ok(Some(match config.model_type() {
        "qwen3_next" | "qwen3_5_text" | "qwen3_5_moe_text" | "qwen3_5" | "qwen3_5_moe" => {
            let period = config.needed(&["full_attention_interval"])?;
            every(period, period - 1, Kind::Delta)
        }
        "jamba" => every(config.or("attn_layer_period", 8)?, config.number("attn_layer_offset")?.unwrap_or(4), Kind::Mamba1),
        "bamba" => among(&config.numbers("attn_layer_indices")?.unwrap_or_default(), Kind::Mamba2),
        "falcon_h1" => vec![Kind::Both; usize::try_from(depth).unwrap_or(0)],
        "lfm2" | "lfm2_moe" => among(&config.numbers("full_attn_idxs")?.unwrap_or_else(|| (0..depth).collect()), Kind::Convolution),
        "minimax" | "minimax_text_01" | "minimax_m1" => {
            let types = config.numbers("attn_type_list")?.ok_or(ConfigError::Missing { field: "attn_type_list" })?;
            if (types.len() as u64) < depth {
                return Err(contradiction("the length of attn_type_list", types.len() as u64, "num_hidden_layers", depth));
            }
            types
                .iter()
                .take(usize::try_from(depth).unwrap_or(0))
                .map(|kind| if *kind == 1 { Kind::Full } else { Kind::Lightning })
                .collect()
        }
        "mamba" | "falcon_mamba" => vec![Kind::Mamba1; usize::try_from(depth).unwrap_or(0)],
        "mamba2" => vec![Kind::Mamba2; usize::try_from(depth).unwrap_or(0)],
        _ => return Ok(None),
    }))
}

/// The letters of Nemotron-H: `M` Mamba 2, `*` attention, `-` feed-forward, `E` experts.
fn pattern_letters(depth: u64, pattern: &str) -> Result<Vec<Kind>, ConfigError> {
    let letters: Vec<char> = pattern.chars().filter(|letter| *letter != '|').collect();
    if letters.len() as u64 != depth {
        return Err(contradiction("the length of hybrid_override_pattern", letters.len() as u64, "num_hidden_layers", depth));
    }
    let kind = |letter: &char| match letter {
        'M' => Ok(Kind::Mamba2),
        '*' => Ok(Kind::Full),
        '-' | 'E' => Ok(Kind::Plain),
        _ => Err(ConfigError::Wrong { field: "hybrid_override_pattern".to_owned(), found: letter.to_string(), expected: "M, *, - or E" }),
    };
    letters.iter().map(kind).collect()
}

/// Attention throughout, with windows where the class has them.
fn windowed(config: &Config, depth: u64, notes: &mut Vec<String>) -> Result<Vec<Kind>, ConfigError> {
    let size = config.any_number(&["sliding_window", "sliding_window_size"])?.filter(|size| *size > 0);
    let mut of_class = |period: u64, what: &str| {
        notes.push(format!("no layer_types: {what}, the rule of its class"));
        (1..=depth).map(|layer| if layer % period == 0 { Kind::Full } else { Kind::Sliding }).collect::<Vec<_>>()
    };
    let all = |kind: Kind| vec![kind; usize::try_from(depth).unwrap_or(0)];
    if let Some(pattern) = config.get("hybrid_layer_pattern") {
        let pattern = list("hybrid_layer_pattern", pattern)?;
        if (pattern.len() as u64) < depth {
            return Err(contradiction("the length of hybrid_layer_pattern", pattern.len() as u64, "num_hidden_layers", depth));
        }
        return Ok(pattern
            .iter()
            .take(usize::try_from(depth).unwrap_or(0))
            .map(|kind| if *kind == 1 { Kind::Sliding } else { Kind::Full })
            .collect());
    }
    if size.is_none() && config.model_type() != "llama4_text" {
        return Ok(all(Kind::Full));
    }
    Ok(match config.model_type() {
        "gemma2" => of_class(2, "every second layer is global, the others have a window"),
        "gpt_oss" => of_class(2, "every second layer is global, the others have a window"),
        "gemma3" | "gemma3_text" | "cohere2" => {
            let period = config.or("sliding_window_pattern", 6)?;
            of_class(period, &format!("every {period}th layer is global, the others have a window"))
        }
        "gemma3n_text" => of_class(5, "every 5th layer is global, the others have a window"),
        "gemma4_text" => of_class(6, "every 6th layer is global, the others have a window"),
        "olmo3" => of_class(4, "every 4th layer is global, the others have a window"),
        "exaone4" => match config.text("sliding_window_pattern") {
            Some(letters) if !letters.is_empty() => letters
                .chars()
                .cycle()
                .zip(0..depth)
                .map(|(letter, layer)| if letter == 'G' || layer + 1 == depth { Kind::Full } else { Kind::Sliding })
                .collect(),
            _ => of_class(4, "every 4th layer is global, the others have a window"),
        },
        "llama4_text" => chunked(config, depth)?,
        // Without `use_sliding_window` the size is only written there.
        "qwen2" | "qwen2_moe" | "qwen3" | "qwen3_moe" | "qwen2_vl" | "qwen2_5_vl" | "qwen2_5_vl_text" => {
            let from = config.number("max_window_layers")?.unwrap_or(depth);
            let used = config.flag("use_sliding_window") == Some(true);
            (0..depth).map(|layer| if used && layer >= from { Kind::Sliding } else { Kind::Full }).collect()
        }
        "mistral" | "mixtral" | "starcoder2" | "phi3" | "phi3small" | "phimoe" | "olmoe" | "ministral" => all(Kind::Sliding),
        _ if config.flag("use_sliding_window") == Some(false) => all(Kind::Full),
        other => {
            notes.push(format!(
                "sliding_window is set, and how model type {other} uses it is not known here: every layer is counted as global"
            ));
            all(Kind::Full)
        }
    })
}

/// Llama 4: layers with positions look back to the start of their chunk, those without to the first token.
fn chunked(config: &Config, depth: u64) -> Result<Vec<Kind>, ConfigError> {
    let rotary = config.numbers("no_rope_layers")?.filter(|layers| layers.len() as u64 == depth);
    let period = config.or("no_rope_layer_interval", 4)?;
    Ok((0..depth)
        .map(|layer| {
            let looks_to_chunk =
                rotary.as_ref().map_or((layer + 1) % period != 0, |rotary| usize::try_from(layer).is_ok_and(|at| rotary[at] == 1));
            if looks_to_chunk { Kind::Chunked } else { Kind::Full }
        })
        .collect())
}
