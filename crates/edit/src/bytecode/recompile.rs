//! Bytecode proven by the interpreter that made it: what it makes of the source now is what the file holds.
//!
//! The interpreter is found by the tag in the file's name, on `PATH` and under `pyenv`, and asked whether the magic number is its own. It compiles
//! and compares; it runs no code of the files.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What runs in the interpreter.
const SCRIPT: &str = include_str!("recompile.py");

/// What came of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Compared {
    /// It is what the interpreter makes of the source.
    Same,
    /// It is not.
    Different,
    /// It cannot be told; why.
    Unknown(String),
}

/// Compares bytecode files with their sources.
pub(crate) fn compare(pairs: &[(PathBuf, PathBuf)]) -> Vec<(PathBuf, Compared)> {
    let mut by_version: BTreeMap<Option<String>, Vec<&(PathBuf, PathBuf)>> = BTreeMap::new();
    for pair in pairs {
        by_version.entry(version(&pair.0)).or_default().push(pair);
    }
    let mut found = Vec::new();
    for (version, pairs) in by_version {
        let interpreter = version.as_deref().and_then(interpreter);
        let answers = interpreter.as_deref().map(|python| ask(python, &pairs)).unwrap_or_default();
        for (index, (cached, _)) in pairs.into_iter().enumerate() {
            let wanted = version.as_deref().unwrap_or("that made it");
            let answer = answers.get(index).cloned().unwrap_or_else(|| Compared::Unknown(format!("no Python {wanted} to ask was found")));
            found.push((cached.clone(), answer));
        }
    }
    found
}

/// The version in a name such as `m.cpython-311.opt-1.pyc`: `3.11`.
fn version(cached: &Path) -> Option<String> {
    let name = cached.file_name()?.to_str()?;
    let digits = name.split('.').find_map(|part| part.strip_prefix("cpython-3"))?;
    digits.parse::<u8>().ok().map(|minor| format!("3.{minor}"))
}

fn interpreter(version: &str) -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> = env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default();
    let pyenv = env::var_os("PYENV_ROOT").map(PathBuf::from).or_else(|| env::home_dir().map(|home| home.join(".pyenv")));
    let installed = pyenv.and_then(|root| std::fs::read_dir(root.join("versions")).ok()).into_iter().flatten().flatten();
    folders.extend(installed.map(|entry| entry.path().join("bin")));
    let name = format!("python{version}");
    let works = |path: &PathBuf| {
        let run = Command::new(path)
            .args(["-I", "-S", "-B", "-c", "pass"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        run.is_ok_and(|status| status.success())
    };
    folders.into_iter().map(|folder| folder.join(&name)).filter(|path| path.is_file()).find(works)
}

fn ask(python: &Path, pairs: &[&(PathBuf, PathBuf)]) -> Vec<Compared> {
    let paths: Vec<&[u8]> =
        pairs.iter().flat_map(|(cached, source)| [cached, source]).map(|path| OsStr::as_bytes(path.as_os_str())).collect();
    let mut command = Command::new(python);
    command.args(["-I", "-S", "-B", "-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return Vec::new() };
    // It reads everything before it answers: neither waits for the other.
    let written = child.stdin.take().is_some_and(|mut stdin| stdin.write_all(&paths.join(&0)).is_ok());
    let mut text = String::new();
    let read = child.stdout.take().is_some_and(|mut stdout| stdout.read_to_string(&mut text).is_ok());
    let ended = child.wait().is_ok();
    if !(written && read && ended) {
        return Vec::new();
    }
    let answer = |line: &str| match serde_json::from_str(line) {
        Ok(serde_json::Value::Bool(true)) => Compared::Same,
        Ok(serde_json::Value::Bool(false)) => Compared::Different,
        Ok(serde_json::Value::String(why)) => Compared::Unknown(why),
        _ => Compared::Unknown(line.to_owned()),
    };
    text.lines().map(answer).collect()
}
