//! Addresses of readiness: `http://host[:port]/path`, alone, with what they must answer, or several.

use bystander_model::diagnostic::Diagnostic;

use super::super::item::Item;
use super::super::placeholder::template;
use super::super::problems::Problems;
use super::super::{pattern, schema};
use crate::plan::{HttpReady, Template};

/// Reads one address or several that must all answer.
pub(super) fn all(item: &Item<'_>, problems: &mut Problems<'_>) -> Vec<HttpReady> {
    let Some(elements) = item.elements() else { return one(item, problems).into_iter().collect() };
    if elements.is_empty() {
        problems.push(&item.span, item.invalid("is empty, and so no condition"));
    }
    elements.iter().filter_map(|element| one(element, problems)).collect()
}

/// Reads an address, or a table of an address and what it must answer.
fn one(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<HttpReady> {
    if item.value.is_str() {
        return Some(HttpReady { url: address(item, problems)?, status: Vec::new(), body: None });
    }
    if !item.value.is_table() {
        let problem = item.expected("an address, or a table of an address and what it must answer");
        problems.push(&item.span, problem.help(r#"write http = { url = "http://127.0.0.1:{port}/health", status = 200, body = 'ok' }"#));
        return None;
    }
    let table = item.table(schema::READY_HTTP, problems)?;
    let url = table.require("url", r#"url = "http://127.0.0.1:{port}/health""#, problems);
    let status = table.get("status").map(|item| statuses(&item, problems)).unwrap_or_default();
    let body = table.get("body").and_then(|item| body(&item, problems));
    Some(HttpReady { url: address(&url?, problems)?, status, body })
}

/// Reads one status or several, any of which counts.
fn statuses(item: &Item<'_>, problems: &mut Problems<'_>) -> Vec<u16> {
    let one =
        |item: &Item<'_>, problems: &mut Problems<'_>| item.integer(100..=599, problems).and_then(|status| u16::try_from(status).ok());
    match item.elements() {
        Some(elements) if elements.is_empty() => {
            problems.push(&item.span, item.invalid("is empty: no answer would count"));
            Vec::new()
        }
        Some(elements) => elements.iter().filter_map(|element| one(element, problems)).collect(),
        None => one(item, problems).into_iter().collect(),
    }
}

/// Reads what a body must match.
fn body(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<String> {
    let pattern = pattern::read(item, problems)?;
    if pattern.is_match("") {
        problems.push(&item.span, item.invalid("matches an empty body, so that any answer would count").help("leave it out, or say more"));
    }
    Some(pattern.as_str().to_owned())
}

/// Reads an address.
pub(in super::super) fn address(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Template> {
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

pub(super) fn is_port(port: &str) -> bool {
    port == "{port}" || (port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0))
}

pub(super) fn warn_of_fixed_port(item: &Item<'_>, problems: &mut Problems<'_>) {
    let message = format!("`{}` uses a fixed port: another run, or a leftover, may hold it", item.path);
    problems.push(
        &item.span,
        Diagnostic::warning("spec.fixed_port", message).help("write `{port}` here and in the command: each trial gets its own free port"),
    );
}
