//! The one order of a run's events: numbered, recorded, then folded into the ledger.

use bystander_model::event::{Event, EventBody, Origin};
use bystander_model::ids::{TimeNs, TrialId};

use crate::ledger::Ledger;
use crate::place::{LabError, Sink};

/// Numbers events, records them, and keeps the ledger in step.
pub(super) struct Recorder<'a> {
    pub(super) ledger: &'a mut Ledger,
    pub(super) sink: &'a mut dyn Sink,
}

impl Recorder<'_> {
    pub(super) fn emit(&mut self, trial: Option<TrialId>, origin: Origin, body: EventBody) -> Result<(), LabError> {
        let seq = self.ledger.next_seq(trial, origin);
        let event = Event { run: self.ledger.run.clone(), trial, origin, seq, time: wall_clock(), body };
        self.sink.append(&event)?;
        self.ledger.apply(&event);
        Ok(())
    }
}

/// The time of the wall clock.
pub(super) fn wall_clock() -> TimeNs {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    TimeNs(u64::try_from(since_epoch.as_nanos()).unwrap_or(u64::MAX))
}
