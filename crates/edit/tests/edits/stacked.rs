//! Edits on each other, taken back in any order; what the user did meanwhile is the user's.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use bystander_edit::{Action, EditError, Journal, prepare_patches};

use crate::patches::text;
use crate::world::{World, set_mode};

/// Makes one edit and gives its id.
fn kept(journal: &Journal, file: &Path, find: &str, action: Action) -> String {
    let edits = prepare_patches(&[text(file, find, action)]).unwrap_or_else(|error| panic!("{find}: {error}"));
    journal.keep(&edits, None).unwrap_or_else(|error| panic!("{find}: {error}")).remove(0).id
}

fn after(text: &str) -> Action {
    Action::InsertAfter(text.into())
}

fn replace(text: &str) -> Action {
    Action::Replace(text.into())
}

#[test]
fn edits_of_one_line_are_taken_back_in_any_order() {
    for (name, line, statements) in [
        ("m.py", "y = x + 1", ["print(1)", "print(2)", "print(3)"]),
        ("same.py", "y = x + 1", ["print(1)", "print(1)", "print(1)"]),
        ("m.c", "y = x + 1;", ["f(1);", "f(2);", "f(3);"]),
    ] {
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let world = World::new();
            let source =
                if name == "m.c" { format!("int f(int x) {{\n  int y;\n  {line}\n  return y;\n}}\n") } else { format!("x = 1\n{line}\n") };
            let file = world.write(name, &source);
            let journal = world.journal();
            let ids: Vec<String> = statements.iter().map(|statement| kept(&journal, &file, line, after(statement))).collect();
            for index in order {
                journal.revert(&ids[index]).unwrap_or_else(|error| panic!("{name} {order:?} {index}: {error}"));
            }
            assert_eq!(fs::read_to_string(&file).expect("there"), source, "{name} {order:?}");
            world.assert_nothing_left();
            assert!(journal.verify().expect("read").is_empty());
        }
    }
}

#[test]
fn a_file_with_two_names_is_one_file() {
    for order in [[0, 1], [1, 0]] {
        for hard in [true, false] {
            let world = World::new();
            let file = world.write("m.py", "y = x + 1\n");
            let other = world.tree().join("other.py");
            if hard { fs::hard_link(&file, &other) } else { symlink(&file, &other) }.expect("linked");
            let journal = world.journal();
            let ids = [kept(&journal, &file, "y = x + 1", after("print(1)")), kept(&journal, &other, "y = x + 1", after("print(2)"))];
            for index in order {
                journal.revert(&ids[index]).unwrap_or_else(|error| panic!("{order:?} {hard} {index}: {error}"));
            }
            assert_eq!(fs::read_to_string(&file).expect("there"), "y = x + 1\n");
            assert_eq!(fs::read_to_string(&other).expect("there"), "y = x + 1\n");
            world.assert_nothing_left();
        }
    }
}

#[test]
fn an_edit_of_an_edit_is_taken_back_first() {
    let world = World::new();
    let file = world.write("m.py", "z = y\n");
    let journal = world.journal();
    let one = kept(&journal, &file, "z = y", replace("z = 7"));
    let two = kept(&journal, &file, "z = 7", replace("z = 8"));
    match journal.revert(&one) {
        Err(EditError::Covered { above, .. }) => assert_eq!(above, two),
        other => panic!("{other:?}"),
    }
    assert_eq!(journal.revert_all().expect("read").failed.len(), 0);
    assert_eq!(fs::read_to_string(&file).expect("there"), "z = y\n");
    world.assert_nothing_left();
}

#[test]
fn a_replacement_that_others_changed_says_what_to_put_back() {
    let world = World::new();
    let file = world.write("m.py", "z = y\n");
    let journal = world.journal();
    let id = kept(&journal, &file, "z = y", replace("z = seven"));
    fs::write(&file, fs::read_to_string(&file).expect("there").replace("seven", "seven + 1")).expect("written");
    let error = journal.revert(&id).expect_err("a conflict").to_string();
    assert!(error.contains("put back `z = y` by hand"), "{error}");
    fs::write(&file, "z = y\n").expect("written");
    journal.revert(&id).expect("solved");
    world.assert_nothing_left();
}

#[test]
fn a_part_of_a_text_that_is_left_keeps_the_edit_in_the_journal() {
    let world = World::new();
    let lines = world.write("lines.py", "x = 1\n");
    let short = world.write("short.py", "x = 1\n");
    let journal = world.journal();
    let ids = [kept(&journal, &lines, "x = 1", after("if y:\n    y = 2")), kept(&journal, &short, "x = 1", after("y=2"))];
    fs::write(&lines, "x = 1\nif y:\n").expect("written");
    fs::write(&short, "x = 1; y=2\n").expect("written");
    for id in &ids {
        assert!(matches!(journal.revert(id), Err(EditError::Conflict(_))));
    }
    assert_eq!(journal.verify().expect("read").len(), 2);
    for file in [&lines, &short] {
        fs::write(file, "x = 3\n").expect("written");
    }
    ids.iter().for_each(|id| assert!(!journal.revert(id).expect("gone").exact));
    world.assert_nothing_left();
}

#[test]
fn a_mode_that_the_user_gave_an_edited_file_stays_and_is_no_problem() {
    let world = World::new();
    let file = world.write("m.py", "x = 1\n");
    set_mode(&file, 0o644);
    let journal = world.journal();
    let id = kept(&journal, &file, "x = 1", after("print(x)"));
    set_mode(&file, 0o755);
    assert!(journal.revert(&id).expect("undone").how.contains("with the mode"));
    let found = journal.verify_all(&world.tree()).expect("read");
    assert!(found.problems.is_empty(), "{found:?}");
    assert!(found.notes.iter().any(|note| note.text.contains("mode is 0755, was 0644")), "{found:?}");
}
