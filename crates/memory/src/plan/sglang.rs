//! The column of SGLang: what it would give a model, by the rules of one release.
//!
//! Source: SGLang `server_args.py` (to 0.5.20), `arg_groups/memory_hook.py` (later), `model_executor/model_runner.py` (to 0.5.6), `model_runner_kv_cache_mixin.py` (0.5.7 to
//! 0.5.15), `model_executor/pool_configurator.py` and `mem_cache/kv_cache_configurator.py` (later).

mod cell;
mod defaults;
mod pool;
mod refused;
mod slots;

use bystander_model::budget::Figure;
use bystander_model::memory::{CAP, Column};

use super::baseline;
use super::fractions::{self, Case, Give};
use super::on_off;
use super::setup::{Engine, Setup};
use super::shape::Shape;
use super::stages::stages;
use super::weights::{self, Sharing, Weights};
use super::{GIB, Question};
use crate::figures::fraction as short;
use crate::version::Release;
use cell::Cell;
use pool::Pool;

/// One stage of the pipeline.
struct Stage {
    weights: Option<Weights>,
    pool: Pool,
}

/// The largest batch with a graph, by the card where it is known, else that of large cards.
pub(crate) fn largest_batch(setup: &Setup, release: Release) -> u64 {
    const LARGE_CARD_MIB: f64 = 81_920.0;
    defaults::graph_batch(setup, release, setup.gpu.as_ref().map_or(LARGE_CARD_MIB, |gpu| gpu.smi_mib))
}

/// The column of SGLang.
pub(super) fn column(question: &Question, release: Release) -> Column {
    let (shape, setup) = (&question.shape, &question.setup);
    let mut not_modelled = notes(shape, setup, release);
    let kind = cell::kind(shape, setup, release);
    let mut derivation = vec![kind.why.clone()];
    let stages: Vec<Stage> = stages(Engine::Sglang, shape.layers.len() as u64, setup.pipeline)
        .into_iter()
        .map(|layers| stage(question, release, &kind, layers))
        .collect();
    let worst = stages.iter().max_by(|a, b| a.pool.cell.bytes.total_cmp(&b.pool.cell.bytes)).map(|stage| &stage.pool);
    let cell = worst.map(|pool| pool.cell.clone()).unwrap_or_default();
    derivation.extend(cell.lines.iter().cloned());
    let context = setup.context.or(shape.context);
    let states = worst.and_then(|pool| pool.state_bytes);
    let mut column = Column {
        name: Engine::Sglang.name().to_owned(),
        version: release.to_string(),
        refused: refused::refused(shape, setup, release),
        kv_bytes_per_token_per_rank: (cell.bytes > 0.0).then_some(cell.bytes),
        fixed_bytes_per_request: states.or(Some(0)),
        weights_gib_per_rank: fullest(&stages),
        kv_gib_full_request: context.map(|context| cell.bytes * context as f64 / GIB).filter(|_| cell.bytes > 0.0),
        tokens: None,
        concurrency: None,
        fraction: None,
        table: Vec::new(),
        derivation,
        not_modelled: Vec::new(),
    };
    if let Some(states) = states {
        column.derivation.push(format!(
            "states: {states} bytes per request, from a pool of their own that gets {} of what is left",
            short(worst.map_or(0.0, |pool| pool.state_share()))
        ));
    }
    if column.refused.is_none() {
        size(&mut column, question, release, &stages, &mut not_modelled);
    }
    not_modelled.extend(weights::unknown(question));
    column.not_modelled = not_modelled;
    column
}

/// The fullest rank.
fn fullest(stages: &[Stage]) -> Option<Figure> {
    let weights: Option<Vec<Weights>> = stages.iter().map(|stage| stage.weights).collect();
    weights?.into_iter().map(|weights| weights.gib).max_by(|a, b| a.value.total_cmp(&b.value))
}

fn stage(question: &Question, release: Release, kind: &cell::Kind, layers: (u64, u64)) -> Stage {
    let (shape, setup) = (&question.shape, &question.setup);
    let sharing = sharing(shape, setup, release);
    let weights = question.checkpoint.as_ref().map(|checkpoint| {
        let mut weights = weights::stage(shape, checkpoint, &sharing, layers);
        if let Some(bytes) = drafts_counted(setup, release).and_then(|speculation| speculation.draft_bytes) {
            let more = bytes as f64 / setup.tensor as f64 / GIB;
            weights.gib = Figure { value: weights.gib.value + more, low: weights.gib.low + more, high: weights.gib.high + more * 1.05 };
        }
        weights
    });
    let cell = Cell::of(shape, setup, release, kind, layers);
    Stage { weights, pool: Pool::new(shape, setup, release, cell, layers) }
}

/// Speculation whose draft is loaded before the pools are sized.
fn drafts_counted(setup: &Setup, release: Release) -> Option<&super::setup::Speculation> {
    setup.speculation.as_ref().filter(|speculation| !speculation.is_textual && release >= Release(0, 5, 14))
}

/// Whether every rank keeps all of the input embedding: Gemma from the third on scales it in a class of its own, which is not cut.
fn has_whole_embedding(shape: &Shape) -> bool {
    matches!(shape.model_type.as_str(), "gemma3_text" | "gemma3n_text" | "gemma4_text")
}

/// Whether every stage makes the output embedding, though only the last has a use for it.
///
/// Source: SGLang 0.5.9 `models/`: these classes do not ask for their stage before they make `lm_head`.
fn has_head_on_every_stage(shape: &Shape) -> bool {
    matches!(
        shape.architecture.as_str(),
        "LlamaForCausalLM"
            | "MistralForCausalLM"
            | "MixtralForCausalLM"
            | "Qwen2MoeForCausalLM"
            | "Qwen3MoeForCausalLM"
            | "Glm4MoeForCausalLM"
            | "GptOssForCausalLM"
            | "Exaone4ForCausalLM"
            | "ApertusForCausalLM"
            | "GraniteMoeHybridForCausalLM"
    )
}

/// Classes that compute their last step in 32 bits.
///
/// Source: SGLang `models/qwen3_next.py` (0.5.2 to 0.5.5), `models/falcon_h1.py` (from 0.5.3): `self.lm_head.float()`.
fn has_wide_head(shape: &Shape, release: Release) -> bool {
    match shape.architecture.as_str() {
        "Qwen3NextForCausalLM" => release < Release(0, 5, 6),
        "FalconH1ForCausalLM" => release >= Release(0, 5, 3),
        _ => false,
    }
}

fn sharing(shape: &Shape, setup: &Setup, release: Release) -> Sharing {
    let drafts = drafts_counted(setup, release).is_some_and(|speculation| speculation.draft.is_none());
    Sharing {
        attention: setup.attention_ranks(),
        dense: setup.tensor,
        experts: setup.tensor,
        whole_experts: setup.expert.is_some_and(|experts| experts.min(setup.tensor) == setup.tensor && setup.tensor > 1),
        embedding: if setup.attention_is_data_parallel || has_whole_embedding(shape) { 1 } else { setup.tensor },
        head: setup.tensor,
        head_on_every_stage: has_head_on_every_stage(shape),
        has_wide_head: has_wide_head(shape, release),
        drafts,
        // Its Gemma 3 computes sines and cosines as it goes.
        rotary_bits: if shape.model_type == "gemma3_text" { 0 } else { 32 },
        bits: setup.bits(),
        to_fp8: setup.quantisation.as_deref() == Some("fp8") && shape.quantisation.is_none(),
        language_only: setup.language_only,
    }
}

/// Tokens, and the fractions that work.
fn size(column: &mut Column, question: &Question, release: Release, stages: &[Stage], not_modelled: &mut Vec<String>) {
    let (shape, setup) = (&question.shape, &question.setup);
    let Some(gpu) = &setup.gpu else {
        if setup.free_gib.is_none() {
            return;
        }
        not_modelled.push("the default fraction: it follows from the card, which was not named".to_owned());
        return;
    };
    let baseline = baseline::before_weights(Engine::Sglang, release, setup, gpu);
    let total = baseline.free;
    column.derivation.extend(baseline.lines);
    column.derivation.extend(crate::communication::lines(Engine::Sglang, release, setup, shape.hidden));
    let default = defaults::fraction(shape, setup, release, gpu);
    column.derivation.push(default.why);
    let asked = setup.fraction.unwrap_or(default.value);
    column.derivation.push(format!(
        "fraction mem_fraction_static {} ({})",
        short(asked),
        if setup.fraction.is_some() { "as asked" } else { "the default" }
    ));
    let Some(weights) = column.weights_gib_per_rank else { return };
    if stages.iter().any(|stage| stage.pool.cell.bytes <= 0.0) {
        return;
    }
    let give = |case: Case, fraction: f64| give(stages, &total, defaults::effective(shape, setup, release, fraction), case);
    let rows = stages.first().map_or(0, |stage| stage.pool.rows(give(Case::Value, asked).tokens));
    let context = setup.context.or(shape.context);
    let wide = pool::context(shape, setup).unwrap_or(0);
    if wide > context.unwrap_or(0) {
        column.derivation.push(format!(
            "the request table is sized for {} tokens: SGLang multiplies the model's context by the factor of its rotary embedding (--context-length)",
            crate::figures::whole(wide as f64)
        ));
    }
    let need = defaults::need(shape, setup, release, gpu, rows, wide);
    column.derivation.push(need.why);
    let rest = total.value * defaults::effective(shape, setup, release, asked) - weights.value;
    column.derivation.push(format!(
        "rest = {} \u{d7} {:.3} GiB free before the weights \u{2212} {:.3} GiB of weights = {} GiB",
        short(asked),
        total.value,
        weights.value,
        crate::figures::decimal(rest, 3)
    ));
    let asked = fractions::Asked {
        fraction: asked,
        default: default.value,
        context,
        most: total,
        need: need.gib,
        needs_full_request: false,
        margin: 0.0,
        must_be_free: false,
    };
    fractions::fill(column, &asked, &give);
    column.derivation.extend(cap(column, setup));
    column.derivation.extend(on_off::lines(Engine::Sglang, release, setup, shape.hidden, &asked, &give));
}

/// What to say of a cap on tokens that counts: raising the fraction gives nothing then.
fn cap(column: &Column, setup: &Setup) -> Option<String> {
    let (most, tokens) = (setup.most_tokens?, column.tokens?);
    let page = setup.page.unwrap_or(1).max(1);
    (tokens.value >= (most / page * page) as f64)
        .then(|| format!("{CAP} {} caps the pool: memory would allow as much or more", crate::figures::whole(most as f64)))
}

/// What a fraction gives: the least of all stages, each with what the fullest leaves, because ranks agree on the least that is free anywhere.
fn give(stages: &[Stage], total: &Figure, fraction: f64, case: Case) -> Give {
    let of = |figure: &Figure, is_best: bool| match case {
        Case::Value => figure.value,
        _ if is_best == (case == Case::Best) => figure.high,
        _ => figure.low,
    };
    let free = of(total, true);
    let fullest = stages.iter().filter_map(|stage| stage.weights).map(|weights| of(&weights.gib, false)).fold(0.0, f64::max);
    let headroom = (free * (1.0 - fraction)).min(free - fullest);
    let given = stages.iter().map(|stage| stage.pool.give(free * fraction - fullest));
    let least = given.min_by(|a, b| a.tokens.total_cmp(&b.tokens));
    least.map_or(Give { tokens: 0.0, requests: f64::INFINITY, headroom: 0.0 }, |least| Give { headroom, ..least })
}

/// What the rules of this release are not known for, or leave out.
fn notes(shape: &Shape, setup: &Setup, release: Release) -> Vec<String> {
    let mut notes = Vec::new();
    if release > Engine::Sglang.newest() {
        notes.push(format!("{release} is newer than the rules here, which are those of {}", Engine::Sglang.newest()));
    }
    if release < Engine::Sglang.oldest() {
        notes.push(format!("{release} is older than the rules here, which begin with {}", Engine::Sglang.oldest()));
    }
    if setup.speculation.as_ref().is_some_and(|speculation| !speculation.is_textual) {
        if release < Release(0, 5, 14) {
            notes.push(
                "draft weights and their KV cache: this release loads them after the pool, from what the fraction leaves free".to_owned(),
            );
        } else {
            notes.extend(super::setup::unknown_draft(shape, setup));
        }
    }
    let has_windows = shape.attention().any(|attention| attention.reach != super::shape::Reach::All);
    if has_windows && release >= Release(0, 5, 14) && setup.without_prefix_cache && setup.requests.is_some() {
        notes.push(
            "the pool of windows by requests, which this release takes without a prefix cache where the number of requests is given"
                .to_owned(),
        );
    }
    if shape.states().next().is_some() && release < Release(0, 5, 4) {
        notes.push("the state cache of hybrid models before 0.5.4".to_owned());
    }
    notes
}
