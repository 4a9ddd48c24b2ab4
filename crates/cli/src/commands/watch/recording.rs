//! The sink of a watched command: the store first, then the screen.

use std::error::Error;

use bystander_host::watching::{Happened, TRIAL};
use bystander_model::event::{Event, EventBody, Origin};
use bystander_model::ids::{RunId, TimeNs, TrialId};
use bystander_model::watch::{HitBatch, WatchEnd, WatchEvent, WatchStart, WatchSummary};
use bystander_report::Watched;
use bystander_store::{Reserve, RunRecord, RunStatus, Store};
use bystander_supervise::Canceller;

use crate::failure::Failure;
use crate::output::{Hits, machine_here};
use crate::state;

/// Records what happens, keeps the fold of it, and hands hits on to be printed.
pub(super) struct Recording {
    store: Store,
    reserve: Reserve,
    run: RunId,
    seq: u64,
    watched: Watched,
    hits: Hits,
}

impl Recording {
    /// Creates the run with its first event.
    pub(super) fn begin(mut store: Store, reserve: Reserve, run: &RunId, start: WatchStart, hits: Hits) -> Result<Self, Failure> {
        // No experiment file has the name of a folder: a watched command is never taken for a run that goes on.
        let file = start.cwd.clone();
        let record = RunRecord { id: run.clone(), file, spec_sha256: String::new(), created: now(), status: RunStatus::Running };
        let (time, body) = (now(), EventBody::Watch(WatchEvent::Started(start)));
        let mut watched = Watched::default();
        watched.take(time, &body);
        let first = Event { run: run.clone(), trial: None, origin: Origin::Lab, seq: 0, time, body };
        store.create_run(&record, &[first]).map_err(|error| state::of_store(&error))?;
        Ok(Self { store, reserve, run: run.clone(), seq: 0, watched, hits })
    }

    /// Records one thing, and shows it if it is a hit.
    pub(super) fn take(&mut self, happened: Happened) -> Result<(), Box<dyn Error + Send + Sync>> {
        match happened {
            Happened::Launched { pid, at } => {
                self.hits.begin(at);
                self.record(at, EventBody::Watch(WatchEvent::Launched { pid }))?;
            }
            Happened::Hits(hits) => {
                let batch = HitBatch::new(&hits);
                let seq = self.record(now(), EventBody::Watch(WatchEvent::Hits(batch)))?;
                self.hits.show(hits, seq);
            }
            Happened::Receipt(receipt) => drop(self.record(now(), EventBody::Receipt(receipt))?),
            Happened::Ended(end) => drop(self.record(now(), EventBody::Watch(WatchEvent::Ended(end)))?),
        }
        Ok(())
    }

    fn record(&mut self, time: TimeNs, body: EventBody) -> Result<u64, Box<dyn Error + Send + Sync>> {
        let seq = self.seq;
        let event = Event { run: self.run.clone(), trial: Some(TRIAL), origin: Origin::Host, seq, time, body };
        let recorded = self.store.append(&event);
        if recorded.is_ok() {
            self.seq += 1;
        } else {
            // From here on the record gets what is missing in it, and how the program ended.
            self.reserve.release();
        }
        // The summary tells of what is known, recorded or not; hits that nobody can look up are not among it.
        if recorded.is_ok() || !matches!(event.body, EventBody::Watch(WatchEvent::Hits(_))) {
            self.watched.take(time, &event.body);
        }
        recorded.map_err(Into::into).map(|_| seq)
    }

    /// What is known by now.
    pub(super) fn summary(&self) -> WatchSummary {
        WatchSummary { on: machine_here(), ..self.watched.summary(&self.run, false) }
    }

    /// Prints what is left and the summary; gives how many hits were not printed, since nobody reads them.
    pub(super) fn end(self, summary: &WatchSummary, canceller: &Canceller) -> u64 {
        self.hits.finish(summary, || canceller.is_cancelled())
    }

    /// Ends without a word on the screen, since nothing was launched; the record says why.
    pub(super) fn fail(mut self, why: &str) {
        let trouble = Some(format!("it was not launched: failed to {why}"));
        let end = WatchEnd { exit: None, signal: None, interrupted: false, why: None, wall_s: 0.0, left: None, trouble };
        // Where the record takes nothing, the failure itself is what is told.
        let _ = self.record(now(), EventBody::Watch(WatchEvent::Ended(end)));
        self.hits.abandon();
    }
}

/// The number under which the hits of a watched command are recorded.
pub(super) const fn trial() -> Option<TrialId> {
    Some(TRIAL)
}

fn now() -> TimeNs {
    TimeNs(u64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(0))
}
