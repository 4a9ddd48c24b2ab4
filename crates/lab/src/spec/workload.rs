//! `[workload]`: what is done to the ready program: a command, or built-in traffic.

mod prompt;
pub(super) mod requests;
mod traffic;

use std::path::Path;

use bystander_model::diagnostic::Diagnostic;

use super::command::command;
use super::instruments::spans;
use super::problems::Problems;
use super::table::Table;
use super::{duration, schema};
use crate::plan::{Program, Workload};

/// Reads `[workload]`; its time limit is the program's where the file does not say.
pub(super) fn read(root: &Table<'_>, program: &Program, folder: &Path, problems: &mut Problems<'_>) -> Option<Workload> {
    let table = root.get("workload")?.table(schema::WORKLOAD, problems)?;
    if program.ready.is_none() {
        let problem =
            Diagnostic::error("spec.workload_without_ready", "a workload runs against a ready program, and nothing says when it is ready");
        problems.push(&table.span, problem.help(r#"add to [program]: ready = { http = "http://127.0.0.1:{port}/health" }"#));
    }
    let timeout = table.get("timeout").and_then(|item| duration::read(&item, false, problems));
    if let (Some(item), Some(_)) = (table.get("timeout"), timeout.filter(|timeout| *timeout > program.timeout)) {
        let problem = Diagnostic::warning(
            "spec.timeout_never_reached",
            "the time limit of the workload is longer than the program's, which holds for both",
        );
        problems.push(&item.span, problem.help("raise `program.timeout`, which runs from spawn to the end of the workload"));
    }
    let mut spans = spans(&table, ["command", "traffic"]);
    let load = table.get("traffic").and_then(|item| {
        let inner = item.table(schema::TRAFFIC, problems)?;
        if let Some(key) = inner.get("prompt").and_then(|item| item.entries(problems)).and_then(|prompt| prompt.get("file")) {
            spans.insert("prompt.file".into(), key.span);
        }
        if let Some(key) = inner.get("api_key_env") {
            spans.insert("api_key_env".into(), key.span);
        }
        traffic::read(&inner, folder, problems)
    });
    let command = match (table.get("traffic"), table.get("command")) {
        (Some(_), Some(item)) => {
            let problem = Diagnostic::error("spec.two_workloads", "a workload is a command or built-in traffic, and here are both");
            problems.push(&item.key, problem.help("keep one of `command` and [workload.traffic]"));
            Vec::new()
        }
        (Some(_), None) => Vec::new(),
        (None, _) => command(&table, problems),
    };
    Some(Workload { command, traffic: load, requests: None, timeout: timeout.unwrap_or(program.timeout), spans })
}
