//! Edits that outlive their process: all or none, through kills and full disks; until they are taken back or their time is over.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bystander_edit::{
    Action, EditError, EditSpec, Find, PatchSpec, PreparedEdit, Steps, expire_everywhere, prepare_patches, recover_everywhere,
    registry_status,
};
use bystander_model::patch::EditState;

use crate::crash::{At, KINDS, State, StopAt, can_edit, every_step, file_of, killed, state};
use crate::patches::text;
use crate::world::{World, insert, prepared, set_times, snapshot};

/// A patch that does what an edit of the tests does.
fn patch(spec: &EditSpec) -> PatchSpec {
    PatchSpec { find: Find::Text(spec.find.clone().into_bytes()), ..text(&spec.file, "", spec.action.clone()) }
}

/// A world with a file of a kind and a plain one, and an edit for each.
fn two_files(kind: &str) -> Option<(World, PathBuf, PathBuf, Vec<PreparedEdit>)> {
    let world = World::new();
    let (file, spec) = file_of(kind, &world);
    let other = world.write("z.py", "x = 1\n");
    set_times(&other, 1_000_000_000, 5, 7);
    if !can_edit(kind, &file) {
        return None;
    }
    let edits = prepare_patches(&[patch(&spec), text(&other, "x = 1", Action::InsertAfter("print(x)".into()))]);
    Some((world, file, other, edits.unwrap_or_else(|error| panic!("{kind}: {error}"))))
}

#[test]
fn a_kill_at_every_step_leaves_all_edits_or_none_and_either_is_taken_back() {
    for kind in KINDS {
        let mut kept = 0;
        every_step(kind, |step| {
            let Some((world, file, other, edits)) = two_files(kind) else { return step <= 21 };
            let before: (State, _) = (state(&world, &file), snapshot(&other));
            let journal = world.journal_with(StopAt::step(step, At::Kill));
            let was_killed = killed(|| drop(journal.keep(&edits, None).expect("made")));
            // This process lives, so that what is not kept is not abandoned; the next start of another would take it back.
            let live = world.journal().status().expect("read").into_iter().filter(|edit| edit.state == EditState::Live).collect::<Vec<_>>();
            let all = live.iter().filter(|edit| edit.kept).count();
            assert!(all == 0 || all == 2, "{kind}, step {step}: {all} of two are kept");
            kept += usize::from(all == 2 && was_killed);
            if all == 2 {
                assert_eq!(fs::read(&file).expect("there"), edits[0].after, "{kind}, step {step}");
                assert_eq!(fs::read(&other).expect("there"), edits[1].after, "{kind}, step {step}");
            }
            let recovery = world.journal().revert_all().expect("taken back");
            assert!(recovery.failed.is_empty(), "{kind}, step {step}: {:?}", recovery.failed);
            assert_eq!((state(&world, &file), snapshot(&other)), before, "{kind}, step {step}");
            world.assert_nothing_left();
            was_killed
        });
        assert!(kept > 0 || kind == "0444", "{kind}: no kill after the commit");
    }
}

#[test]
fn a_full_disk_at_every_step_leaves_all_edits_or_none() {
    for kind in KINDS {
        every_step(kind, |step| {
            let Some((world, file, other, edits)) = two_files(kind) else { return step <= 21 };
            let before: (State, _) = (state(&world, &file), snapshot(&other));
            let result = world.journal_with(StopAt::step(step, At::FullDisk)).keep(&edits, None);
            let live = world.journal().status().expect("read");
            match result {
                Ok(_) => return false,
                // After the commit they stay, and the error says what could not be written.
                Err(EditError::DiskFull { .. }) if live.len() == 2 => assert!(live.iter().all(|edit| edit.kept), "{kind}, step {step}"),
                Err(EditError::DiskFull { .. }) => {
                    assert!(live.is_empty(), "{kind}, step {step}: {live:?}");
                    assert_eq!((state(&world, &file), snapshot(&other)), before, "{kind}, step {step}");
                }
                Err(other) => panic!("{kind}, step {step}: {other}"),
            }
            assert!(world.journal().revert_all().expect("taken back").failed.is_empty());
            assert_eq!((state(&world, &file), snapshot(&other)), before, "{kind}, step {step}");
            world.assert_nothing_left();
            true
        });
    }
}

#[test]
fn kept_edits_survive_every_start_and_nothing_of_a_refused_group_stays() {
    let world = World::new();
    let (one, two) = (world.write("one.py", "x = 1\n"), world.write("two.py", "x = 1\n"));
    let spec = |file| text(file, "x = 1", Action::InsertAfter("print(x)".into()));
    let edits = prepare_patches(&[spec(&one), spec(&two)]).expect("found");
    fs::write(&two, "x = 2\n").expect("others are faster");
    let journal = world.journal();
    assert!(matches!(journal.keep(&edits, None), Err(EditError::Changed { file }) if file == two));
    assert_eq!((fs::read_to_string(&one).expect("there").as_str(), journal.status().expect("read").len()), ("x = 1\n", 0));
    world.assert_nothing_left();
    let edits = prepare_patches(&[spec(&one)]).expect("found");
    let id = journal.keep(&edits, None).expect("made").remove(0).id;
    assert_eq!(Some(&id), edits[0].id.as_ref());
    assert!(
        journal.recover().expect("read").reverted.is_empty() && recover_everywhere(&world.registry()).expect("read").reverted.is_empty()
    );
    assert_eq!(journal.verify().expect("read"), [], "a kept edit is no problem");
    assert!(registry_status(&world.registry()).expect("read").iter().all(|edit| edit.kept && edit.id == id));
    // An edit of a trial finds the file taken; another patch may lie on top.
    let refused = journal.apply(&prepared(&insert(&one, "x = 1", "\n")), "trial 1").expect_err("taken");
    assert!(refused.to_string().contains("kept until"), "{refused}");
    let on_top = prepare_patches(&[text(&one, "print(x)", Action::Replace("print(-x)".into()))]).expect("found");
    journal.keep(&on_top, None).expect("on top");
    assert!(journal.revert(&id).is_ok_and(|undone| !undone.how.is_empty()) || journal.revert_all().is_ok());
    journal.revert_all().expect("taken back");
    assert_eq!(fs::read_to_string(&one).expect("there"), "x = 1\n");
    world.assert_nothing_left();
}

#[test]
fn an_edit_whose_time_is_over_is_taken_back_by_any_start() {
    let world = World::new();
    let file = world.write("m.py", "x = 1\n");
    let edits = |file| prepare_patches(&[text(file, "x = 1", Action::InsertAfter("print(x)".into()))]).expect("found");
    let journal = world.journal();
    journal.keep(&edits(&file), Some("2999-01-01T00:00:00Z")).expect("made");
    assert!(expire_everywhere(&world.registry()).expect("read").reverted.is_empty(), "its time is not over");
    assert_eq!(registry_status(&world.registry()).expect("read")[0].expires.as_deref(), Some("2999-01-01T00:00:00Z"));
    journal.revert_all().expect("taken back");
    for lost in [false, true] {
        journal.keep(&edits(&file), Some("2001-01-01T00:00:00Z")).expect("made");
        if lost {
            fs::remove_dir_all(world.state()).expect("removed");
        }
        assert_eq!(expire_everywhere(&world.registry()).expect("read").reverted.len(), 1);
        assert_eq!(fs::read_to_string(&file).expect("there"), "x = 1\n");
        world.assert_nothing_left();
    }
}

#[test]
fn only_python_gets_its_old_time_back() {
    let world = World::new();
    for (name, renews) in [("m.py", false), ("m.c", true), ("m.rs", true), ("notes.txt", true)] {
        let file = world.write(name, "int x;\n");
        set_times(&file, 1_000_000_000, 5, 7);
        let before = snapshot(&file);
        let spec = PatchSpec { unchecked: true, ..text(&file, "int x;\n", Action::InsertAfter("int y;\n".into())) };
        let journal = world.journal();
        let id = journal.keep(&prepare_patches(&[spec]).expect("found"), None).expect("made").remove(0).id;
        let edited = fs::metadata(&file).expect("there");
        let undone = journal.revert(&id).expect("taken back");
        let now = fs::metadata(&file).expect("there");
        if renews {
            assert_eq!(snapshot(&file).bytes, b"int x;\n");
            assert!(
                (now.mtime(), now.mtime_nsec()) > (edited.mtime(), edited.mtime_nsec()),
                "{name}: what was built from the edit is older"
            );
            assert_eq!(undone.how, "restored, with a new modification time so that make and cargo build it again");
        } else {
            assert_eq!((snapshot(&file), undone.how.as_str()), (before, "restored"));
        }
        assert_eq!(journal.verify().expect("read"), [], "{name}");
    }
}

/// Lets others write at the moment the file has been replaced.
struct Others {
    file: PathBuf,
    left: AtomicUsize,
}

impl Steps for Others {
    fn reached(&self, step: &'static str) -> io::Result<()> {
        if step == "the file is replaced" && self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            let text = fs::read_to_string(&self.file)?;
            fs::write(&self.file, format!("{text}theirs = 1\n"))?;
        }
        Ok(())
    }
}

#[test]
fn what_stands_there_after_the_write_is_proven() {
    let world = World::new();
    let file = world.write("m.py", "x = 1\n");
    let edits = prepare_patches(&[text(&file, "x = 1", Action::InsertAfter("print(x)".into()))]).expect("found");
    let others = Arc::new(Others { file: file.clone(), left: AtomicUsize::new(1) });
    let error = world.journal_with(others).keep(&edits, None).expect_err("it is not what was written");
    assert!(matches!(error, EditError::Unproven { .. }), "{error}");
    assert_eq!(fs::read_to_string(&file).expect("there"), "x = 1\ntheirs = 1\n", "their work is kept");
    assert!(world.journal().status().expect("read").is_empty());
    world.assert_nothing_left();
}

#[test]
fn a_file_that_vanishes_and_one_with_the_edit_of_another_user_are_refused() {
    let world = World::new();
    let spec = |file| text(file, "x = 1", Action::InsertAfter("print(x)".into()));
    let (one, two) = (world.write("one.py", "x = 1\n"), world.write("two.py", "x = 1\n"));
    let edits = prepare_patches(&[spec(&one), spec(&two)]).expect("found");
    fs::remove_file(&two).expect("removed");
    let error = world.journal().keep(&edits, None).expect_err("it is gone");
    assert!(matches!(&error, EditError::Target(bystander_edit::TargetError::Missing { path }) if *path == two), "{error}");
    assert_eq!(fs::read_to_string(&one).expect("there"), "x = 1\n");
    world.assert_nothing_left();
    let theirs = world.write("theirs.py", format!("x = 1  # bystander-patch-{}\n", "0123456789ab"));
    let error = world.journal().keep(&prepare_patches(&[spec(&theirs)]).expect("found"), None).expect_err("not ours");
    assert!(matches!(&error, EditError::Foreign { id, .. } if id == "0123456789ab"), "{error}");
    world.assert_nothing_left();
}
