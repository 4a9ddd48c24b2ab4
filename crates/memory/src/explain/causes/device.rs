//! A device that ran out of memory: what PyTorch's message says of the card, of this process and of others.

use bystander_model::budget::Figure;
use bystander_model::memory::{Advice, CauseClass, Certainty, Direction, Phase};

use crate::explain::facts::Failure;
use crate::explain::judge::phase_words;
use crate::explain::spoken::NOBODY;
use crate::explain::{Case, Found};
use crate::figures::{decimal, rounded};

/// The numbers of PyTorch's message, in GiB.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OutOfMemory {
    /// What was asked for.
    pub tried: Option<Figure>,
    /// The GPU's number as the process sees it.
    pub gpu: Option<u32>,
    /// The card.
    pub total: Option<Figure>,
    /// What was free.
    pub free: Option<Figure>,
    /// What this process held.
    pub own: Option<Figure>,
}

impl OutOfMemory {
    /// Reads the message of an error; `None` for one that is not about the memory of a device.
    #[must_use]
    pub fn of(failure: &Failure) -> Option<Self> {
        let message = failure.message.as_str();
        let said = ["CUDA out of memory", "HIP out of memory", "XPU out of memory", "CUDA error: out of memory"]
            .iter()
            .any(|said| message.contains(said));
        (failure.kind.ends_with("OutOfMemoryError") || said).then(|| Self::read(message))
    }

    /// Reads the numbers that a text holds.
    #[must_use]
    pub fn read(message: &str) -> Self {
        let gpu = message.find("GPU ").and_then(|at| message[at + 4..].split(' ').next()).and_then(|number| number.parse().ok());
        let amount = |names: &[&str]| names.iter().find_map(|name| amount_after(message, name));
        Self {
            tried: amount(&["Tried to allocate "]),
            gpu,
            total: amount(&["total capacity of ", "total capacty of "]),
            free: amount(&[" of which ", "; "]).filter(|_| message.contains(" of which ")),
            own: amount(&["this process has ", "Process has "]),
        }
    }

    /// What neither is free nor held by this process.
    #[must_use]
    pub fn others(&self) -> Option<Figure> {
        let (total, free, own) = (self.total?, self.free?, self.own?);
        Some(Figure {
            value: total.value - free.value - own.value,
            low: total.low - free.high - own.high,
            high: total.high - free.low - own.low,
        })
    }
}

/// An amount with its unit, in GiB.
#[must_use]
pub fn amount_after(message: &str, name: &str) -> Option<Figure> {
    let rest = &message[message.find(name)? + name.len()..];
    let figure = rounded(rest)?;
    let unit = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').trim_start();
    let scale = match unit.get(..3)? {
        "GiB" => 1.0,
        "MiB" => 1.0 / 1024.0,
        "KiB" => 1.0 / 1_048_576.0,
        _ => return None,
    };
    Some(Figure { value: figure.value * scale, low: figure.low * scale, high: figure.high * scale })
}

/// More was free than was asked for: the driver refuses what it says is there.
#[must_use]
pub fn out_of_memory_with_room(case: &Case<'_>) -> Option<Found> {
    let failure = case.facts.failure()?;
    let oom = OutOfMemory::of(failure)?;
    let (tried, free) = (oom.tried?, oom.free?);
    if free.low < tried.high {
        return None;
    }
    let text = format!(
        "{} GiB were refused although {} GiB are said to be free: the platform cannot hand out what it reports (WSL2, a virtual GPU, or a limit on what may be resident)",
        decimal(tried.value, 2),
        decimal(free.value, 2)
    );
    let wsl = case.facts.message(super::super::spoken::WSL).map(|message| message.place.clone());
    let certainty = if wsl.is_some() { Certainty::Shown } else { Certainty::Likely };
    let mut advice = no_knob(
        "Lower the engine's share of the card until it stays below what may be resident. On WSL2 look for dxgkio_make_resident with -12 in dmesg; this is not fragmentation.",
    );
    advice.direction = Direction::Down;
    let places = [failure.place.clone()].into_iter().chain(wsl);
    Some(Found::new(CauseClass::PlatformMisreports, certainty, text, places).advise(advice))
}

/// The failure and its numbers, where the first failure is a device out of memory.
#[must_use]
pub fn first<'a>(case: &Case<'a>) -> Option<(&'a Failure, OutOfMemory)> {
    let failure = case.facts.failure()?;
    Some((failure, OutOfMemory::of(failure)?))
}

/// Advice that no fraction, and no other knob of the engine, helps.
#[must_use]
pub fn no_knob(text: impl Into<String>) -> Advice {
    Advice { knob: String::new(), direction: Direction::None, break_even: None, recommended: None, gives: None, text: text.into() }
}

/// Several ranks on one card, the others empty: a small process on a card that is full of others.
#[must_use]
pub fn wrong_device(case: &Case<'_>) -> Option<Found> {
    let (failure, oom) = first(case)?;
    let (others, own, total) = (oom.others()?, oom.own?, oom.total?);
    let size = |names: [&str; 2]| names.iter().find_map(|name| case.facts.settings.number(name));
    let tp = size(["tp_size", "tensor_parallel_size"]);
    let ranks = tp.map(|tp| tp * size(["pp_size", "pipeline_parallel_size"]).unwrap_or(1.0));
    let rank = case.facts.ranks.iter().find(|rank| rank.label == failure.label && !failure.label.is_empty()).and_then(|rank| rank.rank);
    let is_foreign_card = rank.zip(oom.gpu).is_some_and(|(rank, gpu)| rank != gpu) && ranks.is_some_and(|ranks| ranks > 1.0);
    // A neighbour that fills the whole card would be seen before anything is loaded; ranks that share a card fill it together.
    let least = if ranks.is_none() { 0.9 } else { 0.5 };
    if others.low < least * total.value || ranks.is_some_and(|ranks| ranks <= 1.0) || own.value > 0.25 * total.value {
        return None;
    }
    let text = format!(
        "This process holds {} GiB of a card of {} GiB that is full: {} GiB are held by others, as where several ranks of one server use the same device while other cards stay empty",
        decimal(own.value, 2),
        decimal(total.value, 2),
        decimal(others.value, 2)
    );
    let advice = no_knob(
        "Look at nvidia-smi: if the other cards are empty, the mapping of ranks to devices is wrong (CUDA_VISIBLE_DEVICES, --base-gpu-id, device indices); if this card alone is to be used, another process holds it. It is no matter of sizing.",
    );
    let certainty = if is_foreign_card { Certainty::Likely } else { Certainty::Possible };
    Some(Found::new(CauseClass::WrongDevice, certainty, text, [failure.place.clone()]).advise(advice))
}

/// Others hold a good part of the card.
#[must_use]
pub fn held_by_others(case: &Case<'_>) -> Option<Found> {
    let (failure, oom) = first(case)?;
    let (others, own, total) = (oom.others()?, oom.own?, oom.total?);
    if others.low < (0.1 * total.value).max(1.5) {
        return None;
    }
    let text = format!(
        "The card ran out of memory during {}, and {} GiB of its {} GiB are held by others, {} GiB by this process",
        phase_words(failure.phase),
        decimal(others.value, 2),
        decimal(total.value, 2),
        decimal(own.value, 2)
    );
    let advice = no_knob(
        "Find who holds the rest (nvidia-smi shows the processes) and end it, or use another card; no fraction helps as long as it is there.",
    );
    Some(Found::new(CauseClass::OtherProcessHoldsMemory, Certainty::Likely, text, [failure.place.clone()]).advise(advice))
}

/// The process holds the card alone, and what it asked for beside its planned share did not fit. Of no engine's words nothing more can be said.
#[must_use]
pub fn outside_of_the_share(case: &Case<'_>) -> Option<Found> {
    let (failure, oom) = first(case)?;
    let (own, total) = (oom.own?, oom.total?);
    // An engine that tells its phases, and has told none, may have been at its weights: they need the opposite of what graphs need.
    let is_untold = case.facts.engine != NOBODY && failure.phase < Phase::WeightLoad && case.facts.ranks.is_empty();
    if own.value < 0.5 * total.value || is_untold {
        return None;
    }
    let short = oom.tried.zip(oom.free).map(|(tried, free)| tried.value - free.value).filter(|short| *short > 0.0);
    let missing = short.map_or_else(String::new, |short| {
        format!("; {} GiB are missing, which is {} of the card", decimal(short, 2), decimal(short / total.value, 4))
    });
    let text = format!(
        "This process holds {} of {} GiB itself, and what it allocates outside of its planned share does not fit{missing}",
        decimal(own.value, 2),
        decimal(total.value, 2)
    );
    let mut advice = no_knob(
        "Lower the engine's fraction by at least what is missing, or make smaller what is allocated beside it (graphs, activations, symmetric memory).",
    );
    advice.direction = Direction::Down;
    Some(Found::new(CauseClass::HeadroomOutsideStatic, Certainty::Possible, text, [failure.place.clone()]).advise(advice))
}
