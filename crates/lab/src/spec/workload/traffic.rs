//! `[workload.traffic]`: the load that Bystander itself puts on an OpenAI-compatible server.

use std::path::Path;

use bystander_model::diagnostic::Diagnostic;
use bystander_model::traffic::{Amount, Arrival, Endpoint, Load};
use serde_json::{Map, Value};
use toml::de::DeValue;

use super::super::duration;
use super::super::item::Item;
use super::super::placeholder::template;
use super::super::problems::Problems;
use super::super::ready::address::address;
use super::super::table::Table;
use super::prompt;

/// `max_tokens`, where the file does not say.
const OUTPUT_TOKENS: u32 = 128;
/// The time limit of one request in seconds, where the file does not say: a long answer of a slow engine.
const TIMEOUT_S: f64 = 300.0;
/// The seed, where the file does not say.
const SEED: u64 = 1;
/// No more requests at a time than a process of this system can be given connections.
const MOST_AT_A_TIME: u64 = 1_000_000;
/// No more arrivals a second than a client can start.
const HIGHEST_RATE: f64 = 1e6;
/// No more requests than can be counted by one line each.
const MOST_REQUESTS: u64 = 1_000_000_000;
const ENDPOINTS: [(&str, Endpoint); 2] = [("chat", Endpoint::Chat), ("completions", Endpoint::Completions)];
/// Keys of a request's body that have a key of their own here, and which.
const OWN: [(&str, &str); 8] = [
    ("model", "model"),
    ("messages", "prompt"),
    ("prompt", "prompt"),
    ("max_tokens", "output_tokens"),
    ("max_completion_tokens", "output_tokens"),
    ("ignore_eos", "ignore_eos"),
    ("stream", ""),
    ("n", ""),
];

/// Reads the load; relative paths are relative to `folder`.
pub(super) fn read(table: &Table<'_>, folder: &Path, problems: &mut Problems<'_>) -> Option<Load> {
    let url = table.require("url", r#"url = "http://127.0.0.1:{port}""#, problems).and_then(|item| url(&item, problems));
    let arrival = arrival(table, problems);
    let amount = amount(table, problems);
    let endpoint = table.get("endpoint").and_then(|item| item.word(&ENDPOINTS, problems)).unwrap_or(Endpoint::Chat);
    let prompt = table.require("prompt", "prompt = { tokens = 512 }", problems).and_then(|item| prompt::read(&item, folder, problems));
    let model = table.get("model").and_then(|item| {
        item.some_text(problems)?;
        template(&item, problems)
    });
    let output_tokens = table.get("output_tokens").and_then(|item| item.integer(1..=10_000_000, problems));
    let warmup = table.get("warmup").and_then(|item| warmup(&item, problems));
    let ignore_eos = table.get("ignore_eos").and_then(|item| item.flag(problems)).unwrap_or(false);
    let timeout = table.get("timeout").and_then(|item| duration::read(&item, false, problems));
    let errors = table.get("errors").and_then(|item| errors(&item, problems)).unwrap_or(0.0);
    let seed = table.get("seed").and_then(|item| item.integer(0..=u64::MAX, problems)).unwrap_or(SEED);
    let api_key_env = table.get("api_key_env").and_then(|item| variable(&item, problems));
    let body = table.get("body").map(|item| body(&item, problems)).unwrap_or_default();
    // Nothing is given up before everything is read: all problems are told in one go.
    Some(Load {
        url: url?,
        model: model.map(|model| model.0),
        endpoint,
        arrival: arrival?,
        amount: amount?,
        warmup,
        prompt: prompt?,
        output_tokens: output_tokens.and_then(|tokens| u32::try_from(tokens).ok()).unwrap_or(OUTPUT_TOKENS),
        ignore_eos,
        timeout_s: timeout.map_or(TIMEOUT_S, |timeout| timeout.as_secs_f64()),
        errors,
        seed,
        api_key_env,
        body,
    })
}

fn url(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<String> {
    let text = item.text(problems)?;
    let like = r#"write it like "http://127.0.0.1:{port}""#;
    if text.starts_with("https://") {
        problems.push(&item.span, item.invalid("must start with `http://`: traffic speaks plain HTTP").help(like));
        return None;
    }
    if !text.starts_with("http://") {
        let help =
            if text.contains("://") { like.to_owned() } else { format!("write \"http://{}\", or {like}", text.trim_start_matches('/')) };
        problems.push(&item.span, item.invalid("must start with `http://`").help(help));
        return None;
    }
    if text.contains(['?', '#', '@']) {
        problems.push(&item.span, item.invalid("holds `?`, `#` or `@`, and only a host, a port and a path belong here").help(like));
        return None;
    }
    for end in ["/chat/completions", "/completions"] {
        if text.trim_end_matches('/').ends_with(end) {
            let problem = item.invalid(&format!("names `{end}`, which `endpoint` chooses"));
            problems.push(&item.span, problem.help("end it before `/v1`, or with it"));
            return None;
        }
    }
    address(item, problems).map(|address| address.0)
}

fn arrival(table: &Table<'_>, problems: &mut Problems<'_>) -> Option<Arrival> {
    let evenly = table.get("evenly").and_then(|item| item.flag(problems)).unwrap_or(false);
    match (table.get("concurrency"), table.get("rate")) {
        (Some(_), Some(rate)) => {
            let problem =
                Diagnostic::error("spec.two_arrivals", "requests come `concurrency` at a time, or at a `rate`, and here are both");
            problems.push(&rate.key, problem.help("keep one of `concurrency` and `rate`"));
            None
        }
        (Some(item), None) => {
            if let Some(evenly) = table.get("evenly") {
                problems.push(&evenly.key, evenly.invalid("means nothing without `rate`").help("take it out"));
            }
            let concurrency = item.integer(1..=MOST_AT_A_TIME, problems)?;
            Some(Arrival::Closed { concurrency: u32::try_from(concurrency).ok()? })
        }
        (None, Some(item)) => {
            let rate = item.number(problems)?;
            if !(rate > 0.0 && rate <= HIGHEST_RATE) {
                problems.push(&item.span, item.invalid(&format!("must be greater than 0 and at most {HIGHEST_RATE} requests a second")));
                return None;
            }
            Some(if evenly { Arrival::Constant { rate } } else { Arrival::Poisson { rate } })
        }
        (None, None) => {
            let problem = Diagnostic::error("spec.missing_key", format!("{} does not say how requests come", table.title()));
            problems.push(&table.span, problem.help("add `concurrency = 8`, or `rate = 10.0` (requests a second, at random)"));
            None
        }
    }
}

fn amount(table: &Table<'_>, problems: &mut Problems<'_>) -> Option<Amount> {
    match (table.get("requests"), table.get("duration")) {
        (Some(_), Some(item)) => {
            let problem = Diagnostic::error("spec.two_amounts", "so many `requests` are sent, or all of a `duration`, and here are both");
            problems.push(&item.key, problem.help("keep one of `requests` and `duration`"));
            None
        }
        (Some(item), None) => item.integer(1..=MOST_REQUESTS, problems).map(Amount::Requests),
        (None, Some(item)) => duration::read(&item, false, problems).map(|time| Amount::Seconds(time.as_secs_f64())),
        (None, None) => {
            let problem = Diagnostic::error("spec.missing_key", format!("{} does not say how much there is of it", table.title()));
            problems.push(&table.span, problem.help(r#"add `requests = 200`, or `duration = "60s"`"#));
            None
        }
    }
}

/// Reads a number of requests, or a time; none at all is no warm-up.
fn warmup(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Amount> {
    if item.value.is_integer() {
        return item.integer(0..=MOST_REQUESTS, problems).filter(|requests| *requests > 0).map(Amount::Requests);
    }
    if item.value.as_str().is_none() {
        problems.push(&item.span, item.expected("a number of requests, or a span of time such as \"10s\""));
        return None;
    }
    duration::read(item, true, problems).filter(|time| !time.is_zero()).map(|time| Amount::Seconds(time.as_secs_f64()))
}

/// Reads the share of requests that may fail.
pub(super) fn errors(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<f64> {
    let share = item.number(problems)?;
    if !(0.0..1.0).contains(&share) {
        let problem = item.invalid("is the share of requests that may fail, from 0 to less than 1");
        problems.push(&item.span, problem.help("one percent is written 0.01"));
        return None;
    }
    Some(share)
}

/// Reads the name of a variable, which the key itself is often written in place of.
fn variable(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<String> {
    let name = item.some_text(problems)?;
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.starts_with(|c: char| c.is_ascii_digit());
    if !is_name {
        let problem = item.invalid("is no name of a variable: write the name of the variable that holds the key, and never the key");
        problems.push(&item.span, problem.help(r#"write api_key_env = "OPENAI_API_KEY""#));
        return None;
    }
    Some(name.to_owned())
}

/// Reads what else the body of every request holds.
fn body(item: &Item<'_>, problems: &mut Problems<'_>) -> Map<String, Value> {
    let Some(table) = item.entries(problems) else { return Map::new() };
    let mut body = Map::new();
    for (key, item) in table.items() {
        if let Some((_, own)) = OWN.iter().find(|(name, _)| *name == key) {
            let problem = item.invalid("is decided by the load, and not here");
            let help = if own.is_empty() { "take it out".to_owned() } else { format!("write `{own}` in [workload.traffic]") };
            problems.push(&item.key, problem.help(help));
            continue;
        }
        if let Some(value) = json(&item, item.value, problems) {
            body.insert(key.to_owned(), value);
        }
    }
    body
}

/// A value of the file as JSON.
fn json(item: &Item<'_>, value: &DeValue<'_>, problems: &mut Problems<'_>) -> Option<Value> {
    match value {
        DeValue::String(text) => Some(Value::from(text.as_ref())),
        DeValue::Boolean(flag) => Some(Value::from(*flag)),
        DeValue::Integer(_) | DeValue::Float(_) => {
            let number = match value {
                DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix()).ok().map(Value::from),
                DeValue::Float(float) => float.as_str().parse::<f64>().ok().and_then(serde_json::Number::from_f64).map(Value::from),
                _ => None,
            };
            if number.is_none() {
                problems.push(&item.span, item.invalid("holds a number that JSON cannot hold"));
            }
            number
        }
        DeValue::Array(list) => list.iter().map(|value| json(item, value.get_ref(), problems)).collect(),
        DeValue::Table(table) => {
            let one = |(key, value): (&toml::Spanned<std::borrow::Cow<'_, str>>, &toml::Spanned<DeValue<'_>>)| {
                Some((key.get_ref().to_string(), json(item, value.get_ref(), problems)?))
            };
            table.iter().map(one).collect::<Option<Map<String, Value>>>().map(Value::Object)
        }
        DeValue::Datetime(_) => {
            problems.push(&item.span, item.invalid("holds a date or time, which JSON does not know").help("put it in quotes"));
            None
        }
    }
}
