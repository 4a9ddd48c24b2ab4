//! `program.ready`: the conditions that show that the program is ready.

use bystander_model::diagnostic::Diagnostic;

use super::item::Item;
use super::placeholder::template;
use super::problems::Problems;
use super::{pattern, schema};
use crate::plan::{Ready, Template};

/// Reads the conditions; at least one must be named.
pub(super) fn read(item: &Item<'_>, problems: &mut Problems<'_>) -> Ready {
    let example = r#"write ready = { http = "http://127.0.0.1:{port}/health", log = "ready" }, or one of the two"#;
    if !item.value.is_table() {
        problems.push(&item.span, item.expected("a table of conditions").help(example));
        return Ready::default();
    }
    let Some(table) = item.table(schema::READY, problems) else { return Ready::default() };
    if table.table.is_empty() {
        problems.push(&item.span, item.invalid("names no condition").help(example));
    }
    Ready {
        http: table.get("http").and_then(|item| address(&item, problems)),
        log: table.get("log").and_then(|item| line(&item, problems)),
        port: table.get("port").and_then(|item| port(&item, problems)),
    }
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

/// Reads an address: `http://host[:port]/path`.
fn address(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Template> {
    let address = template(item, problems)?;
    if let Some(fault) = fault_of_address(&address.0) {
        problems.push(&item.span, item.invalid(fault).help("write it like \"http://127.0.0.1:{port}/health\""));
        return None;
    }
    if !authority(&address.0).contains("{port}") {
        warn_of_fixed_port(item, problems);
    }
    Some(address)
}

fn fault_of_address(address: &str) -> Option<&'static str> {
    if address.starts_with("https://") {
        return Some("must start with `http://`: readiness is asked in plain HTTP");
    }
    if !address.starts_with("http://") {
        return Some("must start with `http://`");
    }
    let authority = authority(address);
    let (host, port) = match authority.rsplit_once(':') {
        // The colons of an IPv6 address are inside brackets.
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (authority, None),
    };
    if host.is_empty() || address.contains(char::is_whitespace) {
        return Some("names no host, or holds white space");
    }
    port.is_some_and(|port| !is_port(port)).then_some("must have a port from 1 to 65535, or `{port}`")
}

fn authority(address: &str) -> &str {
    let rest = address.strip_prefix("http://").unwrap_or(address);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

fn is_port(port: &str) -> bool {
    port == "{port}" || (port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0))
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
    if !is_port(&port.0) {
        problems.push(&item.span, item.invalid("must be a port from 1 to 65535, or \"{port}\""));
        return None;
    }
    if port.0 != "{port}" {
        warn_of_fixed_port(item, problems);
    }
    Some(port)
}

fn warn_of_fixed_port(item: &Item<'_>, problems: &mut Problems<'_>) {
    let message = format!("`{}` uses a fixed port: another run, or a leftover, may hold it", item.path);
    problems.push(
        &item.span,
        Diagnostic::warning("spec.fixed_port", message).help("write `{port}` here and in the command: each trial gets its own free port"),
    );
}
