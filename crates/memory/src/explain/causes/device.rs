//! A device that ran out of memory: what PyTorch's message says of the card, of this process and of others.

use bystander_model::budget::Figure;
use bystander_model::memory::{CauseClass, Certainty};

use crate::explain::facts::Failure;
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
pub(crate) fn out_of_memory_with_room(case: &Case<'_>) -> Option<Found> {
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
    Some(Found::new(CauseClass::PlatformMisreports, Certainty::Likely, text, [failure.place.clone()]))
}
