//! The KV cache is smaller than one request of full length.

use bystander_model::budget::Figure;
use bystander_model::memory::{CauseClass, Certainty, Direction};

use super::first;
use crate::explain::{Case, Facts, Found};
use crate::figures::{decimal, whole};
use crate::vllm::advice;
use crate::vllm::amount::{minus, times};
use crate::vllm::formula::{self, GIB};
use crate::vllm::inputs;
use crate::vllm::line::Failure;
use crate::vllm::names::setting;

/// `To serve at least one request with the model's max seq len …` (0.8 on).
pub(super) fn longer_than_cache(case: &Case<'_>) -> Option<Found> {
    let facts = case.facts;
    let (failure, (length, need, available, estimate)) = first(facts, |failure| {
        let Failure::BelowContext { length, need, available, estimate } = failure else { return None };
        Some((length, need, available, estimate))
    })?;
    let missing = minus(need, available);
    let text = format!(
        "One request of {} tokens needs {} GiB of KV cache and there are {} GiB: {} GiB are missing",
        whole(length),
        decimal(need.value, 2),
        decimal(available.value, 2),
        decimal(missing.value, 2)
    );
    let stages = stages(facts, &failure.label, length, need, available);
    let text = stages.as_ref().map_or(text.clone(), |stages| format!("{text}; {}", stages.text));
    let found = Found::new(CauseClass::KvBelowContext, Certainty::Shown, text, [failure.place.clone()]);
    let shorter = shorter(estimate, available, stages.as_ref());
    let need_on_stage = stages.as_ref().and_then(|stages| stages.need).unwrap_or(need);
    let missing = minus(need_on_stage, available);
    let mut found = found.advise(shorter).advise(advice::up(facts, missing, "one request of full length"));
    if let Some(against) = stages.and_then(|stages| stages.against) {
        found = found.against(against);
    }
    Some(found.advise(smaller_elements(facts, need_on_stage.value, available.value)))
}

/// What pipeline stages change of the engine's figures.
struct Stages {
    text: String,
    against: Option<String>,
    /// Tokens that fit on the stage.
    length: Option<f64>,
    /// What a full request needs on the stage.
    need: Option<Figure>,
}

/// The engine computes need and length as though one stage held all layers.
fn stages(facts: &Facts, label: &str, length: f64, need: Figure, available: Figure) -> Option<Stages> {
    let partition: Vec<f64> = facts
        .settings
        .get(setting::PARTITION)
        .map_or_else(Vec::new, |stages| stages.split(',').filter_map(|layers| layers.parse().ok()).collect());
    let count = facts.settings.number(setting::PIPELINE).filter(|stages| *stages > 1.0);
    if partition.len() < 2 {
        let count = count?;
        let text = format!("with {count} pipeline stages each holds a part of the layers, and the figures count all of them on one");
        let against = "The engine's estimate of the longest request takes all layers as though they were on this stage; what fits is more, by the number of all layers over those of the stage".to_owned();
        return Some(Stages { text, against: Some(against), length: None, need: None });
    }
    // The stage whose rank failed; the first where the line does not say, since it is the one that is checked first.
    let stage = label.split(' ').find_map(|part| part.strip_prefix("PP")).and_then(|stage| stage.parse::<usize>().ok()).unwrap_or(0);
    let layers = partition.get(stage).copied().filter(|layers| *layers >= 1.0)?;
    let all: f64 = partition.iter().sum();
    let part = layers / all;
    let fits = (available.value * GIB / (need.value * GIB / length * part)).floor();
    let need = times(need, part);
    let text = format!(
        "stage {stage} holds {layers} of {all} layers: {} tokens fit there, and a full request needs {} GiB",
        whole(fits),
        decimal(need.value, 2)
    );
    let against = format!("The engine's estimate of the longest request counts all {all} layers on stage {stage}, which holds {layers}");
    Some(Stages { text, against: Some(against), length: Some(fits), need: Some(need) })
}

fn shorter(estimate: Option<f64>, available: Figure, stages: Option<&Stages>) -> bystander_model::memory::Advice {
    let length = stages.and_then(|stages| stages.length).or(estimate);
    let text = match (length, stages.and_then(|stages| stages.length), estimate) {
        (Some(length), Some(_), Some(estimate)) => format!(
            "Lower it to {} at most; the engine itself accepts no more than {} while its check counts all layers.",
            whole(length),
            whole(estimate)
        ),
        (Some(length), ..) => format!("Lower it to {} at most: as much fits into {} GiB.", whole(length), decimal(available.value, 2)),
        _ => "Lower it; this release does not say to what, so go down by the ratio of what is there to what is needed.".to_owned(),
    };
    // What the engine accepts is the lesser of both.
    let accepted = [length, estimate].into_iter().flatten().reduce(f64::min);
    advice::turn(setting::LENGTH, Direction::Down, accepted, text)
}

/// Elements of one byte, for as much as is needed of as much as there is (in GiB or in tokens alike).
fn smaller_elements(facts: &Facts, need: f64, available: f64) -> bystander_model::memory::Advice {
    let small =
        facts.settings.get(setting::KV_DTYPE).is_some_and(|dtype| dtype.contains("fp8") || dtype.contains("int8") || dtype.contains("fp4"));
    let (direction, text) = if small {
        (Direction::None, "The KV cache has elements of one byte or less already.")
    } else if need <= 2.0 * available {
        (Direction::Down, "Elements of one byte (`--kv-cache-dtype fp8`) hold about twice the tokens, where they were of two.")
    } else {
        (Direction::None, "Elements of one byte (`--kv-cache-dtype fp8`) hold about twice the tokens, and more than twice is needed.")
    };
    advice::turn(setting::KV_DTYPE, direction, None, text)
}

/// The same of the first engine: tokens instead of GiB.
pub(super) fn fewer_tokens(case: &Case<'_>) -> Option<Found> {
    let facts = case.facts;
    let (failure, (length, tokens)) =
        first(facts, |failure| if let Failure::FewTokens { length, tokens } = failure { Some((length, tokens)) } else { None })?;
    let cell = formula::cell(facts);
    let gib = |tokens: f64| cell.map(|cell| times(cell, tokens / GIB));
    let sizes = gib(length).zip(gib(tokens));
    let amount = sizes.map_or_else(
        || format!("{} times as much is needed", decimal(length / tokens.max(1.0), 2)),
        |(need, have)| format!("{} GiB are needed and {} GiB are there", decimal(need.value, 2), decimal(have.value, 2)),
    );
    let text = format!("One request of {} tokens does not fit into a KV cache of {}: {amount}", whole(length), whole(tokens));
    let shorter = advice::turn(setting::LENGTH, Direction::Down, Some(tokens), format!("Lower it to {} at most.", whole(tokens)));
    let mut found = Found::new(CauseClass::KvBelowContext, Certainty::Shown, text, [failure.place.clone()]).advise(shorter);
    if let Some((need, have)) = sizes {
        found = found.advise(advice::up(facts, minus(need, have), "one request of full length"));
    }
    let peak = advice::turn(
        "enable_chunked_prefill",
        Direction::Up,
        None,
        "Chunked prefill lowers the measured peak of activations, which grows with the length up to where the engine turns it on by itself (above 32,768 tokens).",
    );
    Some(found.advise(peak).advise(smaller_elements(facts, length, tokens)))
}

/// No length at all fits (`max_model_len = -1`).
pub(super) fn no_length(case: &Case<'_>) -> Option<Found> {
    let facts = case.facts;
    let (failure, ()) = first(facts, |failure| matches!(failure, Failure::NoLength).then_some(()))?;
    let text = "The length of a request was to be fitted to the KV cache, and not even the shortest fits";
    let least = inputs::least_kv(facts).map(|(_, kv, _)| kv.figure).filter(|kv| kv.value <= 0.0);
    let missing = least.map_or(Figure::exact(0.0), |kv| Figure { value: -kv.value, low: -kv.high, high: -kv.low });
    Some(Found::new(CauseClass::KvBelowContext, Certainty::Shown, text, [failure.place.clone()]).advise(advice::up(
        facts,
        missing,
        "a KV cache of any size",
    )))
}
