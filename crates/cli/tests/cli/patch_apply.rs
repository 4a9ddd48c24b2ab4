//! `bystander patch apply`, `diff`, `status`, `revert` and `verify` as a person uses them.

use std::fs;
use std::os::unix::fs::MetadataExt;

use bystander_testkit::{Mark, World, python, skip};

use crate::world::{assert_nothing_left, text, tree, world};

const SOURCE: &str = "def f(total):\n    rest = total - 1\n    return rest\n";

fn patch(world: &World, args: &[&str]) -> bystander_testkit::Run {
    world.bystander(["patch"]).args(args).cwd(&world.path("tree"))
}

fn id(report: &serde_json::Value) -> String {
    text(&report["edits"][0]["id"]).to_owned()
}

#[test]
fn an_edit_is_made_shown_and_taken_back_and_the_tree_is_proven() {
    let world = world();
    let file = world.write("tree/app.py", SOURCE);
    let before = tree(&world.path("tree"));
    let applied = patch(&world, &["apply", "--file", "app.py", "--find", "rest = total - 1", "--insert-after", "print(rest)", "--json"])
        .run()
        .exits(0)
        .json();
    let id = id(&applied);
    assert_eq!(
        (&applied["made"], &applied["edits"][0]["moved_lines"], &applied["edits"][0]["marked"]),
        (&true.into(), &0.into(), &true.into())
    );
    assert_eq!(
        fs::read_to_string(&file).expect("there"),
        format!("def f(total):\n    rest = total - 1; print(rest)  # bystander-patch-{id}\n    return rest\n")
    );
    let elsewhere = world.bystander(["patch", "status"]).cwd(&world.path("home")).run().exits(1);
    assert!(elsewhere.stdout.starts_with("NOT clean: 1 edit live") && elsewhere.stdout.contains(&id), "{}", elsewhere.stdout);
    let listed = patch(&world, &["status", "--json"]).run().exits(1).json();
    let by = bystander_edit::user_name(std::path::Path::new("/etc/passwd"), text(&listed["edits"][0]["by"]));
    if let Some(name) = by {
        let row = elsewhere.stdout.lines().find(|line| line.ends_with(&id)).expect("its row");
        assert_eq!(row.split_whitespace().rev().nth(1), Some(name.as_str()), "{row}");
    }
    let diff = patch(&world, &["diff"]).run().exits(0);
    assert!(diff.stdout.contains("-    rest = total - 1\n+    rest = total - 1; print(rest)"), "{}", diff.stdout);
    patch(&world, &["diff", "ffffffffffff"]).run().exits(3);
    // A copy of the edited file elsewhere in the tree is found by its mark.
    fs::copy(&file, world.path("tree/copy.bin")).expect("copied");
    let verified = patch(&world, &["verify", "--json"]).run().exits(1).json();
    let problems = verified["problems"].as_array().expect("problems");
    assert_eq!((problems.len(), text(&problems[0]["kind"])), (1, "marker"));
    assert!(text(&problems[0]["file"]).ends_with("copy.bin"));
    fs::remove_file(world.path("tree/copy.bin")).expect("removed");
    patch(&world, &["revert", &format!("bystander-patch-{id}")]).run().exits(0).says(&["restored"]);
    let verified = patch(&world, &["verify", "--json"]).run().exits(0).json();
    assert_eq!((&verified["clean"], &verified["problems"]), (&true.into(), &serde_json::json!([])));
    assert!(verified["searched_files"].as_u64().expect("a number") >= 1);
    assert_eq!(before.differences(&tree(&world.path("tree"))), Vec::<String>::new());
    assert_nothing_left(&world);
}

#[test]
fn a_text_that_is_not_there_is_shown_beside_what_comes_near() {
    let world = world();
    let file = world.write("tree/app.py", "def f(x):\r\n\tvalue = x \r\n\treturn value\r\n");
    let found =
        patch(&world, &["apply", "--file", "app.py", "--find", "    value = x\n    return value\n", "--replace", ""]).run().exits(3);
    found.says(&["line 2: indent is 1 tab, the text has 4 spaces", "ends in 1 space"]);
    patch(&world, &["apply", "--file", "app.py", "--find", "value", "--replace", "v"])
        .run()
        .exits(3)
        .says(&["more than once, at lines 2, 3"]);
    patch(&world, &["apply", "--file", "app.py", "--pattern", "x = ...", "--replace", "v"])
        .run()
        .exits(3)
        .says(&["nothing in it matches `x = ...` as python"]);
    patch(&world, &["apply", "--file", "none.py", "--find", "a", "--replace", "b"]).run().exits(3).says(&["no such file"]);
    patch(&world, &["apply"]).run().exits(3).says(&["neither a file nor a probe"]);
    patch(&world, &["apply", "--file", "app.py", "--find", "x", "--pattern", "x", "--replace", "b"]).run().exits(3);
    patch(&world, &["apply", "--file", "app.py", "--find", "(x)", "--replace", "(y)", "--expire", "soon"])
        .run()
        .exits(3)
        .says(&["--expire", "2h"]);
    assert_eq!(fs::read_to_string(file).expect("there"), "def f(x):\r\n\tvalue = x \r\n\treturn value\r\n");
    assert!(!world.path("tree/.bystander").exists(), "a refused edit leaves nothing");
}

#[test]
fn several_files_are_edited_together_or_not_at_all() {
    let world = world();
    for name in ["a.py", "b.py"] {
        world.write(&format!("tree/{name}"), SOURCE);
    }
    world.write("tree/c.py", "other = 1\n");
    let block = world.write("block", "    rest = total - 1\n    return rest\n");
    let with = world.write("with", "    return total\n");
    let before = tree(&world.path("tree"));
    let args = |files: &[&str]| {
        let mut args = vec!["apply".to_owned()];
        files.iter().for_each(|file| args.extend(["--file".to_owned(), (*file).to_owned()]));
        args.extend([
            "--find-file".to_owned(),
            block.display().to_string(),
            "--replace-file".to_owned(),
            with.display().to_string(),
            "--json".to_owned(),
        ]);
        args
    };
    let refused = args(&["a.py", "b.py", "c.py"]);
    patch(&world, &refused.iter().map(String::as_str).collect::<Vec<_>>()).run().exits(3);
    assert_eq!(before.differences(&tree(&world.path("tree"))), Vec::<String>::new());
    let made = args(&["a.py", "b.py"]);
    let made = made.iter().map(String::as_str).collect::<Vec<_>>();
    let dry = patch(&world, &[&made[..], &["--dry-run"]].concat()).run().exits(0).json();
    assert_eq!((&dry["made"], before.differences(&tree(&world.path("tree")))), (&false.into(), Vec::new()));
    let applied = patch(&world, &made).run().exits(0).json();
    assert_eq!(applied["edits"].as_array().expect("edits").len(), 2);
    assert!(fs::read_to_string(world.path("tree/b.py")).expect("there").starts_with("def f(total):\n    return total  # bystander-patch-"));
    patch(&world, &["revert", "--all"]).run().exits(0);
    assert_eq!(before.differences(&tree(&world.path("tree"))), Vec::<String>::new());
    assert_nothing_left(&world);
}

#[test]
fn an_edit_that_was_cut_out_of_the_work_of_others_is_told_by_verify() {
    let world = world();
    let file = world.write("tree/app.py", SOURCE);
    patch(&world, &["apply", "--file", "app.py", "--pattern", "rest = ...", "--insert-after", "print(rest)"]).run().exits(0);
    let theirs = fs::read_to_string(&file).expect("there").replace("return rest", "return rest + 1");
    fs::write(&file, theirs).expect("saved");
    patch(&world, &["revert"]).run().exits(0).says(&["taken out of a file that others changed"]);
    assert_eq!(fs::read_to_string(&file).expect("there"), SOURCE.replace("return rest", "return rest + 1"));
    let verified = patch(&world, &["verify", "--json"]).run().exits(0).json();
    assert!(text(&verified["notes"][0]["text"]).contains("others changed"), "{verified:#}");
}

#[test]
fn one_conflict_keeps_no_other_edit() {
    let world = world();
    let (one, two) = (world.write("tree/one.py", SOURCE), world.write("tree/two.py", SOURCE));
    patch(&world, &["apply", "--file", "one.py", "--file", "two.py", "--pattern", "rest = ...", "--insert-after", "print(rest)"])
        .run()
        .exits(0);
    let theirs = fs::read_to_string(&two).expect("there").replace("print(rest)", "print(rest, 'theirs')");
    fs::write(&two, &theirs).expect("saved");
    patch(&world, &["revert"]).run().exits(4).says(&["two.py", "by hand", "1 of 2 edits were taken back"]);
    assert_eq!((fs::read_to_string(one).expect("there").as_str(), fs::read_to_string(&two).expect("there")), (SOURCE, theirs));
    let status = patch(&world, &["status", "--json"]).run().exits(1).json();
    assert!(status["edits"].as_array().expect("edits").iter().any(|edit| edit["state"] == "conflict"), "{status:#}");
    fs::write(&two, SOURCE).expect("solved by hand");
    patch(&world, &["revert"]).run().exits(0);
    assert_nothing_left(&world);
}

#[test]
fn debuggers_that_were_left_are_named_on_request() {
    let world = world();
    world.write("tree/app.py", "import pdb\npdb.set_trace()\n");
    patch(&world, &["verify"]).run().exits(0);
    let strict = patch(&world, &["verify", "--strict"]).run().exits(1);
    assert!(strict.stdout.contains("a debugger is called on line 2: pdb.set_trace()"), "{}", strict.stdout);
}

#[test]
fn probes_go_into_files_and_their_hits_are_read_without_anybody_waiting() {
    let Some(python) = python() else { return skip("there is no Python 3.8 or newer", Mark::Machine) };
    let world = world();
    let file = world.write("tree/app.py", SOURCE);
    let modified = fs::metadata(&file).expect("there").mtime_nsec();
    let executable = python.path.display().to_string();
    patch(&world, &["apply", "app.py:3 {rest} as after", "app.py:2 {total} as before", "--python", &executable]).run().exits(0).says(&[]);
    assert_eq!(fs::read_to_string(&file).expect("there").lines().count(), 3, "no line moved");
    world.run(&python.path).args(["-c", "import app; app.f(4); app.f(5)"]).cwd(&world.path("tree")).run().exits(0);
    for _ in 0..2 {
        let hits = patch(&world, &["hits", "--json"]).run().exits(0);
        let lines: Vec<serde_json::Value> = hits.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let seen: Vec<(&str, i64)> = lines
            .iter()
            .map(|line| {
                (
                    text(&line["hit"]["probe"]),
                    line["hit"]["values"].as_object().and_then(|values| values.values().next()?.as_i64()).expect("a number"),
                )
            })
            .collect();
        assert_eq!(seen, [("before", 4), ("after", 3), ("before", 5), ("after", 4)], "looking takes nothing away");
    }
    patch(&world, &["status"]).run().exits(1).says(&[]);
    patch(&world, &["revert", "--all"]).run().exits(0);
    assert_eq!((fs::read_to_string(&file).expect("there").as_str(), fs::metadata(&file).expect("there").mtime_nsec()), (SOURCE, modified));
    patch(&world, &["apply", "app.py:3 {nothing.here}", "--python", &executable]).run().exits(3);
    assert_nothing_left(&world);
}

#[test]
fn hits_beyond_the_limit_are_told() {
    let Some(python) = python() else { return skip("there is no Python 3.8 or newer", Mark::Machine) };
    let world = world();
    world.write("tree/app.py", SOURCE);
    let executable = python.path.display().to_string();
    patch(&world, &["apply", "app.py:3 {rest} limit 20 as few", "--python", &executable]).run().exits(0);
    world.run(&python.path).args(["-c", "import app; [app.f(n) for n in range(500)]"]).cwd(&world.path("tree")).run().exits(0);
    let hits = patch(&world, &["hits", "few", "--json"]).run().exits(0).says(&["500 passes, 20 hits recorded, 480 not recorded"]);
    assert_eq!(hits.stdout.lines().count(), 20);
    let status = patch(&world, &["status"]).run().exits(1);
    assert!(status.stdout.contains("480 more were not recorded"), "{}", status.stdout);
    patch(&world, &["revert", "few"]).run().exits(0);
    assert_nothing_left(&world);
}

#[test]
fn an_edit_is_named_by_its_name_or_the_beginning_of_its_id() {
    let world = world();
    let file = world.write("tree/app.py", SOURCE);
    let make = |name: &str, find: &str, with: &str| {
        id(&patch(&world, &["apply", "--file", "app.py", "--find", find, "--replace", with, "--name", name, "--json"])
            .run()
            .exits(0)
            .json())
    };
    let one = make("one", "return rest", "return 7");
    let two = make("two", "return 7", "return 8");
    make("three", "total - 1", "total - 2");
    patch(&world, &["revert", &one[..8]])
        .run()
        .exits(4)
        .says(&[&format!("revert {two} first"), &format!("next: bystander patch revert {two} {one}")]);
    let done = patch(&world, &["revert", "three"]).run().exits(0);
    assert!(done.stdout.starts_with("Taken back: 1 edit.") && !done.stdout.contains(&one), "{}", done.stdout);
    assert!(done.stdout.contains("2 other edits are left live"), "{}", done.stdout);
    patch(&world, &["revert", "no-such"]).run().exits(3);
    let status = patch(&world, &["status"]).run().exits(1);
    let made = status.stdout.split_whitespace().find(|word| word.contains('T') && word.starts_with("20")).expect("a time");
    assert!(made.ends_with('Z'), "{made}");
    patch(&world, &["revert", "--all"]).run().exits(0);
    assert_eq!(fs::read_to_string(&file).expect("there"), SOURCE);
    assert_nothing_left(&world);
}
