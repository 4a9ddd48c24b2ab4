//! Bytecode files around an edit: those of the original are kept and given back, those of the edit are removed.

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::disk::{self, Disk};
use super::record::{BytecodeFolder, Record, SavedBytecode, Version};
use crate::bytecode::{self, Origin};
use crate::encode::{name_to_text, sha256};
use crate::error::EditError;
use crate::metadata::{Metadata, put_times};
use crate::mtime::Stamp;

/// Larger bytecode files are not kept, in bytes; the interpreter makes them again.
const LARGEST: u64 = 64 << 20;

/// Keeps copies of the bytecode files that are valid for the file as it is.
pub(super) fn save(disk: &Disk, record: &mut Record, before: &[u8]) -> Result<(), EditError> {
    let stamp = Stamp::new(record.original.mtime, before.len());
    let found = bytecode::files(&record.real).map_err(EditError::io("list bytecode of", &record.real))?;
    for path in found {
        let Some(origin) = Origin::read(&path) else { continue };
        let set_aside = origin.hides_every_source();
        let valid = set_aside || origin.is(bytecode::Version { stamp, bytes: before });
        let small = fs::metadata(&path).is_ok_and(|file| file.len() <= LARGEST);
        if valid && small {
            let (bytes, metadata) = bytecode::read(&path).map_err(EditError::io("read", &path))?;
            disk.write_copy(&record.id, &copy_kind(record.bytecode.len()), &bytes)?;
            record.bytecode.push(SavedBytecode { path, version: Version::of(&bytes), metadata, set_aside });
        }
    }
    Ok(())
}

/// Takes away the bytecode that the interpreter would use instead of the edited file.
pub(super) fn set_aside(disk: &Disk, record: &Record) -> Result<(), EditError> {
    for saved in record.bytecode.iter().filter(|saved| saved.set_aside) {
        disk::remove(&saved.path)?;
        disk.steps.reached("bytecode is set aside").map_err(EditError::io("set aside", &saved.path))?;
    }
    Ok(())
}

/// Removes the bytecode that was made from `versions`, and gives back what was there before.
///
/// `exact` says that the file is the original again; if not, only what was set aside comes back. `removed_above` are
/// the files that the undo of edits on top of this one has removed.
pub(super) fn restore(
    disk: &Disk,
    record: &Record,
    versions: &[bytecode::Version<'_>],
    removed_above: &[&Path],
    exact: bool,
) -> Result<Vec<PathBuf>, EditError> {
    let temporary = bytecode::folder(&record.real).map(|folder| record.temporary(&folder.join("_")));
    if let Some(temporary) = &temporary {
        disk::remove(temporary)?;
    }
    let stale = bytecode::made_from(&record.real, versions).map_err(EditError::io("list bytecode of", &record.real))?;
    let removed: HashSet<&Path> = stale.iter().map(PathBuf::as_path).collect();
    for (index, saved) in record.bytecode.iter().enumerate() {
        let was_ours = removed.contains(saved.path.as_path());
        let by_an_edit = saved.set_aside || (exact && removed_above.contains(&saved.path.as_path()));
        let missing = by_an_edit && !saved.path.exists() && record.real.exists();
        if (was_ours && (exact || saved.set_aside)) || missing {
            let bytes = disk.read_copy(&record.id, &copy_kind(index), &saved.version)?;
            let temporary = temporary.as_deref().unwrap_or(&saved.path);
            put(saved, &bytes, temporary).map_err(EditError::io("give back", &saved.path))?;
            disk.steps.reached("bytecode is given back").map_err(EditError::io("give back", &saved.path))?;
        }
    }
    for path in &stale {
        if Origin::read(path).is_some_and(|origin| versions.iter().any(|&version| origin.is(version))) {
            disk::remove(path)?;
            disk.steps.reached("bytecode is removed").map_err(EditError::io("remove", path))?;
        }
    }
    remove_folder(record)?;
    if exact {
        give_back_time(record).map_err(EditError::io("give back the time of the bytecode of", &record.real))?;
    }
    Ok(stale)
}

/// The folder of a file's bytecode as it stands; `None` where there is none.
pub(super) fn folder(real: &Path) -> io::Result<Option<BytecodeFolder>> {
    let Some(path) = bytecode::folder(real).filter(|path| path.is_dir()) else { return Ok(None) };
    let mut names =
        fs::read_dir(&path)?.map(|entry| entry.map(|entry| name_to_text(&entry.file_name()))).collect::<io::Result<Vec<_>>>()?;
    names.sort();
    let mtime = Metadata::read(&fs::File::open(&path)?)?.mtime;
    Ok(Some(BytecodeFolder { mtime, names: sha256(names.join("\0").as_bytes()) }))
}

/// A folder's time tells when its names changed: where they are those of before, it gets back the time that it had.
fn give_back_time(record: &Record) -> io::Result<()> {
    let (Some(before), Some(now), Some(path)) = (&record.bytecode_folder, folder(&record.real)?, bytecode::folder(&record.real)) else {
        return Ok(());
    };
    if now.names != before.names || now.mtime == before.mtime {
        return Ok(());
    }
    let folder = fs::File::open(path)?;
    put_times(&folder, Metadata::read(&folder)?.atime, before.mtime)
}

/// Removes the bytecode folder where it came with the edit and is empty.
fn remove_folder(record: &Record) -> Result<(), EditError> {
    let Some(folder) = bytecode::folder(&record.real).filter(|_| record.bytecode_folder.is_none()) else { return Ok(()) };
    match fs::remove_dir(&folder) {
        Ok(()) => Ok(()),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory) => {
            Ok(())
        }
        Err(error) => Err(EditError::io("remove", &folder)(error)),
    }
}

fn put(saved: &SavedBytecode, bytes: &[u8], temporary: &Path) -> io::Result<()> {
    if let Some(folder) = temporary.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(temporary)?;
    file.write_all(bytes)?;
    saved.metadata.put_rights(&file)?;
    put_times(&file, saved.metadata.atime, saved.metadata.mtime)?;
    file.sync_all()?;
    fs::rename(temporary, &saved.path)
}

fn copy_kind(index: usize) -> String {
    format!("bytecode-{index}")
}
