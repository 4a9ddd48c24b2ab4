//! Hybrid models: caches of states and of sliding windows beside the KV cache.

use bystander_model::memory::{Advice, CauseClass, Certainty, Direction};

use super::sizing::failure_with;
use crate::explain::{Case, Found};
use crate::sglang::advice::{knob, not_the_fraction};

/// What makes the state cache smaller.
pub(super) fn smaller() -> Vec<Advice> {
    vec![
        knob(
            "max_running_requests",
            Direction::Down,
            "Each running request has a slot of states; fewer of them leave more for the KV cache.",
        ),
        knob("mamba_full_memory_ratio", Direction::Down, "The share of states against that of the KV cache (0.9 where it is not given)."),
    ]
}

/// The states take all, or leave none for themselves.
pub(super) fn no_room(case: &Case<'_>) -> Option<Found> {
    let (failure, text) = [
        (
            "Not enough GPU memory for hybrid (mamba",
            "What the fraction leaves beside the weights holds not one slot of the state cache that this hybrid model needs",
        ),
        ("state cache is too small to serve any requests", "The state cache of this hybrid model came out too small for a single request"),
        (
            "Not enough memory for mamba",
            "What the fraction leaves beside the weights holds not one slot of the state cache that this hybrid model needs",
        ),
    ]
    .into_iter()
    .find_map(|(said, text)| failure_with(case, said).map(|failure| (failure, text)))?;
    let found = Found::new(CauseClass::HybridStateCache, Certainty::Shown, text, [failure.place.clone()]);
    let up = knob(
        "mem_fraction_static",
        Direction::Up,
        "States and KV cache share what it leaves beside the weights; it is too little for both, as far as graphs and activations still fit.",
    );
    let states =
        knob("mamba_full_memory_ratio", Direction::Up, "The share of states against that of the KV cache (0.9 where it is not given).");
    let slots = knob(
        "max_running_requests",
        Direction::Down,
        "With speculative decoding each running request takes states for all draft tokens before the cache is sized. Without the radix cache a request needs one slot of states instead of three or more.",
    );
    Some(found.advise(up).advise(states).advise(slots))
}

/// The pool of sliding windows cannot hold a request, or leaves nothing for the full layers.
pub(super) fn window(case: &Case<'_>) -> Option<Found> {
    if let Some(failure) = failure_with(case, "cannot hold even one request").filter(|failure| failure.message.contains("SWA pool")) {
        let text = "The pool of the sliding-window layers cannot hold even one request";
        let advice = knob(
            "swa_full_tokens_ratio",
            Direction::Up,
            "A larger share for the sliding-window layers, or a higher fraction, makes room for one request.",
        );
        return Some(Found::new(CauseClass::KvBelowContext, Certainty::Shown, text, [failure.place.clone()]).advise(advice));
    }
    let failure = failure_with(case, "leaves no room for the full KV pool")?;
    let text = "The pool that is set aside for sliding windows leaves no room for the layers with full attention";
    let advice =
        knob("max_running_requests", Direction::Down, "The pool of windows grows with the requests at once; fewer of them leave room.");
    let also = not_the_fraction("A higher fraction helps only if graphs and activations still fit.");
    Some(Found::new(CauseClass::PoolUndersized, Certainty::Shown, text, [failure.place.clone()]).advise(advice).advise(also))
}
