//! Which lines may matter to any engine: a search through whole blocks, as fast as memory allows.
//!
//! The engines' texts are too many for one pass of vector instructions. So the block is searched for few short pieces of them, and only a line that holds a
//! piece is searched for the texts themselves.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::{ENGINES, spoken};

/// Pieces of texts: rare in what servers print while they serve, and shared by many texts. A text without any of them stands for itself.
const PIECES: &[&str] = &[
    "mem",
    "emory",
    "rror",
    "args",
    "exit",
    "NVIDIA ",
    "glang",
    "apturing ",
    "block",
    "kill",
    "llreduce",
    "dxgk",
    "MIG",
    "LLM",
    "version",
    "NCCL",
    "_tokens=",
    "KV ",
    "Init ",
    "oad",
];

/// Every text of every engine, those that hold another one left out: they would find the same lines twice.
static TEXTS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut texts: Vec<&str> = ENGINES.iter().flat_map(|engine| (engine.texts)()).chain(spoken::TEXTS.iter().copied()).collect();
    texts.sort_unstable();
    texts.dedup();
    texts.iter().copied().filter(|text| !texts.iter().any(|other| other != text && text.contains(other))).collect()
});

/// The pieces, and the texts that hold none.
static COARSE: LazyLock<Regex> = LazyLock::new(|| {
    let mut pieces: Vec<&str> =
        TEXTS.iter().map(|text| PIECES.iter().find(|piece| text.contains(**piece)).unwrap_or(text)).copied().collect();
    pieces.sort_unstable();
    pieces.dedup();
    any_of(&pieces)
});

static FINE: LazyLock<Regex> = LazyLock::new(|| any_of(&TEXTS));

fn any_of(texts: &[&str]) -> Regex {
    let pattern = texts.iter().map(|text| regex::escape(text)).collect::<Vec<_>>().join("|");
    Regex::new(&format!("(?-u:{pattern})")).expect("escaped literals")
}

/// The place of a byte in the next line, from a place on, that may hold a text.
pub(super) fn find(block: &[u8], from: usize) -> Option<usize> {
    COARSE.shortest_match_at(block, from).map(|end| end - 1)
}

/// Whether a line holds a text.
pub(super) fn holds(line: &[u8]) -> bool {
    FINE.is_match(line)
}

#[cfg(test)]
mod tests {
    use super::{TEXTS, find, holds};

    #[test]
    fn no_text_is_passed_over() {
        for text in TEXTS.iter() {
            let block = format!("nothing here\nx {text} y\nnothing\n");
            assert!(holds(format!("x {text} y").as_bytes()), "{text}");
            let at = find(block.as_bytes(), 0).unwrap_or_else(|| panic!("{text} is passed over"));
            assert!((13..block.len() - 9).contains(&at), "{text} is found at {at}");
        }
        assert!(TEXTS.len() > 80 && TEXTS.len() < 160, "{}", TEXTS.len());
    }

    #[test]
    fn lines_of_a_server_that_serves_are_passed_over() {
        for line in [
            "[2026-11-29 13:31:46 TP0] Decode batch. #running-req: 1, #token: 900, token usage: 0.01, cuda graph: True, gen throughput (token/s): 12.34, #queue-req: 0, ",
            "[2026-11-29 13:31:46 TP0] Prefill batch. #new-seq: 1, #new-token: 9, #cached-token: 0, token usage: 0.01, #running-req: 3, #queue-req: 0, ",
            "[2026-11-29 13:31:46] INFO:     127.0.0.1:30000 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK",
        ] {
            assert_eq!(find(line.as_bytes(), 0), None, "{line}");
        }
        let stats = "INFO 11-29 13:00:00 [loggers.py:127] Engine 000: Avg prompt throughput: 1.0 tokens/s, Running: 3 reqs, Waiting: 0 reqs, GPU KV cache usage: 12.3%";
        assert!(!holds(stats.as_bytes()));
    }
}
