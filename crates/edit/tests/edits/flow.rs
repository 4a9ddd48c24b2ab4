//! Insertions that the syntax allows and that would not do what was asked for.

use bystander_edit::{Action, Find, FlowError, LARGEST_READ, PatchError, PatchSpec, prepare_patches};

use crate::patches::{made, text};
use crate::world::World;

fn after(text: &str) -> Action {
    Action::InsertAfter(text.into())
}

fn before(text: &str) -> Action {
    Action::InsertBefore(text.into())
}

/// Why an edit is refused; `None` where it is not.
fn refused(name: &str, source: &str, find: Find, action: Action) -> Option<FlowError> {
    let world = World::new();
    let file = world.write(name, source);
    match prepare_patches(&[PatchSpec { find, ..text(&file, "", action) }]) {
        Ok(_) => None,
        Err(PatchError::Flow { source, .. }) => Some(source),
        Err(other) => panic!("{name}: {other}"),
    }
}

fn exact(text: &str) -> Find {
    Find::Text(text.into())
}

#[test]
fn a_block_on_the_line_of_its_head_is_not_left() {
    for (source, find, expected) in [
        ("for i in range(3): pass\n", "pass", "for i in range(3): pass; print(2)  # MARK\n"),
        ("if a: x = 1\nelse: x = 2\n", "x = 2", "if a: x = 1\nelse: x = 2; print(2)  # MARK\n"),
        ("class A: y = 1  # note\n", "y = 1", "class A: y = 1; print(2)  # MARK  # note\n"),
    ] {
        let (text_made, moved) = made("m.py", source.as_bytes(), |file| text(file, find, after("print(2)")));
        assert_eq!((text_made.as_str(), moved), (expected, 0));
        let lines = after("import sys\nprint(2)");
        assert!(refused("m.py", source, exact(find), lines).is_some(), "{source}");
    }
    let (by_pattern, _) = made("m.py", b"def f(): g(1)\n", |file| PatchSpec {
        find: Find::Pattern("g($X)".to_owned()),
        ..text(file, "", after("print($X)"))
    });
    assert_eq!(by_pattern, "def f(): g(1); print(1)  # MARK\n");
}

#[test]
fn what_never_runs_is_refused() {
    for (name, source, find) in [
        ("m.py", "def f(): return 1\n", "return 1"),
        ("m.py", "def f():\n    raise E\n", "raise E"),
        ("m.py", "for x in y:\n    if x:\n        break\n    g()\n", "break"),
        ("m.c", "int f() {\n  return 1;\n}\n", "return 1;"),
        ("m.js", "function f() {\n  throw 1;\n}\n", "throw 1;"),
        ("m.go", "package p\n\nfunc f() int {\n\treturn 1\n}\n", "return 1"),
    ] {
        let action = if name == "m.py" {
            "print(2)"
        } else if name == "m.go" {
            "println(2)"
        } else {
            "log_it(2);"
        };
        assert!(matches!(refused(name, source, exact(find), after(action)), Some(FlowError::NeverRuns { .. })), "{name}: {source}");
        assert_eq!(refused(name, source, exact(find), before(action)), None, "{name}: {source}");
    }
    // A definition behind a function, and the rest of an expression.
    let function = "def f():\n    return 1\n";
    assert_eq!(refused("m.py", function, exact("    return 1\n"), after("\ndef g():\n    pass\n")), None);
    assert_eq!(refused("m.py", function, exact("return 1"), after(" + 1")), None);
    let world = World::new();
    let file = world.write("m.py", function);
    assert!(prepare_patches(&[PatchSpec { unchecked: true, ..text(&file, "return 1", after("print(2)")) }]).is_ok());
}

#[test]
fn a_body_without_braces_gets_no_neighbour() {
    let c = "int f(int x) {\n  if (x)\n    y = x + 1;\n  while (x) g(x);\n  return x;\n}\n";
    let js = "function f(x) {\n  if (x)\n    y = x + 1;\n  while (x) g(x);\n  return x;\n}\n";
    for (name, source) in [("m.c", c), ("m.cpp", c), ("m.cu", c), ("m.js", js), ("m.ts", js)] {
        let is = |find: Find, action: Action| matches!(refused(name, source, find, action), Some(FlowError::Unbraced { .. }));
        let pattern = || Find::Pattern("y = $X".to_owned());
        for action in [after("log_it(x);"), before("log_it(x);")] {
            assert!(is(exact("y = x + 1;"), action.clone()), "{name}");
            assert!(is(exact("    y = x + 1;\n"), action.clone()), "{name}");
            assert!(is(exact("g(x);"), action.clone()), "{name}");
            assert!(is(pattern(), action), "{name}");
        }
        assert!(is(exact("  if (x)\n"), after("log_it(x);")), "{name}: between the head and its body");
        // Before and behind the whole, in a condition, in an expression.
        assert!(!is(exact("if (x)"), before("log_it(x);")), "{name}");
        assert!(!is(exact("if (x)\n    y = x + 1;"), after("log_it(x);")), "{name}");
        assert!(!is(exact("if (x"), after(" && y")), "{name}");
        assert!(!is(exact("y = x + 1"), after(" + 2")), "{name}");
        assert!(!is(exact("x + 1"), before("2 * ")), "{name}");
    }
}

#[test]
fn lines_in_a_text_of_the_program_keep_their_blanks() {
    let (python, _) =
        made("m.py", b"def f():\n    x = 1\n", |file| text(file, "x = 1", after("s = \"\"\"a\n  b\n\n   \nc\"\"\"\nprint(repr(s))")));
    assert_eq!(python, "def f():\n    x = 1\n    s = \"\"\"a\n  b\n\n   \nc\"\"\"\n    print(repr(s))  # MARK\n");
    let (joined, _) = made("m.py", b"def f():\n    x = 1\n", |file| text(file, "x = 1", after("s = '''a\nb'''; print(s)")));
    assert_eq!(joined, "def f():\n    x = 1\n    s = '''a\nb'''; print(s)  # MARK\n");
    let (script, _) = made("m.js", b"function f() {\n  g();\n}\n", |file| text(file, "g();", after("h(`a\n b`);\nk();")));
    assert!(script.starts_with("function f() {\n  g();\n  h(`a\n b`);\n  k();"), "{script}");
}

#[test]
fn a_large_file_is_edited_as_text() {
    let world = World::new();
    let line = "value = compute(1, 2, 3)\n";
    let file = world.write("m.py", format!("{}last = 1\n", line.repeat(LARGEST_READ / line.len() + 1)));
    let edits = prepare_patches(&[text(&file, "last = 1", after("print(last)"))]).expect("there once");
    assert!(edits[0].after.ends_with(b"last = 1\nprint(last)\n") && !edits[0].marked);
}
