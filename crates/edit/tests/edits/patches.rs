//! Edits as typed: where their text goes, where their mark stands, what is refused.

use std::fs;

use bystander_edit::{
    Action, Find, Language, PatchError, PatchSpec, PatternError, PrepareError, PreparedEdit, moved_lines, prepare_patches,
};

use crate::world::World;

/// A patch by an exact text.
pub(crate) fn text(file: &std::path::Path, find: &str, action: Action) -> PatchSpec {
    let find = Find::Text(find.into());
    PatchSpec {
        name: "p".to_owned(),
        file: file.to_path_buf(),
        find,
        action,
        language: None,
        comment: None,
        all: false,
        inline: false,
        unchecked: false,
    }
}

/// A patch by a pattern.
fn pattern(file: &std::path::Path, pattern: &str, action: Action) -> PatchSpec {
    PatchSpec { find: Find::Pattern(pattern.to_owned()), ..text(file, "", action) }
}

fn after(text: &str) -> Action {
    Action::InsertAfter(text.into())
}

fn before(text: &str) -> Action {
    Action::InsertBefore(text.into())
}

fn replace(text: &str) -> Action {
    Action::Replace(text.into())
}

/// The edited file with `MARK` for the mark, and by how many lines the rest moves.
pub(crate) fn made(name: &str, bytes: &[u8], spec: impl FnOnce(&std::path::Path) -> PatchSpec) -> (String, i64) {
    let world = World::new();
    let file = world.write(name, bytes);
    let edits = prepare_patches(&[spec(&file)]).unwrap_or_else(|error| panic!("{name}: {error}"));
    let last = edits.last().expect("an edit");
    (shown(last, &edits), edits.iter().map(moved_lines).sum())
}

fn shown(last: &PreparedEdit, edits: &[PreparedEdit]) -> String {
    let mut text = String::from_utf8_lossy(&last.after).into_owned();
    for edit in edits {
        let id = edit.id.as_deref().expect("a patch has an id");
        let mark = format!("bystander-patch-{id}");
        assert_eq!(text.contains(&mark), edit.marked, "{text}");
        text = text.replace(&mark, "MARK");
    }
    text
}

const PYTHON: &[u8] = b"def f(total):\n    rest = total - (\n        1\n    )\n    return rest  # note\n";

#[test]
fn a_statement_goes_on_the_line_of_what_was_found_and_line_numbers_hold() {
    for (find, statement) in [("    rest = total - (\n        1\n    )\n", "    print(rest)\n"), ("        1\n    )", "print(rest)")] {
        let (text, moved) = made("m.py", PYTHON, |file| text(file, find, after(statement)));
        assert_eq!(text, "def f(total):\n    rest = total - (\n        1\n    ); print(rest)  # MARK\n    return rest  # note\n");
        assert_eq!(moved, 0);
    }
    let (text_before, moved) = made("m.py", PYTHON, |file| text(file, "    return rest", before("print(rest)")));
    assert_eq!(text_before, "def f(total):\n    rest = total - (\n        1\n    )\n    print(rest); 'MARK'; return rest  # note\n");
    assert_eq!(moved, 0);
    let (between, moved) = made("m.py", b"x = 1; y = 2\n", |file| text(file, "x = 1", after("print(x)")));
    assert_eq!((between.as_str(), moved), ("x = 1; print(x); y = 2  # MARK\n", 0));
    let (commented, moved) = made("m.py", b"x = 1  # note\n", |file| text(file, "x = 1", after("print(x)")));
    assert_eq!((commented.as_str(), moved), ("x = 1; print(x)  # MARK  # note\n", 0));
}

#[test]
fn statements_are_never_glued_together() {
    let program = b"def f(c):\n    if c: return c\n    x = 3\n    return x\n";
    let (indented, _) = made("m.py", program, |file| text(file, "    x = 3", after("    print(x)")));
    assert_eq!(indented, "def f(c):\n    if c: return c\n    x = 3; print(x)  # MARK\n    return x\n");
    let (inside, _) = made("m.py", program, |file| text(file, "return c", before("print(c)")));
    assert_eq!(inside, "def f(c):\n    if c: print(c); 'MARK'; return c\n    x = 3\n    return x\n");
    let (comment, _) = made("m.py", program, |file| text(file, "    x = 3", after("  # three")));
    assert!(comment.contains("    x = 3  # three"), "{comment}");
    let world = World::new();
    let file = world.write("m.py", program);
    for action in [after("; print 'x'"), after("; exec 'x'"), after(" y = 4"), replace("x = 3 y = 4")] {
        let refused = prepare_patches(&[PatchSpec { inline: true, ..text(&file, "x = 3", action.clone()) }]);
        let error = refused.expect_err("no Python 3 reads it").to_string();
        assert!(error.contains("syntax"), "{action:?}: {error}");
    }
}

#[test]
fn a_statement_that_would_mean_something_else_there_gets_a_line_of_its_own() {
    let (text_one, moved) = made("m.py", b"if a: x = 1\ny = 2\n", |file| text(file, "if a: x = 1", after("print(x)")));
    assert_eq!((text_one.as_str(), moved), ("if a: x = 1\nprint(x)  # MARK\ny = 2\n", 1));
    let (in_body, moved) = made("m.py", b"def f():\n    return 1\n", |file| text(file, "def f():", after("print(2)")));
    assert_eq!((in_body.as_str(), moved), ("def f():\n    print(2)  # MARK\n    return 1\n", 1));
    let (before_loop, _) =
        made("m.py", b"def f():\n    for x in y:\n        g(x)\n", |file| text(file, "    for x in y:\n", before("print(y)")));
    assert_eq!(before_loop, "def f():\n    print(y)  # MARK\n    for x in y:\n        g(x)\n");
    let (lines, moved) = made("m.py", b"x = 1\n", |file| text(file, "x = 1", after("import sys\nprint(x, file=sys.stderr)")));
    assert_eq!((lines.as_str(), moved), ("x = 1\nimport sys\nprint(x, file=sys.stderr)  # MARK\n", 2));
    let (unended, _) = made("m.py", b"if a:\n    x = 1", |file| text(file, "if a:\n    x = 1", after("import sys\nprint(x)")));
    assert_eq!(unended, "if a:\n    x = 1\n    import sys\n    print(x)  # MARK");
}

#[test]
fn the_mark_stands_where_it_does_nothing() {
    let (in_text, _) = made("m.py", b"s = '''\na\n'''\n", |file| text(file, "a\n", after("b\n")));
    assert_eq!(in_text, "s = '''\na\nb\n'''  # MARK\n".replace("'''  # MARK", "'''"), "a mark in a text would change the program");
    let (inside, moved) = made("m.py", b"f(1, 2)\n", |file| text(file, "1", replace("10")));
    assert_eq!((inside.as_str(), moved), ("f(10, 2)  # MARK\n", 0));
    let (gone, moved) = made("m.py", b"a = 1\nb = 2\nc = 3\n", |file| text(file, "b = 2\n", replace("")));
    assert_eq!((gone.as_str(), moved), ("a = 1\n# MARK\nc = 3\n", 0));
    let (other, _) = made("notes.txt", b"a\nb\n", |file| text(file, "a", after("x")));
    assert_eq!(other, "a\nx\nb\n", "what begins a comment there is not known");
    let (told, _) = made("run.sh", b"a\nb\n", |file| PatchSpec { comment: Some("#".to_owned()), ..text(file, "a", after("x")) });
    assert_eq!(told, "a\nx  # MARK\nb\n");
}

#[test]
fn patterns_edit_in_every_language() {
    let c = b"int f(int total) {\n    int rest = total - 1;\n    return rest;\n}\n";
    for name in ["m.c", "m.cpp", "m.cu", "m.h"] {
        let (text, moved) = made(name, c, |file| pattern(file, "int rest = ...;", after("log_it(rest);")));
        assert_eq!(text, "int f(int total) {\n    int rest = total - 1; log_it(rest); /* MARK */\n    return rest;\n}\n", "{name}");
        assert_eq!(moved, 0);
    }
    let rust = b"fn f(total: u32) -> u32 {\n    let rest = total - 1;\n    rest\n}\n";
    let (text, _) = made("m.rs", rust, |file| pattern(file, "let $NAME = total - $X;", after("dbg!(&$NAME);")));
    assert_eq!(text, "fn f(total: u32) -> u32 {\n    let rest = total - 1; dbg!(&rest); /* MARK */\n    rest\n}\n");
    for name in ["m.js", "m.ts", "m.tsx", "m.mjs"] {
        let script = b"function f(total) {\n  const rest = total - 1;\n  return rest;\n}\n";
        let (text, _) = made(name, script, |file| pattern(file, "return $X", before("console.error($X);")));
        assert_eq!(text, "function f(total) {\n  const rest = total - 1;\n  console.error(rest); /* MARK */ return rest;\n}\n", "{name}");
    }
    let go = b"package p\n\nfunc f(total int) int {\n\trest := total - 1\n\treturn rest\n}\n";
    let (text, _) = made("m.go", go, |file| pattern(file, "rest := ...", after("println(rest)")));
    assert_eq!(text, "package p\n\nfunc f(total int) int {\n\trest := total - 1; println(rest) /* MARK */\n\treturn rest\n}\n");
    let (text, _) = made("m.py", PYTHON, |file| pattern(file, "return $X", replace("return int($X)")));
    assert_eq!(text, "def f(total):\n    rest = total - (\n        1\n    )\n    return int(rest)  # MARK  # note\n");
}

#[test]
fn every_match_is_edited_only_where_that_is_asked_for() {
    let world = World::new();
    let file = world.write("m.py", "f(1)\ng(f(2))\nf(3)\n");
    let spec = pattern(&file, "f($X)", replace("traced($X)"));
    match prepare_patches(std::slice::from_ref(&spec)) {
        Err(PatchError::Prepare(PrepareError::Ambiguous { lines, .. })) => assert_eq!(lines, [1, 2, 3]),
        other => panic!("{other:?}"),
    }
    let edits = prepare_patches(&[PatchSpec { all: true, ..spec }]).expect("all of them");
    assert_eq!(shown(edits.last().expect("three"), &edits), "traced(1)  # MARK\ng(traced(2))  # MARK\ntraced(3)  # MARK\n");
    let journal = world.journal();
    assert_eq!(journal.keep(&edits, None).expect("made").len(), 3);
    assert_eq!(journal.revert_all().expect("undone").reverted.len(), 3);
    assert_eq!(fs::read_to_string(&file).expect("there"), "f(1)\ng(f(2))\nf(3)\n");
}

#[test]
fn what_cannot_be_edited_is_refused_with_the_reason() {
    let world = World::new();
    let of = |name: &str, bytes: &[u8], find: &str| {
        let file = world.write(name, bytes);
        prepare_patches(&[pattern(&file, find, after("g()"))]).expect_err("refused")
    };
    assert!(matches!(of("a.txt", b"x", "x"), PatchError::Language { .. }));
    assert!(matches!(of("a.py", b"x = '\xe9'\n", "x"), PatchError::Pattern { source: PatternError::NotUtf8 { offset: 5, line: 1 }, .. }));
    assert!(matches!(
        of("b.py", b"x = 1\ndef f(:\n", "x = 1"),
        PatchError::Pattern { source: PatternError::Syntax { language: Language::Python, line: 2 }, .. }
    ));
    assert!(matches!(of("c.py", b"x = 1\n", "y = ..."), PatchError::NoPlace { .. }));
    assert!(matches!(of("d.py", b"\xff\xfex\0", "x"), PatchError::Encoding { letter: None, .. }));
    let latin = world.write("e.py", b"# coding: latin-1\nx = '\xe9'\n");
    assert!(matches!(
        prepare_patches(&[text(&latin, "x = 'é'", after("print('€')"))]),
        Err(PatchError::Encoding { letter: Some('€'), .. })
    ));
    let edits = prepare_patches(&[text(&latin, "x = 'é'", after("print('ü')"))]).expect("it has that letter");
    assert!(edits[0].after.starts_with(b"# coding: latin-1\nx = '\xe9'; print('\xfc')  # bystander-patch-"));
    let broken = world.write("f.py", "def f():\n    return 1\n");
    assert!(matches!(prepare_patches(&[text(&broken, "return 1", replace("return (1"))]), Err(PatchError::Breaks { line: 2, .. })));
    let spec = PatchSpec { unchecked: true, ..text(&broken, "return 1", replace("return (1")) };
    assert!(prepare_patches(&[spec]).is_ok());
}

#[test]
fn line_ends_and_a_mark_at_the_start_are_kept() {
    let (crlf, _) = made("m.py", b"x = 1\r\nif x:\r\n    y = 2\r\n", |file| text(file, "if x:\n    y = 2\n", before("z = 1\nw = 2")));
    assert_eq!(crlf, "x = 1\r\nz = 1\r\nw = 2  # MARK\r\nif x:\r\n    y = 2\r\n");
    let (bom, _) = made("m.py", b"\xef\xbb\xbfx = 1\n", |file| text(file, "x = 1", before("z = 1")));
    assert_eq!(bom, "\u{feff}z = 1; 'MARK'; x = 1\n");
}
