//! What loggers and launchers write before a message: time, process, rank, level.
//!
//! Only shapes whose end is certain are taken off, and exactly one blank after them, so that the indentation of a traceback survives.

use std::sync::LazyLock;

use regex::Regex;

/// A line with its prefix told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prefixed<'a> {
    /// The process that a launcher names on every line, such as `EngineCore` or `rank3`.
    pub(crate) process: Option<&'a str>,
    /// The labels in a time stamp's brackets, such as `TP3` or `DP0 TP1`.
    pub(crate) labels: Option<&'a str>,
    /// Whether a logger's time stamp stood there.
    pub(crate) stamped: bool,
    /// The logger's level, where it is told.
    pub(crate) level: Option<&'a str>,
    /// The rest of the line.
    pub(crate) rest: &'a str,
}

impl<'a> Prefixed<'a> {
    /// The rank, as the labels or the process name tell it.
    pub(crate) fn rank(&self) -> Option<&'a str> {
        self.labels.or(self.process)
    }

    /// Whether the logger itself says that this is not an error.
    pub(crate) fn is_mild(&self) -> bool {
        matches!(self.level, Some("DEBUG" | "INFO" | "WARNING" | "WARN"))
    }
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a literal pattern")
}

/// `(EngineCore_DP0 pid=123) ` and `(VllmWorker rank=0 pid=1) `.
static PROCESS: LazyLock<Regex> = LazyLock::new(|| regex(r"^\(([A-Za-z_][\w.\-]*(?: rank=\d+)?) pid=\d+\) ?"));
/// `[rank3]: `, `[default0]:` and `[0]:`, as launchers of ranks write them.
static RANK: LazyLock<Regex> = LazyLock::new(|| regex(r"^\[((?:rank|default)?\d+)\]: ?"));
/// `[2026-11-29 13:31:46 TP0] `.
static BRACKET: LazyLock<Regex> = LazyLock::new(|| regex(r"^\[\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ([^\]]*))?\] ?"));
/// `ERROR 11-29 13:10:57 [core.py:1482] `.
static LEVEL_STAMP: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^(DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL) \d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)? (?:\[[^\]]*\] ?)?"));
/// `2026-11-29 13:31:46,123 ` and the ISO forms.
static PLAIN_STAMP: LazyLock<Regex> = LazyLock::new(|| regex(r"^\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)? "));
/// A level that stands by itself after a stamp, or first in a line.
static LEVEL: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:- )?\[?(DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)\]?(?:[: ]|$)"));

/// Tells a line's prefix from its message.
pub(crate) fn split(text: &str) -> Prefixed<'_> {
    let mut out = Prefixed { process: None, labels: None, stamped: false, level: None, rest: text };
    // Launchers wrap loggers, so there may be several, one of each sort.
    while let Some(length) = take_one(&mut out) {
        out.rest = &out.rest[length..];
    }
    if out.level.is_none() && (out.stamped || out.rest.starts_with(|c: char| c.is_ascii_uppercase())) {
        out.level = LEVEL.captures(out.rest).and_then(|found| found.get(1)).map(|found| found.as_str());
    }
    out
}

/// Finds one more prefix at the start of the rest, and its length.
fn take_one(out: &mut Prefixed<'_>) -> Option<usize> {
    let rest = out.rest;
    match rest.as_bytes().first()? {
        b'(' if out.process.is_none() => {
            let found = PROCESS.captures(rest)?;
            out.process = found.get(1).map(|name| name.as_str());
            Some(found[0].len())
        }
        b'[' => {
            if let Some(found) = RANK.captures(rest).filter(|_| out.process.is_none()) {
                out.process = found.get(1).map(|name| name.as_str());
                return Some(found[0].len());
            }
            let found = BRACKET.captures(rest).filter(|_| !out.stamped)?;
            out.stamped = true;
            out.labels = found.get(1).map(|labels| labels.as_str().trim()).filter(|labels| !labels.is_empty());
            Some(found[0].len())
        }
        b'0'..=b'9' if !out.stamped => {
            let found = PLAIN_STAMP.find(rest)?;
            out.stamped = true;
            Some(found.len())
        }
        b'A'..=b'Z' if !out.stamped => {
            let found = LEVEL_STAMP.captures(rest)?;
            out.stamped = true;
            out.level = found.get(1).map(|level| level.as_str());
            Some(found[0].len())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn known_loggers_are_told_apart_and_indentation_stays() {
        let line = split("[2026-11-29 13:31:46 TP3] Scheduler hit an exception: Traceback (most recent call last):");
        assert_eq!((line.rank(), line.stamped), (Some("TP3"), true));
        assert!(line.rest.starts_with("Scheduler hit"));

        let line = split("(EngineCore_DP0 pid=123) ERROR 11-29 13:10:57 [core.py:1482]   File \"a.py\", line 3, in f");
        assert_eq!((line.process, line.level), (Some("EngineCore_DP0"), Some("ERROR")));
        assert_eq!(line.rest, "  File \"a.py\", line 3, in f");

        assert_eq!(split("[rank3]:   File \"a.py\", line 3, in f").rest, "  File \"a.py\", line 3, in f");
        assert_eq!(split("2026-11-29 13:31:46,123 - WARNING - x").rest, "- WARNING - x");
        assert!(split("[2026-11-29 13:10:57] WARNING server_args.py:1841: Cuda graph").is_mild());
        assert!(split("INFO:     Started server process").is_mild());
    }

    #[test]
    fn what_is_no_prefix_stays() {
        for text in ["", "[", "(", "[Gloo] Rank 0", "(a b pid=3)", "RuntimeError: x", "    raise x", "2026 was", "[0] x"] {
            assert_eq!(split(text).rest, text);
        }
    }
}
