//! Whether the program is still the one that the run started with: the files that its command names, looked at before and after each trial.
//!
//! Trials of two programs are never put together. A look costs little: a file is only read again where its metadata are others than before.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use bystander_lab::cause::Contamination;
use bystander_lab::place::{Emit, RecordRefused};
use bystander_lab::plan::Plan;
use bystander_model::event::EventBody;
use bystander_model::evidence::Evidence;
use bystander_model::ids::TrialId;
use indexmap::IndexMap;

use super::check::fingerprint;

/// Files that hold code or settings, by their extension. Others that a command names may be what the program writes.
const CODE: [&str; 22] = [
    "py", "pyi", "sh", "bash", "toml", "yaml", "yml", "ini", "cfg", "conf", "js", "mjs", "ts", "rb", "pl", "lua", "r", "jl", "php", "jar",
    "so", "exe",
];

/// Times of files are not finer than this, in milliseconds.
const SETTLED_MS: i128 = 50;

/// The files of a program.
#[derive(Debug, Default)]
pub(super) struct ProgramFiles(Mutex<Vec<Known>>);

#[derive(Debug)]
struct Known {
    name: String,
    path: PathBuf,
    hash: String,
    /// Its metadata when it was last seen to be the same; `None` where it was not looked at since.
    stamp: Option<Stamp>,
    /// Whether it is no file that the program may write.
    is_code: bool,
}

/// Every file of it with what changes when it is written or replaced.
type Stamp = Vec<(PathBuf, [u64; 3], [i64; 4])>;

/// A file that is not as it was.
#[derive(Debug)]
pub(super) struct Change {
    name: String,
    is_code: bool,
    /// When it was written; `None` where it is gone.
    modified: Option<SystemTime>,
}

impl ProgramFiles {
    /// The files that the command of a plan names, as they are in the fingerprint of its run.
    pub(super) fn of(plan: &Plan, fingerprint: &IndexMap<String, String>) -> Self {
        let known = fingerprint::named(plan).into_iter().enumerate().filter_map(|(at, (name, path))| {
            let hash = fingerprint.get(&name)?.clone();
            let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
            let is_code = at == 0 || path.is_dir() || extension.is_some_and(|extension| CODE.contains(&extension.as_str()));
            Some(Known { name, path, hash, stamp: None, is_code })
        });
        Self(Mutex::new(known.collect()))
    }

    /// The first file that is not as it was when the run started.
    pub(super) fn changed(&self) -> Option<Change> {
        self.lock().iter_mut().find_map(|known| {
            // Before the file is read: what is written meanwhile has other metadata.
            let now = stamp(&known.path);
            if now.is_some() && now == known.stamp {
                return None;
            }
            if fingerprint::hash(&known.path).as_ref() == Some(&known.hash) {
                known.stamp = now.filter(is_settled);
                return None;
            }
            let modified = fs::metadata(&known.path).and_then(|metadata| metadata.modified()).ok();
            Some(Change { name: known.name.clone(), is_code: known.is_code, modified })
        })
    }

    /// What makes a trial no data point: the program changed while it ran. A file that is no code and was written meanwhile is one that the program writes.
    pub(super) fn changed_during(&self, trial: TrialId, emit: &mut Emit<'_>) -> Result<Option<Contamination>, RecordRefused> {
        while let Some(change) = self.changed() {
            let name = &change.name;
            if change.is_code {
                let text = format!("{name} {} while this trial ran: with which of the two it ran cannot be told", change.what());
                let evidence = vec![Evidence::sample(trial, name, &text)];
                return Ok(Some(Contamination { class: "program.changed".to_owned(), text, evidence }));
            }
            let text = format!(
                "{name}, which the command names, {} while the trial ran: it is taken for a file that the program writes",
                change.what()
            );
            emit(EventBody::Note { text })?;
            self.lock().retain(|known| known.name != *name);
        }
        Ok(None)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Change {
    fn what(&self) -> &'static str {
        if self.modified.is_some() { "changed" } else { "was removed" }
    }

    /// Why no trial is made any more.
    pub(super) fn stops(&self, trial: TrialId) -> String {
        let Self { name, modified, .. } = self;
        let ago = modified.and_then(|time| time.elapsed().ok());
        let when = ago.map_or_else(String::new, |ago| format!(", {} s before trial {trial} was to start", ago.as_secs()));
        format!(
            "the program is another one: {name} {} since the run started{when}; every trial that counts ran with it as it was, and none is made with another; undo the change to go on \
             with this run, or start anew with `--new`",
            self.what()
        )
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let of = |path: &Path| fs::metadata(path).ok().map(|metadata| stamp_of(path, &metadata));
    if path.is_dir() { fingerprint::files(path)?.iter().map(|file| of(file)).collect() } else { Some(vec![of(path)?]) }
}

/// Whether a later write must have another time: of two writes of one moment both may have the same.
fn is_settled(stamp: &Stamp) -> bool {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_millis());
    let ms = |seconds: i64, ns: i64| i128::from(seconds) * 1000 + i128::from(ns) / 1_000_000;
    stamp.iter().all(|(_, _, [written, written_ns, changed, changed_ns])| {
        i128::try_from(now).unwrap_or(0) - ms(*written, *written_ns).max(ms(*changed, *changed_ns)) > SETTLED_MS
    })
}

fn stamp_of(path: &Path, of: &Metadata) -> (PathBuf, [u64; 3], [i64; 4]) {
    (path.to_owned(), [of.dev(), of.ino(), of.size()], [of.mtime(), of.mtime_nsec(), of.ctime(), of.ctime_nsec()])
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use bystander_model::event::EventBody;
    use bystander_model::ids::TrialId;

    use super::{Known, Mutex, ProgramFiles, fingerprint};

    fn files(all: &[(&Path, bool)]) -> ProgramFiles {
        let known = all.iter().map(|(path, is_code)| Known {
            name: path.file_name().expect("a name").to_string_lossy().into_owned(),
            path: path.to_path_buf(),
            hash: fingerprint::hash(path).expect("is readable"),
            stamp: None,
            is_code: *is_code,
        });
        ProgramFiles(Mutex::new(known.collect()))
    }

    fn during(files: &ProgramFiles) -> (Option<String>, Vec<String>) {
        let mut notes = Vec::new();
        let mut emit = |body: EventBody| {
            notes.extend(if let EventBody::Note { text } = body { Some(text) } else { None });
            Ok(())
        };
        let found = files.changed_during(TrialId(4), &mut emit).expect("is recorded");
        (found.map(|found| found.text), notes)
    }

    #[test]
    fn a_program_that_changed_is_told_until_the_change_is_undone() {
        let world = tempfile::tempdir().expect("temporary directory");
        let path = world.path().join("q.py");
        fs::write(&path, "print('tok=1')").expect("writes");
        let files = files(&[(&path, true)]);
        assert!(files.changed().is_none() && files.changed().is_none());
        fs::write(&path, "print('tok=2')").expect("writes");
        let told = files.changed().expect("it changed").stops(TrialId(5));
        assert!(told.contains(": q.py changed since the run started, 0 s before trial 5 was to start"), "{told}");
        assert!(during(&files).0.is_some_and(|text| text.starts_with("q.py changed while this trial ran")));
        fs::write(&path, "print('tok=1')").expect("writes");
        assert!(files.changed().is_none(), "what counts is what it holds");
        fs::remove_file(&path).expect("removes");
        assert!(files.changed().is_some_and(|change| change.what() == "was removed"));
    }

    #[test]
    fn a_module_changes_with_any_of_its_files() {
        let world = tempfile::tempdir().expect("temporary directory");
        let module = world.path().join("pkg");
        fs::create_dir(&module).expect("makes a folder");
        fs::write(module.join("__init__.py"), "").expect("writes");
        let files = files(&[(&module, true)]);
        fs::write(module.join("data.txt"), "x").expect("writes");
        assert!(files.changed().is_none());
        fs::write(module.join("more.py"), "x = 1").expect("writes");
        assert!(files.changed().is_some());
    }

    #[test]
    fn a_file_that_the_program_writes_is_none_of_its_own() {
        let world = tempfile::tempdir().expect("temporary directory");
        let path = world.path().join("result.json");
        fs::write(&path, "1").expect("writes");
        let files = files(&[(&path, false)]);
        fs::write(&path, "2").expect("writes");
        let (found, notes) = during(&files);
        assert!(found.is_none() && notes.len() == 1 && notes[0].contains("a file that the program writes"), "{notes:?}");
        fs::write(&path, "3").expect("writes");
        assert!(files.changed().is_none() && during(&files).1.is_empty());
    }
}
