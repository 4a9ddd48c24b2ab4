//! Bytes that SGLang keeps per token and rank, by release.

use crate::plan::setup::{KvKind, Setup};
use crate::plan::shape::{Attention, DeclaredKv, Reach, Shape, Store, share_of_heads};
use crate::version::Release;

/// The numbers of the KV cache.
#[derive(Debug, Clone)]
pub(super) struct Kind {
    /// Bits of one.
    pub(super) bits: u64,
    /// Why.
    pub(super) why: String,
}

/// What the numbers of the KV cache are.
pub(super) fn kind(shape: &Shape, setup: &Setup, release: Release) -> Kind {
    let of = |bits, why: &str| Kind { bits, why: format!("KV cache in {bits}-bit numbers: {why}") };
    match setup.kv {
        KvKind::Full => of(32, "as asked"),
        KvKind::Half => of(16, "as asked"),
        KvKind::Fp8 => of(8, "as asked"),
        KvKind::Fp4 => of(4, "as asked, with a scale for each 16"),
        KvKind::Auto => {
            let is_blackwell = setup.gpu.as_ref().and_then(|gpu| gpu.capability).is_some_and(|(major, _)| major >= 10);
            if shape.index_width().is_some() && is_blackwell {
                return of(8, "auto takes fp8 for sparse attention on this card");
            }
            if shape.declared_kv == Some(DeclaredKv::Algorithm) && release >= Release(0, 5, 3) {
                return of(8, "the checkpoint declares kv_cache_quant_algo FP8");
            }
            of(
                setup.bits(),
                if shape.quantisation.is_some() {
                    "auto takes the model's kind; quantised weights do not quantise the cache"
                } else {
                    "auto takes the model's kind"
                },
            )
        }
    }
}

/// Bytes per token and rank of one stage.
#[derive(Debug, Clone, Default)]
pub(super) struct Cell {
    /// Bytes for each token that is reported.
    pub(super) bytes: f64,
    /// What the profile divides by before pools are split; equal to `bytes` where there is one pool.
    pub(super) profiled: f64,
    /// How it came to be.
    pub(super) lines: Vec<String>,
}

/// Layers of one kind.
struct Counted {
    attention: Attention,
    layers: u64,
}

impl Cell {
    /// Bytes per token of the layers of a stage.
    pub(super) fn of(shape: &Shape, setup: &Setup, release: Release, kind: &Kind, layers: (u64, u64)) -> Self {
        let counted = counted(shape, layers);
        let windows = !setup.without_window_pool && has_window_pool(shape, setup, release);
        let per = |counted: &Counted| per_layer(counted, setup, release, kind) * counted.layers as f64;
        let (windowed, full): (Vec<&Counted>, Vec<&Counted>) =
            counted.iter().partition(|counted| windows && counted.attention.reach != Reach::All);
        let full_bytes: f64 = full.iter().map(|counted| per(counted)).sum();
        let window_bytes: f64 = windowed.iter().map(|counted| per(counted)).sum();
        let ratio = setup.window_ratio.unwrap_or(0.8);
        let mut lines: Vec<String> = counted.iter().map(|counted| line(counted, setup, release, kind)).collect();
        let mut bytes = full_bytes + window_bytes;
        let mut profiled = bytes;
        if !windowed.is_empty() {
            if full.is_empty() {
                lines.push("every layer has a window: one pool, all of it for windows".to_owned());
            } else {
                bytes = full_bytes + ratio * window_bytes;
                lines.push(format!("windowed layers have a pool of their own, {ratio} tokens for each of the others: {full_bytes} + {ratio} \u{d7} {window_bytes} = {bytes} bytes per reported token"));
            }
        } else if counted.iter().any(|counted| counted.attention.reach != Reach::All) {
            lines.push("this release keeps windowed layers of this model at full length".to_owned());
        }
        if release >= Release(0, 5, 11) {
            profiled = bytes;
        }
        let drafts = draft_layers(shape, setup, release);
        let layer_count: u64 = counted.iter().map(|counted| counted.layers).sum();
        if drafts > 0 && layer_count > 0 {
            let more = bytes * drafts as f64 / layer_count as f64;
            let more = if release >= Release(0, 5, 15) { more.floor() } else { more };
            bytes = if release >= Release(0, 5, 15) { bytes + more } else { (bytes + more).floor() };
            profiled = bytes;
            lines.push(format!("{drafts} draft layers add {more} bytes per token: {bytes}"));
        }
        Self { bytes, profiled, lines }
    }
}

/// Draft layers whose KV cache is in the cell.
fn draft_layers(shape: &Shape, setup: &Setup, release: Release) -> u64 {
    let counted = setup.speculation.as_ref().filter(|speculation| !speculation.is_textual && release >= Release(0, 5, 14));
    counted.map_or(0, |speculation| speculation.draft.as_ref().map_or(shape.draft_layers.max(1), |draft| draft.layers.len() as u64))
}

fn counted(shape: &Shape, layers: (u64, u64)) -> Vec<Counted> {
    let mut counted: Vec<Counted> = Vec::new();
    for (_, layer) in (0..).zip(&shape.layers).filter(|(at, _)| (layers.0..layers.1).contains(at)) {
        let Some(attention) = layer.attention else { continue };
        match counted.iter_mut().find(|known| known.attention == attention) {
            Some(known) => known.layers += 1,
            None => counted.push(Counted { attention, layers: 1 }),
        }
    }
    counted
}

/// Whether windowed layers of this architecture have a pool of their own.
fn has_window_pool(shape: &Shape, setup: &Setup, release: Release) -> bool {
    let from = match shape.architecture.as_str() {
        "GptOssForCausalLM" => {
            // The kernels that this release takes on Blackwell know no second pool.
            let capability = setup.gpu.as_ref().and_then(|gpu| gpu.capability);
            let is_blackwell = capability.is_some_and(|(major, _)| major == 10);
            return release >= Release(0, 5, 8) && !(is_blackwell && release < Release(0, 5, 10));
        }
        "Llama4ForConditionalGeneration" => Release(0, 5, 8),
        "MiMoV2FlashForCausalLM" => Release(0, 5, 7),
        "Step3p5ForCausalLM" => Release(0, 5, 9),
        "Gemma4ForCausalLM" | "Gemma4ForConditionalGeneration" => Release(0, 5, 11),
        "LagunaForCausalLM" => Release(0, 5, 14),
        // Refused by name in the releases that look at the layers themselves.
        "Gemma2ForCausalLM"
        | "Gemma3ForCausalLM"
        | "Gemma3ForConditionalGeneration"
        | "Gemma3nForCausalLM"
        | "Gemma3nForConditionalGeneration"
        | "Exaone4ForCausalLM"
        | "Olmo2ForCausalLM"
        | "Olmo3ForCausalLM"
        | "MistralForCausalLM"
        | "MixtralForCausalLM" => return false,
        _ => {
            return release >= Release(0, 4, 10)
                && release < Release(0, 5, 7)
                && shape.attention().any(|attention| attention.reach == Reach::All);
        }
    };
    release >= from
}

/// Bytes of one layer for one token on one rank.
fn per_layer(counted: &Counted, setup: &Setup, release: Release, kind: &Kind) -> f64 {
    let ranks = setup.attention_ranks();
    match counted.attention.store {
        Store::Latent { rank, rope, index } => {
            let index = index.filter(|_| release >= Release(0, 5, 4)).map_or(0, |width| width + width / 128 * 4);
            latent(rank, rope, index > 0, kind, release) + index as f64
        }
        Store::Heads { heads, key, value } => {
            let heads = share_of_heads(heads, ranks);
            let value = if release >= Release(0, 5, 7) { value } else { key };
            let elements = heads * (key + value);
            if kind.bits == 4 { (elements / 2 + heads * key * 2 / 16) as f64 } else { (elements * kind.bits / 8) as f64 }
        }
    }
}

fn latent(rank: u64, rope: u64, is_sparse: bool, kind: &Kind, release: Release) -> f64 {
    match kind.bits {
        4 => ((rank + rope) / 2 + (rank + rope) / 16) as f64,
        // Sparse attention in 8 bits keeps scales, and positions in 16 bits; releases before 0.5.18 size the pool without them.
        8 if is_sparse && release >= Release(0, 5, 18) => (rank + rank / 128 * 4 + rope * 2) as f64,
        bits => ((rank + rope) * bits / 8) as f64,
    }
}

fn line(counted: &Counted, setup: &Setup, release: Release, kind: &Kind) -> String {
    let ranks = setup.attention_ranks();
    let each = per_layer(counted, setup, release, kind);
    let what = match counted.attention.store {
        Store::Heads { heads, key, value } => {
            let share = share_of_heads(heads, ranks);
            let copies = if heads < ranks { format!(", each kept by {} ranks", ranks / heads) } else { String::new() };
            format!("{share} of {heads} KV heads{copies}, key {key} and value {value} wide")
        }
        Store::Latent { rank, rope, index } => {
            let index = if index.is_some() { " and the key of the index" } else { "" };
            format!("a latent vector of {rank} + {rope}{index}, whole on every rank")
        }
    };
    format!("{} layers \u{d7} {each} bytes ({what}) = {} bytes per token", counted.layers, each * counted.layers as f64)
}
