//! The shapes of a traceback's lines, once their prefix is off.

use std::sync::LazyLock;

use regex::Regex;

use super::clip::{KEPT, clip};
use super::traceback::{Frame, Link};

/// How every traceback begins.
pub(crate) const HEADER: &str = "Traceback (most recent call last):";

const CAUSED_BY: &str = "The above exception was the direct cause of the following exception:";
const DURING: &str = "During handling of the above exception, another exception occurred:";

static FRAME: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#"^  File "([^"]+)", line (\d+)(?:, in (.+))?$"#).expect("a literal pattern"));
static RAISED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^((?:(?:[A-Za-z_]\w*|<locals>|<lambda>)\.)*[A-Za-z_]\w*)(?:: ?(.*))?$").expect("a literal pattern"));

/// What a line of a traceback is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shape<'a> {
    /// An entry of the stack.
    Frame(Frame),
    /// A source line.
    Source(&'a str),
    /// Markers under a source line, or the fold of a recursion.
    Mark,
    /// Type and message.
    Raised { kind: &'a str, message: &'a str },
    /// The sentence between two exceptions of a chain.
    Link(Link),
    /// An empty line.
    Blank,
    /// Anything else.
    Other,
}

/// Tells what a line is; `at` is its number in the stream.
pub(crate) fn shape(text: &str, at: u64) -> Shape<'_> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Shape::Blank;
    }
    if let Some(frame) = frame(text, at) {
        return Shape::Frame(frame);
    }
    if text.starts_with("    ") {
        let marks = trimmed.chars().all(|c| matches!(c, '^' | '~' | ' '));
        return if marks { Shape::Mark } else { Shape::Source(trimmed) };
    }
    if trimmed.starts_with("[Previous line repeated") {
        return Shape::Mark;
    }
    if trimmed.ends_with(CAUSED_BY) {
        return Shape::Link(Link::CausedBy);
    }
    if trimmed.ends_with(DURING) {
        return Shape::Link(Link::During);
    }
    raised(text).map_or(Shape::Other, |(kind, message)| Shape::Raised { kind, message })
}

/// An entry of the stack, or the place of a syntax error.
pub(crate) fn frame(text: &str, at: u64) -> Option<Frame> {
    if !text.starts_with("  File \"") {
        return None;
    }
    let found = FRAME.captures(text.trim_end())?;
    let line = found[2].parse().ok()?;
    let function = found.get(3).map(|name| clip(name.as_str(), KEPT).to_owned());
    Some(Frame { file: clip(&found[1], KEPT).to_owned(), line, function, source: None, at })
}

/// The type and message of an exception, for an unindented line that can be one.
fn raised(text: &str) -> Option<(&str, &str)> {
    if text.starts_with(char::is_whitespace) {
        return None;
    }
    let found = RAISED.captures(text.trim_end())?;
    let kind = found.get(1)?.as_str();
    let last = kind.rsplit('.').next().unwrap_or(kind);
    let level =
        matches!(kind.to_ascii_uppercase().as_str(), "DEBUG" | "INFO" | "NOTE" | "WARNING" | "WARN" | "CRITICAL" | "FATAL" | "NOTICE");
    let shouting = kind == "ERROR";
    let plausible = kind.contains('.') || last.starts_with(|c: char| c.is_ascii_uppercase() || c == '_') || last.ends_with("rror");
    if level || shouting || !plausible {
        return None;
    }
    Some((kind, found.get(2).map_or("", |message| message.as_str())))
}

/// A line of an exception group, once its margin is off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Margin<'a> {
    /// `| text`.
    Text(&'a str),
    /// `+-+---------------- 1 ----------------`: the first member, one level deeper.
    Deeper,
    /// `+---------------- 2 ----------------`: the next member.
    Next,
    /// `+------------------------------------`: the level's end.
    End,
}

/// Takes the margin of an exception group off.
pub(crate) fn margin(text: &str) -> Option<Margin<'_>> {
    let text = text.trim_start();
    if let Some(rest) = text.strip_prefix('|') {
        return Some(Margin::Text(rest.strip_prefix(' ').unwrap_or(rest)));
    }
    let line = text.trim_end();
    if line.starts_with("+-+---") {
        return Some(Margin::Deeper);
    }
    if !line.starts_with("+---") {
        return None;
    }
    Some(if line.bytes().all(|b| matches!(b, b'+' | b'-')) { Margin::End } else { Margin::Next })
}

#[cfg(test)]
mod tests {
    use super::{Margin, Shape, margin, shape};
    use crate::cause::traceback::Link;

    #[test]
    fn exception_lines_are_told_from_log_lines() {
        for (text, kind) in [
            ("RuntimeError: no", "RuntimeError"),
            ("torch.OutOfMemoryError: CUDA out of memory.", "torch.OutOfMemoryError"),
            ("socket.timeout: timed out", "socket.timeout"),
            ("__main__.f.<locals>.Boom: x", "__main__.f.<locals>.Boom"),
            ("KeyboardInterrupt", "KeyboardInterrupt"),
            ("AssertionError", "AssertionError"),
        ] {
            assert!(matches!(shape(text, 1), Shape::Raised { kind: found, .. } if found == kind), "{text}");
        }
        for text in ["INFO: Started", "ERROR: x", "Rank 0 is connected", "done", "warning: x", "a b: c", "123: x"] {
            assert_eq!(shape(text, 1), Shape::Other, "{text}");
        }
    }

    #[test]
    fn stacks_sources_and_marks() {
        let Shape::Frame(frame) = shape("  File \"<frozen runpy>\", line 198, in _run_module_as_main", 7) else { panic!("a frame") };
        assert_eq!(
            (frame.file.as_str(), frame.line, frame.function.as_deref(), frame.at),
            ("<frozen runpy>", 198, Some("_run_module_as_main"), 7)
        );
        assert!(matches!(shape("  File \"c.py\", line 1", 1), Shape::Frame(frame) if frame.function.is_none()));
        assert_eq!(shape("    x = 1", 1), Shape::Source("x = 1"));
        assert_eq!(shape("    ~~^^^~", 1), Shape::Mark);
        assert_eq!(shape("  [Previous line repeated 989 more times]", 1), Shape::Mark);
        assert_eq!(shape("During handling of the above exception, another exception occurred:", 1), Shape::Link(Link::During));
    }

    #[test]
    fn margins_of_groups() {
        assert_eq!(margin("  |   File \"x\""), Some(Margin::Text("  File \"x\"")));
        assert_eq!(margin("  +-+---------------- 1 ----------------"), Some(Margin::Deeper));
        assert_eq!(margin("    +---------------- 2 ----------------"), Some(Margin::Next));
        assert_eq!(margin("    +------------------------------------"), Some(Margin::End));
        assert_eq!(margin("Traceback"), None);
    }
}
