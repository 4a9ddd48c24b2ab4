//! What `patch status`, `patch revert` and `patch verify` found, as text.

use bystander_model::patch::{EditState, PatchReport, ProblemKind};

use crate::page::Page;
use crate::prose::{clean, count};
use crate::style::{Role, Style};

/// Renders the state of edits on disk.
#[must_use]
pub fn patch_text(report: &PatchReport, style: &Style) -> String {
    let mut page = Page::new(style);
    let live = report.edits.iter().filter(|edit| edit.state == EditState::Live).count();
    let stuck = report.edits.iter().filter(|edit| edit.state == EditState::Conflict).count();
    let (role, verdict) = if report.clean {
        (Role::Good, "Clean: no edit is live, in conflict or left behind.".to_owned())
    } else {
        let problems = count(report.problems.len(), "problem", "problems");
        (Role::Bad, format!("NOT clean: {} live, {stuck} in conflict, {problems}.", count(live, "edit", "edits")))
    };
    page.led(&verdict, Some(role), 0, "");
    if !report.edits.is_empty() {
        page.heading("Edits");
        let header = ["name", "state", "file", "made", "expires", "by", "id"].map(str::to_owned);
        let rows: Vec<Vec<String>> = report
            .edits
            .iter()
            .map(|edit| {
                let expires = edit.expires.as_deref().unwrap_or("with its trial");
                let texts = [&edit.name, word(edit.state), &edit.file.to_string_lossy(), &edit.made, expires, &edit.by, &edit.id];
                texts.iter().map(|text| clean(text)).collect()
            })
            .collect();
        page.table(&header, &rows);
    }
    if !report.problems.is_empty() {
        page.heading("Problems");
        for problem in &report.problems {
            page.led(
                &format!("  {} ({}): ", clean(&problem.file.to_string_lossy()), kind(problem.kind)),
                Some(Role::Bad),
                4,
                &clean(&problem.text),
            );
        }
    }
    page.finish()
}

const fn word(state: EditState) -> &'static str {
    match state {
        EditState::Live => "live",
        EditState::Reverted => "reverted",
        EditState::Conflict => "conflict",
    }
}

const fn kind(kind: ProblemKind) -> &'static str {
    match kind {
        ProblemKind::Marker => "inserted text is still there",
        ProblemKind::Bytes => "bytes differ",
        ProblemKind::Metadata => "metadata differs",
        ProblemKind::Bytecode => "bytecode is left",
        ProblemKind::Build => "something was built from it",
    }
}
