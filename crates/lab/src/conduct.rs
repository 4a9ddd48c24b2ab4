//! The run loop: decide, launch, record, until the run has an end. Every event goes through one recorder, store first.

mod lanes;
mod recorder;

use bystander_model::event::{Event, EventBody, Origin, RunEnd, Session, TrialEnd};
use bystander_model::ids::RunId;
use bystander_model::old_log::OldLog;
use bystander_model::outcome::{Cause, CauseGroup, Outcome};
use indexmap::IndexMap;

use self::lanes::Lanes;
use self::recorder::{Recorder, wall_clock};
use crate::ledger::Ledger;
use crate::place::{Checkup, LabError, Place, Sink};
use crate::plan::Plan;
use crate::superseding;

/// Creates the record of a new run.
///
/// # Errors
/// [`LabError::Record`] when its first event cannot be recorded; [`LabError::Unreadable`] when the plan cannot be read back.
pub fn create(run: &RunId, plan: &Plan, seed: u64, version: &str, checkup: &Checkup, sink: &mut dyn Sink) -> Result<Ledger, LabError> {
    let plan = serde_json::to_value(plan).map_err(|error| LabError::Record(Box::new(error)))?;
    let body = EventBody::RunStarted {
        plan,
        fingerprint: checkup.fingerprint.clone(),
        seed,
        version: version.to_owned(),
        files: checkup.files.clone(),
    };
    let event = Event { run: run.clone(), trial: None, origin: Origin::Lab, seq: 0, time: wall_clock(), body };
    sink.append(&event)?;
    Ledger::replay(run, [event])
}

/// Takes up a run that was stopped: refuses when anything it depends on changed, and closes the trials that it died in.
///
/// # Errors
/// [`LabError::Changed`] names everything that changed; [`LabError::Record`] when the resume cannot be recorded.
pub fn resume(ledger: &mut Ledger, fingerprint: &IndexMap<String, String>, sink: &mut dyn Sink) -> Result<(), LabError> {
    resume_in(ledger, fingerprint, None, sink)
}

/// The same, by a process that is recorded: where the machine was restarted meanwhile, that is said of the trials that it ended.
///
/// # Errors
/// As [`resume`].
pub fn resume_in(
    ledger: &mut Ledger,
    fingerprint: &IndexMap<String, String>,
    session: Option<&Session>,
    sink: &mut dyn Sink,
) -> Result<(), LabError> {
    let what = changed(&ledger.fingerprint, fingerprint);
    if !what.is_empty() {
        return Err(LabError::Changed { what });
    }
    let unfinished = ledger.unfinished();
    let mut recorder = Recorder { ledger, sink };
    let restarted = session.is_some_and(|session| was_restarted(recorder.ledger, session));
    recorder.emit(None, Origin::Lab, EventBody::RunResumed)?;
    if let Some(session) = session {
        recorder.emit(None, Origin::Lab, EventBody::Session(session.clone()))?;
    }
    for trial in unfinished {
        recorder.emit(Some(trial), Origin::Lab, EventBody::TrialEnded(died_with_us(restarted)))?;
    }
    Ok(())
}

/// Records which process conducts a new run.
///
/// # Errors
/// [`LabError::Record`] when it cannot be recorded.
pub fn begin_session(ledger: &mut Ledger, session: &Session, sink: &mut dyn Sink) -> Result<(), LabError> {
    Recorder { ledger, sink }.emit(None, Origin::Lab, EventBody::Session(session.clone()))
}

/// Whether the machine was started anew since the last process conducted the run; what cannot be told is no restart.
fn was_restarted(ledger: &Ledger, now: &Session) -> bool {
    let before = ledger.sessions.last().and_then(|(_, session)| session.boot.as_ref());
    before.zip(now.boot.as_ref()).is_some_and(|(before, now)| before != now)
}

/// Everything that is not as it was, gone or new: first what was there, in its order.
#[must_use]
pub fn changed(then: &IndexMap<String, String>, now: &IndexMap<String, String>) -> Vec<String> {
    let differ = then.iter().filter(|(name, hash)| now.get(*name) != Some(hash)).map(|(name, _)| name);
    differ.chain(now.keys().filter(|name| !then.contains_key(*name))).cloned().collect()
}

/// Runs trials until the run has an end, then compares the files and records the end.
///
/// # Errors
/// [`LabError::Record`] when an event cannot be recorded: the run stops there, and what was recorded stays. Trouble of the place ends the
/// run as [`RunEnd::Broken`] and is no error here.
pub fn conduct(ledger: &mut Ledger, place: &dyn Place, sink: &mut dyn Sink) -> Result<RunEnd, LabError> {
    let (mut recorder, end) = Lanes::new(Recorder { ledger, sink }, place).conduct();
    let end = end?;
    let files = place.compare(&recorder.ledger.files);
    recorder.emit(None, Origin::Lab, EventBody::Restored { files })?;
    recorder.emit(None, Origin::Lab, EventBody::RunEnded(end.clone()))?;
    // What is said now stays in the record, whatever later evidence makes of it.
    let answers = superseding::conclusions(recorder.ledger);
    recorder.emit(None, Origin::Lab, EventBody::Concluded { answers })?;
    Ok(end)
}

/// Records what logs of earlier runs say.
///
/// # Errors
/// [`LabError::Record`] when one cannot be recorded.
pub fn take_old_logs(ledger: &mut Ledger, logs: Vec<OldLog>, sink: &mut dyn Sink) -> Result<(), LabError> {
    let mut recorder = Recorder { ledger, sink };
    logs.into_iter().try_for_each(|log| recorder.emit(None, Origin::Lab, EventBody::OldLog(Box::new(log))))
}

fn died_with_us(restarted: bool) -> TrialEnd {
    let text = if restarted { "the machine was restarted while this trial ran" } else { "bystander was killed while this trial ran" };
    ended(Outcome::Interrupted, "interrupted", CauseGroup::Harness, text)
}

/// The run goes on with another launch here once the trouble is over.
fn harness_end(why: &str) -> TrialEnd {
    ended(Outcome::Interrupted, "harness", CauseGroup::Harness, why)
}

fn ended(outcome: Outcome, class: &str, group: CauseGroup, text: &str) -> TrialEnd {
    let cause = Cause {
        class: class.to_owned(),
        group,
        signature: class.to_owned(),
        text: text.to_owned(),
        blames: None,
        is_echo: false,
        evidence: Vec::new(),
    };
    TrialEnd { cause: Some(cause), ..TrialEnd::new(outcome) }
}
