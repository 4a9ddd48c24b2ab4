//! Puts a prepared edit on disk, or leaves the file as it is.

use bystander_model::edit::AppliedEdit;
use bystander_model::patch::EditState;

use super::cache;
use super::disk::{self, Disk};
use super::record::{FORMAT, Record, Version};
use super::undo;
use super::write::{self, Renamed, Replacement};
use crate::bytecode;
use crate::encode;
use crate::error::EditError;
use crate::locate;
use crate::metadata::Metadata;
use crate::mtime::{self, Stamp};
use crate::process::{self, ProcessId};
use crate::registry::{Entry, Registry};
use crate::spec::PreparedEdit;
use crate::target::TargetError;

/// A longer text is not kept in the record of an undone edit.
const MARKER_BYTES: usize = 64 << 10;

/// Who makes an edit, and how long it stays.
pub(super) struct Terms<'t> {
    /// Who, in the words of its maker.
    pub(super) owner: &'t str,
    /// The edits that are made with it, where it is to outlive its process.
    pub(super) group: Option<&'t str>,
    /// When it is taken back by itself, RFC 3339.
    pub(super) expires: Option<&'t str>,
    /// Whether its undo gives the file a new modification time.
    pub(super) renews: bool,
}

/// Makes an edit, under the lock of the journal.
pub(super) fn apply(disk: &Disk, registry: &Registry, edit: &PreparedEdit, terms: &Terms<'_>) -> Result<AppliedEdit, EditError> {
    let owner = terms.owner;
    let records = disk.load()?;
    let Some((current, metadata)) = write::look(&edit.real)? else {
        return Err(TargetError::Missing { path: edit.real.clone() }.into());
    };
    if let Some(other) = records.iter().find(|other| {
        other.is_active() && other.is_of(&edit.real, &metadata) && (other.owner != owner || other.state == EditState::Conflict)
    }) {
        return Err(EditError::Held { file: edit.real.clone(), holder: Box::new(other.holder(&disk.state_dir)) });
    }
    if !process::may_act_for(metadata.uid) {
        return Err(TargetError::NotOwned { path: edit.real.clone(), uid: metadata.uid }.into());
    }
    let mut record = draft(edit, terms, metadata, &records)?;
    registry.claim(&Entry::new(&record, &edit.after, &disk.state_dir), &edit.before, &*disk.steps).or_else(|error| {
        registry.release(&record.id)?;
        Err(error)
    })?;
    // The claim may have waited for another journal's edit: what counts is what stands in the file now.
    let made =
        if current == edit.before { put_on_disk(disk, &mut record, edit) } else { Err(EditError::Changed { file: edit.real.clone() }) };
    match made {
        Ok(()) => Ok(record.applied()),
        Err(first @ EditError::Unproven { .. }) => match undo::undo(disk, registry, &record, &records) {
            Ok(_) => disk.forget(&record.id).and(Err(first)),
            Err(source) => {
                let (name, file) = (edit.name.clone(), edit.real.clone());
                Err(EditError::TakeBack { name, file, first: Box::new(first), source: Box::new(source) })
            }
        },
        Err(first) => match take_back(disk, registry, &mut record, edit) {
            Ok(()) => Err(first),
            Err(source) => {
                let (name, file) = (edit.name.clone(), edit.real.clone());
                Err(EditError::TakeBack { name, file, first: Box::new(first), source: Box::new(source) })
            }
        },
    }
}

/// Makes the record; its time is chosen here, so that a later process knows it.
fn draft(edit: &PreparedEdit, terms: &Terms<'_>, original: Metadata, records: &[Record]) -> Result<Record, EditError> {
    let process = ProcessId::current().map_err(EditError::io("read", "/proc/self".as_ref()))?;
    let mut taken = bytecode::stamps(&edit.real).map_err(EditError::io("list bytecode of", &edit.real))?;
    taken.push(Stamp::new(original.mtime, edit.before.len()));
    for other in records.iter().filter(|other| other.is_of(&edit.real, &original)) {
        let (before, after) = other.stamps();
        taken.extend([before, after]);
    }
    let seq = records.last().map_or(1, |record| record.seq + 1);
    let made = jiff::Timestamp::now().to_string();
    let inserted = &edit.after[edit.inserted.clone()];
    let is_new = !inserted.trim_ascii().is_empty() && locate::occurrences(&edit.before, inserted, 1).is_empty();
    let unique = format!("{}\0{made}\0{process:?}\0{seq}", encode::name_to_text(edit.real.as_os_str()));
    Ok(Record {
        format: FORMAT,
        id: edit.id.clone().unwrap_or_else(|| encode::sha256(unique.as_bytes())[..12].to_owned()),
        seq,
        name: edit.name.clone(),
        real: edit.real.clone(),
        owner: terms.owner.to_owned(),
        process,
        uid: rustix::process::geteuid().as_raw(),
        made,
        state: EditState::Live,
        before: Version::of(&edit.before),
        after: Version::of(&edit.after),
        mtime: mtime::fresh(original.mtime, edit.after.len(), &taken),
        in_place: original.links > 1,
        original,
        removed: edit.removed.clone(),
        inserted: edit.inserted.clone(),
        added_lines: edit.added_lines.clone(),
        marker: if is_new && inserted.len() <= MARKER_BYTES { inserted.to_vec() } else { Vec::new() },
        bytecode: Vec::new(),
        bytecode_folder: cache::folder(&edit.real).map_err(EditError::io("list bytecode of", &edit.real))?,
        pending: None,
        conflict: None,
        undone: None,
        kept: false,
        group: terms.group.map(str::to_owned),
        expires: terms.expires.map(str::to_owned),
        marked: edit.marked,
        renews: terms.renews,
        folder: edit.folder.clone(),
    })
}

fn put_on_disk(disk: &Disk, record: &mut Record, edit: &PreparedEdit) -> Result<(), EditError> {
    disk.write_copy(&record.id, "before", &edit.before)?;
    disk.write_copy(&record.id, "after", &edit.after)?;
    cache::save(disk, record, &edit.before)?;
    disk.save(record)?;
    cache::set_aside(disk, record)?;
    let temporary = record.temporary(&record.real);
    let rights = record.original.clone();
    let real = record.real.clone();
    let (from, to) = (&edit.before[..], &edit.after[..]);
    let (atime, mtime) = (record.original.atime, record.mtime);
    let replacement = Replacement { target: &real, temporary: &temporary, from, to, rights: &rights, atime, mtime };
    replace(disk, record, &replacement)?;
    prove(record, edit)
}

/// Reads the file again: what stands there is what was to be written.
fn prove(record: &Record, edit: &PreparedEdit) -> Result<(), EditError> {
    match write::look(&record.real)? {
        Some((bytes, metadata)) if bytes == edit.after && metadata.mtime == record.mtime && metadata.same_rights(&record.original) => {
            Ok(())
        }
        _ => Err(EditError::Unproven { file: record.real.clone() }),
    }
}

/// Writes in the way that the file and the disk allow; a rewrite in place is on record before it begins, if there is room for the record.
pub(super) fn replace(disk: &Disk, record: &mut Record, replacement: &Replacement<'_>) -> Result<(), EditError> {
    if record.in_place {
        return replacement.in_place(&*disk.steps);
    }
    let renamed = replacement.by_rename(&*disk.steps)?;
    if matches!(renamed, Renamed::Done) {
        return Ok(());
    }
    record.in_place = true;
    match disk.save(record) {
        // An edit is taken back from a full disk too. What a kill leaves of that is recognised without the record.
        Err(EditError::DiskFull { .. }) if matches!(renamed, Renamed::NoRoom) => record.in_place = false,
        saved => saved?,
    }
    replacement.in_place(&*disk.steps)
}

/// Leaves everything as it was before an apply that failed.
fn take_back(disk: &Disk, registry: &Registry, record: &mut Record, edit: &PreparedEdit) -> Result<(), EditError> {
    let temporary = record.temporary(&record.real);
    disk::remove(&temporary)?;
    if disk.load_one(&record.id)?.is_some() {
        let now = write::look(&record.real)?;
        if let Some((current, _)) = now.filter(|(current, metadata)| {
            // Bytes of before with other times are ours as well: a rewrite in place stopped at its end.
            let same = *current == edit.before && *metadata != record.original && record.in_place;
            same || *current == edit.after || (*current != edit.before && write::torn(current, &edit.before, &edit.after))
        }) {
            let rights = record.original.clone();
            let real = record.real.clone();
            let (atime, mtime) = (rights.atime, rights.mtime);
            let (from, to) = (&current[..], &edit.before[..]);
            let replacement = Replacement { target: &real, temporary: &temporary, from, to, rights: &rights, atime, mtime };
            replace(disk, record, &replacement)?;
        }
        undo::clean_bytecode(disk, record, &[], &edit.after, None, true)?;
    }
    disk.forget(&record.id)?;
    registry.release(&record.id)
}
