//! What the tests of the record share: a state directory, a run, events, and this binary as a child process.

use std::path::{Path, PathBuf};
use std::process::Command;

use bystander_model::event::{Event, EventBody, Origin};
use bystander_model::ids::{RunId, TimeNs, TrialId};
use bystander_store::{RunRecord, RunStatus, StateDir, Store};

use crate::CHILD;

/// Opens the state directory of a folder.
pub(crate) fn state(folder: &Path) -> StateDir {
    StateDir::open(&folder.join(".bystander")).expect("a state directory")
}

/// Describes a run.
pub(crate) fn run(id: &str, file: &str) -> RunRecord {
    let created = TimeNs(1_795_000_000_000_000_000);
    RunRecord { id: RunId(id.into()), file: PathBuf::from(file), spec_sha256: "ab".into(), created, status: RunStatus::Running }
}

/// Opens a record that has one run.
pub(crate) fn store_with(state: &StateDir, id: &str) -> Store {
    let mut store = Store::open(state).expect("a record");
    store.create_run(&run(id, "/x/story.toml"), &[]).expect("a run");
    store
}

/// Makes a note of the host about trial 1; equal arguments make equal events.
pub(crate) fn note(run: &str, seq: u64) -> Event {
    let body = EventBody::Note { text: format!("note {seq} {}", "x".repeat(200)) };
    Event { run: RunId(run.into()), trial: Some(TrialId(1)), origin: Origin::Host, seq, time: TimeNs(seq), body }
}

/// Reads the whole of a run.
pub(crate) fn all(store: &Store, run: &str) -> Vec<Event> {
    store.events(&RunId(run.into())).expect("a run").collect::<Result<_, _>>().expect("events")
}

/// Prepares this binary to run one test again as a child that works in `folder`.
pub(crate) fn child(test: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(CHILD, folder);
    command
}

/// The folder to work in, in a child.
pub(crate) fn child_folder() -> Option<PathBuf> {
    std::env::var_os(CHILD).map(PathBuf::from)
}
