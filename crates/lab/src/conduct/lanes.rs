//! Lanes: each takes the next launch that is its own, runs it, and takes the next, until the run has an end.
//!
//! A run of one lane is one loop in the caller's thread. Of several, each further one has a thread. They share the recorder behind one lock, so that events
//! of all lanes have one order and each is stored before its trial goes on. A lane that has nothing to do waits until another's trial has ended.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use bystander_model::chain::with_causes;
use bystander_model::event::{EventBody, Origin, RunEnd};
use bystander_model::ids::{RunId, TrialId};

use super::harness_end;
use super::recorder::Recorder;
use crate::design::nuisance::{padding_of, seed_of_block};
use crate::place::{LabError, Place, RecordRefused, TrialOrder};
use crate::plan::Plan;
use crate::step::{self, Step};

/// How it came to an end.
enum Over {
    /// The run has an end.
    Ended(RunEnd),
    /// The record refused an event.
    Refused(LabError),
}

/// What the lanes of a run share.
pub(super) struct Lanes<'a> {
    plan: Plan,
    run: RunId,
    seed: u64,
    place: &'a dyn Place,
    state: Mutex<State<'a>>,
    /// Told when a trial has ended or the run is over.
    moved: Condvar,
}

struct State<'a> {
    recorder: Recorder<'a>,
    over: Option<Over>,
}

impl<'a> Lanes<'a> {
    pub(super) fn new(recorder: Recorder<'a>, place: &'a dyn Place) -> Self {
        let ledger = &recorder.ledger;
        let (plan, run, seed) = (ledger.plan.clone(), ledger.run.clone(), ledger.seed);
        Self { plan, run, seed, place, state: Mutex::new(State { recorder, over: None }), moved: Condvar::new() }
    }

    /// Runs trials until the run has an end, between what the plan names to be run before the first launch and after the last; gives the recorder back.
    pub(super) fn conduct(self) -> (Recorder<'a>, Result<RunEnd, LabError>) {
        // A run that has its end already launches nothing, and prepares nothing.
        let first = step::next(self.lock().recorder.ledger, 1);
        if let Step::End(end) = first {
            self.end(&mut self.lock(), Over::Ended(end));
        } else {
            self.set_up();
            self.run_lanes();
            self.place.cleanup(&self.plan, &self.run, &mut |body| self.record(None, body));
        }
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let end = match state.over {
            Some(Over::Ended(end)) => Ok(end),
            Some(Over::Refused(error)) => Err(error),
            None => Ok(RunEnd::Broken { why: "every lane ended before the run did".to_owned() }),
        };
        (state.recorder, end)
    }

    fn set_up(&self) {
        if self.place.interrupted() {
            return;
        }
        if let Err(error) = self.place.setup(&self.plan, &self.run, &mut |body| self.record(None, body)) {
            let end = if self.place.interrupted() { self.stopped() } else { RunEnd::Broken { why: with_causes(&*error) } };
            self.end(&mut self.lock(), Over::Ended(end));
        }
    }

    /// The end of a run that was told to stop.
    fn stopped(&self) -> RunEnd {
        self.place.why_interrupted().map_or(RunEnd::Interrupted, |why| RunEnd::Abandoned { why })
    }

    fn run_lanes(&self) {
        thread::scope(|scope| {
            for lane in 2..=self.plan.lane_count() {
                let spawned = thread::Builder::new().name(format!("lane {lane}")).spawn_scoped(scope, move || self.run_lane(lane));
                if let Err(error) = spawned {
                    self.end(&mut self.lock(), Over::Ended(RunEnd::Broken { why: format!("lane {lane} cannot be started: {error}") }));
                }
            }
            self.run_lane(1);
        });
    }

    fn run_lane(&self, lane: u32) {
        let _departure = Departure(self);
        while let Some(order) = self.take(lane) {
            self.launch(&order);
        }
    }

    /// Waits for the next launch of a lane and records that it begins; `None` once the run is over.
    fn take(&self, lane: u32) -> Option<TrialOrder> {
        let mut state = self.lock();
        loop {
            if state.over.is_some() {
                return None;
            }
            if self.place.interrupted() {
                self.end(&mut state, Over::Ended(self.stopped()));
                return None;
            }
            match step::next(state.recorder.ledger, lane) {
                Step::Wait => state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner),
                Step::End(end) => {
                    self.end(&mut state, Over::Ended(end));
                    return None;
                }
                Step::Launch(slot) => {
                    let trial = state.recorder.ledger.next_trial();
                    let started = EventBody::TrialStarted { slot: slot.clone() };
                    if let Err(error) = state.recorder.emit(Some(trial), Origin::Lab, started) {
                        self.end(&mut state, Over::Refused(error));
                        return None;
                    }
                    let padding = self.plan.padding.then(|| padding_of(self.seed, &slot));
                    return Some(TrialOrder { run: self.run.clone(), trial, seed: seed_of_block(self.seed, slot.block), padding, slot });
                }
            }
        }
    }

    /// Makes one launch; the run ends where the place cannot go on.
    fn launch(&self, order: &TrialOrder) {
        let mut refused = false;
        let result = self.place.run(&self.plan, order, &mut |body| {
            let recorded = self.record(Some(order.trial), body);
            refused |= recorded.is_err();
            recorded
        });
        let mut state = self.lock();
        if refused {
            // The lab holds the reason; nothing more of this trial can be recorded.
            return;
        }
        let (end, broken) = match result {
            Ok(end) => (end, None),
            Err(error) => {
                let why = with_causes(&*error);
                (harness_end(&why), Some(Over::Ended(RunEnd::Broken { why })))
            }
        };
        match (state.recorder.emit(Some(order.trial), Origin::Lab, EventBody::TrialEnded(end)), broken) {
            (Err(error), _) => self.end(&mut state, Over::Refused(error)),
            (Ok(()), Some(broken)) => self.end(&mut state, broken),
            (Ok(()), None) => self.moved.notify_all(),
        }
    }

    fn record(&self, trial: Option<TrialId>, body: EventBody) -> Result<(), RecordRefused> {
        let mut state = self.lock();
        if matches!(state.over, Some(Over::Refused(_))) {
            return Err(RecordRefused);
        }
        state.recorder.emit(trial, Origin::Host, body).map_err(|error| {
            self.end(&mut state, Over::Refused(error));
            RecordRefused
        })
    }

    /// Ends the run for every lane; the first reason counts, but what the record refuses counts before all others.
    fn end(&self, state: &mut State<'_>, over: Over) {
        if matches!(over, Over::Refused(_)) {
            // What still runs could not be recorded: nobody waits for it.
            self.place.abandon();
            state.over = Some(over);
        } else {
            state.over.get_or_insert(over);
        }
        self.moved.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the run where a lane panics: the others would wait for its trial for ever.
struct Departure<'a, 'b>(&'b Lanes<'a>);

impl Drop for Departure<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.end(&mut self.0.lock(), Over::Ended(RunEnd::Broken { why: "a lane panicked".to_owned() }));
        }
    }
}
