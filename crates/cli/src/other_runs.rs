//! What other runs of the same experiment file in the same state directory concluded.

use bystander_lab::superseding::OtherRun;
use bystander_model::event::{EventBody, Origin};
use bystander_model::ids::RunId;
use bystander_store::{RunRecord, Store, StoreError};

use crate::failure::Failure;
use crate::state;

/// Runs that are looked at, the newest first.
const MOST: usize = 20;
/// The last events of a run among which its conclusions stand.
const LAST: u64 = 8;

/// The last conclusions of every other run of the file of a run, with the same specification, newest first.
pub(crate) fn of(store: &Store, run: &RunId) -> Result<Vec<OtherRun>, Failure> {
    let read = || -> Result<Vec<OtherRun>, StoreError> {
        let Some(this) = store.run(run)? else { return Ok(Vec::new()) };
        let alike = |other: &RunRecord| other.id != this.id && other.spec_sha256 == this.spec_sha256;
        let others = store.runs_for(&this.file)?.into_iter().filter(alike).take(MOST);
        others.map(|other| last(store, &other.id)).filter_map(Result::transpose).collect()
    };
    read().map_err(|error| state::of_store(&error))
}

fn last(store: &Store, run: &RunId) -> Result<Option<OtherRun>, StoreError> {
    let end = store.next_seq(run, None, Origin::Lab)?;
    let events = store.numbered(run, None, Origin::Lab, end.saturating_sub(LAST)..end)?;
    let concluded = events.into_iter().rev().find_map(|event| match event.body {
        EventBody::Concluded { answers } => Some((event.time, answers)),
        _ => None,
    });
    Ok(concluded.map(|(time, answers)| OtherRun { run: run.clone(), time, answers }))
}
