//! The same cell under two labels: whatever the pipeline finds between them, it makes up.

use bystander_model::cell::{Cell, NO_INSTRUMENT};
use indexmap::IndexMap;

use crate::plan::{Kind, Level, Metric, MetricSource, Plan, Scale, Stop};

/// The factor whose levels are one and the same.
const FACTOR: &str = "copy";
/// The labels of the one cell, the baseline first.
pub const LABELS: [&str; 2] = ["A", "A'"];

/// Turns a plan into the comparison of its baseline with itself, with all its metrics; a plan that is one already stays as it is.
#[must_use]
pub fn of(plan: Plan) -> Plan {
    if factor(&plan).is_some() { plan } else { labelled(plan) }
}

/// Gives the baseline of a plan its two labels.
///
/// Instruments, other levels and hypotheses go. Every planned block is run, so that each comparison has its full chance to go wrong. The times of a launch
/// are compared too, where the file does not.
pub(crate) fn labelled(mut plan: Plan) -> Plan {
    plan.kind = Kind::Aa;
    let baseline = plan.baseline.levels.clone();
    for (factor, levels) in &mut plan.factors {
        levels.retain(|level, _| baseline.get(factor) == Some(level));
    }
    let mut name = FACTOR.to_owned();
    while plan.factors.contains_key(&name) {
        name.push('_');
    }
    let labels = LABELS.map(|label| (label.to_owned(), Level::default()));
    plan.factors.insert(name.clone(), IndexMap::from(labels));
    let cell = |label: &str| {
        let mut levels = baseline.clone();
        levels.insert(name.clone(), label.to_owned());
        Cell { levels, instrument: NO_INSTRUMENT.to_owned() }
    };
    plan.declared = false;
    plan.cells = LABELS.map(cell).to_vec();
    plan.baseline = cell(LABELS[0]);
    plan.instruments = IndexMap::from([(NO_INSTRUMENT.to_owned(), Vec::new())]);
    plan.probes.clear();
    plan.edits.clear();
    plan.hypotheses.clear();
    plan.left_out.clear();
    // Without a last block a comparison with itself would never end.
    if plan.blocks.is_open() {
        plan.blocks.max = crate::spec::DEFAULT_BLOCKS.max.max(plan.blocks.min);
    }
    plan.blocks.min = plan.blocks.max;
    plan.stop = Stop::All;
    add_times(&mut plan);
    plan
}

/// The factor that the labels are levels of.
#[must_use]
pub fn factor(plan: &Plan) -> Option<&str> {
    (plan.kind == Kind::Aa).then(|| plan.factors.keys().last().map(String::as_str)).flatten()
}

fn add_times(plan: &mut Plan) {
    let ready = plan.program.ready.is_some().then_some(("ready_s", MetricSource::ReadySeconds));
    for (name, source) in ready.into_iter().chain([("wall_s", MetricSource::WallSeconds)]) {
        if plan.metrics.contains_key(name) || plan.metrics.values().any(|metric| metric.source == source) {
            continue;
        }
        let metric = Metric { source, scale: Scale::Ratio, margin: None, unit: Some("s".to_owned()) };
        plan.metrics.insert(name.to_owned(), metric);
    }
}
