//! A journal for edits whose own is lost: made from what the registry keeps, in a folder beside it.

use std::path::PathBuf;
use std::sync::Arc;

use super::disk::Disk;
use super::record::Record;
use super::undo;
use crate::error::EditError;
use crate::registry::{Entry, Registry};
use crate::steps::NoSteps;

/// The state directory whose journal holds an edit; a lost one is adopted first. `None` where nothing of it is on disk.
pub(crate) fn home(registry: &Registry, entry: Entry) -> Result<Option<PathBuf>, EditError> {
    if entry.recorded()?.is_some() { Ok(Some(entry.state_dir)) } else { adopt(registry, &entry.record.id) }
}

/// The state directory of edits whose own is lost.
pub(crate) fn adopted(registry: &Registry) -> PathBuf {
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
        undo::give_back_times(&entry.record)?;
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
