//! `[program]`: what is started, when it is ready, how long it may take.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::command::{command, environment};
use super::instruments::spans;
use super::item::Item;
use super::problems::Problems;
use super::table::Table;
use super::{duration, placeholder, ready, schema};
use crate::plan::{Fresh, Program, STABLE, STABLE_ALONE};

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
        python: None,
        cwd: folder.to_path_buf(),
        env: indexmap::IndexMap::new(),
        ready: None,
        timeout: DEFAULT_TIMEOUT,
        stall: DEFAULT_STALL,
        grace: DEFAULT_GRACE,
        fresh: Fresh::default(),
        spans: indexmap::IndexMap::new(),
    };
    let Some(item) = root.require("program", r#"program.command = ["python3", "app.py"]"#, problems) else { return program };
    let Some(table) = item.table(schema::PROGRAM, problems) else { return program };
    program.command = command(&table, problems);
    program.spans = spans(&table, ["command", "python", "cwd", "ready"]);
    if let Some(cwd) = table.get("cwd").and_then(|item| placeholder::path(&item, folder, problems)) {
        program.cwd = cwd;
    }
    program.python = table.get("python").and_then(|item| python(&item, folder, problems));
    program.env = table.get("env").map(|item| environment(&item, problems)).unwrap_or_default();
    program.ready = table.get("ready").map(|item| ready::read(&item, problems));
    program.fresh = table.get("fresh").map(|item| fresh(&item, problems)).unwrap_or_default();
    program.timeout = span(&table, "timeout", false, problems).unwrap_or(DEFAULT_TIMEOUT);
    program.stall = span(&table, "stall", false, problems).unwrap_or(DEFAULT_STALL);
    program.grace = span(&table, "grace", true, problems).unwrap_or(DEFAULT_GRACE);
    program
}

/// Refuses conditions that must hold for longer than a launch may take: no launch could be seen to be ready within its limit.
pub(super) fn refuse_endless_ready(root: &Table<'_>, program: &Program, has_workload: bool, problems: &mut Problems<'_>) {
    let Some(ready) = &program.ready else { return };
    let usual = if has_workload { STABLE } else { STABLE_ALONE };
    let stable = ready.stable.unwrap_or(usual);
    // One of the two is written: the usual limit is longer than any usual time to hold.
    let Some(table) = root.get("program").filter(|item| item.value.is_table()).and_then(|item| item.entries(problems)) else { return };
    let written = table.get("ready").filter(|item| item.value.is_table()).and_then(|item| item.entries(problems)?.get("stable"));
    let limit = table.get("timeout");
    let Some(item) = written.clone().or_else(|| limit.clone()).filter(|_| stable >= program.timeout) else { return };
    let why = "no launch could be seen to hold so long within its limit";
    let (held, most) = (stable.as_secs_f64(), program.timeout.as_secs_f64());
    let (said, help) = if written.is_some() {
        let default = if limit.is_some() { "" } else { ", where the file does not say," };
        let help = "shorten `stable`, or raise `timeout` to more than the start and `stable` take together".to_owned();
        (format!("is {held} s, and `program.timeout`{default} is {most} s: {why}"), help)
    } else {
        let alone = if has_workload { "" } else { " and there is no workload" };
        let help =
            format!("raise `timeout` to more than the start and those {held} s take together, or write `stable = \"0s\"` in `ready`");
        (
            format!(
                "is {most} s, and what `ready` names must go on holding for {held} s, the default where `stable` is not said{alone}: {why}"
            ),
            help,
        )
    };
    problems.push(&item.span, item.invalid(&said).help(help));
}

/// Reads the Python of a program: a path relative to the folder of the file, or a name that is looked for on the program's PATH.
fn python(item: &Item<'_>, folder: &Path, problems: &mut Problems<'_>) -> Option<PathBuf> {
    let path = placeholder::path(item, folder, problems)?;
    let is_name = item.value.as_str().is_some_and(|text| !text.contains('/'));
    if is_name { path.file_name().map(PathBuf::from) } else { Some(path) }
}

/// Reads what every trial has for itself: `true` for all of it, or a table.
fn fresh(item: &Item<'_>, problems: &mut Problems<'_>) -> Fresh {
    if let Some(all) = item.value.as_bool() {
        return Fresh { cwd: all, cache: all };
    }
    if !item.value.is_table() {
        problems.push(&item.span, item.expected("`true`, `false` or a table").help("write fresh = { cwd = true, cache = true }"));
        return Fresh::default();
    }
    let Some(table) = item.table(schema::FRESH, problems) else { return Fresh::default() };
    let flag = |key: &str, problems: &mut Problems<'_>| table.get(key).and_then(|item| item.flag(problems)).unwrap_or(false);
    Fresh { cwd: flag("cwd", problems), cache: flag("cache", problems) }
}

fn span(table: &Table<'_>, key: &str, zero: bool, problems: &mut Problems<'_>) -> Option<Duration> {
    table.get(key).and_then(|item| duration::read(&item, zero, problems))
}
