//! `[program]` and `[workload]`: what is started, when it is ready, how long it may take.

use std::path::Path;
use std::time::Duration;

use bystander_model::diagnostic::Diagnostic;

use super::command::{command, environment};
use super::instruments::spans;
use super::problems::Problems;
use super::table::Table;
use super::{duration, placeholder, ready, schema};
use crate::plan::{Program, Workload};

/// From spawn to the end, where the file does not say.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(15 * 60);
/// Without output for this long counts as stalled, where the file does not say.
pub const DEFAULT_STALL: Duration = Duration::from_secs(60);
/// From SIGTERM to SIGKILL, where the file does not say.
pub const DEFAULT_GRACE: Duration = Duration::from_secs(10);

/// Reads `[program]`; relative paths are relative to `folder`.
pub(super) fn program(root: &Table<'_>, folder: &Path, problems: &mut Problems<'_>) -> Program {
    let mut program = Program {
        command: Vec::new(),
        cwd: folder.to_path_buf(),
        env: indexmap::IndexMap::new(),
        ready: None,
        timeout: DEFAULT_TIMEOUT,
        stall: DEFAULT_STALL,
        grace: DEFAULT_GRACE,
        spans: indexmap::IndexMap::new(),
    };
    let Some(item) = root.require("program", r#"program.command = ["python3", "app.py"]"#, problems) else { return program };
    let Some(table) = item.table(schema::PROGRAM, problems) else { return program };
    program.command = command(&table, problems);
    program.spans = spans(&table, ["command", "cwd", "ready"]);
    if let Some(cwd) = table.get("cwd").and_then(|item| placeholder::path(&item, folder, problems)) {
        program.cwd = cwd;
    }
    program.env = table.get("env").map(|item| environment(&item, problems)).unwrap_or_default();
    program.ready = table.get("ready").map(|item| ready::read(&item, problems));
    program.timeout = span(&table, "timeout", false, problems).unwrap_or(DEFAULT_TIMEOUT);
    program.stall = span(&table, "stall", false, problems).unwrap_or(DEFAULT_STALL);
    program.grace = span(&table, "grace", true, problems).unwrap_or(DEFAULT_GRACE);
    program
}

/// Reads `[workload]`; its time limit is the program's where the file does not say.
pub(super) fn workload(root: &Table<'_>, program: &Program, problems: &mut Problems<'_>) -> Option<Workload> {
    let table = root.get("workload")?.table(schema::WORKLOAD, problems)?;
    if program.ready.is_none() {
        let problem =
            Diagnostic::error("spec.workload_without_ready", "a workload runs against a ready program, and nothing says when it is ready");
        problems.push(&table.span, problem.help(r#"add to [program]: ready = { http = "http://127.0.0.1:{port}/health" }"#));
    }
    let timeout = span(&table, "timeout", false, problems);
    if let (Some(item), Some(_)) = (table.get("timeout"), timeout.filter(|timeout| *timeout > program.timeout)) {
        let problem = Diagnostic::warning(
            "spec.timeout_never_reached",
            "the time limit of the workload is longer than the program's, which holds for both",
        );
        problems.push(&item.span, problem.help("raise `program.timeout`, which runs from spawn to the end of the workload"));
    }
    let spans = spans(&table, ["command"]);
    Some(Workload { command: command(&table, problems), timeout: timeout.unwrap_or(program.timeout), spans })
}

fn span(table: &Table<'_>, key: &str, zero: bool, problems: &mut Problems<'_>) -> Option<Duration> {
    table.get(key).and_then(|item| duration::read(&item, zero, problems))
}
