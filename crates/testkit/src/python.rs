//! The Python interpreters of this machine: `python3` and `python3.N` on PATH, then those of pyenv.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The oldest version that probes work in.
const OLDEST: (u32, u32) = (3, 8);
/// Names of interpreters with their version in it, up to this one.
const NEWEST_MINOR: u32 = 20;

/// An interpreter that answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Python {
    /// Major and minor version.
    pub version: (u32, u32),
    /// The executable itself, not a script that starts it.
    pub path: PathBuf,
}

impl Python {
    /// The folder of the executable, to be put on PATH.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }
}

/// Every interpreter of version 3.8 or newer, one of each version, the one that `python3` names first.
#[must_use]
pub fn pythons() -> Vec<&'static Python> {
    all().iter().filter(|python| python.version >= OLDEST).collect()
}

/// The interpreter that `python3` names, or the newest.
#[must_use]
pub fn python() -> Option<&'static Python> {
    pythons().into_iter().next()
}

/// An interpreter that is too old for probes.
#[must_use]
pub fn old_python() -> Option<&'static Python> {
    all().iter().find(|python| python.version < OLDEST)
}

fn all() -> &'static [Python] {
    static FOUND: OnceLock<Vec<Python>> = OnceLock::new();
    FOUND.get_or_init(find)
}

fn find() -> Vec<Python> {
    let mut first = None;
    let mut rest = BTreeMap::new();
    for name in candidates() {
        let Some(python) = ask(&name) else { continue };
        // A `python3` without `python3` beside the executable would be another one once its folder is on PATH.
        if python.version.0 == 3 && !python.folder().join("python3").exists() {
            continue;
        }
        if first.is_none() && python.version >= OLDEST {
            first = Some(python.clone());
        }
        rest.entry(python.version).or_insert(python);
    }
    if let Some(first) = &first {
        rest.remove(&first.version);
    }
    first.into_iter().chain(rest.into_values().rev()).collect()
}

fn candidates() -> Vec<PathBuf> {
    let numbered = (6..=NEWEST_MINOR).map(|minor| format!("python3.{minor}"));
    let names: Vec<String> = ["python3".to_owned()].into_iter().chain(numbered).chain(["python2.7".to_owned()]).collect();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let on_path = names.iter().filter_map(|name| folders.iter().map(|folder| folder.join(name)).find(|file| file.is_file()));
    let mut found: Vec<PathBuf> = on_path.collect();
    let root = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let root = root.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".pyenv")));
    let versions = root.and_then(|root| std::fs::read_dir(root.join("versions")).ok()).into_iter().flatten().flatten();
    let mut of_pyenv: Vec<PathBuf> = versions.map(|version| version.path().join("bin/python")).filter(|file| file.is_file()).collect();
    of_pyenv.sort();
    found.extend(of_pyenv);
    found
}

fn ask(name: &Path) -> Option<Python> {
    let question = "import sys; print('%d %d %s' % (sys.version_info[0], sys.version_info[1], sys.executable))";
    let answer = Command::new(name).args(["-c", question]).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(answer.stdout).ok().filter(|_| answer.status.success())?;
    let mut words = text.trim().splitn(3, ' ');
    let version = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let path = std::fs::canonicalize(words.next()?).ok()?;
    Some(Python { version, path })
}
