//! What a run keeps in files: output with the times of its bytes, stacks, output of hooks, results of built-in traffic.
//!
//! Only files that Bystander itself writes are taken, since secrets are blotted out in those and in no others, and each only as it was recorded.

use std::collections::BTreeMap;
use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};

use bystander_model::event::EventBody;
use bystander_model::evidence::Stream;
use bystander_model::ids::RunId;
use bystander_store::archive::{Packer, Source};
use bystander_store::{StateDir, Store};

use super::{LOGS, of_archive};
use crate::failure::Failure;
use crate::state;

/// The hooks, whose commands leave `NAME-N.stdout` and `NAME-N.stderr`.
const HOOKS: [&str; 4] = ["setup", "prepare", "conclude", "cleanup"];
/// The folder of built-in traffic in that of a trial.
const TRAFFIC: &str = "traffic";
/// The file that is held while a run is alive.
const LOCK: &str = "lock";

/// Adds the files of a run, and tells what is not added.
pub(super) fn add(packer: &mut Packer, run: &RunId, store: &Store, state: &StateDir) -> Result<(), Failure> {
    let mut kept = Kept { packer, recorded: recorded(run, store)?, state, run, others: 0 };
    let (trials, rest): (Vec<PathBuf>, Vec<PathBuf>) = entries(&state.run_dir(run)).into_iter().partition(|path| number(path).is_some());
    for path in rest.iter().filter(|path| name(path) != LOCK) {
        kept.take(path, is_of_hook(name(path)))?;
    }
    for folder in trials {
        for path in entries(&folder) {
            if name(&path) == TRAFFIC && is_folder(&path) {
                entries(&path).iter().try_for_each(|path| kept.take(path, is_of_traffic(name(path))))?;
            } else {
                kept.take(&path, is_of_trial(name(&path)))?;
            }
        }
    }
    kept.tell_the_rest();
    Ok(())
}

struct Kept<'a> {
    packer: &'a mut Packer,
    /// The hashes of recorded files, by their paths in the state directory.
    recorded: BTreeMap<PathBuf, String>,
    state: &'a StateDir,
    run: &'a RunId,
    /// Files that are not taken.
    others: u64,
}

impl Kept<'_> {
    /// Takes a file, if it is one of ours; links, pipes and the like never are.
    fn take(&mut self, path: &Path, is_ours: bool) -> Result<(), Failure> {
        if !is_ours || !path.symlink_metadata().is_ok_and(|found| found.is_file()) {
            self.others += files_at(path);
            return Ok(());
        }
        let below = path.strip_prefix(self.state.run_dir(self.run)).unwrap_or(path);
        let member = format!("{LOGS}/{}", below.to_string_lossy());
        let added = match self.recorded.remove(&self.state.relative(path)) {
            Some(sha256) => self.packer.add_recorded(&member, path, &sha256),
            None => self.packer.add(&member, Source::File(path.to_owned())),
        };
        added.map_err(|error| of_archive(&error))
    }

    fn tell_the_rest(self) {
        for path in self.recorded.keys() {
            self.packer.leave_out(format!("{}: its file is gone, or is no plain file any more", path.display()));
        }
        if self.others > 0 {
            let word = if self.others == 1 { "file" } else { "files" };
            self.packer.leave_out(format!(
                "{} {word} in the folders of the run that bystander did not write as output: overlays of probes, and what programs wrote there, which may hold secrets",
                self.others
            ));
        }
        self.packer.leave_out(
            "the program, the packages of its environment, and the files that instruments touch: their versions and hashes are recorded"
                .to_owned(),
        );
    }
}

/// The hash of every file that was recorded.
fn recorded(run: &RunId, store: &Store) -> Result<BTreeMap<PathBuf, String>, Failure> {
    let mut found = BTreeMap::new();
    for event in store.events(run).map_err(|error| state::of_store(&error))? {
        match event.map_err(|error| state::of_store(&error))?.body {
            EventBody::Output { path, sha256, .. } => {
                found.insert(path, sha256);
            }
            EventBody::Hook(hook) => found.extend(hook.outputs.into_iter().map(|output| (output.path, output.sha256))),
            _ => {}
        }
    }
    Ok(found)
}

/// The number of a trial from the path of its folder.
fn number(folder: &Path) -> Option<u32> {
    let number = name(folder).strip_prefix("trial-")?.parse().ok()?;
    is_folder(folder).then_some(number)
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// What lies in a folder, in an order that is always the same. What cannot be read is passed over.
fn entries(folder: &Path) -> Vec<PathBuf> {
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

/// How many files lie at a path and below. What cannot be read is not counted.
fn files_at(path: &Path) -> u64 {
    if is_folder(path) { entries(path).iter().map(|path| files_at(path)).sum() } else { 1 }
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
