//! Undoes one edit, by what stands in the file; safe to begin again after a kill at any step.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use bystander_model::edit::RevertedEdit;
use bystander_model::patch::EditState;

use super::disk::{self, Disk};
use super::record::{Pending, Record, Undone, Version};
use super::write::{self, Replacement};
use super::{apply, cache};
use crate::bytecode;
use crate::encode::sha256;
use crate::error::{Conflict, EditError};
use crate::excise::{Change, Excision, excise, put_back};
use crate::merge::merge;
use crate::metadata::{FileTime, Metadata, put_times};
use crate::mtime::{self, Stamp};
use crate::registry::Registry;
use crate::target;

/// A longer text to put back is looked up in the copy.
const SHOWN: usize = 120;

/// What is to be done to the file.
enum Plan {
    /// Put back these bytes with the rights and times of `Metadata`.
    Restore { bytes: Vec<u8>, original: Box<Metadata>, how: String },
    /// Write these bytes, which others had a part in.
    Rewrite { bytes: Vec<u8>, how: String },
    /// Nothing: the file is gone, or holds nothing of the edit.
    Leave { how: &'static str },
    /// Nothing: another edit was made on its text.
    Covered { above: Box<Record> },
    /// Nothing: it cannot be told what to do; `old` is what was taken out and must be put back.
    Conflict { why: String, old: Option<Vec<u8>> },
}

/// The file as it stands.
struct Found {
    bytes: Vec<u8>,
    metadata: Metadata,
}

/// Both versions of the file that the journal keeps.
struct Copies {
    before: Vec<u8>,
    after: Vec<u8>,
}

/// Undoes an edit, under the lock of the journal.
pub(super) fn undo(disk: &Disk, registry: &Registry, record: &Record, records: &[Record]) -> Result<RevertedEdit, EditError> {
    let mut record = record.clone();
    let copies = Copies {
        before: disk.read_copy(&record.id, "before", &record.before)?,
        after: disk.read_copy(&record.id, "after", &record.after)?,
    };
    disk::remove(&record.temporary(&record.real))?;
    let found = match write::look(&record.real) {
        Ok(found) => found.map(|(bytes, metadata)| Found { bytes, metadata }),
        Err(EditError::Io { source, .. }) if !record.real.is_file() || record.real.is_symlink() => {
            return conflict(disk, &mut record, &format!("it is no longer a regular file ({source})"), None);
        }
        Err(error) => return Err(error),
    };
    let plan = plan(disk, &record, records, &copies, found.as_ref())?;
    let (exact, kept, how) = match plan {
        Plan::Conflict { why, old } => return conflict(disk, &mut record, &why, old.as_deref()),
        Plan::Covered { above } => {
            let Record { id, name, real: file, .. } = record;
            return Err(EditError::Covered { id, name, file, above: above.id, above_name: above.name });
        }
        Plan::Leave { how } => (false, false, how.to_owned()),
        Plan::Restore { bytes, original, how } => {
            let Some(found) = &found else { return Err(EditError::Changed { file: record.real.clone() }) };
            let kept = restore(disk, &mut record, found, &bytes, &original)?;
            let renewed = record.renews && found.bytes != bytes;
            let how = if renewed { format!("{how}, with a new modification time so that make and cargo build it again") } else { how };
            (true, kept, if kept { format!("{how}, with the mode, owner or attributes that others gave it") } else { how })
        }
        Plan::Rewrite { bytes, how } => {
            let Some(found) = &found else { return Err(EditError::Changed { file: record.real.clone() }) };
            rewrite(disk, &mut record, found, &bytes, records)?;
            (false, false, how)
        }
    };
    disk.steps.reached("the undo is done").map_err(EditError::io("write", &record.real))?;
    // Bytecode of what stood there last is the edit's too, unless others had put back the original.
    let last = found.as_ref().filter(|found| found.bytes != copies.before);
    let bytecode_removed =
        clean_bytecode(disk, &record, records, &copies.after, last.map(|last| (&last.bytes[..], &last.metadata)), exact)?;
    finish(disk, registry, &mut record, (exact, kept), how, bytecode_removed)
}

/// Decides what to do to the file.
fn plan(disk: &Disk, record: &Record, records: &[Record], copies: &Copies, found: Option<&Found>) -> Result<Plan, EditError> {
    let Some(found) = found else { return Ok(Plan::Leave { how: "the file is gone: others removed or moved it" }) };
    let original = Box::new(record.original.clone());
    let restore = |how: &str| Plan::Restore { bytes: copies.before.clone(), original: original.clone(), how: how.to_owned() };
    let current = &found.bytes;
    if *current == copies.after {
        return Ok(restore("restored"));
    }
    if *current == copies.before {
        return Ok(restore("already as before"));
    }
    // On a full disk there is no room to put an undo in place on record.
    if write::torn(current, &copies.after, &copies.before) {
        return Ok(restore("restored from a half-written file"));
    }
    if record.in_place {
        if write::torn(current, &copies.before, &copies.after) {
            return Ok(restore("restored from a half-written file"));
        }
        if let Some(pending) = &record.pending {
            let from = disk.read_copy(&record.id, "from", &pending.from)?;
            let to = disk.read_copy(&record.id, "to", &pending.to)?;
            if *current != from && *current != to && write::torn(current, &from, &to) {
                return Ok(Plan::Rewrite { bytes: to, how: "taken out of a file that others changed".to_owned() });
            }
        }
    }
    if !fits(&record.removed, &copies.before) || !fits(&record.inserted, &copies.after) {
        return Ok(Plan::Conflict { why: "its record is damaged".to_owned(), old: None });
    }
    let mark = record.mark();
    let (removed, inserted) = (record.removed.clone(), record.inserted.clone());
    let change = Change { before: &copies.before, after: &copies.after, removed, inserted, mark: mark.as_deref().map(str::as_bytes) };
    Ok(match excise(&change, current) {
        Excision::Cut(bytes) => match version_before(record, records, &bytes) {
            Some(original) => Plan::Restore { bytes, original, how: "restored, as before every edit that was under it".to_owned() },
            None => Plan::Rewrite { how: whose_changes(record, records, found), bytes },
        },
        Excision::Gone => match version_before(record, records, current) {
            Some(original) => Plan::Restore { bytes: current.clone(), original, how: "already as before".to_owned() },
            None => Plan::Leave { how: "its text is no longer in the file, which others changed" },
        },
        Excision::Unclear(why) => match merge(&change, current).filter(|bytes| !record.is_in(bytes)) {
            Some(bytes) => Plan::Rewrite { bytes, how: "merged out of a file that others changed".to_owned() },
            None => match covered_by(disk, record, records, copies)? {
                Some(above) => Plan::Covered { above },
                None => Plan::Conflict { why, old: put_back(&change).map(<[u8]>::to_vec) },
            },
        },
    })
}

/// The oldest edit that is still in the file and was made on this one's text, so that its undo gives that back.
fn covered_by(disk: &Disk, record: &Record, records: &[Record], copies: &Copies) -> Result<Option<Box<Record>>, EditError> {
    let Some(text) = copies.after.get(record.inserted.clone()).filter(|text| !text.trim_ascii().is_empty()) else { return Ok(None) };
    let count = |bytes: &[u8]| memchr::memmem::find_iter(bytes, text).count();
    for above in records.iter().filter(|other| other.seq > record.seq && other.is_active() && other.is_of(&record.real, &record.original)) {
        let before = disk.read_copy(&above.id, "before", &above.before)?;
        let after = disk.read_copy(&above.id, "after", &above.after)?;
        if count(&before) > count(&after) {
            return Ok(Some(Box::new(above.clone())));
        }
    }
    Ok(None)
}

fn fits(range: &Range<usize>, bytes: &[u8]) -> bool {
    bytes.get(range.clone()).is_some()
}

/// The rights and times of a version of the file that an edit of this journal was made on, if these bytes are one.
///
/// Where edits of one file are undone out of order, the last undo arrives at the bytes before the first edit.
fn version_before(record: &Record, records: &[Record], bytes: &[u8]) -> Option<Box<Metadata>> {
    let sum = sha256(bytes);
    let of_file = |other: &&Record| other.is_of(&record.real, &record.original) && other.before.sha256 == sum;
    records.iter().rev().find(of_file).map(|other| Box::new(other.original.clone()))
}

fn whose_changes(record: &Record, records: &[Record], found: &Found) -> String {
    let above =
        records.iter().rev().find(|other| other.seq > record.seq && other.is_active() && other.is_of(&record.real, &found.metadata));
    match above {
        Some(above) => format!("taken out from under edit `{}`", above.name),
        None => "taken out of a file that others changed".to_owned(),
    }
}

/// Puts a version of before back; tells whether rights that others gave were kept.
fn restore(disk: &Disk, record: &mut Record, found: &Found, bytes: &[u8], original: &Metadata) -> Result<bool, EditError> {
    let rights = original.with_changes_of_others(&found.metadata);
    let kept = !rights.same_rights(original);
    if found.bytes == bytes {
        put_beside(record, &rights, original).map_err(EditError::io("give back the times of", &record.real))?;
        return Ok(kept);
    }
    // What was built from the edited file is newer than the original: a build tool would not build it again.
    let mtime = if record.renews { mtime::fresh(found.metadata.mtime, bytes.len(), &[]) } else { original.mtime };
    write_over(disk, record, found, bytes, &rights, (original.atime, mtime))?;
    Ok(kept)
}

/// Puts rights and times back if the bytes are those of before.
pub(super) fn give_back_times(record: &Record) -> Result<(), EditError> {
    let Some((bytes, metadata)) = write::look(&record.real)? else { return Ok(()) };
    if sha256(&bytes) != record.before.sha256 {
        return Ok(());
    }
    let rights = record.original.with_changes_of_others(&metadata);
    put_beside(record, &rights, &record.original).map_err(EditError::io("give back the times of", &record.real))
}

/// Puts rights and times back where the bytes are right already.
fn put_beside(record: &Record, rights: &Metadata, original: &Metadata) -> io::Result<()> {
    let file = target::open(&record.real)?;
    let now = Metadata::read(&file)?;
    if !now.same_rights(rights) {
        rights.put_rights(&file)?;
    }
    // Where the times are to be new, those that stand there are: of this undo, killed at its end, or of others.
    let untouched = !record.renews || now.mtime == record.mtime;
    if untouched && (now.atime, now.mtime) != (original.atime, original.mtime) {
        put_times(&file, original.atime, original.mtime)?;
        file.sync_all()?;
    }
    Ok(())
}

/// Writes bytes that others had a part in, with the rights that they have now and a fresh time.
fn rewrite(disk: &Disk, record: &mut Record, found: &Found, bytes: &[u8], records: &[Record]) -> Result<(), EditError> {
    let mut taken = bytecode::stamps(&record.real).map_err(EditError::io("list bytecode of", &record.real))?;
    for other in records.iter().filter(|other| other.is_of(&record.real, &found.metadata)) {
        let (before, after) = other.stamps();
        taken.extend([before, after]);
    }
    taken.push(Stamp::new(found.metadata.mtime, found.bytes.len()));
    let mtime = mtime::fresh(found.metadata.mtime, bytes.len(), &taken);
    if record.in_place || found.metadata.links > 1 {
        record.in_place = true;
        record.pending = None;
        disk.save(record)?;
        disk.write_copy(&record.id, "from", &found.bytes)?;
        disk.write_copy(&record.id, "to", bytes)?;
        record.pending = Some(Pending { from: Version::of(&found.bytes), to: Version::of(bytes) });
        disk.save(record)?;
    }
    write_over(disk, record, found, bytes, &found.metadata, (found.metadata.atime, mtime))
}

fn write_over(
    disk: &Disk,
    record: &mut Record,
    found: &Found,
    bytes: &[u8],
    rights: &Metadata,
    (atime, mtime): (FileTime, FileTime),
) -> Result<(), EditError> {
    if found.metadata.links > 1 && !record.in_place {
        record.in_place = true;
        disk.save(record)?;
    }
    let (target, temporary) = (record.real.clone(), record.temporary(&record.real));
    let replacement = Replacement { target: &target, temporary: &temporary, from: &found.bytes, to: bytes, rights, atime, mtime };
    apply::replace(disk, record, &replacement)
}

/// Removes the bytecode that was made from the edited file, also from what others made of it.
pub(super) fn clean_bytecode(
    disk: &Disk,
    record: &Record,
    records: &[Record],
    after: &[u8],
    last: Option<(&[u8], &Metadata)>,
    exact: bool,
) -> Result<Vec<PathBuf>, EditError> {
    let above = records.iter().filter(|other| other.seq > record.seq).filter_map(|other| other.undone.as_ref());
    let removed_above: Vec<&Path> = above.flat_map(|undone| &undone.bytecode_removed).map(PathBuf::as_path).collect();
    let mut versions = vec![bytecode::Version { stamp: record.stamps().1, bytes: after }];
    versions.extend(last.map(|(bytes, metadata)| bytecode::Version { stamp: Stamp::new(metadata.mtime, bytes.len()), bytes }));
    cache::restore(disk, record, &versions, &removed_above, exact)
}

/// Puts the end on record; the copies go, the record stays.
fn finish(
    disk: &Disk,
    registry: &Registry,
    record: &mut Record,
    (exact, kept): (bool, bool),
    how: String,
    bytecode_removed: Vec<PathBuf>,
) -> Result<RevertedEdit, EditError> {
    let now = write::look(&record.real)?;
    let sum = now.as_ref().map(|(bytes, _)| sha256(bytes));
    let ctime = now.map(|(_, metadata)| metadata.ctime);
    record.state = EditState::Reverted;
    (record.pending, record.conflict) = (None, None);
    let at = jiff::Timestamp::now().to_string();
    record.undone = Some(Undone { at, exact, how, sha256: sum, ctime, bytecode_removed, kept });
    disk.save(record)?;
    registry.release(&record.id)?;
    disk.steps.reached("the registry is released").map_err(EditError::io("write", &record.real))?;
    disk.drop_copies(&record.id)?;
    record.reverted().ok_or_else(|| EditError::UnknownId { id: record.id.clone() })
}

/// Puts a conflict on record and says what to do.
fn conflict(disk: &Disk, record: &mut Record, why: &str, old: Option<&[u8]>) -> Result<RevertedEdit, EditError> {
    let (before, after) = (disk.copy_path(&record.id, "before"), disk.copy_path(&record.id, "after"));
    let (was, with) = (before.display(), after.display());
    let mend = match old.map(|old| String::from_utf8_lossy(old).trim().to_owned()) {
        Some(old) if old.len() <= SHOWN && !old.contains(['\n', '\r']) => format!("take its text out and put back `{old}` by hand"),
        Some(_) => "put back the text that it took the place of by hand".to_owned(),
        None => "take its text out by hand".to_owned(),
    };
    let why = format!("{why}; {mend} (before: {was}, with the edit: {with}), then revert again");
    record.state = EditState::Conflict;
    record.conflict = Some(why.clone());
    disk.save(record)?;
    let (id, name, file) = (record.id.clone(), record.name.clone(), record.real.clone());
    Err(EditError::Conflict(Box::new(Conflict { id, name, file, why, before, after })))
}
