//! How loud a line of vLLM is, and which rank wrote it: `INFO 11-29 13:03:58 [cpu_worker.py:260] …` by `Worker_TP1`.
//!
//! The process stands in front of the level from 0.9 on; before, only the workers of a parallel server are named, without their rank.

use std::sync::LazyLock;

use regex::Regex;

/// Takes the level off a message; it is empty for what was not logged but printed, such as a traceback.
pub(crate) fn split(text: &str) -> (&str, &str) {
    // People cut time and place off when they paste a line.
    static LEVEL: LazyLock<Regex> = LazyLock::new(|| {
        let time = r"(?:(?:[0-9]{4}-)?[0-9]{2}-[0-9]{2} [0-9:]+(?:[.,][0-9]+)? +)?";
        Regex::new(&format!(r"^ *(DEBUG|INFO|WARNING|ERROR|CRITICAL):? +{time}(?:\[[^\]]+\] ?|[0-9A-Za-z_./-]+:[0-9]+\] ?)?"))
            .expect("a literal pattern")
    });
    match LEVEL.captures(text) {
        Some(found) => (found.get(1).map_or("", |level| level.as_str()), &text[found[0].len()..]),
        None => ("", text),
    }
}

/// The labels of the rank that a process holds, such as `TP1` or `PP0 TP1`: its name without what is the same for all.
///
/// The only process of a server has none. Of workers whose name has no number, the number of the process tells them apart.
pub(crate) fn label(process: Option<&str>, pid: Option<u32>) -> String {
    let Some(name) = process else { return String::new() };
    let labels: Vec<&str> = name
        .split('_')
        .skip(1)
        .filter(|part| part.ends_with(|c: char| c.is_ascii_digit()) && part.starts_with(|c: char| c.is_ascii_uppercase()))
        .collect();
    match pid {
        _ if !labels.is_empty() => labels.join(" "),
        Some(pid) if name.contains("Worker") => format!("{PROCESS}{pid}"),
        _ => String::new(),
    }
}

/// What the label of a worker without a number begins with.
pub(crate) const PROCESS: &str = "pid ";

/// The tensor-parallel rank of a label.
pub(crate) fn tensor_rank(label: &str) -> Option<u32> {
    label.split(' ').find_map(|part| part.strip_prefix("TP")).and_then(|number| number.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::{label, split, tensor_rank};

    #[test]
    fn every_form_of_stamp_comes_off() {
        assert_eq!(split("INFO 11-29 13:03:58 [cpu_worker.py:260] Auto set"), ("INFO", "Auto set"));
        assert_eq!(split("INFO 12-06 17:07:09 worker.py:232] Memory profiling results: x"), ("INFO", "Memory profiling results: x"));
        assert_eq!(split("ERROR 11-29 13:24:54 [core.py:1510]   File \"x.py\", line 3"), ("ERROR", "  File \"x.py\", line 3"));
        assert_eq!(split("INFO 2026-11-29 13:24:54,123 [v1/core.py:1] x"), ("INFO", "x"));
        assert_eq!(split("INFO  [gpu_worker.py:642] Available KV cache memory: 2.97 GiB"), ("INFO", "Available KV cache memory: 2.97 GiB"));
        assert_eq!(split("ERROR EngineCore failed to start."), ("ERROR", "EngineCore failed to start."));
        assert_eq!(split("INFO:     Application startup complete."), ("INFO", "Application startup complete."));
        assert_eq!(split("ERROR 11-29 13:24:54 [core.py:1510]   File \"x.py\"").1, "  File \"x.py\"");
        assert_eq!(split("INFO 11-29 13:24:54 [a.py:1] [shutdown] x"), ("INFO", "[shutdown] x"));
        assert_eq!(split("ValueError: x"), ("", "ValueError: x"));
        assert_eq!(split(""), ("", ""));
    }

    #[test]
    fn labels_keep_what_tells_ranks_apart() {
        assert_eq!(label(Some("Worker_TP1"), Some(1)), "TP1");
        assert_eq!(label(Some("Worker_PP1_TP0_EP2"), Some(1)), "PP1 TP0 EP2");
        assert_eq!(label(Some("EngineCore_DP0"), Some(1)), "DP0");
        assert_eq!(label(Some("VllmWorkerProcess"), Some(240)), "pid 240");
        assert_eq!(label(Some("EngineCore"), Some(1)), "");
        assert_eq!(label(None, None), "");
        assert_eq!((tensor_rank("PP1 TP0"), tensor_rank("pid 3"), tensor_rank("DP0")), (Some(0), None, None));
    }
}
