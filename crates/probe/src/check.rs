//! Asking the program's interpreter where probes go, before anything is launched.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::interpreter::{Interpreter, InterpreterError, as_text};
use crate::problem::{ProbeProblem, ProblemKind};
use crate::text::TextPlace;
use bystander_model::probe::{Compiled, DEFAULT_LIMIT, Delivery, Moment, Place, ProbeSpec, Rate};

/// What became of the probes that were checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The interpreter's version, such as `3.11.7`.
    pub python: String,
    /// One entry a probe, in their order.
    pub probes: Vec<Result<CheckedProbe, ProbeProblem>>,
}

impl Checked {
    /// Separates the probes that can be delivered from the problems.
    #[must_use]
    pub fn split(self) -> (Vec<CheckedProbe>, Vec<ProbeProblem>) {
        let (mut probes, mut problems) = (Vec::new(), Vec::new());
        for entry in self.probes {
            match entry {
                Ok(probe) => probes.push(probe),
                Err(problem) => problems.push(problem),
            }
        }
        (probes, problems)
    }
}

/// The side of the chosen statement on which a probe fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Before it runs.
    Before,
    /// When control leaves it at its end.
    After,
}

/// A probe whose place was found and whose captures were accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedProbe {
    /// The probe's name.
    pub name: String,
    /// The file, absolute, as the interpreter finds it.
    pub path: PathBuf,
    /// The SHA-256 of the file's bytes when it was checked, in hexadecimal.
    pub sha256: String,
    /// The line that hits carry, from 1.
    pub line: u32,
    /// The side of the statement.
    pub side: Side,
    /// The choice in words, such as "before line 12 (for)".
    pub chosen: String,
    /// The qualified name of the function around the statement, or `<module>`.
    pub scope: String,
    /// The captured expressions.
    pub capture: Vec<String>,
    /// The expression that tells the rank.
    pub rank: Option<String>,
    /// True where captures may run code of the program.
    pub unsafe_capture: bool,
    /// The number of hits to record in each process.
    pub limit: u64,
    /// The expression that must hold for a hit.
    #[serde(default)]
    pub condition: Option<String>,
    /// The most hits a second in each process.
    #[serde(default)]
    pub rate: Option<Rate>,
    /// How the place is found again in the program.
    pub(crate) finding: Finding,
    /// Where a statement could stand in the text of the file.
    #[serde(default)]
    pub(crate) text: Option<TextPlace>,
}

/// How a running process finds a place again, also where the file changed since the check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Finding {
    /// The module that the probe names; `None` where it names a line.
    #[serde(default)]
    pub(crate) module: Option<String>,
    pub(crate) function: Option<String>,
    pub(crate) line: Option<u32>,
    pub(crate) after: Option<String>,
    pub(crate) mark: Option<String>,
    #[serde(default)]
    pub(crate) moment: Option<String>,
    #[serde(default)]
    pub(crate) compiled: Compiled,
}

#[derive(Deserialize)]
struct Answer {
    python: String,
    probes: Vec<Value>,
}

#[derive(Deserialize)]
struct Found {
    path: PathBuf,
    sha256: String,
    line: u32,
    side: Side,
    chosen: String,
    scope: String,
    function: Option<String>,
    find_line: Option<u32>,
    mark: Option<String>,
    text: Option<TextPlace>,
}

/// Finds the places of probes and checks their captures, by running the program's interpreter once.
///
/// No module of the program is imported and no file is written.
///
/// # Errors
/// [`InterpreterError`] where the interpreter is missing, too old, or gives no answer, or a path is not UTF-8; what is wrong with a probe is in the result.
pub fn check(interpreter: &Interpreter, specs: &[ProbeSpec]) -> Result<Checked, InterpreterError> {
    let probes: Vec<Value> = specs.iter().map(request).collect::<Result<_, _>>()?;
    let answer: Answer = interpreter.ask(&json!({ "task": "check", "path": interpreter.path_as_text()?, "probes": probes }))?;
    let bad = |source| InterpreterError::BadAnswer { python: interpreter.python.clone(), source };
    let probes = specs.iter().zip(answer.probes).map(|(spec, entry)| read(spec, entry)).collect::<Result<_, _>>().map_err(bad)?;
    Ok(Checked { python: answer.python, probes })
}

fn request(spec: &ProbeSpec) -> Result<Value, InterpreterError> {
    let (module, function, path, line) = match &spec.at {
        Place::Function { module, function, .. } => (Some(module), Some(function), None, None),
        Place::Line { path, line } => (None, None, Some(as_text(Path::new(path))?), Some(line)),
    };
    Ok(json!({
        "module": module, "function": function, "moment": moment(spec), "path": path, "line": line, "after": spec.after,
        "capture": spec.capture, "condition": spec.condition, "rank": spec.rank, "unsafe": spec.unsafe_capture, "compiled": compiled(spec.compiled),
        "rate": spec.rate.map(Rate::per_second), "text": spec.delivery != Delivery::Overlay,
    }))
}

/// The moment in a call, where the place is one.
fn moment(spec: &ProbeSpec) -> Option<&'static str> {
    match &spec.at {
        Place::Function { moment: Moment::Entry, .. } if spec.after.is_some() => None,
        Place::Function { moment, .. } => Some(moment.word()),
        Place::Line { .. } => None,
    }
}

/// What the in-process part does where a compiler takes the function over; `None` where it refuses.
pub(crate) const fn compiled(compiled: Compiled) -> Option<&'static str> {
    match compiled {
        Compiled::Refuse => None,
        Compiled::Break => Some("break"),
        Compiled::Skip => Some("skip"),
    }
}

fn read(spec: &ProbeSpec, entry: Value) -> Result<Result<CheckedProbe, ProbeProblem>, serde_json::Error> {
    if entry.get("problem").is_some() {
        return Ok(Err(ProbeProblem::new(&spec.name, ProblemKind::deserialize(entry)?)));
    }
    let found = Found::deserialize(entry)?;
    Ok(Ok(CheckedProbe {
        name: spec.name.clone(),
        path: found.path,
        sha256: found.sha256,
        line: found.line,
        side: found.side,
        chosen: found.chosen,
        scope: found.scope,
        capture: spec.capture.clone(),
        rank: spec.rank.clone(),
        unsafe_capture: spec.unsafe_capture,
        limit: spec.limit.unwrap_or(DEFAULT_LIMIT),
        condition: spec.condition.clone(),
        rate: spec.rate,
        finding: Finding {
            module: match &spec.at {
                Place::Function { module, .. } => Some(module.clone()),
                Place::Line { .. } => None,
            },
            function: found.function,
            line: found.find_line,
            after: spec.after.clone(),
            mark: found.mark,
            moment: moment(spec).map(str::to_owned),
            compiled: spec.compiled,
        },
        text: found.text,
    }))
}
