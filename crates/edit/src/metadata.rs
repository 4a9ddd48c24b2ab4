//! What a file has beside its bytes: mode, owner, times, extended attributes (access lists are among them).
//!
//! Times are seconds and nanoseconds since 1970.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

use rustix::fs::{Timespec, Timestamps, futimens};
use serde::{Deserialize, Serialize};
use xattr::FileExt;

use crate::encode;

/// A point in time of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct FileTime {
    /// Seconds since 1970.
    pub(crate) s: i64,
    /// Nanoseconds of that second.
    pub(crate) ns: i64,
}

impl FileTime {
    fn timespec(self) -> Timespec {
        // The kernel gives nanoseconds of a second, which fit every type that they are kept in.
        Timespec { tv_sec: self.s, tv_nsec: self.ns as _ }
    }
}

/// Everything of a file that an undo gives back, and what tells it from another file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Metadata {
    /// Permission bits, with set-user-id and its like.
    pub(crate) mode: u32,
    /// Owner.
    pub(crate) uid: u32,
    /// Group.
    pub(crate) gid: u32,
    /// Last access.
    pub(crate) atime: FileTime,
    /// Last change of the bytes.
    pub(crate) mtime: FileTime,
    /// Last change of anything; it cannot be set, and tells whether others came after us.
    pub(crate) ctime: FileTime,
    /// Names of the file.
    pub(crate) links: u64,
    /// Device.
    pub(crate) dev: u64,
    /// Inode.
    pub(crate) ino: u64,
    /// Extended attributes; names as `encode` writes them, values in hex.
    pub(crate) xattrs: BTreeMap<String, String>,
}

impl Metadata {
    /// Reads everything of an open file.
    pub(crate) fn read(file: &File) -> io::Result<Self> {
        let stat = file.metadata()?;
        let mut xattrs = BTreeMap::new();
        for name in names(file)? {
            // An attribute may go between the list and the look.
            if let Some(value) = file.get_xattr(&name)? {
                xattrs.insert(encode::name_to_text(&name), encode::hex(&value));
            }
        }
        Ok(Self {
            mode: stat.mode() & 0o7777,
            uid: stat.uid(),
            gid: stat.gid(),
            atime: FileTime { s: stat.atime(), ns: stat.atime_nsec() },
            mtime: FileTime { s: stat.mtime(), ns: stat.mtime_nsec() },
            ctime: FileTime { s: stat.ctime(), ns: stat.ctime_nsec() },
            links: stat.nlink(),
            dev: stat.dev(),
            ino: stat.ino(),
            xattrs,
        })
    }

    /// Tells whether mode, owner and attributes are the same.
    pub(crate) fn same_rights(&self, other: &Self) -> bool {
        (self.mode, self.uid, self.gid, &self.xattrs) == (other.mode, other.uid, other.gid, &other.xattrs)
    }

    /// Gives an open file this mode, this owner and these attributes, and checks that it has them.
    pub(crate) fn put_rights(&self, file: &File) -> io::Result<()> {
        let now = Self::read(file)?;
        if (now.uid, now.gid) != (self.uid, self.gid) {
            fchown(file, Some(self.uid), Some(self.gid))?;
        }
        // The change of owner takes set-user-id and file capabilities away: attributes and mode come after it. An
        // access list writes the group bits of the mode: the mode comes last.
        for name in names(file)? {
            if !self.xattrs.contains_key(&encode::name_to_text(&name)) {
                file.remove_xattr(&name)?;
            }
        }
        for (name, value) in &self.xattrs {
            let damaged = || io::Error::new(io::ErrorKind::InvalidData, "an extended attribute in the journal is damaged");
            let name = encode::name_from_text(name).ok_or_else(damaged)?;
            let value = encode::from_hex(value).ok_or_else(damaged)?;
            if file.get_xattr(&name)?.as_ref() != Some(&value) {
                file.set_xattr(&name, &value)?;
            }
        }
        if file.metadata()?.mode() & 0o7777 != self.mode {
            file.set_permissions(Permissions::from_mode(self.mode))?;
        }
        if Self::read(file)?.same_rights(self) {
            Ok(())
        } else {
            Err(io::Error::new(io::ErrorKind::PermissionDenied, "the system does not keep mode, owner or attributes"))
        }
    }

    /// Chooses the rights for an undo: these, but for what others changed since.
    ///
    /// `now` are the rights of the edited file. A write in place takes set-user-id and file capabilities away; that is
    /// no change by others.
    pub(crate) fn with_changes_of_others(&self, now: &Self) -> Self {
        let mut chosen = self.clone();
        if now.mode | (self.mode & 0o6000) != self.mode {
            chosen.mode = now.mode;
        }
        (chosen.uid, chosen.gid) = (now.uid, now.gid);
        let mut lost = self.xattrs.clone();
        lost.retain(|name, _| name == "security.capability");
        chosen.xattrs = lost.into_iter().chain(now.xattrs.clone()).collect();
        chosen
    }
}

/// Sets both times of an open file.
pub(crate) fn put_times(file: &File, atime: FileTime, mtime: FileTime) -> io::Result<()> {
    futimens(file.as_fd(), &Timestamps { last_access: atime.timespec(), last_modification: mtime.timespec() })?;
    Ok(())
}

/// The names of the attributes; none where the file system has no attributes.
fn names(file: &File) -> io::Result<Vec<OsString>> {
    match file.list_xattr() {
        Ok(names) => Ok(names.collect()),
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::{FileTime, Metadata, put_times};

    #[test]
    fn rights_and_times_are_read_and_put_on_another_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        fs::write(&one, "1").expect("written");
        fs::write(&two, "2").expect("written");
        fs::set_permissions(&one, Permissions::from_mode(0o4751)).expect("own file");
        let has_xattrs = xattr::set(&one, "user.note", b"\x00\xff").is_ok();
        if has_xattrs {
            xattr::set(&two, "user.other", b"x").expect("attributes work");
        }
        let (one, two) = (File::open(&one).expect("there"), File::open(&two).expect("there"));
        let times = (FileTime { s: -5, ns: 7 }, FileTime { s: 1_000_000_000, ns: 123_456_789 });
        put_times(&one, times.0, times.1).expect("own file");
        let read = Metadata::read(&one).expect("read");
        assert_eq!((read.mode, read.atime, read.mtime), (0o4751, times.0, times.1));
        assert_eq!(read.xattrs.len(), usize::from(has_xattrs));
        read.put_rights(&two).expect("own file");
        assert!(Metadata::read(&two).expect("read").same_rights(&read));
    }

    #[test]
    fn what_others_changed_is_kept_and_what_a_write_took_is_given_back() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("one");
        fs::write(&path, "1").expect("written");
        let mut original = Metadata::read(&File::open(&path).expect("there")).expect("read");
        original.mode = 0o4755;
        original.xattrs.insert("security.capability".to_owned(), "00".to_owned());
        let mut now = original.clone();
        now.mode = 0o755;
        now.xattrs.clear();
        assert!(original.with_changes_of_others(&now).same_rights(&original));
        now.mode = 0o600;
        now.xattrs.insert("user.note".to_owned(), "01".to_owned());
        let chosen = original.with_changes_of_others(&now);
        assert_eq!((chosen.mode, chosen.xattrs.len()), (0o600, 2));
    }
}
