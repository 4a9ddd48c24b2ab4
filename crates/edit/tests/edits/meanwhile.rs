//! The eight ways in which others change a file while an edit is in it; every one is taken back, and what they did is kept.

use std::fs;
use std::path::Path;

use bystander_edit::{Action, prepare_patches};

use crate::patches::text;
use crate::world::World;

const SOURCE: &str = "import os\n\n\ndef a(x):\n    y = x\n    return y\n\n\ndef b(x):\n    z = x\n    w = z\n    return w\n";

type Others = fn(&str) -> String;

/// What others do to the edited file, and what must stand there in the end.
const CASES: [(&str, Others, Others); 8] = [
    ("untouched", |text| text.to_owned(), |source| source.to_owned()),
    ("another function", |text| text.replace("    w = z\n", "    w = z + 1\n"), |source| source.replace("    w = z\n", "    w = z + 1\n")),
    ("the line above", |text| text.replace("    y = x\n", "    y = x + 5\n"), |source| source.replace("    y = x\n", "    y = x + 5\n")),
    ("the statement itself", |text| text.replace("return y", "return y + 1"), |source| source.replace("return y", "return y + 1")),
    ("a formatter", formatted, |source| source.to_owned()),
    ("git checkout", |_| SOURCE.to_owned(), |source| source.to_owned()),
    ("CRLF", |text| text.replace('\n', "\r\n"), |source| source.replace('\n', "\r\n")),
    (
        "lines above",
        |text| format!("# new header\n# new header\n# new header\n{text}"),
        |source| format!("# new header\n# new header\n# new header\n{source}"),
    ),
];

/// Puts every statement on a line of its own, as formatters do, and changes the blanks in the edit.
fn formatted(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let indent = &line[..line.len() - line.trim_start().len()];
        for part in line.trim_start().split("; ") {
            out.push_str(&format!("{indent}{}\n", part.replace("probe(1,y)", "probe(1, y)")));
        }
    }
    out.replace("  # bystander", " # bystander").replace('\'', "\"")
}

fn check(action: &Action, find: &str, others: Others) -> (String, String) {
    let world = World::new();
    let file = world.write("m.py", SOURCE);
    let journal = world.journal();
    let edits = prepare_patches(&[text(&file, find, action.clone())]).expect("found");
    let applied = journal.keep(&edits, None).expect("made");
    let edited = fs::read_to_string(&file).expect("there");
    assert!(edited.contains("bystander-patch-"), "{edited}");
    fs::write(&file, others(&edited)).expect("saved");
    let changed = fs::read_to_string(&file).expect("there");
    journal.revert(&applied[0].id).unwrap_or_else(|error| panic!("{error}\n{changed}"));
    assert_eq!(journal.verify().expect("read"), [], "{changed}");
    world.assert_nothing_left();
    (fs::read_to_string(&file).expect("there"), changed)
}

#[test]
fn an_edit_is_taken_back_whatever_others_did() {
    let edits = [
        (Action::InsertBefore("probe(1,y)".into()), "    return y"),
        (Action::InsertAfter("probe(1,y)".into()), "    y = x"),
        (Action::InsertBefore("    import sys\n    probe(1,y)\n".into()), "    return y\n"),
    ];
    for (action, find) in edits {
        for (name, others, expected) in CASES {
            // Where the edit shares its line with what others changed, they see the line with it.
            let (now, changed) = check(&action, find, others);
            let wanted = expected(SOURCE);
            let same_line = name == "the line above" && !changed.contains("y = x + 5");
            assert_eq!(now, if same_line { SOURCE.to_owned() } else { wanted }, "{name}: {action:?}\n{changed}");
        }
    }
}

#[test]
fn a_replacement_is_put_back_from_a_file_that_others_changed() {
    let replacement = Action::Replace("    y = traced(x)\n".into());
    for (name, others, expected) in CASES.into_iter().filter(|(name, ..)| *name != "the line above") {
        let (now, changed) = check(&replacement, "    y = x\n", others);
        assert_eq!(now, expected(SOURCE), "{name}\n{changed}");
    }
}

#[test]
fn what_others_wrote_into_the_edit_is_a_conflict_and_kept() {
    let world = World::new();
    let file: &Path = &world.write("m.py", SOURCE);
    let journal = world.journal();
    let spec = text(file, "    y = x", Action::InsertAfter("probe(1,y)".into()));
    let id = journal.keep(&prepare_patches(&[spec]).expect("found"), None).expect("made").remove(0).id;
    let theirs = fs::read_to_string(file).expect("there").replace("probe(1,y)", "probe(1,y,\"theirs\")");
    fs::write(file, &theirs).expect("saved");
    let error = journal.revert(&id).expect_err("it cannot be told what is theirs");
    assert!(matches!(error, bystander_edit::EditError::Conflict(_)), "{error}");
    assert_eq!(fs::read_to_string(file).expect("there"), theirs, "nothing is guessed");
    fs::write(file, SOURCE).expect("solved by hand");
    journal.revert(&id).expect("nothing is left");
    world.assert_nothing_left();
}
