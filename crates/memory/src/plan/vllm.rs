//! The column of vLLM (V1): what it would give a model, by the rules of one release.
//!
//! Source: vLLM `v1/worker/gpu_worker.py`, `v1/core/kv_cache_utils.py` (0.33: `v1/core/kv_cache_planning.py`), `v1/kv_cache_interface.py`, `engine/arg_utils.py`.

mod defaults;
mod groups;
mod layers;
mod profile;
mod refused;

use bystander_model::budget::Figure;
use bystander_model::memory::Column;

use super::baseline;
use super::fractions::{self, Case};
use super::on_off;
use super::setup::{Engine, Setup};
use super::shape::Shape;
use super::stages::stages;
use super::weights::{self, Sharing, Weights};
use super::{GIB, Question};
use crate::figures::{decimal, fraction as short, whole};
use crate::version::Release;
use groups::Plan;

/// The longest request where the configuration of a model does not say it.
const CONTEXT_UNSAID: u64 = 2048;

/// The column of vLLM.
pub(super) fn column(question: &Question, release: Release) -> Column {
    let (shape, setup) = (&question.shape, &question.setup);
    let mut not_modelled = notes(shape, setup, release);
    let kind = layers::kind(shape, setup);
    let chunk = defaults::chunk(setup, release);
    let context = setup.context.or(shape.context).or(Some(CONTEXT_UNSAID));
    let mut column = Column {
        name: Engine::Vllm.name().to_owned(),
        version: release.to_string(),
        refused: refused::refused(shape, setup),
        derivation: vec![kind.why.clone()],
        ..Column::default()
    };
    let plan = layers::of(shape, setup, release, &kind).and_then(|layers| Plan::new(&layers, shape.layers.len() as u64, setup, release));
    let plan = match plan {
        Ok(plan) => plan,
        Err(why) => {
            not_modelled.push(why);
            column.not_modelled = not_modelled;
            return column;
        }
    };
    column.derivation.extend(plan.lines.iter().cloned());
    let fullest = plan.fullest(&stages(Engine::Vllm, shape.layers.len() as u64, setup.pipeline));
    column.derivation.extend(fullest.line(setup.pipeline));
    column.kv_bytes_per_token_per_rank = Some(fullest.of(plan.growing()));
    if let Some(context) = context {
        let in_flight = defaults::in_flight(setup, release, chunk.tokens);
        column.fixed_bytes_per_request = Some(fullest.of_whole(plan.fixed(context, in_flight)));
        column.kv_gib_full_request = Some(fullest.of_whole(plan.request_bytes(context, in_flight)) as f64 / GIB);
        column.derivation.extend(plan.request_lines(context, in_flight));
        if plan.has_windows() {
            column.derivation.push(format!("windows keep {in_flight} tokens in flight besides: {}", chunk.why));
        }
    }
    let weights = weights_of(question);
    column.weights_gib_per_rank =
        weights.as_ref().and_then(|weights| weights.iter().map(|(_, weights)| weights.gib).max_by(|a, b| a.value.total_cmp(&b.value)));
    if column.refused.is_none()
        && let (Some(context), Some(weights)) = (context, &weights)
    {
        size(&mut column, question, release, &plan, weights, context, &mut not_modelled);
    }
    not_modelled.extend(weights::unknown(question));
    column.not_modelled = not_modelled;
    column
}

/// The layers of each stage with the weights of its ranks.
type Stages = Vec<((u64, u64), Weights)>;

fn weights_of(question: &Question) -> Option<Stages> {
    let (shape, setup) = (&question.shape, &question.setup);
    let checkpoint = question.checkpoint.as_ref()?;
    let sharing = sharing(shape, setup);
    let more = setup.speculation.as_ref().and_then(|speculation| speculation.draft_bytes).unwrap_or(0) as f64 / setup.tensor as f64 / GIB;
    let of = |layers: (u64, u64)| {
        let mut weights = weights::stage(shape, checkpoint, &sharing, layers);
        weights.gib = Figure { value: weights.gib.value + more, low: weights.gib.low + more, high: weights.gib.high + more * 1.05 };
        (layers, weights)
    };
    Some(stages(Engine::Vllm, shape.layers.len() as u64, setup.pipeline).into_iter().map(of).collect())
}

fn sharing(shape: &Shape, setup: &Setup) -> Sharing {
    let drafts = setup.speculation.as_ref().is_some_and(|speculation| !speculation.is_textual && speculation.draft.is_none());
    Sharing {
        attention: setup.tensor,
        dense: setup.tensor,
        experts: setup.tensor * setup.data,
        whole_experts: setup.expert.is_some(),
        embedding: setup.tensor,
        head: setup.tensor,
        head_on_every_stage: false,
        has_wide_head: false,
        drafts,
        rotary_bits: setup.bits(),
        bits: setup.bits(),
        to_fp8: setup.quantisation.as_deref() == Some("fp8") && shape.quantisation.is_none(),
        language_only: setup.language_only,
    }
}

/// Tokens, and the fractions that work.
fn size(
    column: &mut Column,
    question: &Question,
    release: Release,
    plan: &Plan,
    weights: &Stages,
    context: u64,
    not_modelled: &mut Vec<String>,
) {
    let (shape, setup) = (&question.shape, &question.setup);
    let Some(gpu) = &setup.gpu else { return };
    let baseline = baseline::before_weights(Engine::Vllm, release, setup, gpu);
    column.derivation.extend(baseline.lines);
    column.derivation.extend(crate::communication::lines(Engine::Vllm, release, setup, shape.hidden));
    let default = defaults::fraction(release);
    let asked = setup.fraction.unwrap_or(default);
    column.derivation.push(format!(
        "fraction gpu_memory_utilization {} ({})",
        short(asked),
        if setup.fraction.is_some() { "as asked" } else { "the default" }
    ));
    let profile = profile::profile(shape, setup, release, gpu);
    column.derivation.extend(profile.lines.iter().cloned());
    let in_flight = defaults::in_flight(setup, release, defaults::chunk(setup, release).tokens);
    let budget = Budget { release, card: gpu.cuda_gib, free: baseline.free, beside: profile.beside };
    let blocks = |case: Case, fraction: f64| {
        let per_stage = weights.iter().map(|(layers, weights)| {
            let bytes = setup.kv_bytes.map_or_else(|| budget.left(case, fraction, weights) * GIB, |bytes| bytes as f64);
            (bytes / plan.block_bytes(*layers).max(1) as f64).floor()
        });
        per_stage.fold(f64::INFINITY, f64::min)
    };
    let give =
        |case: Case, fraction: f64| plan.give(blocks(case, fraction), context, in_flight, budget.free(case) - budget.card(case) * fraction);
    let share = budget.card(Case::Value) * asked;
    if share > budget.free(Case::Value) {
        column.derivation.push(format!(
            "vLLM refuses a share that is not free when it starts: {} \u{d7} {:.3} GiB of the card = {share:.3} GiB, and {:.3} GiB are free",
            short(asked),
            budget.card(Case::Value),
            budget.free(Case::Value)
        ));
    }
    let longest = plan.longest(blocks(Case::Value, asked), context, in_flight);
    if longest < context {
        column.derivation.push(format!(
            "one request of {} tokens does not fit; the longest that does has {} (--max-model-len)",
            whole(context as f64),
            whole(longest as f64)
        ));
    }
    if let Some((_, stage)) = weights.iter().max_by(|a, b| a.1.gib.value.total_cmp(&b.1.gib.value)) {
        column.derivation.push(format!(
            "KV cache = {} \u{d7} {:.3} GiB of the card \u{2212} {:.3} GiB of weights \u{2212} {:.3} GiB that the profile finds = {} GiB",
            short(asked),
            gpu.cuda_gib.value,
            stage.gib.value,
            profile.beside.value,
            decimal(budget.left(Case::Value, asked, stage), 3)
        ));
    }
    if let Some(bytes) = setup.kv_bytes {
        column.derivation.push(format!("the KV cache has {} bytes as asked; the fraction does not count", whole(bytes as f64)));
    }
    // What is allocated after the cache comes out of what the share leaves free.
    let late: f64 = crate::communication::items(Engine::Vllm, release, setup, Some(shape.hidden))
        .iter()
        .filter(|item| !item.is_before_pool)
        .map(|item| item.bytes as f64 / GIB)
        .sum();
    let margin = gpu.cuda_gib.value - baseline.free.value;
    let asked = fractions::Asked {
        fraction: asked,
        default,
        context: Some(context),
        most: gpu.cuda_gib,
        need: profile.outside.value + late,
        needs_full_request: true,
        margin,
        must_be_free: true,
    };
    fractions::fill(column, &asked, &give);
    column.derivation.extend(on_off::lines(Engine::Vllm, release, setup, shape.hidden, &asked, &give));
    if gpu.capability.is_none() && setup.chunk.is_none() {
        not_modelled.push(
            "whether the card is an A100: the default prefill step is then 2,048 tokens, not 8,192; name the card with --gpu".to_owned(),
        );
    }
}

/// What the engine computes with, in GiB.
struct Budget {
    release: Release,
    card: Figure,
    free: Figure,
    /// What the profile finds beside the weights.
    beside: Figure,
}

impl Budget {
    const fn card(&self, case: Case) -> f64 {
        match case {
            Case::Value => self.card.value,
            Case::Worst => self.card.low,
            Case::Best => self.card.high,
        }
    }

    const fn free(&self, case: Case) -> f64 {
        match case {
            Case::Value => self.free.value,
            Case::Worst => self.free.low,
            Case::Best => self.free.high,
        }
    }

    /// What a fraction leaves for the KV cache.
    fn left(&self, case: Case, fraction: f64, weights: &Weights) -> f64 {
        let (weights, beside) = match case {
            Case::Value => (weights.gib.value, self.beside.value),
            Case::Worst => (weights.gib.high, self.beside.high),
            Case::Best => (weights.gib.low, self.beside.low),
        };
        // To 0.8 everything on the card counts, context and buffers too; in 0.9 and 0.10 what came after the snapshot before them.
        let used = self.card(case) - self.free(case);
        let counted = match self.release {
            _ if self.release < Release(0, 9, 0) => used,
            _ if self.release < Release(0, 11, 0) => (used - 0.5).max(0.0),
            _ => 0.0,
        };
        self.card(case) * fraction - weights - beside - counted
    }
}

/// What the rules of this release are not known for, or leave out.
fn notes(shape: &Shape, setup: &Setup, release: Release) -> Vec<String> {
    let mut notes = Vec::new();
    if release > Engine::Vllm.newest() {
        notes.push(format!("{release} is newer than the rules here, which are those of {}", Engine::Vllm.newest()));
    }
    if release < Engine::Vllm.oldest() {
        notes.push(format!("{release} is older than the rules here, which are those of V1 from {}", Engine::Vllm.oldest()));
    }
    if setup.attention_is_data_parallel {
        notes.push("DP attention is SGLang's; here copies of the engine stand beside each other (--dp)".to_owned());
    }
    notes.extend(super::setup::unknown_draft(shape, setup));
    let is_optional = (Release(0, 14, 0)..layers::STATES_ARE_CACHED).contains(&release);
    if is_optional && shape.states().next().is_some() && !setup.without_prefix_cache {
        notes.push("prefix caching of recurrent states, where it is turned on: one or two states more for each request".to_owned());
    }
    notes
}
