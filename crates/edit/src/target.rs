//! The file to edit: links followed, kind and permissions checked, bytes read without a trace.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, IFlags, OFlags, accessat, ioctl_getflags};

use crate::users::user;

/// Larger files are not edited, in bytes.
const LARGEST: u64 = 1 << 30;

/// Why a file cannot be edited, whatever the text.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// There is no such file, or a link points nowhere.
    #[error("edit {path}: there is no such file", path = path.display())]
    Missing {
        /// The path as typed.
        path: PathBuf,
    },
    /// It is a directory.
    #[error("edit {path}: it is a directory", path = path.display())]
    Directory {
        /// The path as typed.
        path: PathBuf,
    },
    /// It is a device, a pipe or a socket.
    #[error("edit {path}: it is not a regular file", path = path.display())]
    NotRegular {
        /// The path as typed.
        path: PathBuf,
    },
    /// It cannot be read.
    #[error("read {path}", path = path.display())]
    Unreadable {
        /// The path as typed.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It is larger than 1 GiB.
    #[error("edit {path}: it has {bytes} bytes, more than can be journaled", path = path.display())]
    TooLarge {
        /// The path as typed.
        path: PathBuf,
        /// Its size, in bytes.
        bytes: u64,
    },
    /// It may not be written, or lies on a file system that is mounted read-only.
    #[error("edit {path}: it is read-only for this user", path = path.display())]
    NotWritable {
        /// The file, without links.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Its directory may not be written, so that the file could not be replaced in one step.
    #[error("edit a file in {directory}: the directory is read-only for this user", directory = directory.display())]
    DirectoryNotWritable {
        /// The directory.
        directory: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It, or its directory, is marked immutable or append-only.
    #[error("edit {path}: it is marked immutable or append-only (see lsattr)", path = path.display())]
    Immutable {
        /// The file or directory that is marked.
        path: PathBuf,
    },
    /// It belongs to another user, so that its times could not be put back.
    #[error("edit {path}: it belongs to user {}, and its times could not be put back", user(*uid), path = path.display())]
    NotOwned {
        /// The file, without links.
        path: PathBuf,
        /// The numeric id of its owner.
        uid: u32,
    },
}

/// A file that can be edited.
#[derive(Debug)]
pub(crate) struct Target {
    /// The file itself, absolute and without links.
    pub(crate) real: PathBuf,
    /// Its bytes.
    pub(crate) bytes: Vec<u8>,
}

/// Follows links, checks that the file can be edited and put back, and reads it.
pub(crate) fn resolve(path: &Path) -> Result<Target, TargetError> {
    let unreadable = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => TargetError::Missing { path: path.to_path_buf() },
        _ => TargetError::Unreadable { path: path.to_path_buf(), source },
    };
    let real = fs::canonicalize(path).map_err(unreadable)?;
    let kind = fs::metadata(&real).map_err(unreadable)?;
    if kind.is_dir() {
        return Err(TargetError::Directory { path: path.to_path_buf() });
    }
    if !kind.is_file() {
        return Err(TargetError::NotRegular { path: path.to_path_buf() });
    }
    if kind.len() > LARGEST {
        return Err(TargetError::TooLarge { path: path.to_path_buf(), bytes: kind.len() });
    }
    let file = open(&real).map_err(unreadable)?;
    check_writable(&real, &file, &kind)?;
    let bytes = read(file).map_err(unreadable)?;
    Ok(Target { real, bytes })
}

fn check_writable(real: &Path, file: &File, kind: &fs::Metadata) -> Result<(), TargetError> {
    use std::os::unix::fs::MetadataExt;
    let directory = real.parent().unwrap_or(Path::new("/"));
    // Marks are looked at first: where one is set, the access check of the superuser fails without a reason.
    for marked in [Some(file.try_clone()), Some(File::open(directory))].into_iter().flatten().flatten().zip([real, directory]) {
        // Many file systems have no such marks and say so with an error.
        if ioctl_getflags(marked.0.as_fd()).is_ok_and(|flags| flags.intersects(IFlags::IMMUTABLE | IFlags::APPEND)) {
            return Err(TargetError::Immutable { path: marked.1.to_path_buf() });
        }
    }
    accessat(CWD, real, Access::WRITE_OK, AtFlags::EACCESS)
        .map_err(|source| TargetError::NotWritable { path: real.to_path_buf(), source: source.into() })?;
    accessat(CWD, directory, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)
        .map_err(|source| TargetError::DirectoryNotWritable { directory: directory.to_path_buf(), source: source.into() })?;
    if crate::process::may_act_for(kind.uid()) { Ok(()) } else { Err(TargetError::NotOwned { path: real.to_path_buf(), uid: kind.uid() }) }
}

/// Opens a regular file for reading, without following a link and, where the system allows, without touching its
/// access time.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let quiet = OFlags::NOATIME | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let plain = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = |flags: OFlags| i32::from_ne_bytes(flags.bits().to_ne_bytes());
    let file = match fs::OpenOptions::new().read(true).custom_flags(flags(quiet)).open(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            fs::OpenOptions::new().read(true).custom_flags(flags(plain)).open(path)?
        }
        other => other?,
    };
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no longer a regular file")) }
}

/// Reads a file to its end.
pub(crate) fn read(mut file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}
