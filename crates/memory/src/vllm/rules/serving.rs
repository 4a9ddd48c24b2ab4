//! Servers that run: of use or not, and whether the engine's suggestions hold.

use bystander_model::budget::Figure;
use bystander_model::memory::{CauseClass, Certainty, Direction};

use crate::explain::facts::RankFacts;
use crate::explain::{Case, Facts, Found};
use crate::figures::{decimal, fraction, whole};
use crate::vllm::advice::{self, floor4};
use crate::vllm::amount::{minus, plus};
use crate::vllm::inputs;
use crate::vllm::names::{amount, message};

/// What the engine keeps back of every size that it suggests, in GiB: 150 MiB (0.11 to 0.33 `v1/worker/gpu_worker.py`).
const KEPT_BACK: f64 = 150.0 / 1024.0;
/// A pool of fewer tokens serves nobody.
const USELESS: f64 = 1024.0;

/// It serves, with a KV cache that is of no use.
pub(super) fn starved(case: &Case<'_>) -> Option<Found> {
    let facts = case.facts;
    let served = facts.served.as_ref().filter(|_| facts.failures.is_empty())?;
    let concurrency = inputs::server(facts, amount::CONCURRENCY);
    let tokens = inputs::server(facts, amount::TOKENS);
    let length = inputs::server(facts, amount::LENGTH).map(|length| length.figure.value);
    let place = facts
        .ranks
        .iter()
        .find_map(|rank| rank.last(amount::CONCURRENCY).or_else(|| rank.last(amount::TOKENS)))
        .map_or_else(|| served.clone(), |amount| amount.place.clone());
    if let Some(concurrency) = concurrency.filter(|concurrency| concurrency.figure.high < 1.0) {
        let length = length.map_or_else(|| "full length".to_owned(), |length| format!("{} tokens", whole(length)));
        let text =
            format!("It serves, but not one request of {length} fits into its KV cache ({} of one)", decimal(concurrency.figure.value, 2));
        let missing = advice::one_request(facts).zip(inputs::least_kv(facts)).map(|(one, (_, kv, _))| minus(one, kv.figure));
        let found = Found::new(CauseClass::KvBelowContext, Certainty::Shown, text, [place]);
        return Some(missing.map_or(found.clone(), |missing| found.advise(advice::up(facts, missing, "one request of full length"))));
    }
    let few = tokens.filter(|tokens| tokens.figure.value < USELESS && length.is_none_or(|length| length > tokens.figure.value / 2.0))?;
    let text = format!("It serves with {} tokens of KV cache, which is of no use", whole(few.figure.value));
    Some(Found::new(CauseClass::PoolUndersized, Certainty::Shown, text, [place]).advise(advice::up(
        facts,
        Figure::exact(0.0),
        "more KV cache",
    )))
}

/// The engine's own suggestions against its own numbers.
pub(super) fn suggestion(case: &Case<'_>) -> Option<Found> {
    let facts = case.facts;
    let (rank, text) = inputs::ranks(facts).find_map(|rank| Some((rank, twice(facts, rank)?)))?;
    let place = rank.last(amount::TO_FIT).map(|suggestion| suggestion.place.clone());
    let advice = advice::turn(
        "kv_cache_memory_bytes",
        Direction::None,
        None,
        "Keep the share: it gives a larger KV cache than the suggestion does.",
    );
    Some(Found::new(CauseClass::EngineAdviceMisleading, Certainty::Shown, text.clone(), place).advise(advice).against(text))
}

/// Which term a suggestion counts twice.
fn twice(facts: &Facts, rank: &RankFacts) -> Option<String> {
    let suggestion = inputs::of(rank, amount::TO_FIT)?.figure;
    let requested = inputs::requested(facts, Some(rank))?.figure;
    let read = |name: &str| inputs::of(rank, name).map(|input| input.figure);
    let named = [
        ("CUDA graphs", read(amount::GRAPHS)),
        ("activations", read(amount::ACTIVATION)),
        ("what is not torch's", read(amount::NON_TORCH)),
        ("the weights", read(amount::WEIGHTS)),
    ];
    let base = read(amount::CONSUMED)
        .or_else(|| read(amount::WEIGHTS).zip(read(amount::NON_TORCH)).map(|(weights, other)| plus(weights, other)))?;
    let used = plus(plus(base, read(amount::ACTIVATION)?), read(amount::GRAPHS).unwrap_or(Figure::exact(0.0)));
    // The engine keeps a part back of what is left.
    let left = minus(minus(requested, used), Figure::exact(KEPT_BACK));
    let short = minus(left, suggestion);
    // A small term may hide in the rounding of the others.
    let slack = (short.high - short.low) / 2.0 + 0.01;
    if short.value <= slack {
        return None;
    }
    let (name, term) = named
        .into_iter()
        .filter_map(|(name, term)| Some((name, term?)))
        .filter(|(_, term)| term.value > 2.0 * slack)
        .find(|(_, term)| (short.value - term.value).abs() <= slack)?;
    Some(format!(
        "The suggested size of {} GiB subtracts {name} ({} GiB) twice: {} GiB are asked for, {} are used beside the KV cache, which leaves {} GiB and {} after the 150 MiB that the engine keeps back",
        decimal(suggestion.value, 2),
        decimal(term.value, 2),
        decimal(requested.value, 2),
        decimal(used.value, 2),
        decimal(requested.value - used.value, 2),
        decimal(left.value, 2)
    ))
}

/// A share that the engine suggests and its own check would refuse.
pub(crate) fn suggested_share(facts: &Facts) -> Option<String> {
    let rank = inputs::ranks(facts).find(|rank| rank.first(amount::SUGGESTED).is_some())?;
    let suggested = inputs::of(rank, amount::SUGGESTED)?;
    let (free, total) = (inputs::free(facts, Some(rank))?, inputs::total(facts, Some(rank))?);
    let most = inputs::as_share(free.figure, total.figure)?;
    (suggested.figure.low > most.high).then(|| {
        format!(
            "The engine suggests a share of {} ({}) to keep the KV cache of older releases; {} of {} GiB were free at the start, and its own check refuses more than {}",
            fraction(suggested.figure.value),
            suggested.from,
            decimal(free.figure.value, 2),
            decimal(total.figure.value, 2),
            fraction(floor4(most.value))
        )
    })
}

/// Workers wait for each other, and nothing else is said.
pub(super) fn waits(case: &Case<'_>) -> Option<Found> {
    let facts = case.facts;
    let waiting = facts.message(message::WAITING).filter(|_| facts.failures.is_empty() && facts.served.is_none())?;
    let text = "Ranks wait for each other through shared memory: one of them is stuck, often in a collective between GPUs that do not reach each other; the line alone is no proof, since a long compilation prints it too";
    let look = advice::turn(
        "",
        Direction::None,
        None,
        "Look at the stacks of all ranks and at the GPUs' power: full load at a fraction of the power is a spinning kernel, not work. Try `NCCL_P2P_DISABLE=1` and `--disable-custom-all-reduce` together; check IOMMU and ACS.",
    );
    Some(Found::new(CauseClass::InterconnectP2p, Certainty::Possible, text, [waiting.place.clone()]).advise(look))
}

/// Nothing is wrong.
pub(super) fn healthy(case: &Case<'_>) -> Option<Found> {
    let facts = case.facts;
    let served = facts.served.as_ref().filter(|_| facts.failures.is_empty())?;
    let tokens = inputs::server(facts, amount::TOKENS).map(|tokens| format!("{} tokens of KV cache", whole(tokens.figure.value)));
    let kv = inputs::least_kv(facts).map(|(_, kv, _)| format!("{} GiB", decimal(kv.figure.value, 2)));
    let fit = inputs::server(facts, amount::CONCURRENCY).zip(inputs::server(facts, amount::LENGTH));
    let fit = fit.map_or_else(String::new, |(times, length)| {
        format!(", {} requests of {} tokens at once", decimal(times.figure.value, 2), whole(length.figure.value))
    });
    let size = match (tokens, kv) {
        (Some(tokens), Some(kv)) => format!(" with {tokens} ({kv}){fit}"),
        (Some(size), None) | (None, Some(size)) => format!(" with {size}{fit}"),
        (None, None) => String::new(),
    };
    let pool = facts.ranks.iter().find_map(|rank| rank.last(amount::TOKENS)).map(|tokens| tokens.place.clone());
    Some(Found::new(CauseClass::Healthy, Certainty::Shown, format!("It serves{size}"), [served.clone()].into_iter().chain(pool)))
}
