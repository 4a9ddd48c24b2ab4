//! The journal's own files: records, copies, the lock; everything written there is durable before the call returns.
//!
//! `STATE/edits/format` holds the format, `lock` is locked by who works on the journal, `ID.json` is a record,
//! `ID.before`, `ID.after`, `ID.from`, `ID.to` and `ID.bytecode-N` are copies of bytes, `GROUP.kept` says that a group of edits stays.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::record::{FORMAT, Record, Version};
use crate::encode;
use crate::error::EditError;
use crate::steps::Steps;

/// So long a lock is waited for.
const LOCK_WAIT: Duration = Duration::from_secs(30);
/// So many undone edits are kept for `status`.
const KEPT: usize = 256;

/// The folder of the journal.
#[derive(Clone)]
pub(crate) struct Disk {
    /// The state directory that the journal is in.
    pub(crate) state_dir: PathBuf,
    root: PathBuf,
    pub(crate) steps: Arc<dyn Steps>,
}

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "it is held, not read")] File);

impl Disk {
    /// Looks at the folder, which need not be there, and refuses a newer format.
    pub(crate) fn open(state_dir: &Path, steps: Arc<dyn Steps>) -> Result<Self, EditError> {
        let state_dir = without_links(&std::path::absolute(state_dir).map_err(EditError::io("find", state_dir))?);
        let disk = Self { root: state_dir.join("edits"), state_dir, steps };
        let path = disk.root.join("format");
        match fs::read_to_string(&path) {
            Ok(text) => match text.trim().parse() {
                Ok(found) if found > FORMAT => Err(EditError::NewerFormat { path, found, known: FORMAT }),
                // An empty or foreign file cannot be ours: ours is renamed into place. The records say their format too.
                _ => Ok(disk),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(disk),
            Err(error) => Err(EditError::io("read", &path)(error)),
        }
    }

    /// Tells whether there is a journal at all.
    pub(crate) fn exists(&self) -> bool {
        self.root.join("format").exists()
    }

    /// Makes the folder where it is not there, and waits until no other process works on the journal.
    pub(crate) fn create(&self) -> Result<Lock, EditError> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(&self.root).map_err(EditError::io("create", &self.root))?;
        let lock = self.lock()?;
        if !self.exists() {
            write_durable(&self.root.join("format"), format!("{FORMAT}\n").as_bytes(), &*self.steps)?;
        }
        Ok(lock)
    }

    /// Waits until no other process works on the journal.
    pub(crate) fn lock(&self) -> Result<Lock, EditError> {
        lock(&self.root.join("lock"), FlockOperation::NonBlockingLockExclusive)
    }

    /// Waits until no other process changes the journal.
    pub(crate) fn lock_for_reading(&self) -> Result<Lock, EditError> {
        lock(&self.root.join("lock"), FlockOperation::NonBlockingLockShared)
    }

    /// Reads all records, oldest first.
    pub(crate) fn load(&self) -> Result<Vec<Record>, EditError> {
        let mut records: Vec<Record> = Vec::new();
        for path in self.files()? {
            if path.extension().is_some_and(|kind| kind == "json") {
                records.push(self.with_commit(read_json(&path)?));
            }
        }
        records.sort_by_key(|record| record.seq);
        Ok(records)
    }

    /// A record whose group is committed is kept, whether or not that was written into it.
    fn with_commit(&self, mut record: Record) -> Record {
        record.kept |= record.group.as_ref().is_some_and(|group| self.commit_path(group).exists());
        record
    }

    /// Says for good that the edits of a group stay.
    pub(crate) fn commit(&self, group: &str) -> Result<(), EditError> {
        write_durable(&self.commit_path(group), b"", &*self.steps)
    }

    /// Takes away what says so, when every record does.
    pub(crate) fn uncommit(&self, group: &str) -> Result<(), EditError> {
        remove(&self.commit_path(group)).map(|_| ())
    }

    fn commit_path(&self, group: &str) -> PathBuf {
        self.root.join(format!("{group}.kept"))
    }

    /// Reads one record; `None` where there is none.
    pub(crate) fn load_one(&self, id: &str) -> Result<Option<Record>, EditError> {
        let path = self.record_path(id);
        if path.exists() { read_json(&path).map(|record| Some(self.with_commit(record))) } else { Ok(None) }
    }

    /// Writes a record.
    pub(crate) fn save(&self, record: &Record) -> Result<(), EditError> {
        let path = self.record_path(&record.id);
        write_durable(&path, &to_json(&path, record)?, &*self.steps)
    }

    /// Takes a record away, and its copies.
    pub(crate) fn forget(&self, id: &str) -> Result<(), EditError> {
        let path = self.record_path(id);
        remove(&path)?;
        sync_folder(&self.root)?;
        self.drop_copies(id)
    }

    /// The path of a copy.
    pub(crate) fn copy_path(&self, id: &str, kind: &str) -> PathBuf {
        self.root.join(format!("{id}.{kind}"))
    }

    /// Keeps a copy of bytes.
    pub(crate) fn write_copy(&self, id: &str, kind: &str, bytes: &[u8]) -> Result<(), EditError> {
        write_durable(&self.copy_path(id, kind), bytes, &*self.steps)
    }

    /// Reads a copy and checks that it is the one that the record means.
    pub(crate) fn read_copy(&self, id: &str, kind: &str, version: &Version) -> Result<Vec<u8>, EditError> {
        let path = self.copy_path(id, kind);
        let bytes = fs::read(&path).map_err(EditError::io("read the journal's copy", &path))?;
        if encode::sha256(&bytes) == version.sha256 { Ok(bytes) } else { Err(EditError::DamagedCopy { path }) }
    }

    /// Takes the copies of one edit away.
    pub(crate) fn drop_copies(&self, id: &str) -> Result<(), EditError> {
        for path in self.files()? {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name.strip_prefix(id).is_some_and(|rest| rest.starts_with('.') && rest != ".json") {
                remove(&path)?;
            }
        }
        Ok(())
    }

    /// Takes away what a killed process left half-written, copies that no live edit needs, and the oldest records of
    /// undone edits.
    pub(crate) fn sweep(&self, records: &[Record]) -> Result<(), EditError> {
        for record in records.iter().filter(|record| record.group.as_ref().is_some_and(|group| self.commit_path(group).exists())) {
            self.save(record)?;
        }
        for path in self.files()? {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let (id, kind) = name.split_once('.').unwrap_or((name, ""));
            let needed = matches!(kind, "" | "json") || records.iter().any(|record| record.id == id && record.is_active());
            if !needed || kind.ends_with("tmp") {
                remove(&path)?;
            }
        }
        let undone: Vec<&Record> = records.iter().filter(|record| !record.is_active()).collect();
        for record in undone.iter().take(undone.len().saturating_sub(KEPT)) {
            remove(&self.record_path(&record.id))?;
        }
        Ok(())
    }

    fn record_path(&self, id: &str) -> PathBuf {
        self.root.join(format!("{id}.json"))
    }

    fn files(&self) -> Result<Vec<PathBuf>, EditError> {
        list(&self.root)
    }
}

/// The path without links, as far as it is there.
fn without_links(path: &Path) -> PathBuf {
    let there = path.ancestors().find_map(|above| Some((above, fs::canonicalize(above).ok()?)));
    match there.and_then(|(above, real)| Some(real.join(path.strip_prefix(above).ok()?))) {
        // Joining nothing would add a slash.
        Some(real) => real.components().collect(),
        None => path.to_path_buf(),
    }
}

/// The files of a folder, sorted; none where there is no folder.
pub(crate) fn list(folder: &Path) -> Result<Vec<PathBuf>, EditError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(EditError::io("list", folder)(error)),
    };
    let mut found =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>().map_err(EditError::io("list", folder))?;
    found.sort();
    Ok(found)
}

/// Takes and keeps a lock, which is made where it is not there.
pub(crate) fn lock(path: &Path, kind: FlockOperation) -> Result<Lock, EditError> {
    let file = match OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path) {
        // Who may only read can still wait for the others.
        Err(error) if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) => File::open(path),
        other => other,
    }
    .map_err(EditError::io("lock", path))?;
    let started = Instant::now();
    loop {
        match flock(&file, kind) {
            Ok(()) => return Ok(Lock(file)),
            Err(rustix::io::Errno::WOULDBLOCK) if started.elapsed() < LOCK_WAIT => std::thread::sleep(Duration::from_millis(5)),
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(EditError::Busy { lock: path.to_path_buf() }),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(EditError::io("lock", path)(error.into())),
        }
    }
}

/// Writes a file so that after a power loss it is there whole, or not at all.
pub(crate) fn write_durable(path: &Path, bytes: &[u8], steps: &dyn Steps) -> Result<(), EditError> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".tmp");
    let temporary = path.with_file_name(name);
    let written = || -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
        steps.reached("a file of the journal is created")?;
        let (first, second) = bytes.split_at(bytes.len() / 2);
        file.write_all(first)?;
        steps.reached("a file of the journal is half written")?;
        file.write_all(second)?;
        file.sync_all()?;
        steps.reached("a file of the journal is written")?;
        fs::rename(&temporary, path)?;
        steps.reached("a file of the journal has its name")
    };
    if let Err(error) = written() {
        // On a full disk every byte counts; the error that matters is the first.
        let _ = fs::remove_file(&temporary);
        return Err(EditError::io("write", path)(error));
    }
    sync_folder(path.parent().unwrap_or(Path::new("/")))?;
    steps.reached("a file of the journal is durable").map_err(EditError::io("write", path))
}

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), EditError> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(EditError::io("make durable", folder))
}

/// Removes a file; one that is not there is no error.
pub(crate) fn remove(path: &Path) -> Result<bool, EditError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(false),
        Err(error) => Err(EditError::io("remove", path)(error)),
    }
}

/// Writes a value as JSON.
pub(crate) fn to_json(path: &Path, value: &impl Serialize) -> Result<Vec<u8>, EditError> {
    serde_json::to_vec_pretty(value).map_err(|source| EditError::Damaged { path: path.to_path_buf(), source })
}

/// Reads a value with a format from JSON.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, EditError> {
    let bytes = fs::read(path).map_err(EditError::io("read", path))?;
    let damaged = |source| EditError::Damaged { path: path.to_path_buf(), source };
    let value: serde_json::Value = serde_json::from_slice(&bytes).map_err(damaged)?;
    let found = value.get("format").and_then(serde_json::Value::as_u64).unwrap_or(0);
    if found > FORMAT.into() {
        let found = u32::try_from(found).unwrap_or(u32::MAX);
        return Err(EditError::NewerFormat { path: path.to_path_buf(), found, known: FORMAT });
    }
    serde_json::from_value(value).map_err(damaged)
}
