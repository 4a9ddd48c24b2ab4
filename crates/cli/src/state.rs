//! What a command keeps its state in: the state directory, its record, its journal of edits.

use std::path::{Path, PathBuf};

use bystander_edit::{Journal, default_registry_dir};
use bystander_lab::ledger::Ledger;
use bystander_store::{LockError, RunRecord, StateDir, StateError, Store, StoreError};

use crate::failure::Failure;
use crate::output::other_state;

/// The state directory of an experiment file: the one that was named, or `.bystander` beside the file.
pub(crate) fn for_file(named: Option<&Path>, file: &Path) -> Result<StateDir, Failure> {
    let path = named.map_or_else(|| StateDir::beside(file), PathBuf::from);
    StateDir::open(&path).map_err(|error| of_state(&error))
}

/// The state directory to read from: the one that was named, or the nearest at or above the working directory.
pub(crate) fn to_read(named: Option<&Path>) -> Result<StateDir, Failure> {
    let found = match named {
        Some(path) => StateDir::open_existing(path).map(Some),
        None => StateDir::find(Path::new(".")),
    };
    found.map_err(|error| of_state(&error))?.ok_or_else(|| {
        Failure::user("failed to find a state directory at or above the working directory")
            .hint(format!("{WHERE}: name it with --state DIR"))
    })
}

/// Where verbs leave their state.
const WHERE: &str =
    "`run` keeps its state in `.bystander` beside the experiment file, `watch` and `patch apply` in the folder where they were started";

/// Opens the record of a state directory.
pub(crate) fn open(state: &StateDir) -> Result<Store, Failure> {
    Store::open(state).map_err(|error| of_store(&error))
}

pub(crate) fn of_state(error: &StateError) -> Failure {
    let failure = Failure::environment("failed to use the state directory").because(error);
    match error {
        StateError::Missing { .. } => Failure::user("failed to use the state directory")
            .because(error)
            .hint(format!("{WHERE}; without --state the nearest one at or above the working directory is used")),
        StateError::Unwritable { .. } => failure.hint(other_state()),
        _ => failure,
    }
}

pub(crate) fn of_store(error: &StoreError) -> Failure {
    let failure = Failure::environment("failed to use the record").because(error);
    match error {
        StoreError::DiskFull { .. } => {
            failure.hint("make room and run the same command again: what was recorded stays, and the run goes on there")
        }
        _ => failure,
    }
}

pub(crate) fn of_lock(error: &LockError) -> Failure {
    Failure::user("failed to take the run")
        .because(error)
        .hint("wait until it ends, or run a copy of the experiment file with another --state DIR")
}

/// The ledger of a recorded run.
pub(crate) fn replay(store: &Store, record: &RunRecord) -> Result<Ledger, Failure> {
    let mut unread = None;
    // One event at a time: a run may have a million hits.
    let events = store.events(&record.id).map_err(|error| of_store(&error))?.map_while(|event| match event {
        Ok(event) => Some(event),
        Err(error) => {
            unread = Some(error);
            None
        }
    });
    let ledger = Ledger::replay(&record.id, events);
    match unread {
        Some(error) => Err(of_store(&error)),
        None => ledger.map_err(|error| Failure::environment("failed to read the run").because(&error)),
    }
}

/// The journal of a state directory.
pub(crate) fn journal(state: &StateDir) -> Result<Journal, Failure> {
    Journal::open(state.path(), &registry()?).map_err(|error| of_edit(&error))
}

/// The registry of this user's live edits.
pub(crate) fn registry() -> Result<PathBuf, Failure> {
    default_registry_dir().ok_or_else(|| {
        Failure::environment("failed to find the registry of live edits: neither XDG_STATE_HOME nor HOME is set").hint("set HOME")
    })
}

pub(crate) fn of_edit(error: &(dyn std::error::Error + 'static)) -> Failure {
    Failure::environment("failed to work on the journal of edits").because(error)
}
