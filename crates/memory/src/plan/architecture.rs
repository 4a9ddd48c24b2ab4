//! The architecture's own minimum: what a request needs where every token is kept once for as long as it is looked at, and nothing else.

use bystander_model::memory::Column;

use bystander_model::budget::Figure;

use super::setup::{Engine, KvKind};
use super::shape::{Attention, Layer, Reach, State, Store};
use super::stages::stages;
use super::{GIB, Question};

/// The column of the architecture.
pub(super) fn column(question: &Question) -> Column {
    let (shape, setup) = (&question.shape, &question.setup);
    let ranks = setup.attention_ranks();
    let bits = match setup.kv {
        KvKind::Auto => setup.bits(),
        KvKind::Half => 16,
        KvKind::Full => 32,
        KvKind::Fp8 => 8,
        KvKind::Fp4 => 4,
    };
    let per_token = |attention: &Attention| (attention.store.elements(ranks) * bits) as f64 / 8.0 + index_bytes(attention);
    let context = setup.context.or(shape.context);
    // Of each stage of a pipeline: bytes that grow with a request, and those that do not.
    let kept = |layers: &[Layer]| {
        let attention = || layers.iter().filter(|layer| !layer.is_shared).filter_map(|layer| layer.attention.as_ref());
        let growing = attention().filter(|attention| attention.reach == Reach::All).map(per_token).fold(0.0, |all, bytes| all + bytes);
        let windows = attention().map(|attention| windowed(attention, per_token(attention))).fold(0.0, |all, bytes| all + bytes);
        let fixed = states(layers.iter().filter_map(|layer| layer.state.as_ref()), ranks).map(|states| states + windows as u64);
        (growing, fixed)
    };
    let full_request = |(growing, fixed): (f64, Option<u64>)| growing * context.unwrap_or(1) as f64 + fixed.unwrap_or(0) as f64;
    let stages = stages(Engine::Sglang, shape.layers.len() as u64, setup.pipeline).into_iter().filter_map(|(from, to)| {
        let range = usize::try_from(from).ok()?..usize::try_from(to).ok()?;
        shape.layers.get(range).map(kept)
    });
    let (growing, fixed) = stages.max_by(|a, b| full_request(*a).total_cmp(&full_request(*b))).unwrap_or((0.0, None));
    let full = context.zip(fixed).map(|(context, fixed)| (growing * context as f64 + fixed as f64) / GIB);
    let cards = (setup.tensor * setup.pipeline) as f64;
    let weights = question.checkpoint.as_ref().map(|checkpoint| checkpoint.bytes() as f64 / cards / GIB);
    let room = setup.gpu.as_ref().zip(weights).map(|(gpu, weights)| (gpu.cuda_gib.value - weights).max(0.0));
    let requests = room.zip(full).map(|(room, full)| room / full.max(f64::MIN_POSITIVE));
    let tokens = requests.zip(context).map(|(requests, context)| (requests * context as f64).floor());
    Column {
        name: "architecture".to_owned(),
        version: String::new(),
        refused: None,
        kv_bytes_per_token_per_rank: Some(growing),
        fixed_bytes_per_request: fixed,
        weights_gib_per_rank: weights.map(Figure::exact),
        kv_gib_full_request: full,
        tokens: tokens.map(Figure::exact),
        concurrency: requests.map(Figure::exact),
        fraction: None,
        table: Vec::new(),
        derivation: derivation(question, ranks, bits, growing),
        not_modelled: Vec::new(),
    }
}

/// The key of the index that picks tokens: 8-bit numbers, a 32-bit scale for each 128.
fn index_bytes(attention: &Attention) -> f64 {
    match attention.store {
        Store::Latent { index: Some(width), .. } => (width + width / 128 * 4) as f64,
        _ => 0.0,
    }
}

/// Bytes of a layer that looks back a fixed way.
fn windowed(attention: &Attention, per_token: f64) -> f64 {
    match attention.reach {
        Reach::All => 0.0,
        Reach::Window(tokens) | Reach::Chunk(tokens) => per_token * tokens as f64,
    }
}

/// Bytes of all states of a request: windows of convolutions in 16 bits, recurrent states in 32.
fn states<'a>(states: impl Iterator<Item = &'a State>, ranks: u64) -> Option<u64> {
    states.map(|state| state.size(ranks).map(|size| size.window * 2 + size.recurrent * 4)).sum()
}

/// One line for each kind of layer.
fn derivation(question: &Question, ranks: u64, bits: u64, growing: f64) -> Vec<String> {
    let shape = &question.shape;
    let mut kinds: Vec<(Attention, u64)> = Vec::new();
    for attention in shape.attention() {
        match kinds.iter_mut().find(|(known, _)| known == attention) {
            Some((_, count)) => *count += 1,
            None => kinds.push((*attention, 1)),
        }
    }
    let mut lines: Vec<String> = kinds.iter().map(|(attention, count)| line(attention, *count, ranks, bits)).collect();
    if let Some(states) = states(shape.states(), ranks).filter(|bytes| *bytes > 0) {
        lines.push(format!("{} recurrent layers keep {states} bytes for each request", shape.states().count()));
    }
    if question.setup.pipeline > 1 {
        let stages = question.setup.pipeline;
        lines.push(format!("the fullest of {stages} stages keeps {growing} bytes per token, and as much of the rest as its layers do"));
    }
    if shape.draft_layers > 0 {
        lines.push(format!("{} draft layers of the checkpoint are not counted", shape.draft_layers));
    }
    if let Some(checkpoint) = &question.checkpoint {
        let from = if checkpoint.is_read { "headers of the weights" } else { "worked out from the configuration" };
        lines.push(format!("weights: {} bytes in all ({from}), shared out evenly", checkpoint.bytes()));
    }
    if question.setup.gpu.is_some() {
        lines.push("tokens: what a card would hold with nothing but weights and KV cache on it; no engine reaches that".to_owned());
    }
    lines
}

fn line(attention: &Attention, count: u64, ranks: u64, bits: u64) -> String {
    let what = match attention.store {
        Store::Heads { heads, key, value } => {
            format!("{} of {heads} heads × ({key} + {value})", super::shape::share_of_heads(heads, ranks))
        }
        Store::Latent { rank, rope, .. } => format!("({rank} + {rope}), whole on every rank"),
    };
    let reach = match attention.reach {
        Reach::All => String::new(),
        Reach::Window(tokens) => format!(", the last {tokens} tokens"),
        Reach::Chunk(tokens) => format!(", a chunk of {tokens} tokens"),
    };
    let bytes = attention.store.elements(ranks) * bits / 8 * count;
    format!("{count} layers × {what} × {bits} bit = {bytes} bytes per token{reach}")
}
