//! Problems as compact text for snapshots: code, place, source at the place, message, and what follows.

use std::fmt::Write as _;
use std::path::Path;

use bystander_lab::spec;
use bystander_model::diagnostic::{Diagnostic, Severity};

/// Where the files of these tests are said to be.
pub(crate) const FILE: &str = "/exp/story.toml";

/// The problems of a text, errors and warnings.
pub(crate) fn problems(text: &str) -> Vec<Diagnostic> {
    match spec::parse(text, Path::new(FILE)) {
        Ok(checked) => checked.warnings,
        Err(problems) => problems,
    }
}

/// The problems of a text, rendered.
pub(crate) fn shown(text: &str) -> String {
    let mut out = String::new();
    for problem in problems(text) {
        let sign = if problem.severity == Severity::Error { "error" } else { "warning" };
        writeln!(out, "{sign} {} {}", problem.code, place(text, &problem)).expect("a string takes any text");
        writeln!(out, "  {}", problem.message).expect("a string takes any text");
        let more = problem.label.iter().map(|label| ("^", label)).chain(problem.notes.iter().map(|note| ("note:", note)));
        for (word, line) in more.chain(problem.help.iter().map(|help| ("help:", help))) {
            writeln!(out, "  {word} {line}").expect("a string takes any text");
        }
    }
    out
}

fn place(text: &str, problem: &Diagnostic) -> String {
    let Some(span) = &problem.span else { return String::from("(no place)") };
    let before = &text[..span.start];
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    format!("{}:{column} {:?}", before.matches('\n').count() + 1, &text[span.clone()])
}
