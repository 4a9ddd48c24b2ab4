//! Adds the files that a run keeps to its archive, each only as it was recorded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bystander_model::event::EventBody;
use bystander_model::ids::RunId;
use bystander_store::archive::{Packer, Source};
use bystander_store::kept::{self, Lying};
use bystander_store::{StateDir, Store};

use super::{LOGS, of_archive};
use crate::failure::Failure;
use crate::state;

/// Adds the files of a run, and tells what is not added.
pub(super) fn add(packer: &mut Packer, run: &RunId, store: &Store, state: &StateDir) -> Result<(), Failure> {
    let mut kept = Kept { packer, recorded: recorded(run, store)?, state, run, others: 0 };
    for lying in kept::lying(state, run) {
        kept.take(&lying)?;
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
    /// Takes a file, if the run keeps it.
    fn take(&mut self, lying: &Lying) -> Result<(), Failure> {
        let path = &lying.path;
        if !lying.is_kept {
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

/// How many files lie at a path and below. What cannot be read is not counted.
fn files_at(path: &Path) -> u64 {
    if path.symlink_metadata().is_ok_and(|found| found.is_dir()) { kept::entries(path).iter().map(|path| files_at(path)).sum() } else { 1 }
}
