//! What is kept here of other machines: `remote/` in the state directory.
//!
//! | file | what it holds |
//! |---|---|
//! | `near` | the name that this state directory has at far ends |
//! | `jobs/NAME.json` | a command that was asked for there and whose end was not told ([`super::jobs`]) |
//! | `experiments/SHA256.toml` | an experiment that was sent, without its secrets |
//! | `hosts/HASH.json` | a machine that was used, and the live edits that it had when it was last asked; one that its address does not lead to any more has a file of its own |

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bystander_host::remote::random_name;
use bystander_store::StateDir;
use bystander_store::state::write_once;
use serde::Serialize;

use super::jobs::{Jobs, lock};
use super::signals::Pending;
use crate::failure::Failure;
use crate::state;

/// Between two looks whether another process is done.
const LOOK: Duration = Duration::from_millis(50);

/// What is done there once and leaves nothing goes by this name, where the state directory has none yet.
const PASSING: &str = "passing";

/// The near end's own state.
pub(super) struct Near {
    folder: PathBuf,
    name: String,
    state: Option<StateDir>,
    /// Whether nothing is written here.
    is_passing: bool,
}

impl Near {
    /// That of a state directory.
    pub(super) fn of_state(path: &Path) -> Result<Self, Failure> {
        let state = StateDir::open(path).map_err(|error| state::of_state(&error))?;
        Self::at(state.path().join("remote"), Some(state))
    }

    /// That of the user, for verbs that keep nothing.
    pub(super) fn of_user() -> Result<Self, Failure> {
        let edits = state::registry()?;
        Self::at(edits.parent().unwrap_or(&edits).join("remote"), None)
    }

    /// That of what leaves nothing, neither here nor there; a state directory that is there already gives its name.
    pub(super) fn passing(state: &Path) -> Self {
        let folder = state.join("remote");
        let name = fs::read_to_string(folder.join("near")).map_or_else(|_| PASSING.to_owned(), |name| name.trim().to_owned());
        Self { folder, name, state: None, is_passing: true }
    }

    /// That of the user, for a verb that writes nothing at all; where there is none yet, none is made.
    pub(super) fn visiting() -> Self {
        Self::passing(&state::registry().ok().and_then(|edits| Some(edits.parent()?.to_owned())).unwrap_or_default())
    }

    fn at(folder: PathBuf, state: Option<StateDir>) -> Result<Self, Failure> {
        let file = folder.join("near");
        let made = fs::create_dir_all(folder.join("jobs")).and_then(|()| fs::create_dir_all(folder.join("hosts")));
        let name = made
            .and_then(|()| random_name())
            .and_then(|name| write_once(&file, name.as_bytes(), 0o600))
            .and_then(|()| fs::read_to_string(&file));
        let name = name.map_err(|error| unwritable(&file, &error))?;
        Ok(Self { folder, name: name.trim().to_owned(), state, is_passing: false })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Where all of it lies.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether nothing is written here.
    pub(super) fn is_passing(&self) -> bool {
        self.is_passing
    }

    /// The state directory; verbs that keep nothing have none.
    pub(super) fn state(&self) -> Result<&StateDir, Failure> {
        self.state.as_ref().ok_or_else(|| Failure::environment("failed to find the state directory"))
    }

    /// What was asked for and not told.
    pub(super) fn jobs(&self) -> Jobs {
        Jobs::at(self.folder.join("jobs"))
    }

    /// Waits until no other process here does the same, and keeps others out until the file that is returned is closed; a signal ends the wait.
    pub(super) fn alone(&self, what: &str, signals: &Pending) -> Result<fs::File, Failure> {
        loop {
            if let Some(file) = lock(&self.folder.join(format!("{what}.lock")))? {
                return Ok(file);
            }
            if signals.is_any_within(LOOK) {
                return Err(Failure::interrupted("interrupted while another process here did the same"));
            }
        }
    }
}

/// Writes a file, whole or not at all.
pub(super) fn write(to: &Path, value: &impl Serialize) -> Result<(), Failure> {
    let part = to.with_extension("part");
    let written = serde_json::to_vec_pretty(value).map_err(io::Error::from).and_then(|bytes| fs::write(&part, bytes));
    written.and_then(|()| fs::rename(&part, to)).map_err(|error| unwritable(to, &error))
}

pub(super) fn unwritable(file: &Path, error: &io::Error) -> Failure {
    Failure::environment(format!("failed to write {}", file.display()))
        .because(error)
        .hint("name a directory that can be written to with --state DIR")
}
