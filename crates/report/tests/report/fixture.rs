//! Small makers for the parts of a report.

use std::path::PathBuf;

use bystander_model::evidence::{Evidence, EvidenceKind, Stream};
use bystander_model::ids::TrialId;
use bystander_model::report::{CellReport, Means, MetricSummary, NextStep, PlanSummary, Report, Restored, TrialReport};
use indexmap::IndexMap;

/// A step that nothing is known to cost.
pub(crate) fn step(about: &str, means: Means, launches: Option<u32>, text: &str) -> NextStep {
    let about = if about.is_empty() { Vec::new() } else { vec![about.to_owned()] };
    NextStep { about, means, launches, seconds: None, text: text.to_owned() }
}

/// Levels of the one factor that the fixtures have.
pub(crate) fn levels(level: &str) -> IndexMap<String, String> {
    IndexMap::from([("allreduce".to_owned(), level.to_owned())])
}

/// A line of standard error.
pub(crate) fn log(trial: u32, line: u64, text: &str) -> Evidence {
    Evidence::log(TrialId(trial), Stream::Stderr, line, text)
}

/// A formula.
pub(crate) fn formula(name: &str, text: &str) -> Evidence {
    Evidence { trial: None, kind: EvidenceKind::Formula, place: name.to_owned(), text: text.to_owned() }
}

/// A cell that has no data yet.
pub(crate) fn cell(level: &str, instrument: &str) -> CellReport {
    CellReport {
        levels: levels(level),
        instrument: instrument.to_owned(),
        trials: 0,
        completed: 0,
        failed: 0,
        timed_out: 0,
        void: 0,
        undetermined: 0,
        causes: Vec::new(),
        void_causes: Vec::new(),
        metrics: IndexMap::new(),
    }
}

/// A metric's values with their median; the number of values is odd.
pub(crate) fn metric(values: &[f64]) -> MetricSummary {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = u32::try_from(values.len()).expect("few values");
    MetricSummary { unit: None, n, median: sorted.get(values.len() / 2).copied(), values: values.to_vec(), error_rate: None }
}

/// A trial that is still running.
pub(crate) fn trial(id: u32, block: u32, level: &str, instrument: &str) -> TrialReport {
    let file = |stream: &str| PathBuf::from(format!("runs/story-20261129-140501-9f3c/trial-{id}/{stream}.log"));
    let output = ["stdout", "stderr"].map(|stream| (stream.to_owned(), file(stream)));
    TrialReport {
        id: TrialId(id),
        block,
        purpose: "measure".to_owned(),
        levels: levels(level),
        instrument: instrument.to_owned(),
        outcome: None,
        cause: None,
        cause_detail: None,
        evidence: Vec::new(),
        ready_s: None,
        wall_s: None,
        metric_evidence: IndexMap::new(),
        engine: None,
        metrics: IndexMap::new(),
        receipts: Vec::new(),
        output: output.into_iter().collect(),
        configuration: None,
        provenance: None,
        traffic: None,
        requests: None,
        samples: None,
    }
}

/// A report of a run that has just begun.
pub(crate) fn empty() -> Report {
    Report {
        format: bystander_model::FORMAT,
        run: "story-20261129-140501-9f3c".to_owned(),
        file: PathBuf::from("/srv/examples/engine/story.toml"),
        question: None,
        status: "running".to_owned(),
        why: None,
        plan: PlanSummary {
            blocks: Some(10),
            rule: "fisher".to_owned(),
            primary: "outcome".to_owned(),
            blocks_done: 0,
            order_seed: 1,
            cells: 6,
            launches: Some(60),
            power: Vec::new(),
        },
        cells: Vec::new(),
        answers: Vec::new(),
        budgets: Vec::new(),
        captures: Vec::new(),
        trials: Vec::new(),
        restored: Restored::default(),
        differences: Vec::new(),
        unrated: None,
        notes: Vec::new(),
        aa: None,
        on: None,
        old_logs: Vec::new(),
        alternatives: Vec::new(),
        superseded: Vec::new(),
        next: Vec::new(),
    }
}
