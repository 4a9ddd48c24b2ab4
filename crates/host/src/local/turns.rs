//! Turns at instrumented files: while one run has an edit on a file, no other run of this user launches a program that may load it, or takes
//! the file for what it was before.
//!
//! A turn is a lock that the kernel ends with its process. Only files that plans instrument are told; that another program on the machine loads
//! one of them is not.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bystander_lab::plan::Plan;
use bystander_model::cell::Cell;
use bystander_probe::CheckedProbe;
use bystander_supervise::Canceller;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use crate::proof::hex;

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(10);

/// What came of the wait for turns.
pub(super) enum Turn {
    /// They are held until this is dropped.
    Held(#[expect(dead_code, reason = "a lock is held by being there")] Vec<File>),
    /// Somebody else has this file, and the wait was ended.
    Waited(PathBuf),
}

/// The files of which turns are wanted, and whether each is to be changed.
#[derive(Debug, Default)]
pub(super) struct Wanted(BTreeMap<PathBuf, bool>);

impl Wanted {
    /// What looking at files needs.
    pub(super) fn of_files<'a>(files: impl Iterator<Item = &'a Path>) -> Self {
        let mut wanted = Self::default();
        files.for_each(|file| wanted.add(file, false));
        wanted
    }

    /// What a look at a plan needs: every file that it edits, as it stands.
    pub(super) fn of_plan(plan: &Plan) -> Self {
        Self::of_files(plan.edits.iter().map(|edit| edit.file.as_path()))
    }

    /// What a launch of a cell needs: the files that it edits for itself, the other instrumented ones as they stand.
    pub(super) fn of_cell(plan: &Plan, cell: &Cell, probes: &[CheckedProbe]) -> Self {
        let mut wanted = Self::of_plan(plan);
        probes.iter().for_each(|probe| wanted.add(&probe.path, false));
        plan.edits_of(cell).for_each(|edit| wanted.add(&edit.file, true));
        wanted
    }

    fn add(&mut self, file: &Path, changed: bool) {
        // A file that is not there was refused with its edit.
        if let Ok(file) = file.canonicalize() {
            *self.0.entry(file).or_default() |= changed;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Waits for all turns, at most until a time; `waiting` is told once of the file that somebody else has.
    ///
    /// Files are taken in the order of their names, so that two runs never wait for each other.
    pub(super) fn take(
        &self,
        folder: &Path,
        until: Option<Instant>,
        canceller: &Canceller,
        mut waiting: impl FnMut(&Path),
    ) -> io::Result<Turn> {
        fs::create_dir_all(folder)?;
        let mut locks = Vec::new();
        for (file, changed) in &self.0 {
            let name = hex(&Sha256::digest(file.as_os_str().as_bytes())[..16]);
            let lock = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(folder.join(name))?;
            let kind = if *changed { FlockOperation::NonBlockingLockExclusive } else { FlockOperation::NonBlockingLockShared };
            let mut told = false;
            loop {
                match flock(&lock, kind) {
                    Ok(()) => break,
                    Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                    Err(errno) => return Err(errno.into()),
                }
                if !std::mem::replace(&mut told, true) {
                    waiting(file);
                }
                if canceller.is_cancelled() || until.is_some_and(|until| Instant::now() >= until) {
                    return Ok(Turn::Waited(file.clone()));
                }
                std::thread::sleep(PAUSE);
            }
            locks.push(lock);
        }
        Ok(Turn::Held(locks))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Instant;

    use bystander_supervise::Canceller;

    use super::{Turn, Wanted};

    fn take(folder: &Path, file: &Path, changed: bool) -> Turn {
        let mut wanted = Wanted::default();
        wanted.add(file, changed);
        wanted.take(folder, Some(Instant::now()), &Canceller::new(), |_| {}).expect("locks")
    }

    #[test]
    fn a_file_is_changed_by_one_alone_and_read_by_many() {
        let world = tempfile::tempdir().expect("temporary folder");
        let (turns, file) = (world.path().join("turns"), world.path().join("file"));
        std::fs::write(&file, "").expect("written");
        let reader = take(&turns, &file, false);
        assert!(matches!(take(&turns, &file, false), Turn::Held(_)));
        assert!(matches!(take(&turns, &file, true), Turn::Waited(held) if held.ends_with("file")));
        drop(reader);
        let writer = take(&turns, &file, true);
        assert!(matches!((&writer, take(&turns, &file, false)), (Turn::Held(_), Turn::Waited(_))));
        drop(writer);
        assert!(matches!(take(&turns, &file, true), Turn::Held(_)));
    }

    #[test]
    fn the_wait_ends_when_the_user_asks_for_it() {
        let world = tempfile::tempdir().expect("temporary folder");
        let (turns, file) = (world.path().join("turns"), world.path().join("file"));
        std::fs::write(&file, "").expect("written");
        let _writer = take(&turns, &file, true);
        let canceller = Canceller::new();
        let mut wanted = Wanted::default();
        wanted.add(&file, false);
        let mut told = 0;
        let waited = wanted.take(&turns, None, &canceller, |_| {
            told += 1;
            canceller.cancel();
        });
        assert!(matches!(waited, Ok(Turn::Waited(_))) && told == 1);
    }
}
