//! What fails before the weights are loaded, or shows in what they are said to take.

use bystander_model::memory::{Advice, CauseClass, Certainty, Direction};

use super::first;
use crate::explain::{Case, Facts, Found};
use crate::figures::{decimal, fraction};
use crate::vllm::advice::{self, below, floor4, gib_or_mib};
use crate::vllm::amount::{minus, times};
use crate::vllm::inputs;
use crate::vllm::line::Failure;
use crate::vllm::names::{amount, message};

/// What a context, a display and the driver hold of a card at most, in GiB.
const BASELINE: f64 = 1.5;
/// The memory that hosts with one memory for all show as the GPU's, in GiB.
const UNIFIED: std::ops::RangeInclusive<f64> = 118.5..=124.0;

/// Weights that took nothing: memory was measured on another card than they are on.
pub(super) fn weights_of_nothing(case: &Case<'_>) -> Option<Found> {
    let facts = case.facts;
    let found = inputs::ranks(facts).filter_map(|rank| rank.first(amount::WEIGHTS)).find(|weights| weights.figure.high < 0.01)?;
    // A model of a few megabytes has a KV cache as small; on the CPU nothing is measured.
    let is_tiny = facts.settings.get(crate::vllm::names::setting::DEVICE) == Some("cpu") || found.figure.value > 0.0;
    (!is_tiny).then(|| {
        let text = "The weights are said to take 0.0000 GiB: memory was measured on another GPU than the one they were loaded to, so that the KV cache is sized without them";
        Found::new(CauseClass::WrongDevice, Certainty::Shown, text, [found.place.clone()]).advise(advice::turn(
            "CUDA_VISIBLE_DEVICES",
            Direction::None,
            None,
            "Choose the GPU by CUDA_VISIBLE_DEVICES and leave the engine's device at its default; 0.7.1 and 0.7.2 measure device 0 whatever `device=\"cuda:N\"` says.",
        ))
    })
}

/// The share is not free at the start (0.9 on).
pub(super) fn share_not_free(case: &Case<'_>) -> Option<Found> {
    let facts = case.facts;
    let (failure, ()) = first(facts, |failure| matches!(failure, Failure::ShareNotFree { .. }).then_some(()))?;
    let check = inputs::share_not_free(facts)?;
    let numbers = check.free.as_ref().zip(check.total.as_ref()).map(|(free, total)| (free.figure, total.figure));
    let total = check.total.as_ref().map(|total| total.figure);
    let is_unified = facts.message(crate::explain::spoken::UNIFIED).is_some() || total.is_some_and(|total| UNIFIED.contains(&total.value));
    let Some((free, total)) = numbers else {
        let class = if is_unified { CauseClass::PlatformMisreports } else { CauseClass::OtherProcessHoldsMemory };
        let text = "Less was free at the start than the share asks for; the line does not say how much";
        let found = Found::new(class, Certainty::Possible, text, [failure.place.clone()]);
        return Some(if is_unified { found.advise(page_cache(None)) } else { found });
    };
    let most = inputs::as_share(free, total)?;
    let held = minus(total, free);
    let short = check.share.map(|share| minus(times(total, share), free));
    let device = check.device.map_or_else(String::new, |device| format!(" of cuda:{device}"));
    let asked = check
        .share
        .map_or_else(String::new, |share| format!(", and a share of {} asks for {} GiB", fraction(share), decimal(share * total.value, 2)));
    let short = short.map_or_else(String::new, |short| format!(" (short by {})", gib_or_mib(short.value)));
    let numbers = format!("{} of {} GiB{device} were free at the start{asked}{short}", decimal(free.value, 2), decimal(total.value, 2));
    let is_listed = facts.message(message::PROCESS).is_some();
    let evidence = [failure.place.clone()];
    let found = match () {
        () if is_unified => return Some(unified(facts, &numbers, most, held.value, evidence)),
        () if held.high <= BASELINE.max(0.04 * total.value) => {
            let text =
                format!("{numbers}: the {} GiB that are missing are what contexts and a display hold of any card", decimal(held.value, 2));
            Found::new(CauseClass::ContextBaseline, Certainty::Likely, text, evidence).advise(lower(most))
        }
        () => {
            let (class, who) = if is_listed {
                (CauseClass::LeakedPreviousRun, "an engine of an earlier start holds")
            } else {
                (CauseClass::OtherProcessHoldsMemory, "other processes hold")
            };
            let text = format!("{numbers}: {who} {} GiB of the card", decimal(held.value, 2));
            Found::new(class, Certainty::Likely, text, evidence).advise(free_first(most))
        }
    };
    let said = failure.message.contains("Decrease GPU memory utilization");
    let against = "The engine advises to decrease the share: that passes the check, but whether the weights fit into it is not known before they are loaded";
    Some(if said { found.against(against) } else { found })
}

/// Which share passes, where something else holds the card.
fn free_first(most: bystander_model::budget::Figure) -> Advice {
    let text = format!(
        "Free the card first: look for processes titled VLLM:: or sglang:: (also cut to 15 characters), and for GPU pids of containers that are gone. No share is right while that is open; the highest that passes the check as it is is {}.",
        fraction(floor4(most.value))
    );
    Advice { knob: advice::SHARE.to_owned(), direction: Direction::None, break_even: Some(most), recommended: None, gives: None, text }
}

fn lower(most: bystander_model::budget::Figure) -> Advice {
    let share = below(most.low);
    let text = format!(
        "The highest share that passes is {}; {} leaves room for what varies from start to start.",
        fraction(floor4(most.value)),
        fraction(share)
    );
    Advice {
        knob: advice::SHARE.to_owned(),
        direction: Direction::Down,
        break_even: Some(most),
        recommended: Some(share),
        gives: None,
        text,
    }
}

/// What to do about page cache that counts as used.
fn page_cache(reclaimable: Option<f64>) -> Advice {
    let text = match reclaimable {
        Some(gib) => format!(
            "Drop the page cache (`echo 3 > /proc/sys/vm/drop_caches`) before the start: MemAvailable is {} GiB above what CUDA calls free; no share has to change.",
            decimal(gib, 2)
        ),
        None => "Compare MemAvailable of the host with what CUDA calls free: what is above it is page cache, which dropping it gives back; what is left is a floor of the platform, the same at each boot.".to_owned(),
    };
    advice::turn("", Direction::None, None, text)
}

/// Host and GPU share one memory: what is not free may be the page cache, or what the platform keeps.
fn unified(facts: &Facts, numbers: &str, most: bystander_model::budget::Figure, held: f64, evidence: [crate::line::Place; 1]) -> Found {
    let available = inputs::server(facts, amount::HOST_AVAILABLE).map(|host| host.figure.value);
    let free = inputs::free(facts, None).map(|free| free.figure.value);
    let reclaimable = available.zip(free).map(|(available, free)| available - free).filter(|gib| *gib > 2.0);
    let cache = page_cache(reclaimable);
    let lower = lower(most);
    let certainty = if reclaimable.is_some() { Certainty::Shown } else { Certainty::Likely };
    let what = if reclaimable.is_some() { "page cache that can be reclaimed" } else { "page cache, or what the platform keeps for itself" };
    let text = format!(
        "{numbers}: GPU and host share one memory here, and {} GiB of it count as used that are {what}, not a leak",
        decimal(held, 2)
    );
    let found = Found::new(CauseClass::PlatformMisreports, certainty, text, evidence);
    // A few tenths of the memory are no floor of any platform.
    if reclaimable.is_some() || most.value < 0.8 { found.advise(cache).advise(lower) } else { found.advise(lower).advise(cache) }
}

/// Free memory grew during the profile run.
pub(super) fn others_freed(case: &Case<'_>) -> Option<Found> {
    let (failure, (initial, current)) =
        first(case.facts, |failure| if let Failure::Grew { initial, current } = failure { Some((initial, current)) } else { None })?;
    let grew = minus(current, initial);
    let text = format!(
        "{} GiB became free on the card while the engine measured its own needs ({} to {} GiB): another process released them, and the measurement is worth nothing",
        decimal(grew.value, 2),
        decimal(initial.value, 2),
        decimal(current.value, 2)
    );
    let again =
        "Start again when nothing else starts or stops on the card; where host and GPU share one memory, the page cache alone can do it.";
    Some(Found::new(CauseClass::OtherProcessHoldsMemory, Certainty::Shown, text, [failure.place.clone()]).advise(advice::turn(
        "",
        Direction::None,
        None,
        again,
    )))
}
