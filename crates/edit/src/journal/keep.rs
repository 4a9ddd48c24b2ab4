//! Edits that outlive the process that makes them: all of a group, or none.
//!
//! Until the group is committed by one file of the journal, its edits are those of this process, and any later start takes them back. After it they
//! stay until they are taken back by name, or their time is over.

use bystander_model::edit::AppliedEdit;

use super::apply::{self, Terms};
use super::disk::Disk;
use super::record::Record;
use super::undo;
use crate::error::EditError;
use crate::marker;
use crate::registry::{Entry, Registry};
use crate::spec::PreparedEdit;

/// Who makes them, in the journal's words. Edits of one owner may lie on each other.
pub(super) const OWNER: &str = "patch apply";

/// Makes edits, under the lock of the journal.
pub(super) fn keep(disk: &Disk, registry: &Registry, edits: &[PreparedEdit], expires: Option<&str>) -> Result<Vec<AppliedEdit>, EditError> {
    let group = marker::new_id().map_err(EditError::io("read", "/dev/urandom".as_ref()))?;
    let mut made: Vec<AppliedEdit> = Vec::new();
    let mut work = || -> Result<(), EditError> {
        for edit in edits {
            refuse_foreign(disk, registry, edit)?;
            let terms = Terms { owner: OWNER, group: Some(&group), expires, renews: !is_python(edit) };
            made.push(apply::apply(disk, registry, edit, &terms)?);
        }
        disk.commit(&group)
    };
    if let Err(first) = work() {
        return Err(take_all_back(disk, registry, &made, first));
    }
    for (applied, edit) in made.iter().zip(edits) {
        // The commit counts from here on; that it also stands in each record and in the registry saves looking for it.
        let Some(record) = disk.load_one(&applied.id)? else { continue };
        disk.save(&record)?;
        registry.put(&Entry::new(&record, &edit.after, &disk.state_dir), &*disk.steps)?;
    }
    disk.uncommit(&group)?;
    Ok(made)
}

/// Another user's edit is in no registry that can be read here; its mark tells.
fn refuse_foreign(disk: &Disk, registry: &Registry, edit: &PreparedEdit) -> Result<(), EditError> {
    let mut marks = marker::ids(&edit.before).peekable();
    if marks.peek().is_none() {
        return Ok(());
    }
    let (records, entries) = (disk.load()?, registry.entries()?);
    let own = |id: &String| records.iter().any(|record| record.id == *id) || entries.iter().any(|entry| entry.record.id == *id);
    match marks.find(|id| !own(id)) {
        Some(id) => Err(EditError::Foreign { file: edit.real.clone(), id }),
        None => Ok(()),
    }
}

/// Python's bytecode is looked after; what else is built from a file is not known here.
fn is_python(edit: &PreparedEdit) -> bool {
    crate::pattern::Language::of(&edit.real, &edit.before) == Some(crate::pattern::Language::Python)
}

fn take_all_back(disk: &Disk, registry: &Registry, made: &[AppliedEdit], first: EditError) -> EditError {
    for applied in made.iter().rev() {
        let undone = disk.load().and_then(|records| {
            let record: Option<&Record> = records.iter().find(|record| record.id == applied.id);
            record.map_or(Ok(()), |record| undo::undo(disk, registry, record, &records).map(|_| ()))?;
            disk.forget(&applied.id)
        });
        if let Err(source) = undone {
            let (name, file) = (applied.name.clone(), applied.file.clone());
            return EditError::TakeBack { name, file, first: Box::new(first), source: Box::new(source) };
        }
    }
    first
}
