//! Built-in traffic as a process of its own: this executable, with a folder that holds the load and then its results.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bystander_lab::plan::Template;
use bystander_model::traffic::{Arrival, Load, Summary};
use bystander_supervise::ready::GenerateCheck;
use bystander_traffic::{ARGUMENT, LOAD, SUMMARY, effective_seed, hold};

use super::course::courses;

/// The folder of the results in the trial's own.
const FOLDER: &str = "traffic";
/// What is asked of a server that has answered nobody in time.
const PROMPT: &str = "Say yes.";

/// Lays the load of one trial; no secret is in it, since the key of an interface stays in the environment.
pub(super) fn lay(load: &Load, trial: &Path, fill: &[(&str, &str)]) -> io::Result<PathBuf> {
    let folder = trial.join(FOLDER);
    fs::create_dir_all(&folder)?;
    let filled = |text: &str| Template(text.to_owned()).fill(fill);
    let block = fill.iter().find(|(name, _)| *name == "seed").and_then(|(_, seed)| seed.parse().ok()).unwrap_or_default();
    let load =
        Load { url: filled(&load.url), model: load.model.as_deref().map(filled), seed: effective_seed(load.seed, block), ..load.clone() };
    fs::write(folder.join(LOAD), serde_json::to_vec(&load)?)?;
    if load.warmup.is_some() {
        hold::ask(&folder)?;
    }
    Ok(folder)
}

/// The command of the client.
pub(super) fn command(folder: &Path) -> Vec<OsString> {
    // The keeper is this executable, too, and starts what it itself is: also where the file was replaced meanwhile.
    vec!["/proc/self/exe".into(), ARGUMENT.into(), folder.into()]
}

/// What came of it, where it came to its end.
pub(super) fn summary(folder: &Path) -> Option<Summary> {
    let mut summary: Summary = serde_json::from_slice(&fs::read(folder.join(SUMMARY)).ok()?).ok()?;
    let is_open = laid(folder).is_some_and(|load| !matches!(load.arrival, Arrival::Closed { .. }));
    if summary.failure.is_none() {
        summary.courses = courses(folder, is_open);
    }
    Some(summary)
}

/// Whom it asked, as one question more, which needs no key.
pub(super) fn asked(folder: &Path, summary: Option<&Summary>) -> Option<GenerateCheck> {
    let load = laid(folder)?;
    let model = summary.map(|summary| summary.model.clone()).filter(|model| !model.is_empty()).or(load.model);
    Some(GenerateCheck { url: load.url, model, prompt: PROMPT.to_owned() })
}

fn laid(folder: &Path) -> Option<Load> {
    serde_json::from_slice(&fs::read(folder.join(LOAD)).ok()?).ok()
}
