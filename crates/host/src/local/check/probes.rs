//! Probes: each place is found by the program's own interpreter, and each capture is one that runs no code of the program.

use std::ops::Range;
use std::path::Path;

use bystander_lab::place::Refusal;
use bystander_lab::plan::{Plan, Probe};
use bystander_model::diagnostic::Diagnostic;
use bystander_model::probe::Delivery;
use bystander_probe::{CheckedProbe, Interpreter, ProbeProblem, ProbeSpec, insertion};
use bystander_supervise::namespaces_available;

use super::{Findings, place};
use crate::environment;
use crate::local::deliver::{Way, choose, hidden_from};

/// Checks every probe of the plan.
pub(super) fn check(plan: &Plan, python: Option<&Path>, findings: &mut Findings) {
    if plan.probes.is_empty() {
        return;
    }
    let Some(python) = python else {
        for probe in &plan.probes {
            let why = "the program is not run by a Python that could be found";
            let problem = Diagnostic::error("probe.not_python", format!("probe `{}` cannot be put in: {why}", probe.spec.name));
            refuse(
                findings,
                probe,
                why.to_owned(),
                place(problem, plan, &probe.spans, "at").help("name the Python that it starts in the end (`python = \"venv/bin/python\"` in [program]), or start the program by it; an edit works on any text file"),
            );
        }
        return;
    };
    ask(plan, python, findings);
}

fn ask(plan: &Plan, python: &Path, findings: &mut Findings) {
    let env = environment::of_trial(plan, &plan.baseline, &[], "check").into_iter().collect();
    let command = environment::command(plan, &plan.baseline, &[]);
    let of_command = |env| Interpreter::of_command(&command, &plan.program.cwd, env).ok().filter(|_| plan.program.python.is_none());
    let interpreter = of_command(env).unwrap_or_else(|| {
        let env = environment::of_trial(plan, &plan.baseline, &[], "check").into_iter().collect();
        Interpreter::new(python, &plan.program.cwd, env)
    });
    let specs: Vec<ProbeSpec> = plan.probes.iter().map(|probe| probe.spec.clone()).collect();
    let checked = match bystander_probe::check(&interpreter, &specs) {
        Ok(checked) => checked,
        Err(error) => {
            let problem = Diagnostic::error("probe.python", format!("the places of probes could not be checked: failed to {error}"));
            findings.checkup.problems.push(problem.help("probes need the program's own Python, 3.8 or newer"));
            return;
        }
    };
    for (probe, found) in plan.probes.iter().zip(checked.probes) {
        match found {
            Ok(checked) => match out_of_reach(probe, &checked, &command) {
                Some(why) => {
                    let problem = Diagnostic::error("probe.delivery", format!("probe `{}` cannot get in: {why}", probe.spec.name));
                    refuse(findings, probe, why, place(problem, plan, &probe.spans, "at"));
                }
                None => {
                    note(plan, &checked, findings);
                    findings.probes.push(checked);
                }
            },
            Err(problem) => refuse(findings, probe, problem.to_string(), diagnostic(plan, probe, &problem)),
        }
    }
}

/// Why a probe whose place is there cannot get into the program, by the way that its command leaves.
fn out_of_reach(probe: &Probe, checked: &CheckedProbe, command: &[String]) -> Option<String> {
    let hidden = hidden_from(command);
    let usual = !hidden.site && hidden.environment.is_none() && matches!(probe.spec.delivery, Delivery::Auto | Delivery::Overlay);
    if usual {
        return None;
    }
    match choose(probe.spec.delivery, command, &namespaces_available()) {
        Err(error) => Some(format!("{}; {}", error.reason, error.mend)),
        // Where the overlay lies does not matter for whether there is room for the statement.
        Ok(choice) if matches!(choice.way, Way::Text | Way::Patch) => {
            insertion(checked, Path::new("/")).err().map(|error| format!("failed to {error}"))
        }
        Ok(_) => None,
    }
}

fn note(plan: &Plan, checked: &CheckedProbe, findings: &mut Findings) {
    let file = checked.path.strip_prefix(plan.folder()).unwrap_or(&checked.path).display();
    let unsafe_capture = if checked.unsafe_capture { ", may run code of the program (unsafe = true)" } else { "" };
    findings.checkup.placed.insert(checked.name.clone(), format!("{file}: {} in `{}`{unsafe_capture}", checked.chosen, checked.scope));
    findings.checkup.fingerprint.insert(format!("{file}"), checked.sha256.clone());
    if let Ok(proof) = findings.baseline.take(&checked.path)
        && !findings.checkup.files.iter().any(|known| known.file == proof.file)
    {
        findings.checkup.files.push(proof);
    }
}

fn diagnostic(plan: &Plan, probe: &Probe, problem: &ProbeProblem) -> Diagnostic {
    let (key, help) = problem.field.key_and_help();
    let mut diagnostic = Diagnostic::error("probe.refused", format!("probe `{}`: {problem}", probe.spec.name)).help(help);
    diagnostic.notes = problem.notes();
    let diagnostic = place(diagnostic, plan, &probe.spans, &key);
    match problem.offset {
        Some(offset) => at_offset(diagnostic, offset),
        None => diagnostic,
    }
}

/// Narrows a span of a quoted text to one byte of it.
fn at_offset(mut diagnostic: Diagnostic, offset: usize) -> Diagnostic {
    // One byte for the quote; a text with escapes has no such simple place, and keeps its whole span where the byte lies outside.
    let narrowed = |span: &Range<usize>| {
        let start = span.start + 1 + offset;
        (start < span.end).then_some(start..start + 1)
    };
    diagnostic.span = diagnostic.span.map(|span| narrowed(&span).unwrap_or(span));
    diagnostic
}

fn refuse(findings: &mut Findings, probe: &Probe, why: String, problem: Diagnostic) {
    findings.checkup.refused.insert(probe.spec.name.clone(), Refusal { why, problems: vec![problem] });
}
