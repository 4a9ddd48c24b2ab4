//! Apply, revert, status, verify: the plain road and its refusals.

use std::fs;
use std::os::unix::fs::MetadataExt;

use bystander_edit::{Action, EditError, Journal, prepare_stack};
use bystander_model::patch::{EditState, ProblemKind};

use crate::world::{World, edit, insert, names, prepared, set_mode, set_times, snapshot};

#[test]
fn an_edit_is_made_with_a_fresh_time_and_undone_to_the_last_nanosecond() {
    let world = World::new();
    let file = world.write("a.py", "a\nb\n");
    set_times(&file, 1_000_000_000, 5, 123_456_789);
    set_mode(&file, 0o751);
    let before = snapshot(&file);
    let journal = world.journal();
    let applied = journal.apply(&prepared(&insert(&file, "a\n", "x\n")), "run").expect("applied");
    let with = snapshot(&file);
    assert_eq!((with.bytes.as_slice(), with.mode), (&b"a\nx\nb\n"[..], before.mode));
    assert!(with.mtime > (1_700_000_000, 0), "{:?}", with.mtime);
    assert_eq!((applied.file.clone(), applied.added_lines.clone()), (file.clone(), 2..3));
    let status = journal.status().expect("read");
    assert_eq!((status.len(), status[0].state, &status[0].id), (1, EditState::Live, &applied.id));
    assert_eq!(journal.verify().expect("read"), []);
    let reverted = journal.revert(&applied.id).expect("reverted");
    assert_eq!(snapshot(&file), before);
    assert!(reverted.exact);
    assert_eq!((reverted.how.as_str(), reverted.sha256.as_ref()), ("restored", Some(&applied.before_sha256)));
    world.assert_nothing_left();
    assert_eq!(journal.status().expect("read")[0].state, EditState::Reverted);
    assert_eq!(journal.verify().expect("read"), []);
    assert_eq!(journal.revert(&applied.id).expect("answered again"), reverted);
}

#[test]
fn looking_at_a_journal_that_is_not_there_creates_nothing() {
    let world = World::new();
    let journal = world.journal();
    assert!(journal.status().expect("empty").is_empty() && journal.verify().expect("empty").is_empty());
    let recovery = journal.recover().expect("nothing to do");
    assert!(recovery.reverted.is_empty() && recovery.failed.is_empty());
    assert!(matches!(journal.revert("0"), Err(EditError::UnknownId { .. })));
    assert!(!world.state().exists() && !world.registry().exists());
}

#[test]
fn a_file_that_changed_since_it_was_prepared_is_not_written() {
    let world = World::new();
    let file = world.write("a.py", "a\nb\n");
    let made = prepared(&insert(&file, "a\n", "x\n"));
    fs::write(&file, "a\nB\n").expect("written");
    let before = snapshot(&file);
    assert!(matches!(world.journal().apply(&made, "run"), Err(EditError::Changed { .. })));
    assert_eq!(snapshot(&file), before);
    world.assert_nothing_left();
    assert!(world.journal().status().expect("read").is_empty());
    fs::remove_file(&file).expect("removed");
    assert!(matches!(world.journal().apply(&made, "run"), Err(EditError::Target(_))));
}

#[test]
fn a_stack_is_undone_in_any_order() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 2, 1], [1, 2, 0], [2, 0, 1]] {
        let world = World::new();
        let file = world.write("a.py", "a\nb\nc\n");
        set_times(&file, 1_000_000_000, 5, 7);
        let before = snapshot(&file);
        let stack = [
            insert(&file, "b\n", "traced_b()\n"),
            edit(&file, "c\n", Action::Replace("traced_c()\n".into())),
            insert(&file, "traced_b()\n", "traced_d()\n"),
        ];
        let journal = world.journal();
        let made = prepare_stack(&stack).expect("each is there once");
        let ids: Vec<String> = made.iter().map(|edit| journal.apply(edit, "run").expect("applied").id).collect();
        let last = order.map(|index| journal.revert(&ids[index]).expect("reverted"))[2].clone();
        assert_eq!(snapshot(&file), before, "{order:?}: {last:?}");
        assert!(last.exact, "{order:?}: {last:?}");
        world.assert_nothing_left();
        assert_eq!(journal.verify().expect("read"), []);
    }
}

#[test]
fn all_edits_of_an_owner_or_of_all_are_undone_newest_first() {
    let world = World::new();
    let (one, two) = (world.write("one.py", "a\n"), world.write("two.py", "a\n"));
    let journal = world.journal();
    for spec in prepare_stack(&[insert(&one, "a\n", "x()\n"), insert(&one, "x()\n", "y()\n")]).expect("once") {
        journal.apply(&spec, "first").expect("applied");
    }
    journal.apply(&prepared(&insert(&two, "a\n", "x()\n")), "second").expect("applied");
    assert_eq!(journal.holders().expect("read").iter().map(|holder| holder.gone).collect::<Vec<_>>(), [false; 3]);
    assert!(journal.recover().expect("read").reverted.is_empty(), "the process that made them lives");
    let recovery = journal.revert_owner("first").expect("read");
    assert_eq!(recovery.reverted.iter().map(|done| done.exact).collect::<Vec<_>>(), [true, true]);
    assert_eq!(fs::read(&one).expect("there"), b"a\n");
    assert_eq!(fs::read(&two).expect("there"), b"a\nx()\n");
    assert_eq!(journal.revert_all().expect("read").reverted.len(), 1);
    assert_eq!(fs::read(&two).expect("there"), b"a\n");
    world.assert_nothing_left();
}

#[test]
fn a_journal_of_a_newer_version_is_refused_and_left_alone() {
    let world = World::new();
    let file = world.write("a.py", "a\n");
    let journal = world.journal();
    journal.apply(&prepared(&insert(&file, "a\n", "x\n")), "run").expect("applied");
    let edits = world.state().join("edits");
    fs::write(edits.join("format"), "3\n").expect("written");
    let error = Journal::open(&world.state(), &world.registry()).expect_err("refused");
    assert!(matches!(error, EditError::NewerFormat { found: 3, known: 2, .. }), "{error}");
    fs::write(edits.join("format"), "1\n").expect("written");
    let record = names(&edits).into_iter().find(|name| name.ends_with(".json")).expect("a record");
    let text = fs::read_to_string(edits.join(&record)).expect("there");
    fs::write(edits.join(&record), text.replacen("\"format\": 2", "\"format\": 7", 1)).expect("written");
    assert!(matches!(journal.revert_all(), Err(EditError::NewerFormat { found: 7, .. })));
    fs::write(edits.join(&record), "{").expect("written");
    assert!(matches!(journal.status(), Err(EditError::Damaged { .. })));
    fs::write(edits.join(&record), text).expect("written");
    assert_eq!(journal.revert_all().expect("read").reverted.len(), 1);
}

#[test]
fn a_damaged_copy_is_never_put_into_the_file() {
    let world = World::new();
    let file = world.write("a.py", "a\n");
    let journal = world.journal();
    let id = journal.apply(&prepared(&insert(&file, "a\n", "x\n")), "run").expect("applied").id;
    fs::write(world.state().join(format!("edits/{id}.before")), "zzz").expect("written");
    assert!(matches!(journal.revert(&id), Err(EditError::DamagedCopy { .. })));
    assert_eq!(fs::read(&file).expect("there"), b"a\nx\n");
    let problems = journal.verify().expect("read");
    assert_eq!(problems.iter().map(|problem| problem.kind).collect::<Vec<_>>(), [ProblemKind::Bytes]);
}

#[test]
fn every_name_of_a_hard_linked_file_is_edited_and_undone() {
    let world = World::new();
    let file = world.write("a.py", "a\n");
    let other = world.tree().join("b.py");
    fs::hard_link(&file, &other).expect("linked");
    set_times(&file, 1_000_000_000, 5, 7);
    let before = snapshot(&file);
    let inode = fs::metadata(&file).expect("there").ino();
    let journal = world.journal();
    let id = journal.apply(&prepared(&insert(&file, "a\n", "x\n")), "run").expect("applied").id;
    assert_eq!(fs::read(&other).expect("there"), b"a\nx\n");
    let under_other_name = prepared(&insert(&other, "x\n", "y\n"));
    assert!(matches!(journal.apply(&under_other_name, "another"), Err(EditError::Held { .. })));
    journal.revert(&id).expect("reverted");
    assert_eq!((snapshot(&file), fs::metadata(&other).expect("there").ino()), (before, inode));
}

#[test]
fn text_that_comes_back_after_the_undo_is_told() {
    let world = World::new();
    let file = world.write("a.py", "a\n");
    let journal = world.journal();
    let id = journal.apply(&prepared(&insert(&file, "a\n", "debug_print()\n")), "run").expect("applied").id;
    let open_in_an_editor = fs::read(&file).expect("there");
    journal.revert(&id).expect("reverted");
    fs::write(&file, open_in_an_editor).expect("saved");
    let problems = journal.verify().expect("read");
    assert_eq!(problems.iter().map(|problem| problem.kind).collect::<Vec<_>>(), [ProblemKind::Marker]);
    fs::write(&file, "a\nown work\n").expect("saved");
    assert_eq!(journal.verify().expect("read"), [], "the work of others is no problem");
}

#[test]
fn a_file_whose_name_is_not_utf_8_is_edited_and_undone() {
    use std::os::unix::ffi::OsStrExt;
    let world = World::new();
    let file = world.tree().join(std::ffi::OsStr::from_bytes(b"caf\xe9.py"));
    fs::write(&file, "a\n").expect("written");
    let id = world.journal().apply(&prepared(&insert(&file, "a\n", "x\n")), "run").expect("applied").id;
    assert_eq!(world.journal().revert(&id).expect("reverted").file, file);
    assert_eq!(fs::read(&file).expect("there"), b"a\n");
}
