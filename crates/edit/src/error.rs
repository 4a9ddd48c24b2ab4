//! Why an edit could not be made, undone or looked up.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use bystander_model::typed;

use crate::target::TargetError;

/// Who holds a live edit of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The journal's id of the edit.
    pub id: String,
    /// The instrument's name.
    pub name: String,
    /// Who made it, in the words of its maker, such as a run.
    pub owner: String,
    /// The number of the process that made it.
    pub pid: u32,
    /// Whether nobody looks after it any more: that process is certainly gone and the edit was not to outlive it, or its time is over.
    pub gone: bool,
    /// Whether it was made to outlive its process, by `patch apply`.
    pub kept: bool,
    /// The state directory whose journal holds it.
    pub state_dir: PathBuf,
}

impl fmt::Display for Holder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, name, owner, pid, gone, kept, state_dir } = self;
        if *kept {
            let undo = typed::there(&format!("patch revert {id}"));
            return write!(out, "edit `{name}` ({id}), kept until `{undo}`, journal in {}", state_dir.display());
        }
        let is_gone = if *gone { ", which is gone" } else { "" };
        write!(out, "edit `{name}` ({id}) of {owner}, process {pid}{is_gone}, journal in {}", state_dir.display())
    }
}

/// An edit that a person must take out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The journal's id of the edit.
    pub id: String,
    /// The instrument's name.
    pub name: String,
    /// The file.
    pub file: PathBuf,
    /// What stands in the way, and what to do.
    pub why: String,
    /// A copy of the file before the edit.
    pub before: PathBuf,
    /// A copy of the file with the edit.
    pub after: PathBuf,
}

impl fmt::Display for Conflict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "edit `{}` of {}: {}", self.name, self.file.display(), self.why)
    }
}

/// Why an edit could not be made, undone or looked up.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The file cannot be edited at all.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The file is not as it was when the edit was prepared; nothing was written.
    #[error("edit {file}: others changed it since the edit was prepared", file = file.display())]
    Changed {
        /// The file.
        file: PathBuf,
    },
    /// Another live edit is in the file; nothing was written.
    #[error("edit {file}: it holds {holder}", file = file.display())]
    Held {
        /// The file.
        file: PathBuf,
        /// The other edit.
        holder: Box<Holder>,
    },
    /// Others changed the file so that the edit cannot be taken out safely; the journal keeps both versions.
    #[error("undo {0}")]
    Conflict(Box<Conflict>),
    /// Another edit was made on the text of this one; nothing was written.
    #[error("undo edit `{name}` ({id}) of {file}: edit `{above_name}` ({above}) lies on it: revert {above} first", file = file.display())]
    Covered {
        /// The edit that was to be undone.
        id: String,
        /// Its name.
        name: String,
        /// The file.
        file: PathBuf,
        /// The edit that lies on it.
        above: String,
        /// Its name.
        above_name: String,
    },
    /// The file holds the mark of an edit that is in no journal of this user; nothing was written.
    #[error("edit {file}: it holds edit {id}, which is none of this user's: another user made it, or its text was copied here", file = file.display())]
    Foreign {
        /// The file.
        file: PathBuf,
        /// The id in the mark.
        id: String,
    },
    /// What was written is not what stands in the file; the edit was taken back.
    #[error("prove the edit of {file}: what stands in it is not what was written, others write to it", file = file.display())]
    Unproven {
        /// The file.
        file: PathBuf,
    },
    /// No edit has this id.
    #[error("find an edit with the id {id}")]
    UnknownId {
        /// The id.
        id: String,
    },
    /// Another process has worked on the journal for too long.
    #[error("lock {lock}: another process works on it", lock = lock.display())]
    Busy {
        /// The lock file.
        lock: PathBuf,
    },
    /// The journal was written by a newer version.
    #[error("read {path}: it has format {found}, this version knows {known}", path = path.display())]
    NewerFormat {
        /// The file that says so.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest format that is known.
        known: u32,
    },
    /// A file of the journal cannot be understood.
    #[error("read {path}: it is damaged", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A copy in the journal is not what its record says.
    #[error("use the journal's copy {path}: its checksum is wrong", path = path.display())]
    DamagedCopy {
        /// The copy.
        path: PathBuf,
    },
    /// There is no room left.
    #[error("{doing} {path}: the disk is full", path = path.display())]
    DiskFull {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The system refused something.
    #[error("{doing} {path}", path = path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// An edit failed half-way, and so did taking it back at once; the next recovery tries again.
    #[error("take back edit `{name}` of {file}, which had failed because of: {first}", file = file.display())]
    TakeBack {
        /// The instrument's name.
        name: String,
        /// The file.
        file: PathBuf,
        /// Why the edit had failed.
        first: Box<EditError>,
        /// Why it could not be taken back.
        source: Box<EditError>,
    },
}

impl EditError {
    /// Wraps what the system says, for use in `map_err`.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| if is_full(&source) { Self::DiskFull { doing, path, source } } else { Self::Io { doing, path, source } }
    }
}

/// Tells whether a write failed for want of space.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
