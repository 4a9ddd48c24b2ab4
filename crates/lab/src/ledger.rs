//! The state of a run: a fold over its events. The run loop, the verdicts and the report read it, and nothing else.

mod launched;
mod whole;

use std::collections::BTreeMap;
use std::path::PathBuf;

use bystander_model::cell::Cell;
use bystander_model::edit::{AppliedEdit, RevertedEdit};
use bystander_model::event::{Event, EventBody, FileProof, Origin, Purpose, RunEnd, Session, Slot, TrialEnd};
use bystander_model::evidence::Stream;
use bystander_model::hit::{Hit, Receipt};
use bystander_model::hook::HookRun;
use bystander_model::ids::{RunId, TimeNs, TrialId};
use bystander_model::old_log::OldLog;
use bystander_model::outcome::Outcome;
use bystander_model::provenance::Provenance;
use bystander_model::report::Conclusion;
use indexmap::IndexMap;

use self::launched::Launches;
use self::whole::Whole;
use crate::place::LabError;
use crate::plan::Plan;

pub use self::launched::Launched;

/// Everything that is known of a run.
#[derive(Debug, Clone)]
pub struct Ledger {
    /// The run.
    pub run: RunId,
    /// The checked plan.
    pub plan: Plan,
    /// The seed of the order.
    pub seed: u64,
    /// The version of Bystander that started the run.
    pub version: String,
    /// What a resume must find unchanged.
    pub fingerprint: IndexMap<String, String>,
    /// Files that instruments touch, as they were before the first launch.
    pub files: Vec<FileProof>,
    /// When it started.
    pub started: TimeNs,
    /// Every trial.
    pub trials: BTreeMap<TrialId, TrialRecord>,
    /// The last comparison of the files.
    pub restored: Option<Vec<FileProof>>,
    /// Logs of earlier runs, as they were read.
    pub old_logs: Vec<OldLog>,
    /// What was concluded at each end of the run, and when.
    pub concluded: Vec<(TimeNs, Vec<Conclusion>)>,
    /// What was said about the run as a whole.
    pub notes: Vec<String>,
    /// Commands that were run before the first launch and after the last.
    pub hooks: Vec<HookRun>,
    /// The processes that conducted it, each with the first trial that it could make.
    pub sessions: Vec<(TrialId, Session)>,
    /// How it came to its end; `None` while it runs or after it was killed.
    pub end: Option<RunEnd>,
    next_seq: BTreeMap<(Option<TrialId>, Origin), u64>,
    launches: Launches,
    whole: Whole,
}

/// Everything that is known of a trial.
#[derive(Debug, Clone)]
pub struct TrialRecord {
    /// Its number.
    pub id: TrialId,
    /// Where it stands in the plan.
    pub slot: Slot,
    /// When it started.
    pub started: TimeNs,
    /// With what it was launched; `None` where it never was.
    pub launched: Option<Launched>,
    /// Edits that were put on disk.
    pub edited: Vec<AppliedEdit>,
    /// Edits that were undone.
    pub undone: Vec<RevertedEdit>,
    /// The first hit of each probe in each process, with the number of hits.
    pub hits: IndexMap<(String, u32), (Hit, u64)>,
    /// Each process's account of each probe.
    pub receipts: Vec<Receipt>,
    /// The captured output.
    pub outputs: Vec<(Stream, PathBuf)>,
    /// Commands that were run before and after it.
    pub hooks: Vec<HookRun>,
    /// How it ended.
    pub end: Option<Box<TrialEnd>>,
}

impl TrialRecord {
    /// Everything that identifies what was launched, put together anew at each call; `None` where nothing was.
    #[must_use]
    pub fn provenance(&self) -> Option<Provenance> {
        self.launched.as_ref().map(Launched::provenance)
    }

    /// The outcome, once it has one.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        self.end.as_ref().map(|end| end.outcome)
    }

    /// The signature of the cause; empty for a trial without one, and for one of which is known only that something else failed.
    #[must_use]
    pub fn signature(&self) -> &str {
        self.end.as_ref().and_then(|end| end.cause.as_ref()).filter(|cause| !cause.is_echo).map_or("", |cause| cause.signature.as_str())
    }

    /// Whether it is a data point.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.slot.purpose == Purpose::Measure && self.outcome().is_some_and(Outcome::counts)
    }
}

impl Ledger {
    /// Folds the events of one run.
    ///
    /// # Errors
    /// [`LabError::Unreadable`] when the first event is not the start of a run, or the plan in it is not one.
    pub fn replay(run: &RunId, events: impl IntoIterator<Item = Event>) -> Result<Self, LabError> {
        let mut events = events.into_iter();
        let unreadable = |reason: String| LabError::Unreadable { run: run.clone(), reason };
        let first = events.next().ok_or_else(|| unreadable("it has no events".into()))?;
        let mut ledger = Self::begin(run, &first).map_err(unreadable)?;
        ledger.count(&first);
        for event in events {
            ledger.apply(&event);
        }
        Ok(ledger)
    }

    fn begin(run: &RunId, first: &Event) -> Result<Self, String> {
        let EventBody::RunStarted { plan, fingerprint, seed, version, files } = &first.body else {
            return Err("its first event is not its start".into());
        };
        let plan = serde_json::from_value(plan.clone())
            .map_err(|error| format!("its plan is of another version, bystander {version} ({error}); update bystander, or use that one"))?;
        Ok(Self {
            run: run.clone(),
            plan,
            seed: *seed,
            version: version.clone(),
            fingerprint: fingerprint.clone(),
            files: files.clone(),
            started: first.time,
            trials: BTreeMap::new(),
            restored: None,
            old_logs: Vec::new(),
            concluded: Vec::new(),
            notes: Vec::new(),
            hooks: Vec::new(),
            sessions: Vec::new(),
            end: None,
            next_seq: BTreeMap::new(),
            launches: Launches::default(),
            whole: Whole::default(),
        })
    }

    /// Takes one more event into account.
    pub fn apply(&mut self, event: &Event) {
        self.count(event);
        match event.trial {
            None => self.apply_to_run(event),
            Some(id) => self.apply_to_trial(id, event),
        }
    }

    fn count(&mut self, event: &Event) {
        let next = self.next_seq.entry((event.trial, event.origin)).or_insert(0);
        *next = (*next).max(event.seq + 1);
    }

    fn apply_to_run(&mut self, event: &Event) {
        match &event.body {
            EventBody::RunResumed => self.end = None,
            EventBody::Session(session) => self.sessions.push((self.next_trial(), session.clone())),
            EventBody::RunEnded(end) => self.end = Some(end.clone()),
            EventBody::Restored { files } => self.restored = Some(files.clone()),
            EventBody::OldLog(log) => self.old_logs.push((**log).clone()),
            EventBody::Concluded { answers } => self.concluded.push((event.time, answers.clone())),
            EventBody::Note { text } => self.notes.push(text.clone()),
            EventBody::Hook(hook) => self.hooks.push(hook.clone()),
            _ => {}
        }
    }

    fn apply_to_trial(&mut self, id: TrialId, event: &Event) {
        if let EventBody::TrialStarted { slot } = &event.body {
            self.trials.entry(id).or_insert_with(|| TrialRecord::new(id, slot.clone(), event.time));
        }
        let Some(trial) = self.trials.get_mut(&id) else { return };
        match &event.body {
            EventBody::Launched { provenance, .. } => trial.launched = Some(self.launches.keep(provenance)),
            EventBody::Edited(edit) => trial.edited.push(edit.clone()),
            EventBody::Undone(edit) => trial.undone.push(edit.clone()),
            EventBody::Hit(hit) => {
                trial.hits.entry((hit.probe.clone(), hit.pid)).or_insert_with(|| (hit.clone(), 0)).1 += 1;
            }
            EventBody::Receipt(receipt) => trial.receipts.push(receipt.clone()),
            EventBody::Hook(hook) => trial.hooks.push(hook.clone()),
            EventBody::Output { stream, path, .. } => match trial.outputs.iter_mut().find(|(known, _)| known == stream) {
                Some((_, known)) => known.clone_from(path),
                None => trial.outputs.push((*stream, path.clone())),
            },
            EventBody::TrialEnded(end) => {
                trial.end = Some(Box::new(end.clone()));
                self.whole.take(id, &mut self.trials);
            }
            _ => {}
        }
    }

    /// The number of the next event of a trial and origin.
    #[must_use]
    pub fn next_seq(&self, trial: Option<TrialId>, origin: Origin) -> u64 {
        self.next_seq.get(&(trial, origin)).copied().unwrap_or(0)
    }

    /// The number of the next trial.
    #[must_use]
    pub fn next_trial(&self) -> TrialId {
        TrialId(self.trials.last_key_value().map_or(1, |(id, _)| id.0 + 1))
    }

    /// The trials of one cell that are data points, in launch order.
    pub fn data<'a>(&'a self, cell: &'a Cell) -> impl Iterator<Item = &'a TrialRecord> {
        self.trials.values().filter(move |trial| trial.counts() && trial.slot.cell == *cell)
    }

    /// The trials at one place of the plan, in launch order.
    pub fn at(&self, purpose: Purpose, block: u32, position: u32) -> impl Iterator<Item = &TrialRecord> {
        self.trials
            .values()
            .filter(move |trial| trial.slot.purpose == purpose && trial.slot.block == block && trial.slot.position == position)
    }

    /// Trials that were started and have no end: the run was killed in them.
    #[must_use]
    pub fn unfinished(&self) -> Vec<TrialId> {
        self.trials.values().filter(|trial| trial.end.is_none()).map(|trial| trial.id).collect()
    }
}

impl TrialRecord {
    fn new(id: TrialId, slot: Slot, started: TimeNs) -> Self {
        Self {
            id,
            slot,
            started,
            launched: None,
            edited: Vec::new(),
            undone: Vec::new(),
            hits: IndexMap::new(),
            receipts: Vec::new(),
            outputs: Vec::new(),
            hooks: Vec::new(),
            end: None,
        }
    }
}
