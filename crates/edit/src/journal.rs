//! The write-ahead journal of edits: makes them, undoes them, and recovers from a kill at any moment.
//!
//! The order of an apply: the file is claimed in the registry, copies of both versions and a record are durable, the
//! file is looked at once more, then it is replaced. An undo goes back by the bytes that stand in the file: those with
//! the edit are replaced by those before; bytes that others changed lose the edit's text and keep the rest; bytes
//! that cannot be told are left, and the journal keeps both versions.
//!
//! What is not here: finding the text (`spec`), taking text out of changed bytes (`excise`).

pub(crate) mod adopt;
mod apply;
mod cache;
pub(crate) mod disk;
mod keep;
pub(crate) mod record;
mod undo;
pub(crate) mod write;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use bystander_model::edit::{AppliedEdit, RevertedEdit};
use bystander_model::patch::{EditStatus, Problem};

use crate::error::{EditError, Holder};
use crate::registry::Registry;
use crate::spec::PreparedEdit;
use crate::steps::{NoSteps, Steps};
use crate::verify::{self, Findings};
use disk::Disk;
use record::Record;

/// The journal of a state directory.
///
/// Nothing is created before the first apply. Several processes may use one journal: they wait for each other.
pub struct Journal {
    disk: Disk,
    registry: Registry,
}

/// What undoing several edits came to.
#[derive(Debug, Default)]
pub struct Recovery {
    /// The edits that are undone.
    pub reverted: Vec<RevertedEdit>,
    /// Why others are not.
    pub failed: Vec<EditError>,
}

impl fmt::Debug for Journal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Journal").field("state_dir", &self.disk.state_dir).field("registry", &self.registry.folder).finish()
    }
}

impl Journal {
    /// Opens the journal in `state_dir`, which need not be there; live edits are also listed in `registry_dir`.
    ///
    /// # Errors
    /// The journal is of a newer version, or cannot be read.
    pub fn open(state_dir: &Path, registry_dir: &Path) -> Result<Self, EditError> {
        Self::open_with(state_dir, registry_dir, Arc::new(NoSteps))
    }

    /// Opens the journal, with somebody who is told of every step that changes something on disk.
    ///
    /// # Errors
    /// See [`Journal::open`].
    pub fn open_with(state_dir: &Path, registry_dir: &Path, steps: Arc<dyn Steps>) -> Result<Self, EditError> {
        let folder = std::path::absolute(registry_dir).map_err(EditError::io("find", registry_dir))?;
        Ok(Self { disk: Disk::open(state_dir, steps)?, registry: Registry { folder } })
    }

    /// Puts an edit on disk. `owner` says who makes it; edits of one owner stack on one file, others are refused.
    ///
    /// When an error comes back the file is as it was, unless the error is [`EditError::TakeBack`]: then the journal
    /// holds the edit, and [`Journal::recover`] or [`Journal::revert`] undoes it.
    ///
    /// # Errors
    /// Others changed or hold the file, it cannot be put back as it is, the disk is full, or the system refuses.
    pub fn apply(&self, edit: &PreparedEdit, owner: &str) -> Result<AppliedEdit, EditError> {
        let _lock = self.disk.create()?;
        let terms = apply::Terms { owner, group: None, expires: None, renews: false };
        apply::apply(&self.disk, &self.registry, edit, &terms)
    }

    /// Puts edits on disk that stay when this process ends, until they are taken back or `expires`, RFC 3339, is past. All are made, or none.
    ///
    /// Their undo gives files that are no Python source a new modification time, so that build tools see it.
    ///
    /// # Errors
    /// See [`Journal::apply`]; of several edits the first that cannot be made.
    pub fn keep(&self, edits: &[PreparedEdit], expires: Option<&str>) -> Result<Vec<AppliedEdit>, EditError> {
        let _lock = self.disk.create()?;
        keep::keep(&self.disk, &self.registry, edits, expires)
    }

    /// Undoes every edit whose time is over, newest first.
    ///
    /// # Errors
    /// See [`Journal::revert_all`].
    pub fn expire(&self) -> Result<Recovery, EditError> {
        self.revert_where(Record::is_expired)
    }

    /// Undoes one edit. An edit that is undone already is answered again; one whose journal is lost is undone by what the registry keeps.
    ///
    /// # Errors
    /// There is no such edit, others changed the file so that the edit cannot be taken out, or the system refuses.
    pub fn revert(&self, id: &str) -> Result<RevertedEdit, EditError> {
        if let Some(done) = undo_by_id(&self.disk, &self.registry, id)? {
            return Ok(done);
        }
        // Its own journal may be lost, and what the registry keeps of it be adopted by another.
        let lost = self.registry.entries()?.into_iter().find(|entry| entry.record.id == id);
        let home = lost.map(|entry| adopt::home(&self.registry, entry)).transpose()?.flatten();
        let adopted = home.filter(|home| *home == adopt::adopted(&self.registry));
        let disk = adopted.map(|home| Disk::open(&home, Arc::clone(&self.disk.steps))).transpose()?;
        let done = disk.map(|disk| undo_by_id(&disk, &self.registry, id)).transpose()?.flatten();
        done.ok_or_else(|| EditError::UnknownId { id: id.to_owned() })
    }

    /// Undoes every edit, newest first, also those that a living process has made.
    ///
    /// # Errors
    /// The journal cannot be read; an edit that cannot be undone is told in the answer.
    pub fn revert_all(&self) -> Result<Recovery, EditError> {
        self.revert_where(|_| true)
    }

    /// Undoes every edit of one owner, newest first.
    ///
    /// # Errors
    /// See [`Journal::revert_all`].
    pub fn revert_owner(&self, owner: &str) -> Result<Recovery, EditError> {
        self.revert_where(|record| record.owner == owner)
    }

    /// Undoes every edit whose process is gone and that is not kept, or whose time is over, newest first, and clears what a killed process left in the journal.
    ///
    /// # Errors
    /// See [`Journal::revert_all`].
    pub fn recover(&self) -> Result<Recovery, EditError> {
        self.revert_where(Record::is_abandoned)
    }

    fn revert_where(&self, wanted: impl Fn(&Record) -> bool) -> Result<Recovery, EditError> {
        let mut recovery = Recovery::default();
        if !self.disk.exists() {
            return Ok(recovery);
        }
        let _lock = self.disk.lock()?;
        let records = self.disk.load()?;
        for record in records.iter().rev().filter(|record| record.is_active() && wanted(record)) {
            // Each undo sees what the ones before it left.
            match self.disk.load().and_then(|records| undo::undo(&self.disk, &self.registry, record, &records)) {
                Ok(done) => recovery.reverted.push(done),
                Err(error) => recovery.failed.push(error),
            }
        }
        let records = self.disk.load()?;
        self.disk.sweep(&records)?;
        let active: Vec<&Record> = records.iter().filter(|record| record.is_active()).collect();
        self.registry.sweep(&self.disk.state_dir, &active)?;
        Ok(recovery)
    }

    /// Lists the edits of this journal, oldest first; undone ones too, the last 256.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn status(&self) -> Result<Vec<EditStatus>, EditError> {
        Ok(self.records()?.iter().map(|record| record.status(&self.disk.state_dir)).collect())
    }

    /// Lists who holds the edits of this journal that are on disk, oldest first.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn holders(&self) -> Result<Vec<Holder>, EditError> {
        let records = self.records()?;
        Ok(records.iter().filter(|record| record.is_active()).map(|record| record.holder(&self.disk.state_dir)).collect())
    }

    /// Looks for everything that edits of this journal have left: text, metadata, bytecode, temporary files.
    ///
    /// # Errors
    /// The journal or a file cannot be read.
    pub fn verify(&self) -> Result<Vec<Problem>, EditError> {
        Ok(verify::verify(&self.disk, &self.records()?, None)?.problems)
    }

    /// The same, with what is worth knowing, and what was built from edited sources below `root`.
    ///
    /// # Errors
    /// The journal or a file cannot be read.
    pub fn verify_all(&self, root: &Path) -> Result<Findings, EditError> {
        verify::verify(&self.disk, &self.records()?, Some(root))
    }

    fn records(&self) -> Result<Vec<Record>, EditError> {
        if !self.disk.exists() {
            return Ok(Vec::new());
        }
        let _lock = self.disk.lock_for_reading()?;
        self.disk.load()
    }
}

/// Undoes one edit of a journal, or answers its undo again; `None` where the journal does not know it.
fn undo_by_id(disk: &Disk, registry: &Registry, id: &str) -> Result<Option<RevertedEdit>, EditError> {
    if !disk.exists() {
        return Ok(None);
    }
    let _lock = disk.lock()?;
    let records = disk.load()?;
    let Some(record) = records.iter().find(|record| record.id == id) else { return Ok(None) };
    record.reverted().map_or_else(|| undo::undo(disk, registry, record, &records), Ok).map(Some)
}
