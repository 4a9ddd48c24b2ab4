//! Edits that no next start of their own run undoes: the run was killed and never taken up, or its state directory is gone.
//!
//! An edit whose journal is there is undone through it. One whose journal is lost is first given a new one from what the registry keeps, in a
//! folder beside the registry. So any start of any run, and `patch revert` from anywhere, finds the way back.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bystander_model::edit::RevertedEdit;

use crate::error::EditError;
use crate::journal::disk::Disk;
use crate::journal::record::Record;
use crate::journal::{Journal, Recovery, give_back_times};
use crate::registry::{Entry, Registry};
use crate::steps::NoSteps;

/// Undoes every edit of this user whose process is gone, whichever journal holds or has lost it.
///
/// # Errors
/// The registry cannot be read; an edit that cannot be undone is told in the answer.
pub fn recover_everywhere(registry_dir: &Path) -> Result<Recovery, EditError> {
    let registry = Registry { folder: std::path::absolute(registry_dir).map_err(EditError::io("find", registry_dir))? };
    let mut recovery = Recovery::default();
    let mut journals: Vec<PathBuf> = Vec::new();
    for entry in registry.entries()?.into_iter().filter(Entry::is_gone) {
        match home(&registry, entry) {
            Ok(Some(state_dir)) if !journals.contains(&state_dir) => journals.push(state_dir),
            Ok(_) => {}
            Err(error) => recovery.failed.push(error),
        }
    }
    for state_dir in journals {
        match Journal::open(&state_dir, &registry.folder).and_then(|journal| journal.recover()) {
            Ok(more) => {
                recovery.reverted.extend(more.reverted);
                recovery.failed.extend(more.failed);
            }
            Err(error) => recovery.failed.push(error),
        }
    }
    Ok(recovery)
}

/// Undoes an edit whose journal is lost.
pub(crate) fn revert(registry: &Registry, id: &str) -> Result<RevertedEdit, EditError> {
    let entry = registry.entries()?.into_iter().find(|entry| entry.record.id == id);
    let state_dir = entry.map(|entry| home(registry, entry)).transpose()?.flatten();
    match state_dir.filter(|state_dir| *state_dir == adopted(registry)) {
        Some(state_dir) => Journal::open(&state_dir, &registry.folder)?.revert(id),
        None => Err(EditError::UnknownId { id: id.to_owned() }),
    }
}

/// The state directory whose journal holds an edit; a lost one is adopted first. `None` where nothing of it is on disk.
fn home(registry: &Registry, entry: Entry) -> Result<Option<PathBuf>, EditError> {
    if entry.recorded()?.is_some() { Ok(Some(entry.state_dir)) } else { adopt(registry, &entry.record.id) }
}

/// The state directory of edits whose own is lost.
fn adopted(registry: &Registry) -> PathBuf {
    registry.folder.with_file_name("adopted")
}

/// Gives a lost edit a journal. Of several processes that try, one does it.
fn adopt(registry: &Registry, id: &str) -> Result<Option<PathBuf>, EditError> {
    let disk = Disk::open(&adopted(registry), Arc::new(NoSteps))?;
    let _journal = disk.create()?;
    let _registry = registry.lock()?;
    let Some(entry) = registry.entries()?.into_iter().find(|entry| entry.record.id == id) else { return Ok(None) };
    if entry.recorded()?.is_some() {
        return Ok(Some(entry.state_dir));
    }
    if registry.state(&entry)?.is_none() {
        // A kill between the bytes and the times leaves the bytes of before with another time.
        give_back_times(&entry.record)?;
        registry.release(id)?;
        return Ok(None);
    }
    let before = registry.before(&entry)?;
    let after = entry.after(&before).ok_or_else(|| EditError::DamagedCopy { path: entry.record.real.clone() })?;
    disk.write_copy(id, "before", &before)?;
    disk.write_copy(id, "after", &after)?;
    let seq = disk.load()?.last().map_or(1, |record| record.seq + 1);
    // The copies of bytecode are gone with the old journal; the interpreter makes them again.
    disk.save(&Record { seq, bytecode: Vec::new(), ..entry.record.clone() })?;
    registry.put(&entry.moved_to(&disk.state_dir), &NoSteps)?;
    Ok(Some(disk.state_dir))
}
