//! The report of a run: a pure function of its ledger.

mod budgets;
pub(crate) mod captures;
mod configurations;
mod courses;
mod engine;
mod exclusions;
mod hooks;
mod next;
mod plan;
pub(crate) mod rates;
mod unasked;

use bystander_model::FORMAT;
use bystander_model::event::{Purpose, RunEnd};
use bystander_model::outcome::Outcome;
use bystander_model::report::{CauseCount, CellReport, MetricSummary, Report, Restored, RestoredFile, TrialReport};
use bystander_model::samples::Samples;
use indexmap::IndexMap;

use self::rates::Failed;
use crate::aa;
use crate::carry::Baselines;
use crate::cold::{ColdStart, WARM_UP};
use crate::ledger::{Ledger, TrialRecord};
use crate::old_log;
use crate::place;
use crate::plan::{Metric, Plan};
use crate::provenance;
use crate::stats::location::median;
use crate::superseding::{self, OtherRun};
use crate::verdict;

pub use plan::power;

/// Builds the report of a run by itself.
#[must_use]
pub fn report(ledger: &Ledger) -> Report {
    report_beside(ledger, &[])
}

/// Builds the report of a run beside other runs of the same experiment file, whose conclusions it may contradict, or they its own.
#[must_use]
pub fn report_beside(ledger: &Ledger, others: &[OtherRun]) -> Report {
    let answers = verdict::answers(ledger);
    let alternatives = verdict::alternatives(ledger, &answers);
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
        unrated: rates::unrated(&ledger.plan),
        aa: aa::judge(ledger, &answers),
        on: None,
        notes: [
            unsafe_probes(ledger),
            captures::switching(ledger),
            ledger.notes.clone(),
            hooks::failed(ledger),
            restarts(ledger),
            captures::silent(ledger),
            carried(ledger),
            cold_start(ledger),
            engine::notes(ledger),
            courses::notes(ledger),
            configurations::alike(ledger),
            unasked::settings(ledger),
            exclusions::finding(ledger).into_iter().collect(),
        ]
        .concat(),
        old_logs: ledger.old_logs.iter().map(|log| old_log::report(ledger, log)).collect(),
        next: next::steps(ledger, &answers, &alternatives),
        alternatives: alternatives.into_iter().map(|(alternatives, _)| alternatives).collect(),
        superseded: superseding::superseded(ledger, &answers, others),
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
        Some(RunEnd::Abandoned { why }) => ("interrupted", Some(why.clone())),
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
        void_causes: exclusions::reasons(all.iter().copied()),
        undetermined: count(Outcome::Undetermined),
        causes: causes(
            all.iter().copied().filter(|trial| trial.outcome().is_some_and(|outcome| outcome.counts() || outcome == Outcome::Undetermined)),
        ),
        metrics: ledger.plan.metrics.iter().map(|(name, of)| (name.clone(), metric(&data, name, of, &ledger.plan))).collect(),
    }
}

/// Why launches ended that say something; void and interrupted ones are counted apart.
fn causes<'a>(trials: impl Iterator<Item = &'a TrialRecord>) -> Vec<CauseCount> {
    let mut counts: IndexMap<&str, CauseCount> = IndexMap::new();
    for cause in trials.filter_map(|trial| trial.end.as_ref()?.cause.as_ref()) {
        let first = || CauseCount { class: cause.class.clone(), signature: cause.signature.clone(), text: cause.text.clone(), count: 0 };
        counts.entry(&cause.signature).or_insert_with(first).count += 1;
    }
    counts.into_values().collect()
}

fn metric(trials: &[&TrialRecord], name: &str, of: &Metric, plan: &Plan) -> MetricSummary {
    let value = |trial: &TrialRecord| trial.end.as_ref()?.metrics.get(name).copied().flatten().filter(|value| value.is_finite());
    let (shown, values): (Vec<&TrialRecord>, Vec<f64>) = trials.iter().filter_map(|trial| Some((*trial, value(trial)?))).unzip();
    let error_rate = if rates::depends(plan, name, of) { rates::failed(&shown).map(Failed::share) } else { None };
    MetricSummary { unit: of.unit.clone(), n: u32::try_from(values.len()).unwrap_or(u32::MAX), median: median(&values), values, error_rate }
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
            Purpose::Confirm => "confirm",
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
        metric_evidence: end.map(|end| end.metric_evidence.clone()).unwrap_or_default(),
        engine: end.and_then(|end| end.engine.as_deref().cloned()),
        receipts: trial.receipts.clone(),
        output: trial.outputs.iter().map(|(stream, path)| (stream.name().to_owned(), path.clone())).collect(),
        traffic: end.and_then(|end| end.traffic.as_deref().cloned()),
        requests: end.and_then(|end| end.requests.as_deref().cloned()),
        samples: end.and_then(|end| end.samples.as_ref()).map(Samples::without_series),
        configuration: end.and_then(|end| end.configuration.clone()),
        provenance: trial.provenance(),
    }
}

/// Says where the machine was restarted within a run: what is compared across it may differ by that.
fn restarts(ledger: &Ledger) -> Vec<String> {
    let boots = ledger.sessions.windows(2).filter(|pair| pair[0].1.boot.is_some() && pair[1].1.boot.is_some());
    let restarted = boots.filter(|pair| pair[0].1.boot != pair[1].1.boot);
    restarted
        .map(|pair| {
            format!("the machine was restarted before trial {}; blocks that lie across it are not under the same conditions", pair[1].0)
        })
        .collect()
}

/// Says of which probes it is not certain that they only looked.
fn unsafe_probes(ledger: &Ledger) -> Vec<String> {
    let probes = ledger.plan.probes.iter().filter(|probe| probe.spec.unsafe_capture);
    probes.map(|probe| format!("{} is unsafe: its captures may run code of the program.", probe.spec.name)).collect()
}

/// Says where an edit left something behind that its undo cannot undo.
fn carried(ledger: &Ledger) -> Vec<String> {
    let carried = Baselines::of(ledger).carried_over();
    let said = carried.map(|(before, after)| {
        let exact = ledger.restored.as_ref().is_some_and(|proofs| proofs.iter().all(place::is_exact));
        let left = if exact {
            "every file is as before, so something else that the edited program left (a built file, a cache) makes it fail"
        } else {
            "that may be what stands in the files that are not as before, or something else that the edited program left"
        };
        format!("carried over: the bare baseline completed before the first edit (trial {before}) and never after it (from trial {after}); {left}")
    });
    said.into_iter().collect()
}

/// Says where the first launches of a run failed and none after them.
fn cold_start(ledger: &Ledger) -> Vec<String> {
    let said = ColdStart::of(ledger).said().map(|seen| {
        format!("cold start: {seen}; an empty cache or a first compile does that, and chance does too. What would keep it out: {WARM_UP}")
    });
    said.into_iter().collect()
}

fn restored(ledger: &Ledger) -> Restored {
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let edited = || ledger.trials.values().flat_map(|trial| &trial.edited);
    let proofs: Vec<RestoredFile> = ledger
        .restored
        .iter()
        .flatten()
        .map(|proof| RestoredFile {
            file: proof.file.clone(),
            before_sha256: proof.before_sha256.clone(),
            after_sha256: proof.after_sha256.clone(),
            metadata_same: proof.metadata_same,
            edits: count(edited().filter(|edit| edit.file == proof.file).count()),
        })
        .collect();
    let files = edited().map(|edit| &edit.file).collect::<std::collections::BTreeSet<_>>().len();
    let made = edited().count();
    let baselines = Baselines::of(ledger);
    Restored {
        files: count(files),
        exact: ledger.restored.as_ref().map(|proofs| proofs.iter().all(place::is_exact)),
        clean_trial: baselines.clean().filter(|_| made > 0),
        not_shown: baselines.not_shown().filter(|_| made > 0 && ledger.end.is_some()),
        made: count(made),
        undone: count(undone(ledger)),
        proofs,
    }
}

/// Edits that were undone: by their own trial, or, where that was killed, by a later start, which the comparison of the files shows.
fn undone(ledger: &Ledger) -> usize {
    let of_trials: usize = ledger.trials.values().map(|trial| trial.undone.len()).sum();
    let left = ledger.trials.values().map(|trial| trial.edited.len().saturating_sub(trial.undone.len())).sum::<usize>();
    let shown_gone = ledger.restored.as_ref().is_some_and(|proofs| proofs.iter().all(place::is_exact));
    if shown_gone { of_trials + left } else { of_trials }
}
