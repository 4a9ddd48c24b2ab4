//! Where a metric is read: exactly one source, with what goes with it and nothing else.

use bystander_model::diagnostic::Diagnostic;

use super::super::item::Item;
use super::super::problems::Problems;
use super::super::table::Table;
use super::super::{pattern, placeholder, schema};
use super::{Sources, measured};
use crate::json_path::JsonPath;
use crate::plan::{Extract, MetricSource, Over, Pick, Series, Template, When};

/// The keys that name a source.
const SOURCES: [&str; 6] = ["log", "workload", "file", "http", "prometheus", "from"];
/// The keys that go with some sources only.
const MORE: [&str; 6] = ["json", "pattern", "when", "url", "pick", "over"];
const PICKS: [(&str, Pick); 7] = [
    ("only", Pick::Only),
    ("first", Pick::First),
    ("last", Pick::Last),
    ("min", Pick::Min),
    ("max", Pick::Max),
    ("sum", Pick::Sum),
    ("mean", Pick::Mean),
];
const OVERS: [(&str, Over); 4] = [("min", Over::Min), ("max", Over::Max), ("sum", Over::Sum), ("mean", Over::Mean)];
const WHENS: [(&str, When); 3] = [("before", When::Before), ("after", When::After), ("delta", When::Delta)];

/// What a table without a source most likely means: figures of traffic and engines, which are named by `from`.
fn meant(table: &Table<'_>) -> Option<String> {
    ["traffic", "engine"].into_iter().find_map(|kind| {
        let name = table.table.iter().find(|(key, _)| key.get_ref().as_ref() == kind)?.1.get_ref().as_str()?;
        Some(format!("write `from = \"{kind}.{name}\"`"))
    })
}

/// Reads the source of a metric.
pub(super) fn read(table: &Table<'_>, sources: Sources<'_>, problems: &mut Problems<'_>) -> Option<MetricSource> {
    let named: Vec<(&str, Item<'_>)> = SOURCES.into_iter().filter_map(|key| table.get(key).map(|item| (key, item))).collect();
    let (key, item) = match named.as_slice() {
        [one] => one,
        [] => {
            let problem = Diagnostic::error("spec.missing_key", format!("{} does not say where it is read", table.title()));
            if let Some(help) = meant(table) {
                problems.push(&table.span, problem.help(help));
                return None;
            }
            problems.push(
                &table.span,
                problem
                    .note("sources are `log`, `workload`, `file`, `http`, `prometheus` and `from`")
                    .help(r#"add `log = 'tokens=(\d+)'`, `workload = '…(\d+)'` or `from = "ready_s"`"#),
            );
            return None;
        }
        [_, (_, second), ..] => {
            let problem = Diagnostic::error("spec.two_sources", format!("{} is read at more than one place", table.title()));
            problems.push(&second.key, problem.help("keep one of `log`, `workload`, `file`, `http`, `prometheus` or `from`"));
            return None;
        }
    };
    match *key {
        "from" => measured::read(table, item, sources, problems),
        "file" => {
            refuse_more(table, "file", &["json", "pattern", "pick"], problems);
            let path = placeholder::template(item, problems).filter(|path| path_is_of_trial(path, item, problems));
            Some(MetricSource::File { read: extract(table, problems)?, path: path?, pick: pick(table, problems) })
        }
        "http" => {
            refuse_more(table, "http", &["json", "pattern", "pick"], problems);
            needs_ready("http", item, sources, problems);
            Some(MetricSource::Http { read: extract(table, problems)?, url: address(item, problems)?, pick: pick(table, problems) })
        }
        "prometheus" => prometheus(table, item, sources, problems),
        key => line(key, table, item, sources, problems),
    }
}

/// Refuses keys that mean nothing beside a source.
pub(super) fn refuse_more(table: &Table<'_>, source: &str, fitting: &[&str], problems: &mut Problems<'_>) {
    for item in MORE.into_iter().filter(|key| !fitting.contains(key)).filter_map(|key| table.get(key)) {
        let problem = item.invalid(&format!("means nothing beside `{source}`"));
        let help = match fitting {
            [] => format!("take it out: nothing goes with `{source}`"),
            fitting => format!("take it out; with `{source}` go {}", super::super::nearest::names(fitting.iter().copied())),
        };
        problems.push(&item.key, problem.help(help));
    }
}

/// Which match counts.
pub(super) fn pick(table: &Table<'_>, problems: &mut Problems<'_>) -> Pick {
    table.get("pick").and_then(|item| item.word(&PICKS, problems)).unwrap_or(Pick::Only)
}

/// How processes become one value.
pub(super) fn over(table: &Table<'_>, problems: &mut Problems<'_>) -> Over {
    table.get("over").and_then(|item| item.word(&OVERS, problems)).unwrap_or(Over::Min)
}

/// The path of a value in a JSON document.
fn json(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<String> {
    let text = item.some_text(problems)?;
    match JsonPath::parse(text) {
        Ok(path) => Some(path.to_string()),
        Err(error) => {
            let span = within(item, text, error.at, problems);
            let problem = item.invalid(&format!("is no path: expected {} here", error.expected));
            problems.push(&span, problem.help(r#"write `a.b[0]."c.d"`: keys, `[N]` from 0, `[-1]` for the last, `[*]` for each"#));
            None
        }
    }
}

/// The place in the file of a byte of a text, where the text stands there as it is; else the whole value.
fn within(item: &Item<'_>, text: &str, at: usize, problems: &Problems<'_>) -> std::ops::Range<usize> {
    let mut starts = problems.source(&item.span).match_indices(text);
    match (starts.next(), starts.next()) {
        (Some((start, _)), None) => {
            let at = item.span.start + start + at;
            at..at
        }
        _ => item.span.clone(),
    }
}

fn extract(table: &Table<'_>, problems: &mut Problems<'_>) -> Option<Extract> {
    match (table.get("json"), table.get("pattern")) {
        (Some(item), None) => json(&item, problems).map(Extract::Json),
        (None, Some(item)) => pattern::read_with_group(&item, problems).map(|pattern| Extract::Pattern(pattern.as_str().to_owned())),
        (Some(_), Some(second)) => {
            let problem = Diagnostic::error("spec.two_sources", format!("{} has both a path and a pattern", table.title()));
            problems.push(&second.key, problem.help("keep one of `json` or `pattern`"));
            None
        }
        (None, None) => {
            let problem = Diagnostic::error("spec.missing_key", format!("{} does not say what is read there", table.title()));
            problems.push(&table.span, problem.help(r#"add `json = "a.b[0].c"` or `pattern = 'tokens=(\d+)'`"#));
            None
        }
    }
}

/// Output of the program or of its workload: a pattern, or `{ json = … }`.
fn line(key: &str, table: &Table<'_>, item: &Item<'_>, sources: Sources<'_>, problems: &mut Problems<'_>) -> Option<MetricSource> {
    let is_log = key == "log";
    refuse_more(table, key, &["pick"], problems);
    let pick = pick(table, problems);
    if !is_log && !sources.workload {
        let problem = item.invalid("needs a workload, and the file has none");
        problems.push(&item.key, problem.help("add [workload], or read the program's output with `log`"));
    } else if !is_log && sources.traffic {
        let problem = item.invalid("needs a workload that prints, and built-in traffic prints nothing");
        problems.push(&item.key, problem.help(r#"read what it measures: from = "traffic.…""#));
    }
    if item.value.is_table() {
        let inner = item.table(schema::METRIC_JSON, problems)?;
        let json = json(&inner.require("json", r#"json = "a.b[0].c""#, problems)?, problems)?;
        return Some(if is_log { MetricSource::LogJson { json, pick } } else { MetricSource::WorkloadJson { json, pick } });
    }
    let pattern = pattern::read_with_group(item, problems)?.as_str().to_owned();
    Some(if is_log { MetricSource::Log { pattern, pick } } else { MetricSource::Workload { pattern, pick } })
}

fn prometheus(table: &Table<'_>, item: &Item<'_>, sources: Sources<'_>, problems: &mut Problems<'_>) -> Option<MetricSource> {
    refuse_more(table, "prometheus", &["when", "url", "pick"], problems);
    let pick = pick(table, problems);
    if matches!(pick, Pick::First | Pick::Last)
        && let Some(item) = table.get("pick")
    {
        problems.push(&item.span, item.invalid("must be `min`, `max`, `sum` or `mean` here: series have no order"));
    }
    needs_ready("prometheus", item, sources, problems);
    let url = table.get("url").and_then(|item| address(&item, problems));
    if url.is_none() && !sources.address && sources.ready {
        let problem = item.invalid("needs an address, and nothing in the file says where the program's server is");
        problems.push(&item.span, problem.help(r#"add `url = "http://127.0.0.1:{port}/metrics"`"#));
    }
    let when = table.require("when", r#"when = "delta""#, problems);
    let when = when.and_then(|item| Some((item.word(&WHENS, problems)?, item)));
    if let Some((When::Before | When::Delta, item)) = &when
        && !sources.workload
    {
        let problem = item.invalid("needs a workload: without one there is nothing between before and after");
        problems.push(&item.span, problem.help(r#"add [workload], or write when = "after""#));
    }
    let text = item.some_text(problems)?;
    let series = match Series::parse(text) {
        Ok(series) => series,
        Err(error) => {
            let span = within(item, text, error.at, problems);
            let problem = item.invalid(&format!("is no series: expected {} here", error.expected));
            problems.push(&span, problem.help(r#"write `name` or `name{label="value"}`"#));
            return None;
        }
    };
    Some(MetricSource::Prometheus { series, when: when?.0, pick, url })
}

/// Moments of a server exist only for programs that say when they are ready.
pub(super) fn needs_ready(source: &str, item: &Item<'_>, sources: Sources<'_>, problems: &mut Problems<'_>) {
    if !sources.ready {
        let problem = item.invalid("needs a program that says when it is ready");
        problems.push(&item.span, problem.help(format!("add `ready` to [program]: before that, nobody is asked for `{source}`")));
    }
}

/// Reads an address: `http://host[:port]/path`.
fn address(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Template> {
    let address = placeholder::template(item, problems)?;
    let host = address.0.strip_prefix("http://").map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    if host.is_none_or(|host| host.is_empty() || host.starts_with(':') || host.contains(char::is_whitespace)) {
        let problem = item.invalid("must be an address that starts with `http://` and names a host");
        problems.push(&item.span, problem.help("write it like \"http://127.0.0.1:{port}/stats\""));
        return None;
    }
    Some(address)
}

/// A file that is the same for every trial may have been written by another one: it is read all the same, and only what this trial wrote counts.
fn path_is_of_trial(path: &Template, item: &Item<'_>, problems: &mut Problems<'_>) -> bool {
    if path.0.trim().is_empty() {
        problems.push(&item.span, item.invalid("is empty"));
        return false;
    }
    if !path.mentions("trial") {
        let message = format!("`{}` names the same file for every trial", item.path);
        let problem =
            Diagnostic::warning("spec.shared_file", message).note("of it, only what the trial itself wrote since its launch counts");
        problems.push(&item.span, problem.help("write \"{trial}/result.json\", and tell the program or the workload that path"));
    }
    true
}
