//! What is wrong before any arithmetic: another process, another configuration than was asked for, advice that its own numbers contradict.

use bystander_model::memory::{CauseClass, Certainty, Direction, Phase};

use super::sizing::failure_with;
use crate::explain::spoken;
use crate::explain::{Case, Found};
use crate::figures::{decimal, fraction, rounded};
use crate::sglang::advice::{self, knob, not_the_fraction};
use crate::sglang::log::DRAFT_WORKERS;
use crate::sglang::log::text::after;
use crate::sglang::names;
use crate::sglang::notes::commanded_fraction;
use crate::sglang::sizing::{fraction as used, sized};
use crate::version::Release;

/// Ranks are unequal where one has less than so much of another's free memory, as SGLang's own check has it.
const UNEQUAL: f64 = 0.9;

const UNBALANCED: &str = "The memory capacity is unbalanced";

/// The environment variable that turns the check of equal ranks into a warning, by release.
fn switch(case: &Case<'_>) -> &'static str {
    let versions = &case.facts.versions;
    let (old, new) = ("SGL_DISABLE_TP_MEMORY_INBALANCE_CHECK=true", "SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK=false");
    if versions.is_from(Release(0, 5, 7)) {
        new
    } else if versions.is_up_to(Release(0, 5, 6)) {
        old
    } else {
        "SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK=false (SGL_DISABLE_TP_MEMORY_INBALANCE_CHECK=true up to 0.5.6)"
    }
}

/// The check of equal ranks ran again when a draft model started, after this server's own pools had made the ranks unequal.
pub(super) fn second_check(case: &Case<'_>) -> Option<Found> {
    let failure = failure_with(case, UNBALANCED)?;
    let in_draft = DRAFT_WORKERS.iter().any(|name| failure.through.contains(name));
    let after_pools = failure.phase >= Phase::GraphCapture
        || failure.phase == Phase::DraftLoad
        || case.facts.ranks.iter().any(|rank| rank.first(names::POOL_END).is_some() || rank.first(names::GRAPH_END).is_some());
    if !(in_draft || after_pools) {
        return None;
    }
    let text = "The check that all ranks have equal free memory ran a second time, when the draft model started: by then this server's own pools and graphs had made the ranks unequal, so no other process need be there";
    let advice = not_the_fraction(format!("Turn the check into a warning with {}; the fraction is not the cause.", switch(case)));
    let places = [failure.place.clone()].into_iter().chain(last_of(case, names::GRAPH_END));
    Some(Found::new(CauseClass::CheckTooStrict, Certainty::Shown, text, places).advise(advice))
}

fn last_of(case: &Case<'_>, name: &str) -> Option<crate::line::Place> {
    case.facts.ranks.iter().find_map(|rank| rank.last(name)).map(|amount| amount.place.clone())
}

/// One GPU has less free memory than the others before anything of this server is there.
pub(super) fn unbalanced(case: &Case<'_>) -> Option<Found> {
    let failure = failure_with(case, UNBALANCED)?;
    let message = failure.message.as_str();
    let least = after(message, "min_per_gpu_memory=").or_else(|| after(message, "pre_model_load_memory="));
    let local = after(message, "local_gpu_memory=");
    let numbers = least.zip(local).map(|(least, local)| {
        format!(": one has {} GiB free where the one that stopped has {} GiB", decimal(least.value, 2), decimal(local.value, 2))
    });
    let text = format!(
        "The GPUs have unequal free memory before the weights{}; another process holds memory of the one with less, which is not that of the rank that stopped",
        numbers.unwrap_or_default()
    );
    let advice = not_the_fraction(format!(
        "Find who holds memory of the other GPUs (nvidia-smi shows the processes) and end it; no fraction helps. If the cards really differ, {} turns the check into a warning.",
        switch(case)
    ));
    Some(Found::new(CauseClass::OtherProcessHoldsMemory, Certainty::Likely, text, [failure.place.clone()]).advise(advice))
}

/// The engine asks for a fraction that is set already.
pub(super) fn advice_followed(case: &Case<'_>) -> Option<Found> {
    let failure = failure_with(case, "Raise --mem-fraction-static above ")?;
    let asked = failure.message.split_once("under --mem-fraction-static=").and_then(|(_, rest)| rounded(rest))?;
    let least = after(&failure.message, "Raise --mem-fraction-static above ")?;
    if least.value > asked.value + 1e-9 {
        return None;
    }
    let (asked, least) = (fraction(asked.value), fraction(least.value));
    let text = format!(
        "SGLang asks for a fraction above {least}, and it has {asked} already: not the weights but something that is taken after them, a state cache or a reserve, uses up the rest"
    );
    let advice = not_the_fraction(
        "Leave it. Run fewer requests at once (--max-running-requests), use a smaller element type for states, drop speculative decoding, or shorten what is kept back; each makes the state cache smaller.",
    );
    let also = knob("max_running_requests", Direction::Down, "Each running request has a slot in the state cache.");
    let found = Found::new(CauseClass::EngineAdviceMisleading, Certainty::Shown, text, [failure.place.clone()]).advise(advice).advise(also);
    Some(found.against(format!("The engine's advice (above {least}) is contradicted by its own setting ({asked}).")))
}

/// Much of the card was taken before this server took anything.
pub(super) fn other_process(case: &Case<'_>) -> Option<Found> {
    case.facts.failure()?;
    unequal(case).or_else(|| below_the_card(case))
}

/// Ranks that begin unequal.
fn unequal(case: &Case<'_>) -> Option<Found> {
    let (rank, least, _) = case.facts.least(|rank| rank.first(names::LOAD_BEGIN))?;
    let most = case
        .facts
        .ranks
        .iter()
        .filter_map(|rank| rank.first(names::LOAD_BEGIN))
        .max_by(|a, b| a.figure.value.total_cmp(&b.figure.value))?;
    if least.figure.high >= UNEQUAL * most.figure.low {
        return None;
    }
    let text = format!(
        "Before the weights {} has {} GiB free where another rank has {} GiB: another process holds memory of its GPU, and the engine sizes every rank by the least",
        if rank.label.is_empty() { "one rank" } else { rank.label.as_str() },
        decimal(least.figure.value, 2),
        decimal(most.figure.value, 2)
    );
    let advice = not_the_fraction(
        "Find who holds memory of that GPU (nvidia-smi shows the processes) and end it, or give this server other GPUs; no fraction helps.",
    );
    Some(Found::new(CauseClass::OtherProcessHoldsMemory, Certainty::Likely, text, [least.place.clone(), most.place.clone()]).advise(advice))
}

/// The card is known, and less than nine tenths of it were free.
fn below_the_card(case: &Case<'_>) -> Option<Found> {
    let (card, from) = spoken::card(case.facts)?;
    let (_, free, _) = case.facts.least(|rank| rank.first(names::LOAD_BEGIN))?;
    let used = case.facts.ranks.iter().find_map(|rank| rank.first(names::INIT_USED)).map_or(0.0, |amount| amount.figure.value);
    let before = free.figure.value + used;
    if before >= UNEQUAL * card {
        return None;
    }
    let text = format!(
        "{} GiB of the card's {} GiB were free before this server took anything: another process, or a leftover of an earlier one, holds {} GiB, which is a matter of who runs where and not of the fraction",
        decimal(before, 2),
        decimal(card, 2),
        decimal(card - before, 2)
    );
    let advice = not_the_fraction(
        "Find who holds memory of the card (nvidia-smi shows the processes, and titles such as sglang::scheduler), and check that every intended card is visible to this server alone.",
    );
    Some(
        Found::new(CauseClass::OtherProcessHoldsMemory, Certainty::Likely, text, [free.place.clone()].into_iter().chain(from))
            .advise(advice),
    )
}

/// The fraction in effect is far from any default, and no numbers say that it is too small for the weights alone.
pub(super) fn others_fraction(case: &Case<'_>) -> Option<Found> {
    let failure = failure_with(case, "Not enough memory. Please try to increase --mem-fraction-static")?;
    let (value, place) = used(case.facts)?;
    let commanded = commanded_fraction(case.facts).filter(|(other, _)| (other - value).abs() > 1e-9);
    // No rule of any release gives so little where the user gives none.
    if (value >= 0.5 && commanded.is_none()) || sized(case.facts).is_some() {
        return None;
    }
    let asked = commanded.as_ref().map_or_else(String::new, |(other, _)| format!(" where the command line asks for {}", fraction(*other)));
    let text = format!(
        "The static fraction in effect is {}{asked}, which no default of SGLang gives: whatever is believed to be set, this is what the server used, and it leaves nothing beside the weights",
        fraction(value)
    );
    let advice = knob(
        advice::FRACTION,
        Direction::Up,
        "Find what sets it (a wrapper, a scheduler, an environment), since the value in the log wins; then raise it.",
    );
    let places = [place, failure.place.clone()].into_iter().chain(commanded.map(|(_, place)| place));
    Some(Found::new(CauseClass::EffectiveConfigDiffers, Certainty::Likely, text, places).advise(advice))
}

/// GPUs that cannot reach each other's memory ended the start.
pub(super) fn peer_access(case: &Case<'_>) -> Option<Found> {
    let message = case.facts.message(spoken::PEER_ACCESS)?;
    let fatal = case.facts.failure().is_none_or(|failure| failure.message.contains("peer access"));
    let harmless = case.facts.message(names::ALL_REDUCE_FAILED).is_some();
    if !fatal || case.facts.served.is_some() {
        return None;
    }
    let text = format!(
        "The GPUs have no access to each other's memory, so the custom all-reduce cannot be set up; this is not about memory{}",
        if harmless { ", and a server that prints it as a warning goes on without" } else { "" }
    );
    let advice = knob("disable_custom_all_reduce", Direction::Up, "Start with --disable-custom-all-reduce; NCCL then carries it.");
    Some(Found::new(CauseClass::InterconnectP2p, Certainty::Shown, text, [message.place.clone()]).advise(advice))
}
