//! Real processes that are killed with SIGKILL at every step of an edit that stays and of its undo, for every kind of file: afterwards
//! `revert` gives back bytes, mode, owner, times, attributes and links.
//!
//! The test starts itself again as the process that is killed: no harness, so that the child runs nothing else.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bystander_edit::{Action, EditSpec, Journal, Steps, prepare};
use rustix::process::{Signal, getpid, kill_process};

const BODY: &str = "def f(x):\n    y = x\n    return y\n";
const CHILD: &str = "BYSTANDER_KEPT_KILLED_AT";
const KINDS: [&str; 13] =
    ["lf", "crlf", "bom", "no final newline", "empty", "latin-1", "mixed", "form feed", "0444", "0755", "xattr", "hard link", "symlink"];

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

fn bytes_of(kind: &str) -> Vec<u8> {
    match kind {
        "crlf" => BODY.replace('\n', "\r\n").into_bytes(),
        "bom" => [b"\xef\xbb\xbf", BODY.as_bytes()].concat(),
        "no final newline" => BODY.trim_end().as_bytes().to_vec(),
        "latin-1" => [b"# -*- coding: latin-1 -*-\n# \xe9\n", BODY.as_bytes()].concat(),
        "mixed" => [b"a=1\r\nb=2\n    c\r", BODY.as_bytes()].concat(),
        "form feed" => [b"\x0c\n", BODY.as_bytes()].concat(),
        _ => BODY.as_bytes().to_vec(),
    }
}

/// Makes a file of a kind in a folder and gives the path by which it is edited; a file that is emptied by its edit stands for the empty one,
/// in which no text can be found.
fn make(kind: &str, folder: &Path) -> PathBuf {
    let real = folder.join(if kind == "symlink" { "real.py" } else { "m.py" });
    fs::write(&real, bytes_of(kind)).expect("written");
    let mode = match kind {
        "0444" => 0o444,
        "0755" => 0o755,
        _ => 0o644,
    };
    match kind {
        "xattr" => {
            xattr::set(&real, "user.note", b"\x00\xffhi").unwrap_or_else(|error| assert_eq!(error.kind(), io::ErrorKind::Unsupported))
        }
        "hard link" => fs::hard_link(&real, folder.join("other.py")).expect("linked"),
        "symlink" => std::os::unix::fs::symlink("real.py", folder.join("m.py")).expect("linked"),
        _ => {}
    }
    fs::set_permissions(&real, fs::Permissions::from_mode(mode)).expect("set");
    let old = std::time::UNIX_EPOCH + std::time::Duration::new(1_000_000_000, 123_456_789);
    fs::File::open(&real).and_then(|file| file.set_modified(old)).expect("set");
    folder.join("m.py")
}

fn edit_of(kind: &str, file: PathBuf) -> EditSpec {
    let (find, action) = match kind {
        "empty" => (BODY, Action::Replace(Vec::new())),
        "no final newline" => ("    return y", Action::InsertBefore("    debug_print(y)\n".into())),
        _ => ("    return y\n", Action::InsertBefore("    debug_print(y)\n".into())),
    };
    EditSpec { name: "print".to_owned(), file, find: find.to_owned(), action, sha256: None }
}

/// Everything that an undo promises to give back of one file.
#[derive(Debug, PartialEq, Eq)]
struct Snapshot {
    name: String,
    bytes: Vec<u8>,
    mode: u32,
    owner: (u32, u32),
    modified: (i64, i64),
    links: u64,
    note: Option<Vec<u8>>,
}

/// The files of a folder, by name.
fn state(folder: &Path) -> Vec<Snapshot> {
    let entries = fs::read_dir(folder).expect("read").map(|entry| entry.expect("read").path());
    let files = entries.filter(|path| path.is_file()).map(|path| {
        let stat = fs::metadata(&path).expect("there");
        Snapshot {
            name: path.file_name().expect("named").to_string_lossy().into_owned(),
            bytes: fs::read(&path).expect("read"),
            mode: stat.mode(),
            owner: (stat.uid(), stat.gid()),
            modified: (stat.mtime(), stat.mtime_nsec()),
            links: stat.nlink(),
            note: xattr::get_deref(&path, "user.note").unwrap_or_default(),
        }
    });
    let mut files: Vec<_> = files.collect();
    files.sort_by(|one, two| one.name.cmp(&two.name));
    files
}

/// Makes an edit that stays and takes it back, until it is killed.
fn child(folder: &Path, kind: &str, step: usize) {
    let steps = Arc::new(KillAt(AtomicUsize::new(step)));
    let journal = Journal::open_with(&folder.join("state"), &folder.join("registry"), steps).expect("opened");
    let made = journal.keep(&[prepare(&edit_of(kind, folder.join("m.py"))).expect("prepared")], None).expect("made");
    journal.revert(&made[0].id).expect("reverted");
}

/// Starts a child that is killed at a step, and takes back what it left; tells whether it was killed.
fn kill_and_revert(kind: &str, step: usize) -> bool {
    let folder = tempfile::tempdir().expect("a temporary folder");
    make(kind, folder.path());
    let before = state(folder.path());
    let mut command = Command::new(env::current_exe().expect("known"));
    let status = command.env(CHILD, step.to_string()).arg(folder.path()).arg(kind).stdout(Stdio::null()).status().expect("started");
    let was_killed = status.signal() == Some(9);
    assert!(was_killed || status.success(), "{kind}, step {step}: {status}");
    let journal = Journal::open(&folder.path().join("state"), &folder.path().join("registry")).expect("opened");
    for recovery in [journal.recover().expect("recovered"), journal.revert_all().expect("reverted")] {
        assert!(recovery.failed.is_empty(), "{kind}, step {step}: {:?}", recovery.failed);
    }
    assert_eq!(state(folder.path()), before, "{kind}, step {step}");
    assert!(bystander_edit::registry_status(&folder.path().join("registry")).expect("read").is_empty(), "{kind}, step {step}");
    assert!(journal.verify().expect("read").is_empty(), "{kind}, step {step}");
    was_killed
}

fn main() -> ExitCode {
    if let Ok(step) = env::var(CHILD) {
        let arguments: Vec<_> = env::args_os().skip(1).collect();
        child(Path::new(&arguments[0]), arguments[1].to_str().expect("text"), step.parse().expect("a number"));
        return ExitCode::SUCCESS;
    }
    for kind in KINDS {
        // Only the superuser can write such a file; its refusal is tested with the preparation.
        if kind == "0444" && !rustix::process::geteuid().is_root() {
            continue;
        }
        let survived = (1..500).find(|&step| !kill_and_revert(kind, step)).expect("it comes to an end");
        assert!(survived > 40, "{kind}: only {survived} steps");
    }
    ExitCode::SUCCESS
}
