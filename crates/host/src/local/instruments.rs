//! The instruments of one trial: edits on disk and probes in an overlay, put in before the launch and taken out whatever happens.

use std::error::Error;
use std::path::{Path, PathBuf};

use bystander_edit::{EditError, Journal, prepare_stack};
use bystander_lab::cause::{Contamination, Refusal};
use bystander_lab::place::Emit;
use bystander_lab::plan::Plan;
use bystander_model::cell::Cell;
use bystander_model::edit::AppliedEdit;
use bystander_model::event::EventBody;
use bystander_model::evidence::{Evidence, EvidenceKind};
use bystander_model::hit::{Hit, Receipt, ReceiptState};
use bystander_probe::{CheckedProbe, Drain, DrainError, Overlay};
use bystander_supervise::ProcessInfo;

use super::check::spec;
use crate::folder_times::FolderTimes;
use crate::{machine, proof};

/// Edits that are on disk for a trial. They are undone by [`Edits::undo`], and by the journal's recovery if that never runs.
#[derive(Debug, Default)]
pub(super) struct Edits {
    pub(super) applied: Vec<AppliedEdit>,
    pub(super) refusals: Vec<Refusal>,
}

impl Edits {
    /// Puts the edits of a cell on disk. An edit that cannot be made is a refusal, and none of the cell's edits stays.
    pub(super) fn apply(
        journal: &Journal,
        plan: &Plan,
        cell: &Cell,
        owner: &str,
        emit: &mut Emit<'_>,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let mut edits = Self::default();
        let wanted: Vec<_> = plan.edits_of(cell).map(spec).collect();
        if wanted.is_empty() {
            return Ok(edits);
        }
        let prepared = match prepare_stack(&wanted) {
            Ok(prepared) => prepared,
            Err(error) => {
                edits.refusals.push(Refusal { instrument: cell.instrument.clone(), reason: error.to_string() });
                return Ok(edits);
            }
        };
        for edit in &prepared {
            let times = FolderTimes::of([edit.real.as_path()]);
            let made = journal.apply(edit, owner);
            // What counts is that the files are as they should be; a folder's time is a courtesy.
            let _ = times.give_back();
            match made {
                Ok(applied) => {
                    edits.applied.push(applied.clone());
                    if let Err(refused) = emit(EventBody::Edited(applied)) {
                        edits.undo(journal, &mut |_| Ok(()))?;
                        return Err(refused.into());
                    }
                }
                Err(error) => {
                    edits.undo(journal, emit)?;
                    edits.refusals.push(Refusal { instrument: edit.name.clone(), reason: error.to_string() });
                    return Ok(edits);
                }
            }
        }
        Ok(edits)
    }

    /// What became of the edits while the trial ran: one that was taken out or changed meanwhile was not what the trial ran with.
    pub(super) fn changed_meanwhile(&self) -> Option<Contamination> {
        // Edits of one file lie on top of each other: what stands there is the last one's.
        let last = self.applied.iter().enumerate().filter(|(at, edit)| self.applied[at + 1..].iter().all(|above| above.file != edit.file));
        last.map(|(_, edit)| edit).find_map(|edit| {
            let what = match proof::sha256(&edit.file) {
                Ok(now) if now == edit.after_sha256 => return None,
                Ok(_) => "was not as the edit had made it",
                Err(_) => "could not be read",
            };
            let file = edit.file.display();
            let text = format!(
                "{file} {what} when the trial ended (edit `{}`): others took the edit out or changed the file meanwhile",
                edit.name
            );
            let evidence = Evidence { trial: None, kind: EvidenceKind::Sample, place: file.to_string(), text: text.clone() };
            Some(Contamination { class: "instrument.changed".to_owned(), text, evidence: vec![evidence] })
        })
    }

    /// Undoes them, the last one first; every one is tried, and the first error is told.
    pub(super) fn undo(&mut self, journal: &Journal, emit: &mut Emit<'_>) -> Result<(), Box<dyn Error + Send + Sync>> {
        let mut first_error: Option<Box<dyn Error + Send + Sync>> = None;
        for edit in self.applied.iter().rev() {
            let times = FolderTimes::of([edit.file.as_path()]);
            let undone = journal.revert(&edit.id);
            let _ = times.give_back();
            match undone {
                Ok(undone) => {
                    if let Err(refused) = emit(EventBody::Undone(undone)) {
                        first_error.get_or_insert(refused.into());
                    }
                }
                Err(source) => {
                    let (name, file) = (edit.name.clone(), edit.file.clone());
                    first_error.get_or_insert(StillThere { name, file, source }.into());
                }
            }
        }
        first_error.map_or(Ok(()), Err)
    }
}

/// An edit that could not be undone and is still in its file.
#[derive(Debug, thiserror::Error)]
#[error("take the edit `{name}` out of {}: it is still in the file; the next start or `bystander patch revert` undoes it once the cause is mended", .file.display())]
struct StillThere {
    name: String,
    file: PathBuf,
    #[source]
    source: EditError,
}

/// The probes of one trial: a private overlay and the rings that the processes write to.
#[derive(Debug)]
pub(super) struct Probes {
    names: Vec<String>,
    overlay: Overlay,
    drain: Drain,
    rings: PathBuf,
}

impl Probes {
    /// Lays the overlay beside the trial's output; `None` where the cell has no probe.
    pub(super) fn lay(
        checked: &[CheckedProbe],
        plan: &Plan,
        cell: &Cell,
        folder: &Path,
        rings: &Path,
    ) -> Result<Option<Self>, Box<dyn Error + Send + Sync>> {
        let wanted: Vec<CheckedProbe> =
            plan.probes_of(cell).filter_map(|probe| checked.iter().find(|known| known.name == probe.spec.name).cloned()).collect();
        if wanted.is_empty() {
            return Ok(None);
        }
        let overlay = Overlay::materialise(&folder.join("overlay"), &wanted, rings)?;
        Ok(Some(Self {
            names: wanted.iter().map(|probe| probe.name.clone()).collect(),
            overlay,
            drain: Drain::new(rings, &wanted),
            rings: rings.to_owned(),
        }))
    }

    pub(super) fn overlay(&self) -> &Overlay {
        &self.overlay
    }

    /// The folder that goes away with the trial.
    pub(super) fn rings(&self) -> &Path {
        &self.rings
    }

    /// Their names.
    pub(super) fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    /// The processes that loaded the overlay.
    pub(super) fn pids(&self) -> Vec<u32> {
        self.drain.pids()
    }

    /// What came since the last look.
    pub(super) fn poll(&mut self) -> Result<Vec<Hit>, DrainError> {
        self.drain.poll()
    }

    /// What is left, and each process's account.
    pub(super) fn finish(self) -> Result<(Vec<Hit>, Vec<Receipt>), DrainError> {
        self.drain.finish()
    }
}

/// Receipts for Python processes of the tree that never loaded the overlay. Only processes that a sample saw are known: a very short one may be missing.
pub(crate) fn uncovered(processes: &[ProcessInfo], covered: &[u32], probes: &[String]) -> Vec<Receipt> {
    let python = |process: &&ProcessInfo| process.exe.as_deref().is_some_and(machine::is_python);
    let missing = processes.iter().filter(python).filter(|process| !covered.contains(&process.pid));
    let receipt = |process: &ProcessInfo, probe: &String| Receipt {
        pid: process.pid,
        rank: None,
        probe: probe.clone(),
        state: ReceiptState::Uncovered,
        hits: None,
        dropped: None,
        detail: Some(process.title()),
        python: None,
        passes: None,
        throttled: None,
        recorder: None,
        cost_ns: None,
        adds_switch_point: false,
    };
    missing.flat_map(|process| probes.iter().map(move |probe| receipt(process, probe))).collect()
}
