//! Listing what can be probed in a file, as the program's interpreter parses it. Nothing of the file is run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bystander_model::probe::Moment;
use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;

use crate::check::Side;
use crate::interpreter::{Interpreter, InterpreterError, as_text};
use crate::problem::{ProbeProblem, ProblemKind};

/// The places of one file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FilePlaces {
    /// The interpreter's version, such as `3.11.7`.
    pub python: String,
    /// The file, absolute.
    pub path: PathBuf,
    /// The SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
    /// Its functions and methods, in the order of the text.
    pub functions: Vec<FunctionPlaces>,
    /// The lines at which a statement begins, in order.
    pub lines: Vec<LinePlace>,
}

/// What can be probed of one function.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FunctionPlaces {
    /// The dotted name inside the file, as a place spells it after the colon.
    pub name: String,
    /// The line of its `def`, from 1.
    pub line: u32,
    /// Its last line, where the parser tells.
    pub last_line: Option<u32>,
    /// `def` or `async def`.
    pub statement: String,
    /// Where its entry is.
    pub entry: Choice,
    /// Where its returns are.
    #[serde(rename = "return")]
    pub returns: Choice,
    /// Where exceptions leave it.
    #[serde(rename = "raise")]
    pub raises: Choice,
    /// What takes the function over, so that a probe must say what to do about it; `None` for plain functions.
    pub compiled: Option<Takeover>,
}

impl FunctionPlaces {
    /// The place of a moment, or why there is none.
    #[must_use]
    pub const fn at(&self, moment: Moment) -> &Choice {
        match moment {
            Moment::Entry => &self.entry,
            Moment::Return => &self.returns,
            Moment::Raise => &self.raises,
        }
    }
}

/// A place in words, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// The place, such as "at the returns of `f` (12, 15 and the end)".
    Chosen(String),
    /// Why there is none.
    Refused(String),
}

/// A compiler, or a recorder of GPU work, that takes a function over.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Takeover {
    /// The decorator, call or block that hands it over.
    pub decorator: String,
    /// Where that stands, from 1.
    pub line: u32,
    /// What a probe does there, by the word that allows it (`break`, `skip`); empty where none can be put in.
    pub effects: BTreeMap<String, String>,
}

/// What a probe of one line would take.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct LinePlace {
    /// The line at which a statement begins, from 1.
    pub line: u32,
    /// The line of the statement that is taken, which hits carry.
    pub at: u32,
    /// The word of that statement.
    pub statement: String,
    /// The side of it.
    pub side: Side,
    /// The choice in words, such as "before line 12 (for)".
    pub chosen: String,
    /// The qualified name of the function around it, or `<module>`.
    pub scope: String,
    /// What takes the line over, where something does.
    pub compiled: Option<String>,
}

/// Why the places of a file are not listed.
#[derive(Debug, Error)]
pub enum ListError {
    /// The interpreter gave no answer.
    #[error(transparent)]
    Interpreter(#[from] InterpreterError),
    /// The file is missing, cannot be read, or does not parse.
    #[error("list the places of `{}`: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, with its line where it has one.
        problem: Box<ProbeProblem>,
    },
}

/// Lists the places of a file that can be probed, by running the program's interpreter once; a relative path is seen from its working directory.
///
/// # Errors
/// [`ListError`] where the interpreter gives no answer or the file cannot be parsed by it.
pub fn list_places(interpreter: &Interpreter, file: &Path) -> Result<FilePlaces, ListError> {
    let path = interpreter.cwd.join(file);
    let answer: Value = interpreter.ask(&json!({ "task": "list", "file": as_text(&path)?, "path": interpreter.path_as_text()? }))?;
    let bad = |source| InterpreterError::BadAnswer { python: interpreter.python.clone(), source };
    if answer.get("problem").is_some() {
        let kind = ProblemKind::deserialize(answer).map_err(bad)?;
        let problem = Box::new(ProbeProblem::new(&path.display().to_string(), kind));
        return Err(ListError::File { path, problem });
    }
    Ok(FilePlaces::deserialize(answer).map_err(bad)?)
}
