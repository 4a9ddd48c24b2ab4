//! Platforms that say something else than they have, and what an earlier run left behind.

use bystander_model::memory::{CauseClass, Certainty};

use super::device::{OutOfMemory, no_knob};
use crate::explain::{Case, Facts, Found, spoken};

/// Sentences on the platform, where the log names one that misreports.
#[must_use]
pub fn notes(facts: &Facts) -> Vec<String> {
    let named = [
        (spoken::WSL, "WSL2: what may be resident is less than what is reported as free"),
        (spoken::SLICE, "a slice of a GPU or a virtual GPU: sizes of the whole card do not hold"),
        (
            spoken::UNIFIED,
            "unified memory: GPU and host share it, and what is free moves with everything on the machine, the page cache included",
        ),
    ];
    let said =
        named.iter().filter_map(|(name, text)| facts.message(name).map(|message| format!("The log names {text} ({}).", message.place)));
    said.collect()
}

/// Memory ran out on a platform that misreports it.
#[must_use]
pub fn misreports(case: &Case<'_>) -> Option<Found> {
    let failure = case.facts.failure()?;
    let is_memory = OutOfMemory::of(failure).is_some() || failure.message.contains("memory");
    let message =
        case.facts.message(spoken::WSL).or_else(|| case.facts.message(spoken::SLICE)).or_else(|| case.facts.message(spoken::UNIFIED))?;
    if !is_memory {
        return None;
    }
    let text = "Memory ran out on a platform that does not report it as a card of its own does (WSL2, a slice of a GPU, or memory shared with the host)";
    let advice = no_knob(
        "Compare what the CUDA runtime says is free with MemAvailable of the host; on unified memory the page cache counts as used until it is dropped. Sum the shares of all engines on it before one is raised.",
    );
    Some(
        Found::new(CauseClass::PlatformMisreports, Certainty::Possible, text, [message.place.clone(), failure.place.clone()])
            .advise(advice),
    )
}

/// The driver itself ran out.
#[must_use]
pub fn driver(case: &Case<'_>) -> Option<Found> {
    let message = case.facts.message(spoken::DRIVER_MEMORY)?;
    if case.facts.served.is_some() {
        return None;
    }
    let text =
        "The driver could not allocate memory that the platform reports as there, as on unified memory when the host takes it meanwhile";
    let advice = no_knob("Watch MemAvailable of the host by phase of the start, and leave more of the shared memory to the host.");
    Some(Found::new(CauseClass::PlatformMisreports, Certainty::Likely, text, [message.place.clone()]).advise(advice))
}

/// Processes of an engine are on the GPU that should be gone.
#[must_use]
pub fn left_behind(case: &Case<'_>) -> Option<Found> {
    let message = case.facts.message(spoken::LISTED)?;
    if case.facts.served.is_some() {
        return None;
    }
    let text = "Processes of an engine hold the GPU that belong to no server that is meant to run: a leftover of an earlier start";
    let advice = no_knob(
        "End them by their numbers, and wait until nvidia-smi no longer lists them. Look for titles (VLLM::*, sglang::*, cut to 15 characters where only comm is shown), not for ports, containers or a parent of 1.",
    );
    Some(Found::new(CauseClass::LeakedPreviousRun, Certainty::Likely, text, [message.place.clone()]).advise(advice))
}
