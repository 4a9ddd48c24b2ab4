//! Which versions of SGLang print what was seen; no line of its log states the version.
//!
//! Ranges are those of the published releases. An empty intersection, as with forks and builds of the main branch, is "unknown".

use std::cmp::{max, min};

use std::sync::LazyLock;

use bystander_model::budget::VersionRange;
use regex::Regex;

/// A release `0.MINOR.PATCH`.
pub(crate) type Release = (u32, u32);

const OLDEST: Release = (0, 0);
const NEWEST: Release = (u32::MAX, u32::MAX);

/// Texts, and the releases that print them.
const MARKS: [(&str, Release, Release); 21] = [
    ("server_args=ServerArgs(", OLDEST, (5, 18)),
    ("server_args={'", (5, 19), NEWEST),
    ("swa_full_tokens_ratio=", (4, 10), NEWEST),
    ("mamba_full_memory_ratio=", (5, 4), NEWEST),
    ("enable_piecewise_cuda_graph=", OLDEST, (5, 9)),
    ("disable_piecewise_cuda_graph=", (5, 10), (5, 13)),
    ("cuda_graph_config=", (5, 14), NEWEST),
    ("available_gpu_mem=", (4, 8), NEWEST),
    ("Init torch distributed ends. elapsed=", (5, 9), (5, 20)),
    ("Init torch distributed ends. mem usage=", OLDEST, (5, 8)),
    ("Memory baseline taken.", (5, 21), NEWEST),
    ("KV Cache is allocated. dtype:", (5, 13), NEWEST),
    ("KV Cache is allocated. #tokens:", OLDEST, (5, 12)),
    ("Current value: self.server_args.mem_fraction_static=", (5, 3), (5, 9)),
    ("Current value: mem_fraction_static=", (5, 10), (5, 10)),
    ("model_runner_kv_cache_mixin.py\"", (5, 7), (5, 15)),
    ("pool_configurator.py\"", (5, 11), NEWEST),
    ("kv_cache_configurator.py\"", (5, 16), NEWEST),
    ("distributed/bootstrap.py\"", (5, 16), NEWEST),
    ("Loaded weights leave no GPU memory for the KV cache", (5, 14), NEWEST),
    ("Using KV cache dtype:", (5, 3), (5, 12)),
];

/// Any of the texts, to pass over most lines at once.
static ANY: LazyLock<Regex> = LazyLock::new(|| {
    let texts: Vec<String> = texts().map(regex::escape).collect();
    Regex::new(&texts.join("|")).expect("escaped literals")
});

/// What lines hold that tell of a version.
pub(crate) fn texts() -> impl Iterator<Item = &'static str> {
    MARKS.iter().map(|(mark, ..)| *mark).chain(["Load weight end"])
}

/// The releases that the lines so far allow.
#[derive(Debug, Clone)]
pub(crate) struct Fingerprint {
    low: Release,
    high: Release,
    from: Vec<String>,
    seen: [bool; MARKS.len()],
}

impl Default for Fingerprint {
    fn default() -> Self {
        Self { low: OLDEST, high: NEWEST, from: Vec::new(), seen: [false; MARKS.len()] }
    }
}

impl Fingerprint {
    /// Looks at a line; `place` is where it stands, such as `stderr:9`.
    pub(crate) fn line(&mut self, text: &str, place: impl Fn() -> String) {
        if !ANY.is_match(text) {
            return;
        }
        let place = place();
        for (at, (mark, low, high)) in MARKS.iter().enumerate() {
            if !self.seen[at] && text.contains(mark) {
                self.seen[at] = true;
                self.narrow(*low, *high, format!("{place}: {mark}"));
            }
        }
        if let Some((low, high)) = weight_line(text) {
            self.narrow(low, high, format!("{place}: Load weight end."));
        }
    }

    fn narrow(&mut self, low: Release, high: Release, from: String) {
        if low <= self.low && high >= self.high {
            return;
        }
        self.low = max(self.low, low);
        self.high = min(self.high, high);
        self.from.push(from);
    }

    /// Whether the lines allow at least one release.
    pub(crate) fn is_possible(&self) -> bool {
        self.low <= self.high
    }

    /// Whether every allowed release lies outside of a range.
    pub(crate) fn excludes(&self, low: Release, high: Release) -> bool {
        self.is_possible() && (self.high < low || self.low > high)
    }

    /// Whether no allowed release lies outside of a range.
    pub(crate) fn is_within(&self, low: Release, high: Release) -> bool {
        self.is_possible() && self.low >= low && self.high <= high
    }

    /// The range for a report.
    pub(crate) fn range(&self) -> VersionRange {
        let name =
            |release: Release, open: Release| (self.is_possible() && release != open).then(|| format!("0.{}.{}", release.0, release.1));
        VersionRange { low: name(self.low, OLDEST), high: name(self.high, NEWEST), from: self.from.clone() }
    }
}

/// The line after the weights: no elapsed time up to 0.5.8, both in 0.5.9, no element type from 0.5.10.
fn weight_line(text: &str) -> Option<(Release, Release)> {
    let rest = &text[text.find("Load weight end. ")?..];
    let (elapsed, dtype) = (rest.contains("elapsed="), rest.contains("dtype="));
    match (elapsed, dtype) {
        (false, true) => Some((OLDEST, (5, 8))),
        (true, true) => Some(((5, 9), (5, 9))),
        (true, false) => Some(((5, 10), NEWEST)),
        (false, false) => None,
    }
}
