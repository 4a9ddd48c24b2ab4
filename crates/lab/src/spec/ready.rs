//! `program.ready`: the conditions that show that the program is ready.

pub(super) mod address;
mod generates;

use std::time::Duration;

use bystander_model::diagnostic::Diagnostic;

use super::command::argv;
use super::item::Item;
use super::placeholder::template;
use super::problems::Problems;
use super::{duration, pattern, schema};
use crate::plan::{CommandReady, Ready, Template};

/// How long a command of readiness may take, where the file does not say.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads the conditions; at least one must be named.
pub(super) fn read(item: &Item<'_>, problems: &mut Problems<'_>) -> Ready {
    let example = r#"write ready = { http = "http://127.0.0.1:{port}/health", log = "ready" }, or one of the two"#;
    if !item.value.is_table() {
        problems.push(&item.span, item.expected("a table of conditions").help(example));
        return Ready::default();
    }
    let Some(table) = item.table(schema::READY, problems) else { return Ready::default() };
    if table.table.keys().all(|key| key.get_ref() == "stable") {
        problems.push(&item.span, item.invalid("names no condition").help(example));
    }
    let timeout = |item: &Item<'_>, zero, problems: &mut Problems<'_>| duration::read(item, zero, problems);
    Ready {
        http: table.get("http").map(|item| address::all(&item, problems)).unwrap_or_default(),
        log: table.get("log").map(|item| lines(&item, problems)).unwrap_or_default(),
        port: table.get("port").and_then(|item| port(&item, problems)),
        file: table.get("file").and_then(|item| file(&item, problems)),
        notify: table.get("notify").is_some_and(|item| notify(&item, problems)),
        command: table.get("command").map(|item| command(&item, problems)),
        generates: table.get("generates").and_then(|item| generates::read(&item, problems)),
        stable: table.get("stable").and_then(|item| timeout(&item, true, problems)),
    }
}

/// Reads one pattern, or several that must all match some line.
fn lines(item: &Item<'_>, problems: &mut Problems<'_>) -> Vec<String> {
    let Some(elements) = item.elements() else {
        return if item.value.is_str() {
            line(item, problems).into_iter().collect()
        } else {
            problems.push(&item.span, item.expected("a pattern, or a list of patterns that must all match some line"));
            Vec::new()
        };
    };
    if elements.is_empty() {
        problems.push(&item.span, item.invalid("is empty, and so no condition"));
    }
    elements.iter().filter_map(|element| line(element, problems)).collect()
}

/// Reads the pattern of a line.
fn line(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<String> {
    let pattern = pattern::read(item, problems)?;
    if pattern.is_match("") {
        let message = format!("`{}` matches an empty line, so that any output would count as ready", item.path);
        problems.push(&item.span, Diagnostic::error("spec.invalid_value", message));
    }
    Some(pattern.as_str().to_owned())
}

/// Reads a port: a number, or a text that is one, or `{port}`.
fn port(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Template> {
    let port = if item.value.is_integer() {
        Template(item.integer(1..=65_535, problems)?.to_string())
    } else if item.value.is_str() {
        template(item, problems)?
    } else {
        problems.push(&item.span, item.expected("a port number or \"{port}\""));
        return None;
    };
    if !address::is_port(&port.0) {
        problems.push(&item.span, item.invalid("must be a port from 1 to 65535, or \"{port}\""));
        return None;
    }
    if port.0 != "{port}" {
        address::warn_of_fixed_port(item, problems);
    }
    Some(port)
}

/// Reads a file that the program makes or changes.
fn file(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Template> {
    let file = template(item, problems)?;
    let name = file.0.trim();
    if name.is_empty() || name.ends_with('/') {
        problems
            .push(&item.span, item.invalid("names no file").help(r#"write it like file = "{trial}/ready", or relative to `program.cwd`"#));
        return None;
    }
    Some(file)
}

/// Reads `notify = true`.
fn notify(item: &Item<'_>, problems: &mut Problems<'_>) -> bool {
    let asked = item.flag(problems);
    if asked == Some(false) {
        problems.push(&item.span, item.invalid("is no condition when it is `false`").help("leave it out"));
    }
    asked == Some(true)
}

/// Reads a command: a list, or a table with a time limit.
fn command(item: &Item<'_>, problems: &mut Problems<'_>) -> CommandReady {
    if !item.value.is_table() {
        return CommandReady { command: argv(item, problems), timeout: COMMAND_TIMEOUT };
    }
    let nothing = CommandReady { command: Vec::new(), timeout: COMMAND_TIMEOUT };
    let Some(table) = item.table(schema::READY_COMMAND, problems) else { return nothing };
    let command = super::command::command(&table, problems);
    let timeout = table.get("timeout").and_then(|item| duration::read(&item, false, problems));
    CommandReady { command, timeout: timeout.unwrap_or(COMMAND_TIMEOUT) }
}
