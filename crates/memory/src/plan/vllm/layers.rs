//! What each layer asks of vLLM's KV cache: how many bytes a token, or a request, takes in it.

use crate::plan::setup::{KvKind, Setup};
use crate::plan::shape::{Attention, Reach, Shape, State, Store, share_of_heads};
use crate::version::Release;

/// The numbers of the KV cache.
pub(super) struct Kind {
    pub(super) bits: u64,
    pub(super) why: String,
}

/// What the numbers of the KV cache are.
pub(super) fn kind(shape: &Shape, setup: &Setup) -> Kind {
    let of = |bits, why: &str| Kind { bits, why: format!("KV cache in {bits}-bit numbers: {why}") };
    match setup.kv {
        KvKind::Full => of(32, "as asked"),
        KvKind::Half => of(16, "as asked"),
        KvKind::Fp8 => of(8, "as asked"),
        KvKind::Fp4 => of(4, "as asked, with a scale for each 16"),
        KvKind::Auto => match shape.declared_kv {
            Some(crate::plan::shape::DeclaredKv::Four) => of(4, "the checkpoint declares NVFP4 for it"),
            Some(_) => of(8, "the checkpoint declares fp8 for it"),
            None if shape.quantisation.is_some() => {
                of(setup.bits(), "auto takes the model's kind; quantised weights do not quantise the cache")
            }
            None => of(setup.bits(), "auto takes the model's kind"),
        },
    }
}

/// What a layer keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeps {
    /// Bytes for every token.
    All {
        /// Bytes of a token.
        token: u64,
    },
    /// Bytes for the tokens of a window.
    Window {
        /// Bytes of a token.
        token: u64,
        /// Tokens.
        window: u64,
    },
    /// Bytes for the tokens of a chunk.
    Chunk {
        /// Bytes of a token.
        token: u64,
        /// Tokens.
        chunk: u64,
    },
    /// Bytes for a request.
    State {
        /// Bytes.
        bytes: u64,
        /// Blocks that room is kept for at each request: the state alone, or with those that prefix caching needs beside it.
        blocks: u64,
    },
}

/// One layer, by its place among the layers of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layer {
    /// Its number; draft layers stand after the last.
    pub(super) at: u64,
    pub(super) keeps: Keeps,
}

/// What all layers keep.
pub(super) fn of(shape: &Shape, setup: &Setup, release: Release, kind: &Kind) -> Result<Vec<Layer>, String> {
    let mut layers = Vec::new();
    for (at, layer) in (0..).zip(&shape.layers) {
        if let Some(state) = layer.state {
            let size = state.size(setup.tensor).ok_or_else(|| "the heads of recurrent layers do not share out".to_owned())?;
            // The recurrent state has the model's kind unless the class or the user says otherwise.
            let bits = setup.state_bits.or(shape.state_bits).unwrap_or(state_bits(shape, setup));
            layers.push(Layer {
                at,
                keeps: Keeps::State {
                    bytes: size.window * setup.bits() / 8 + size.recurrent * bits / 8,
                    blocks: state_blocks(shape, &state, setup, release),
                },
            });
        }
        if let Some(attention) = layer.attention.filter(|_| !layer.is_shared) {
            add(&mut layers, at, attention, setup, release, kind);
        }
    }
    let after = shape.layers.len() as u64;
    if let Some(speculation) = setup.speculation.as_ref().filter(|speculation| !speculation.is_textual) {
        let drafts: Vec<Attention> = match &speculation.draft {
            Some(draft) => draft.attention().copied().collect(),
            None => shape
                .attention()
                .find(|attention| attention.reach == Reach::All)
                .into_iter()
                .flat_map(|attention| (0..shape.draft_layers.max(1)).map(|_| *attention))
                .collect(),
        };
        (after..).zip(drafts).for_each(|(at, attention)| add(&mut layers, at, attention, setup, release, kind));
    }
    Ok(layers)
}

fn add(layers: &mut Vec<Layer>, at: u64, attention: Attention, setup: &Setup, release: Release, kind: &Kind) {
    let token = bytes(&attention.store, setup.tensor, release, kind);
    let keeps = match attention.reach {
        // The manager of several kinds came with 0.9.
        _ if release < Release(0, 9, 0) || setup.without_hybrid_manager => Keeps::All { token },
        Reach::All => Keeps::All { token },
        Reach::Window(window) => Keeps::Window { token, window },
        Reach::Chunk(chunk) => Keeps::Chunk { token, chunk },
    };
    layers.push(Layer { at, keeps });
    if let Store::Latent { index: Some(width), .. } = attention.store {
        layers.push(Layer { at, keeps: Keeps::All { token: width + width / 128 * 4 } });
    }
}

/// The release that caches prefixes of recurrent models by itself.
pub(super) const STATES_ARE_CACHED: Release = Release(0, 32, 0);

/// Blocks that a request's state may take.
///
/// Source: vLLM 0.32 and 0.33 `v1/kv_cache_interface.py: MambaSpec.max_memory_usage_bytes`, with the mode that `MambaModelConfig` takes where prefixes are cached: two, and
/// one more where the layer can leave a checkpoint in the middle of a prefill.
fn state_blocks(shape: &Shape, state: &State, setup: &Setup, release: Release) -> u64 {
    let drafts =
        setup.speculation.as_ref().filter(|speculation| !speculation.is_textual).and_then(|speculation| speculation.tokens).unwrap_or(0);
    // Nothing is cached of models without any attention.
    let is_cached = release >= STATES_ARE_CACHED && !setup.without_prefix_cache && shape.attention().next().is_some();
    if !is_cached {
        return 1 + drafts;
    }
    let leaves_checkpoints = match state {
        State::Mamba2 { .. } | State::Kimi { .. } => true,
        State::Delta { .. } => release >= Release(0, 33, 0),
        State::Mamba1 { .. } | State::Lightning { .. } | State::Convolution { .. } => false,
    };
    2 + u64::from(leaves_checkpoints) + drafts
}

/// Bits of a recurrent state: most classes take the model's kind, some ask for 32.
fn state_bits(shape: &Shape, setup: &Setup) -> u64 {
    let is_wide = shape.model_type.starts_with("nemotron_h")
        || shape.states().any(|state| matches!(state, State::Kimi { .. } | State::Lightning { .. }));
    if is_wide { 32 } else { setup.bits() }
}

/// Bytes that a layer keeps of a token on one of so many ranks.
fn bytes(store: &Store, ranks: u64, release: Release, kind: &Kind) -> u64 {
    match *store {
        Store::Latent { rank, rope, index } => match kind.bits {
            4 if index.is_some() => 352,
            // Scales, and the part that carries the position in 16 bits.
            8 if index.is_some() => rank + rank / 128 * 4 + rope * 2,
            4 => (rank + rope) / 2 + (rank + rope) / 16,
            bits => (rank + rope) * bits / 8,
        },
        Store::Heads { heads, key, value } => {
            let value = if release >= Release(0, 29, 0) { value } else { key };
            let heads = share_of_heads(heads, ranks);
            if kind.bits == 4 { heads * (key / 2 + key / 16 + value / 2 + value / 16) } else { heads * (key + value) * kind.bits / 8 }
        }
    }
}
