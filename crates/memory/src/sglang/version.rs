//! Which versions of SGLang print what was seen; no line of its log states the version.
//!
//! Ranges are those of the published releases.

use std::sync::LazyLock;

use regex::Regex;

use crate::version::{Mark, Release, Versions};

const fn mark(text: &'static str, low: Release, high: Release) -> Mark {
    Mark { text, low, high }
}

const OLDEST: Release = Release::OLDEST;
const NEWEST: Release = Release::NEWEST;

/// 0.5.x.
const fn five(patch: u32) -> Release {
    Release(0, 5, patch)
}

/// Texts, and the releases that print them.
const MARKS: [Mark; 32] = [
    mark("server_args=ServerArgs(", OLDEST, five(18)),
    mark("server_args={'", five(19), NEWEST),
    mark("swa_full_tokens_ratio", Release(0, 4, 10), NEWEST),
    mark("mamba_full_memory_ratio", five(4), NEWEST),
    mark("enable_piecewise_cuda_graph", OLDEST, five(9)),
    mark("disable_piecewise_cuda_graph", five(10), five(13)),
    mark("cuda_graph_config", five(14), NEWEST),
    mark("available_gpu_mem=", Release(0, 4, 8), NEWEST),
    mark("Init torch distributed ends. elapsed=", five(9), five(20)),
    mark("Init torch distributed ends. mem usage=", OLDEST, five(8)),
    mark("Memory baseline taken.", five(21), NEWEST),
    mark("KV Cache is allocated. dtype:", five(13), NEWEST),
    mark("KV Cache is allocated. #tokens:", OLDEST, five(12)),
    mark("Full KV Cache is allocated", five(17), NEWEST),
    mark("VA upper bound. dtype:", five(16), NEWEST),
    mark("Current value: self.server_args.mem_fraction_static=", five(3), five(9)),
    mark("Current value: mem_fraction_static=", five(10), five(10)),
    mark("model_runner_kv_cache_mixin.py", five(7), five(15)),
    mark("pool_configurator.py", five(11), NEWEST),
    mark("kv_cache_configurator.py", five(16), NEWEST),
    mark("distributed/bootstrap.py", five(16), NEWEST),
    mark("Loaded weights leave no GPU memory for the KV cache", five(14), NEWEST),
    mark("Using KV cache dtype:", five(3), five(12)),
    mark("Use Sliding window memory pool", Release(0, 4, 10), five(6)),
    mark("Use sliding window memory pool", five(7), NEWEST),
    mark("SWAKVPool mem usage:", five(4), NEWEST),
    mark("DSV4 memory calculation:", five(12), NEWEST),
    mark("of the KV budget for post-sizing multimodal", five(18), NEWEST),
    mark("Capture cuda graph begin.", OLDEST, five(13)),
    mark("All Reduce config: symmetric_memory", five(16), NEWEST),
    mark("Custom allreduce v2 initialized successfully", five(10), five(13)),
    mark("KV cache pool is full. Retract requests", Release(0, 4, 8), NEWEST),
];

/// Any of the texts, to pass over most lines at once.
static ANY: LazyLock<Regex> = LazyLock::new(|| {
    let texts: Vec<String> = texts().map(regex::escape).collect();
    Regex::new(&texts.join("|")).expect("escaped literals")
});

/// What lines hold that tell of a version.
fn texts() -> impl Iterator<Item = &'static str> {
    MARKS.iter().map(|mark| mark.text).chain(["Load weight end", "CUDA graph begin", "cuda graph end"])
}

/// The releases that the lines so far allow.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fingerprint {
    versions: Versions,
    seen: u64,
}

impl Fingerprint {
    /// Looks at a line; `place` is where it stands, such as `stderr:9`.
    pub(crate) fn line(&mut self, text: &str, place: impl Fn() -> String) {
        if !ANY.is_match(text) {
            return;
        }
        for (at, mark) in MARKS.iter().enumerate() {
            if self.seen & (1 << at) == 0 && text.contains(mark.text) {
                self.seen |= 1 << at;
                self.versions.narrow(mark.low, mark.high, || format!("{}: {}", place(), mark.text));
            }
        }
        if let Some((low, high, what)) = weight_line(text).or_else(|| graph_line(text)) {
            self.versions.narrow(low, high, || format!("{}: {what}", place()));
        }
    }

    /// Takes the release that somebody says.
    pub(crate) fn state(&mut self, version: &str, from: impl FnOnce() -> String) {
        self.versions.state(version, from);
    }

    /// The releases.
    pub(crate) const fn versions(&self) -> &Versions {
        &self.versions
    }
}

/// The line after the weights: no elapsed time up to 0.5.8, both in 0.5.9, no element type from 0.5.10.
fn weight_line(text: &str) -> Option<(Release, Release, &'static str)> {
    // A line that was cut says nothing of what it lacks.
    let rest = &text[text.find("Load weight end. ")?..];
    rest.contains("avail mem=").then_some(())?;
    let range = match (rest.contains("elapsed="), rest.contains("dtype=")) {
        (false, true) => (OLDEST, five(8)),
        (true, true) => (five(9), five(9)),
        (true, false) => (five(10), NEWEST),
        (false, false) => return None,
    };
    Some((range.0, range.1, "Load weight end."))
}

/// Lines of the capture: the kind of graph is named from 0.5.14 on, and before that the order of two fields swapped once.
fn graph_line(text: &str) -> Option<(Release, Release, &'static str)> {
    if let Some(at) = text.find("CUDA graph begin. backend=") {
        return text[..at].contains("Capture ").then_some((five(14), NEWEST, "Capture … CUDA graph begin."));
    }
    let rest = &text[text.find("Capture cuda graph end. ")?..];
    let (usage, left) = (rest.find("mem usage=")?, rest.find("avail mem=")?);
    let range = if left < usage { (OLDEST, Release(0, 4, 6)) } else { (Release(0, 4, 8), five(13)) };
    Some((range.0, range.1, "Capture cuda graph end."))
}

#[cfg(test)]
mod tests {
    use super::Fingerprint;

    fn told(lines: &[&str]) -> String {
        let mut fingerprint = Fingerprint::default();
        lines.iter().for_each(|line| fingerprint.line(line, || "log:1".into()));
        fingerprint.versions().words()
    }

    #[test]
    fn each_mark_gives_its_range() {
        for (line, range) in [
            ("server_args=ServerArgs(a=1)", "0.5.18 or older"),
            ("server_args={'a': 1}", "0.5.19 or newer"),
            ("server_args={'swa_full_tokens_ratio': 0.8, 'cuda_graph_config': 1}", "0.5.19 or newer"),
            ("Load weight end. type=L, dtype=torch.bfloat16, avail mem=1.00 GB", "0.5.8 or older"),
            ("Load weight end. elapsed=1 s, type=L, dtype=torch.bfloat16, avail mem=1.00 GB", "0.5.9"),
            ("Load weight end. elapsed=1 s, type=L, quant=fp8, avail mem=1.00 GB", "0.5.10 or newer"),
            ("Capture cuda graph end. Time elapsed: 19.50 s. mem usage=6.19 GB. avail mem=5.24 GB.", "0.4.8 to 0.5.13"),
            ("Capture cuda graph end. Time elapsed: 19.50 s. avail mem=5.24 GB. mem usage=6.19 GB.", "0.4.6 or older"),
            ("Capture target decode CUDA graph begin. backend=full, num_tokens_per_req=1, avail mem=9.00 GB", "0.5.14 or newer"),
            ("  File \"/x/model_runner_kv_cache_mixin.py\", line 9, in init_memory_pool", "0.5.7 to 0.5.15"),
            ("RuntimeError: … Current value: self.server_args.mem_fraction_static=0.55", "0.5.3 to 0.5.9"),
            ("Memory baseline taken. mem usage=0.50 GB", "0.5.21 or newer"),
        ] {
            assert_eq!(told(&[line]), range, "{line}");
        }
    }

    #[test]
    fn the_story_s_release_is_told_from_its_traceback_and_its_message() {
        let range = told(&[
            "server_args=ServerArgs(enable_piecewise_cuda_graph=False, mamba_full_memory_ratio=0.9)",
            "  File \"/sgl/model_runner_kv_cache_mixin.py\", line 416, in init_memory_pool",
            "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: self.server_args.mem_fraction_static=0.55",
        ]);
        assert_eq!(range, "0.5.7 to 0.5.9");
    }
}
