//! Errors of Python in a log: tracebacks followed to their last line, and bare lines that name an error.
//!
//! The first error in time is the cause; those that follow it report it, or come of it.

use std::sync::LazyLock;

use regex::Regex;

use super::facts::KEPT;

/// Lines of one traceback that are followed; what is longer has lost its end.
const FOLLOWED: usize = 600;

/// An error as it was printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raised {
    /// The type, such as `torch.OutOfMemoryError`.
    pub kind: String,
    /// What follows it in its line.
    pub message: String,
    /// Files and functions of the traceback, innermost last, and what stood before the error in its line.
    pub through: String,
}

/// Follows tracebacks of one process; what several processes print at once is told apart by nothing but its order.
#[derive(Debug, Clone, Default)]
pub struct Tracebacks {
    open: Option<Open>,
}

#[derive(Debug, Clone, Default)]
struct Open {
    lines: usize,
    through: String,
}

impl Tracebacks {
    /// Whether a traceback has begun whose error has not come yet.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Takes a line, without the engine's own stamp; gives the error that it ends with.
    pub fn line(&mut self, text: &str) -> Option<Raised> {
        if text.contains("Traceback (most recent call last)") {
            self.open = Some(Open::default());
            return None;
        }
        let is_indented = text.starts_with([' ', '\t', '|']);
        if let Some(open) = &mut self.open {
            open.lines += 1;
            let is_given_up = open.lines > FOLLOWED;
            if is_indented || text.trim().is_empty() {
                if let Some(frame) = frame(text) {
                    push(&mut open.through, &frame);
                }
                if is_given_up {
                    self.open = None;
                }
                return None;
            }
            // Lines of others may come before its end, but not without end: while it is open, every line of the log is looked at.
            if is_given_up && raised(text).is_none() {
                self.open = None;
            }
        }
        let raised = raised(text)?;
        let open = self.open.take().unwrap_or_default();
        Some(Raised { through: format!("{}{}", open.through, raised.through), ..raised })
    }
}

/// The file and the function of a traceback's frame.
fn frame(text: &str) -> Option<String> {
    let rest = text.trim_start().strip_prefix("File \"")?;
    let (file, rest) = rest.split_once('"')?;
    let name = file.rsplit('/').next().unwrap_or(file);
    let function = rest.rsplit_once(", in ").map_or("", |(_, function)| function.trim());
    Some(format!("{name}:{function} "))
}

fn push(kept: &mut String, more: &str) {
    if kept.len() + more.len() > KEPT {
        // The innermost frames tell most.
        let from = (kept.len() / 2..=kept.len()).find(|at| kept.is_char_boundary(*at)).unwrap_or(kept.len());
        kept.drain(..from);
    }
    if more.len() <= KEPT {
        kept.push_str(more);
    }
}

/// The error in a line: its type and what follows.
#[must_use]
pub fn raised(text: &str) -> Option<Raised> {
    static ERROR: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"(?:^|[\s'"(>])((?:[A-Za-z_]\w*\.)*(?:[A-Za-z_]\w*(?:Error|Exception|Interrupt)|Exception))(?:: |:?\s*$)"#)
            .expect("a literal pattern")
    });
    // Most lines name no error, and the pattern is dear.
    if text.starts_with([' ', '\t']) || !["Error", "Exception", "Interrupt"].iter().any(|end| text.contains(end)) {
        return None;
    }
    let found = ERROR.captures(text)?;
    let (kind, whole) = (found.get(1)?, found.get(0)?);
    let before: String = text[..kind.start()].chars().take(KEPT / 2).collect();
    // An error that is only mentioned, as in a warning about an import, is none of this process's own.
    if !(before.trim().is_empty() || before.contains("exception")) {
        return None;
    }
    let message = text[whole.end()..].chars().take(KEPT).collect();
    Some(Raised { kind: kind.as_str().to_owned(), message, through: before })
}

#[cfg(test)]
mod tests {
    use super::{Raised, Tracebacks, raised};

    fn all(text: &str) -> Vec<Raised> {
        let mut tracebacks = Tracebacks::default();
        text.lines().filter_map(|line| tracebacks.line(line)).collect()
    }

    #[test]
    fn a_traceback_ends_with_its_error_and_says_what_it_went_through() {
        let found = all(
            "Scheduler hit an exception: Traceback (most recent call last):\n  File \"/a/b/model_runner.py\", line 9, in init_memory_pool\n    raise RuntimeError(\n\
                         RuntimeError: Not enough memory. Please\n[2026] Received sigquit from a child process.",
        );
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].kind.as_str(), found[0].message.as_str()), ("RuntimeError", "Not enough memory. Please"));
        assert_eq!(found[0].through, "model_runner.py:init_memory_pool ");
    }

    #[test]
    fn an_error_in_the_middle_of_a_line_is_found_with_what_stood_before_it() {
        let found =
            raised("Scheduler hit an exception: ... EAGLEWorker( ... ValueError: The memory capacity is unbalanced.").expect("an error");
        assert_eq!(found.kind, "ValueError");
        assert!(found.through.contains("EAGLEWorker"));
    }

    #[test]
    fn prose_and_source_lines_are_no_errors() {
        assert_eq!(raised("    raise ValueError(\"ValueError: x\")"), None);
        assert_eq!(raised("Ignore import error when loading x: cannot import"), None);
        assert_eq!(raised("Failed to import x: ImportError: no such thing"), None);
        assert_eq!(raised("this may be a RuntimeError"), None);
        assert_eq!(raised("Error: this is anybody's"), None);
        assert_eq!(raised("Exception: Capture cuda graph failed: x").map(|raised| raised.kind), Some("Exception".into()));
        assert_eq!(raised("KeyboardInterrupt").map(|raised| raised.kind), Some("KeyboardInterrupt".into()));
    }

    #[test]
    fn a_traceback_without_an_end_is_given_up() {
        let mut tracebacks = Tracebacks::default();
        assert_eq!(tracebacks.line("Traceback (most recent call last):"), None);
        for _ in 0..=super::FOLLOWED {
            assert_eq!(tracebacks.line("  x"), None);
        }
        assert!(!tracebacks.is_open());
        assert_eq!(tracebacks.line("Traceback (most recent call last):"), None);
        for _ in 0..=super::FOLLOWED {
            assert_eq!(tracebacks.line("10.0.0.1 POST /v1/completions 200"), None);
        }
        assert!(!tracebacks.is_open());
    }
}
