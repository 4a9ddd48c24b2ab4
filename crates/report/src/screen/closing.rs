//! The last lines: what else is worth knowing, what would be needed to know more, and where the logs are.

use std::path::{Path, PathBuf};

use bystander_model::report::{NextStep, Report};

use super::Again;
use super::answers::subject;
use crate::number;
use crate::page::Page;
use crate::prose::{GLUE, clean, count};

const NOTES: usize = 3;
const STEPS: usize = 4;

pub(crate) fn write(page: &mut Page<'_>, report: &Report, again: &Again<'_>) {
    list(page, "Also", &report.notes, NOTES);
    page.heading("To know more");
    for step in report.next.iter().take(STEPS) {
        page.led("  - ", None, 4, &step_said(step));
    }
    if report.next.len() > STEPS {
        page.indented(&format!("\u{2026} {} more (show --why)", report.next.len() - STEPS));
    }
    let all = format!("bystander show {} --why{}", clean(again.run), clean_option(again.option));
    // A line that is broken within a command cannot be copied.
    let all = format!("every trial with its evidence: {}", all.replace(' ', &GLUE.to_string()));
    let logs = logs(report).map(|logs| format!("; logs: {} in {}", clean(&logs.to_string_lossy()), again.within));
    page.led("  - ", None, 4, &format!("{all}{}", logs.unwrap_or_default()));
}

/// A step with what it is about and what it costs: `allreduce: a launch of custom/none (1 launch, about 2.3 s)`.
pub(crate) fn step_said(step: &NextStep) -> String {
    let about: Vec<String> = step.about.iter().map(|about| subject(about)).collect();
    let about = if about.is_empty() { String::new() } else { format!("{}: ", about.join(", ")) };
    let launches = step.launches.map(|n| if n == 0 { "no launch".to_owned() } else { count(n as usize, "launch", "launches") });
    let time = step.seconds.filter(|_| step.launches != Some(0)).map(|seconds| format!("about {}", number::about(seconds)));
    let cost: Vec<String> = launches.into_iter().chain(time).collect();
    let cost = if cost.is_empty() { String::new() } else { format!(" ({})", cost.join(", ")) };
    format!("{about}{}{cost}", clean(&step.text))
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
