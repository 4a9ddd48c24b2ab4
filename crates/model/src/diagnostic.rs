//! A problem with a place in a file, as plain data; rendering belongs to the command line.

use std::ops::Range;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing; nothing is refused.
    Warning,
    /// The run is refused.
    Error,
}

/// One problem: where, what, and what to do next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// A stable dotted word, such as `spec.unknown_key` or `edit.text_not_found`.
    pub code: String,
    /// What is wrong, in one line, without a full stop.
    pub message: String,
    /// The file that the span lies in.
    pub file: Option<PathBuf>,
    /// Byte offsets in that file.
    pub span: Option<Range<usize>>,
    /// What stands at the span, said beside the caret.
    pub label: Option<String>,
    /// More lines below: candidates, differences, the reason.
    pub notes: Vec<String>,
    /// The next step.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A problem that refuses the run.
    #[must_use]
    pub fn error(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code: code.into(),
            message: message.into(),
            file: None,
            span: None,
            label: None,
            notes: Vec::new(),
            help: None,
        }
    }

    /// A problem that is only worth knowing.
    #[must_use]
    pub fn warning(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message) }
    }

    /// Puts the problem at bytes of a file.
    #[must_use]
    pub fn at(mut self, file: impl Into<PathBuf>, span: Range<usize>) -> Self {
        self.file = Some(file.into());
        self.span = Some(span);
        self
    }

    /// Says what stands at the span.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Adds a line below.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Names the next step.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
