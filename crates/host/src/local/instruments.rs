//! The instruments of one trial: edits on disk and probes in an overlay, put in before the launch and taken out whatever happens.

use std::error::Error;
use std::path::{Path, PathBuf};

use bystander_edit::{EditError, EditSpec, Journal, prepare_stack};
use bystander_lab::cause::{Contamination, Refusal};
use bystander_lab::place::Emit;
use bystander_model::edit::AppliedEdit;
use bystander_model::event::EventBody;
use bystander_model::evidence::{Evidence, EvidenceKind};
use bystander_model::hit::{Hit, Receipt, ReceiptState};
use bystander_model::typed;
use bystander_probe::{CheckedProbe, Drain, DrainError, Overlay, OverlayError};
use bystander_supervise::ProcessInfo;

use super::deliver::{Cast, Reason, reason_of};
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
        wanted: &[EditSpec],
        instrument: &str,
        owner: &str,
        emit: &mut Emit<'_>,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let mut edits = Self::default();
        if wanted.is_empty() {
            return Ok(edits);
        }
        let prepared = match prepare_stack(wanted) {
            Ok(prepared) => prepared,
            Err(error) => {
                edits.refusals.push(Refusal { instrument: instrument.to_owned(), reason: error.to_string() });
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
#[error("take the edit `{name}` out of {}: it is still in the file; the next start or `{}` undoes it once the cause is mended", .file.display(), typed::there("patch revert"))]
struct StillThere {
    name: String,
    file: PathBuf,
    #[source]
    source: EditError,
}

/// The probes of one trial: the overlays that bring them in, and the rings that the processes write to.
#[derive(Debug)]
pub(crate) struct Probes {
    /// Probes that the environment, or a `.pth` file, brings into every process.
    overlaid: Option<Part>,
    /// Probes that statements in the text bring into the processes that pass them.
    by_text: Option<Part>,
    rings: PathBuf,
}

/// Probes that come in by one overlay.
#[derive(Debug)]
struct Part {
    names: Vec<String>,
    overlay: Overlay,
    drain: Drain,
}

impl Part {
    fn lay(folder: &Path, probes: &[CheckedProbe], rings: &Path) -> Result<Option<Self>, OverlayError> {
        if probes.is_empty() {
            return Ok(None);
        }
        let overlay = Overlay::materialise(folder, probes, rings)?;
        let names = probes.iter().map(|probe| probe.name.clone()).collect();
        Ok(Some(Self { names, overlay, drain: Drain::new(rings, probes) }))
    }
}

impl Probes {
    /// Lays the overlays beside the trial's output; `None` where the cell has no probe.
    pub(crate) fn lay(cast: &Cast, folder: &Path, rings: &Path) -> Result<Option<Self>, OverlayError> {
        let overlaid = Part::lay(&folder.join("overlay"), &cast.overlaid, rings)?;
        let by_text = Part::lay(&cast.late, &cast.by_text(), &rings.join("late"))?;
        let some = overlaid.is_some() || by_text.is_some();
        Ok(some.then(|| Self { overlaid, by_text, rings: rings.to_owned() }))
    }

    /// The overlay that the environment is to name.
    pub(crate) fn overlay(&self) -> Option<&Overlay> {
        self.overlaid.as_ref().map(|part| &part.overlay)
    }

    /// The folder that goes away with the trial.
    pub(super) fn rings(&self) -> &Path {
        &self.rings
    }

    /// What came since the last look.
    pub(crate) fn poll(&mut self) -> Result<Vec<Hit>, DrainError> {
        let mut hits = Vec::new();
        for part in self.overlaid.iter_mut().chain(&mut self.by_text) {
            hits.extend(part.drain.poll()?);
        }
        Ok(hits)
    }

    /// What is left, each process's account, and that of processes without one.
    pub(crate) fn finish(self, processes: &[ProcessInfo], cwd: &Path) -> Result<(Vec<Hit>, Vec<Receipt>), DrainError> {
        let (mut hits, mut receipts) = (Vec::new(), Vec::new());
        for (part, is_text) in [(self.overlaid, false), (self.by_text, true)] {
            let Some(Part { names, drain, .. }) = part else { continue };
            let (more, told) = drain.finish()?;
            // Also of processes that their starter wrote down as out of sight.
            let accounted: Vec<u32> = told.iter().map(|receipt| receipt.pid).collect();
            hits.extend(more);
            receipts.extend(told.into_iter().map(|receipt| with_archive(receipt, processes, cwd)));
            let missing = uncovered(processes, &accounted, &names).into_iter();
            receipts.extend(missing.map(|receipt| if is_text { never_passed(receipt) } else { receipt }));
        }
        Ok((hits, receipts))
    }
}

/// A process that passed none of the statements in the text has no account of them.
fn never_passed(receipt: Receipt) -> Receipt {
    let detail = receipt.detail.map(|title| format!("{title}: it never passed the statement in the text"));
    Receipt { state: ReceiptState::NotReached, detail, ..receipt }
}

/// A process that never imported the file, because its modules come from an archive, is one that the overlay does not cover.
fn with_archive(receipt: Receipt, processes: &[ProcessInfo], cwd: &Path) -> Receipt {
    if receipt.state != ReceiptState::NotImported {
        return receipt;
    }
    let process = processes.iter().find(|process| process.pid == receipt.pid);
    match process.and_then(|process| Some((process.title(), reason_of(&process.cmdline, Some(cwd))?))) {
        Some((title, reason @ Reason::Archive(_))) => {
            Receipt { state: ReceiptState::Uncovered, detail: Some(format!("{title}: {reason}")), ..receipt }
        }
        _ => receipt,
    }
}

/// Receipts for Python processes of the tree that never loaded the overlay. Only processes that a sample saw are known: a very short one may
/// be missing where no covered Python started it.
fn uncovered(processes: &[ProcessInfo], accounted: &[u32], probes: &[String]) -> Vec<Receipt> {
    let python = |process: &&ProcessInfo| process.exe.as_deref().is_some_and(machine::is_python);
    let missing = processes.iter().filter(python).filter(|process| !accounted.contains(&process.pid));
    let receipt = |process: &ProcessInfo, probe: &String| {
        let reason = reason_of(&process.cmdline, None);
        let detail = reason.map_or_else(|| process.title(), |reason| format!("{}: {reason}", process.title()));
        Receipt::uncovered(process.pid, probe.as_str(), detail)
    };
    missing.flat_map(|process| probes.iter().map(move |probe| receipt(process, probe))).collect()
}
