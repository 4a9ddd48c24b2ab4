//! `bystander show --list`: every run of a state directory, newest first, with its answer in a line.

use std::path::Path;
use std::process::ExitCode;

use bystander_lab::summary;
use bystander_model::ids::RunId;
use bystander_model::printed::ListedRun;
use bystander_model::report::Answer;
use bystander_store::{RunLock, RunRecord, RunStatus, StateDir, Store};

use super::super::watch;
use crate::failure::Failure;
use crate::output::Output;
use crate::state;

/// Prints the runs.
pub(super) fn run(named: Option<&Path>, output: &mut Output) -> Result<ExitCode, Failure> {
    let state = state::to_read(named)?;
    let store = state::open(&state)?;
    let records = store.runs().map_err(|error| state::of_store(&error))?;
    let runs = records.iter().map(|record| listed(&store, &state, record)).collect::<Result<Vec<_>, _>>()?;
    output.runs(&runs);
    Ok(ExitCode::SUCCESS)
}

fn listed(store: &Store, state: &StateDir, record: &RunRecord) -> Result<ListedRun, Failure> {
    // A lock file that cannot be read says nothing about the other runs.
    let alive = RunLock::holder(state, &record.id).is_ok_and(|holder| holder.is_some());
    let status = match record.status {
        RunStatus::Running if !alive => RunStatus::Interrupted,
        status => status,
    };
    let (kind, answer) = answer(store, record, &record.id);
    Ok(ListedRun {
        run: record.id.0.clone(),
        kind: kind.to_owned(),
        file: record.file.to_string_lossy().into_owned(),
        created_ns: record.created.0,
        status: status.word().to_owned(),
        answer,
    })
}

/// What sort of run it is, and its first answer. One that this version cannot read is listed all the same, with the reason.
fn answer(store: &Store, record: &RunRecord, run: &RunId) -> (&'static str, Option<String>) {
    match watch::is_watched(store, run) {
        Ok(true) => return ("watch", watch::summary(store, record, false).ok().map(|summary| watch::in_a_line(&summary))),
        Ok(false) => {}
        Err(failure) => return ("run", Some(unreadable(&failure))),
    }
    match state::replay(store, record) {
        Ok(ledger) => ("run", summary::report(&ledger).answers.first().map(in_a_line)),
        Err(failure) => ("run", Some(unreadable(&failure))),
    }
}

/// What it is about and its verdict: `factor:allreduce: effect`, `factor:allreduce on speed: effect`.
fn in_a_line(answer: &Answer) -> String {
    let on = if answer.metric == "outcome" { String::new() } else { format!(" on {}", answer.metric) };
    format!("{}{on}: {}", answer.about, answer.verdict.word())
}

fn unreadable(failure: &Failure) -> String {
    format!("cannot be read: {}", failure.causes.last().unwrap_or(&failure.message))
}
