//! Why an archive was not written, or is not believed.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::sqlite::{StoreError, unread};

/// What can go wrong with an archive.
#[derive(Debug, Error)]
pub enum ArchiveError {
    /// The system refuses.
    #[error("access {}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// There is a file of that name already.
    #[error("write {}: there is a file of that name already", .path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// It is no archive, or it was cut short or changed on its way.
    #[error("read {}: it is damaged, or no archive of a run", .path.display())]
    Damaged {
        /// The archive.
        path: PathBuf,
        /// What the reader says.
        #[source]
        source: io::Error,
    },
    /// It was written by a newer version.
    #[error("read {}: it has format {found}, this version of bystander knows formats up to {known}; update bystander", .path.display())]
    Newer {
        /// The archive.
        path: PathBuf,
        /// The format it has.
        found: u32,
        /// The newest that this build knows.
        known: u32,
    },
    /// It holds something that an archive of a run does not hold.
    #[error("read {}: {what}; nothing of it was used", .path.display())]
    Refused {
        /// The archive.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A member is not as it was when it was packed.
    #[error("read {}: {member} is not as it was packed (sha256 {found}, packed {packed}); nothing of it was used", .path.display())]
    Changed {
        /// The archive.
        path: PathBuf,
        /// The member.
        member: String,
        /// Its hash now.
        found: String,
        /// Its hash in the manifest.
        packed: String,
    },
    /// A part of it cannot be understood.
    #[error("read {member} in {}: {}", .path.display(), unread(.source))]
    Unreadable {
        /// The archive.
        path: PathBuf,
        /// The member, with a line where it has lines.
        member: String,
        /// What is wrong with its text.
        #[source]
        source: serde_json::Error,
    },
    /// A member cannot be written as JSON.
    #[error("write {member} as JSON")]
    Unwritable {
        /// The member.
        member: String,
        /// What is wrong.
        #[source]
        source: serde_json::Error,
    },
    /// The record refuses.
    #[error("use the events of the run")]
    Record(#[from] StoreError),
}
