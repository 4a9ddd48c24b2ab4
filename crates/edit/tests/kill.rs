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
    let spec = EditSpec { name: "print".to_owned(), file, find: "    y = x\n".to_owned(), action: Action::InsertAfter(text), sha256: None };
    let applied = journal.apply(&prepare(&spec).expect("prepared"), "killed").expect("applied");
    journal.revert(&applied.id).expect("reverted");
}

/// Starts a child that is killed at a step, recovers, and checks; tells whether the child was killed.
fn kill_and_recover(step: usize, linked: bool) -> bool {
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
    let journal = Journal::open(&folder.path().join("state"), &folder.path().join("registry")).expect("opened");
    let recovery = journal.recover().expect("recovered");
    assert!(recovery.failed.is_empty(), "step {step}: {:?}", recovery.failed);
    assert_eq!(fs::read_to_string(&file).expect("there"), SOURCE, "step {step}");
    assert_eq!(fs::metadata(&file).and_then(|file| file.modified()).expect("there"), modified, "step {step}");
    let left: Vec<_> = fs::read_dir(folder.path())
        .expect("there")
        .flatten()
        .filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b".bystander"))
        .collect();
    assert!(left.is_empty(), "step {step}: {left:?}");
    assert!(bystander_edit::registry_status(&folder.path().join("registry")).expect("read").is_empty(), "step {step}");
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
        let survived = (1..500).find(|&step| !kill_and_recover(step, linked)).expect("it comes to an end");
        assert!(survived > 40, "only {survived} steps");
    }
    ExitCode::SUCCESS
}
