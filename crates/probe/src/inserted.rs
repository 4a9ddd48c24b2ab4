//! Asking an interpreter about lines that an edit puts into a Python file: do they parse there, and do their names exist.

use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use serde_json::json;

use crate::interpreter::{Interpreter, InterpreterError};

/// What is wrong with inserted lines.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "problem", rename_all = "snake_case")]
pub enum InsertedProblem {
    /// The edited file does not parse.
    Syntax {
        /// The line in the edited file, from 1.
        line: Option<u32>,
        /// The line in the inserted text, from 1; `None` where the parser stumbles elsewhere.
        inserted_line: Option<u32>,
        /// The column, in characters from 1.
        column: Option<u32>,
        /// What the interpreter says.
        message: String,
        /// The line as it stands.
        text: Option<String>,
    },
    /// A name surely has no value there; the program would fail.
    Undefined(UnboundName),
    /// A name may have no value there; only the program can know.
    MaybeUndefined(UnboundName),
}

/// A name that inserted lines use.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct UnboundName {
    /// The name.
    pub name: String,
    /// The line in the edited file, from 1.
    pub line: u32,
    /// The line in the inserted text, from 1.
    pub inserted_line: u32,
    /// The column, in bytes from 1.
    pub column: u32,
    /// The qualified name of the function around it, or `<module>`.
    pub scope: String,
    /// True where the name gets a value only further down.
    pub later: bool,
    /// Names that do exist there and are like it.
    pub candidates: Vec<String>,
}

impl InsertedProblem {
    /// Tells whether the edit must be refused; otherwise it is worth a warning.
    #[must_use]
    pub const fn is_fatal(&self) -> bool {
        !matches!(self, InsertedProblem::MaybeUndefined(_))
    }
}

impl std::fmt::Display for InsertedProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            InsertedProblem::Syntax { inserted_line: Some(line), message, .. } => {
                write!(f, "the inserted text does not parse in its place: line {line}: {message}")
            }
            InsertedProblem::Syntax { line: Some(line), message, .. } => {
                write!(f, "the file does not parse with the inserted text: line {line} of the file: {message}")
            }
            InsertedProblem::Syntax { message, .. } => write!(f, "the file does not parse with the inserted text: {message}"),
            InsertedProblem::Undefined(UnboundName { name, inserted_line, scope, later: true, .. }) => {
                write!(f, "line {inserted_line} of the inserted text uses `{name}`, which has no value yet there in `{scope}`")
            }
            InsertedProblem::Undefined(UnboundName { name, inserted_line, scope, .. }) => {
                write!(f, "line {inserted_line} of the inserted text uses `{name}`, which is not defined in `{scope}`")
            }
            InsertedProblem::MaybeUndefined(UnboundName { name, inserted_line, scope, .. }) => {
                write!(f, "line {inserted_line} of the inserted text uses `{name}`, which may have no value there in `{scope}`")
            }
        }
    }
}

#[derive(Deserialize)]
struct Answer {
    problems: Vec<InsertedProblem>,
}

/// Checks the lines that an edit added to a Python file, by the interpreter that will run it.
///
/// `edited` is the whole file after the edit; `added` are its inserted lines, from 1, the end not included.
///
/// # Errors
/// [`InterpreterError`] where the interpreter is missing, too old, or gives no answer.
pub fn check_inserted(python: &Path, edited: &[u8], added: &Range<u32>) -> Result<Vec<InsertedProblem>, InterpreterError> {
    let inherited = std::env::vars_os().filter(|(key, _)| !key.as_encoded_bytes().starts_with(b"PYTHON"));
    let interpreter = Interpreter::new(python, "/", inherited.collect());
    let request = json!({ "task": "inserted", "source": edited, "first": added.start, "last": added.end.saturating_sub(1) });
    Ok(interpreter.ask::<Answer>(&request)?.problems)
}
