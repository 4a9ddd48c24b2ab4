//! The interpreters that are on the machine, and running scripts with them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Every CPython from 3.8 to 3.13 that is found: by name in PATH, else among pyenv's versions.
pub(crate) fn pythons() -> Vec<(u32, PathBuf)> {
    static FOUND: OnceLock<Vec<(u32, PathBuf)>> = OnceLock::new();
    FOUND.get_or_init(find_all).clone()
}

fn find_all() -> Vec<(u32, PathBuf)> {
    let root = std::env::var_os("PYENV_ROOT").map(PathBuf::from).or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".pyenv")));
    let mut versions: Vec<PathBuf> = root
        .and_then(|root| std::fs::read_dir(root.join("versions")).ok())
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    versions.sort();
    let find = |minor: u32| {
        let named = PathBuf::from(format!("python3.{minor}"));
        let installed = versions.iter().map(|folder| folder.join(format!("bin/python3.{minor}")));
        std::iter::once(named).chain(installed).find(|python| answers(python, minor))
    };
    let found: Vec<(u32, PathBuf)> = (8..=13).filter_map(|minor| find(minor).map(|python| (minor, python))).collect();
    assert!(!found.is_empty(), "no CPython from 3.8 to 3.13 on this machine");
    found
}

fn answers(python: &Path, minor: u32) -> bool {
    let code = format!("import sys; sys.exit(sys.version_info[:2] != (3, {minor}))");
    Command::new(python).args(["-c", &code]).output().is_ok_and(|output| output.status.success())
}

/// Writes a script and runs it in its folder; what it printed to stderr.
pub(crate) fn run(python: &Path, folder: &Path, script: &str) -> String {
    String::from_utf8_lossy(&output(python, folder, script).stderr).into_owned()
}

/// Writes a script and runs it in its folder; what it printed and how it ended.
pub(crate) fn output(python: &Path, folder: &Path, script: &str) -> Output {
    std::fs::write(folder.join("app.py"), script).expect("writes the script");
    Command::new(python)
        .arg("app.py")
        .current_dir(folder)
        .env("PYTHONPYCACHEPREFIX", folder.join("bytecode"))
        .env_remove("PYTHONDONTWRITEBYTECODE")
        .env("PYTHONUNBUFFERED", "1")
        .output()
        .expect("runs")
}
