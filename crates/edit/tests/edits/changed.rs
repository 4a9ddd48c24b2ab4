//! Undo of files that others changed meanwhile.

use std::fs;
use std::path::Path;

use bystander_edit::EditError;
use bystander_model::edit::RevertedEdit;
use bystander_model::patch::{EditState, ProblemKind};

use crate::world::{World, insert, prepared, set_mode, set_times, snapshot};

const SOURCE: &str = "import os\n\n\ndef a(x):\n    y = x\n    return y\n\n\ndef b(x):\n    z = x\n    return z\n";

/// Makes an edit, lets others work, undoes it.
fn undone(world: &World, others: impl Fn(&Path)) -> (String, Result<RevertedEdit, EditError>) {
    let file = world.write("m.py", SOURCE);
    set_times(&file, 1_000_000_000, 5, 7);
    let journal = world.journal();
    let id = journal.apply(&prepared(&insert(&file, "    y = x\n", "    debug_print(y)\n")), "run").expect("applied").id;
    others(&file);
    let result = journal.revert(&id);
    (id, result)
}

fn rewrite(from: &'static str, to: &'static str) -> impl Fn(&Path) {
    move |file| {
        let text = fs::read_to_string(file).expect("there");
        assert!(text.contains(from), "{from:?}");
        fs::write(file, text.replace(from, to)).expect("saved");
    }
}

#[test]
fn the_changes_of_others_are_kept_and_only_the_edit_goes() {
    for (from, to) in [
        ("z = x", "z = x + 1"),
        ("    y = x\n", "    y = x + 5\n"),
        ("return y", "return y + 1"),
        ("import os\n", "# new\nimport os\n"),
        ("\n", "\r\n"),
    ] {
        let world = World::new();
        let (_, result) = undone(&world, rewrite(from, to));
        let done = result.expect("taken out");
        assert_eq!((done.exact, done.how.as_str()), (false, "taken out of a file that others changed"));
        let file = world.tree().join("m.py");
        assert_eq!(fs::read_to_string(&file).expect("there"), SOURCE.replace(from, to));
        assert!(snapshot(&file).mtime > (1_700_000_000, 0), "the bytes are new, so is their time");
        world.assert_nothing_left();
    }
}

#[test]
fn a_file_that_was_checked_out_again_gets_its_old_time_back() {
    let world = World::new();
    let (_, result) = undone(&world, |file| fs::write(file, SOURCE).expect("checked out"));
    let done = result.expect("nothing to do");
    assert_eq!((done.exact, done.how.as_str()), (true, "already as before"));
    assert_eq!(snapshot(&world.tree().join("m.py")).mtime, (1_000_000_000, 7));
    world.assert_nothing_left();
}

#[test]
fn a_file_that_was_removed_is_reported() {
    let world = World::new();
    let (_, result) = undone(&world, |file| fs::remove_file(file).expect("removed"));
    let done = result.expect("nothing to do");
    assert_eq!((done.exact, done.sha256, done.how.as_str()), (false, None, "the file is gone: others removed or moved it"));
    assert!(!world.tree().join("m.py").exists());
    world.assert_nothing_left();
    let world = World::new();
    let (_, result) = undone(&world, |file| fs::remove_dir_all(file.parent().expect("a folder")).expect("removed"));
    assert_eq!(result.expect("nothing to do").sha256, None);
}

#[test]
fn text_that_others_took_out_and_more_is_left_as_they_want_it() {
    let world = World::new();
    let theirs = SOURCE.replace("z = x", "z = 9");
    let (_, result) = undone(&world, |file| fs::write(file, &theirs).expect("saved"));
    assert_eq!(result.expect("nothing to do").how, "its text is no longer in the file, which others changed");
    assert_eq!(fs::read_to_string(world.tree().join("m.py")).expect("there"), theirs);
}

#[test]
fn a_conflict_writes_nothing_keeps_both_versions_and_can_be_solved_by_hand() {
    let world = World::new();
    let (id, result) = undone(&world, rewrite("debug_print(y)", "debug_print( y, end='' )"));
    let file = world.tree().join("m.py");
    let theirs = fs::read(&file).expect("there");
    match result {
        Err(EditError::Conflict(conflict)) => {
            assert_eq!((&conflict.id, &conflict.file), (&id, &file));
            assert_eq!(fs::read_to_string(&conflict.before).expect("kept"), SOURCE);
            assert!(fs::read_to_string(&conflict.after).expect("kept").contains("debug_print(y)"));
            assert!(conflict.why.contains("then revert again"), "{}", conflict.why);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(fs::read(&file).expect("there"), theirs);
    let journal = world.journal();
    assert_eq!(journal.status().expect("read")[0].state, EditState::Conflict);
    assert_eq!(journal.verify().expect("read").iter().map(|problem| problem.kind).collect::<Vec<_>>(), [ProblemKind::Marker]);
    assert!(matches!(journal.apply(&prepared(&insert(&file, "    z = x\n", "    more()\n")), "run"), Err(EditError::Held { .. })));
    assert_eq!(journal.revert_all().expect("read").failed.len(), 1);
    fs::write(&file, SOURCE).expect("solved by hand");
    assert!(journal.revert(&id).expect("nothing is left").exact);
    world.assert_nothing_left();
    assert_eq!(journal.verify().expect("read"), []);
}

#[test]
fn a_file_that_became_something_else_is_a_conflict() {
    let world = World::new();
    let (_, result) = undone(&world, |file| {
        fs::remove_file(file).expect("removed");
        std::os::unix::fs::symlink("elsewhere", file).expect("linked");
    });
    assert!(matches!(result, Err(EditError::Conflict(conflict)) if conflict.why.starts_with("it is no longer a regular file")));
    let world = World::new();
    let (_, result) = undone(&world, |file| {
        fs::remove_file(file).expect("removed");
        fs::create_dir(file).expect("created");
    });
    assert!(matches!(result, Err(EditError::Conflict(_))));
}

#[test]
fn a_mode_that_others_gave_is_kept() {
    let world = World::new();
    let (_, result) = undone(&world, |file| set_mode(file, 0o600));
    let done = result.expect("restored");
    assert_eq!((done.exact, done.how.as_str()), (true, "restored, with the mode, owner or attributes that others gave it"));
    let now = snapshot(&world.tree().join("m.py"));
    assert_eq!((now.bytes.as_slice(), now.mode & 0o777, now.mtime), (SOURCE.as_bytes(), 0o600, (1_000_000_000, 7)));
}
