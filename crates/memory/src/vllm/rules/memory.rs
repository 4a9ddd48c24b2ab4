//! CUDA found no memory: whose it was, by the phase and by who held the card.

use bystander_model::budget::Figure;
use bystander_model::memory::{CauseClass, Certainty, Direction, Phase};

use super::{cause, first};
use crate::explain::causes::device::OutOfMemory;
use crate::explain::facts::Failure as Failed;
use crate::explain::{Case, Facts, Found};
use crate::figures::{decimal, fraction};
use crate::vllm::advice::{self, Scale, gib_or_mib};
use crate::vllm::amount::minus;
use crate::vllm::inputs;
use crate::vllm::line::{self, Failure};
use crate::vllm::names::{amount, setting};
use crate::vllm::semantics::{self, Covers};

/// The parts of a card that contexts of other ranks take at most, in GiB.
const CONTEXTS: f64 = 2.0;

/// An allocation that failed, with what was held then.
struct Short {
    numbers: OutOfMemory,
    /// Graphs and the like, in pools of their own.
    pools: Option<Figure>,
    /// NCCL asked for it.
    is_nccl: bool,
}

/// An allocation that failed. One that was refused although there was room is the platform's.
fn out_of_memory<'a>(case: &Case<'a>) -> Option<(&'a Failed, Short)> {
    let failure = cause(case.facts)?;
    let said = super::said(failure);
    let Some(Failure::OutOfMemory(read)) = line::failure(&said) else { return None };
    let mut numbers = OutOfMemory::of(failure).unwrap_or(OutOfMemory { tried: None, gpu: None, total: None, free: None, own: None });
    let is_nccl = line::is_nccl(&said);
    // NCCL says in one line that there was no memory, and in the next how much it asked for.
    let asked = || {
        case.facts.failures.iter().filter(|_| is_nccl).find_map(|other| match line::failure(&super::said(other))? {
            Failure::OutOfMemory(other) => other.wanted,
            _ => None,
        })
    };
    numbers.tried = numbers.tried.or(read.wanted).or_else(asked);
    numbers.gpu = numbers.gpu.or(read.device);
    numbers.total = numbers.total.or(read.total);
    numbers.free = numbers.free.or(read.free);
    numbers.own = read.own.or(numbers.own);
    let has_room = numbers.tried.zip(numbers.free).is_some_and(|(tried, free)| free.low >= tried.high);
    (!has_room).then_some((failure, Short { numbers, pools: read.pools, is_nccl }))
}

/// Whether the KV cache was sized, so that an allocation that fails comes after it whatever the last line says.
fn has_pool(facts: &Facts) -> bool {
    inputs::least_kv(facts).is_some_and(|(_, kv, _)| kv.figure.value > 0.0)
}

/// By how much this process is above its share, and what that may be.
fn above_share(case: &Case<'_>, short: &Short) -> String {
    let facts = case.facts;
    let rank = inputs::least_kv(facts).map(|(rank, ..)| rank);
    let Some((own, requested)) = short.numbers.own.zip(inputs::requested(facts, rank)) else { return String::new() };
    let above = minus(own, requested.figure);
    if above.low < 0.1 {
        return String::new();
    }
    let pools = short.pools.map_or_else(String::new, |pools| format!(", graphs hold {} of it", gib_or_mib(pools.value)));
    format!(
        "; the process holds {} GiB, {} above its share of {} GiB{pools}: the rest was allocated after the profile run, such as buffers of NCCL (multiples of 10 MiB for each channel and peer, when ranks first talk to each other)",
        decimal(own.value, 2),
        gib_or_mib(above.value),
        decimal(requested.figure.value, 2)
    )
}

/// By how much an allocation fell short.
fn missing(short: &Short) -> Option<Figure> {
    Some(minus(short.numbers.tried?, short.numbers.free?)).filter(|missing| missing.value > 0.0)
}

fn numbers(short: &Short) -> String {
    match (short.numbers.tried, short.numbers.free) {
        (Some(tried), Some(free)) => format!(
            ": {} were asked for and {} were free, short by {}",
            gib_or_mib(tried.value),
            gib_or_mib(free.value),
            gib_or_mib(tried.value - free.value)
        ),
        (Some(tried), None) => format!(": {} were asked for", gib_or_mib(tried.value)),
        _ => String::new(),
    }
}

/// Most of the card is held by neither free memory nor this process.
pub(super) fn others_hold_the_card(case: &Case<'_>) -> Option<Found> {
    let (failure, Short { numbers: found, .. }) = out_of_memory(case)?;
    let (total, others, own) = (found.total?, found.others()?, found.own?);
    if others.low < CONTEXTS.max(0.05 * total.value) || failure.phase == Phase::Serving && others.value < own.value {
        return None;
    }
    let ranks = case.facts.settings.number(setting::TENSOR).unwrap_or(1.0);
    let same = ranks > 1.0 && found.gpu == Some(0) && own.value < 0.25 * total.value && others.value > 0.5 * total.value;
    let text = format!(
        "This process holds {} of {} GiB of GPU {}, and {} GiB are held by others{}",
        decimal(own.value, 2),
        decimal(total.value, 2),
        found.gpu.map_or_else(|| "?".to_owned(), |gpu| gpu.to_string()),
        decimal(others.value, 2),
        if same { ": several ranks are on the same GPU" } else { "" }
    );
    let (class, advice) = if same {
        (
            CauseClass::WrongDevice,
            advice::turn(
                "CUDA_VISIBLE_DEVICES",
                Direction::None,
                None,
                "Give each rank a GPU of its own; no share helps while they are on one.",
            ),
        )
    } else {
        (
            CauseClass::OtherProcessHoldsMemory,
            advice::turn(
                "",
                Direction::None,
                None,
                "Find what holds the card before turning anything: processes titled VLLM:: or sglang::, GPU pids of containers that are gone.",
            ),
        )
    };
    Some(Found::new(class, Certainty::Likely, text, [failure.place.clone()]).advise(advice))
}

/// The weights, or the profile run beside them, do not fit on the card: the share is not what bounds them.
pub(super) fn weights(case: &Case<'_>) -> Option<Found> {
    let facts = case.facts;
    let by_words = first(facts, |failure| matches!(failure, Failure::Load).then_some(())).map(|(failure, ())| (failure, None));
    let (failure, found) = by_words.or_else(|| out_of_memory(case).map(|(failure, found)| (failure, Some(found))))?;
    if failure.phase > Phase::PoolSizing || has_pool(facts) {
        return None;
    }
    let printed: Vec<f64> = inputs::ranks(facts).flat_map(|rank| rank.all(amount::WEIGHTS)).map(|weights| weights.figure.value).collect();
    // Where no line tells how far the start had come, a failed allocation alone does not say that it was for the weights.
    if found.is_some() && failure.phase < Phase::WeightLoad && printed.is_empty() {
        return None;
    }
    let (low, high) = (printed.iter().copied().fold(f64::INFINITY, f64::min), printed.iter().copied().fold(0.0, f64::max));
    let loaded = match printed.len() {
        0 => String::new(),
        1 => format!("; a rank that was done holds {} GiB of weights", decimal(high, 2)),
        _ => format!("; ranks that were done hold {} to {} GiB of weights", decimal(low, 2), decimal(high, 2)),
    };
    let ranks = facts.settings.number(setting::TENSOR).unwrap_or(1.0) * facts.settings.number(setting::PIPELINE).unwrap_or(1.0);
    let total = found.as_ref().and_then(|found| found.numbers.total).map(|total| total.value);
    let small = total.is_some_and(|total| !printed.is_empty() && high < 0.6 * total) && printed.len() as f64 >= ranks;
    let numbers = found.as_ref().map_or_else(String::new, numbers);
    if failure.phase == Phase::PoolSizing && small {
        let text = format!("The profile run of a full step finds no memory beside the weights{numbers}{loaded}");
        let less = advice::turn(
            setting::BATCHED_TOKENS,
            Direction::Down,
            None,
            "Make steps smaller (`--max-num-batched-tokens`, `--max-num-seqs`, smaller media): the share is applied only after this run.",
        );
        return Some(Found::new(CauseClass::RuntimeActivation, Certainty::Likely, text, [failure.place.clone()]).advise(less));
    }
    let stages = facts
        .settings
        .number(setting::PIPELINE)
        .filter(|stages| *stages > 1.0)
        .map_or("", |_| "; stages hold different layers, so that one stage's figure says little of another's");
    let text = format!("The weights do not fit on the card{numbers}{loaded}{stages}");
    let none = advice::turn(
        advice::SHARE,
        Direction::None,
        None,
        "The share does not bound the weights, and neither does the length of requests: use more ranks, quantised weights or a part of them in host memory (`--cpu-offload-gb`).",
    );
    let certainty = if failure.phase == Phase::WeightLoad { Certainty::Shown } else { Certainty::Possible };
    Some(Found::new(CauseClass::FractionBelowWeights, certainty, text, [failure.place.clone()]).advise(none))
}

/// The sampler's warm-up after the pools.
pub(super) fn sampler(case: &Case<'_>) -> Option<Found> {
    let (failure, requests) = first(case.facts, |failure| if let Failure::Sampler { requests } = failure { Some(requests) } else { None })?;
    let text = format!("The KV cache took what sampling {requests} requests at once needs beside the share");
    let fewer = advice::turn(
        setting::REQUESTS,
        Direction::Down,
        None,
        format!("Or fewer requests at once than {requests}: the sampler's memory grows with them and with the vocabulary."),
    );
    let down = advice::down(case.facts, None, "the sampler");
    Some(Found::new(CauseClass::HeadroomOutsideStatic, Certainty::Shown, text, [failure.place.clone()]).advise(down).advise(fewer))
}

/// The capture of graphs finds no memory beside the share.
pub(super) fn graphs(case: &Case<'_>) -> Option<Found> {
    let (failure, found) = out_of_memory(case)?;
    let facts = case.facts;
    let is_capture = failure.phase == Phase::GraphCapture || failure.phase <= Phase::PoolSizing && has_pool(facts);
    (is_capture && !found.is_nccl).then_some(())?;
    let outside = Scale::of(facts).map_or_else(String::new, |scale| {
        format!(
            "; a share of {} leaves {} GiB outside of it",
            fraction(scale.share),
            decimal(scale.total.figure.value * (1.0 - scale.share), 2)
        )
    });
    let inside =
        if semantics::covers(facts).is_some_and(Covers::has_graphs) { ", although an estimate of them is inside of the share" } else { "" };
    let text = format!(
        "After the KV cache was allocated, the warm-up and capture of CUDA graphs find too little left{inside}{}{outside}{}",
        numbers(&found),
        above_share(case, &found)
    );
    let down = advice::down(facts, missing(&found), "CUDA graphs and warm-up");
    let fewer = advice::turn(
        "cudagraph_capture_sizes",
        Direction::Down,
        None,
        "Or capture fewer and smaller graphs (`--max-cudagraph-capture-size`, fewer `--max-num-seqs`), or none (`--enforce-eager`).",
    );
    let certainty = if found.numbers.tried.is_some() { Certainty::Shown } else { Certainty::Likely };
    Some(Found::new(CauseClass::GraphCaptureHeadroom, certainty, text, [failure.place.clone()]).advise(down).advise(fewer))
}

/// The warm-up finds no memory beside the share.
pub(super) fn beside_the_share(case: &Case<'_>) -> Option<Found> {
    let (failure, found) = out_of_memory(case)?;
    let is_after = matches!(failure.phase, Phase::WarmUp | Phase::DraftLoad) || failure.phase == Phase::GraphCapture && found.is_nccl;
    is_after.then_some(())?;
    let who = if found.is_nccl { "buffers of NCCL find" } else { "what is allocated outside of the share finds" };
    let text = format!("After the KV cache was allocated, {who} too little left{}{}", numbers(&found), above_share(case, &found));
    Some(Found::new(CauseClass::HeadroomOutsideStatic, Certainty::Likely, text, [failure.place.clone()]).advise(advice::down(
        case.facts,
        missing(&found),
        "what comes after the KV cache",
    )))
}

/// Requests need more than the share leaves.
pub(super) fn requests(case: &Case<'_>) -> Option<Found> {
    let (failure, found) = out_of_memory(case)?;
    (failure.phase == Phase::Serving).then_some(())?;
    let text = format!("While it served, a step needed more than the share leaves{}{}", numbers(&found), above_share(case, &found));
    let smaller = advice::turn(
        setting::BATCHED_TOKENS,
        Direction::Down,
        None,
        "Or make steps smaller (`--max-num-batched-tokens`, `--max-num-seqs`): what was profiled at the start was less than what came.",
    );
    Some(
        Found::new(CauseClass::RuntimeActivation, Certainty::Likely, text, [failure.place.clone()])
            .advise(advice::down(case.facts, missing(&found), "a step of requests"))
            .advise(smaller),
    )
}

/// The driver finds no memory of the host to map.
pub(super) fn driver(case: &Case<'_>) -> Option<Found> {
    let facts = case.facts;
    let place = &facts.message(crate::explain::spoken::DRIVER_MEMORY)?.place;
    let text = "The driver finds no memory to map (NV_ERR_NO_MEMORY): where GPU and host share one memory, the KV cache takes it from the host until none is left";
    let down = advice::turn(
        advice::SHARE,
        Direction::Down,
        None,
        "Lower it by what MemAvailable of the host falls below its floor between load and capture; watch the minimum of MemAvailable for each phase (`memory watch`).",
    );
    Some(Found::new(CauseClass::PlatformMisreports, Certainty::Likely, text, [place.clone()]).advise(down))
}

/// The log ends before the capture, and little is left for it.
pub(super) fn little_left_for_graphs(case: &Case<'_>) -> Option<Found> {
    let facts = case.facts;
    let before = matches!(facts.phase(), Phase::PoolSizing | Phase::GraphCapture) && facts.served.is_none() && facts.failures.is_empty();
    semantics::covers(facts).filter(|covers| !covers.has_graphs())?;
    let eager = facts.settings.flag(setting::EAGER) == Some(true);
    let scale = Scale::of(facts).filter(|_| before && !eager)?;
    let left = scale.gives(facts, scale.share).headroom_gib?;
    let (rank, kv, _) = inputs::least_kv(facts)?;
    if left.value > 1.0 || kv.figure.value <= 0.0 {
        return None;
    }
    let text = format!(
        "The log ends before CUDA graphs are captured; in this release they come on top of the share, and a share of {} leaves {} GiB for them",
        fraction(scale.share),
        decimal(left.value, 2)
    );
    let place = rank.last(amount::KV).map(|kv| kv.place.clone());
    Some(Found::new(CauseClass::GraphCaptureHeadroom, Certainty::Possible, text, place).advise(advice::down(facts, None, "CUDA graphs")))
}
