//! What tells how many requests of a command's failed: metrics of the file, by name.

use bystander_model::diagnostic::Diagnostic;
use indexmap::IndexMap;

use super::super::item::Item;
use super::super::nearest::{names, nearest};
use super::super::problems::Problems;
use super::super::schema;
use super::super::table::Table;
use super::traffic;
use crate::plan::{Count, Metric, RequestCounts};

/// Counts of which any two tell the third.
const COUNTS: [&str; 3] = ["completed", "failed", "requests"];
/// What says nothing alone.
const BESIDE: [&str; 2] = ["tokens", "errors"];
const EXAMPLE: &str = r#"write `failed = "METRIC"` and `requests = 200`, or `error_rate = "METRIC"`"#;
/// No more requests than can be counted by one line each.
const MOST: u64 = 1_000_000_000;

/// Reads what tells the requests, once the metrics are known.
pub(in crate::spec) fn read(root: &Table<'_>, metrics: &IndexMap<String, Metric>, problems: &mut Problems<'_>) -> Option<RequestCounts> {
    // What is wrong with the table itself was told where it was read.
    let item = root.get("workload").filter(|item| item.value.is_table())?;
    let table = Table { valid: schema::WORKLOAD, ..item.entries(problems)? };
    let all = || ["error_rate"].into_iter().chain(COUNTS).chain(BESIDE).filter_map(|key| Some((key, table.get(key)?)));
    if table.get("traffic").is_some() {
        all().for_each(|(key, item)| of_traffic(key, &item, problems));
        return None;
    }
    all().next()?;
    let counted: Vec<(&str, Item<'_>)> = COUNTS.into_iter().filter_map(|key| Some((key, table.get(key)?))).collect();
    let is_whole = match (table.get("error_rate"), counted.as_slice()) {
        (Some(_), [(_, second), ..]) => refuse(second, "counts what `error_rate` tells already", "keep one of the two", problems),
        (None, [_, _, (_, third)]) => refuse(third, "is told by the other two", "take one of the three out", problems),
        (None, [(key, item)]) => {
            let other = if *key == "requests" { r#"`failed = "METRIC"`"# } else { "`requests = 200`, or a metric that counts them" };
            refuse(item, "alone tells no share of requests that failed", &format!("add {other}"), problems)
        }
        (None, []) => {
            all().next().is_some_and(|(_, item)| refuse(&item, "means nothing where nothing tells the requests", EXAMPLE, problems))
        }
        _ => true,
    };
    let known = Known { metrics };
    let mut name = |key: &str| table.get(key).and_then(|item| known.name(&item, problems));
    let counts = RequestCounts {
        error_rate: name("error_rate"),
        completed: name("completed"),
        failed: name("failed"),
        tokens: name("tokens"),
        requests: table.get("requests").and_then(|item| known.count(&item, problems)),
        tolerated: table.get("errors").and_then(|item| traffic::errors(&item, problems)).unwrap_or(0.0),
    };
    refuse_twice(&table, problems);
    is_whole.then_some(counts)
}

fn refuse(item: &Item<'_>, why: &str, help: &str, problems: &mut Problems<'_>) -> bool {
    problems.push(&item.key, item.invalid(why).help(help));
    false
}

fn of_traffic(key: &str, item: &Item<'_>, problems: &mut Problems<'_>) {
    let help = match key {
        "requests" | "errors" => format!("`{key}` belongs in [workload.traffic]"),
        _ => "take it out".to_owned(),
    };
    problems.push(&item.key, item.invalid("is for a command: built-in traffic counts the requests that failed itself").help(help));
}

/// Refuses one metric that is to tell two things.
fn refuse_twice(table: &Table<'_>, problems: &mut Problems<'_>) {
    let keys = ["error_rate"].into_iter().chain(COUNTS).chain(["tokens"]);
    let named: Vec<(Item<'_>, &str)> =
        keys.filter_map(|key| table.get(key)).filter_map(|item| Some((item.clone(), item.value.as_str()?))).collect();
    for (at, (item, name)) in named.iter().enumerate() {
        if let Some((other, _)) = named[..at].iter().find(|(_, earlier)| earlier == name) {
            problems.push(&item.span, item.invalid(&format!("names the metric that `{}` names", other.path)));
        }
    }
}

struct Known<'a> {
    metrics: &'a IndexMap<String, Metric>,
}

impl Known<'_> {
    /// Reads the name of a metric that a workload can tell.
    fn name(&self, item: &Item<'_>, problems: &mut Problems<'_>) -> Option<String> {
        if item.value.as_str().is_none() {
            problems.push(
                &item.span,
                item.expected("the name of a metric").help(r#"declare it: [metrics] bad = { workload = 'Failed requests:\s+(\d+)' }"#),
            );
            return None;
        }
        let name = item.some_text(problems)?;
        let Some(metric) = self.metrics.get(name) else {
            let problem = Diagnostic::error("spec.unknown_metric", format!("there is no metric `{name}`"));
            let declared = self.metrics.keys().map(String::as_str);
            let help = match nearest(name, declared.clone()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if self.metrics.is_empty() => format!(r"declare it: [metrics] {name} = {{ workload = 'Failed requests:\s+(\d+)' }}"),
                None => format!("metrics are {}", names(declared)),
            };
            problems.push(&item.span, problem.help(help));
            return None;
        };
        if metric.source.is_measured() {
            let problem = item.invalid(&format!("is `{name}`, which Bystander measures; it is not told by the workload"));
            problems.push(&item.span, problem.help("name a metric that is read of the workload's output, or of a file"));
            return None;
        }
        Some(name.to_owned())
    }

    /// Reads a number, or the name of a metric.
    fn count(&self, item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Count> {
        if item.value.is_integer() {
            return item.integer(1..=MOST, problems).map(Count::Fixed);
        }
        if item.value.as_str().is_none() {
            problems.push(&item.span, item.expected("a number of requests, or the name of a metric"));
            return None;
        }
        self.name(item, problems).map(Count::Metric)
    }
}
