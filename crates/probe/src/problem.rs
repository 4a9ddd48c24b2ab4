//! What can be wrong with a probe before the launch, as the interpreter's answer and as text. Rendering belongs elsewhere.

use std::collections::BTreeMap;

use serde::Deserialize;

/// One problem with one probe.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeProblem {
    /// The probe's name.
    pub probe: String,
    /// The part of the probe that is wrong.
    pub field: Field,
    /// The byte in that part's text at which a caret belongs.
    pub offset: Option<usize>,
    /// What is wrong.
    pub kind: ProblemKind,
}

/// A part of a probe as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The place.
    At,
    /// The pattern.
    After,
    /// An expression of `capture`, by its index.
    Capture(usize),
    /// The condition.
    Condition,
    /// The expression of `rank`.
    Rank,
}

impl Field {
    /// The key by which the places of a probe's parts are known ([`bystander_model::probe::Spans`]), and what helps where the part is wrong.
    #[must_use]
    pub fn key_and_help(self) -> (String, &'static str) {
        let expression = "write an expression of names that have a value at that place";
        match self {
            Self::At => ("at".to_owned(), "name a place that is there: `module:function`, or `path/to/file.py:LINE`"),
            Self::After => ("after".to_owned(), "write one statement of that function as it stands there; `...` stands for anything"),
            Self::Capture(index) => (format!("capture.{index}"), expression),
            Self::Condition => ("if".to_owned(), expression),
            Self::Rank => ("rank".to_owned(), expression),
        }
    }
}

/// A statement that is near to what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NearStatement {
    /// Its line, from 1.
    pub line: u32,
    /// The first line of its text.
    pub text: String,
}

/// What is wrong with a probe, with what is needed to say it well.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "problem", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are the words of the variant's sentence")]
pub enum ProblemKind {
    /// No finder knows the module.
    ModuleNotFound { module: String, missing: String, candidates: Vec<String> },
    /// The module has no Python source on disk.
    NoSource { module: String, reason: String },
    /// The file is not there.
    FileNotFound { path: String, candidates: Vec<String> },
    /// The file cannot be read.
    FileUnreadable { path: String, reason: String },
    /// The file does not parse.
    FileSyntax { path: String, line: Option<u32>, message: String },
    /// The file has no such function.
    FunctionNotFound {
        function: String,
        candidates: Vec<String>,
        imported_from: Option<String>,
        #[serde(default)]
        lambda: Option<u32>,
    },
    /// The file has several functions of that name.
    FunctionAmbiguous { function: String, lines: Vec<u32> },
    /// The line is beyond the last statement.
    LinePastEnd { line: u32, last: u32 },
    /// The pattern is not one statement.
    PatternSyntax { message: String, offset: usize },
    /// The pattern matches no statement of the function.
    PatternNotFound { pattern: String, candidates: Vec<NearStatement> },
    /// The pattern matches several statements.
    PatternAmbiguous { pattern: String, lines: Vec<u32> },
    /// The function is handed to a compiler, which would not see the probe or would fail on it.
    Compiled {
        decorator: String,
        line: u32,
        #[serde(default)]
        effects: BTreeMap<String, String>,
    },
    /// The function has no `return` and control never reaches its end.
    NeverReturns { function: String, line: u32 },
    /// The expression is not one that can be captured.
    CaptureRefused { field: String, index: usize, offset: usize, reason: String },
    /// A name in the expression surely has no value at the place.
    NameUndefined { field: String, index: usize, offset: usize, name: String, scope: String, later: bool, candidates: Vec<String> },
}

impl ProbeProblem {
    /// Joins a problem to its probe; the field and the offset follow from the kind.
    pub(crate) fn new(probe: &str, kind: ProblemKind) -> Self {
        let (field, offset) = match &kind {
            ProblemKind::PatternSyntax { offset, .. } => (Field::After, Some(*offset)),
            ProblemKind::PatternNotFound { .. } | ProblemKind::PatternAmbiguous { .. } => (Field::After, None),
            ProblemKind::CaptureRefused { field, index, offset, .. } | ProblemKind::NameUndefined { field, index, offset, .. } => {
                let field = match field.as_str() {
                    "rank" => Field::Rank,
                    "condition" => Field::Condition,
                    _ => Field::Capture(*index),
                };
                (field, Some(*offset))
            }
            _ => (Field::At, None),
        };
        Self { probe: probe.into(), field, offset, kind }
    }

    /// The lines that help to go on: candidates, other places, the way out.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        match &self.kind {
            ProblemKind::ModuleNotFound { candidates, .. } | ProblemKind::FileNotFound { candidates, .. } => like(candidates),
            ProblemKind::FunctionNotFound { function, lambda: Some(line), .. } => vec![format!(
                "`{function}` is a lambda (line {line}), which has no name, and no statement of its own, to probe: probe the line of a statement that calls it"
            )],
            ProblemKind::FunctionNotFound { candidates, imported_from, .. } => {
                let from = imported_from.iter().map(|place| format!("the module imports it; it is defined at `{place}`"));
                from.chain(like(candidates)).collect()
            }
            ProblemKind::PatternNotFound { candidates, .. } => {
                candidates.iter().map(|near| format!("nearest: line {}: `{}`", near.line, near.text)).collect()
            }
            ProblemKind::NameUndefined { candidates, .. } => like(candidates),
            ProblemKind::Compiled { effects, .. } => {
                effects.iter().map(|(word, effect)| format!("`compiled = \"{word}\"` puts it in all the same: {effect}")).collect()
            }
            ProblemKind::NeverReturns { .. } => vec!["probe `@raise` instead".into()],
            ProblemKind::CaptureRefused { .. } => {
                let more = match self.field {
                    Field::Condition => "a condition is never unsafe: it is looked at in every pass, and may run no code of the program",
                    Field::At | Field::After | Field::Capture(_) | Field::Rank => "`unsafe = true` allows the rest",
                };
                vec![format!("names, attributes, items by constant, comparisons, arithmetic and `len` run no code; {more}")]
            }
            _ => Vec::new(),
        }
    }

    /// The same lines in the words of the one-line form of a probe.
    #[must_use]
    pub fn notes_for_line(&self) -> Vec<String> {
        let words =
            [("`unsafe = true`", "`unsafe`"), ("`compiled = \"break\"`", "`compiled break`"), ("`compiled = \"skip\"`", "`compiled skip`")];
        let worded = |note: String| words.iter().fold(note, |note, (file, line)| note.replace(file, line));
        self.notes().into_iter().map(worded).collect()
    }
}

fn like(candidates: &[String]) -> Vec<String> {
    candidates.iter().map(|name| format!("nearest: `{name}`")).collect()
}

impl std::fmt::Display for ProbeProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.kind {
            ProblemKind::ModuleNotFound { module, missing, .. } if module == missing => write!(f, "no module `{module}` is found"),
            ProblemKind::ModuleNotFound { module, missing, .. } => write!(f, "no module `{module}` is found: `{missing}` does not exist"),
            ProblemKind::NoSource { module, reason } => write!(f, "module `{module}` has no Python source to probe: {reason}"),
            ProblemKind::FileNotFound { path, .. } => write!(f, "there is no file `{path}`"),
            ProblemKind::FileUnreadable { path, reason } => write!(f, "`{path}` cannot be read: {reason}"),
            ProblemKind::FileSyntax { path, line, message } => {
                write!(f, "`{path}` does not parse: {message}")?;
                line.map_or(Ok(()), |line| write!(f, " (line {line})"))
            }
            ProblemKind::FunctionNotFound { function, .. } => write!(f, "no function `{function}` is defined there"),
            ProblemKind::FunctionAmbiguous { function, lines } => {
                write!(f, "`{function}` is defined {} times, at lines {}; name one as `path/to/file.py:LINE`", lines.len(), join(lines))
            }
            ProblemKind::LinePastEnd { line, last } => write!(f, "line {line} is past the last statement, which ends at line {last}"),
            ProblemKind::PatternSyntax { message, .. } => write!(f, "the pattern does not parse: {message}"),
            ProblemKind::PatternNotFound { pattern, .. } => write!(f, "no statement of the function matches `{pattern}`"),
            ProblemKind::PatternAmbiguous { pattern, lines } => {
                write!(f, "`{pattern}` matches {} statements, at lines {}; it must match one", lines.len(), join(lines))
            }
            ProblemKind::Compiled { decorator, line, .. } => {
                write!(f, "the function is compiled by `{decorator}` (line {line}), which would not see a probe or would fail on it")
            }
            ProblemKind::NeverReturns { function, line } => {
                write!(f, "`{function}` (line {line}) never returns: it can only be left by an exception")
            }
            ProblemKind::CaptureRefused { reason, .. } => write!(f, "the expression is not captured: {reason}"),
            ProblemKind::NameUndefined { name, scope, later: true, .. } => {
                write!(f, "`{name}` has no value yet at this place of {}: it gets one further down", of(scope))
            }
            ProblemKind::NameUndefined { name, scope, .. } => write!(f, "`{name}` is not defined in {}", of(scope)),
        }
    }
}

/// A function by its name, or the module in words.
fn of(scope: &str) -> String {
    if scope.contains(' ') { scope.to_owned() } else { format!("`{scope}`") }
}

fn join(lines: &[u32]) -> String {
    lines.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
