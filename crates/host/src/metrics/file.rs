//! Files that a trial writes, and the question whether it was this trial that wrote them.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The longest file that is read, in bytes.
const LONGEST: u64 = 16 << 20;

/// What was at a path before the launch.
#[derive(Debug)]
pub(super) struct Before {
    path: PathBuf,
    identity: Option<Identity>,
}

/// A file in a state: any write to it, and any other file in its place, changes one of these.
#[derive(Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    changed: (i64, i64),
    modified: (i64, i64),
    size: u64,
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            size: metadata.size(),
        }
    }
}

impl Before {
    pub(super) fn look(path: &Path) -> Self {
        Self { path: path.to_owned(), identity: path.metadata().ok().as_ref().map(Identity::of) }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The text, where the file was written since; else why there is none.
    pub(super) fn written(&self) -> Result<String, String> {
        let metadata = match self.path.metadata() {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err("the trial did not write this file".to_owned()),
            Err(error) => return Err(format!("the file cannot be looked at: {error}")),
        };
        if self.identity.as_ref() == Some(&Identity::of(&metadata)) {
            return Err("the file is the one that was there before the launch: this trial did not write it".to_owned());
        }
        text(&self.path)
    }
}

/// Reads a plain file of bearable size; bytes that are not UTF-8 are replaced.
pub(super) fn text(path: &Path) -> Result<String, String> {
    let unreadable = |error: io::Error| format!("the file cannot be read: {error}");
    // Whoever put a pipe there must not keep the trial waiting.
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file: File = OpenOptions::new().read(true).custom_flags(nonblocking).open(path).map_err(unreadable)?;
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err("this is no plain file".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LONGEST {
        return Err(format!("the file is longer than {} MiB", LONGEST >> 20));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::Before;

    #[test]
    fn only_what_was_written_after_the_launch_counts() {
        let world = tempfile::tempdir().expect("temporary directory");
        let path = world.path().join("out.json");
        let absent = Before::look(&path);
        assert!(absent.written().is_err_and(|why| why.contains("did not write")));
        fs::write(&path, "1").expect("writes");
        assert_eq!(absent.written(), Ok("1".into()));
        let present = Before::look(&path);
        assert!(present.written().is_err_and(|why| why.contains("before the launch")));
        // The same bytes by another file in its place.
        fs::write(world.path().join("new"), "1").expect("writes");
        fs::rename(world.path().join("new"), &path).expect("renames");
        assert_eq!(present.written(), Ok("1".into()));
    }

    #[test]
    fn what_is_no_plain_file_or_too_long_is_refused() {
        let world = tempfile::tempdir().expect("temporary directory");
        let before = |name: &str| Before::look(&world.path().join(name));
        let [pipe, folder, long] = ["pipe", "folder", "long"].map(before);
        rustix::fs::mkfifoat(rustix::fs::CWD, pipe.path(), rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).expect("makes a pipe");
        fs::create_dir(folder.path()).expect("makes a folder");
        fs::File::create(long.path()).and_then(|file| file.set_len(super::LONGEST + 1)).expect("makes a long file");
        assert!(pipe.written().is_err_and(|why| why.contains("no plain file")));
        assert!(folder.written().is_err());
        assert!(long.written().is_err_and(|why| why.contains("16 MiB")));
    }
}
