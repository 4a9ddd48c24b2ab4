//! How the KV cache was sized, with numbers: the share of the card less all that was measured.

use bystander_model::budget::Figure;
use bystander_model::memory::Formula;

use super::amount::{both, meet, minus, plus};
use super::inputs::{self, Input};
use super::names::{amount, message, setting};
use super::semantics::{self, Covers};
use crate::explain::Facts;
use crate::explain::facts::RankFacts;
use crate::figures::{decimal, fraction, is_exact};

/// Bytes in a GiB.
pub(crate) const GIB: f64 = 1_073_741_824.0;
/// Tokens in a block where the log does not say another number; the engine's default on CUDA.
pub(crate) const BLOCK: f64 = 16.0;

/// The formula of the rank with the least, where its inputs are known.
pub(super) fn of(facts: &Facts) -> Option<Formula> {
    let rank = inputs::least_kv(facts)
        .map(|(rank, ..)| rank)
        .or_else(|| inputs::ranks(facts).find(|rank| inputs::not_kv(facts, rank).is_some()))?;
    let Some((requested, not_kv)) = inputs::requested(facts, Some(rank)).zip(inputs::not_kv(facts, rank)) else {
        return as_printed(facts, rank);
    };
    let computed = minus(requested.figure, not_kv.figure);
    let printed = inputs::kv(facts, rank).filter(|_| rank.first(amount::KV_GIVEN).is_none());
    let rest = printed.as_ref().map_or(computed, |printed| both(printed.figure, computed));
    let text = format!("KV = {} = {} GiB", equation(facts, rank, &requested, &not_kv)?, decimal(rest.value, 2));
    Some(Formula {
        text,
        source: source(facts),
        rest_gib: rest,
        tokens: tokens(facts, rest),
        cell_bytes: cell(facts).filter(is_exact).map(|cell| cell.value),
    })
}

/// The result that the engine prints, where it does not print what it comes from.
fn as_printed(facts: &Facts, rank: &RankFacts) -> Option<Formula> {
    let kv = inputs::kv(facts, rank)?;
    let is_host = facts.settings.get(setting::DEVICE) == Some("cpu");
    let base = match inputs::share(facts, Some(rank)) {
        _ if rank.first(amount::KV_GIVEN).is_some() || is_host => "as given or printed".to_owned(),
        Some(share) => format!("{} \u{d7} card \u{2212} what the profile run measured, as printed", fraction(share.figure.value)),
        None => "share \u{d7} card \u{2212} what the profile run measured, as printed".to_owned(),
    };
    let text = format!("KV = {} GiB ({base})", decimal(kv.figure.value, 2));
    Some(Formula { text, source: source(facts), rest_gib: kv.figure, tokens: tokens(facts, kv.figure), cell_bytes: None })
}

/// Whether the engine's own result is another than the formula's.
pub(super) fn contradiction(facts: &Facts) -> Option<String> {
    let (rank, printed, _) = inputs::least_kv(facts)?;
    let (requested, not_kv) = (inputs::requested(facts, Some(rank))?, inputs::not_kv(facts, rank)?);
    let computed = minus(requested.figure, not_kv.figure);
    let given = rank.first(amount::KV_GIVEN).is_some() || facts.settings.get(setting::KV_BYTES).is_some();
    (!given && !meet(printed.figure, computed)).then(|| {
        let (said, ours) = (decimal(printed.figure.value, 2), decimal(computed.value, 2));
        format!("The engine prints {said} GiB for the KV cache ({}) and its own terms give {ours} GiB: they are of two starts, or of another version", printed.from)
    })
}

fn equation(facts: &Facts, rank: &RankFacts, requested: &Input, not_kv: &Input) -> Option<String> {
    let share = inputs::share(facts, Some(rank));
    let total = inputs::total(facts, Some(rank));
    let base = match (share, total) {
        (Some(share), Some(total)) => format!("{} × {}", fraction(share.figure.value), decimal(total.figure.value, 2)),
        _ => decimal(requested.figure.value, 2),
    };
    let graphs = inputs::graphs_estimate(facts, rank).filter(|_| !inputs::graphs_in_activation(facts, rank));
    let parts = [amount::CONSUMED, amount::ACTIVATION];
    let own = [amount::WEIGHTS, amount::NON_TORCH, amount::ACTIVATION];
    let oldest = [amount::PEAK_TORCH, amount::NON_TORCH];
    let read = |names: &[&str]| names.iter().map(|name| inputs::of(rank, name)).collect::<Option<Vec<Input>>>();
    let mut terms = read(&oldest).or_else(|| read(&parts)).or_else(|| read(&own)).unwrap_or_else(|| {
        let bare = graphs.as_ref().map_or(not_kv.figure, |graphs| minus(not_kv.figure, graphs.figure));
        vec![Input { figure: bare, from: not_kv.from.clone() }]
    });
    terms.extend(graphs);
    let words: Vec<String> = terms.iter().map(|term| decimal(term.figure.value, 2)).collect();
    Some(format!("{base} \u{2212} {}", words.join(" \u{2212} ")))
}

fn source(facts: &Facts) -> String {
    let file = match semantics::covers(facts) {
        Some(Covers::Card | Covers::Own) if facts.message(message::FIRST_ENGINE).is_some() => {
            "worker/worker.py, determine_num_available_blocks"
        }
        _ => "v1/worker/gpu_worker.py, determine_available_memory",
    };
    format!("vLLM {}: {file}", facts.versions.words())
}

/// Tokens of the KV cache: as printed, else what the rest is worth.
pub(crate) fn tokens(facts: &Facts, rest: Figure) -> Option<Figure> {
    printed(facts).map(Figure::exact).or_else(|| worth(facts, rest))
}

/// Tokens of the KV cache as printed, else those of the blocks.
pub(crate) fn printed(facts: &Facts) -> Option<f64> {
    let tokens = inputs::server(facts, amount::TOKENS).map(|tokens| tokens.figure.value);
    tokens.or_else(|| inputs::server(facts, amount::BLOCKS).map(|blocks| blocks.figure.value * BLOCK))
}

/// Tokens that an amount is worth, where the bytes per token are known. Never from one pair of amount and tokens of a model whose layers may differ.
pub(crate) fn worth(facts: &Facts, gib: Figure) -> Option<Figure> {
    let cell = cell(facts)?;
    let block_bytes = |cell: f64| cell * BLOCK;
    let whole = |gib: f64, cell: f64| (gib * GIB / block_bytes(cell)).floor() * BLOCK;
    let all = [whole(gib.low, cell.low), whole(gib.low, cell.high), whole(gib.high, cell.low), whole(gib.high, cell.high)];
    let low = all.iter().copied().fold(f64::INFINITY, f64::min);
    let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(Figure { value: whole(gib.value, cell.value).clamp(low, high), low, high })
}

/// Architectures whose layers all keep the same number of bytes for each token.
const UNIFORM: [&str; 16] = [
    "LlamaForCausalLM",
    "Qwen2ForCausalLM",
    "Qwen2MoeForCausalLM",
    "Qwen3ForCausalLM",
    "Qwen3MoeForCausalLM",
    "MixtralForCausalLM",
    "OPTForCausalLM",
    "GPT2LMHeadModel",
    "GPTNeoXForCausalLM",
    "FalconForCausalLM",
    "BaichuanForCausalLM",
    "InternLM2ForCausalLM",
    "Qwen2_5_VLForConditionalGeneration",
    "Qwen2VLForConditionalGeneration",
    "Qwen3VLForConditionalGeneration",
    "Qwen3VLMoeForConditionalGeneration",
];

/// Bytes of KV cache per token and rank: from a block's, from what one full request needs, or of a uniform model from amount and tokens.
pub(crate) fn cell(facts: &Facts) -> Option<Figure> {
    let all = |name: &str| inputs::of_any(facts, None, name);
    if let Some(block) = all(amount::BLOCK_BYTES) {
        return Some(Figure::exact(block.figure.value / BLOCK));
    }
    let (rank, kv, count) = inputs::least_kv(facts)?;
    let ranks = facts.settings.count(setting::TENSOR).unwrap_or(1).saturating_mul(facts.settings.count(setting::PIPELINE).unwrap_or(1));
    // Where not all ranks print, the least is not known; the smallest one sets the blocks.
    if count as u64 != ranks.max(1) || rank.first(amount::KV_GIVEN).is_some() {
        return None;
    }
    if let (true, Some(blocks)) = (facts.message(message::FIRST_ENGINE).is_some(), inputs::server(facts, amount::BLOCKS)) {
        return narrowed(kv.figure, blocks.figure.value);
    }
    let is_uniform =
        facts.settings.get(setting::ARCHITECTURE).is_some_and(|name| UNIFORM.contains(&name)) && facts.message(message::HYBRID).is_none();
    if !is_uniform {
        return None;
    }
    let tokens = inputs::server(facts, amount::TOKENS)?;
    (tokens.figure.value % BLOCK == 0.0).then(|| narrowed(kv.figure, tokens.figure.value / BLOCK)).flatten()
}

/// Bytes per token of so many whole blocks in an amount: at least as many fit, and not one more.
fn narrowed(kv: Figure, blocks: f64) -> Option<Figure> {
    if blocks < 1.0 || kv.low <= 0.0 {
        return None;
    }
    let (low, high) = (kv.low * GIB / ((blocks + 1.0) * BLOCK), kv.high * GIB / (blocks * BLOCK));
    // Heads × their size × elements × layers are nearly always a multiple of 1,024 bytes; that is no proof, so the range stays.
    const STEP: f64 = 1024.0;
    let first = (low / STEP).ceil() * STEP;
    let only = first <= high && first + STEP > high;
    let value = if only { first } else { (kv.value * GIB / (blocks * BLOCK)).clamp(low, high) };
    Some(Figure { value, low, high })
}

/// What a share would leave for the KV cache, from what this one did.
pub(crate) fn kv_at(kv: Figure, share: f64, total: Figure, other: f64) -> Figure {
    let more = |total: f64| total * (other - share);
    let (a, b) = (more(total.low), more(total.high));
    plus(kv, Figure { value: more(total.value), low: a.min(b), high: a.max(b) })
}
