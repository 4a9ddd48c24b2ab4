//! Copies the record of far runs into the near state directory: events by their number, then files by their hash.
//!
//! Events keep their order and get the near clock's times, by one offset for a whole run, so that what is sent twice is the same twice. What is there
//! already is never asked for again, so that a copy that broke off goes on where it was.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use bystander_model::event::Event;
use bystander_model::ids::{RunId, TimeNs};
use bystander_store::{RunRecord, RunStatus, StateDir, StateError, Store, StoreError, output};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::clock::Offset;
use super::link::{Link, LinkError};
use super::message::{Ask, FarRun, KeptFile, Told, path};
use super::whole::{replace, unfinished};

/// How what [`file_there`] gives begins, as every address does.
const SCHEME: &str = "ssh://";
/// What a run's folder says of the machine that it ran on.
const FAR_FILE: &str = "far.json";

/// Where a run ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RanOn {
    /// The address, without a folder.
    pub address: String,
    /// What the machine calls itself.
    pub machine: String,
    /// How far its clock was from the clock here; the times of the run are the clock's here by that.
    pub offset: Offset,
    /// Events that were there when every file of the run had arrived.
    pub complete: Option<u64>,
}

impl RanOn {
    /// Where a run ran, if it was not here.
    ///
    /// # Errors
    /// The file that says so cannot be read.
    pub fn of(state: &StateDir, run: &RunId) -> io::Result<Option<Self>> {
        match fs::read(state.run_dir(run).join(FAR_FILE)) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn keep(&self, state: &StateDir, run: &RunId) -> Result<(), MirrorError> {
        let folder = state.run_dir(run);
        let to = folder.join(FAR_FILE);
        let written = fs::create_dir_all(&folder).and_then(|()| replace(&to, &serde_json::to_vec_pretty(self)?));
        written.map_err(|source| MirrorError::Disk { path: to, source })
    }
}

/// Why a record could not be copied.
#[derive(Debug, Error)]
pub enum MirrorError {
    /// The connection broke, or the far end could not read its record.
    #[error("get the record")]
    Link(#[from] LinkError),
    /// The record here cannot be written.
    #[error("write the record here")]
    Store(#[from] StoreError),
    /// The state directory here cannot be used.
    #[error("use the state directory here")]
    State(#[from] StateError),
    /// A file here cannot be written.
    #[error("write {}", .path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// An event that arrived is none.
    #[error("read an event of {run}")]
    Unreadable {
        /// Its run.
        run: String,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// A file is another one than was announced.
    #[error("{} arrived with another hash than it has there", .0.display())]
    Hash(PathBuf),
}

/// The near side of a copy.
pub struct Mirror<'a> {
    /// The state directory here.
    pub state: &'a StateDir,
    /// Its record.
    pub store: &'a mut Store,
    /// The machine that is copied from, as it is kept.
    pub address: String,
}

impl Mirror<'_> {
    /// Copies events that have come since; gives the runs that have any.
    ///
    /// # Errors
    /// The link breaks, or the record cannot be written; what has arrived stays.
    pub fn events(&mut self, link: &mut Link) -> Result<Vec<RunId>, MirrorError> {
        let (told, _) = link.ask(&Ask::Runs, &[])?;
        let Told::Runs(runs) = told else { return Err(LinkError::Confused.into()) };
        let mut changed = Vec::new();
        // Oldest first, so that the newest run there is the newest here.
        for far in runs.iter().rev() {
            let id = RunId(far.id.clone());
            let mut have = self.have(&id)?;
            if have < far.events {
                let ran = self.ran_on(far, link)?;
                while have < far.events {
                    let arrived = self.page(far, have, &ran, link)?;
                    if arrived == 0 {
                        break;
                    }
                    have += arrived;
                }
                changed.push(id);
            }
        }
        Ok(changed)
    }

    /// Copies what runs keep in files, of all runs that have ended and whose files have not arrived; those of a run that goes on still grow.
    ///
    /// # Errors
    /// As [`Mirror::events`]; a file whose hash is another is not kept.
    pub fn files(&mut self, link: &mut Link) -> Result<(), MirrorError> {
        let (told, _) = link.ask(&Ask::Runs, &[])?;
        let Told::Runs(runs) = told else { return Err(LinkError::Confused.into()) };
        for far in runs {
            let id = RunId(far.id.clone());
            if self.store.run(&id)?.is_none_or(|run| run.status == RunStatus::Running) {
                continue;
            }
            let mut ran = self.ran_on(&far, link)?;
            if ran.complete == Some(far.events) {
                continue;
            }
            let (told, _) = link.ask(&Ask::Kept { run: far.id.clone() }, &[])?;
            let Told::Kept(files) = told else { return Err(LinkError::Confused.into()) };
            files.iter().try_for_each(|file| self.file(file, link))?;
            ran.complete = Some(far.events);
            ran.keep(self.state, &id)?;
        }
        Ok(())
    }

    /// Events of a run that are here.
    fn have(&self, run: &RunId) -> Result<u64, MirrorError> {
        match self.store.event_count(run) {
            Ok(count) => Ok(count),
            Err(StoreError::UnknownRun { .. }) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// Where a run ran; settled with its first event.
    fn ran_on(&self, far: &FarRun, link: &Link) -> Result<RanOn, MirrorError> {
        let run = &RunId(far.id.clone());
        let known =
            RanOn::of(self.state, run).map_err(|source| MirrorError::Disk { path: self.state.run_dir(run).join(FAR_FILE), source })?;
        if let Some(known) = known {
            return Ok(known);
        }
        let machine = link.opened().machine.clone();
        let ran = RanOn { address: self.address.clone(), machine, offset: far.clock.unwrap_or(link.offset()), complete: None };
        ran.keep(self.state, run)?;
        Ok(ran)
    }

    /// The next events of a run; gives how many.
    fn page(&mut self, far: &FarRun, after: u64, ran: &RanOn, link: &mut Link) -> Result<u64, MirrorError> {
        let (told, lines) = link.ask(&Ask::Events { run: far.id.clone(), after }, &[])?;
        let Told::Events { count } = told else { return Err(LinkError::Confused.into()) };
        let mut events = Vec::new();
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let event = Event::parse(line).map_err(|source| MirrorError::Unreadable { run: far.id.clone(), source })?;
            events.push(event.by_clock(|time| TimeNs(ran.offset.here(time.0))));
        }
        if after == 0 {
            let record = RunRecord {
                id: RunId(far.id.clone()),
                file: file_there(&self.address, &path(&far.file)),
                spec_sha256: far.spec_sha256.clone(),
                created: TimeNs(ran.offset.here(far.created_ns)),
                status: RunStatus::Running,
            };
            self.store.create_run(&record, &events)?;
        } else {
            self.store.append_all(&events)?;
        }
        Ok(count)
    }

    /// One file, unless it is here.
    fn file(&self, file: &KeptFile, link: &mut Link) -> Result<(), MirrorError> {
        let to = self.state.path().join(&file.path);
        let disk = |source| MirrorError::Disk { path: to.clone(), source };
        if to.metadata().is_ok_and(|found| found.len() == file.length) && hash(&to, link)? == file.sha256 {
            return Ok(());
        }
        fs::create_dir_all(to.parent().unwrap_or(Path::new("."))).map_err(disk)?;
        let part = unfinished(&to);
        let mut writing = OpenOptions::new().create(true).append(true).open(&part).map_err(disk)?;
        let mut have = writing.metadata().map_err(disk)?.len();
        while have < file.length {
            let (told, bytes) = link.ask(&Ask::Part { path: file.path.clone(), from: have }, &[])?;
            if told != Told::Part || bytes.is_empty() {
                break;
            }
            writing.write_all(&bytes).map_err(disk)?;
            have += bytes.len() as u64;
        }
        writing.sync_data().map_err(disk)?;
        if hash(&part, link)? != file.sha256 {
            fs::remove_file(&part).map_err(disk)?;
            return Err(MirrorError::Hash(file.path.clone()));
        }
        fs::rename(&part, &to).map_err(disk)
    }
}

/// Hashes a file of the record here. It may take as long as one of gigabytes needs: the link is kept alive meanwhile, and a signal ends it.
fn hash(file: &Path, link: &mut Link) -> Result<String, MirrorError> {
    let mut stopped = None;
    let hashed = output::sha256_file_with(file, &mut || {
        link.breathe().map_err(|error| {
            stopped = Some(error);
            io::Error::from(io::ErrorKind::ConnectionAborted)
        })
    });
    match stopped {
        Some(error) => Err(error.into()),
        None => hashed.map_err(|source| MirrorError::Disk { path: file.to_owned(), source }),
    }
}

/// How a record here names an experiment file there: a run of this machine is never taken for one of another, nor the other way round.
#[must_use]
pub fn file_there(address: &str, file: &Path) -> PathBuf {
    let mut named = std::ffi::OsString::from(address);
    named.push(file);
    PathBuf::from(named)
}

/// Whether a record here names an experiment file there as what this file is sent as: it keeps its name.
#[must_use]
pub fn is_sent_as(recorded: &Path, file: &Path) -> bool {
    recorded.to_string_lossy().starts_with(SCHEME) && recorded.file_name() == file.file_name()
}
