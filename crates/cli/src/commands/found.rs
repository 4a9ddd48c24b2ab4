//! The run that a command is about: in a state directory, by its name, or in an archive, by its path.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use bystander_host::remote::mirror::{RanOn, is_sent_as};
use bystander_lab::ledger::Ledger;
use bystander_model::ids::RunId;
use bystander_model::typed::{self, quoted};
use bystander_store::archive::{ArchiveError, FAR, Opened};
use bystander_store::{RunLock, RunRecord, StateDir, Store, StoreError};

use crate::failure::Failure;
use crate::output::state_option;
use crate::state;

/// So many runs are named where the start of an id means several.
const MOST_NAMED: usize = 8;
/// So many runs are named whose ids come near to one that is none.
const MOST_NEAR: usize = 3;
/// So many letters of the middle of an id stand for it.
const LEAST_PART: usize = 3;

/// How the names of archives end.
pub(crate) const ARCHIVE_ENDS: &str = ".tar.zst";

/// What makes a run.
const MAKES: &str = "`bystander run FILE` and `bystander watch` make one";

/// The command that lists the runs.
fn list() -> String {
    format!("`{}`", typed::here("show --list"))
}

/// A run with its record.
pub(crate) struct Found {
    pub(crate) store: Store,
    pub(crate) record: RunRecord,
    pub(crate) place: Place,
    /// The machine that it ran on, where it was not this one or the one that made the archive.
    pub(crate) ran_on: Option<RanOn>,
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
            Some(name) if is_experiment(name) => Err(not_a_run(Path::new(name), state)),
            Some(name) if is_archive(name) => Self::in_archive(Path::new(name)),
            name => Self::in_state(name.map(OsStr::to_string_lossy).as_deref(), state::to_read(state)?),
        }
    }

    fn in_archive(path: &Path) -> Result<Self, Failure> {
        let opened = Opened::read(path).map_err(|error| of_archive(&error))?;
        let ran_on = opened
            .far
            .map(|far| serde_json::from_slice(&far))
            .transpose()
            .map_err(|source| of_archive(&ArchiveError::Unreadable { path: opened.path.clone(), member: FAR.to_owned(), source }))?;
        Ok(Self { store: opened.store, record: opened.run, place: Place::Archive(opened.path), ran_on })
    }

    fn in_state(name: Option<&str>, state: StateDir) -> Result<Self, Failure> {
        let store = state::open(&state)?;
        let record = find(&store, &state, name)?;
        let ran_on = RanOn::of(&state, &record.id).map_err(|error| {
            Failure::environment(format!("failed to read where {} ran: far.json in {}", record.id, state.run_dir(&record.id).display()))
                .because(&error)
        })?;
        Ok(Self { store, record, place: Place::State(state), ran_on })
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

/// Whether a name is that of an experiment file.
fn is_experiment(name: &OsStr) -> bool {
    Path::new(name).extension().is_some_and(|end| end == "toml")
}

/// What an experiment file is good for, and its newest run, where it has one.
fn not_a_run(file: &Path, named: Option<&Path>) -> Failure {
    if !file.is_file() {
        return Failure::user(format!("failed to find the run: there is no file {}, and no run has such an id", file.display()))
            .hint(format!("{} has all runs, with their experiment files", list()));
    }
    let failure = Failure::user(format!("failed to find the run: {} is an experiment file", file.display()));
    let failure = match newest_of(file, named) {
        Some((run, option)) => failure.hint(format!("`bystander show {run}{option}` prints its newest run")),
        None => failure.hint("it has no run yet"),
    };
    failure.hint(format!("`bystander run {}` runs it", quoted(file)))
}

/// The newest run of an experiment file, and the option with which it is found. Where that cannot be told there is none to name.
fn newest_of(file: &Path, named: Option<&Path>) -> Option<(RunId, String)> {
    let file = file.canonicalize().ok()?;
    let state = StateDir::open_existing(&named.map_or_else(|| StateDir::beside(&file), PathBuf::from)).ok()?;
    let runs = Store::open(&state).ok()?.runs().ok()?;
    // In one state directory a file that was sent is known by its name alone, there as here.
    let newest = runs.into_iter().find(|run| run.file == file || is_sent_as(&run.file, &file))?;
    Some((newest.id, state_option(state.path())))
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
    let unknown = |error: StoreError| match &error {
        StoreError::AmbiguousRun { candidates, .. } => {
            Failure::user("failed to find the run").because(&error).hint(give_more(store, candidates))
        }
        StoreError::UnknownRun { name, .. } => not_here(store, state, name),
        _ => Failure::user("failed to find the run").because(&error),
    };
    found.map_err(unknown)?.ok_or_else(|| Failure::user(format!("failed to find a run: {} holds none", state.path().display())).hint(MAKES))
}

/// No run has such an id: which come near to it, and what to do.
fn not_here(store: &Store, state: &StateDir, name: &str) -> Failure {
    let folder = state.path().display();
    let failure = Failure::user(format!("failed to find the run: no run in {folder} is named {name:?}, and none begins so"));
    let runs = store.runs().unwrap_or_default();
    let Some(newest) = runs.first() else { return failure.hint(MAKES) };
    let near: Vec<RunId> = near(name, &runs).into_iter().map(|run| run.id.clone()).collect();
    let failure = match near.as_slice() {
        [] => failure.hint(format!("no id here comes near to it; `{}` without one prints the newest, {}", typed::here("show"), newest.id)),
        near => failure.hint(format!("near to it:{}", listed(store, near))),
    };
    failure.hint(format!("{} has all runs, and the start of an id is enough", list()))
}

/// The runs whose ids a slip of the keyboard may have meant, the nearest first: of a whole id, of its beginning, or of a part that names it.
fn near<'r>(name: &str, runs: &'r [RunRecord]) -> Vec<&'r RunRecord> {
    let letters = name.chars().count();
    let far = |run: &RunRecord| {
        let id = &run.id.0;
        let beginning: String = id.chars().take(letters).collect();
        let slips = strsim::damerau_levenshtein(name, &beginning).min(strsim::damerau_levenshtein(name, id));
        if letters >= LEAST_PART && id.contains(name) { 0 } else { slips }
    };
    let mut near: Vec<(usize, &RunRecord)> = runs.iter().map(|run| (far(run), run)).filter(|(far, _)| *far <= letters / 4).collect();
    near.sort_by_key(|(far, _)| *far);
    near.into_iter().map(|(_, run)| run).take(MOST_NEAR).collect()
}

/// The runs that a start of an id may mean, newest first.
fn give_more(store: &Store, candidates: &[RunId]) -> String {
    let more = candidates.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!("\n    and {more} older ones, which {} has", list()) } else { String::new() };
    format!("give more letters of the one that is meant:{}{more}", listed(store, &candidates[..candidates.len().min(MOST_NAMED)]))
}

/// Runs with what became of them, a line each.
fn listed(store: &Store, ids: &[RunId]) -> String {
    let said = |id: &RunId| match store.run(id) {
        Ok(Some(run)) => format!("\n    {id}  {}  {}", run.status.word(), run.file.display()),
        _ => format!("\n    {id}"),
    };
    ids.iter().map(said).collect()
}

/// An archive that is refused is bad input; one that cannot be made is trouble of the machine.
pub(crate) fn of_archive(error: &ArchiveError) -> Failure {
    let failure = match error {
        ArchiveError::Record(_) | ArchiveError::Unwritable { .. } => Failure::environment("failed to use the archive"),
        _ => Failure::user("failed to use the archive"),
    };
    let failure = failure.because(error);
    match error {
        ArchiveError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => failure
            .hint(format!("a name with `/`, or one that ends in `.tar.zst`, is the path of an archive; {} has the runs here", list())),
        ArchiveError::Exists { .. } => failure.hint("name another file with -o"),
        ArchiveError::Damaged { .. } | ArchiveError::Changed { .. } => {
            failure.hint("copy it again from where it was made, or export the run again")
        }
        _ => failure,
    }
}
