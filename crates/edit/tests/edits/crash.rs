//! A kill, or a full disk, at every step of an apply and of an undo, for every kind of file.
//!
//! A kill is an unwinding that runs no code of the journal; `tests/kill.rs` kills real processes.

use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bystander_edit::{Action, EditError, EditSpec, Steps};

use crate::world::{Snapshot, World, edit, prepared, set_mode, set_times, snapshot};

/// What happens at a step.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum At {
    Kill,
    FullDisk,
}

pub(crate) struct StopAt {
    left: AtomicUsize,
    what: At,
}

struct Killed;

impl StopAt {
    pub(crate) fn step(step: usize, what: At) -> Arc<Self> {
        Arc::new(Self { left: AtomicUsize::new(step), what })
    }
}

impl Steps for StopAt {
    fn reached(&self, _step: &'static str) -> io::Result<()> {
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(left.saturating_sub(1), Ordering::Relaxed);
        match (left, self.what) {
            (1, At::Kill) => resume_unwind(Box::new(Killed)),
            (1, At::FullDisk) => Err(io::Error::from(io::ErrorKind::StorageFull)),
            _ => Ok(()),
        }
    }
}

/// Whether the work was killed.
pub(crate) fn killed(work: impl FnOnce()) -> bool {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(()) => false,
        Err(payload) if payload.is::<Killed>() => true,
        Err(payload) => resume_unwind(payload),
    }
}

pub(crate) const KINDS: [&str; 15] = [
    "lf",
    "crlf",
    "bom",
    "no final newline",
    "emptied",
    "latin-1",
    "mixed",
    "form feed",
    "0444",
    "setuid 0755",
    "xattr",
    "hard link",
    "hard link, shorter",
    "symlink",
    "bytecode",
];

/// Makes a file of a kind, and the edit for it.
pub(crate) fn file_of(kind: &str, world: &World) -> (PathBuf, EditSpec) {
    let body = "def f(x):\n    y = x\n    return y\n";
    let bytes = match kind {
        "crlf" => body.replace('\n', "\r\n").into_bytes(),
        "bom" => [b"\xef\xbb\xbf", body.as_bytes()].concat(),
        "no final newline" => body.trim_end().as_bytes().to_vec(),
        "latin-1" => [b"# -*- coding: latin-1 -*-\n# \xe9\n", body.as_bytes()].concat(),
        "mixed" => [b"a=1\r\nb=2\n    c\r", body.as_bytes()].concat(),
        "form feed" => [b"\x0c\n", body.as_bytes()].concat(),
        _ => body.as_bytes().to_vec(),
    };
    let name = if kind == "symlink" { "real.py" } else { "m.py" };
    let file = world.write(name, bytes);
    let mut named = file.clone();
    match kind {
        "0444" => {
            set_mode(&file, 0o444);
            // Only the superuser can give a file away; of its own the same is tested.
            let _ = std::os::unix::fs::chown(&file, Some(1000), Some(1000));
        }
        "setuid 0755" => set_mode(&file, 0o4755),
        "xattr" => {
            xattr::set(&file, "user.note", b"\x00\xffhi").unwrap_or_else(|error| assert_eq!(error.kind(), io::ErrorKind::Unsupported))
        }
        "hard link" | "hard link, shorter" => fs::hard_link(&file, world.tree().join("other.py")).expect("linked"),
        "symlink" => {
            named = world.tree().join("m.py");
            std::os::unix::fs::symlink("real.py", &named).expect("linked");
        }
        "bytecode" => {
            fs::create_dir(world.tree().join("__pycache__")).expect("created");
            let unchecked = [&[1, 2, 13, 10, 1, 0, 0, 0][..], &[7; 8], b"code"].concat();
            fs::write(world.tree().join("__pycache__/m.any.pyc"), unchecked).expect("written");
        }
        _ => {}
    }
    set_times(&file, 1_000_000_000, 5, 123_456_789);
    let action = match kind {
        "emptied" => return (file, edit(&named, body, Action::Replace(Vec::new()))),
        "hard link, shorter" => Action::Replace("pass\n".into()),
        _ => Action::InsertBefore("    debug_print(y)\n".into()),
    };
    let find = if kind == "no final newline" { "    return y" } else { "    return y\n" };
    (file, edit(&named, find, action))
}

/// The file, its bytecode, and the names in its folder.
pub(crate) type State = (Snapshot, Option<Snapshot>, Vec<String>);

pub(crate) fn state(world: &World, file: &std::path::Path) -> State {
    let bytecode = world.tree().join("__pycache__/m.any.pyc");
    (snapshot(file), bytecode.exists().then(|| snapshot(&bytecode)), crate::world::names(&world.tree()))
}

/// A read-only file can only be edited by the superuser; its refusal is tested with the preparation.
pub(crate) fn can_edit(kind: &str, file: &std::path::Path) -> bool {
    kind != "0444" || fs::OpenOptions::new().write(true).open(file).is_ok()
}

pub(crate) fn every_step(kind: &str, mut at_step: impl FnMut(usize) -> bool) {
    let steps = (1..500).find(|&step| !at_step(step)).expect("it comes to an end");
    assert!(steps > 20, "{kind}: only {steps} steps");
}

#[test]
fn a_kill_at_every_step_of_an_apply_is_undone() {
    for kind in KINDS {
        every_step(kind, |step| {
            let world = World::new();
            let (file, spec) = file_of(kind, &world);
            if !can_edit(kind, &file) {
                return step <= 21;
            }
            let before = state(&world, &file);
            let made = prepared(&spec);
            let journal = world.journal_with(StopAt::step(step, At::Kill));
            let was_killed = killed(|| drop(journal.apply(&made, "run").expect("applied")));
            let recovery = world.journal().revert_all().expect("recovered");
            assert!(recovery.failed.is_empty(), "{kind}, step {step}: {:?}", recovery.failed);
            assert_eq!(state(&world, &file), before, "{kind}, step {step}");
            world.assert_nothing_left();
            was_killed
        });
    }
}

/// A world with an edit on disk, and the file as it was; `None` where this user cannot edit a file of the kind.
fn edited(kind: &str) -> Option<(World, PathBuf, State)> {
    let world = World::new();
    let (file, spec) = file_of(kind, &world);
    if !can_edit(kind, &file) {
        return None;
    }
    let before = state(&world, &file);
    world.journal().apply(&prepared(&spec), "run").expect("applied");
    Some((world, file, before))
}

#[test]
fn a_kill_at_every_step_of_an_undo_is_finished_by_the_next() {
    for kind in KINDS {
        let mut steps = 0;
        loop {
            steps += 1;
            let Some((world, file, before)) = edited(kind) else { break };
            let journal = world.journal_with(StopAt::step(steps, At::Kill));
            let was_killed = killed(|| drop(journal.revert_all().expect("reverted")));
            let recovery = world.journal().revert_all().expect("recovered");
            assert!(recovery.failed.is_empty(), "{kind}, step {steps}: {:?}", recovery.failed);
            assert_eq!(state(&world, &file), before, "{kind}, step {steps}");
            world.assert_nothing_left();
            assert_eq!(world.journal().verify().expect("read"), [], "{kind}, step {steps}");
            if !was_killed {
                assert!(steps > 10, "{kind}: only {steps} steps");
                break;
            }
        }
    }
}

#[test]
fn a_full_disk_at_every_step_of_an_apply_leaves_everything_as_it_was() {
    for kind in KINDS {
        every_step(kind, |step| {
            let world = World::new();
            let (file, spec) = file_of(kind, &world);
            if !can_edit(kind, &file) {
                return step <= 21;
            }
            let before = state(&world, &file);
            let made = prepared(&spec);
            let result = world.journal_with(StopAt::step(step, At::FullDisk)).apply(&made, "run");
            let failed = match result {
                Ok(_) => return false,
                Err(error) => error,
            };
            assert!(matches!(failed, EditError::DiskFull { .. }), "{kind}, step {step}: {failed}");
            assert!(failed.to_string().ends_with("the disk is full"), "{failed}");
            assert_eq!(state(&world, &file), before, "{kind}, step {step}");
            world.assert_nothing_left();
            assert!(world.journal().status().expect("read").is_empty(), "{kind}, step {step}");
            true
        });
    }
}

/// A disk without room for a new file, and a kill at a step.
struct NoRoom {
    kill: StopAt,
}

impl Steps for NoRoom {
    fn reached(&self, step: &'static str) -> io::Result<()> {
        self.kill.reached(step)?;
        let new = ["a file of the journal is created", "the temporary file is created"].contains(&step);
        if new { Err(io::Error::from(io::ErrorKind::StorageFull)) } else { Ok(()) }
    }
}

#[test]
fn a_disk_without_room_for_a_second_version_keeps_no_edit() {
    for kind in KINDS.into_iter().filter(|kind| !["emptied", "hard link, shorter"].contains(kind)) {
        let mut step = 0;
        loop {
            step += 1;
            let Some((world, file, before)) = edited(kind) else { break };
            let full = Arc::new(NoRoom { kill: StopAt { left: AtomicUsize::new(step), what: At::Kill } });
            let was_killed = killed(|| {
                let recovery = world.journal_with(full).revert_all().expect("tried");
                let told = recovery.failed.iter().all(|error| matches!(error, EditError::DiskFull { .. }));
                assert!(told && recovery.failed.len() == 1, "{kind}: its end cannot be put on record: {:?}", recovery.failed);
            });
            if !was_killed {
                let (now, was) = (snapshot(&file), &before.0);
                assert_eq!(&now, was, "{kind}: the file is as it was");
            }
            let recovery = world.journal().revert_all().expect("recovered");
            assert!(recovery.failed.is_empty(), "{kind}, step {step}: {:?}", recovery.failed);
            assert_eq!(state(&world, &file), before, "{kind}, step {step}");
            world.assert_nothing_left();
            if !was_killed {
                assert!(step > 5, "{kind}: only {step} steps");
                break;
            }
        }
    }
}

#[test]
fn a_kill_while_a_linked_file_with_the_work_of_others_is_rewritten_loses_none_of_it() {
    let mut step = 0;
    loop {
        step += 1;
        let world = World::new();
        let (file, spec) = file_of("hard link", &world);
        world.journal().apply(&prepared(&spec), "run").expect("applied");
        let theirs = fs::read_to_string(&file).expect("there").replace("y = x", "y = x + 1");
        fs::write(&file, &theirs).expect("saved");
        let journal = world.journal_with(StopAt::step(step, At::Kill));
        let was_killed = killed(|| drop(journal.revert_all().expect("reverted")));
        let recovery = world.journal().revert_all().expect("recovered");
        assert!(recovery.failed.is_empty(), "step {step}: {:?}", recovery.failed);
        assert_eq!(fs::read_to_string(&file).expect("there"), theirs.replace("    debug_print(y)\n", ""), "step {step}");
        world.assert_nothing_left();
        if !was_killed {
            assert!(step > 20, "only {step} steps");
            break;
        }
    }
}
