//! TOML syntax: what the parser says, as problems with their place.

use std::ops::Range;

use bystander_model::diagnostic::Diagnostic;
use toml::de::DeTable;

use super::problems::Problems;

/// One slip makes several errors further down; more than these are noise.
const SHOWN: usize = 3;

/// Parses the file; `None` where it is no TOML, with the first problems told.
pub(super) fn document<'t>(text: &'t str, problems: &mut Problems<'_>) -> Option<DeTable<'t>> {
    let (document, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Some(document.into_inner());
    }
    let mut places: Vec<Range<usize>> = Vec::new();
    for error in errors {
        let span = error.span().unwrap_or(text.len()..text.len());
        if places.len() < SHOWN && !places.contains(&span) {
            problems.push(&span, problem(error.message(), problems.source(&span)));
            places.push(span);
        }
    }
    None
}

fn problem(message: &str, source: &str) -> Diagnostic {
    if message == "duplicate key" {
        let problem = Diagnostic::error("spec.duplicate_key", format!("`{source}` is defined twice"));
        return problem.help("a key stands once in its table, and a table has one header");
    }
    let problem = Diagnostic::error("spec.syntax", format!("this is no TOML: {message}"));
    if message.contains("escape") {
        return problem.help(r"in double quotes a backslash starts an escape; write patterns in single quotes: '(\d+)'");
    }
    problem
}
