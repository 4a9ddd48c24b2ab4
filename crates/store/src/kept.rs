//! The files that a run keeps: output with the times of its bytes, stacks, output of hooks, results of built-in traffic.
//!
//! Only files that Bystander itself writes count: secrets are blotted out in those and in no others.

use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};

use bystander_model::evidence::Stream;
use bystander_model::ids::RunId;

use crate::state::StateDir;

/// The hooks, whose commands leave `NAME-N.stdout` and `NAME-N.stderr`.
const HOOKS: [&str; 4] = ["setup", "prepare", "conclude", "cleanup"];
/// The folder of built-in traffic in that of a trial.
const TRAFFIC: &str = "traffic";
/// The file that is held while a run is alive.
const LOCK: &str = "lock";

/// A file, or what else lies in the folder of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lying {
    /// Where.
    pub path: PathBuf,
    /// Whether it is a file that the run keeps; links, pipes and the like never are.
    pub is_kept: bool,
}

/// What lies in the folder of a run and those of its trials, in an order that is always the same.
#[must_use]
pub fn lying(state: &StateDir, run: &RunId) -> Vec<Lying> {
    let mut found = Vec::new();
    let mut take = |path: PathBuf, is_ours: bool| {
        let is_kept = is_ours && path.symlink_metadata().is_ok_and(|found| found.is_file());
        found.push(Lying { path, is_kept });
    };
    let (trials, rest): (Vec<PathBuf>, Vec<PathBuf>) = entries(&state.run_dir(run)).into_iter().partition(|path| number(path).is_some());
    for path in rest.into_iter().filter(|path| name(path) != LOCK) {
        let is_ours = is_of_hook(name(&path));
        take(path, is_ours);
    }
    for path in trials.iter().flat_map(|folder| entries(folder)) {
        if name(&path) == TRAFFIC && is_folder(&path) {
            entries(&path).into_iter().for_each(|path| {
                let is_ours = is_of_traffic(name(&path));
                take(path, is_ours);
            });
        } else {
            let is_ours = is_of_trial(name(&path));
            take(path, is_ours);
        }
    }
    found
}

/// The files that a run keeps.
#[must_use]
pub fn files(state: &StateDir, run: &RunId) -> Vec<PathBuf> {
    lying(state, run).into_iter().filter(|lying| lying.is_kept).map(|lying| lying.path).collect()
}

/// The number of a trial from the path of its folder.
fn number(folder: &Path) -> Option<u32> {
    let number = name(folder).strip_prefix("trial-")?.parse().ok()?;
    is_folder(folder).then_some(number)
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// What lies in a folder, in an order that is always the same: trials by their number. What cannot be read is passed over.
#[must_use]
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry: DirEntry| entry.path()).collect();
    paths.sort_by_cached_key(|path| (number(path), path.clone()));
    paths
}

/// The last part of a path; empty where it is no text, which is the name of nothing of ours.
fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn is_of_trial(name: &str) -> bool {
    let stream = name.strip_suffix(".times").unwrap_or(name);
    Stream::ALL.iter().any(|known| known.name() == stream) || name == Stream::Stacks.name() || is_of_hook(name)
}

fn is_of_hook(name: &str) -> bool {
    let name = name.strip_suffix(".times").unwrap_or(name);
    let Some((command, "stdout" | "stderr")) = name.split_once('.') else { return false };
    command.rsplit_once('-').is_some_and(|(hook, number)| HOOKS.contains(&hook) && number.parse::<u32>().is_ok())
}

/// The load itself is left out: it is in the plan, and its address may hold a secret.
fn is_of_traffic(name: &str) -> bool {
    matches!(name, "summary.json" | "requests.jsonl") || name.ends_with(".hdr")
}

#[cfg(test)]
mod tests {
    use super::{is_of_hook, is_of_traffic, is_of_trial};

    #[test]
    fn only_names_that_bystander_itself_gives_are_taken() {
        for name in ["stdout", "stderr.times", "workload", "workload_stderr", "stacks", "prepare-1.stdout", "conclude-12.stderr.times"] {
            assert!(is_of_trial(name), "{name}");
        }
        for name in
            ["", "stdout.", "stdout.gz", "overlay", "mask.key", "prepare-1.env", "prepare-x.stdout", "other-1.stdout", "prepare.stdout"]
        {
            assert!(!is_of_trial(name), "{name}");
        }
        assert!(is_of_hook("setup-1.stdout") && !is_of_hook("stdout"));
        assert!(is_of_traffic("ttft.hdr") && is_of_traffic("requests.jsonl") && !is_of_traffic("load.json"));
    }
}
