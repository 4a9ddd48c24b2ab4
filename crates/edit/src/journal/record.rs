//! The record of one edit: all that a later process needs to tell, undo and show it.

use std::ops::Range;
use std::path::{Path, PathBuf};

use bystander_model::edit::{AppliedEdit, RevertedEdit};
use bystander_model::patch::{EditState, EditStatus};
use serde::{Deserialize, Serialize};

use crate::encode;
use crate::error::Holder;
use crate::marker;
use crate::metadata::{FileTime, Metadata};
use crate::mtime::Stamp;
use crate::process::ProcessId;

/// The format of the journal; a newer one is refused.
pub(crate) const FORMAT: u32 = 2;

/// One version of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Version {
    /// SHA-256 in hex.
    pub(crate) sha256: String,
    /// Size in bytes.
    pub(crate) size: usize,
}

impl Version {
    /// Describes these bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self { sha256: encode::sha256(bytes), size: bytes.len() }
    }
}

/// A bytecode file as it was before the edit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SavedBytecode {
    /// Where it was.
    #[serde(with = "encode::path")]
    pub(crate) path: PathBuf,
    /// The checksum of its copy.
    pub(crate) version: Version,
    /// Its mode, owner and times.
    pub(crate) metadata: Metadata,
    /// Whether the edit took it away, since it would have hidden the edit.
    pub(crate) set_aside: bool,
}

/// The folder of the bytecode as it was before the edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BytecodeFolder {
    /// Its modification time.
    pub(crate) mtime: FileTime,
    /// A checksum of the names in it.
    pub(crate) names: String,
}

/// A rewrite in place, at an undo, to bytes that are neither version.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Pending {
    /// The bytes that are overwritten.
    pub(crate) from: Version,
    /// The bytes that are written.
    pub(crate) to: Version,
}

/// How an undo ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Undone {
    /// When, RFC 3339.
    pub(crate) at: String,
    /// Whether the bytes are those of before.
    pub(crate) exact: bool,
    /// What was done.
    pub(crate) how: String,
    /// SHA-256 of the file then; `None` where it was gone.
    pub(crate) sha256: Option<String>,
    /// Change time of the file then: whether others came later.
    pub(crate) ctime: Option<FileTime>,
    /// Bytecode files that were removed.
    #[serde(with = "encode::paths")]
    pub(crate) bytecode_removed: Vec<PathBuf>,
    /// Whether mode, owner or attributes that others gave the file were kept.
    #[serde(default)]
    pub(crate) kept: bool,
}

/// The record of one edit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    /// [`FORMAT`] when it was written.
    pub(crate) format: u32,
    /// The id, unique among all journals.
    pub(crate) id: String,
    /// The order of the edits of this journal.
    pub(crate) seq: u64,
    /// The instrument's name.
    pub(crate) name: String,
    /// The file without links.
    #[serde(with = "encode::path")]
    pub(crate) real: PathBuf,
    /// Who made it, in the words of its maker.
    pub(crate) owner: String,
    /// The process that made it.
    pub(crate) process: ProcessId,
    /// The user.
    pub(crate) uid: u32,
    /// When, RFC 3339.
    pub(crate) made: String,
    /// Where it stands; live from before the first byte changes.
    pub(crate) state: EditState,
    /// The file before.
    pub(crate) before: Version,
    /// The file with the edit.
    pub(crate) after: Version,
    /// Rights and times of the file before.
    pub(crate) original: Metadata,
    /// The modification time that the edited file is given.
    pub(crate) mtime: FileTime,
    /// Whether the file was rewritten in place, so that a part of each version may be found.
    pub(crate) in_place: bool,
    /// What was taken out of the file before.
    pub(crate) removed: Range<usize>,
    /// What was put into the file.
    pub(crate) inserted: Range<usize>,
    /// The lines that hold inserted bytes.
    pub(crate) added_lines: Range<u32>,
    /// The text that was put in, where it was not in the file before; empty where it was, or is long.
    #[serde(with = "encode::bytes")]
    pub(crate) marker: Vec<u8>,
    /// The bytecode files that were valid before.
    pub(crate) bytecode: Vec<SavedBytecode>,
    /// The bytecode folder, where it was there before.
    pub(crate) bytecode_folder: Option<BytecodeFolder>,
    /// A rewrite in place that may be half done.
    pub(crate) pending: Option<Pending>,
    /// What stands in the way of the undo.
    pub(crate) conflict: Option<String>,
    /// How the undo ended.
    pub(crate) undone: Option<Undone>,
    /// Whether it outlives the process that made it.
    #[serde(default)]
    pub(crate) kept: bool,
    /// The edits that were made with it, of which all are kept or none.
    #[serde(default)]
    pub(crate) group: Option<String>,
    /// When it is taken back by itself, RFC 3339.
    #[serde(default)]
    pub(crate) expires: Option<String>,
    /// Whether its mark is in its text.
    #[serde(default)]
    pub(crate) marked: bool,
    /// Whether its undo gives the file a new modification time instead of the old one.
    #[serde(default)]
    pub(crate) renews: bool,
    /// The folder that what was put in works with.
    #[serde(default)]
    pub(crate) folder: Option<PathBuf>,
}

impl Record {
    /// Tells whether something of the edit may be on disk.
    pub(crate) fn is_active(&self) -> bool {
        self.state != EditState::Reverted
    }

    /// Whether nobody looks after it any more: it is not kept and its process is gone, or its time is over.
    pub(crate) fn is_abandoned(&self) -> bool {
        (!self.kept && self.process.is_gone()) || self.is_expired()
    }

    /// Whether its time is over. A time that cannot be read is over: better taken back than left.
    pub(crate) fn is_expired(&self) -> bool {
        self.expires.as_ref().is_some_and(|at| at.parse::<jiff::Timestamp>().map_or(true, |at| at <= jiff::Timestamp::now()))
    }

    /// The mark in its text, where there is one.
    pub(crate) fn mark(&self) -> Option<String> {
        self.marked.then(|| marker::of(&self.id))
    }

    /// Whether something of its text is in bytes: its mark, or all of its text.
    pub(crate) fn is_in(&self, bytes: &[u8]) -> bool {
        let has = |text: &[u8]| !text.is_empty() && memchr::memmem::find(bytes, text).is_some();
        self.mark().is_some_and(|mark| has(mark.as_bytes())) || has(&self.marker)
    }

    /// Tells whether this file is the one that was edited; another name of it is the same file.
    pub(crate) fn is_of(&self, real: &Path, metadata: &Metadata) -> bool {
        let linked = self.original.links > 1 && (self.original.dev, self.original.ino) == (metadata.dev, metadata.ino);
        self.real == real || linked
    }

    /// The name of the temporary file beside the target.
    pub(crate) fn temporary(&self, beside: &Path) -> PathBuf {
        beside.with_file_name(format!(".bystander-{}.tmp", self.id))
    }

    /// The stamps that bytecode of the two versions has: before, and with the edit.
    pub(crate) fn stamps(&self) -> (Stamp, Stamp) {
        (Stamp::new(self.original.mtime, self.before.size), Stamp::new(self.mtime, self.after.size))
    }

    /// The answer of an apply.
    pub(crate) fn applied(&self) -> AppliedEdit {
        AppliedEdit {
            id: self.id.clone(),
            name: self.name.clone(),
            file: self.real.clone(),
            before_sha256: self.before.sha256.clone(),
            after_sha256: self.after.sha256.clone(),
            added_lines: self.added_lines.clone(),
        }
    }

    /// The answer of an undo; `None` where it is not undone.
    pub(crate) fn reverted(&self) -> Option<RevertedEdit> {
        let undone = self.undone.clone()?;
        Some(RevertedEdit {
            id: self.id.clone(),
            name: self.name.clone(),
            file: self.real.clone(),
            exact: undone.exact,
            sha256: undone.sha256,
            how: undone.how,
            bytecode_removed: undone.bytecode_removed,
        })
    }

    /// The line of `patch status`.
    pub(crate) fn status(&self, state_dir: &Path) -> EditStatus {
        EditStatus {
            id: self.id.clone(),
            name: self.name.clone(),
            file: self.real.clone(),
            state: self.state,
            made: self.made.clone(),
            expires: self.expires.clone(),
            kept: self.kept,
            folder: self.folder.clone(),
            by: self.uid.to_string(),
            journal: state_dir.to_path_buf(),
        }
    }

    /// Who holds the file by this edit.
    pub(crate) fn holder(&self, state_dir: &Path) -> Holder {
        Holder {
            id: self.id.clone(),
            name: self.name.clone(),
            owner: self.owner.clone(),
            pid: self.process.pid,
            gone: self.is_abandoned(),
            kept: self.kept,
            state_dir: state_dir.to_path_buf(),
        }
    }
}
