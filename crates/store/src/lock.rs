//! Locks that say that a run, or a run of a file, is alive.
//!
//! They are `flock`s on files that close on `exec`: the kernel releases them when their process ends, however it ends, and nothing is ever left
//! to be cleaned up. A lock file is never removed, since a new file of the same name would be another lock. The process id in the file is
//! for the message alone.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use bystander_model::ids::RunId;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use thiserror::Error;

use crate::output::sha256_hex;
use crate::state::StateDir;

/// What can go wrong with a lock.
#[derive(Debug, Error)]
pub enum LockError {
    /// Another process holds it.
    #[error("start {what}: it is running already{}", .pid.map(|pid| format!(" in process {pid}")).unwrap_or_default())]
    Locked {
        /// What is locked: `run …` or the experiment file.
        what: String,
        /// The process that holds it, where it could be told.
        pid: Option<u32>,
    },
    /// The lock file cannot be used.
    #[error("lock {}", .path.display())]
    Io {
        /// The lock file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
}

/// A lock that is held until it is dropped or its process ends.
#[derive(Debug)]
#[must_use = "the lock is released when this is dropped"]
pub struct RunLock {
    file: File,
}

impl RunLock {
    /// Takes the lock of a run: whoever holds it may append to the run.
    ///
    /// # Errors
    /// Another process holds it, or the system refuses.
    pub fn acquire(state: &StateDir, run: &RunId) -> Result<Self, LockError> {
        let folder = state.run_dir(run);
        std::fs::create_dir_all(&folder).map_err(|source| LockError::Io { path: folder.clone(), source })?;
        take(&folder.join("lock"), || format!("run {run}"))
    }

    /// Takes the lock of an experiment file in this state directory: one run of a file at a time.
    ///
    /// # Errors
    /// Another process runs the same file, or the system refuses.
    pub fn acquire_file(state: &StateDir, file: &Path) -> Result<Self, LockError> {
        take(&file_lock(state, file), || file.display().to_string())
    }

    /// Tells whether some process is at work on a run; `None` where nobody is.
    ///
    /// # Errors
    /// The lock file cannot be read.
    pub fn holder(state: &StateDir, run: &RunId) -> Result<Option<Holder>, LockError> {
        let path = state.run_dir(run).join("lock");
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(LockError::Io { path, source }),
        };
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(None),
            Err(Errno::WOULDBLOCK) => Ok(Some(Holder { pid: read_pid(&file) })),
            Err(errno) => Err(LockError::Io { path, source: errno.into() }),
        }
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // A child that is between fork and exec shares the lock; unlocking, unlike closing, ends it for both. Should it fail, the close does.
        let _closed_next = flock(&self.file, FlockOperation::Unlock);
    }
}

/// Who is at work on a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// The process, where it could be told.
    pub pid: Option<u32>,
}

fn file_lock(state: &StateDir, file: &Path) -> PathBuf {
    let absolute = std::fs::canonicalize(file).or_else(|_missing| std::path::absolute(file)).unwrap_or_else(|_empty| file.to_owned());
    let name = sha256_hex(absolute.as_os_str().as_bytes());
    state.locks_dir().join(format!("file-{}.lock", &name[..32]))
}

fn take(path: &Path, what: impl FnOnce() -> String) -> Result<RunLock, LockError> {
    let io = |source| LockError::Io { path: path.to_owned(), source };
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(io)?;
    if !lock_exclusively(&file).map_err(|errno| io(errno.into()))? {
        return Err(LockError::Locked { what: what(), pid: read_pid(&file) });
    }
    // One write, no truncation first: a reader sees the old number or the new one, never none.
    file.write_all(format!("{:<10}\n", std::process::id()).as_bytes()).map_err(io)?;
    Ok(RunLock { file })
}

/// Tells whether the lock was got. [`RunLock::holder`] takes a shared lock for a moment, which must not pass for a run that is alive.
fn lock_exclusively(file: &File) -> Result<bool, Errno> {
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK) => {}
            Err(errno) => return Err(errno),
        }
        match flock(file, FlockOperation::NonBlockingLockShared) {
            // Nobody holds it exclusively: whoever was in the way only looked.
            Ok(()) => flock(file, FlockOperation::Unlock)?,
            Err(Errno::WOULDBLOCK) => return Ok(false),
            Err(errno) => return Err(errno),
        }
        std::thread::yield_now();
    }
}

fn read_pid(file: &File) -> Option<u32> {
    let mut text = String::new();
    let mut from_start = file;
    from_start.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
