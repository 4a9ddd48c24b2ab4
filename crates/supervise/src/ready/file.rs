//! A file as a sign of readiness: only what this trial has made or changed counts.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::proof::FileSeen;

/// What tells one state of a file from another, without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Signature {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Signature {
    fn of(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        Some(Self {
            device: found.dev(),
            inode: found.ino(),
            bytes: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}

/// A file and how it stood before the launch.
#[derive(Debug)]
pub(crate) struct FileWatch {
    path: PathBuf,
    before: Option<Signature>,
}

impl FileWatch {
    /// Looks at the file as it is now, before the launch.
    pub(crate) fn before(path: PathBuf) -> Self {
        Self { before: Signature::of(&path), path }
    }

    /// The file, where it is there and is not the one from before; else why not.
    pub(crate) fn look(&self) -> Result<FileSeen, String> {
        match Signature::of(&self.path) {
            None => Err(format!("there is no file {}", self.path.display())),
            Some(now) if self.before == Some(now) => {
                Err(format!("the file {} was there before the launch and has not changed since", self.path.display()))
            }
            Some(now) => Ok(FileSeen { path: self.path.clone(), bytes: now.bytes, changed: self.before.is_some() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::FileWatch;

    #[test]
    fn only_what_is_new_or_changed_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ready");
        let absent = FileWatch::before(path.clone());
        assert!(absent.look().is_err_and(|why| why.contains("there is no file")));
        fs::write(&path, "1").expect("writes");
        assert!(absent.look().is_ok_and(|seen| !seen.changed && seen.bytes == 1));
        let stale = FileWatch::before(path.clone());
        assert!(stale.look().is_err_and(|why| why.contains("before the launch")));
        fs::write(&path, "12").expect("writes");
        assert!(stale.look().is_ok_and(|seen| seen.changed && seen.bytes == 2));
        fs::remove_file(&path).expect("removes");
        assert!(stale.look().is_err());
    }

    #[test]
    fn a_file_that_was_replaced_by_an_equal_one_is_another() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, other) = (folder.path().join("ready"), folder.path().join("other"));
        fs::write(&path, "1").expect("writes");
        fs::write(&other, "1").expect("writes");
        let watch = FileWatch::before(path.clone());
        fs::rename(&other, &path).expect("renames");
        assert!(watch.look().is_ok_and(|seen| seen.changed));
    }
}
