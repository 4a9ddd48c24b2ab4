//! The run that a command is about: in a state directory, by its name, or in an archive, by its path.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use bystander_lab::ledger::Ledger;
use bystander_store::archive::{ArchiveError, Opened};
use bystander_store::{RunLock, RunRecord, StateDir, Store, StoreError};

use crate::failure::Failure;
use crate::state;

/// How the names of archives end.
pub(crate) const ARCHIVE_ENDS: &str = ".tar.zst";

/// A run with its record.
pub(crate) struct Found {
    pub(crate) store: Store,
    pub(crate) record: RunRecord,
    pub(crate) place: Place,
}

/// Where a run was found.
pub(crate) enum Place {
    /// In a state directory.
    State(StateDir),
    /// In an archive.
    Archive(PathBuf),
}

impl Place {
    /// What logs are said to lie in.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Place::State(_) => "the state directory",
            Place::Archive(_) => "the archive",
        }
    }
}

impl Found {
    /// Finds a run by its id, the start of it, or the path of its archive; the newest where nothing is named.
    pub(crate) fn named(name: Option<&OsStr>, state: Option<&Path>) -> Result<Self, Failure> {
        match name {
            Some(name) if is_archive(name) => Self::in_archive(Path::new(name)),
            name => Self::in_state(name.map(OsStr::to_string_lossy).as_deref(), state::to_read(state)?),
        }
    }

    fn in_archive(path: &Path) -> Result<Self, Failure> {
        let opened = Opened::read(path).map_err(|error| of_archive(&error))?;
        Ok(Self { store: opened.store, record: opened.run, place: Place::Archive(opened.path) })
    }

    fn in_state(name: Option<&str>, state: StateDir) -> Result<Self, Failure> {
        let store = state::open(&state)?;
        let record = find(&store, &state, name)?;
        Ok(Self { store, record, place: Place::State(state) })
    }

    /// Whether some process is at work on the run.
    pub(crate) fn is_alive(&self) -> Result<bool, Failure> {
        match &self.place {
            Place::State(state) => Ok(RunLock::holder(state, &self.record.id).map_err(|error| state::of_lock(&error))?.is_some()),
            Place::Archive(_) => Ok(false),
        }
    }

    /// Everything that is known of it.
    pub(crate) fn ledger(&self) -> Result<Ledger, Failure> {
        state::replay(&self.store, &self.record)
    }
}

/// Whether a name is a path: no id of a run has a slash, and none is that of a file with this end.
fn is_archive(name: &OsStr) -> bool {
    let text = name.to_string_lossy();
    text.contains('/') || text.ends_with(ARCHIVE_ENDS) || (text.ends_with(".zst") || text.ends_with(".tar")) || Path::new(name).is_file()
}

fn find(store: &Store, state: &StateDir, name: Option<&str>) -> Result<RunRecord, Failure> {
    let found = match name {
        Some(name) => store.find(name).map(Some),
        None => store.latest(),
    };
    let unknown = |error: StoreError| {
        let failure = Failure::user("failed to find the run").because(&error);
        match store.latest() {
            Ok(Some(latest)) => failure.hint(format!(
                "the newest is {}: `bystander show` without an id prints it, the start of an id is enough, and `bystander show --list` has all",
                latest.id
            )),
            _ => failure.hint("`bystander run FILE` and `bystander watch` make one"),
        }
    };
    found.map_err(unknown)?.ok_or_else(|| {
        Failure::user(format!("failed to find a run: {} holds none", state.path().display()))
            .hint("`bystander run FILE` and `bystander watch` make one")
    })
}

/// An archive that is refused is bad input; one that cannot be made is trouble of the machine.
pub(crate) fn of_archive(error: &ArchiveError) -> Failure {
    let failure = match error {
        ArchiveError::Record(_) | ArchiveError::Unwritable { .. } => Failure::environment("failed to use the archive"),
        _ => Failure::user("failed to use the archive"),
    };
    let failure = failure.because(error);
    match error {
        ArchiveError::Exists { .. } => failure.hint("name another file with -o"),
        ArchiveError::Damaged { .. } | ArchiveError::Changed { .. } => {
            failure.hint("copy it again from where it was made, or export the run again")
        }
        _ => failure,
    }
}
