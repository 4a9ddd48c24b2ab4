//! Masks what differs between two occurrences of the same failure: numbers, addresses, ports, ranks, paths, ids, times.

use std::sync::LazyLock;

use regex::Regex;

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a literal pattern")
}

static UUID: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"));
static TIME: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"));
static HEX: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b0[xX][0-9a-fA-F]+\b"));
/// Long runs of hexadecimal digits with a number among them, such as hashes.
static DIGEST: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b[0-9a-f]{12,}\b"));
static URL: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b[a-z][a-z0-9+.\-]*://[^\s'\x22)>\]]+"));
/// Absolute paths, and relative ones that say so. What is masked already is no part of them.
static PATH: LazyLock<Regex> = LazyLock::new(|| pattern(r"(^|[\s'\x22(\[<=:,])((?:~|\.{1,2})?/[^\s'\x22):,;\]<>]+)"));
/// Names of ranks and devices whose number is not set apart.
static RANKED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\b(TP|DP|PP|EP|MOE_DP|ATTN_CP|[Rr]ank|[Gg][Pp][Uu]|[Ww]orker|cuda:|pid)(\d+)\b"));

/// Numbers with their separators and exponent.
static NUMBER: LazyLock<Regex> = LazyLock::new(|| pattern(r"\d[\d_]*(?:[.,]\d+)*(?:[eE][+-]?\d+)?"));

/// Masks a message, so that the same failure reads the same.
#[must_use]
pub fn mask(message: &str) -> String {
    // What may hold others goes first: a folder named after a day is no time.
    let text = URL.replace_all(message, "<url>");
    let text = PATH.replace_all(&text, "$1<path>");
    let text = UUID.replace_all(&text, "<id>");
    let text = TIME.replace_all(&text, "<time>");
    let text = HEX.replace_all(&text, "<hex>");
    let text = DIGEST.replace_all(&text, |found: &regex::Captures<'_>| {
        let digits = found[0].bytes().any(|b| b.is_ascii_digit());
        if digits { "<hex>".to_owned() } else { found[0].to_owned() }
    });
    let text = RANKED.replace_all(&text, "$1#");
    numbers(&text)
}

/// Replaces every number by `#`, but leaves digits that belong to a name, such as `float32`.
fn numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for found in NUMBER.find_iter(text) {
        out.push_str(&text[from..found.start()]);
        from = found.end();
        if out.ends_with(char::is_alphabetic) {
            out.push_str(found.as_str());
            continue;
        }
        // A sign belongs to the number, since the same failure may show either.
        let mut before = out.chars().rev();
        if matches!(before.next(), Some('-' | '+' | '\u{2212}')) && !before.next().is_some_and(|c| c.is_alphanumeric() || c == '#') {
            out.pop();
        }
        out.push('#');
    }
    out.push_str(&text[from..]);
    out
}

#[cfg(test)]
mod tests {
    use super::mask;

    #[test]
    fn what_differs_between_launches_is_masked() {
        for (text, masked) in [
            ("Current value: self.server_args.mem_fraction_static=0.55", "Current value: self.server_args.mem_fraction_static=#"),
            ("rest=-20.603 GiB of 93.999", "rest=# GiB of #"),
            ("rest=20.603 GiB of 93,999", "rest=# GiB of #"),
            ("[Errno 98] address already in use ('127.0.0.1', 18300)", "[Errno #] address already in use ('#', #)"),
            ("<Foo object at 0x7fbd61fb32e0>", "<Foo object at <hex>>"),
            ("No such file: '/tmp/t3/x.json'", "No such file: '<path>'"),
            ("rank TP3 on cuda:0, worker3", "rank TP# on cuda:#, worker#"),
            ("at 2026-11-29 13:31:46.123 id 123e4567-e89b-12d3-a456-426614174000", "at <time> id <id>"),
            ("GET http://127.0.0.1:8000/health failed", "GET <url> failed"),
            ("GET http://host:8000/v1/models?limit=3 failed", "GET <url> failed"),
            ("GET /http://127.0.0.1:8000/health failed", "GET /<url> failed"),
            ("open /tmp/2026-11-29/run-123e4567-e89b-12d3-a456-426614174000/x: no", "open <path>: no"),
            ("took 1e-05 s", "took # s"),
        ] {
            assert_eq!(mask(text), masked);
            assert_eq!(mask(masked), masked);
        }
    }

    #[test]
    fn names_keep_their_digits() {
        assert_eq!(mask("expected float32 but got int64"), "expected float32 but got int64");
        assert_eq!(mask("name 'x1' is not defined"), "name 'x1' is not defined");
        assert_ne!(mask("no module named 'a'"), mask("no module named 'b'"));
        assert_eq!(mask("and/or is no path"), "and/or is no path");
    }

    #[test]
    fn masking_twice_changes_nothing() {
        for text in ["rest=-20.6 at 0x12 in /a/b:3, TP7", "x 1-2 3"] {
            assert_eq!(mask(&mask(text)), mask(text));
        }
    }
}
