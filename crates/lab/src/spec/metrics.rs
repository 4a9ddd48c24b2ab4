//! `[metrics]`: numbers that are read once per launch.

use bystander_model::diagnostic::Diagnostic;
use indexmap::IndexMap;
use toml::de::DeValue;

use super::item::Item;
use super::problems::Problems;
use super::table::Table;
use super::{name, schema};
use crate::plan::{Metric, MetricSource, Plan, Probe, Program, Scale};

mod measured;
mod source;

/// The answer that is no metric.
pub(super) const OUTCOME: &str = "outcome";

const SCALES: [(&str, Scale); 2] = [("ratio", Scale::Ratio), ("difference", Scale::Difference)];
/// What the rest of the file has that a metric can be read from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sources<'a> {
    /// Whether the program says when it is ready.
    pub(super) ready: bool,
    /// Whether there is a workload.
    pub(super) workload: bool,
    /// Whether that workload is the built-in traffic.
    pub(super) traffic: bool,
    /// Whether an address of the program's server is known.
    pub(super) address: bool,
    /// The probes of the file.
    pub(super) probes: &'a [Probe],
}

impl<'a> Sources<'a> {
    /// What the parts that were read before have.
    pub(super) fn of(program: &Program, root: &Table<'_>, probes: &'a [Probe]) -> Self {
        let traffic = matches!(root.get("workload").map(|item| item.value), Some(DeValue::Table(table)) if table.get("traffic").is_some());
        let ready = program.ready.as_ref();
        let address = traffic || ready.is_some_and(|ready| ready.addresses().next().is_some() || ready.port.is_some());
        Self { ready: ready.is_some(), workload: root.get("workload").is_some(), traffic, address, probes }
    }
}

/// Reads every metric; a name that is declared is kept even where its body is refused.
pub(super) fn read(root: &Table<'_>, sources: Sources<'_>, problems: &mut Problems<'_>) -> IndexMap<String, Metric> {
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

fn metric(item: &Item<'_>, sources: Sources<'_>, problems: &mut Problems<'_>) -> Metric {
    let mut metric = Metric { source: MetricSource::WallSeconds, scale: Scale::Ratio, margin: None, unit: None };
    if !item.value.is_table() {
        let help = r"write where it is read: { log = 'tokens=(\d+)' }";
        problems.push(&item.span, item.expected("a table").help(help));
        return metric;
    }
    let Some(table) = item.table(schema::METRIC, problems) else { return metric };
    if let Some(source) = source::read(&table, sources, problems) {
        metric.source = source;
    }
    metric.scale = table.get("scale").and_then(|item| item.word(&SCALES, problems)).unwrap_or(Scale::Ratio);
    metric.margin = table.get("margin").and_then(|item| margin(&item, metric.scale, problems));
    metric.unit = table.get("unit").and_then(|item| unit(&item, &metric.source, problems));
    metric
}

/// Reads the unit, which is what stands in tables: nothing is converted, so a measurement of Bystander's own has the one that it is in.
fn unit(item: &Item<'_>, source: &MetricSource, problems: &mut Problems<'_>) -> Option<String> {
    let text = item.text(problems)?;
    if let Some(own) = source.unit().filter(|own| !own.contains(&text)) {
        let problem =
            Diagnostic::error("spec.unit", format!("this is measured in {}, and `{text}` would only be written beside it", own[0]));
        problems
            .push(&item.span, problem.help(format!("write unit = \"{}\", or leave it out; a margin of a difference is in it too", own[0])));
        return None;
    }
    Some(text.to_owned())
}

/// Refuses metrics of probes that no cell holds.
pub(super) fn of_absent_probes(plan: &Plan, root: &Table<'_>, problems: &mut Problems<'_>) {
    let Some(table) = root.get("metrics").and_then(|item| item.entries(problems)) else { return };
    for (name, metric) in &plan.metrics {
        let MetricSource::Hits { probe, .. } = &metric.source else { continue };
        if plan.probes.iter().any(|known| known.spec.name == *probe) {
            continue;
        }
        let item = table.get(name).and_then(|item| item.entries(problems)).and_then(|table| table.get("from"));
        let Some(item) = item else { continue };
        let problem = Diagnostic::error("spec.probe_not_put_in", format!("`{}` reads the probe `{probe}`, which no cell holds", item.path));
        problems.push(&item.span, problem.help(format!("add `{probe}` to `plan.instruments`")));
    }
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
