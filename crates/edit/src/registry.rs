//! The live edits of a user, whichever journal holds them: one small file each, in one folder.
//!
//! An entry is claimed before a file changes and released after its undo. It says where the journal is; what stands
//! there decides. Edits of other users are not seen here.

use std::env;
use std::fs::DirBuilder;
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
use crate::metadata::Metadata;
use crate::process::ProcessId;
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
    let mut found = Vec::new();
    for entry in (Registry { folder: registry_dir.to_path_buf() }).entries()? {
        if let Some(state) = entry.state()? {
            found.push(entry.status(state));
        }
    }
    found.sort_by(|a, b| (&a.made, &a.id).cmp(&(&b.made, &b.id)));
    Ok(found)
}

/// One live edit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Entry {
    format: u32,
    id: String,
    name: String,
    #[serde(with = "encode::path")]
    file: PathBuf,
    #[serde(with = "encode::path")]
    state_dir: PathBuf,
    owner: String,
    process: ProcessId,
    uid: u32,
    made: String,
    after_sha256: String,
    links: u64,
    dev: u64,
    ino: u64,
}

impl Entry {
    /// Makes the entry of a record.
    pub(crate) fn new(record: &Record, state_dir: &Path) -> Self {
        Self {
            format: FORMAT,
            id: record.id.clone(),
            name: record.name.clone(),
            file: record.real.clone(),
            state_dir: state_dir.to_path_buf(),
            owner: record.owner.clone(),
            process: record.process.clone(),
            uid: record.uid,
            made: record.made.clone(),
            after_sha256: record.after.sha256.clone(),
            links: record.original.links,
            dev: record.original.dev,
            ino: record.original.ino,
        }
    }

    fn is_of(&self, real: &Path, metadata: &Metadata) -> bool {
        self.file == real || (self.links > 1 && (self.dev, self.ino) == (metadata.dev, metadata.ino))
    }

    /// Where the edit stands, by its journal; `None` where it is undone or was never made.
    fn state(&self) -> Result<Option<EditState>, EditError> {
        let journal = Disk::open(&self.state_dir, Arc::new(NoSteps))?;
        if let Some(record) = journal.load_one(&self.id)? {
            return Ok(record.is_active().then_some(record.state));
        }
        if !self.process.is_gone() && journal.exists() {
            return Ok(Some(EditState::Live));
        }
        // The journal is lost, or was never written. What stands in the file decides.
        let current = write::look(&self.file)?;
        Ok(current.is_some_and(|(bytes, _)| encode::sha256(&bytes) == self.after_sha256).then_some(EditState::Live))
    }

    fn status(self, state: EditState) -> EditStatus {
        let Self { id, name, file, made, uid, state_dir, .. } = self;
        EditStatus { id, name, file, state, made, expires: None, by: uid.to_string(), journal: state_dir }
    }

    fn holder(&self) -> Holder {
        Holder {
            id: self.id.clone(),
            name: self.name.clone(),
            owner: self.owner.clone(),
            pid: self.process.pid,
            gone: self.process.is_gone(),
            state_dir: self.state_dir.clone(),
        }
    }
}

/// The folder of the registry.
#[derive(Debug, Clone)]
pub(crate) struct Registry {
    /// Where it is; it need not be there.
    pub(crate) folder: PathBuf,
}

impl Registry {
    /// Writes an entry, unless an edit of another journal is in the file.
    pub(crate) fn claim(&self, entry: &Entry, metadata: &Metadata, steps: &dyn Steps) -> Result<(), EditError> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(&self.folder).map_err(EditError::io("create", &self.folder))?;
        let _lock = self.lock()?;
        self.remove_half_written()?;
        for other in self.entries()? {
            if other.is_of(&entry.file, metadata) && other.state_dir != entry.state_dir {
                if other.state()?.is_some() {
                    return Err(EditError::Held { file: entry.file.clone(), holder: Box::new(other.holder()) });
                }
                disk::remove(&self.path(&other.id))?;
            }
        }
        let path = self.path(&entry.id);
        disk::write_durable(&path, &disk::to_json(&path, entry)?, steps)
    }

    /// Takes an entry away.
    pub(crate) fn release(&self, id: &str) -> Result<(), EditError> {
        disk::remove(&self.path(id)).map(|_| ())
    }

    /// Takes away the entries of a journal whose edits are not on disk, for instance those of a killed process.
    pub(crate) fn sweep(&self, state_dir: &Path, active: &[&Record]) -> Result<(), EditError> {
        if !self.folder.exists() {
            return Ok(());
        }
        let _lock = self.lock()?;
        self.remove_half_written()?;
        for entry in self.entries()? {
            if entry.state_dir == state_dir && !active.iter().any(|record| record.id == entry.id) {
                self.release(&entry.id)?;
            }
        }
        Ok(())
    }

    fn lock(&self) -> Result<disk::Lock, EditError> {
        disk::lock(&self.folder.join("lock"), FlockOperation::NonBlockingLockExclusive)
    }

    /// Removes what a killed process left of an entry; the lock is held.
    fn remove_half_written(&self) -> Result<(), EditError> {
        for path in disk::list(&self.folder)? {
            if path.extension().is_some_and(|kind| kind == "tmp") {
                disk::remove(&path)?;
            }
        }
        Ok(())
    }

    fn path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    fn entries(&self) -> Result<Vec<Entry>, EditError> {
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
