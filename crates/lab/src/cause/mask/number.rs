//! Which numbers of a message name the failure, and which only measure or count.
//!
//! A number names it where a word before it says so: `errno`, `code`, `status`, `signal`, `exit`, `HTTP`; or, less surely, `error`, `exited with`,
//! `failed with`. It has five digits at most, and is no amount, share, time or date.

use std::sync::LazyLock;

use regex::Regex;

use super::pattern;

/// Numbers with their separators and exponent.
static NUMBER: LazyLock<Regex> = LazyLock::new(|| pattern(r"\d[\d_]*(?:[.,]\d+)*(?:[eE][+-]?\d+)?"));

/// Words after which a number is a code, whatever follows it.
static SURE: LazyLock<Regex> = LazyLock::new(|| {
    let words = r"errno|errcode|exitcode|returncode|retcode|code|status|signal|signum|rc|exit|http(?:/[\d.#]+)?";
    pattern(&format!(r"(?i)(?:\b|_)(?:{words})['\x22]?(?:\s+(?:was|is|of|number|value))?[\s:=(\[#_-]*['\x22]?$"))
});
/// Words after which it is one unless things are counted.
static LIKELY: LazyLock<Regex> = LazyLock::new(|| {
    let ends =
        r"(?:failed|exited|ended|died|crashed|quit|finished|terminated|aborted|stopped|killed) (?:with|by|on)|exited|returned|returns";
    pattern(&format!(r"(?i)(?:\b|_)(?:error|err|fault|hresult|result|{ends})['\x22]?(?:\s+(?:number|value|no\.?))?[\s:=(\[#-]*['\x22]?$"))
});
/// What follows a number that measures, a share, a time or a date.
static MEASURED: LazyLock<Regex> = LazyLock::new(|| {
    let units = r"bytes?|[KMGT]i?B?|[kmg]b|ns|us|ms|s|sec|secs|seconds?|min|minutes?|hours?|h|tokens?|times|of|out of";
    pattern(&format!(r"^(?:\s?(?:{units})\b|\s?%|\s?/\s?[\d#]|[:\-][\d#]|[.,][\d#])"))
});
/// What follows a number of things.
static COUNTED: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\s[a-z]+s\b"));
/// The two sorts of failed answers, as clients of HTTP name them after the number.
static ANSWERED: LazyLock<Regex> = LazyLock::new(|| pattern(r"^ (?:Client|Server) Error\b"));
/// How far before a number its word is looked for, in bytes.
const NEAR: usize = 48;

/// Whether a number, decimal or hexadecimal, names the failure.
pub(super) fn is_code(before: &str, number: &str, after: &str) -> bool {
    let digits = number.strip_prefix("0x").or_else(|| number.strip_prefix("0X"));
    let short = match digits {
        Some(digits) => digits.len() <= 8,
        None => number.len() <= 5 && number.bytes().all(|b| b.is_ascii_digit()),
    };
    if !short || MEASURED.is_match(after) {
        return false;
    }
    if number.len() == 3 && ANSWERED.is_match(after) {
        return true;
    }
    let mut from = before.len().saturating_sub(NEAR);
    while !before.is_char_boundary(from) {
        from += 1;
    }
    let near = &before[from..];
    SURE.is_match(near) || (LIKELY.is_match(near) && !COUNTED.is_match(after))
}

/// Whether a number is how large a model is, in its name: `llama3-8b`.
fn is_of_model(before: &str, after: &str) -> bool {
    let joined = before.strip_suffix('-').is_some_and(|name| name.ends_with(|c: char| c.is_alphanumeric()));
    joined && after.strip_prefix(['b', 'B']).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
}

/// Replaces every other number by `#`, but leaves digits that belong to a name, such as `float32`.
pub(super) fn mask(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for found in NUMBER.find_iter(text) {
        out.push_str(&text[from..found.start()]);
        from = found.end();
        let (before, after) = (&text[..found.start()], &text[from..]);
        if out.ends_with(char::is_alphabetic) || is_code(before, found.as_str(), after) || is_of_model(before, after) {
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
