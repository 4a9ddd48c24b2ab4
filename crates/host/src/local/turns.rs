//! Turns at files and folders: while one run has an edit on a file, no other run of this user launches a program that may load it, or takes the
//! file for what it was before.
//!
//! A program may load what its plan instruments, what lies in its working directory, and what lies where it and its interpreter are installed. So
//! whoever *uses* a path keeps others from *editing* it or anything in it, and the other way round; two may use it, and two may edit
//! different files in it. A GPU is had by one trial alone. A turn is a set of locks that the kernel ends with its process. That another program on the
//! machine loads an edited file is not told, and neither is that another user's run has a GPU: its memory is seen before the launch all the same.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bystander_lab::plan::Plan;
use bystander_model::cell::Cell;
use bystander_model::probe::Delivery;
use bystander_probe::CheckedProbe;
use bystander_supervise::Canceller;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use crate::proof::hex;

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(10);

/// The folder that GPUs are said to lie in: they have turns like files.
const GPUS: &str = "/gpu";

/// What somebody else is doing with a path that has to be waited for.
pub(super) fn taken(path: &Path) -> String {
    match path.strip_prefix(GPUS) {
        Ok(uuid) => format!("another trial uses {}", uuid.display()),
        Err(_file) => format!("another trial uses or edits {}", path.display()),
    }
}

/// Waits that are shorter are not told.
const WORTH_TELLING: Duration = Duration::from_millis(100);

/// What came of the wait for turns.
pub(super) enum Turn {
    /// They are held until this is dropped.
    Held(#[expect(dead_code, reason = "a lock is held by being there")] Vec<File>),
    /// Somebody else has this file or folder, and the wait was ended.
    Waited(PathBuf),
}

/// What is done with a path: it or something in it is used as it stands, it or something in it is changed, or both.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Part {
    uses: bool,
    edits: bool,
}

/// The files and folders of which turns are wanted.
#[derive(Debug, Default)]
pub(super) struct Wanted(BTreeMap<PathBuf, Part>);

impl Wanted {
    /// What looking at files needs.
    pub(super) fn of_files<'a>(files: impl Iterator<Item = &'a Path>) -> Self {
        let mut wanted = Self::default();
        files.for_each(|file| wanted.uses(file));
        wanted
    }

    /// What a look at a plan needs: every file that it edits, as it stands.
    pub(super) fn of_plan(plan: &Plan) -> Self {
        Self::of_files(plan.edits.iter().map(|edit| edit.file.as_path()))
    }

    /// What a launch of a cell needs: the files that it edits for itself, the other instrumented ones and the folders that its program loads from
    /// as they stand.
    pub(super) fn of_cell(plan: &Plan, cell: &Cell, probes: &[CheckedProbe], folders: &[PathBuf]) -> Self {
        let mut wanted = Self::of_plan(plan);
        probes.iter().for_each(|probe| wanted.uses(&probe.path));
        folders.iter().for_each(|folder| wanted.uses(folder));
        // What goes in by a mount of the program's own changes nothing for others.
        plan.edits_of(cell).filter(|edit| edit.delivery != Delivery::Mount).for_each(|edit| wanted.edits(&edit.file));
        wanted
    }

    /// What a launch needs that uses GPUs, too: each of them alone.
    pub(super) fn with_gpus(mut self, uuids: &[String]) -> Self {
        self.0.extend(uuids.iter().map(|uuid| (Path::new(GPUS).join(uuid), Part { uses: true, edits: true })));
        self
    }

    fn uses(&mut self, path: &Path) {
        // A file that is not there was refused with its edit.
        if let Ok(path) = path.canonicalize() {
            self.0.entry(path).or_default().uses = true;
        }
    }

    fn edits(&mut self, file: &Path) {
        let Ok(file) = file.canonicalize() else { return };
        for path in file.ancestors() {
            self.0.entry(path.to_owned()).or_default().edits = true;
        }
        self.uses(&file);
    }

    /// Waits for all turns, at most until a time; `waiting` is told once of each path that somebody else has.
    ///
    /// Paths are taken in the order of their names, so that two runs never wait for each other.
    pub(super) fn take(
        &self,
        folder: &Path,
        until: Option<Instant>,
        canceller: &Canceller,
        mut waiting: impl FnMut(&Path),
    ) -> io::Result<Turn> {
        fs::create_dir_all(folder)?;
        let mut held = Vec::new();
        for (path, part) in &self.0 {
            let locks = Locks::open(folder, path)?;
            let (mut told, since) = (false, Instant::now());
            // Who waits holds the gate, so that those who come later cannot pass for ever.
            let mut gate = None;
            loop {
                if gate.is_none() && try_lock(&locks.gate, FlockOperation::NonBlockingLockExclusive)? {
                    gate = Some(&locks.gate);
                }
                if gate.is_some() && locks.take(*part)? {
                    break;
                }
                // Who only passes by, as another lane does, is not worth a word.
                if !told && since.elapsed() >= WORTH_TELLING {
                    told = true;
                    waiting(path);
                }
                if canceller.is_cancelled() || until.is_some_and(|until| Instant::now() >= until) {
                    return Ok(Turn::Waited(path.clone()));
                }
                std::thread::sleep(PAUSE);
            }
            held.extend([locks.uses, locks.edits]);
        }
        Ok(Turn::Held(held))
    }
}

/// The locks of one path. Whoever uses it holds `uses` shared, whoever edits it `edits` shared, whoever does both holds both alone. Only who holds
/// `gate` may take them.
struct Locks {
    gate: File,
    uses: File,
    edits: File,
}

impl Locks {
    fn open(folder: &Path, path: &Path) -> io::Result<Self> {
        let name = hex(&Sha256::digest(path.as_os_str().as_bytes())[..16]);
        let open = |kind: &str| {
            let file = folder.join(format!("{name}.{kind}"));
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(file)
        };
        Ok(Self { gate: open("gate")?, uses: open("uses")?, edits: open("edits")? })
    }

    /// Takes a part if nobody has one that stands against it.
    fn take(&self, part: Part) -> io::Result<bool> {
        let (share, own) = (FlockOperation::NonBlockingLockShared, FlockOperation::NonBlockingLockExclusive);
        let pair = |first: &File, second: &File, then: FlockOperation| -> io::Result<bool> {
            if !try_lock(first, own)? {
                return Ok(false);
            }
            let taken = try_lock(second, then)?;
            if !(taken && part.uses && part.edits) {
                flock(first, FlockOperation::Unlock)?;
            }
            Ok(taken)
        };
        match part {
            Part { uses: true, edits: false } => pair(&self.edits, &self.uses, share),
            Part { uses: false, edits: true } => pair(&self.uses, &self.edits, share),
            Part { uses: true, edits: true } => pair(&self.uses, &self.edits, own),
            Part { uses: false, edits: false } => Ok(true),
        }
    }
}

/// Tells whether a lock was got.
fn try_lock(file: &File, kind: FlockOperation) -> io::Result<bool> {
    match flock(file, kind) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// The folders that a program loads from: its working directory, and those where its executables are installed (`PREFIX/bin/NAME`).
pub(super) fn folders_of<'a>(cwd: &Path, executables: impl Iterator<Item = &'a Path>) -> Vec<PathBuf> {
    let mut folders = vec![cwd.to_owned()];
    for executable in executables {
        // A virtual environment links to its interpreter: both places are loaded from.
        for path in [Some(executable.to_owned()), executable.canonicalize().ok()].into_iter().flatten() {
            let bin = path.parent().filter(|bin| bin.file_name().is_some_and(|name| name == "bin"));
            folders.extend(bin.and_then(Path::parent).map(Path::to_owned));
        }
    }
    folders
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::time::Instant;

    use bystander_supervise::Canceller;

    use super::{Turn, Wanted, folders_of, taken};

    /// A folder with turns and the files `a/x` and `a/y`.
    struct Place {
        world: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Self {
            let world = tempfile::tempdir().expect("temporary folder");
            fs::create_dir_all(world.path().join("a")).expect("made");
            for file in ["a/x", "a/y"] {
                fs::write(world.path().join(file), "").expect("written");
            }
            Self { world }
        }

        fn path(&self, path: &str) -> PathBuf {
            self.world.path().join(path)
        }

        /// Takes turns without waiting.
        fn take(&self, uses: &[&str], edits: &[&str]) -> Turn {
            let mut wanted = Wanted::default();
            uses.iter().for_each(|path| wanted.uses(&self.path(path)));
            edits.iter().for_each(|path| wanted.edits(&self.path(path)));
            wanted.take(&self.path("turns"), Some(Instant::now()), &Canceller::new(), |_| {}).expect("locks")
        }

        fn waits_for(&self, path: &str, uses: &[&str], edits: &[&str]) -> bool {
            matches!(self.take(uses, edits), Turn::Waited(held) if held == self.path(path).canonicalize().expect("there"))
        }
    }

    fn is_held(turn: &Turn) -> bool {
        matches!(turn, Turn::Held(_))
    }

    #[test]
    fn a_file_is_changed_by_one_alone_and_used_by_many() {
        let place = Place::new();
        let reader = place.take(&["a/x"], &[]);
        assert!(is_held(&reader) && is_held(&place.take(&["a/x"], &[])));
        assert!(place.waits_for("a/x", &[], &["a/x"]));
        drop(reader);
        let writer = place.take(&[], &["a/x"]);
        assert!(is_held(&writer) && place.waits_for("a/x", &["a/x"], &[]) && place.waits_for("a/x", &[], &["a/x"]));
        drop(writer);
        assert!(is_held(&place.take(&[], &["a/x"])));
    }

    #[test]
    fn an_edit_waits_for_programs_that_run_in_a_folder_above_it_and_they_for_it() {
        let place = Place::new();
        let runs = place.take(&["a"], &[]);
        assert!(is_held(&runs) && place.waits_for("a", &[], &["a/x"]), "an edit in a folder that is in use");
        drop(runs);
        let editor = place.take(&[], &["a/x"]);
        assert!(place.waits_for("a", &["a"], &[]), "a program in a folder with an edit");
        assert!(is_held(&place.take(&["a/y"], &[])), "a file beside the edit");
        let other = place.take(&[], &["a/y"]);
        assert!(is_held(&other), "an edit beside the edit");
        assert!(place.waits_for("a", &["a"], &["a/y"]), "a program with an edit of its own, beside the edit of another");
        drop((editor, other));
        let both = place.take(&["a"], &["a/x"]);
        assert!(is_held(&both), "its own edit is in nobody's way");
        assert!(place.waits_for("a", &["a"], &[]) && place.waits_for("a", &[], &["a/y"]) && place.waits_for("a", &["a"], &["a/y"]));
    }

    #[test]
    fn a_gpu_is_had_by_one_alone_whatever_else_is_wanted() {
        let place = Place::new();
        let take = |uuids: &[&str]| {
            let uuids: Vec<String> = uuids.iter().map(|&uuid| uuid.to_owned()).collect();
            Wanted::default().with_gpus(&uuids).take(&place.path("turns"), Some(Instant::now()), &Canceller::new(), |_| {}).expect("locks")
        };
        let both = take(&["GPU-1", "GPU-2"]);
        assert!(is_held(&both) && is_held(&take(&["GPU-3"])) && is_held(&take(&[])));
        let Turn::Waited(path) = take(&["GPU-3", "GPU-2"]) else { panic!("GPU-2 is taken") };
        assert_eq!(taken(&path), "another trial uses GPU-2");
        assert_eq!(taken(Path::new("/a/x")), "another trial uses or edits /a/x");
        drop(both);
        assert!(is_held(&take(&["GPU-2", "GPU-3"])));
    }

    #[test]
    fn the_wait_ends_when_the_user_asks_for_it() {
        let place = Place::new();
        let _writer = place.take(&[], &["a/x"]);
        let canceller = Canceller::new();
        let wanted = Wanted::of_files([place.path("a/x").as_path()].into_iter());
        let mut told = 0;
        let waited = wanted.take(&place.path("turns"), None, &canceller, |_| {
            told += 1;
            canceller.cancel();
        });
        assert!(matches!(waited, Ok(Turn::Waited(_))) && told == 1);
    }

    #[test]
    fn who_waits_is_not_passed_by_those_who_come_later() {
        let place = Place::new();
        let reader = place.take(&["a"], &[]);
        let canceller = Canceller::new();
        std::thread::scope(|scope| {
            let (told, is_told) = std::sync::mpsc::channel();
            let (turns, file) = (place.path("turns"), place.path("a/x"));
            let cancel = canceller.clone();
            let waiter = scope.spawn(move || {
                let mut wanted = Wanted::default();
                wanted.edits(&file);
                wanted.take(&turns, None, &cancel, |_| told.send(()).expect("is heard"))
            });
            is_told.recv().expect("it waits");
            assert!(place.waits_for("a", &["a"], &[]), "a reader that comes later");
            drop(reader);
            assert!(matches!(waiter.join().expect("no panic"), Ok(Turn::Held(_))));
        });
    }

    #[test]
    fn a_program_loads_from_its_folder_and_from_where_it_is_installed() {
        let place = Place::new();
        for folder in ["venv/bin", "base/bin"] {
            fs::create_dir_all(place.path(folder)).expect("made");
        }
        fs::write(place.path("base/bin/python3.11"), "").expect("written");
        std::os::unix::fs::symlink(place.path("base/bin/python3.11"), place.path("venv/bin/python")).expect("linked");
        let python = place.path("venv/bin/python");
        let base = place.path("base").canonicalize().expect("there");
        assert_eq!(folders_of(Path::new("/work"), [python.as_path()].into_iter()), [PathBuf::from("/work"), place.path("venv"), base]);
        assert_eq!(folders_of(Path::new("/work"), [place.path("a/x").as_path()].into_iter()), [PathBuf::from("/work")]);
    }
}
