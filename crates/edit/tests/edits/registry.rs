//! Several journals and one registry; several processes in one journal.

use std::fs;
use std::thread;

use bystander_edit::{EditError, Journal, registry_status};
use bystander_model::patch::EditState;

use crate::world::{World, insert, prepared};

#[test]
fn a_file_with_a_live_edit_of_another_journal_is_refused_and_its_holder_named() {
    let world = World::new();
    let file = world.write("a.py", "a\n");
    let first = world.journal();
    let second = Journal::open(&world.tree().join("other"), &world.registry()).expect("opened");
    let id = first.apply(&prepared(&insert(&file, "a\n", "x\n")), "run 1").expect("applied").id;
    let on_top = prepared(&insert(&file, "a\n", "y\n"));
    match second.apply(&on_top, "run 1") {
        Err(EditError::Held { holder, .. }) => {
            assert_eq!((&holder.id, holder.owner.as_str(), holder.pid, holder.gone), (&id, "run 1", std::process::id(), false));
            assert_eq!(holder.state_dir, fs::canonicalize(world.state()).expect("there"));
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(first.apply(&on_top, "run 2"), Err(EditError::Held { .. })), "another owner in the same journal");
    assert_eq!(fs::read(&file).expect("there"), b"a\nx\n");
    assert!(second.status().expect("read").is_empty());
    let live = registry_status(&world.registry()).expect("read");
    assert_eq!(live.iter().map(|edit| (&edit.id, edit.state)).collect::<Vec<_>>(), [(&id, EditState::Live)]);
    first.revert(&id).expect("reverted");
    assert!(registry_status(&world.registry()).expect("read").is_empty());
    second.apply(&prepared(&insert(&file, "a\n", "y\n")), "run 2").expect("the file is free");
}

#[test]
fn the_entry_of_a_lost_journal_counts_as_long_as_its_text_is_in_the_file() {
    let world = World::new();
    let file = world.write("a.py", "a\n");
    world.journal().apply(&prepared(&insert(&file, "a\n", "x\n")), "run").expect("applied");
    fs::remove_dir_all(world.state()).expect("removed");
    assert_eq!(registry_status(&world.registry()).expect("read").len(), 1);
    let other = Journal::open(&world.tree().join("other"), &world.registry()).expect("opened");
    assert!(matches!(other.apply(&prepared(&insert(&file, "a\n", "y\n")), "run"), Err(EditError::Held { .. })));
    fs::write(&file, "a\n").expect("taken out by hand");
    assert!(registry_status(&world.registry()).expect("read").is_empty());
    other.apply(&prepared(&insert(&file, "a\n", "y\n")), "run").expect("the file is free");
}

#[test]
fn an_edit_whose_state_directory_was_removed_is_taken_back_all_the_same() {
    for changed in [false, true] {
        let world = World::new();
        let file = world.write("a.py", "a\nb\n");
        let modified = fs::metadata(&file).and_then(|file| file.modified()).expect("there");
        let id = world.journal().apply(&prepared(&insert(&file, "a\n", "x\n")), "run").expect("applied").id;
        fs::remove_dir_all(world.state()).expect("removed");
        if changed {
            fs::write(&file, "a\nx\nb\ntheirs\n").expect("others work on it");
            assert_eq!(registry_status(&world.registry()).expect("read").len(), 1, "its text is still there");
        }
        // A new journal at the same place knows nothing of it, and must neither forget it nor edit on top of it.
        let journal = world.journal();
        let on_top = world.journal().apply(&prepared(&insert(&file, "b\n", "y\n")), "run");
        assert!(matches!(&on_top, Err(EditError::Held { holder, .. }) if holder.id == id), "{on_top:?}");
        assert!(journal.recover().expect("recovered").reverted.is_empty(), "its process is alive");
        assert_eq!(registry_status(&world.registry()).expect("read").len(), 1, "it is not forgotten");
        let done = journal.revert(&id).expect("reverted");
        assert_eq!(done.exact, !changed, "{}", done.how);
        assert_eq!(fs::read_to_string(&file).expect("there"), if changed { "a\nb\ntheirs\n" } else { "a\nb\n" });
        assert!(changed || fs::metadata(&file).and_then(|file| file.modified()).expect("there") == modified);
        world.assert_nothing_left();
        assert!(matches!(journal.revert("0123"), Err(EditError::UnknownId { .. })));
    }
}

#[test]
fn of_many_that_want_one_file_at_once_one_gets_it() {
    let world = World::new();
    let file = world.write("a.py", "a\n");
    let made = prepared(&insert(&file, "a\n", "x\n"));
    let won = thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|number| {
                let (world, made) = (&world, &made);
                scope.spawn(move || {
                    // Half of them share a journal.
                    let state = world.tree().join(format!("state-{}", number % 4));
                    let journal = Journal::open(&state, &world.registry()).expect("opened");
                    match journal.apply(made, &format!("run {number}")) {
                        Ok(_) => true,
                        Err(EditError::Held { .. } | EditError::Changed { .. }) => false,
                        Err(other) => panic!("{other}"),
                    }
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).filter(|&won| won).count()
    });
    assert_eq!((won, fs::read(&file).expect("there")), (1, b"a\nx\n".to_vec()));
    assert_eq!(registry_status(&world.registry()).expect("read").len(), 1);
}

#[test]
fn many_edits_of_different_files_at_once_do_not_harm_each_other() {
    let world = World::new();
    let files: Vec<_> = (0..6).map(|number| world.write(&format!("{number}.py"), "a\n")).collect();
    thread::scope(|scope| {
        for file in &files {
            let world = &world;
            scope.spawn(move || {
                let journal = world.journal();
                for _ in 0..3 {
                    let id = journal.apply(&prepared(&insert(file, "a\n", "x\n")), "run").expect("applied").id;
                    assert!(journal.revert(&id).expect("reverted").exact);
                }
            });
        }
    });
    assert!(files.iter().all(|file| fs::read(file).expect("there") == b"a\n"));
    assert_eq!(world.journal().status().expect("read").len(), 18);
    world.assert_nothing_left();
}
