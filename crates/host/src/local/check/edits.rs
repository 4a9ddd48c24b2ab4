//! Edits: each text is looked for in its file, and what is put into a Python file must parse there and use names that are defined there.

use std::path::Path;

use bystander_edit::{Action, EditSpec, PrepareError, PreparedEdit, prepare_stack};
use bystander_lab::place::Refusal;
use bystander_lab::plan::{Edit, EditAction, Plan};
use bystander_model::diagnostic::{Diagnostic, Severity};
use bystander_model::probe::Delivery;
use bystander_probe::{InsertedProblem, UnboundName, check_inserted};

use super::{Findings, place};
use crate::local::deliver::prepare;

/// Checks every edit alone, and those that go in together as they will lie on top of each other.
pub(super) fn check(plan: &Plan, python: Option<&Path>, findings: &mut Findings) {
    for edit in &plan.edits {
        match prepared(&[edit]) {
            Ok(prepared) => found(plan, edit, &prepared, python, findings),
            Err(error) => refuse(findings, &edit.name, error.to_string(), vec![not_found(plan, edit, &error)]),
        }
    }
    for (level, names) in plan.instruments.iter().filter(|(_, names)| names.len() > 1) {
        let together: Vec<&Edit> =
            plan.edits.iter().filter(|edit| names.contains(&edit.name) && !findings.checkup.refused.contains_key(&edit.name)).collect();
        if let Err(error) = prepared(&together) {
            let message = format!("the edits of {level} cannot go in together: {error}");
            findings.checkup.problems.push(
                Diagnostic::error("edit.together", message).help("each text must still be there exactly once after the edits before it"),
            );
        }
    }
}

/// Builds edits as they will be put in: those that are mounted need not be writable.
fn prepared(edits: &[&Edit]) -> Result<Vec<PreparedEdit>, PrepareError> {
    let (mounted, on_disk): (Vec<&Edit>, Vec<&Edit>) = edits.iter().partition(|edit| edit.delivery == Delivery::Mount);
    let specs = |edits: &[&Edit]| edits.iter().map(|edit| spec(edit)).collect::<Vec<_>>();
    let mut made = prepare_stack(&specs(&on_disk))?;
    made.extend(prepare(&specs(&mounted))?);
    Ok(made)
}

/// An edit as the journal wants it.
pub(in crate::local) fn spec(edit: &Edit) -> EditSpec {
    let action = match &edit.action {
        EditAction::InsertAfter(text) => Action::InsertAfter(text.clone().into_bytes()),
        EditAction::InsertBefore(text) => Action::InsertBefore(text.clone().into_bytes()),
        EditAction::Replace(text) => Action::Replace(text.clone().into_bytes()),
    };
    EditSpec { name: edit.name.clone(), file: edit.file.clone(), find: edit.find.clone(), action, sha256: edit.sha256.clone() }
}

fn found(plan: &Plan, edit: &Edit, prepared: &[PreparedEdit], python: Option<&Path>, findings: &mut Findings) {
    let Some(prepared) = prepared.first() else { return };
    match findings.baseline.take(&prepared.real) {
        Ok(proof) if !findings.checkup.files.iter().any(|known| known.file == proof.file) => findings.checkup.files.push(proof),
        Ok(_) => {}
        Err(error) => findings
            .checkup
            .problems
            .push(Diagnostic::error("edit.unreadable", format!("{} cannot be read: {error}", prepared.real.display()))),
    }
    let lines = &prepared.added_lines;
    let file = edit.file.strip_prefix(plan.folder()).unwrap_or(&edit.file).display();
    let how = if edit.delivery == Delivery::Mount { "in private mounts of its trials" } else { "on disk while a trial needs it" };
    let placed = match lines.end.saturating_sub(lines.start) {
        0 | 1 => format!("{file}: adds line {}, {how}", lines.start),
        _ => format!("{file}: adds lines {} to {}, {how}", lines.start, lines.end - 1),
    };
    findings.checkup.placed.insert(edit.name.clone(), placed);
    if let Some(python) = python.filter(|_| edit.file.extension().is_some_and(|extension| extension == "py")) {
        parses(plan, edit, prepared, python, findings);
    }
}

fn parses(plan: &Plan, edit: &Edit, prepared: &PreparedEdit, python: &Path, findings: &mut Findings) {
    let problems = match check_inserted(python, &prepared.after, &prepared.added_lines) {
        Ok(problems) => problems,
        Err(error) => {
            findings
                .checkup
                .problems
                .push(Diagnostic::warning("edit.unchecked", format!("the text of edit `{}` could not be checked: {error}", edit.name)));
            return;
        }
    };
    let diagnostics: Vec<Diagnostic> =
        problems.iter().filter(|problem| !allowed(edit, problem)).map(|problem| inserted(plan, edit, prepared, problem)).collect();
    let (errors, warnings): (Vec<_>, Vec<_>) = diagnostics.into_iter().partition(|diagnostic| diagnostic.severity == Severity::Error);
    findings.checkup.problems.extend(warnings);
    if let Some(first) = errors.first() {
        refuse(findings, &edit.name, first.message.clone(), errors);
    }
}

fn allowed(edit: &Edit, problem: &InsertedProblem) -> bool {
    match problem {
        InsertedProblem::Undefined(unbound) | InsertedProblem::MaybeUndefined(unbound) => edit.allow_undefined.contains(&unbound.name),
        InsertedProblem::Syntax { .. } => false,
    }
}

fn inserted(plan: &Plan, edit: &Edit, prepared: &PreparedEdit, problem: &InsertedProblem) -> Diagnostic {
    let message = format!("edit `{}`: {problem}", edit.name);
    let (diagnostic, line) = match problem {
        InsertedProblem::Syntax { line, text, .. } => {
            let diagnostic = Diagnostic::error("edit.does_not_parse", message).help("mend the text; nothing was written");
            (text.iter().fold(diagnostic, |diagnostic, text| diagnostic.note(format!("there: {}", text.trim_end()))), *line)
        }
        InsertedProblem::Undefined(unbound) => {
            let help =
                "use a name that is defined there; where the program defines it in a way that cannot be seen, list it in `allow_undefined`";
            (near(Diagnostic::error("edit.undefined_name", message), unbound).help(help), Some(unbound.line))
        }
        InsertedProblem::MaybeUndefined(unbound) => {
            let help = "only the program can know; if it fails on that line, the edit is blamed";
            (near(Diagnostic::warning("edit.perhaps_undefined_name", message), unbound).help(help), Some(unbound.line))
        }
    };
    let label = line.map_or_else(|| "this text".to_owned(), |line| format!("it would stand at {}:{line}", prepared.file.display()));
    place(diagnostic, plan, &edit.spans, "text").label(label)
}

fn near(diagnostic: Diagnostic, unbound: &UnboundName) -> Diagnostic {
    if unbound.candidates.is_empty() {
        diagnostic
    } else {
        diagnostic.note(format!("defined there and like it: {}", unbound.candidates.join(", ")))
    }
}

/// Says where in the experiment file the problem of an edit stands.
fn not_found(plan: &Plan, edit: &Edit, error: &PrepareError) -> Diagnostic {
    let (key, label) = match error {
        PrepareError::NotFound { .. } => ("find", "this text, byte for byte"),
        PrepareError::Ambiguous { .. } => ("find", "this text must be there once"),
        PrepareError::Changed { .. } => ("sha256", "the file was to have this SHA-256"),
        PrepareError::EmptyFind { .. } => ("find", "a text of at least one character"),
        PrepareError::NoChange { .. } => ("text", "this changes nothing"),
        PrepareError::Target(_) => ("file", "this file"),
    };
    let mut diagnostic = error.diagnostic();
    diagnostic.message = format!("edit `{}`: {}", edit.name, diagnostic.message);
    if let PrepareError::Ambiguous { file, lines } = error {
        diagnostic.notes.extend(places(file, lines));
    }
    place(diagnostic, plan, &edit.spans, key).label(label)
}

/// The lines at which a text begins that is there more than once, as they stand.
fn places(file: &Path, lines: &[u32]) -> Vec<String> {
    let bytes = std::fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let all: Vec<&str> = text.lines().collect();
    let line = |number: &u32| all.get((*number as usize).checked_sub(1)?).map(|line| format!("line {number}: {}", line.trim_end()));
    lines.iter().filter_map(line).collect()
}

fn refuse(findings: &mut Findings, name: &str, why: String, problems: Vec<Diagnostic>) {
    findings.checkup.refused.insert(name.to_owned(), Refusal { why, problems });
}
