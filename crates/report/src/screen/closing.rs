//! The last lines: what else is worth knowing, what would be needed to know more, and where the logs are.

use std::path::{Path, PathBuf};

use bystander_model::report::Report;

use crate::page::Page;
use crate::prose::clean;

const NOTES: usize = 3;
const STEPS: usize = 4;

pub(crate) fn write(page: &mut Page<'_>, report: &Report, option: &str) {
    list(page, "Also", &report.notes, NOTES);
    list(page, "To know more", &report.next, STEPS);
    if report.next.is_empty() {
        page.heading("To know more");
    }
    let all = format!("every trial with its evidence: bystander show {} --why{}", clean(&report.run), clean_option(option));
    let logs = logs(report).map(|logs| format!("; logs: {} in the state directory", clean(&logs.to_string_lossy())));
    page.led("  - ", None, 4, &format!("{all}{}", logs.unwrap_or_default()));
}

/// An option to put behind a command, or nothing.
fn clean_option(option: &str) -> String {
    if option.is_empty() { String::new() } else { format!(" {}", clean(option)) }
}

fn list(page: &mut Page<'_>, title: &str, sentences: &[String], most: usize) {
    if sentences.is_empty() {
        return;
    }
    page.heading(title);
    for sentence in sentences.iter().take(most) {
        page.led("  - ", None, 4, &clean(sentence));
    }
    if sentences.len() > most {
        page.indented(&format!("\u{2026} {} more (show --why)", sentences.len() - most));
    }
}

/// The folder that holds the folders of all trials.
fn logs(report: &Report) -> Option<PathBuf> {
    let file = report.trials.iter().find_map(|trial| trial.output.values().next())?;
    file.parent().and_then(Path::parent).map(|folder| folder.join("trial-*"))
}
