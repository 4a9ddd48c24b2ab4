//! The live edits of a user, whichever journal holds them: one small file each, in one folder.
//!
//! An entry is claimed before a file changes and released after its undo. It says where the journal is; what stands
//! there decides. Where the journal is lost, the entry is enough for the undo (`lost`). Edits of other users are not seen here.
//!
//! `ID.json` is an entry, `ID.before` a copy of the file before, `lock` is locked by who changes something.

use std::env;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bystander_model::patch::{EditState, EditStatus};
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use crate::encode;
use crate::error::{EditError, Holder};
use crate::journal::disk::{self, Disk};
use crate::journal::record::{FORMAT, Record};
use crate::journal::write;
use crate::steps::{NoSteps, Steps};

/// Gives the folder of the registry: `$XDG_STATE_HOME/bystander/edits`, else `~/.local/state/bystander/edits`; `None`
/// where the environment names no home.
#[must_use]
pub fn default_registry_dir() -> Option<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("bystander/edits"))
}

/// Gives the edits of this user that are on disk now, from every state directory.
///
/// # Errors
/// The folder cannot be read, or an entry is damaged or of a newer version.
pub fn registry_status(registry_dir: &Path) -> Result<Vec<EditStatus>, EditError> {
    let mut found: Vec<EditStatus> = on_disk(registry_dir)?.into_iter().map(|(entry, state)| entry.status(state)).collect();
    found.sort_by(|a, b| (&a.made, &a.id).cmp(&(&b.made, &b.id)));
    Ok(found)
}

/// Gives who holds the edits of this user that are on disk now, by file.
///
/// # Errors
/// As [`registry_status`].
pub fn registry_holders(registry_dir: &Path) -> Result<Vec<(PathBuf, Holder)>, EditError> {
    Ok(on_disk(registry_dir)?.into_iter().map(|(entry, _)| (entry.record.real.clone(), entry.holder())).collect())
}

/// The entries whose edits are on disk, and how they stand.
fn on_disk(registry_dir: &Path) -> Result<Vec<(Entry, EditState)>, EditError> {
    let registry = Registry { folder: registry_dir.to_path_buf() };
    let mut found = Vec::new();
    for entry in registry.entries()? {
        found.extend(registry.state(&entry)?.map(|state| (entry, state)));
    }
    Ok(found)
}

/// One live edit, with all that its undo needs where its journal is lost.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Entry {
    format: u32,
    /// The state directory whose journal holds it.
    #[serde(with = "encode::path")]
    pub(crate) state_dir: PathBuf,
    /// The record as it was before the edit; the journal's is the newer one.
    pub(crate) record: Record,
    /// The bytes that are put in.
    #[serde(with = "encode::bytes")]
    inserted: Vec<u8>,
}

impl Entry {
    /// Makes the entry of a record; `after` is the file with the edit.
    pub(crate) fn new(record: &Record, after: &[u8], state_dir: &Path) -> Self {
        let inserted = after.get(record.inserted.clone()).unwrap_or_default().to_vec();
        Self { format: FORMAT, state_dir: state_dir.to_path_buf(), record: record.clone(), inserted }
    }

    /// The same edit, held by another journal.
    pub(crate) fn moved_to(self, state_dir: &Path) -> Self {
        Self { state_dir: state_dir.to_path_buf(), ..self }
    }

    /// Whether nobody looks after it any more, by its journal where that is there.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.recorded().ok().flatten().map_or_else(|| self.record.is_abandoned(), |record| record.is_abandoned())
    }

    /// Whether the process that made it is certainly gone.
    fn is_gone(&self) -> bool {
        self.record.process.is_gone()
    }

    /// The record in its journal; `None` where that is lost, or was never written.
    pub(crate) fn recorded(&self) -> Result<Option<Record>, EditError> {
        Disk::open(&self.state_dir, Arc::new(NoSteps))?.load_one(&self.record.id)
    }

    /// The file with the edit, from the file before.
    pub(crate) fn after(&self, before: &[u8]) -> Option<Vec<u8>> {
        let (head, tail) = (before.get(..self.record.removed.start)?, before.get(self.record.removed.end..)?);
        let after = [head, &self.inserted, tail].concat();
        (encode::sha256(&after) == self.record.after.sha256).then_some(after)
    }

    fn status(self, state: EditState) -> EditStatus {
        let recorded = self.recorded().ok().flatten();
        EditStatus { state, ..recorded.as_ref().unwrap_or(&self.record).status(&self.state_dir) }
    }

    fn holder(&self) -> Holder {
        let recorded = self.recorded().ok().flatten();
        recorded.as_ref().unwrap_or(&self.record).holder(&self.state_dir)
    }
}

/// The folder of the registry.
#[derive(Debug, Clone)]
pub(crate) struct Registry {
    /// Where it is; it need not be there.
    pub(crate) folder: PathBuf,
}

impl Registry {
    /// Writes an entry and a copy of the file before, unless an edit of another journal is in the file.
    pub(crate) fn claim(&self, entry: &Entry, before: &[u8], steps: &dyn Steps) -> Result<(), EditError> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(&self.folder).map_err(EditError::io("create", &self.folder))?;
        let _lock = self.lock()?;
        self.remove_half_written()?;
        for other in self.entries()? {
            // What this journal holds is its own to judge, unless it has lost it.
            if other.record.is_of(&entry.record.real, &entry.record.original)
                && (other.state_dir != entry.state_dir || other.recorded()?.is_none())
            {
                if self.state(&other)?.is_some() {
                    return Err(EditError::Held { file: entry.record.real.clone(), holder: Box::new(other.holder()) });
                }
                self.release(&other.record.id)?;
            }
        }
        disk::write_durable(&self.copy(&entry.record.id), before, steps)?;
        self.put(entry, steps)
    }

    /// Writes an entry.
    pub(crate) fn put(&self, entry: &Entry, steps: &dyn Steps) -> Result<(), EditError> {
        let path = self.path(&entry.record.id);
        disk::write_durable(&path, &disk::to_json(&path, entry)?, steps)
    }

    /// Takes an entry away.
    pub(crate) fn release(&self, id: &str) -> Result<(), EditError> {
        disk::remove(&self.path(id))?;
        disk::remove(&self.copy(id)).map(|_| ())
    }

    /// Takes away the entries of a journal whose edits are not on disk, for instance those of a killed process. The journal is locked, so none
    /// of them is just being made; one that the journal does not know was lost with an older journal.
    pub(crate) fn sweep(&self, state_dir: &Path, active: &[&Record]) -> Result<(), EditError> {
        if !self.folder.exists() {
            return Ok(());
        }
        let _lock = self.lock()?;
        self.remove_half_written()?;
        for entry in self.entries()? {
            let id = &entry.record.id;
            if entry.state_dir == state_dir && !active.iter().any(|record| record.id == *id) && !self.is_on_disk(&entry)? {
                self.release(id)?;
            }
        }
        Ok(())
    }

    /// Where an edit stands, by its journal; `None` where it is undone or was never made.
    pub(crate) fn state(&self, entry: &Entry) -> Result<Option<EditState>, EditError> {
        if let Some(record) = entry.recorded()? {
            return Ok(record.is_active().then_some(record.state));
        }
        if !entry.is_gone() && Disk::open(&entry.state_dir, Arc::new(NoSteps))?.exists() {
            return Ok(Some(EditState::Live));
        }
        // The journal is lost, or was never written.
        Ok(self.is_on_disk(entry)?.then_some(EditState::Live))
    }

    /// Whether something of an edit stands in its file, or beside it.
    fn is_on_disk(&self, entry: &Entry) -> Result<bool, EditError> {
        if entry.record.temporary(&entry.record.real).exists() {
            return Ok(true);
        }
        let Some((current, metadata)) = write::look(&entry.record.real)? else { return Ok(false) };
        let before = self.before(entry)?;
        let after = entry.after(&before).unwrap_or_default();
        let record = &entry.record;
        if current == before {
            return Ok(metadata.mtime == record.mtime);
        }
        let torn = write::torn(&current, &before, &after) || write::torn(&current, &after, &before);
        let marked = record.is_in(&current);
        Ok(current == after || torn || marked)
    }

    /// The file before an edit.
    pub(crate) fn before(&self, entry: &Entry) -> Result<Vec<u8>, EditError> {
        let path = self.copy(&entry.record.id);
        let bytes = fs::read(&path).map_err(EditError::io("read the registry's copy", &path))?;
        if encode::sha256(&bytes) == entry.record.before.sha256 { Ok(bytes) } else { Err(EditError::DamagedCopy { path }) }
    }

    /// Waits until no other process changes the registry.
    pub(crate) fn lock(&self) -> Result<disk::Lock, EditError> {
        disk::lock(&self.folder.join("lock"), FlockOperation::NonBlockingLockExclusive)
    }

    /// Removes what a killed process left of an entry; the lock is held.
    fn remove_half_written(&self) -> Result<(), EditError> {
        for path in disk::list(&self.folder)? {
            let alone = path.extension().is_some_and(|kind| kind == "before") && !path.with_extension("json").exists();
            if alone || path.extension().is_some_and(|kind| kind == "tmp") {
                disk::remove(&path)?;
            }
        }
        Ok(())
    }

    fn copy(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.before"))
    }

    fn path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    /// Every entry.
    pub(crate) fn entries(&self) -> Result<Vec<Entry>, EditError> {
        let mut found = Vec::new();
        for path in disk::list(&self.folder)? {
            if path.extension().is_some_and(|kind| kind == "json") {
                match disk::read_json(&path) {
                    Ok(entry) => found.push(entry),
                    // Released between the list and the look.
                    Err(EditError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(found)
    }
}
