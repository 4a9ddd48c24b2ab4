//! What can be edited, and what is said of what cannot.

use std::fs;
use std::os::unix::fs::symlink;

use bystander_edit::{Action, PrepareError, TargetError, prepare, prepare_stack};

use crate::world::{World, edit, insert, prepared, set_mode};

fn refused(spec: &bystander_edit::EditSpec) -> PrepareError {
    prepare(spec).expect_err("it cannot be edited")
}

#[test]
fn the_storys_print_is_prepared_and_its_line_is_known() {
    let world = World::new();
    let source = "def f(self):\n    rest_memory = available - total * (\n        1 - self.fraction\n    )\n    return rest_memory\n";
    let file = world.write("sizing.py", source);
    let find = "    rest_memory = available - total * (\n        1 - self.fraction\n    )\n";
    let made = prepared(&insert(&file, find, "    import logging as _logging\n    _logging.warning(f\"DEBUG rest={rest_memory:.3f}\")\n"));
    assert_eq!((made.real.clone(), made.added_lines.clone()), (file.clone(), 5..7));
    assert_eq!(fs::read(&file).expect("there"), source.as_bytes(), "preparing writes nothing");
    assert!(String::from_utf8(made.after).expect("text").ends_with("{rest_memory:.3f}\")\n    return rest_memory\n"));
}

#[test]
fn a_text_that_drifted_is_refused_with_the_nearest_places() {
    let world = World::new();
    let file = world.write("a.py", "def f():\n    value = 1\n    return value\n");
    match refused(&insert(&file, "\tvalue = 1\n\treturn value\n", "x\n")) {
        PrepareError::NotFound { candidates, .. } => {
            assert_eq!(candidates[0].lines, 2..4);
            assert_eq!(candidates[0].differences[0], "line 2: indent is 4 spaces, the text has 1 tab");
        }
        other => panic!("{other}"),
    }
    let twice = world.write("b.py", "x = 1\ny = 2\nx = 1\n");
    match refused(&insert(&twice, "x = 1\n", "z\n")) {
        error @ PrepareError::Ambiguous { .. } => {
            assert_eq!(error.to_string(), format!("edit {}: the text to find is there more than once, at lines 1, 3", twice.display()));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_file_that_changed_is_refused_even_where_the_text_is_found() {
    let world = World::new();
    let file = world.write("a.py", "abc");
    let mut spec = insert(&file, "abc", "x\n");
    spec.sha256 = Some("BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD".to_owned());
    assert_eq!(prepared(&spec).after, b"abcx\n");
    fs::write(&file, "abc\n").expect("written");
    match refused(&spec) {
        PrepareError::Changed { expected, found, candidates, .. } => {
            assert_eq!((Some(expected), &found[..8]), (spec.sha256.clone(), "edeaaff3"));
            assert_eq!((candidates.len(), candidates[0].lines.clone()), (1, 1..2));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn what_is_no_regular_file_is_named() {
    let world = World::new();
    let target = |error| match error {
        PrepareError::Target(error) => error,
        other => panic!("{other}"),
    };
    let missing = world.tree().join("missing.py");
    assert!(matches!(target(refused(&insert(&missing, "a", "b"))), TargetError::Missing { path } if path == missing));
    assert!(matches!(target(refused(&insert(&world.tree(), "a", "b"))), TargetError::Directory { .. }));
    let dangling = world.tree().join("dangling");
    symlink("nowhere", &dangling).expect("linked");
    assert!(matches!(target(refused(&insert(&dangling, "a", "b"))), TargetError::Missing { .. }));
    let ring = world.tree().join("ring");
    symlink("ring", &ring).expect("linked");
    assert!(matches!(target(refused(&insert(&ring, "a", "b"))), TargetError::Unreadable { .. }));
    assert!(matches!(target(refused(&insert("/dev/null".as_ref(), "a", "b"))), TargetError::NotRegular { .. }));
    let below = world.write("file", "a").join("below");
    assert!(matches!(target(refused(&insert(&below, "a", "b"))), TargetError::Missing { .. }));
}

/// The superuser may write everything: then nothing is refused, and the edit is made.
#[test]
fn files_and_folders_that_are_read_only_for_this_user_are_refused() {
    let world = World::new();
    let file = world.write("a.py", "a\n");
    set_mode(&file, 0o444);
    let may_write = fs::OpenOptions::new().write(true).open(&file).is_ok();
    match (prepare(&insert(&file, "a\n", "b\n")), may_write) {
        (Ok(made), true) => assert_eq!(made.after, b"a\nb\n"),
        (Err(PrepareError::Target(TargetError::NotWritable { path, .. })), false) => assert_eq!(path, file),
        (other, _) => panic!("{other:?}"),
    }
    set_mode(&file, 0o644);
    set_mode(&world.tree(), 0o555);
    let made = prepare(&insert(&file, "a\n", "b\n"));
    set_mode(&world.tree(), 0o755);
    match (made, may_write) {
        (Ok(made), true) => assert_eq!(made.after, b"a\nb\n"),
        (Err(PrepareError::Target(TargetError::DirectoryNotWritable { directory, .. })), false) => assert_eq!(directory, world.tree()),
        (other, _) => panic!("{other:?}"),
    }
}

#[test]
fn several_edits_of_one_file_are_built_on_each_other() {
    let world = World::new();
    let file = world.write("a.py", "a\nb\nc\n");
    let link = world.tree().join("link.py");
    symlink("a.py", &link).expect("linked");
    let stack = [insert(&file, "b\n", "two\n"), insert(&link, "a\n", "one\none\n"), edit(&file, "two\n", Action::Replace("2\n2\n".into()))];
    let made = prepare_stack(&stack).expect("each is there once");
    assert_eq!(made[2].after, b"a\none\none\nb\n2\n2\nc\n");
    assert_eq!(made.iter().map(|edit| edit.added_lines.clone()).collect::<Vec<_>>(), [5..5, 2..4, 5..7], "of the first nothing is left");
    assert_eq!(made[1].before, made[0].after);
    let again = [insert(&file, "b\n", "b\n"), insert(&file, "b\n", "x\n")];
    assert!(matches!(prepare_stack(&again), Err(PrepareError::Ambiguous { lines, .. }) if lines == [2, 3]));
}

#[test]
fn a_huge_line_that_is_not_text_is_searched_in_bounded_time() {
    let world = World::new();
    let file = world.write("huge.bin", vec![0xff; 100 << 20]);
    assert!(
        matches!(refused(&insert(&file, "def f(x):\n    return x\n", "x\n")), PrepareError::NotFound { candidates, .. } if candidates.is_empty())
    );
}
