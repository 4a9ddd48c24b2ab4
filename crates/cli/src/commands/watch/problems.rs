//! What is wrong with probes as typed: the text, a caret at the fault, what was expected and the nearest valid word.

use std::ops::Range;
use std::path::PathBuf;

use bystander_model::diagnostic::Diagnostic;
use bystander_model::probe::syntax::{SyntaxError, SyntaxErrorKind, parse as parse_line};
use bystander_model::probe::{Compiled, Delivery, Moment, PlaceError, ProbeSpec, Spans};
use bystander_probe::{ProbeProblem, ProblemKind};

use crate::failure::Failure;

/// The words that begin a part of a probe.
const PARTS: [&str; 8] = ["if", "after", "limit", "rank", "unsafe", "compiled", "via", "as"];

/// A probe with the text that it was read from.
pub(in crate::commands) struct Typed {
    pub(in crate::commands) probe: ProbeSpec,
    spans: Spans,
    text: String,
    /// What stands for the file of the text.
    origin: PathBuf,
}

/// Reads the probes of a command line; all that do not parse are told in one go.
pub(in crate::commands) fn parse(texts: &[String]) -> Result<Vec<Typed>, Failure> {
    let mut typed: Vec<Typed> = Vec::new();
    let mut failure = Failure::user("failed to read the probes; nothing was launched");
    for (index, text) in texts.iter().enumerate() {
        let origin = PathBuf::from(if texts.len() == 1 { "-p".to_owned() } else { format!("-p (number {})", index + 1) });
        let problem = match parse_line(text) {
            Ok(read) => match clash(&typed, &read.probe) {
                None => {
                    typed.push(Typed { probe: read.probe, spans: read.spans, text: text.clone(), origin });
                    continue;
                }
                Some(problem) => problem.at(&origin, read.spans.get("name").cloned().unwrap_or(0..text.len())),
            },
            Err(error) => of_syntax(&error).at(&origin, error.at.clone()),
        };
        failure.problems.push(problem);
        failure.sources.0.insert(origin, text.clone());
    }
    if failure.problems.is_empty() { Ok(typed) } else { Err(failure.hint(FORM)) }
}

/// The form of a probe in one sentence.
pub(super) const FORM: &str = "a probe is PLACE [after \"PATTERN\"] [{EXPR, …}] [if EXPR] [limit N[, RATE]] [rank EXPR] [unsafe] \
[compiled break|skip|refuse] [via auto|overlay|mount|patch] [as NAME], such as 'app/sizing.py:42 {rest, total} if rest < 0' or \
'pkg.mod:Class.method@return {return}'; `bystander watch --help` explains each part";

fn clash(typed: &[Typed], probe: &ProbeSpec) -> Option<Diagnostic> {
    let same = typed.iter().any(|known| !probe.name.is_empty() && known.probe.name == probe.name);
    same.then(|| {
        Diagnostic::error("probe.name", format!("two probes are named `{}`", probe.name))
            .label("the second one")
            .help("give each a name of its own")
    })
}

fn of_syntax(error: &SyntaxError) -> Diagnostic {
    let problem = Diagnostic::error("probe.syntax", format!("failed to {}", error.kind));
    let (found, words): (&str, Vec<&str>) = match &error.kind {
        SyntaxErrorKind::NoPart { found } => (found, PARTS.to_vec()),
        SyntaxErrorKind::Word { part: "via", found, .. } => (found, Delivery::WORDS.iter().map(|(word, _)| *word).collect()),
        SyntaxErrorKind::Word { part: "compiled", found, .. } => (found, Compiled::WORDS.iter().map(|(word, _)| *word).collect()),
        SyntaxErrorKind::Place(PlaceError::Moment { moment, .. }) => (moment, Moment::WORDS.iter().map(|(word, _)| *word).collect()),
        _ => return problem.label("here"),
    };
    match nearest(found, &words) {
        Some(word) => problem.label(format!("did you mean `{word}`?")),
        None => problem.label("here"),
    }
}

/// The word that a slip of the keyboard most likely meant.
fn nearest<'w>(found: &str, words: &[&'w str]) -> Option<&'w str> {
    let distance = |word: &str| strsim::damerau_levenshtein(found, word);
    words.iter().copied().filter(|word| distance(word) <= (word.len() / 3).max(1)).min_by_key(|word| distance(word))
}

/// Adds probes whose places or expressions were refused, each at its text.
pub(in crate::commands) fn of_places(mut failure: Failure, found: &[(usize, ProbeProblem)], typed: &[Typed]) -> Failure {
    for (index, problem) in found {
        let Some(typed) = typed.get(*index) else {
            let message = format!("probe `{}` of a ready-made set: {problem}", problem.probe);
            failure.problems.push(Diagnostic::error("probe.refused", message));
            continue;
        };
        failure.problems.push(of_place(problem, typed));
        failure.sources.0.insert(typed.origin.clone(), typed.text.clone());
    }
    failure.hint("`bystander watch --list FILE` shows the places of a file")
}

fn of_place(problem: &ProbeProblem, typed: &Typed) -> Diagnostic {
    let (key, help) = problem.field.key_and_help();
    let span = typed.spans.get(&key).cloned().unwrap_or(0..typed.text.len());
    let mut diagnostic = Diagnostic::error("probe.refused", problem.to_string()).help(help);
    diagnostic.notes = problem.notes_for_line();
    diagnostic.at(&typed.origin, narrowed(problem, &typed.text, span))
}

/// The part of a span that is at fault.
fn narrowed(problem: &ProbeProblem, text: &str, span: Range<usize>) -> Range<usize> {
    let part = text.get(span.clone()).unwrap_or_default();
    let colon = part.rfind(':').map(|at| span.start + at);
    match (&problem.kind, problem.offset, colon) {
        (ProblemKind::ModuleNotFound { .. } | ProblemKind::NoSource { .. } | ProblemKind::FileNotFound { .. }, _, Some(colon)) => {
            span.start..colon
        }
        (
            ProblemKind::FunctionNotFound { .. } | ProblemKind::FunctionAmbiguous { .. } | ProblemKind::LinePastEnd { .. },
            _,
            Some(colon),
        ) => colon + 1..span.end,
        (_, Some(offset), _) if offset < part.len() && part.is_char_boundary(offset) => {
            let rest = &part[offset..];
            let word = rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len());
            let length = word.max(rest.chars().next().map_or(1, char::len_utf8));
            span.start + offset..span.start + offset + length
        }
        _ => span,
    }
}
