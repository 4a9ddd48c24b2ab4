//! The device ran out of memory: in which phase, and who held it.

use bystander_model::budget::Figure;
use bystander_model::memory::{Advice, CauseClass, Certainty, Direction, Phase};

use crate::explain::causes::device::{OutOfMemory, out_of_memory_with_room};
use crate::explain::facts::{Amount, Failure};
use crate::explain::judge::phase_words;
use crate::explain::{Case, Found, spoken};
use crate::figures::{decimal, fraction};
use crate::sglang::advice::{self, down_somewhat, knob, not_the_fraction};
use crate::sglang::names;
use crate::sglang::sizing::{fraction as used, sized};

/// The failure and its numbers, where the first failure is a device out of memory.
fn oom<'a>(case: &Case<'a>) -> Option<(&'a Failure, OutOfMemory)> {
    let failure = case.facts.failure()?;
    Some((failure, OutOfMemory::of(failure)?))
}

/// The platform cannot hand out what it reports.
pub(super) fn refused_with_room(case: &Case<'_>) -> Option<Found> {
    let found = out_of_memory_with_room(case)?;
    let advice = down_somewhat(
        "A lower fraction may stay below what the platform can really hold. On WSL2 look for dxgkio_make_resident in dmesg; this is not fragmentation.",
    );
    Some(Found { advice: vec![advice], ..found })
}

/// The weights do not fit on the card at all.
pub(super) fn during_load(case: &Case<'_>) -> Option<Found> {
    let (failure, _) = oom(case)?;
    if failure.phase != Phase::WeightLoad {
        return None;
    }
    let text = format!(
        "The card ran out of memory during {}: the weights do not fit, whatever the static fraction is",
        phase_words(failure.phase)
    );
    let advice = not_the_fraction(
        "It is not used before the weights are there. Spread them over more GPUs (--tp-size, --pp-size), or use a quantised checkpoint.",
    );
    Some(Found::new(CauseClass::FractionBelowWeights, Certainty::Likely, text, [failure.place.clone()]).advise(advice))
}

/// The pool was sized, and could not be allocated.
pub(super) fn during_pools(case: &Case<'_>) -> Option<Found> {
    let (failure, oom) = oom(case)?;
    let says = case.facts.settings.flag("enable_symm_mem") == Some(true) || symmetric_gib(case).is_some();
    let in_advance = says && is_symmetric(case, &oom);
    if failure.phase != Phase::PoolSizing || in_advance || has_pools(case, &failure.label) {
        return None;
    }
    let text = "The KV cache was sized, and then could not be allocated as a whole: what is not in the sizing (the request table, a second pool, memory that another process took meanwhile) did not fit beside it";
    let found = Found::new(CauseClass::HeadroomOutsideStatic, Certainty::Likely, text, [failure.place.clone()]);
    Some(found.advise(down(case, &oom)))
}

/// Whether a rank said that its pools are there; any rank, where the one that failed is not named.
fn has_pools(case: &Case<'_>, label: &str) -> bool {
    let mut ranks = case.facts.ranks.iter().filter(|rank| label.is_empty() || rank.label == label);
    ranks.any(|rank| rank.last(names::POOL_END).is_some())
}

/// Graphs did not fit into what the fraction leaves over.
pub(super) fn during_capture(case: &Case<'_>) -> Option<Found> {
    let (failure, oom) = match oom(case) {
        Some(found) => found,
        None => {
            let failure = case
                .facts
                .failures
                .iter()
                .find(|failure| failure.message.contains("Capture cuda graph failed") && failure.message.contains("out of memory"))?;
            (failure, OutOfMemory::read(&failure.message))
        }
    };
    if failure.phase != Phase::GraphCapture && !failure.message.contains("Capture cuda graph failed") {
        return None;
    }
    let left = left_for_graphs(case);
    let left_words = left.map_or_else(String::new, |left| format!("; {} GiB were left for them", decimal(left.figure.value, 2)));
    let text =
        format!("CUDA graphs did not fit into what the static fraction leaves over{left_words}: here the fraction has to go down, not up");
    let places = [failure.place.clone()].into_iter().chain(left.map(|left| left.place.clone()));
    let found = Found::new(CauseClass::GraphCaptureHeadroom, Certainty::Shown, text, places).advise(down(case, &oom));
    Some(found.advise(knob(
        graphs_knob(case),
        Direction::Down,
        "Fewer and smaller graphs need less; batches beyond the largest run without one.",
    )))
}

/// What was left when the capture began, or at the last step that was printed.
fn left_for_graphs<'a>(case: &Case<'a>) -> Option<&'a Amount> {
    let last = |name: &str| case.facts.ranks.iter().find_map(|rank| rank.last(name));
    last(names::CAPTURING).or_else(|| last(names::GRAPH_BEGIN))
}

/// The knob of graph sizes by release.
pub(super) fn graphs_knob(case: &Case<'_>) -> &'static str {
    if case.facts.settings.setting("cuda_graph_max_bs_decode").is_some() { "cuda_graph_max_bs_decode" } else { "cuda_graph_max_bs" }
}

/// The first requests, or later ones, did not fit.
pub(super) fn at_run_time(case: &Case<'_>) -> Option<Found> {
    let (failure, oom) = oom(case)?;
    if !matches!(failure.phase, Phase::WarmUp | Phase::Serving) {
        return None;
    }
    let text = format!(
        "The card ran out of memory during {}: activations of requests have to fit into what the static fraction leaves over",
        phase_words(failure.phase)
    );
    let found = Found::new(CauseClass::RuntimeActivation, Certainty::Likely, text, [failure.place.clone()]).advise(down(case, &oom));
    Some(found.advise(knob("chunked_prefill_size", Direction::Down, "Smaller chunks of prompts need less at once.")))
}

/// Something that is allocated outside of the fraction did not fit, and the process holds the card alone.
pub(super) fn outside_of_the_share(case: &Case<'_>) -> Option<Found> {
    let (failure, oom) = oom(case)?;
    let symmetric = is_symmetric(case, &oom);
    let what = if symmetric { "the memory that --enable-symm-mem allocates in advance" } else { "what is allocated outside of it" };
    let used = used(case.facts).map(|(value, _)| value);
    let numbers = oom.total.zip(used).map_or_else(String::new, |(total, used)| {
        let outside = total.value * (1.0 - used);
        format!("; a fraction of {} leaves {} GiB of {} for everything else", fraction(used), decimal(outside, 2), decimal(total.value, 2))
    });
    let missing = short(&oom).map_or_else(String::new, |short| format!("; {} GiB are missing", decimal(short.value, 2)));
    let text = format!("The card ran out of memory for {what}: the static fraction leaves too little beside it{numbers}{missing}");
    let mut found = Found::new(
        CauseClass::HeadroomOutsideStatic,
        if symmetric { Certainty::Likely } else { Certainty::Possible },
        text,
        [failure.place.clone()],
    );
    found.advice.push(down(case, &oom));
    if symmetric {
        found.advice.push(knob(
            "SGLANG_SYMM_MEM_PREALLOC_GB_SIZE",
            Direction::Down,
            "This environment variable says how much is allocated in advance (4 where it is not set).",
        ));
    }
    Some(found)
}

/// NCCL found no memory for its buffers, which it makes when ranks first talk to each other.
pub(super) fn in_communication(case: &Case<'_>) -> Option<Found> {
    let facts = case.facts;
    let message = facts.message(spoken::NCCL_MEMORY)?;
    let failure = facts.failure().filter(|failure| OutOfMemory::of(failure).is_none())?;
    let before_pools = failure.phase < Phase::PoolSizing
        || (failure.phase == Phase::PoolSizing && facts.ranks.iter().all(|rank| rank.first(names::POOL_GIB).is_none()));
    let places = [message.place.clone(), failure.place.clone()];
    if before_pools {
        let text = format!(
            "NCCL found no memory on the card for its buffers during {}, before this server had a KV cache: other processes hold the card, or the weights fill it",
            phase_words(failure.phase)
        );
        let advice =
            not_the_fraction("Look at nvidia-smi for who holds the card; the fraction is not used before the sizing of the KV cache.");
        return Some(Found::new(CauseClass::OtherProcessHoldsMemory, Certainty::Possible, text, places).advise(advice));
    }
    let text = "NCCL found no memory on the card for its buffers, which come beside the static fraction when ranks first talk to each other: the fraction leaves too little";
    let advice = down_somewhat("Lower it, so that more is left over for communication, graphs and activations.");
    Some(Found::new(CauseClass::HeadroomOutsideStatic, Certainty::Likely, text, places).advise(advice))
}

/// Whether it was the allocation in advance of symmetric memory: 4 GiB in one piece where nothing else is set.
fn is_symmetric(case: &Case<'_>, oom: &OutOfMemory) -> bool {
    let Some(tried) = oom.tried else { return false };
    let on = case.facts.settings.flag("enable_symm_mem");
    let size = symmetric_gib(case).unwrap_or(4.0);
    (tried.value - size).abs() < 0.006 && on != Some(false)
}

/// The GiB of symmetric memory that a line says are allocated in advance.
fn symmetric_gib(case: &Case<'_>) -> Option<f64> {
    case.facts.ranks.iter().find_map(|rank| rank.first(names::SYMMETRIC)).map(|amount| amount.figure.value)
}

fn short(oom: &OutOfMemory) -> Option<Figure> {
    let (tried, free) = (oom.tried?, oom.free?);
    let short = Figure { value: tried.value - free.value, low: tried.low - free.high, high: tried.high - free.low };
    (short.low > 0.0).then_some(short)
}

/// Lower the fraction by what was missing, where it is known.
fn down(case: &Case<'_>, oom: &OutOfMemory) -> Advice {
    let sized = sized(case.facts);
    let used = used(case.facts).map(|(value, _)| value);
    let base = sized.as_ref().map(|sized| sized.sizing.total.value).or_else(|| oom.total.map(|total| total.value));
    match (used, base, short(oom)) {
        (Some(used), Some(base), Some(short)) => advice::down(used, base, short, sized.as_ref()),
        (None, Some(base), Some(short)) => {
            let by = short.value / base;
            down_somewhat(format!(
                "Lower it by at least {}: {} GiB were missing of {}.",
                decimal(by, 4),
                decimal(short.value, 2),
                decimal(base, 2)
            ))
        }
        _ => down_somewhat("Lower it, so that more is left over for what comes after the pool."),
    }
}

/// A capture that stands still at its first step, with next to no memory: an error that nobody prints.
pub(super) fn capture_stands_still(case: &Case<'_>) -> Option<Found> {
    let facts = case.facts;
    let nothing = facts.message(names::REGISTERED).filter(|message| message.text.contains("Registering 0 cuda graph addresses"))?;
    let ended = facts.served.is_some() || facts.ranks.iter().any(|rank| rank.first(names::GRAPH_END).is_some());
    if ended || facts.failure().is_some() {
        return None;
    }
    let left = left_for_graphs(case);
    let left_words = left.map_or_else(String::new, |left| format!(" with {} GiB left", decimal(left.figure.value, 2)));
    let step = facts.message(names::PROGRESS).filter(|progress| progress.text.contains("0/")).map_or("", |_| " at its first size");
    let text = format!(
        "The capture of CUDA graphs stands still{step}{left_words}, and no graph was registered: memory ran out in it without an error, which is not a fault of the network"
    );
    let places = [nothing.place.clone()].into_iter().chain(left.map(|left| left.place.clone()));
    let advice = down_somewhat("Lower it so that the graphs fit. Start once with --disable-custom-all-reduce to see the error itself.");
    let also = knob(graphs_knob(case), Direction::Down, "Fewer and smaller graphs need less.");
    Some(Found::new(CauseClass::GraphCaptureHeadroom, Certainty::Likely, text, places).advise(advice).advise(also))
}
