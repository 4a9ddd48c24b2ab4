//! The report of a run: a pure function of its ledger.

mod budgets;
mod captures;
mod next;
mod plan;

use bystander_model::FORMAT;
use bystander_model::event::{Purpose, RunEnd};
use bystander_model::outcome::Outcome;
use bystander_model::report::{CauseCount, CellReport, MetricSummary, Report, Restored, RestoredFile, TrialReport};
use indexmap::IndexMap;

use crate::ledger::{Ledger, TrialRecord};
use crate::place;
use crate::provenance;
use crate::verdict;

pub use plan::power;

/// Builds the report.
#[must_use]
pub fn report(ledger: &Ledger) -> Report {
    let answers = verdict::answers(ledger);
    let (status, why) = status(ledger);
    Report {
        format: FORMAT,
        run: ledger.run.0.clone(),
        file: ledger.plan.file.clone(),
        question: ledger.plan.question.clone(),
        status: status.to_owned(),
        why,
        plan: plan::summary(ledger),
        cells: ledger.plan.cells.iter().map(|cell| cell_report(ledger, cell)).collect(),
        budgets: budgets::findings(ledger),
        captures: captures::newest(ledger),
        trials: ledger.trials.values().map(trial_report).collect(),
        restored: restored(ledger),
        differences: provenance::unplanned_differences(ledger),
        notes: ledger.notes.clone(),
        next: next::steps(ledger, &answers),
        answers,
    }
}

fn status(ledger: &Ledger) -> (&'static str, Option<String>) {
    match &ledger.end {
        None => ("running", None),
        Some(RunEnd::Finished { why }) => ("finished", Some(why.clone())),
        Some(RunEnd::Gated { why }) => ("gated", Some(why.clone())),
        Some(RunEnd::Invalid { why }) => ("invalid", Some(why.clone())),
        Some(RunEnd::Interrupted) => ("interrupted", None),
        Some(RunEnd::Broken { why }) => ("broken", Some(why.clone())),
    }
}

fn cell_report(ledger: &Ledger, cell: &bystander_model::cell::Cell) -> CellReport {
    let all: Vec<&TrialRecord> = ledger.trials.values().filter(|t| t.slot.purpose == Purpose::Measure && t.slot.cell == *cell).collect();
    let count = |outcome| u32::try_from(all.iter().filter(|trial| trial.outcome() == Some(outcome)).count()).unwrap_or(u32::MAX);
    let data: Vec<&TrialRecord> = all.iter().copied().filter(|trial| trial.counts()).collect();
    CellReport {
        levels: cell.levels.clone(),
        instrument: cell.instrument.clone(),
        trials: u32::try_from(data.len()).unwrap_or(u32::MAX),
        completed: count(Outcome::Completed),
        failed: count(Outcome::Failed),
        timed_out: count(Outcome::TimedOut),
        void: count(Outcome::Void),
        undetermined: count(Outcome::Undetermined),
        causes: causes(all.iter().copied().filter(|trial| trial.outcome() != Some(Outcome::Interrupted))),
        metrics: ledger.plan.metrics.keys().map(|name| (name.clone(), metric(&data, name))).collect(),
    }
}

/// Why launches ended, those apart that were ended by us before they could answer.
fn causes<'a>(trials: impl Iterator<Item = &'a TrialRecord>) -> Vec<CauseCount> {
    let mut counts: IndexMap<&str, CauseCount> = IndexMap::new();
    for cause in trials.filter_map(|trial| trial.end.as_ref()?.cause.as_ref()) {
        let first = || CauseCount { class: cause.class.clone(), signature: cause.signature.clone(), text: cause.text.clone(), count: 0 };
        counts.entry(&cause.signature).or_insert_with(first).count += 1;
    }
    counts.into_values().collect()
}

fn metric(trials: &[&TrialRecord], name: &str) -> MetricSummary {
    let values: Vec<f64> = trials
        .iter()
        .filter_map(|trial| trial.end.as_ref()?.metrics.get(name).copied().flatten())
        .filter(|value| value.is_finite())
        .collect();
    MetricSummary { n: u32::try_from(values.len()).unwrap_or(u32::MAX), median: median(&values), values }
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

fn trial_report(trial: &TrialRecord) -> TrialReport {
    let end = trial.end.as_ref();
    let cause = end.and_then(|end| end.cause.clone());
    TrialReport {
        id: trial.id,
        block: trial.slot.block,
        purpose: match trial.slot.purpose {
            Purpose::Measure => "measure",
            Purpose::Gate => "gate",
            Purpose::Clean => "clean",
        }
        .to_owned(),
        levels: trial.slot.cell.levels.clone(),
        instrument: trial.slot.cell.instrument.clone(),
        outcome: trial.outcome(),
        cause: cause.as_ref().map(|cause| cause.class.clone()),
        cause_detail: cause,
        evidence: end.map(|end| end.evidence.clone()).unwrap_or_default(),
        ready_s: end.and_then(|end| end.ready_s),
        wall_s: end.map(|end| end.wall_s),
        metrics: end.map(|end| end.metrics.clone()).unwrap_or_default(),
        receipts: trial.receipts.clone(),
        output: trial.outputs.iter().map(|(stream, path)| (stream.name().to_owned(), path.clone())).collect(),
    }
}

fn restored(ledger: &Ledger) -> Restored {
    let edits_of = |file: &std::path::PathBuf| {
        let undone = ledger.trials.values().flat_map(|trial| &trial.undone).filter(|undone| undone.file == *file);
        u32::try_from(undone.count()).unwrap_or(u32::MAX)
    };
    let proofs: Vec<RestoredFile> = ledger
        .restored
        .iter()
        .flatten()
        .map(|proof| RestoredFile {
            file: proof.file.clone(),
            before_sha256: proof.before_sha256.clone(),
            after_sha256: proof.after_sha256.clone(),
            metadata_same: proof.metadata_same,
            edits: edits_of(&proof.file),
        })
        .collect();
    let edited = ledger.trials.values().flat_map(|trial| &trial.edited).map(|edit| &edit.file).collect::<std::collections::BTreeSet<_>>();
    Restored {
        files: u32::try_from(edited.len()).unwrap_or(u32::MAX),
        exact: ledger.restored.as_ref().map(|proofs| proofs.iter().all(place::is_exact)),
        clean_trial: clean_trial(ledger),
        proofs,
    }
}

/// A bare baseline after the last undo that ended as the bare baselines before it did.
fn clean_trial(ledger: &Ledger) -> Option<bystander_model::ids::TrialId> {
    let last_edit = ledger.trials.values().rev().find(|trial| !trial.edited.is_empty())?.id;
    let bare = |trial: &&TrialRecord| trial.slot.cell == ledger.plan.baseline && trial.outcome().is_some_and(Outcome::counts);
    let before: Vec<&TrialRecord> = ledger.data(&ledger.plan.baseline).filter(|trial| trial.id < last_edit).collect();
    let after = ledger.trials.values().filter(|trial| trial.id > last_edit).find(bare)?;
    let alike = |other: &&TrialRecord| other.outcome() == after.outcome() && other.signature() == after.signature();
    (before.is_empty() || before.iter().any(alike)).then_some(after.id)
}
