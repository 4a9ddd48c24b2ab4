//! What a share of the card means, release by release, and from which releases a log may be.
//!
//! Source: vLLM 0.2.5, 0.4, 0.5.4, 0.6.4 `worker/worker.py`; 0.8.5, 0.9.2, 0.11.0, 0.13.0, 0.17.1, 0.22.0, 0.25.1, 0.29.0, 0.33.0
//! `v1/worker/gpu_worker.py` and `v1/core/kv_cache_utils.py`. Between those releases the border of a change is not known.

use super::names::{amount, message, setting};
use super::reader::SERVER;
use crate::explain::Facts;
use crate::line::Line;
use crate::version::{Mark, Release, Versions};

const fn v(minor: u32, patch: u32) -> Release {
    Release(0, minor, patch)
}

/// Texts, and the releases that print them.
const MARKS: [Mark; 24] = [
    Mark { text: "Memory profiling results: ", low: v(5, 5), high: v(6, 4) },
    Mark { text: "the current vLLM instance can use", low: v(6, 5), high: v(10, 2) },
    Mark { text: "# GPU blocks: ", low: Release::OLDEST, high: v(7, 1) },
    Mark { text: "# cuda blocks: ", low: v(7, 2), high: v(10, 2) },
    Mark { text: "Loading model weights took ", low: Release::OLDEST, high: v(7, 3) },
    Mark { text: "GPU KV cache size: ", low: v(8, 0), high: Release::NEWEST },
    Mark { text: "Available KV cache memory: ", low: v(9, 0), high: Release::NEWEST },
    Mark { text: "with the models's max seq len", low: v(8, 0), high: v(17, 1) },
    Mark { text: "with the model's max seq len", low: v(17, 1), high: Release::NEWEST },
    Mark { text: "Free memory on device cuda:", low: v(13, 1), high: Release::NEWEST },
    Mark { text: "Free memory on device (", low: v(9, 0), high: Release::NEWEST },
    Mark { text: "conserving_memory", low: v(11, 0), high: Release::NEWEST },
    Mark { text: "CUDA graph memory profiling is", low: v(17, 1), high: Release::NEWEST },
    Mark { text: "default since v0.21.0", low: v(21, 0), high: Release::NEWEST },
    Mark { text: "Estimated CUDA graph memory: ", low: v(17, 1), high: Release::NEWEST },
    Mark { text: "CUDA graph pool memory: ", low: v(17, 1), high: Release::NEWEST },
    Mark { text: "torch.compile takes ", low: v(6, 5), high: v(17, 1) },
    Mark { text: "torch.compile took ", low: v(17, 1), high: Release::NEWEST },
    Mark { text: "GiB for consumed memory (weights + non-torch)", low: v(25, 2), high: Release::NEWEST },
    Mark { text: "GiB for weight, ", low: v(10, 0), high: v(29, 0) },
    Mark { text: "Failed to load model - not enough GPU memory", low: v(13, 0), high: Release::NEWEST },
    Mark { text: "Cannot auto-fit max_model_len", low: v(13, 0), high: Release::NEWEST },
    Mark { text: "Engine core initialization failed", low: v(8, 5), high: Release::NEWEST },
    Mark { text: "kv_cache_memory_bytes config", low: v(11, 0), high: Release::NEWEST },
];

/// Looks at a line for what tells its release.
pub(super) fn fingerprint(versions: &mut Versions, line: &Line<'_>, text: &str) {
    if versions.is_stated() {
        return;
    }
    for mark in MARKS.iter().filter(|mark| text.contains(mark.text)) {
        versions.narrow(mark.low, mark.high, || format!("{}: {}", line.place, mark.text.trim_end()));
    }
    let one_line = text.contains("KV cache size: ") && text.contains("Maximum concurrency for");
    if one_line {
        versions.narrow(v(25, 2), Release::NEWEST, || format!("{}: size and concurrency in one line", line.place));
    }
    match line.process {
        Some(name) if name.starts_with("EngineCore_DP") => versions.narrow(v(10, 0), Release::NEWEST, || format!("{}: {name}", line.place)),
        Some("VllmWorker") => versions.narrow(v(8, 0), v(10, 2), || format!("{}: VllmWorker", line.place)),
        _ => {}
    }
}

/// What a share of the card covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Covers {
    /// All that is used on the card, whoever uses it (up to 0.6.4, and the second engine up to 0.8).
    Card,
    /// What this process took (the first engine from 0.6.5).
    Own,
    /// What this process took, its context and communication included; the share has to be free at the start (0.9 and 0.10).
    OwnWithContext,
    /// The same, taken after context and communication were set up, which stand beside the share (0.11 to 0.20).
    OwnBesideContext,
    /// The same, and an estimate of graphs is inside (from 0.21).
    OwnWithGraphs,
}

impl Covers {
    /// Whether the start is refused where the share is not free.
    pub(crate) const fn must_be_free(self) -> bool {
        matches!(self, Self::OwnWithContext | Self::OwnBesideContext | Self::OwnWithGraphs)
    }

    /// Whether graphs are inside of the share.
    pub(crate) const fn has_graphs(self) -> bool {
        matches!(self, Self::OwnWithGraphs)
    }

    /// The meaning in words that fit after "In VERSION the share covers".
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Card => "all that is used on the card, other processes included, and graphs come on top",
            Self::Own => "what this process takes, and graphs come on top",
            Self::OwnWithContext => {
                "what this process takes, its context and communication included; it has to be free at the start, and graphs come on top"
            }
            Self::OwnBesideContext => {
                "what this process takes after its context and communication were set up; it has to be free by then, and graphs come on top"
            }
            Self::OwnWithGraphs => {
                "what this process takes after its context and communication were set up, an estimate of graphs included; it has to be free by then"
            }
        }
    }
}

/// The last release whose code was read.
pub(crate) const NEWEST_READ: Release = v(33, 99);

/// What a share means in this log; `None` where its releases differ in that and no line tells.
pub(crate) fn covers(facts: &Facts) -> Option<Covers> {
    let is_first = facts.message(message::FIRST_ENGINE).is_some();
    let says = |name: &str| facts.ranks.iter().any(|rank| rank.first(name).is_some());
    if says(amount::WITHOUT_GRAPHS) {
        return Some(Covers::OwnWithGraphs);
    }
    // An estimate may be printed and not used; the second runner makes none.
    let is_outside = facts.message(message::GRAPHS_OUTSIDE).is_some()
        || facts.message(message::SECOND_RUNNER).is_some() && !says(amount::GRAPHS_ESTIMATED);
    if is_outside {
        return Some(Covers::OwnBesideContext);
    }
    if is_first && (says(amount::PEAK_TORCH) || says(amount::PEAK)) {
        return Some(Covers::Card);
    }
    let versions = &facts.versions;
    if versions.is_up_to(v(6, 4)) {
        return Some(Covers::Card);
    }
    if is_first && (says(amount::ACTIVATION) || says(amount::REQUESTED)) && versions.is_up_to(v(10, 99)) {
        return Some(Covers::Own);
    }
    let within = |low, high| versions.is_within(low, high);
    match () {
        () if within(v(8, 0), v(8, 99)) => Some(if is_first { Covers::Own } else { Covers::Card }),
        () if within(v(9, 0), v(10, 99)) => Some(Covers::OwnWithContext),
        () if within(v(11, 0), v(20, 99)) => Some(Covers::OwnBesideContext),
        () if versions.is_from(v(21, 0)) => Some(Covers::OwnWithGraphs),
        () => None,
    }
}

/// The share that counts where none was given.
pub(crate) fn default_share(facts: &Facts) -> Option<f64> {
    // Only a list of all that was changed says that the share was not.
    facts.settings.setting(setting::ALL_CHANGES)?;
    match () {
        () if facts.versions.is_up_to(v(17, 1)) => Some(0.9),
        () if facts.versions.is_from(v(22, 0)) => Some(0.92),
        () => None,
    }
}

/// Whether a rank of the facts is the server as a whole.
pub(crate) fn is_server(label: &str) -> bool {
    label == SERVER
}
