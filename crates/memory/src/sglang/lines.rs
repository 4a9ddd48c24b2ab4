//! The lines of SGLang's log that hold memory numbers, and the fields of its arguments.
//!
//! The engine prints GiB as "GB", with two decimals, local to the printing rank.

use std::sync::LazyLock;

use bystander_model::budget::Figure;
use regex::Regex;

use crate::figures::rounded;

/// The rank labels in the brackets of a line, such as `TP3` or `DP0 TP1`; empty for a single-GPU server and for the parent.
pub(crate) fn labels(text: &str) -> &str {
    static STAMP: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?((?: [A-Z_]+\d+)*)\]").expect("a literal pattern"));
    STAMP.captures(text).and_then(|found| found.get(1)).map_or("", |labels| labels.as_str().trim())
}

/// The tensor-parallel rank among labels.
pub(crate) fn tp_rank(labels: &str) -> Option<u32> {
    labels.split(' ').find_map(|label| label.strip_prefix("TP")).and_then(|number| number.parse().ok())
}

/// What a line says about memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Line {
    /// Free memory before the weights.
    LoadBegin(Figure),
    /// Free memory after the weights.
    LoadEnd(Figure),
    /// The pool of the KV cache.
    Pool(Pool),
    /// Free memory after the pools.
    PoolEnd(Figure),
    /// The last line of the start.
    Final { tokens: f64, free: Option<Figure> },
    /// The user's cap is above what was profiled.
    Capped { profiled: f64 },
    /// Graphs are being captured, or were.
    Graphs { ended: bool },
    /// The model's cache is of a kind that the formula here does not cover.
    Hybrid,
    /// The server says that it is ready.
    Ready,
}

/// A pool of the KV cache as printed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pool {
    /// Tokens that fit.
    pub(crate) tokens: f64,
    /// Its size in GiB.
    pub(crate) size: Figure,
}

/// What the lines hold that are read, as a pattern of plain texts.
pub(crate) const TEXTS: &str =
    "Load weight |KV Cache is allocated|Memory pool end|max_total|Capture cuda graph|Mamba Cache|liding window memory pool|fired up";

/// Reads a line; `None` for all others.
pub(crate) fn read(text: &str) -> Option<Line> {
    static ANY: LazyLock<Regex> = LazyLock::new(|| Regex::new(TEXTS).expect("a literal pattern"));
    let found = ANY.find(text)?;
    let rest = &text[found.start()..];
    match found.as_str() {
        "Load weight " if rest.starts_with("Load weight begin") => after(rest, "avail mem=").map(Line::LoadBegin),
        "Load weight " if rest.starts_with("Load weight end") => after(rest, "avail mem=").map(Line::LoadEnd),
        "KV Cache is allocated" => pool(rest).map(Line::Pool),
        "Memory pool end" => after(rest, "avail mem=").map(Line::PoolEnd),
        "max_total" => last_line(rest),
        "Capture cuda graph" => Some(Line::Graphs { ended: rest.starts_with("Capture cuda graph end") }),
        "Mamba Cache" | "liding window memory pool" => Some(Line::Hybrid),
        "fired up" => Some(Line::Ready),
        _ => None,
    }
}

fn last_line(rest: &str) -> Option<Line> {
    if let Some(profiled) = after(rest, "is larger than the profiled value ") {
        return Some(Line::Capped { profiled: profiled.value });
    }
    let tokens = after(rest, "max_total_num_tokens=")?.value;
    let free = after(rest, "available_gpu_mem=").or_else(|| after(rest, "available_cpu_mem="));
    rest.contains("context_len=").then_some(Line::Final { tokens, free })
}

fn pool(rest: &str) -> Option<Pool> {
    let tokens = after(rest, "#tokens: ")?.value;
    let size = after(rest, "KV size: ").or_else(|| {
        let (k, v) = (after(rest, "K size: ")?, after(rest, "V size: ")?);
        Some(Figure { value: k.value + v.value, low: k.low + v.low, high: k.high + v.high })
    })?;
    Some(Pool { tokens, size })
}

/// The number that follows a name.
pub(crate) fn after(text: &str, name: &str) -> Option<Figure> {
    rounded(&text[text.find(name)? + name.len()..])
}

/// One of the engine's arguments as it printed them, in either form.
pub(crate) fn argument<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let plain = format!("{name}=");
    let quoted = format!("'{name}': ");
    let value = text.match_indices(&plain).find(|(at, _)| text[..*at].ends_with(['(', ' ', ','])).map(|(at, _)| &text[at + plain.len()..]);
    let value = value.or_else(|| text.find(&quoted).map(|at| &text[at + quoted.len()..]))?;
    let end = value.find([',', ')', '}']).unwrap_or(value.len());
    Some(value[..end].trim().trim_matches('\''))
}

#[cfg(test)]
mod tests {
    use super::{Line, argument, labels, read, tp_rank};

    #[test]
    fn labels_are_a_set_in_any_order() {
        assert_eq!(labels("[2026-11-29 13:31:46 TP1] Load"), "TP1");
        assert_eq!(labels("[2026-11-29 13:31:46.123 DP0 TP1] Load"), "DP0 TP1");
        assert_eq!(labels("[2026-11-29 13:31:46] Load"), "");
        assert_eq!(tp_rank("DP0 PP1 TP12 EP0"), Some(12));
        assert_eq!(tp_rank(""), None);
    }

    #[test]
    fn both_forms_of_arguments_are_read() {
        let text = "server_args=ServerArgs(device='cuda', tp_size=2, max_total_tokens=None, mem_fraction_static=0.842)";
        assert_eq!(argument(text, "mem_fraction_static"), Some("0.842"));
        assert_eq!(argument(text, "device"), Some("cuda"));
        assert_eq!(argument(text, "size"), None);
        assert_eq!(argument("server_args={'tp_size': 4, 'x': 1}", "tp_size"), Some("4"));
    }

    #[test]
    fn lines_without_numbers_are_no_lines() {
        assert_eq!(read("Load weight begin. avail mem= GB"), None);
        assert_eq!(read("KV Cache is allocated. #tokens: , K size: x"), None);
        assert_eq!(read("max_total_num_tokens=5"), None, "the field alone may be anybody's");
        assert!(matches!(read("[x] Mamba Cache is allocated. max_mamba_cache_size: 3"), Some(Line::Hybrid)));
    }
}
