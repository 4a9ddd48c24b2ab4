//! The runs of a record: which there are, of which file, and how they stand.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use bystander_model::event::RunEnd;
use bystander_model::ids::{RunId, TimeNs};
use rusqlite::{OptionalExtension as _, Row, params};

use crate::record::Store;
use crate::sqlite::{StoreError, Told as _};

/// How a run stands; `Running` also where it was killed, which [`crate::RunLock::holder`] tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunStatus {
    /// It has no end yet.
    Running,
    /// It answered, or cannot answer more.
    Finished,
    /// The baseline was not as declared.
    Gated,
    /// It was contaminated.
    Invalid,
    /// The user stopped it.
    Interrupted,
    /// Bystander could not go on.
    Broken,
}

impl RunStatus {
    /// The word used in the record and in reports.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            RunStatus::Running => "running",
            RunStatus::Finished => "finished",
            RunStatus::Gated => "gated",
            RunStatus::Invalid => "invalid",
            RunStatus::Interrupted => "interrupted",
            RunStatus::Broken => "broken",
        }
    }

    /// A word of a newer version counts as an end that is not known here.
    fn from_word(word: &str) -> Self {
        let all = [RunStatus::Running, RunStatus::Finished, RunStatus::Gated, RunStatus::Invalid, RunStatus::Interrupted];
        all.into_iter().find(|status| status.word() == word).unwrap_or(RunStatus::Broken)
    }
}

impl From<&RunEnd> for RunStatus {
    fn from(end: &RunEnd) -> Self {
        match end {
            RunEnd::Finished { .. } => RunStatus::Finished,
            RunEnd::Gated { .. } => RunStatus::Gated,
            RunEnd::Invalid { .. } => RunStatus::Invalid,
            RunEnd::Interrupted | RunEnd::Abandoned { .. } => RunStatus::Interrupted,
            RunEnd::Broken { .. } => RunStatus::Broken,
        }
    }
}

/// One run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRecord {
    /// Its id.
    pub id: RunId,
    /// The experiment file.
    pub file: PathBuf,
    /// SHA-256 of the specification, in hex.
    pub spec_sha256: String,
    /// When it was created.
    pub created: TimeNs,
    /// How it stands, by its last event.
    pub status: RunStatus,
}

const COLUMNS: &str = "id, file, spec_sha256, created_ns, status";

impl Store {
    /// Lists all runs, newest first.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn runs(&self) -> Result<Vec<RunRecord>, StoreError> {
        self.select("ORDER BY number DESC", [])
    }

    /// Lists the runs of an experiment file, newest first.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn runs_for(&self, file: &Path) -> Result<Vec<RunRecord>, StoreError> {
        self.select("WHERE file = ?1 ORDER BY number DESC", [file.as_os_str().as_bytes()])
    }

    /// Gives the newest run; `None` in an empty record.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn latest(&self) -> Result<Option<RunRecord>, StoreError> {
        Ok(self.select("ORDER BY number DESC LIMIT 1", [])?.into_iter().next())
    }

    /// Gives a run by its whole id; `None` where it is not recorded.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn run(&self, id: &RunId) -> Result<Option<RunRecord>, StoreError> {
        Ok(self.select("WHERE id = ?1", [&id.0])?.into_iter().next())
    }

    /// Finds the run whose id is, or alone begins with, these letters.
    ///
    /// # Errors
    /// None or several begin so, or the record cannot be read.
    pub fn find(&self, prefix: &str) -> Result<RunRecord, StoreError> {
        if let Some(run) = self.run(&RunId(prefix.to_owned()))? {
            return Ok(run);
        }
        let mut matching = self.select("WHERE substr(id, 1, length(?1)) = ?1 ORDER BY number DESC", [prefix])?;
        match matching.len() {
            0 => Err(StoreError::UnknownRun { path: self.path().to_owned(), name: prefix.to_owned() }),
            1 => Ok(matching.remove(0)),
            _ => {
                let candidates = matching.into_iter().map(|run| run.id).collect();
                Err(StoreError::AmbiguousRun { prefix: prefix.to_owned(), candidates })
            }
        }
    }

    fn select(&self, condition: &str, parameters: impl rusqlite::Params) -> Result<Vec<RunRecord>, StoreError> {
        let mut statement = self.connection().prepare_cached(&format!("SELECT {COLUMNS} FROM run {condition}")).told(self.path())?;
        let rows = statement.query_map(parameters, from_row).told(self.path())?;
        rows.collect::<rusqlite::Result<_>>().told(self.path())
    }

    /// The row number of a run.
    pub(crate) fn number_of(&self, run: &RunId) -> Result<i64, StoreError> {
        let mut statement = self.connection().prepare_cached("SELECT number FROM run WHERE id = ?1").told(self.path())?;
        let number = statement.query_row(params![run.0], |row| row.get(0)).optional().told(self.path())?;
        number.ok_or_else(|| StoreError::UnknownRun { path: self.path().to_owned(), name: run.0.clone() })
    }
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<RunRecord> {
    let file: Vec<u8> = row.get(1)?;
    let status: String = row.get(4)?;
    Ok(RunRecord {
        id: RunId(row.get(0)?),
        file: PathBuf::from(OsString::from_vec(file)),
        spec_sha256: row.get(2)?,
        created: TimeNs(row.get::<_, i64>(3)?.cast_unsigned()),
        status: RunStatus::from_word(&status),
    })
}
