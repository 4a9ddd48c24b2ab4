//! What the lab needs from outside: a place to run trials, and a sink for events. The command line hands both in.

use std::error::Error;
use std::path::PathBuf;

use bystander_model::diagnostic::Diagnostic;
use bystander_model::edit::RevertedEdit;
use bystander_model::event::{Event, EventBody, FileProof, Slot, TrialEnd};
use bystander_model::ids::{RunId, TrialId};
use indexmap::IndexMap;

use crate::plan::Plan;

/// One launch to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialOrder {
    /// The run.
    pub run: RunId,
    /// The trial's number.
    pub trial: TrialId,
    /// Where it stands in the plan.
    pub slot: Slot,
    /// The seed that the program is handed as `{seed}`: the same for every cell of a block.
    pub seed: u32,
    /// The length of the padding of its environment, in bytes; `None` for none.
    pub padding: Option<u32>,
}

/// What a look before the first launch found.
#[derive(Debug, Clone, Default)]
pub struct Checkup {
    /// Problems of the plan on this place, those of refused instruments apart.
    pub problems: Vec<Diagnostic>,
    /// Instruments that cannot be put in.
    pub refused: IndexMap<String, Refusal>,
    /// Hashes of the program and of every instrumented file: what a resume must find unchanged.
    pub fingerprint: IndexMap<String, String>,
    /// Every file that an instrument touches, as it stands.
    pub files: Vec<FileProof>,
    /// Where each probe sits and what each edit adds, one line an instrument.
    pub placed: IndexMap<String, String>,
}

/// Why an instrument cannot be put in.
#[derive(Debug, Clone, Default)]
pub struct Refusal {
    /// The reason in one line.
    pub why: String,
    /// The same with places in files.
    pub problems: Vec<Diagnostic>,
}

/// An event could not be recorded or a trial could not be conducted; the run stops and what was recorded stays.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The record refuses: disk full, unreadable.
    #[error("failed to record what happened")]
    Record(#[source] Box<dyn Error + Send + Sync>),
    /// The place cannot go on.
    #[error("failed to run trial {trial}")]
    Place {
        /// The trial.
        trial: TrialId,
        /// What the place says.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// A run is to be resumed, but something is not as it was.
    #[error("{} changed since the run started", what.join(", "))]
    Changed {
        /// Everything that changed, such as `examples/engine/engine/sizing.py`; at least one.
        what: Vec<String>,
    },
    /// The record does not hold a run that this version understands.
    #[error("failed to read the record of run {run}: {reason}")]
    Unreadable {
        /// The run.
        run: RunId,
        /// What is wrong with it.
        reason: String,
    },
}

/// Takes events, in order, before anything is shown of them. Lanes hand theirs in from threads of their own, one at a time.
pub trait Sink: Send {
    /// Records one event durably.
    ///
    /// # Errors
    /// [`LabError::Record`] when the event is not recorded; nothing that depends on it may happen then.
    fn append(&mut self, event: &Event) -> Result<(), LabError>;
}

/// The record refused an event; the trial must be ended at once. The lab holds the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("failed to record an event of the trial")]
pub struct RecordRefused;

/// Hands on what a trial emits; the lab numbers and records it.
pub type Emit<'a> = dyn FnMut(EventBody) -> Result<(), RecordRefused> + 'a;

/// A place where trials run. Several may run in it at once, each in a thread of its own.
pub trait Place: Sync {
    /// Looks at everything that can be known before the first launch, and changes nothing.
    fn check(&mut self, plan: &Plan) -> Checkup;

    /// Removes what killed runs left: processes, rings, live edits.
    ///
    /// # Errors
    /// What could not be removed.
    fn sweep(&mut self) -> Result<Vec<RevertedEdit>, Box<dyn Error + Send + Sync>>;

    /// Runs what the plan names to be run before the first launch.
    ///
    /// # Errors
    /// Why nothing can be launched.
    fn setup(&self, _plan: &Plan, _run: &RunId, _emit: &mut Emit<'_>) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(())
    }

    /// Runs what the plan names to be run after the last launch, also when the user asked to stop. What fails in it is told through `emit`.
    fn cleanup(&self, _plan: &Plan, _run: &RunId, _emit: &mut Emit<'_>) {}

    /// Runs one trial from spawn to the last process gone, edits applied before and undone after.
    ///
    /// # Errors
    /// Only when the place itself cannot go on; a failed trial is a result.
    fn run(&self, plan: &Plan, order: &TrialOrder, emit: &mut Emit<'_>) -> Result<TrialEnd, Box<dyn Error + Send + Sync>>;

    /// Compares files with how they were before the run.
    fn compare(&self, files: &[FileProof]) -> Vec<FileProof>;

    /// Whether the user asked to stop.
    fn interrupted(&self) -> bool;

    /// Why it is to stop, where the user has not asked for it.
    fn why_interrupted(&self) -> Option<String> {
        None
    }

    /// Ends every trial that runs: nothing of them can be recorded any more.
    fn abandon(&self) {}
}

/// The file of a proof that is no longer as it was.
#[must_use]
pub fn unrestored(proofs: &[FileProof]) -> Vec<&PathBuf> {
    proofs.iter().filter(|proof| !is_exact(proof)).map(|proof| &proof.file).collect()
}

/// Whether a file is byte for byte and in its metadata as before.
#[must_use]
pub fn is_exact(proof: &FileProof) -> bool {
    proof.metadata_same && proof.after_sha256.as_deref() == Some(proof.before_sha256.as_str())
}
