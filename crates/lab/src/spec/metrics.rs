//! `[metrics]`: numbers that are read once per launch.

use bystander_model::diagnostic::Diagnostic;
use indexmap::IndexMap;

use super::item::Item;
use super::problems::Problems;
use super::table::Table;
use super::{name, pattern, schema};
use crate::plan::{Metric, MetricSource, Pick, Scale};

/// The answer that is no metric.
pub(super) const OUTCOME: &str = "outcome";

const PICKS: [(&str, Pick); 6] =
    [("only", Pick::Only), ("first", Pick::First), ("last", Pick::Last), ("min", Pick::Min), ("max", Pick::Max), ("sum", Pick::Sum)];
const SCALES: [(&str, Scale); 2] = [("ratio", Scale::Ratio), ("difference", Scale::Difference)];
const MEASURED: [(&str, MetricSource); 2] = [("ready_s", MetricSource::ReadySeconds), ("wall_s", MetricSource::WallSeconds)];

/// What the rest of the file has that a metric can be read from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sources {
    /// Whether the program says when it is ready.
    pub(super) ready: bool,
    /// Whether there is a workload.
    pub(super) workload: bool,
}

/// Reads every metric; a name that is declared is kept even where its body is refused.
pub(super) fn read(root: &Table<'_>, sources: Sources, problems: &mut Problems<'_>) -> IndexMap<String, Metric> {
    let Some(table) = root.get("metrics").and_then(|item| item.entries(problems)) else { return IndexMap::new() };
    let mut metrics = IndexMap::new();
    for (name, item) in table.items() {
        name::check(name, "metric", &item.key, problems);
        if name == OUTCOME {
            let problem = Diagnostic::error("spec.reserved_name", "`outcome` is how a trial ended, and no name for a metric");
            problems.push(&item.key, problem.help("give this metric another name"));
        }
        metrics.insert(name.to_owned(), metric(&item, sources, problems));
    }
    metrics
}

fn metric(item: &Item<'_>, sources: Sources, problems: &mut Problems<'_>) -> Metric {
    let mut metric = Metric { source: MetricSource::WallSeconds, scale: Scale::Ratio, margin: None, unit: None };
    if !item.value.is_table() {
        let help = r"write where it is read: { log = 'tokens=(\d+)' }";
        problems.push(&item.span, item.expected("a table").help(help));
        return metric;
    }
    let Some(table) = item.table(schema::METRIC, problems) else { return metric };
    if let Some(source) = source(&table, sources, problems) {
        metric.source = source;
    }
    metric.scale = table.get("scale").and_then(|item| item.word(&SCALES, problems)).unwrap_or(Scale::Ratio);
    metric.margin = table.get("margin").and_then(|item| margin(&item, metric.scale, problems));
    metric.unit = table.get("unit").and_then(|item| item.text(problems)).map(str::to_owned);
    metric
}

fn source(table: &Table<'_>, sources: Sources, problems: &mut Problems<'_>) -> Option<MetricSource> {
    let named: Vec<(&str, Item<'_>)> =
        ["log", "workload", "from"].into_iter().filter_map(|key| table.get(key).map(|item| (key, item))).collect();
    let (key, item) = match named.as_slice() {
        [one] => one,
        [] => {
            let problem = Diagnostic::error("spec.missing_key", format!("{} does not say where it is read", table.title()));
            problems.push(&table.span, problem.help(r#"add `log = 'tokens=(\d+)'`, `workload = '…(\d+)'` or `from = "ready_s"`"#));
            return None;
        }
        [_, (_, second), ..] => {
            let problem = Diagnostic::error("spec.two_sources", format!("{} is read at more than one place", table.title()));
            problems.push(&second.key, problem.help("keep one of `log`, `workload` or `from`"));
            return None;
        }
    };
    let pick = table.get("pick");
    match *key {
        "from" => measured(item, pick.as_ref(), sources, problems),
        key => matched(key, item, pick.as_ref(), sources, problems),
    }
}

fn measured(item: &Item<'_>, pick: Option<&Item<'_>>, sources: Sources, problems: &mut Problems<'_>) -> Option<MetricSource> {
    if let Some(pick) = pick {
        problems.push(&pick.key, pick.invalid("has nothing to pick from: a launch has one such time"));
    }
    let choices: Vec<(&str, usize)> = MEASURED.iter().enumerate().map(|(index, (word, _))| (*word, index)).collect();
    let source = MEASURED[item.word(&choices, problems)?].1.clone();
    if source == MetricSource::ReadySeconds && !sources.ready {
        let problem = item.invalid("needs a program that says when it is ready");
        problems.push(&item.span, problem.help("add `ready` to [program], or use `wall_s`"));
    }
    Some(source)
}

fn matched(key: &str, item: &Item<'_>, pick: Option<&Item<'_>>, sources: Sources, problems: &mut Problems<'_>) -> Option<MetricSource> {
    let pick = pick.and_then(|pick| pick.word(&PICKS, problems)).unwrap_or(Pick::Only);
    if key == "workload" && !sources.workload {
        let problem = item.invalid("needs a workload, and the file has none");
        problems.push(&item.key, problem.help("add [workload], or read the program's output with `log`"));
    }
    let pattern = pattern::read_with_group(item, problems)?.as_str().to_owned();
    Some(if key == "log" { MetricSource::Log { pattern, pick } } else { MetricSource::Workload { pattern, pick } })
}

/// Reads what counts as no effect: more than nothing, and for ratios a fraction.
fn margin(item: &Item<'_>, scale: Scale, problems: &mut Problems<'_>) -> Option<f64> {
    let margin = item.number(problems)?;
    if !(margin > 0.0 && margin.is_finite()) {
        problems.push(&item.span, item.invalid("must be greater than nothing"));
        return None;
    }
    if scale == Scale::Ratio && margin >= 1.0 {
        let problem = item.invalid("of a ratio must be a fraction below 1");
        problems.push(&item.span, problem.help("two percent is written 0.02; for the metric's own unit, write scale = \"difference\""));
        return None;
    }
    Some(margin)
}
