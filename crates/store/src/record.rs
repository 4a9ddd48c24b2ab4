//! The writer: opens the database and appends runs and events.
//!
//! **Durability.** An event is acknowledged when `append` returns, and survives the end of this process by any signal from then on. A power loss
//! takes back no more than what came after the last milestone (the start and end of a run, the end of a trial, the proof about the files), and
//! leaves a readable record: a milestone is flushed to the disk together with everything before it, other events are left to the system.
//!
//! **Two processes.** Every write takes the write lock at once and waits for it up to 20 s; readers hold no lock between pages.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use bystander_model::event::{Event, EventBody, Origin};
use bystander_model::ids::{RunId, TrialId};
use bystander_model::watch::WatchEvent;
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};
use serde::Deserialize;

use crate::connect::{connect, scratch};
use crate::runs::{RunRecord, RunStatus};
use crate::sqlite::{StoreError, Told as _};
use crate::state::StateDir;

/// The record of one state directory, open for reading and, where the directory allows it, for writing.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    /// Whether the next commit is flushed to the disk.
    flushes: bool,
}

impl Store {
    /// Opens the record of a state directory, creates it where there is none, and brings it to the newest version.
    ///
    /// # Errors
    /// It was written by a newer version, is damaged, locked or cannot be created.
    pub fn open(state: &StateDir) -> Result<Self, StoreError> {
        let path = state.database();
        let connection = connect(&path)?;
        Ok(Self { connection, path, flushes: true })
    }

    /// A record of its own that nobody else sees: it lies in memory, and where it is large in a file without a name. It is gone with this value, and with
    /// this process, however that ends.
    ///
    /// # Errors
    /// There is neither memory nor room for it.
    pub fn scratch() -> Result<Self, StoreError> {
        let path = PathBuf::from("a temporary record");
        Ok(Self { connection: scratch(&path)?, path, flushes: true })
    }

    /// The database file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Records a new run together with its first events: all or nothing. A run that is recorded already keeps what it has.
    ///
    /// # Errors
    /// As [`Store::append_all`].
    pub fn create_run(&mut self, run: &RunRecord, first: &[Event]) -> Result<(), StoreError> {
        let path = self.path.clone();
        let transaction = self.begin(true)?;
        let sql = "INSERT INTO run (id, file, spec_sha256, created_ns, status) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) DO NOTHING";
        let created = run.created.0.cast_signed();
        let values = params![run.id.0, run.file.as_os_str().as_bytes(), run.spec_sha256, created, run.status.word()];
        transaction.execute(sql, values).told(&path)?;
        for event in first {
            insert(&transaction, &path, event)?;
        }
        transaction.commit().told(&path)
    }

    /// Records one event; returns whether it was new.
    ///
    /// # Errors
    /// As [`Store::append_all`].
    pub fn append(&mut self, event: &Event) -> Result<bool, StoreError> {
        Ok(self.append_all(std::slice::from_ref(event))? == 1)
    }

    /// Records events in the given order, all or none; returns how many were new. An event that is recorded already is passed over.
    ///
    /// # Errors
    /// The run is not recorded, the number is taken by a different event, the event cannot be written as JSON, or the database cannot be
    /// written to; [`StoreError::DiskFull`] is told apart.
    pub fn append_all(&mut self, events: &[Event]) -> Result<usize, StoreError> {
        let path = self.path.clone();
        let transaction = self.begin(events.iter().any(|event| is_milestone(&event.body)))?;
        let mut new = 0;
        for event in events {
            new += usize::from(insert(&transaction, &path, event)?);
        }
        transaction.commit().told(&path)?;
        Ok(new)
    }

    /// Gives the number that the next event of `(run, trial, origin)` takes.
    ///
    /// # Errors
    /// The run is not recorded, or the record cannot be read.
    pub fn next_seq(&self, run: &RunId, trial: Option<TrialId>, origin: Origin) -> Result<u64, StoreError> {
        let run = self.number_of(run)?;
        let sql = "SELECT max(seq) FROM event WHERE run = ?1 AND trial = ?2 AND origin = ?3";
        let mut statement = self.connection.prepare_cached(sql).told(&self.path)?;
        let last: Option<i64> =
            statement.query_row(params![run, trial_number(trial), origin_word(origin)], |row| row.get(0)).told(&self.path)?;
        Ok(last.map_or(0, |last| last.cast_unsigned() + 1))
    }

    /// Begins a transaction that may write: taking the lock later could meet another writer halfway, where waiting does not help.
    fn begin(&mut self, flush: bool) -> Result<Transaction<'_>, StoreError> {
        if flush != self.flushes {
            self.connection.pragma_update(None, "synchronous", if flush { "FULL" } else { "NORMAL" }).told(&self.path)?;
            self.flushes = flush;
        }
        self.connection.transaction_with_behavior(TransactionBehavior::Immediate).told(&self.path)
    }
}

/// Whether an event must survive a power loss: what a resume builds on, and what a user was told is proven.
const fn is_milestone(body: &EventBody) -> bool {
    matches!(
        body,
        EventBody::RunStarted { .. }
            | EventBody::TrialEnded(_)
            | EventBody::Restored { .. }
            | EventBody::RunEnded(_)
            | EventBody::Watch(WatchEvent::Started(_) | WatchEvent::Ended(_))
    )
}

/// The form of an event in its row.
struct EventRow {
    trial: u32,
    origin: &'static str,
    seq: i64,
    time_ns: i64,
    kind: String,
    body: String,
}

/// The part of an event's text that a row has beside it.
#[derive(Deserialize)]
struct Kind {
    kind: String,
}

impl EventRow {
    fn of(event: &Event) -> Result<Self, StoreError> {
        let unwritable = |kind: &str| {
            let kind = kind.to_owned();
            move |source| StoreError::Unwritable { kind, source }
        };
        let body = serde_json::to_string(&event.body).map_err(unwritable("strange"))?;
        let Kind { kind } = serde_json::from_str(&body).map_err(unwritable("strange"))?;
        // What cannot be read again must stop the run now, not a reader later. A captured value of any form can be, and hits are too many to try.
        if !matches!(event.body, EventBody::Watch(WatchEvent::Hits(_))) {
            serde_json::from_str::<EventBody>(&body).map_err(unwritable(&kind))?;
        }
        let (seq, time_ns) = (event.seq.cast_signed(), event.time.0.cast_signed());
        Ok(Self { trial: trial_number(event.trial), origin: origin_word(event.origin), seq, time_ns, kind, body })
    }
}

/// Inserts one event; returns whether it was new.
fn insert(transaction: &Transaction<'_>, path: &Path, event: &Event) -> Result<bool, StoreError> {
    let row = EventRow::of(event)?;
    let sql = "INSERT INTO event (run, trial, origin, seq, time_ns, kind, body) SELECT number, ?2, ?3, ?4, ?5, ?6, ?7 FROM run WHERE id = ?1 \
               ON CONFLICT (run, trial, origin, seq) DO NOTHING";
    let values = params![event.run.0, row.trial, row.origin, row.seq, row.time_ns, row.kind, row.body];
    let inserted = transaction.prepare_cached(sql).told(path)?.execute(values).told(path)? == 1;
    if !inserted {
        check_same(transaction, path, event, &row)?;
        return Ok(false);
    }
    let status = match &event.body {
        EventBody::RunStarted { .. } | EventBody::RunResumed => RunStatus::Running,
        EventBody::RunEnded(end) => RunStatus::from(end),
        EventBody::Watch(WatchEvent::Ended(end)) if end.interrupted => RunStatus::Interrupted,
        EventBody::Watch(WatchEvent::Ended(_)) => RunStatus::Finished,
        _ => return Ok(true),
    };
    transaction.execute("UPDATE run SET status = ?2 WHERE id = ?1", params![event.run.0, status.word()]).told(path)?;
    Ok(true)
}

/// Nothing was inserted: the same event is there already, another one has its number, or the run is not known.
fn check_same(transaction: &Transaction<'_>, path: &Path, event: &Event, row: &EventRow) -> Result<(), StoreError> {
    let sql = "SELECT event.time_ns = ?5 AND event.body = ?6 FROM event JOIN run ON run.number = event.run \
               WHERE run.id = ?1 AND trial = ?2 AND origin = ?3 AND seq = ?4";
    let values = params![event.run.0, row.trial, row.origin, row.seq, row.time_ns, row.body];
    let same: Option<bool> = transaction.prepare_cached(sql).told(path)?.query_row(values, |row| row.get(0)).optional().told(path)?;
    match same {
        Some(true) => Ok(()),
        Some(false) => Err(StoreError::Contradiction { run: event.run.clone(), trial: event.trial, origin: event.origin, seq: event.seq }),
        None => Err(StoreError::UnknownRun { path: path.to_owned(), name: event.run.0.clone() }),
    }
}

/// Trials are numbered from 1, so that 0 can stand for none: SQLite takes no two NULLs for the same key.
pub(crate) fn trial_number(trial: Option<TrialId>) -> u32 {
    trial.map_or(0, |trial| trial.0)
}

pub(crate) const fn origin_word(origin: Origin) -> &'static str {
    match origin {
        Origin::Lab => "lab",
        Origin::Host => "host",
    }
}
