//! Gives a file new bytes: in one step by a new file and a rename, or in place where that would lose something.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FallocateFlags, OFlags, fallocate};
use rustix::io::Errno;

use super::disk;
use crate::error::{EditError, is_full};
use crate::metadata::{FileTime, Metadata, put_times};
use crate::steps::Steps;
use crate::target;

/// New bytes for a file.
pub(crate) struct Replacement<'b> {
    /// The file.
    pub(crate) target: &'b Path,
    /// The temporary file beside it.
    pub(crate) temporary: &'b Path,
    /// The bytes that must be there; if not, others changed the file and nothing is written.
    pub(crate) from: &'b [u8],
    /// The bytes to write.
    pub(crate) to: &'b [u8],
    /// Mode, owner and attributes to give.
    pub(crate) rights: &'b Metadata,
    /// Access time to give.
    pub(crate) atime: FileTime,
    /// Modification time to give.
    pub(crate) mtime: FileTime,
}

/// How a replacement in one step went.
pub(crate) enum Renamed {
    /// It is done and durable.
    Done,
    /// A new file would not be the same in owner, mode or attributes, or may not take the place of the old one.
    /// Nothing was changed.
    Impossible,
    /// The disk has no room for a second version, but the new one is no longer than what stands there. Nothing was changed.
    NoRoom,
}

impl Replacement<'_> {
    /// Writes a new file and renames it over the old one.
    pub(crate) fn by_rename(&self, steps: &dyn Steps) -> Result<Renamed, EditError> {
        disk::remove(self.temporary)?;
        let made = self.make_temporary(steps).and_then(|()| {
            self.check()?;
            fs::rename(self.temporary, self.target).map_err(Stop::from)
        });
        match made {
            Ok(()) => {}
            Err(stop) => {
                disk::remove(self.temporary)?;
                return match stop {
                    Stop::Changed => Err(EditError::Changed { file: self.target.to_path_buf() }),
                    Stop::Io(error) if is_refusal(&error) => Ok(Renamed::Impossible),
                    Stop::Io(error) if is_full(&error) && self.to.len() <= self.from.len() => Ok(Renamed::NoRoom),
                    Stop::Io(error) => Err(EditError::io("write", self.target)(error)),
                };
            }
        }
        steps.reached("the file is replaced").map_err(EditError::io("write", self.target))?;
        disk::sync_folder(self.target.parent().unwrap_or(Path::new("/")))?;
        steps.reached("the file is durable").map_err(EditError::io("write", self.target))?;
        Ok(Renamed::Done)
    }

    fn make_temporary(&self, steps: &dyn Steps) -> Result<(), Stop> {
        let mut file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(self.temporary)?;
        steps.reached("the temporary file is created")?;
        let (first, second) = self.to.split_at(self.to.len() / 2);
        file.write_all(first)?;
        steps.reached("the temporary file is half written")?;
        file.write_all(second)?;
        self.rights.put_rights(&file)?;
        steps.reached("the temporary file has its rights")?;
        put_times(&file, self.atime, self.mtime)?;
        file.sync_all()?;
        steps.reached("the temporary file is durable")?;
        Ok(())
    }

    /// Overwrites the file; a kill can leave a part of each version, which `torn` recognises.
    pub(crate) fn in_place(&self, steps: &dyn Steps) -> Result<(), EditError> {
        match self.overwrite(steps) {
            Ok(()) => Ok(()),
            Err(Stop::Changed) => Err(EditError::Changed { file: self.target.to_path_buf() }),
            Err(Stop::Io(error)) => Err(EditError::io("write", self.target)(error)),
        }
    }

    fn overwrite(&self, steps: &dyn Steps) -> Result<(), Stop> {
        let no_follow = i32::from_ne_bytes(OFlags::NOFOLLOW.bits().to_ne_bytes());
        let mut file = OpenOptions::new().read(true).write(true).custom_flags(no_follow).open(self.target)?;
        steps.reached("the file is open")?;
        self.check()?;
        // Room for the longer version is taken first: a disk that is full then leaves the file as it is.
        match fallocate(&file, FallocateFlags::KEEP_SIZE, 0, self.to.len().max(1) as u64) {
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        let (first, second) = self.to.split_at(self.to.len() / 2);
        file.write_all(first)?;
        steps.reached("the file is half written")?;
        file.write_all(second)?;
        steps.reached("the file is written")?;
        file.set_len(self.to.len() as u64)?;
        steps.reached("the file has its length")?;
        self.rights.put_rights(&file)?;
        steps.reached("the file has its rights")?;
        put_times(&file, self.atime, self.mtime)?;
        file.sync_all()?;
        steps.reached("the file is durable")?;
        Ok(())
    }

    /// Looks at the file once more, right before it is written.
    fn check(&self) -> Result<(), Stop> {
        let current = target::open(self.target).and_then(target::read)?;
        if current == self.from { Ok(()) } else { Err(Stop::Changed) }
    }
}

/// Why a replacement stopped.
enum Stop {
    Changed,
    Io(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Tells whether the system refuses a new file in this place, rather than fails.
fn is_refusal(error: &io::Error) -> bool {
    let refusals = [Errno::PERM, Errno::ACCESS, Errno::BUSY, Errno::XDEV, Errno::NOTSUP, Errno::INVAL];
    error.kind() == io::ErrorKind::PermissionDenied
        || error.raw_os_error().is_some_and(|code| refusals.contains(&Errno::from_raw_os_error(code)))
}

/// Tells whether bytes are what a kill leaves while `from` is overwritten with `to`.
pub(crate) fn torn(current: &[u8], from: &[u8], to: &[u8]) -> bool {
    let written = current.iter().zip(to).take_while(|(a, b)| a == b).count();
    if current.len() > from.len() {
        return current.len() == written;
    }
    let kept = current.iter().rev().zip(from.iter().rev()).take_while(|(a, b)| a == b).count();
    current.len() == from.len() && written + kept >= current.len()
}

/// Opens a file and reads its bytes and everything beside them; `None` where there is none.
pub(crate) fn look(path: &Path) -> Result<Option<(Vec<u8>, Metadata)>, EditError> {
    let file: File = match target::open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(None),
        Err(error) => return Err(EditError::io("read", path)(error)),
    };
    let metadata = Metadata::read(&file).map_err(EditError::io("read", path))?;
    let bytes = target::read(file).map_err(EditError::io("read", path))?;
    Ok(Some((bytes, metadata)))
}

#[cfg(test)]
mod tests {
    use super::torn;

    #[test]
    fn every_prefix_of_an_overwrite_is_recognised() {
        for (from, to) in [(&b"one two"[..], &b"one and two"[..]), (b"one and two", b"one two"), (b"", b"new"), (b"old", b"")] {
            for written in 0..=to.len() {
                let rest = from.get(written..).unwrap_or_default();
                assert!(torn(&[&to[..written], rest].concat(), from, to), "{written} of {to:?}");
            }
        }
    }

    #[test]
    fn what_others_wrote_is_not_taken_for_torn() {
        assert!(!torn(b"one THREE two", b"one two", b"one and two"));
        assert!(!torn(b"one", b"one two", b"one and two"));
        assert!(!torn(b"one ant two", b"one two", b"one and two"));
    }
}
