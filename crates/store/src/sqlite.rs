//! What SQLite reports, told apart by what the user can do about it.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use bystander_model::event::Origin;
use bystander_model::ids::{RunId, TrialId};
use rusqlite::ErrorCode;
use thiserror::Error;

use crate::state::is_disk_full;

/// What can go wrong with the record.
#[derive(Debug, Error)]
pub enum StoreError {
    /// No space is left, or a quota is used up.
    #[error("record into {}: the disk is full; what was recorded before is kept and readable", .path.display())]
    DiskFull {
        /// The database.
        path: PathBuf,
        /// What SQLite says.
        #[source]
        source: rusqlite::Error,
    },
    /// The file is not a database, or a damaged one.
    #[error("read the record {}: the file is damaged or no database; nothing was deleted, move it aside to start a new record", .path.display())]
    Corrupt {
        /// The database.
        path: PathBuf,
        /// What SQLite says.
        #[source]
        source: rusqlite::Error,
    },
    /// It was written by a newer version.
    #[error("use the record {}: it has version {found}, this version of bystander knows versions up to {known}; update bystander or choose another state directory", .path.display())]
    Newer {
        /// The database.
        path: PathBuf,
        /// The version it has.
        found: u32,
        /// The newest version that this build knows.
        known: u32,
    },
    /// Another process kept it locked for longer than is waited for.
    #[error("use the record {}: another process has kept it locked for {waited_s} s", .path.display())]
    Busy {
        /// The database.
        path: PathBuf,
        /// How long it was waited for, seconds.
        waited_s: u64,
        /// What SQLite says.
        #[source]
        source: rusqlite::Error,
    },
    /// The file or its folder cannot be written to.
    #[error("write to the record {}: it is read-only", .path.display())]
    ReadOnly {
        /// The database.
        path: PathBuf,
        /// What SQLite says.
        #[source]
        source: rusqlite::Error,
    },
    /// Something else about the database.
    #[error("use the record {}", .path.display())]
    Sqlite {
        /// The database.
        path: PathBuf,
        /// What SQLite says.
        #[source]
        source: rusqlite::Error,
    },
    /// The run is not recorded.
    #[error("find the run {name:?} in {}", .path.display())]
    UnknownRun {
        /// The database.
        path: PathBuf,
        /// What was looked for.
        name: String,
    },
    /// Several runs begin with the given letters.
    #[error("tell which run {prefix:?} is: {} begin so", list(.candidates))]
    AmbiguousRun {
        /// What was looked for.
        prefix: String,
        /// The runs that match, newest first.
        candidates: Vec<RunId>,
    },
    /// The key of an event is taken by a different event: what was recorded stands.
    #[error("record event {seq} of {origin:?} in run {run}, trial {}: another event has this number", .trial.map_or_else(|| "none".to_owned(), |t| t.to_string()))]
    Contradiction {
        /// The run.
        run: RunId,
        /// The trial.
        trial: Option<TrialId>,
        /// Who saw it.
        origin: Origin,
        /// Its number.
        seq: u64,
    },
    /// An event cannot be written so that it can be read again, such as one with a number that is not finite.
    #[error("write a {kind} event that can be read again")]
    Unwritable {
        /// The kind of event.
        kind: String,
        /// What is wrong with its text.
        #[source]
        source: serde_json::Error,
    },
    /// A recorded event has a form that this version does not know, or its text is damaged.
    #[error("read event {number} of the record {}: {}", .path.display(), unread(.source))]
    Unreadable {
        /// The database.
        path: PathBuf,
        /// The event's number in the record.
        number: i64,
        /// What is wrong with its text.
        #[source]
        source: serde_json::Error,
    },
}

/// Why the text of an event was not understood. What is whole JSON was written by another version: old forms stay readable, so by a newer one.
pub(crate) fn unread(error: &serde_json::Error) -> &'static str {
    if error.is_data() { "a newer version of bystander wrote it; update bystander" } else { "its text is damaged" }
}

fn list(runs: &[RunId]) -> String {
    runs.iter().map(|run| run.0.as_str()).collect::<Vec<_>>().join(", ")
}

/// Says which file an error of SQLite is about, and what sort of error it is.
pub(crate) trait Told<T> {
    /// Turns an error of SQLite about the database `path` into one of ours.
    fn told(self, path: &Path) -> Result<T, StoreError>;
}

impl<T> Told<T> for rusqlite::Result<T> {
    fn told(self, path: &Path) -> Result<T, StoreError> {
        self.map_err(|source| classify(path.to_owned(), source))
    }
}

fn classify(path: PathBuf, source: rusqlite::Error) -> StoreError {
    match source.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::DiskFull { path, source },
        // A used-up quota is reported as any failed write.
        Some(ErrorCode::SystemIoFailure) if no_space_beside(&path) => StoreError::DiskFull { path, source },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Corrupt { path, source },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Busy { path, waited_s: crate::connect::PATIENCE.as_secs(), source }
        }
        Some(ErrorCode::ReadOnly) => StoreError::ReadOnly { path, source },
        _ => StoreError::Sqlite { path, source },
    }
}

/// The write-ahead log of a database.
pub(crate) fn log_of(database: &Path) -> PathBuf {
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    PathBuf::from(log)
}

/// Whether a file beside the database, as long as the database or its log, meets a lack of space too: the disk, a quota, or the limit for
/// one file.
fn no_space_beside(database: &Path) -> bool {
    let path = database.with_extension(format!("space-{}", std::process::id()));
    let attempt = || -> io::Result<()> {
        let log = fs::metadata(log_of(database)).map_or(0, |log| log.len());
        let end = fs::metadata(database)?.len().max(log);
        let file = fs::File::create(&path)?;
        file.write_all_at(&[0x55; 64 * 1024], end)?;
        file.sync_all()
    };
    let full = attempt().is_err_and(|error| is_disk_full(&error));
    // Nothing to be done where it was never made.
    let _gone = fs::remove_file(&path);
    full
}
