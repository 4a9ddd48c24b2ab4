//! Real processes that are killed with SIGKILL while they edit; the next process recovers.
//!
//! The test starts itself again as the process that is killed: no harness, so that the child runs nothing else.

use std::env;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bystander_edit::{Action, EditSpec, Journal, Steps, prepare};
use rustix::process::{Signal, getpid, kill_process};

const SOURCE: &str = "def f(x):\n    y = x\n    return y\n";
const CHILD: &str = "BYSTANDER_EDIT_KILLED_AT";

/// Kills its own process at a step.
struct KillAt(AtomicUsize);

impl Steps for KillAt {
    fn reached(&self, _step: &'static str) -> io::Result<()> {
        if self.0.fetch_sub(1, Ordering::Relaxed) == 1 {
            kill_process(getpid(), Signal::KILL)?;
        }
        Ok(())
    }
}

/// Edits the file under `folder` and takes the edit back, until it is killed.
fn child(folder: &Path, step: usize) {
    let journal = Journal::open_with(&folder.join("state"), &folder.join("registry"), Arc::new(KillAt(AtomicUsize::new(step))));
    let journal = journal.expect("opened");
    let text = "    debug_print(y)\n".to_owned();
    let file = folder.join("m.py");
    let spec = EditSpec {
        name: "print".to_owned(),
        file,
        find: "    y = x\n".to_owned(),
        action: Action::InsertAfter(text.into_bytes()),
        sha256: None,
    };
    let applied = journal.apply(&prepare(&spec).expect("prepared"), "killed").expect("applied");
    journal.revert(&applied.id).expect("reverted");
}

/// Who recovers.
#[derive(Debug, Clone, Copy, PartialEq)]
enum By {
    /// The next start with the same state directory.
    Next,
    /// Any start of the same user.
    Any,
    /// Any start of the same user, when the state directory is gone.
    AnyWithoutState,
}

/// Starts a child that is killed at a step, recovers, and checks; tells whether the child was killed.
fn kill_and_recover(step: usize, linked: bool, by: By) -> bool {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("m.py");
    fs::write(&file, SOURCE).expect("written");
    if linked {
        fs::hard_link(&file, folder.path().join("other.py")).expect("linked");
    }
    let modified = fs::metadata(&file).and_then(|file| file.modified()).expect("there");
    let status = Command::new(env::current_exe().expect("known"))
        .env(CHILD, step.to_string())
        .arg(folder.path())
        .stdout(Stdio::null())
        .status()
        .expect("started");
    let was_killed = std::os::unix::process::ExitStatusExt::signal(&status) == Some(9);
    assert!(was_killed || status.success(), "step {step}: {status}");
    let (state, registry) = (folder.path().join("state"), folder.path().join("registry"));
    if by == By::AnyWithoutState && state.exists() {
        fs::remove_dir_all(&state).expect("removed");
    }
    let journal = Journal::open(&state, &registry).expect("opened");
    let recovery = if by == By::Next { journal.recover() } else { bystander_edit::recover_everywhere(&registry) }.expect("recovered");
    assert!(recovery.failed.is_empty(), "{by:?}, step {step}: {:?}", recovery.failed);
    assert_eq!(fs::read_to_string(&file).expect("there"), SOURCE, "step {step}");
    assert_eq!(fs::metadata(&file).and_then(|file| file.modified()).expect("there"), modified, "step {step}");
    let left: Vec<_> = fs::read_dir(folder.path())
        .expect("there")
        .flatten()
        .filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b".bystander"))
        .collect();
    assert!(left.is_empty(), "step {step}: {left:?}");
    assert!(bystander_edit::registry_status(&registry).expect("read").is_empty(), "step {step}");
    let mut left = fs::read_dir(&registry).into_iter().flatten().flatten().map(|entry| entry.file_name());
    // What was never claimed is taken away by the next claim.
    let unclaimed = |name: &std::ffi::OsStr| !name.to_string_lossy().ends_with(".json");
    assert!(left.all(|name| name == "lock" || (by != By::Next && unclaimed(&name))), "{by:?}, step {step}");
    assert!(journal.verify().expect("read").is_empty(), "step {step}");
    was_killed
}

fn main() -> ExitCode {
    if let Ok(step) = env::var(CHILD) {
        let folder = env::args_os().nth(1).expect("a folder");
        child(Path::new(&folder), step.parse().expect("a number"));
        return ExitCode::SUCCESS;
    }
    for linked in [false, true] {
        for by in [By::Next, By::Any, By::AnyWithoutState] {
            let survived = (1..500).find(|&step| !kill_and_recover(step, linked, by)).expect("it comes to an end");
            assert!(survived > 40, "only {survived} steps");
        }
    }
    ExitCode::SUCCESS
}
