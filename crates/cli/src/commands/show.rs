//! `bystander show`: the results of a run again, from the record alone.

use std::path::Path;
use std::process::ExitCode;

use bystander_lab::ledger::Ledger;
use bystander_lab::{provenance, summary};
use bystander_model::ids::TrialId;
use bystander_store::{RunLock, RunRecord, StateDir, Store, StoreError};

use super::watch;
use crate::args::ShowArgs;
use crate::failure::Failure;
use crate::output::Output;
use crate::{answered, state};

/// Prints a run.
pub(crate) fn run(args: &ShowArgs, named: Option<&Path>, output: &mut Output) -> Result<ExitCode, Failure> {
    let state = state::to_read(named)?;
    let store = state::open(&state)?;
    let record = find(&store, &state, args.run.as_deref())?;
    if watch::is_watched(&store, &record.id)? {
        if args.diff.is_some() {
            return Err(Failure::user(format!("failed to compare: {} is a watched command, of one launch", record.id)));
        }
        return watch::show(&store, &record, &state, output);
    }
    let ledger = state::replay(&store, &record)?;
    if let Some(pair) = &args.diff {
        return diff(&ledger, pair, output);
    }
    let mut report = summary::report(&ledger);
    // The record of a run that was killed is that of one that goes on; only the lock tells them apart.
    if ledger.end.is_none() && RunLock::holder(&state, &record.id).map_err(|error| state::of_lock(&error))?.is_none() {
        "interrupted".clone_into(&mut report.status);
        report.why = Some("it was killed".to_owned());
    }
    output.report(&report, args.why, state.path());
    Ok(ExitCode::from(answered::exit_code(&ledger, &report)))
}

fn find(store: &Store, state: &StateDir, name: Option<&str>) -> Result<RunRecord, Failure> {
    let found = match name {
        Some(name) => store.find(name).map(Some),
        None => store.latest(),
    };
    let unknown = |error: StoreError| {
        let failure = Failure::user("failed to find the run").because(&error);
        match store.latest() {
            Ok(Some(latest)) => failure
                .hint(format!("the newest is {}: `bystander show` without an id prints it, and the start of an id is enough", latest.id)),
            _ => failure.hint("`bystander run FILE` and `bystander watch` make one"),
        }
    };
    found.map_err(unknown)?.ok_or_else(|| {
        Failure::user(format!("failed to find a run: {} holds none", state.path().display()))
            .hint("`bystander run FILE` and `bystander watch` make one")
    })
}

fn diff(ledger: &Ledger, pair: &[u32], output: &mut Output) -> Result<ExitCode, Failure> {
    let trial = |number: u32| {
        ledger.trials.get(&TrialId(number)).ok_or_else(|| {
            let last = ledger.trials.len();
            Failure::user(format!("failed to find trial {number} in run {}", ledger.run)).hint(format!("its trials are 1 to {last}"))
        })
    };
    let (first, second) = (trial(pair[0])?, trial(pair[1])?);
    for trial in [first, second] {
        if trial.provenance.is_none() {
            return Err(Failure::user(format!("failed to compare: trial {} was never launched", trial.id)));
        }
    }
    output.differences(first, second, &provenance::differences(ledger, first, second));
    Ok(ExitCode::SUCCESS)
}
