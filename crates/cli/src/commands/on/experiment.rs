//! An experiment that is sent: read once, and kept here without its secrets, since the file may be another one when its run is shown.

use std::fs;
use std::path::{Path, PathBuf};

use bystander_host::secrets::Masker;
use bystander_lab::spec::{self, Remote};
use bystander_store::StateDir;

use super::near::unwritable;
use crate::commands::export::spec::mask_text;
use crate::failure::Failure;

/// The file of an experiment, as it was when it was read.
#[derive(Debug)]
pub(super) struct Experiment {
    pub(super) text: String,
    /// Where it is to be run.
    pub(super) remote: Remote,
    sha256: String,
}

impl Experiment {
    /// Reads and checks a file.
    pub(super) fn read(file: &Path) -> Result<Self, Failure> {
        let path = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        let read = spec::text(&path).and_then(|text| spec::parse(&text, &path).map(|checked| (text, checked)));
        let (text, checked) = read.map_err(|problems| crate::commands::run::unread(file, problems))?;
        Ok(Self { text, remote: checked.remote, sha256: checked.sha256 })
    }

    /// Keeps its text, without its secrets.
    pub(super) fn keep(&self, state: &StateDir) -> Result<(), Failure> {
        let to = place(state, &self.sha256);
        if to.exists() {
            return Ok(());
        }
        let masker = Masker::open(state.path()).or_else(|_unusable| Masker::forgotten());
        let masker = masker.map_err(|error| Failure::environment("failed to get random bytes").because(&error))?;
        // One that cannot be written anew is left out of archives, and the plan as it was checked is in the record.
        let Ok(text) = mask_text(&self.text, &masker) else { return Ok(()) };
        let part = to.with_extension("part");
        let written = fs::create_dir_all(to.parent().unwrap_or(state.path())).and_then(|()| fs::write(&part, text));
        written.and_then(|()| fs::rename(&part, &to)).map_err(|error| unwritable(&to, &error))
    }
}

/// The text of an experiment that was sent, by its hash and without its secrets.
pub(in crate::commands) fn masked(state: &StateDir, sha256: &str) -> Option<String> {
    fs::read_to_string(place(state, sha256)).ok()
}

fn place(state: &StateDir, sha256: &str) -> PathBuf {
    state.path().join("remote/experiments").join(format!("{sha256}.toml"))
}
