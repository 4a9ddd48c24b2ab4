//! Draft models of speculative decoding: their weights and KV cache come after the pools of the target, and up to 0.5.13 out of nothing that was planned.

use bystander_model::budget::Figure;
use bystander_model::memory::{Advice, CauseClass, Certainty, Direction, Phase};

use super::sizing::failure_with;
use crate::explain::causes::device::OutOfMemory;
use crate::explain::facts::RankFacts;
use crate::explain::{Case, Found};
use crate::figures::decimal;
use crate::sglang::advice::{self, knob, not_the_fraction};
use crate::sglang::log::DRAFT_WORKERS;
use crate::sglang::names;
use crate::sglang::sizing::sized;

/// Too small a pool at one fraction, and a device out of memory at another, in one log: nothing lies between.
pub(super) fn no_value_between(case: &Case<'_>) -> Option<Found> {
    let too_little = failure_with(case, "Not enough memory. Please try to increase --mem-fraction-static")?;
    let too_much = case.facts.failures.iter().find(|failure| OutOfMemory::of(failure).is_some())?;
    let text = "At one fraction the weights leave no pool, and at the next one what follows the pool (the draft model, graphs) no longer fits: no value works";
    let places = [too_little.place.clone(), too_much.place.clone()];
    Some(Found::new(CauseClass::DraftNotAccounted, Certainty::Likely, text, places).advise(nothing_between()))
}

fn nothing_between() -> Advice {
    not_the_fraction(
        "Do not search for a fraction. Shrink something: the context, --cuda-graph-max-bs, the draft model, the weights (quantise them); or do without speculative decoding.",
    )
}

/// Whether the memory ran out while a draft model, or its KV cache, was made.
fn is_at_the_draft(case: &Case<'_>) -> bool {
    let facts = case.facts;
    let Some(failure) = facts.failure() else { return false };
    let through = DRAFT_WORKERS.iter().any(|name| failure.through.contains(name));
    // From 0.5.14 on the draft is loaded and counted before the pools: what fails in the capture are graphs.
    let is_counted = facts.ranks.iter().any(|rank| {
        let at = |name: &str| rank.amounts.iter().position(|amount| amount.name == name);
        at(names::DRAFT_LOAD_END).zip(at(names::POOL_END)).is_some_and(|(draft, pool)| draft < pool)
    });
    if is_counted && failure.phase >= Phase::GraphCapture {
        return false;
    }
    let after_pools = facts.ranks.iter().any(|rank| rank.first(names::POOL_END).is_some());
    let before_graphs = facts.ranks.iter().all(|rank| rank.first(names::GRAPH_BEGIN).is_none() && rank.first(names::CAPTURING).is_none());
    // Nothing else that is large comes between the pools and the graphs.
    let speculates = facts.settings.is_empty() || facts.settings.get("speculative_algorithm").is_some();
    through || failure.phase == Phase::DraftLoad || (after_pools && before_graphs && speculates && failure.phase < Phase::WarmUp)
}

/// The draft did not fit beside the pool of its target.
pub(super) fn at_the_draft(case: &Case<'_>) -> Option<Found> {
    let failure = case.facts.failure()?;
    let oom = OutOfMemory::of(failure)?;
    if !is_at_the_draft(case) {
        return None;
    }
    let rank = case.facts.ranks.iter().find(|rank| rank.label == failure.label).or_else(|| case.facts.ranks.first());
    let left = rank.and_then(|rank| rank.first(names::POOL_END));
    let left_words =
        left.map_or_else(String::new, |left| format!(" of the {} GiB that the pool of the target left", decimal(left.figure.value, 2)));
    let text = format!(
        "The draft model and its KV cache did not fit{left_words}: the sizing gave the target memory that the draft needs after it{}",
        each(rank)
    );
    let places = [failure.place.clone()].into_iter().chain(left.map(|left| left.place.clone()));
    let mut found = Found::new(CauseClass::DraftNotAccounted, Certainty::Likely, text, places);
    found.advice.push(down(case, &oom));
    found.advice.push(knob("max_total_tokens", Direction::Down, "A cap on tokens shrinks the pools of target and draft alike, whatever the fraction; set it until the sizing counts every draft pool."));
    Some(found)
}

/// What each draft pool took, where several were made before it failed.
fn each(rank: Option<&RankFacts>) -> String {
    let Some(rank) = rank else { return String::new() };
    let ends: Vec<_> = rank.all(names::DRAFT_POOL_END).collect();
    let (Some(first), Some(last)) = (rank.first(names::POOL_END), ends.last()) else { return String::new() };
    let took = (first.figure.value - last.figure.value) / ends.len() as f64;
    format!("; {} draft pools took {} GiB each, and {} GiB were left", ends.len(), decimal(took, 1), decimal(last.figure.value, 2))
}

fn down(case: &Case<'_>, oom: &OutOfMemory) -> Advice {
    let sized = sized(case.facts);
    let short = oom.tried.zip(oom.free).map(|(tried, free)| Figure {
        value: tried.value - free.value,
        low: tried.low - free.high,
        high: tried.high - free.low,
    });
    match (&sized, short.filter(|short| short.low > 0.0)) {
        (Some(sized), Some(short)) => advice::down(sized.sizing.fraction, sized.sizing.total.value, short, Some(sized)),
        _ => advice::down_somewhat(
            "Lower it: the draft has to fit into what the fraction leaves over. Where the weights then leave no pool, no value works, and something has to shrink.",
        ),
    }
}
