//! Servers that run: of use or not, and whether the engine's suggestions hold.

use bystander_model::budget::Figure;
use bystander_model::memory::{CauseClass, Certainty, Direction, Phase};

use crate::explain::facts::RankFacts;
use crate::explain::{Case, Facts, Found};
use crate::figures::{decimal, fraction, whole};
use crate::vllm::advice::{self, floor4};
use crate::vllm::amount::{minus, plus};
use crate::vllm::inputs;
use crate::vllm::names::{amount, message, setting};
use crate::vllm::semantics::{self, Covers};

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
    let (rank, twice) = inputs::ranks(facts).find_map(|rank| Some((rank, Twice::of(facts, rank)?)))?;
    // A server that runs has no other fault, unless whoever follows the suggestion loses most of the cache.
    if facts.served.is_some() && twice.suggested > 0.5 * twice.sound {
        return None;
    }
    let place = rank.last(amount::TO_FIT).map(|suggestion| suggestion.place.clone());
    let advice = advice::turn(
        "kv_cache_memory_bytes",
        Direction::None,
        None,
        format!(
            "Do not take the suggested size over; {} GiB fit into the share, and keeping the share as it is gives what is in use now.",
            decimal(twice.sound, 2)
        ),
    );
    Some(Found::new(CauseClass::EngineAdviceMisleading, twice.certainty, twice.text, place).advise(advice))
}

/// A suggestion that subtracts graphs twice.
pub(crate) fn suggested_size(facts: &Facts) -> Option<String> {
    inputs::ranks(facts).find_map(|rank| Twice::of(facts, rank)).map(|twice| twice.text)
}

/// What subtracting a term twice makes of a suggested size.
struct Twice {
    suggested: f64,
    sound: f64,
    certainty: Certainty,
    text: String,
}

impl Twice {
    /// The account's activations include the estimate of graphs (releases after 0.25.1), and the suggestion subtracts what was captured as well.
    fn of(facts: &Facts, rank: &RankFacts) -> Option<Self> {
        let read = |name: &str| inputs::of(rank, name).map(|input| input.figure);
        let suggested = read(amount::TO_FIT)?;
        let (kv, graphs, activation) = (read(amount::KV)?, read(amount::GRAPHS)?, read(amount::ACTIVATION)?);
        let estimate = inputs::graphs_estimate(facts, rank);
        let includes = estimate.is_some() && inputs::graphs_in_activation(facts, rank);
        // Without a line on the estimate, only the form of the account and its size speak for it.
        let may = estimate.is_none()
            && rank.first(amount::CONSUMED).is_some()
            && semantics::covers(facts).is_none_or(Covers::has_graphs)
            && facts.settings.flag(setting::EAGER) != Some(true)
            && activation.value >= graphs.value;
        let inside = estimate.map_or(graphs, |estimate| estimate.figure);
        let sound = minus(minus(plus(kv, inside), graphs), Figure::exact(KEPT_BACK));
        let short = minus(sound, suggested);
        // What it falls short by has to be the graphs, to the rounding of the account.
        let is_graphs = (short.value - inside.value).abs() <= 0.03 + (short.high - short.low) / 2.0;
        if !(includes || may) || !is_graphs || graphs.value < 0.05 {
            return None;
        }
        let text = format!(
            "The suggested size of {} GiB subtracts CUDA graphs twice: {} GiB as captured, and {} GiB of their estimate inside of the activations; beside the 150 MiB that the engine keeps back, {} GiB fit into the share and {} GiB are in use",
            decimal(suggested.value, 2),
            decimal(graphs.value, 2),
            decimal(inside.value, 2),
            decimal(sound.value, 2),
            decimal(kv.value, 2)
        );
        let certainty = if includes { Certainty::Shown } else { Certainty::Possible };
        Some(Self { suggested: suggested.value, sound: sound.value, certainty, text })
    }
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
    let is_open = facts.failures.is_empty() && facts.served.is_none();
    let Some(waiting) = facts.message(message::WAITING).filter(|_| is_open) else { return stands_still(facts).filter(|_| is_open) };
    let text = "Ranks wait for each other through shared memory: one of them is stuck, often in a collective between GPUs that do not reach each other; the line alone is no proof, since a long compilation prints it too";
    let look = advice::turn(
        "",
        Direction::None,
        None,
        "Look at the stacks of all ranks and at the GPUs' power: full load at a fraction of the power is a spinning kernel, not work. Try `NCCL_P2P_DISABLE=1` and `--disable-custom-all-reduce` together; check IOMMU and ACS.",
    );
    Some(Found::new(CauseClass::InterconnectP2p, Certainty::Possible, text, [waiting.place.clone()]).advise(look))
}

/// The log ends where ranks talk to each other: among NCCL's own lines before the weights, or while kernels are tuned after the KV cache was sized.
fn stands_still(facts: &Facts) -> Option<Found> {
    let ranks = facts.settings.number(setting::TENSOR).unwrap_or(1.0).max(inputs::ranks(facts).count() as f64);
    if ranks < 2.0 {
        return None;
    }
    let talks = facts.message(message::NCCL_TALKS).filter(|_| facts.phase() <= Phase::ParallelInit);
    let tunes = facts.message(message::TUNES);
    let (place, at) = match (tunes, talks) {
        (Some(tunes), _) => (&tunes.place, "while kernels are tuned, after the KV cache was sized"),
        (None, Some(talks)) => (&talks.place, "among the lines of NCCL, before the weights"),
        (None, None) => return None,
    };
    let text = format!(
        "The log of {} ranks ends {at}: where it goes no further, the ranks wait for each other in a collective, since GPUs do not reach each other's memory; this is not about how much memory there is",
        whole(ranks)
    );
    let look = advice::turn(
        "disable_custom_all_reduce",
        Direction::Up,
        None,
        "`NCCL_P2P_DISABLE=1` alone is not enough: the custom all-reduce reads the other GPU's memory as well, so add `--disable-custom-all-reduce`; or mend the way between the GPUs (IOMMU in passthrough mode or off, ACS off: `lspci -vvv` shows ACSCtl).",
    );
    Some(Found::new(CauseClass::InterconnectP2p, Certainty::Possible, text, [place.clone()]).advise(look))
}

/// Nothing is wrong.
pub(super) fn healthy(case: &Case<'_>) -> Option<Found> {
    let facts = case.facts;
    let served = facts.served.as_ref().filter(|_| facts.failures.is_empty())?;
    let tokens = inputs::server(facts, amount::TOKENS).map(|tokens| format!("{} tokens of KV cache", whole(tokens.figure.value)));
    let ranks = facts.settings.number(setting::TENSOR).unwrap_or(1.0) * facts.settings.number(setting::PIPELINE).unwrap_or(1.0);
    let kv = inputs::least_kv(facts).map(|(_, kv, count)| {
        let which = if (count as f64) < ranks { " on a rank that prints it" } else { "" };
        format!("{} GiB{which}", decimal(kv.figure.value, 2))
    });
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
    let mut found = Found::new(CauseClass::Healthy, Certainty::Shown, format!("It serves{size}"), [served.clone()].into_iter().chain(pool));
    found.advice.extend(advice::wanted(facts));
    Some(found)
}
