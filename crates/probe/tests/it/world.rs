//! Interpreters that are on the machine, and a temporary folder with a program, an overlay and rings.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use bystander_model::hit::{Hit, Receipt};
use bystander_probe::{CheckedProbe, Drain, Interpreter, Overlay, Place, ProbeSpec, check};

/// One interpreter.
#[derive(Debug, Clone)]
pub(crate) struct Python {
    pub(crate) path: PathBuf,
    pub(crate) minor: u32,
}

/// Every CPython from 3.8 to 3.13 on this machine, one of each minor version: `python3.N` on `PATH`, then pyenv's folder.
pub(crate) fn pythons() -> &'static [Python] {
    static FOUND: OnceLock<Vec<Python>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let mut found = BTreeMap::new();
        for candidate in candidates() {
            if let Some(python) = ask(&candidate) {
                found.entry(python.minor).or_insert(python);
            }
        }
        assert!(!found.is_empty(), "no Python from 3.8 to 3.13 was found");
        found.into_values().collect()
    })
}

/// Runs a test on every Python, side by side.
pub(crate) fn on_each(test: impl Fn(&Python) + Sync) {
    std::thread::scope(|scope| {
        let runs: Vec<_> = pythons().iter().map(|python| scope.spawn(|| test(python))).collect();
        let failed = runs.into_iter().filter_map(|run| run.join().err()).count();
        assert_eq!(failed, 0, "failed on {failed} interpreters, see above");
    });
}

fn candidates() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut all: Vec<PathBuf> =
        (8..=13).flat_map(|minor| folders.iter().map(move |folder| folder.join(format!("python3.{minor}")))).collect();
    let root = std::env::var_os("PYENV_ROOT").map(PathBuf::from).or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".pyenv")));
    if let Some(Ok(versions)) = root.map(|root| std::fs::read_dir(root.join("versions"))) {
        all.extend(versions.flatten().map(|entry| entry.path().join("bin/python")));
    }
    all.extend(folders.iter().map(|folder| folder.join("python3")));
    all.retain(|path| path.is_file());
    all
}

fn ask(candidate: &Path) -> Option<Python> {
    let question = "import sys; print(sys.version_info[0], sys.version_info[1], sys.implementation.name, sys.executable)";
    let output = Command::new(candidate).args(["-I", "-S", "-B", "-c", question]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut words = text.trim_end().splitn(4, ' ');
    let (major, minor, name, path) = (words.next()?, words.next()?.parse().ok()?, words.next()?, words.next()?);
    (major == "3" && (8..=13).contains(&minor) && name == "cpython").then(|| Python { path: path.into(), minor })
}

/// A program in a temporary folder and the probes for it.
pub(crate) struct World {
    folder: tempfile::TempDir,
    pub(crate) python: Python,
}

impl World {
    /// Makes a folder with some files, by relative path and text.
    pub(crate) fn new(python: &Python, files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("makes a folder");
        let world = Self { folder, python: python.clone() };
        for (name, text) in files {
            world.write(name, text);
        }
        world
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.program().join(name);
        std::fs::create_dir_all(path.parent().expect("has a folder")).expect("makes a folder");
        std::fs::write(path, text).expect("writes a file");
    }

    /// The working directory of the program.
    pub(crate) fn program(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("resolves").join("program")
    }

    /// The environment of the program without an overlay; free of what would hide bytecode.
    pub(crate) fn env(&self) -> Vec<(OsString, OsString)> {
        let kept = ["PATH", "HOME", "LANG"];
        let mut env: Vec<_> = std::env::vars_os().filter(|(key, _)| kept.iter().any(|name| key == name)).collect();
        env.push(("PYTHONHASHSEED".into(), "0".into()));
        env
    }

    pub(crate) fn interpreter(&self) -> Interpreter {
        Interpreter::new(&self.python.path, self.program(), self.env())
    }

    /// Checks probes that must all be good.
    pub(crate) fn checked(&self, specs: &[ProbeSpec]) -> Vec<CheckedProbe> {
        let (probes, problems) = check(&self.interpreter(), specs).expect("the interpreter answers").split();
        assert!(problems.is_empty(), "3.{}: {problems:?}", self.python.minor);
        probes
    }

    /// Runs the program without an overlay.
    pub(crate) fn run_plain(&self, arguments: &[&str]) -> Output {
        self.command(arguments, &[]).output().expect("runs")
    }

    /// Runs the program under an overlay and returns what it printed, its hits and its receipts.
    pub(crate) fn run(&self, probes: &[CheckedProbe], arguments: &[&str]) -> Run {
        let overlay = self.overlay(probes);
        let output = self.command(arguments, &overlay.env(None)).output().expect("runs");
        let (hits, receipts) = Drain::new(overlay.ring_dir(), probes).finish().expect("drains");
        Run { output, hits, receipts }
    }

    /// Runs the program under an overlay that lacks the native recorder, so that plain Python records.
    pub(crate) fn run_without_recorder(&self, probes: &[CheckedProbe], arguments: &[&str]) -> Run {
        let overlay = self.overlay(probes);
        let library = overlay.dir().join("bystander_overlay/bystander_recorder.abi3.so");
        std::fs::remove_file(library).expect("the overlay has the library");
        let output = self.command(arguments, &overlay.env(None)).output().expect("runs");
        let (hits, receipts) = Drain::new(overlay.ring_dir(), probes).finish().expect("drains");
        Run { output, hits, receipts }
    }

    pub(crate) fn overlay(&self, probes: &[CheckedProbe]) -> Overlay {
        let base = self.folder.path().canonicalize().expect("resolves");
        let rings = base.join("rings");
        drop(std::fs::remove_dir_all(&rings));
        Overlay::materialise(&base.join("overlay"), probes, &rings).expect("writes the overlay")
    }

    pub(crate) fn command(&self, arguments: &[&str], extra: &[(OsString, OsString)]) -> Command {
        let mut command = Command::new(&self.python.path);
        command.args(arguments).current_dir(self.program()).env_clear();
        command.envs(self.env()).envs(extra.iter().map(|(key, value)| (key, value)));
        command
    }
}

/// One run under an overlay.
pub(crate) struct Run {
    pub(crate) output: Output,
    pub(crate) hits: Vec<Hit>,
    pub(crate) receipts: Vec<Receipt>,
}

impl Run {
    pub(crate) fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }
}

/// Makes a probe from its place, pattern and captures.
pub(crate) fn probe(at: &str, after: Option<&str>, capture: &[&str]) -> ProbeSpec {
    let place: Place = at.parse().expect("a place");
    let capture = capture.iter().map(ToString::to_string).collect();
    ProbeSpec { after: after.map(Into::into), capture, ..ProbeSpec::new("p", place) }
}
