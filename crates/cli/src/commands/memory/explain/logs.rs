//! Which files are meant: a file, those in a directory, standard input.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Files of a directory that are read at most.
const FILES: usize = 2000;
/// Directories below one another that are looked into.
const DEPTH: usize = 8;

/// A log to be read.
#[derive(Debug, Clone)]
pub(super) struct Log {
    /// Its name in the answer.
    pub(super) name: String,
    /// Where it lies; `None` for standard input.
    pub(super) path: Option<PathBuf>,
    /// The directory or run that was named and that it is a part of; `None` where it was named itself.
    pub(super) place: Option<String>,
}

/// Every log that was meant.
#[derive(Debug, Default)]
pub(super) struct Logs {
    /// The logs, in order.
    pub(super) all: Vec<Log>,
    /// Directories and runs that hold none.
    pub(super) empty: Vec<String>,
}

impl Logs {
    /// Adds what one word names.
    pub(super) fn add(&mut self, place: String, logs: Vec<Log>) {
        if logs.is_empty() {
            self.empty.push(place);
        }
        self.all.extend(logs);
    }

    /// What to say of a directory or a run that holds no log of a server.
    pub(super) fn without_a_server(&self, place: &str) -> String {
        match self.all.iter().filter(|log| log.place.as_deref() == Some(place)).count() {
            0 => format!("{place} holds no log: no file lies there but hidden ones and links"),
            1 => format!("{place}: its one file has no line of SGLang or vLLM"),
            count => format!("{place}: no line of SGLang or vLLM in any of its {count} files"),
        }
    }
}

impl Log {
    /// A stream of a trial.
    pub(super) fn of_trial(run: &str, trial: u32, stream: &str, path: &Path) -> Self {
        Self { name: format!("trial {trial}/{stream}"), path: Some(path.to_owned()), place: Some(run.to_owned()) }
    }

    /// Whether it was named itself.
    pub(super) const fn is_named(&self) -> bool {
        self.place.is_none()
    }
}

/// The logs of a path that exists, or of `-`.
pub(super) fn of_path(path: &Path) -> Result<Vec<Log>, Failure> {
    if path == Path::new("-") {
        return Ok(vec![Log { name: "stdin".to_owned(), path: None, place: None }]);
    }
    if !path.is_dir() {
        return Ok(vec![Log { name: path.display().to_string(), path: Some(path.to_owned()), place: None }]);
    }
    let mut files = BTreeSet::new();
    look_into(path, DEPTH, &mut files).map_err(|error| Failure::user(format!("failed to list {}", path.display())).because(&error))?;
    if files.len() > FILES {
        return Err(
            Failure::user(format!("failed to read {}: it holds more than {FILES} files", path.display())).hint("name the logs themselves")
        );
    }
    let place = Some(path.display().to_string());
    Ok(files.into_iter().map(|file| Log { name: file.display().to_string(), path: Some(file), place: place.clone() }).collect())
}

fn look_into(folder: &Path, depth: usize, files: &mut BTreeSet<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        if is_hidden || files.len() > FILES {
            continue;
        }
        // A link may lead anywhere, and back here.
        if kind.is_dir() && depth > 0 {
            look_into(&entry.path(), depth - 1, files)?;
        } else if kind.is_file() {
            files.insert(entry.path());
        }
    }
    Ok(())
}

/// Shortens paths to names where these tell the logs apart.
pub(super) fn shorten(logs: &mut [Log]) {
    let short = |log: &Log| {
        log.path
            .as_deref()
            .filter(|_| log.name.contains('/') && !log.name.starts_with("trial "))
            .and_then(Path::file_name)
            .map(|name| name.to_string_lossy().into_owned())
    };
    let names: Vec<String> = logs.iter().map(|log| short(log).unwrap_or_else(|| log.name.clone())).collect();
    if names.iter().collect::<BTreeSet<_>>().len() == names.len() {
        for (log, name) in logs.iter_mut().zip(names) {
            log.name = name;
        }
    }
}
