//! Bytecode of mounted Python files: kept apart from everybody's, or taken out again where it could not be.
//!
//! Python keeps what it compiled from a file in the `__pycache__` beside it, and knows it by the file's size and time alone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bystander_supervise::namespace::Bind;

/// The name of the folders that Python keeps bytecode in.
const FOLDER: &str = "__pycache__";

/// Whether a file has bytecode.
pub(super) fn has_bytecode(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "py")
}

/// A private bytecode folder over the one beside `file`, with what is in that one; `None` where there is none yet.
pub(super) fn private(file: &Path, private: &Path) -> io::Result<Option<Bind>> {
    let Some(public) = file.parent().map(|folder| folder.join(FOLDER)).filter(|folder| folder.is_dir()) else { return Ok(None) };
    fs::create_dir_all(private)?;
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned() + ".";
    for entry in fs::read_dir(&public)?.flatten() {
        let own = entry.file_name().to_string_lossy().starts_with(&stem);
        // What cannot be copied is compiled again.
        let _ = if own { Ok(0) } else { fs::copy(entry.path(), private.join(entry.file_name())) };
    }
    Ok(Some(Bind { source: private.to_owned(), target: public, writable: true }))
}

/// A file whose bytecode may have gone to disk during the trial.
#[derive(Debug)]
pub(super) struct Exposed {
    folder: PathBuf,
    stem: String,
    /// Size and second of the mounted copy, as bytecode keeps them.
    stamp: [u8; 8],
}

impl Exposed {
    /// Notes a file that has no bytecode folder beside it, and the copy that is mounted over it.
    pub(super) fn new(file: &Path, copy: &Path) -> io::Result<Self> {
        use std::os::unix::fs::MetadataExt;
        let metadata = fs::metadata(copy)?;
        let mut stamp = [0; 8];
        // Both modulo 2^32, as Python stores them.
        stamp[..4].copy_from_slice(&metadata.mtime().to_le_bytes()[..4]);
        stamp[4..].copy_from_slice(&metadata.size().to_le_bytes()[..4]);
        let folder = file.parent().unwrap_or(Path::new("/")).join(FOLDER);
        Ok(Self { folder, stem: file.file_stem().unwrap_or_default().to_string_lossy().into_owned() + ".", stamp })
    }

    /// Removes bytecode that was compiled from the copy, and the folder where nothing else is in it.
    pub(super) fn forget(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let mut removed = false;
        for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(&self.stem)) {
            let head = fs::read(entry.path()).unwrap_or_default();
            if head.get(8..16) == Some(&self.stamp) {
                removed |= fs::remove_file(entry.path()).is_ok();
            }
        }
        if removed {
            // Fails where others have put something there, and then it is theirs.
            let _ = fs::remove_dir(&self.folder);
        }
    }
}
