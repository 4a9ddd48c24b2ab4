//! What must be the same for a run to be taken up again: the program and the files that instruments touch.

use std::fs;
use std::path::{Path, PathBuf};

use bystander_lab::plan::Plan;
use indexmap::IndexMap;
use sha2::{Digest as _, Sha256};

use crate::{environment, proof};

/// A module folder larger than this is told by its file list and sizes alone.
const MOST_FILES: usize = 2_000;

/// Hashes the executable, the files and modules that the command names, and every instrumented file.
pub(super) fn take(plan: &Plan, found: &mut IndexMap<String, String>) {
    for (name, file) in named(plan) {
        if let Some(hash) = hash(&file) {
            found.insert(name, hash);
        }
    }
    for file in plan.edits.iter().map(|edit| &edit.file) {
        if let Ok(hash) = proof::sha256(file) {
            found.insert(shown(file, plan), hash);
        }
    }
}

/// The files and modules that the command names, each with the name that it has in the fingerprint.
pub(in super::super) fn named(plan: &Plan) -> Vec<(String, PathBuf)> {
    let command = environment::command(plan, &plan.baseline, &[]);
    named_files(&command, &plan.program.cwd).into_iter().map(|file| (shown(&file, plan), file)).collect()
}

/// The hash of a file or a module; `None` where it cannot be read.
pub(in super::super) fn hash(file: &Path) -> Option<String> {
    if file.is_dir() { hash_folder(file) } else { proof::sha256(file).ok() }
}

/// The Python files of a folder, in order; `None` where it cannot be read.
pub(in super::super) fn files(folder: &Path) -> Option<Vec<PathBuf>> {
    let mut files = Vec::new();
    collect(folder, &mut files).ok()?;
    files.sort();
    Some(files)
}

/// A path as the user would write it: relative to the experiment file where it lies below.
fn shown(file: &Path, plan: &Plan) -> String {
    file.strip_prefix(plan.folder()).unwrap_or(file).display().to_string()
}

/// The files that a command line names: the executable where it is a path, arguments that are files, the module after `-m`.
fn named_files(command: &[String], cwd: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut words = command.iter();
    while let Some(word) = words.next() {
        if word == "-m"
            && let Some(module) = words.next()
        {
            let base = cwd.join(module.split('.').next().unwrap_or_default());
            found.extend([base.with_extension("py"), base].into_iter().filter(|path| path.exists()));
        } else if !word.starts_with('-') && cwd.join(word).is_file() {
            found.push(cwd.join(word));
        }
    }
    found
}

/// One hash over the Python files of a folder, their names and contents in order.
fn hash_folder(folder: &Path) -> Option<String> {
    let files = files(folder)?;
    let mut hash = Sha256::new();
    for file in &files {
        hash.update(file.as_os_str().as_encoded_bytes());
        if files.len() > MOST_FILES {
            hash.update(fs::metadata(file).ok()?.len().to_le_bytes());
        } else {
            hash.update(proof::sha256(file).ok()?);
        }
    }
    Some(proof::hex(&hash.finalize()))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            if entry.file_name() != "__pycache__" {
                collect(&path, files)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "py") {
            files.push(path);
        }
    }
    Ok(())
}
