//! A watched command from its record: shown again, or read back for a printer that has fallen behind.

use std::ops::Range;
use std::process::ExitCode;

use bystander_model::event::{EventBody, Origin};
use bystander_model::hit::Hit;
use bystander_model::ids::RunId;
use bystander_model::watch::{WatchEvent, WatchStatus, WatchSummary};
use bystander_report::Watched;
use bystander_store::{RunRecord, StateDir, Store};

use super::exit_code;
use super::recording::trial;
use crate::commands::found::Found;
use crate::failure::Failure;
use crate::output::{Output, ReadBack, on_machine};
use crate::state;

/// Tells whether a run is a watched command.
pub(in crate::commands) fn is_watched(store: &Store, run: &RunId) -> Result<bool, Failure> {
    let first = store.events(run).and_then(|mut events| events.next().transpose()).map_err(|error| state::of_store(&error))?;
    Ok(first.is_some_and(|event| matches!(event.body, EventBody::Watch(_))))
}

/// Prints the hits and the summary of a watched command.
pub(in crate::commands) fn show(found: &Found, output: &mut Output) -> Result<ExitCode, Failure> {
    let Found { store, record, .. } = found;
    let mut watched = Watched::default();
    let mut hits = None;
    for event in store.events(&record.id).map_err(|error| state::of_store(&error))? {
        let event = event.map_err(|error| state::of_store(&error))?;
        watched.take(event.time, &event.body);
        if let (Some(start), Some(launched), EventBody::Watch(WatchEvent::Hits(batch))) = (watched.start(), watched.launched(), event.body)
        {
            let names = || start.probes.iter().map(|probe| probe.spec.name.clone()).collect();
            let hits = hits.get_or_insert_with(|| output.recorded_hits(launched, names()));
            if !hits.print(&batch.into_hits().collect::<Vec<_>>()) {
                break;
            }
        }
    }
    let on = found.ran_on.as_ref().map(on_machine);
    let summary = WatchSummary { on, ..watched.summary(&record.id, found.is_alive()?) };
    output.watched_again(&summary);
    Ok(ExitCode::from(exit_code(&summary)))
}

/// What came of a watched command.
pub(in crate::commands) fn summary(store: &Store, record: &RunRecord, alive: bool) -> Result<WatchSummary, Failure> {
    let mut watched = Watched::default();
    for event in store.events(&record.id).map_err(|error| state::of_store(&error))? {
        let event = event.map_err(|error| state::of_store(&error))?;
        watched.take(event.time, &event.body);
    }
    Ok(watched.summary(&record.id, alive))
}

/// The same in a line.
pub(in crate::commands) fn in_a_line(summary: &WatchSummary) -> String {
    let end = match (summary.status, summary.exit, summary.signal) {
        (WatchStatus::Ended, Some(exit), _) => format!("exit {exit}"),
        (WatchStatus::Ended, None, Some(signal)) => format!("signal {signal}"),
        (WatchStatus::Ended, None, None) => "ended".to_owned(),
        (WatchStatus::Running, ..) => "running".to_owned(),
        (WatchStatus::Interrupted | WatchStatus::Killed, ..) => "interrupted".to_owned(),
    };
    let word = if summary.hits == 1 { "hit" } else { "hits" };
    format!("{}: {end}, {} {word}", summary.command.join(" "), summary.hits)
}

/// Reads hits back by the numbers of their events.
pub(super) fn reader(state: &StateDir, run: &RunId) -> ReadBack {
    let (state, run) = (state.clone(), run.clone());
    let mut store: Option<Store> = None;
    Box::new(move |numbers: Range<u64>| -> Vec<Hit> {
        if store.is_none() {
            store = Store::open(&state).ok();
        }
        // What cannot be read back now is in the record all the same.
        let events = store.as_ref().and_then(|store| store.numbered(&run, trial(), Origin::Host, numbers).ok()).unwrap_or_default();
        let hits = events.into_iter().filter_map(|event| match event.body {
            EventBody::Watch(WatchEvent::Hits(batch)) => Some(batch.into_hits()),
            _ => None,
        });
        hits.flatten().collect()
    })
}
