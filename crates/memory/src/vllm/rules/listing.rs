//! What lists of processes and cards beside a log show.

use bystander_model::memory::{CauseClass, Certainty, Direction};

use crate::explain::{Case, Found};
use crate::figures::{decimal, fraction, whole};
use crate::vllm::advice;
use crate::vllm::inputs;
use crate::vllm::names::{amount, message};

/// Processes of an engine in a list, while none serves here.
pub(super) fn left_over(case: &Case<'_>) -> Option<Found> {
    let facts = case.facts;
    let found = facts.message(message::PROCESS)?;
    if facts.served.is_some() || facts.phase() > bystander_model::memory::Phase::Unknown && facts.failures.is_empty() {
        return None;
    }
    let titles: Vec<&str> = facts.messages_of(message::PROCESS).map(|message| message.text.as_str()).collect();
    let held =
        inputs::server(facts, amount::HELD).map_or_else(String::new, |held| format!(", which holds {} GiB", decimal(held.figure.value, 2)));
    let text = format!(
        "{} on the GPU ({}{held}): left over from an earlier run unless this run started them",
        if titles.len() == 1 { "A process of an engine is".to_owned() } else { format!("{} processes of an engine are", titles.len()) },
        titles.join(", ")
    );
    let end = "End them by their pids: a port that is free and a container that is removed do not show that they are gone, and a parent of 1 is no condition. Titles are cut to 15 characters in some lists (`VLLM::EngineCor`).";
    Some(Found::new(CauseClass::LeakedPreviousRun, Certainty::Likely, text, [found.place.clone()]).advise(advice::turn(
        "",
        Direction::None,
        None,
        end,
    )))
}

/// The same card with graphs and without.
pub(super) fn graphs_by_difference(case: &Case<'_>) -> Option<Found> {
    let facts = case.facts;
    let (with, without, total) = (
        inputs::server_first(facts, amount::CARD_USED)?,
        inputs::server_first(facts, amount::CARD_USED_EAGER)?,
        inputs::server_first(facts, amount::CARD_TOTAL)?,
    );
    let mib = |gib: f64| whole(gib * 1024.0);
    let graphs = with.figure.value - without.figure.value;
    if graphs <= 0.0 {
        return None;
    }
    let share = inputs::share(facts, None).map_or(0.9, |share| share.figure.value);
    let text = format!(
        "CUDA graphs take {} MiB: {} MiB are used with them and {} without, where a share of {} is {} of {} MiB; up to 0.20 they come on top of it",
        mib(graphs),
        mib(with.figure.value),
        mib(without.figure.value),
        fraction(share),
        mib(share * total.figure.value),
        mib(total.figure.value)
    );
    let place = facts.ranks.iter().find_map(|rank| rank.last(amount::CARD_USED)).map(|used| used.place.clone());
    let down = advice::turn(
        advice::SHARE,
        Direction::Down,
        None,
        "The share is a plan for weights and KV cache, not a cap of the card: lower it by what graphs take, or capture fewer.",
    );
    Some(Found::new(CauseClass::GraphCaptureHeadroom, Certainty::Likely, text, place).advise(down))
}
