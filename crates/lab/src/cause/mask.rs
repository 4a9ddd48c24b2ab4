//! Masks what differs between two launches of the same failure, and leaves what says which failure it is.
//!
//! Masked are times, durations, amounts, ports, addresses, process numbers, ranks, line numbers, ids, hashes, generated names and the folders of paths.
//! Left are words, what stands last in a path, and numbers that name the failure: of errors, statuses, signals and exit codes.

mod name;
mod number;

use std::sync::LazyLock;

use regex::{Captures, Regex};

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a literal pattern")
}

static UUID: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"));
static TIME: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"));
/// `W0828 01:41:15.002805 73 `: level, time and thread, as glog writes them.
static GLOG: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b([WIEF])\d{4} \d\d:\d\d:\d\d(?:\.\d+)?\s+\d+\b"));
/// `3m12s` and `1h 2m 3s`.
static SPAN: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b\d+(?:[dhm] ?\d+)+(?:\.\d+)?(?:h|min|m|s|ms)\b"));
static HEX: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b0[xX][0-9a-fA-F]+\b"));
/// Runs of hexadecimal digits that hold both digits and letters, such as hashes.
static DIGEST: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b[0-9a-f]{8,}\b"));
static URL: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b([a-z][a-z0-9+.\-]*)://([^\s'\x22)>\]]+)"));
/// Absolute paths, and relative ones that say so. What is masked already is no part of them.
static PATH: LazyLock<Regex> = LazyLock::new(|| pattern(r"(^|[\s'\x22(\[<=:,])((?:~|\.{1,2})?/[^\s'\x22):,;\]<>]+)"));
/// Names of ranks and devices whose number is not set apart.
static RANKED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(^|[^0-9A-Za-z])(TP|DP|PP|EP|MOE_DP|ATTN_CP|[Rr]ank|[Gg][Pp][Uu]|[Ww]orker|cuda:|pid)(\d+)\b"));

/// Masks a message, so that the same failure reads the same, and another one does not.
#[must_use]
pub fn mask(message: &str) -> String {
    // What may hold others goes first: a folder named after a day is no time.
    let text = URL.replace_all(message, |found: &Captures<'_>| name::url(&found[1], &found[2]));
    let text = PATH.replace_all(&text, |found: &Captures<'_>| format!("{}{}", &found[1], name::path(&found[2])));
    let text = name::generated(&text);
    let text = UUID.replace_all(&text, "<id>");
    let text = TIME.replace_all(&text, "<time>");
    let text = GLOG.replace_all(&text, "$1<time>");
    let text = SPAN.replace_all(&text, "#");
    let text = HEX.replace_all(&text, |found: &Captures<'_>| {
        let whole = found.get(0).expect("the whole match");
        let is_code = number::is_code(&text[..whole.start()], whole.as_str(), &text[whole.end()..]);
        if is_code { whole.as_str().to_owned() } else { "<hex>".to_owned() }
    });
    let text = DIGEST.replace_all(&text, |found: &Captures<'_>| {
        let mixed = found[0].bytes().any(|b| b.is_ascii_digit()) && found[0].bytes().any(|b| b.is_ascii_lowercase());
        if mixed { "<hex>".to_owned() } else { found[0].to_owned() }
    });
    let text = RANKED.replace_all(&text, "$1$2#");
    number::mask(&text)
}

#[cfg(test)]
mod tests;
