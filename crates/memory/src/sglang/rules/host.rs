//! Host memory that SGLang itself asks for.

use bystander_model::memory::{CauseClass, Certainty, Direction};

use crate::explain::{Case, Found, spoken};
use crate::figures::whole;
use crate::sglang::advice::knob;

/// Whether a kill is the likelier end than anything that was printed.
pub(super) fn was_killed(case: &Case<'_>) -> bool {
    case.facts.message(spoken::OOM_KILLED).or_else(|| case.facts.message(spoken::KILLED)).is_some()
}

/// The start ends without a word, and a cache on the host was asked for: the silence is what is left of a rank that was killed.
pub(super) fn too_much_on_the_host(case: &Case<'_>) -> Option<Found> {
    let settings = &case.facts.settings;
    let size = settings.number("hicache_size").filter(|size| *size > 0.0)?;
    if case.facts.served.is_some() || case.facts.failure().is_some() || settings.flag("enable_hierarchical_cache") == Some(false) {
        return None;
    }
    let ranks = settings.number("tp_size").unwrap_or(1.0) * settings.number("pp_size").unwrap_or(1.0);
    let text = format!(
        "The start ends without an error, and its cache on the host asks for {} GB on each of {} ranks, {} GB in all: where a container allows less, a rank is killed and the others wait for it",
        whole(size),
        whole(ranks),
        whole(size * ranks)
    );
    let place = settings.setting("hicache_size").map(|setting| setting.place.clone());
    let killed = case.facts.message(spoken::KILLED).map(|message| message.place.clone());
    let certainty = if was_killed(case) { Certainty::Likely } else { Certainty::Possible };
    let advice = knob(
        "hicache_size",
        Direction::Down,
        "Keep all ranks together below the memory limit of the container; oom_kill in its memory.events, and the exit signal of every rank, tell for sure.",
    );
    Some(Found::new(CauseClass::HostMemory, certainty, text, place.into_iter().chain(killed)).advise(advice))
}
