//! A temporary folder with a HOME of its own, and everything that runs in it.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::process::{Process, kill, with_variable};
use crate::python::python;
use crate::run::Run;

/// Every process of a world carries this variable with the world's name.
const MARK: &str = "BYSTANDER_TEST_WORLD";
/// Where the command keeps the rings of its trials.
const RINGS: &str = "/dev/shm";

/// A temporary world.
#[derive(Debug)]
pub struct World {
    folder: TempDir,
    name: String,
    command: PathBuf,
    runs: AtomicU32,
    /// The processes that were started, whose rings may be left.
    pids: Arc<Mutex<Vec<u32>>>,
}

static WORLDS: AtomicU32 = AtomicU32::new(0);

impl World {
    /// Makes a world for a command, which is the executable that is tested.
    ///
    /// # Panics
    /// Where there is no room for it.
    #[must_use]
    pub fn new(command: impl Into<PathBuf>) -> Self {
        let folder = tempfile::Builder::new().prefix("bystander-world-").tempdir().expect("a temporary folder");
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let name = format!("{}-{}-{since}", std::process::id(), WORLDS.fetch_add(1, Ordering::SeqCst));
        let world = Self { folder, name, command: command.into(), runs: AtomicU32::new(0), pids: Arc::default() };
        for folder in ["home", "home/.config", "home/.cache", "home/.local/share", "tmp", "runs"] {
            fs::create_dir_all(world.path(folder)).expect("a folder");
        }
        world
    }

    /// A path in it, without links.
    ///
    /// # Panics
    /// Where the world is gone.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.folder.path()).expect("the world").join(name)
    }

    /// Writes a file, with the folders it needs.
    ///
    /// # Panics
    /// Where it cannot be written.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a file in a folder")).expect("a folder");
        fs::write(&path, text).expect("a file");
        path
    }

    /// Writes a file that can be executed.
    ///
    /// # Panics
    /// Where it cannot be written.
    pub fn write_program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.write(name, text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("own file");
        path
    }

    /// Copies a folder with its modification times; without bytecode and without state of the command.
    ///
    /// # Panics
    /// Where it cannot be copied.
    pub fn copy(&self, from: &Path, name: &str) -> PathBuf {
        let to = self.path(name);
        copy(from, &to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
        to
    }

    /// The command with arguments, in this world's environment and folder.
    #[must_use]
    pub fn bystander<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Run {
        self.run(&self.command).args(args)
    }

    /// Any program, in this world's environment and folder.
    #[must_use]
    pub fn run(&self, program: &Path) -> Run {
        let mut command = Command::new(program);
        command.env_clear().envs(self.environment()).current_dir(self.path(""));
        let number = self.runs.fetch_add(1, Ordering::SeqCst);
        Run::new(command, self.path(&format!("runs/{number}")), Arc::clone(&self.pids))
    }

    /// The variables that every program in it gets: nothing of the caller's but where programs are.
    #[must_use]
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let at = |name: &str| self.path(name).display().to_string();
        let mut variables = vec![
            ("HOME", at("home")),
            ("XDG_STATE_HOME", at("home/.local/state")),
            ("XDG_CONFIG_HOME", at("home/.config")),
            ("XDG_CACHE_HOME", at("home/.cache")),
            ("XDG_DATA_HOME", at("home/.local/share")),
            ("TMPDIR", at("tmp")),
            ("PATH", search_path()),
            ("LANG", "C.UTF-8".to_owned()),
            (MARK, self.name.clone()),
        ];
        // Where the caller's programs find their libraries is part of where they are.
        variables.extend(std::env::var("LD_LIBRARY_PATH").ok().map(|path| ("LD_LIBRARY_PATH", path)));
        variables
    }

    /// The living processes of this world.
    #[must_use]
    pub fn processes(&self) -> Vec<Process> {
        with_variable(MARK, &self.name)
    }

    /// The living processes of trials in this world.
    #[must_use]
    pub fn trial_processes(&self) -> Vec<Process> {
        self.processes().into_iter().filter(|process| process.trial.is_some()).collect()
    }

    /// Rings that the command has left in shared memory.
    ///
    /// # Panics
    /// Where shared memory cannot be listed.
    #[must_use]
    pub fn rings(&self) -> Vec<PathBuf> {
        let pids = self.pids.lock().expect("no test panics here");
        let own = |name: &str| pids.iter().any(|pid| name.starts_with(&format!("bystander@{pid}.")));
        let entries = fs::read_dir(RINGS).expect("shared memory").flatten();
        entries.filter(|entry| entry.file_name().to_str().is_some_and(own)).map(|entry| entry.path()).collect()
    }

    /// Entries in this user's registry of live edits.
    #[must_use]
    pub fn registered(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path("home/.local/state/bystander/edits")).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.file_name().is_some_and(|name| name != "lock")).collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // A test that failed leaves processes; they must not disturb the next one.
        for _ in 0..50 {
            let left = self.processes();
            if left.is_empty() {
                break;
            }
            left.iter().for_each(|process| kill(process.pid, Signal::KILL));
            std::thread::sleep(Duration::from_millis(20));
        }
        if !std::thread::panicking() {
            return;
        }
        for ring in self.rings() {
            // Only tidying up after a failure.
            let _ = fs::remove_dir_all(ring);
        }
    }
}

/// PATH with the folder of a real interpreter first: scripts that stand for interpreters depend on HOME.
fn search_path() -> String {
    let inherited = std::env::var("PATH").unwrap_or_default();
    match python() {
        Some(python) => format!("{}:{inherited}", python.folder().display()),
        None => inherited,
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_name() == "__pycache__" || entry.file_name() == ".bystander" {
            continue;
        }
        if entry.file_type()?.is_dir() {
            copy(&source, &target)?;
        } else {
            fs::copy(&source, &target)?;
            same_time(&source, &target)?;
        }
    }
    same_time(from, to)
}

fn same_time(source: &Path, target: &Path) -> io::Result<()> {
    let modified = fs::metadata(source)?.modified()?;
    fs::File::open(target)?.set_times(fs::FileTimes::new().set_modified(modified))
}
