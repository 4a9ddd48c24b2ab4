//! Reads an archive: every member against the manifest, the events into a record of their own that nobody else sees.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use bystander_model::archive::{ARCHIVE_FORMAT, Manifest, Member};
use bystander_model::event::Event;
use bystander_model::ids::{RunId, TimeNs};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use tar::{Archive, EntryType};

use super::pack::{HashReader, lines};
use super::{ArchiveError, EVENTS, FAR, MANIFEST, is_plain, limits};
use crate::output::hex;
use crate::record::Store;
use crate::runs::{RunRecord, RunStatus};

/// Events are put into the record so many at a time.
const BATCH: usize = 1000;

/// A run from an archive. Its record is a private one, which is gone with this value, and nothing of it has a name on a disk.
#[derive(Debug)]
pub struct Opened {
    /// The archive.
    pub path: PathBuf,
    /// What is in it.
    pub manifest: Manifest,
    /// The record with the run's events.
    pub store: Store,
    /// The run.
    pub run: RunRecord,
    /// The member [`FAR`], where there is one.
    pub far: Option<Vec<u8>>,
}

impl Opened {
    /// Reads and checks a whole archive.
    ///
    /// # Errors
    /// It is damaged, of a newer version, or holds what an archive of a run does not hold.
    pub fn read(path: &Path) -> Result<Self, ArchiveError> {
        let file = File::open(path).map_err(|source| ArchiveError::Io { path: path.to_owned(), source })?;
        let mut reading = Reading { path, far: None };
        let mut decoder = zstd::Decoder::new(BufReader::new(file)).map_err(|error| reading.damaged(error))?;
        decoder.window_log_max(limits::WINDOW_LOG).map_err(|error| reading.damaged(error))?;
        let mut archive = Archive::new(decoder);
        let mut entries = archive.entries().map_err(|error| reading.damaged(error))?.raw(true);
        let first = entries.next().ok_or_else(|| reading.refused("it is empty"))?.map_err(|error| reading.damaged(error))?;
        let (manifest, folder) = reading.manifest(first)?;
        let run = run_of(&manifest);
        let mut store = Store::scratch()?;
        store.create_run(&run, &[])?;
        let mut names = manifest.members.iter();
        for entry in entries {
            let entry = entry.map_err(|error| reading.damaged(error))?;
            let member = names.next().ok_or_else(|| reading.refused("it holds more than its manifest names"))?;
            reading.check_head(&entry, &format!("{folder}/{}", member.name), member.bytes)?;
            reading.member(entry, member, &run.id, &mut store)?;
        }
        match names.next() {
            Some(member) => Err(reading.refused(&format!("{} is missing", member.name))),
            None => {
                let run = store.run(&run.id)?.unwrap_or(run);
                Ok(Self { path: path.to_owned(), manifest, store, run, far: reading.far })
            }
        }
    }
}

fn run_of(manifest: &Manifest) -> RunRecord {
    RunRecord {
        id: RunId(manifest.run.clone()),
        file: PathBuf::from(&manifest.file),
        spec_sha256: manifest.spec_sha256.clone(),
        created: TimeNs(manifest.created_ns),
        status: RunStatus::Running,
    }
}

/// The part of a manifest that every version has.
#[derive(Deserialize)]
struct Versioned {
    format: u32,
}

/// What is read, for messages; and what was found of where the run ran.
struct Reading<'a> {
    path: &'a Path,
    far: Option<Vec<u8>>,
}

impl Reading<'_> {
    fn damaged(&self, source: io::Error) -> ArchiveError {
        ArchiveError::Damaged { path: self.path.to_owned(), source }
    }

    fn refused(&self, what: &str) -> ArchiveError {
        ArchiveError::Refused { path: self.path.to_owned(), what: what.to_owned() }
    }

    fn unreadable(&self, member: String) -> impl FnOnce(serde_json::Error) -> ArchiveError {
        let path = self.path.to_owned();
        move |source| ArchiveError::Unreadable { path, member, source }
    }

    /// The manifest, and the folder that every member lies in.
    fn manifest(&mut self, entry: tar::Entry<'_, impl Read>) -> Result<(Manifest, String), ArchiveError> {
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let folder = name.strip_suffix(MANIFEST).and_then(|rest| rest.strip_suffix('/')).filter(|folder| is_plain(folder));
        let folder = folder.ok_or_else(|| self.refused(&format!("it begins with {name:?}, not with its manifest")))?.to_owned();
        if entry.size() > limits::MANIFEST {
            return Err(self.refused("its manifest is too long"));
        }
        self.check_head(&entry, &name, entry.size())?;
        let mut text = Vec::new();
        let size = entry.size();
        entry.take(size).read_to_end(&mut text).map_err(|error| self.damaged(error))?;
        let Versioned { format } = serde_json::from_slice(&text).map_err(self.unreadable(MANIFEST.to_owned()))?;
        if format > ARCHIVE_FORMAT {
            return Err(ArchiveError::Newer { path: self.path.to_owned(), found: format, known: ARCHIVE_FORMAT });
        }
        let manifest: Manifest = serde_json::from_slice(&text).map_err(self.unreadable(MANIFEST.to_owned()))?;
        self.check_manifest(&manifest, &folder)?;
        Ok((manifest, folder))
    }

    fn check_manifest(&self, manifest: &Manifest, folder: &str) -> Result<(), ArchiveError> {
        if manifest.run != folder || !is_plain(&manifest.run) || manifest.run.contains('/') {
            return Err(self.refused("its folder is not named after its run"));
        }
        if manifest.members.len() > limits::MEMBERS {
            return Err(self.refused("it names too many members"));
        }
        if let Some(member) = manifest.members.iter().find(|member| !is_plain(&member.name) || member.name == MANIFEST) {
            return Err(self.refused(&format!("it names a member {:?}, which leads elsewhere", member.name)));
        }
        let all = manifest.members.iter().fold(0_u64, |sum, member| sum.saturating_add(member.bytes));
        let events = manifest.members.iter().filter(|member| member.name == EVENTS);
        let (count, bytes) = events.fold((0, 0_u64), |(count, bytes), member| (count + 1, member.bytes.max(bytes)));
        if all > limits::ALL || bytes > limits::EVENTS {
            return Err(self.refused(&format!("it says that it holds {all} bytes, more than any run")));
        }
        if count == 1 { Ok(()) } else { Err(self.refused(&format!("it has {count} members {EVENTS}, not one"))) }
    }

    /// A member must be a plain file of the name and length that the manifest says; its content is not looked at before that is known.
    fn check_head(&self, entry: &tar::Entry<'_, impl Read>, name: &str, bytes: u64) -> Result<(), ArchiveError> {
        let found = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if entry.header().entry_type() != EntryType::Regular {
            return Err(self.refused(&format!("{found:?} is no plain file")));
        }
        if found != name {
            return Err(self.refused(&format!("{found:?} stands where its manifest names {name:?}")));
        }
        if entry.size() != bytes {
            return Err(self.refused(&format!("{found:?} has {} bytes, its manifest says {bytes}", entry.size())));
        }
        Ok(())
    }

    fn member(&mut self, entry: tar::Entry<'_, impl Read>, member: &Member, run: &RunId, store: &mut Store) -> Result<(), ArchiveError> {
        let mut hash = Sha256::new();
        let mut reader = HashReader { from: entry, hash: &mut hash };
        if member.name == EVENTS {
            self.events(&mut reader, run, store)?;
        } else if member.name == FAR && member.bytes <= limits::FAR {
            let mut far = Vec::new();
            reader.read_to_end(&mut far).map_err(|error| self.damaged(error))?;
            self.far = Some(far);
        }
        let rest = io::copy(&mut reader, &mut io::sink()).map_err(|error| self.damaged(error))?;
        debug_assert!(member.name != EVENTS || rest == 0, "every line was read");
        let found = hex(&hash.finalize());
        if found == member.sha256 {
            return Ok(());
        }
        Err(ArchiveError::Changed { path: self.path.to_owned(), member: member.name.clone(), found, packed: member.sha256.clone() })
    }

    fn events(&self, reader: impl Read, run: &RunId, store: &mut Store) -> Result<(), ArchiveError> {
        let mut batch = Vec::with_capacity(BATCH);
        for (number, line) in (1_u64..).zip(lines(reader)) {
            let line = line.map_err(|error| self.damaged(error))?;
            let event: Event = serde_json::from_slice(&line).map_err(self.unreadable(format!("{EVENTS}:{number}")))?;
            if event.run != *run {
                return Err(self.refused(&format!("{EVENTS}:{number} is an event of another run, {:?}", event.run.0)));
            }
            batch.push(event);
            if batch.len() == BATCH {
                store.append_all(&batch)?;
                batch.clear();
            }
        }
        store.append_all(&batch)?;
        Ok(())
    }
}
