//! How grave a line is that looks like an error: severity comes before time.

use std::sync::LazyLock;

use regex::Regex;

use super::echo::is_echo;
use super::kept::KeptLine;
use super::prefix;

/// How grave a line is, the gravest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Severity {
    /// It only tells that something else failed.
    Echo,
    /// Its logger says that it is no error, although the word is in it.
    Mild,
    /// It says that something is wrong.
    Error,
    /// It names the type of an exception, or that the process ends.
    Fatal,
}

/// An exception by its type at the beginning of a message, or what other languages print at their end.
static FATAL: LazyLock<Regex> = LazyLock::new(|| {
    let texts = r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)(?:: |$)|\bpanicked at\b|^panic: |terminate called|\bwhat\(\): |(?i:\bfatal\b|segmentation fault)|\bCRITICAL\b";
    Regex::new(texts).expect("a literal pattern")
});
/// The word in capitals, as loggers write a level.
static ERROR: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\bERROR\b").expect("a literal pattern"));

/// Tells how grave a line is. A line with both ERROR and a warning in it is an error.
pub(super) fn severity(text: &str) -> Severity {
    if is_echo(text) {
        return Severity::Echo;
    }
    let prefixed = prefix::split(text);
    if FATAL.is_match(prefixed.rest) {
        return Severity::Fatal;
    }
    let capitals = ERROR.is_match(text);
    if !capitals && (prefixed.is_mild() || starts_mildly(text)) { Severity::Mild } else { Severity::Error }
}

/// Whether a line begins as glog's warnings and notes do: `W0828 01:41:15.002805 73 topology.cpp:156] `.
fn starts_mildly(text: &str) -> bool {
    let bytes = text.as_bytes();
    matches!(bytes.first(), Some(b'W' | b'I')) && bytes.len() > 6 && bytes[1..5].iter().all(u8::is_ascii_digit) && bytes[5] == b' '
}

/// The line that tells most: the gravest; of those that are as grave, those of the rank that spoke first, and of these the last.
pub(super) fn gravest<'a>(lines: impl Iterator<Item = &'a KeptLine>) -> Option<&'a KeptLine> {
    let told: Vec<(Severity, &KeptLine)> = lines.map(|line| (severity(&line.text), line)).collect();
    let most = told.iter().map(|(severity, _)| *severity).max()?;
    let grave = || told.iter().filter(move |(severity, _)| *severity == most).map(|(_, line)| *line);
    let rank = |line: &KeptLine| prefix::split(&line.text).rank().map(str::to_owned);
    let first = rank(grave().next()?);
    grave().rfind(|line| rank(line) == first)
}

#[cfg(test)]
mod tests {
    use super::{Severity, severity};

    #[test]
    fn severity_is_told_from_the_level_the_type_and_the_word() {
        for (text, expected) in [
            ("ValueError: Loaded weights leave no GPU memory", Severity::Fatal),
            ("[2026-08-28 01:41:18 TP0] torch.OutOfMemoryError: CUDA out of memory.", Severity::Fatal),
            ("thread 'main' panicked at src/main.rs:3:5:", Severity::Fatal),
            ("fatal: cannot read /models/a", Severity::Fatal),
            ("ERROR 11-29 13:10:57 [core.py:1482] no", Severity::Error),
            ("WARNING: this is an ERROR of the driver", Severity::Error),
            ("error: no such file or directory", Severity::Error),
            ("INFO: error rate 0.0", Severity::Mild),
            ("[2026-11-29 13:31:41] WARNING x: import error ignored", Severity::Mild),
            ("W0828 01:41:15.002805 73 topology.cpp:156] error: No RDMA devices found", Severity::Mild),
            ("RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}", Severity::Echo),
            ("Received sigquit from a child process. error", Severity::Echo),
        ] {
            assert_eq!(severity(text), expected, "{text}");
        }
    }
}
