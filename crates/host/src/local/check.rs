//! Everything that can be known before the first launch. Nothing is changed and nothing of the program runs.

mod edits;
pub(super) mod fingerprint;
mod leftovers;
mod memory;
mod probes;
mod program;
mod traffic;

pub(super) use edits::spec;

use std::path::Path;

use bystander_lab::place::Checkup;
use bystander_lab::plan::Plan;
use bystander_model::diagnostic::Diagnostic;
use bystander_probe::CheckedProbe;

use super::before;
use super::turns::folders_of;
use crate::proof::Baseline;

/// A checkup, and what the place keeps of it for the trials.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) checkup: Checkup,
    /// Probes whose places were found.
    pub(super) probes: Vec<CheckedProbe>,
    /// How the instrumented files stand.
    pub(super) baseline: Baseline,
    /// The interpreter that the program runs under.
    pub(super) python: Option<std::path::PathBuf>,
}

/// Looks at a plan on this machine. `registry` is that of this user's live edits.
#[must_use]
pub fn check(plan: &Plan, registry: &Path) -> Checkup {
    examine(plan, registry).checkup
}

pub(super) fn examine(plan: &Plan, registry: &Path) -> Findings {
    let mut findings = Findings::default();
    let python = program::check(plan, &mut findings.checkup.problems);
    // What is put into a Python file is parsed also where the program is started by something else, such as a script.
    let parser = python.clone().or_else(|| program::any_python(plan));
    memory::check(plan, &mut findings.checkup.problems);
    edits::check(plan, parser.as_deref(), &mut findings);
    probes::check(plan, python.as_deref(), &mut findings);
    fingerprint::take(plan, &mut findings.checkup.fingerprint);
    findings.checkup.problems.extend(before::gpus::check(plan));
    let folders = folders_of(&plan.program.cwd, python.iter().map(std::path::PathBuf::as_path));
    leftovers::check(plan, &folders, registry, &mut findings.checkup.problems);
    findings.python = python;
    findings
}

/// Where a key of an instrument stands in the experiment file.
fn place(diagnostic: Diagnostic, plan: &Plan, spans: &indexmap::IndexMap<String, std::ops::Range<usize>>, key: &str) -> Diagnostic {
    match spans.get(key).or_else(|| spans.get("name")) {
        Some(span) => diagnostic.at(&plan.file, span.clone()),
        None => diagnostic,
    }
}
