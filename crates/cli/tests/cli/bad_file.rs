//! Experiment files that are wrong: one clear diagnostic each, with its place and the next step; nothing is launched and nothing is written.

use std::path::Path;

use bystander_testkit::{Ran, World};

use crate::world::{assert_nothing_left, python_world, run, text, tree, world};

/// An experiment that would run; `{…}` parts are what the cases change.
const GOOD: &str = r#"
[program]
command = ["sh", "-c", "echo value=1"]
timeout = "30s"

[factors.level]
one = { env = { LEVEL = "1" } }
two = { env = { LEVEL = "2" } }

[metrics]
value = { log = 'value=(\d+)', scale = "difference", margin = 1 }

[plan]
baseline = { level = "one", instrument = "none" }
blocks = 4
describe = true
"#;

/// The same with an edit.
const EDIT: &str = r#"
[[edits]]
name = "print"
file = "text.txt"
find = "middle\n"
insert_after = "added\n"
"#;

/// The same with a probe in a Python program.
const PROBE: &str = r#"
[[probes]]
name = "look"
at = "app:work"
capture = ["total"]
"#;

/// Runs a bad file and asserts that nothing came of it.
fn refused(world: &World, file: &Path, code: i32) -> Ran {
    let folder = file.parent().expect("a folder");
    let before = tree(folder);
    let ran = run(world, file).run().exits(code);
    assert_eq!(before.differences(&tree(folder)), Vec::<String>::new(), "something was written");
    let runs = std::fs::read_dir(folder.join(".bystander/runs")).map_or(0, Iterator::count);
    assert_eq!(runs, 0, "something was launched");
    assert_nothing_left(world);
    assert_eq!(ran.json()["format"], 1, "the failure is JSON too");
    ran
}

/// Replaces a part of the good file, and fails where it is not there.
fn changed(whole: &str, part: &str, with: &str) -> String {
    assert!(whole.contains(part), "{part} is not in the file");
    whole.replace(part, with)
}

fn python_program(world: &World) -> String {
    world.write("case/app.py", "def work():\n    total = 1\n    return total\n\nwork()\n");
    changed(GOOD, r#"["sh", "-c", "echo value=1"]"#, r#"["python3", "app.py"]"#)
}

#[test]
fn a_file_that_cannot_be_read_is_refused_with_the_reason() {
    let world = world();
    let folder = world.path("case");
    std::fs::create_dir(&folder).expect("a folder");
    refused(&world, &folder.join("none.toml"), 3).says(&["there is no file", "none.toml"]);
    std::fs::create_dir(folder.join("folder.toml")).expect("a folder");
    refused(&world, &folder.join("folder.toml"), 3).says(&["folder.toml", "directory"]);
    let file = world.write("case/latin.toml", b"question = \"caf\xe9\"\n");
    refused(&world, &file, 3).says(&["latin.toml", "UTF-8"]);
    let file = world.write("case/empty.toml", "");
    refused(&world, &file, 3).says(&["program"]);
    let file = world.write("case/syntax.toml", changed(GOOD, "[plan]", "[plan"));
    refused(&world, &file, 3).says(&["syntax.toml:13", "[plan"]);
}

#[test]
fn a_mistake_in_the_file_is_shown_at_its_place_with_what_would_be_valid() {
    let world = world();
    let cases: [(&str, &str, &[&str]); 9] = [
        ("timeout =", "timeuot =", &["timeuot", "timeout", "case.toml:4"]),
        ("[metrics]", "[metriks]", &["metriks", "metrics", "case.toml:10"]),
        ("two = { env = { LEVEL = \"2\" } }\n", "", &["factor `level` has one level", "case.toml:6", "add the other level"]),
        (r#"command = ["sh", "-c", "echo value=1"]"#, "", &["command", "program"]),
        (r#"command = ["sh", "-c", "echo value=1"]"#, r#"command = "sh -c 'echo value=1'""#, &["list", "case.toml:3"]),
        (r#"timeout = "30s""#, "timeout = 30", &["timeout", "30s"]),
        (r#"level = "one", instrument"#, r#"level = "on", instrument"#, &["`on`", "one", "case.toml:14"]),
        (r"value=(\d+)", r"value=\d+", &["value", "group"]),
        ("describe = true", "describe = false\nblocks = 2", &["case.toml", "blocks"]),
    ];
    for (part, with, words) in cases {
        let file = world.write("case/case.toml", changed(GOOD, part, with));
        refused(&world, &file, 3).says(words).says(&["help"]);
    }
}

#[test]
fn a_plan_that_cannot_reach_its_level_is_refused_unless_it_only_describes() {
    let world = world();
    let file = world.write("case/case.toml", changed(GOOD, "blocks = 4\ndescribe = true", "blocks = 2"));
    refused(&world, &file, 3).says(&["4 blocks", "at most 2", "describe = true"]);
}

#[test]
fn a_program_or_workload_that_is_not_there_is_refused() {
    let world = world();
    let shell = r#"["sh", "-c", "echo value=1"]"#;
    let file = world.write("case/case.toml", changed(GOOD, shell, r#"["no-such-program-here"]"#));
    refused(&world, &file, 3).says(&["`no-such-program-here`", "cannot be run", "PATH", "case.toml:", r#"["no-such-program-here"]"#]);
    world.write("case/text.txt", "not a program\n");
    let file = world.write("case/case.toml", changed(GOOD, shell, r#"["./text.txt"]"#));
    refused(&world, &file, 3).says(&["text.txt", "cannot be run", "help"]);
    let file = world.write("case/case.toml", changed(GOOD, "timeout = \"30s\"", "timeout = \"30s\"\ncwd = \"nowhere\""));
    refused(&world, &file, 3).says(&["nowhere", "is not there", "cwd = \"nowhere\""]);
    let ready = "timeout = \"30s\"\nready = { log = \"value\" }\n[workload]\ncommand = [\"no-such-load\"]";
    let file = world.write("case/case.toml", changed(GOOD, "timeout = \"30s\"", ready));
    refused(&world, &file, 3).says(&["cannot be run", "command = [\"no-such-load\"]"]);
}

#[test]
fn a_command_that_hands_its_program_to_a_daemon_is_refused_with_the_reason() {
    let world = world();
    for command in [
        r#"["docker", "run", "image"]"#,
        r#"["srun", "python3", "x.py"]"#,
        r#"["env", "A=1", "systemd-run", "true"]"#,
        r#"["sh", "-c", "docker run image"]"#,
    ] {
        let file = world.write("case/case.toml", changed(GOOD, r#"["sh", "-c", "echo value=1"]"#, command));
        refused(&world, &file, 3).says(&["hands its work to something outside", "only its own process tree can be watched"]);
    }
}

#[test]
fn a_text_that_is_missing_ambiguous_or_in_a_changed_file_is_refused() {
    let world = world();
    world.write("case/text.txt", "first\nmiddle\nlast\n");
    let whole = format!("{EDIT}{GOOD}");
    let cases: [(&str, &str, &[&str]); 4] = [
        (r#"find = "middle\n""#, r#"find = "midle\n""#, &["print", "text.txt", "midle"]),
        (r#"find = "middle\n""#, r#"find = "st\n""#, &["print", "text.txt", "more than once, at lines 1, 3"]),
        (r#"file = "text.txt""#, r#"file = "text.text""#, &["text.text", "no such file"]),
        (
            "name = \"print\"",
            "name = \"print\"\nsha256 = \"0000000000000000000000000000000000000000000000000000000000000000\"",
            &["text.txt", "sha256"],
        ),
    ];
    for (part, with, words) in cases {
        let file = world.write("case/case.toml", changed(&whole, part, with));
        refused(&world, &file, 3).says(words).says(&["help", "case.toml:"]);
    }
    let file = world.write("case/case.toml", changed(&whole, r#"file = "text.txt""#, r#"file = ".""#));
    refused(&world, &file, 3).says(&["is a directory", "case.toml:"]);
    let file = world.write("case/case.toml", changed(&whole, r#"find = "middle\n""#, r#"find = """#));
    refused(&world, &file, 3).says(&["find` is empty", "case.toml:"]);
}

#[test]
fn a_place_or_capture_that_cannot_be_had_is_refused() {
    let Some(world) = python_world() else { return };
    let whole = format!("{PROBE}{}", python_program(&world));
    let cases: [(&str, &str, &[&str]); 7] = [
        ("app:work", "app:wrok", &["look", "wrok", "work"]),
        ("app:work", "apq:work", &["look", "apq"]),
        ("app:work", "app.py:40", &["look", "app.py", "40"]),
        ("app:work", "app", &["names no function and no line", "module:function"]),
        (r#"at = "app:work""#, "at = \"app:work\"\nafter = \"rest = ...\"", &["look", "rest"]),
        (r#"["total"]"#, r#"["f()"]"#, &["f()"]),
        (r#"["total"]"#, r#"["total +"]"#, &["total +"]),
    ];
    for (part, with, words) in cases {
        let file = world.write("case/case.toml", changed(&whole, part, with));
        refused(&world, &file, 3).says(words).says(&["help", "case.toml:"]);
    }
}

#[test]
fn a_dry_run_tells_the_plan_and_writes_nothing_at_all() {
    let world = world();
    let file = world.write("case/case.toml", GOOD);
    let folder = world.path("case");
    let before = bystander_testkit::Tree::of(&folder, |_| true);
    let ran = world.bystander(["run", "--dry-run"]).args([&file]).run().exits(0);
    for words in [
        "level",
        "8",
        "made again in the same\n          place of its block; 3 of them in one place end the run",
        "nothing was launched and nothing was written",
    ] {
        assert!(ran.stdout.contains(words), "{words} is missing in:\n{}", ran.stdout);
    }
    let again = ran.stdout.lines().skip_while(|line| !line.starts_with("again "));
    assert!(again.clone().all(|line| line.chars().count() <= 120), "{:?}", again.collect::<Vec<_>>());
    let json = world.bystander(["run", "--dry-run", "--json"]).args([&file]).run().exits(0).json();
    assert_eq!((&json["format"], &json["launches"], &json["tries"]), (&1.into(), &8.into(), &3.into()));
    assert_eq!(before.differences(&bystander_testkit::Tree::of(&folder, |_| true)), Vec::<String>::new());
}

#[test]
fn a_dry_run_refuses_evidence_that_a_run_would_refuse() {
    let world = world();
    let evidence = |name: &str| format!("{GOOD}\n[[evidence]]\nlog = {name:?}\n");
    world.write("case/empty.log", "");
    world.write("case/packed.log", [0x1f, 0x8b, 8, 0, 0]);
    world.write("case/other.log", b"BZh91AY&SY");
    world.write("case/wide.log", b"\xff\xfeu\0p\0");
    world.write("case/numbers.log", [7, 0, 0, 0]);
    world.write("case/good.log", "loading\nready\n");
    for (name, why, next) in [
        ("nowhere.log", "No such file", "name a log that is there"),
        (".", "it is a folder", "name one log in it"),
        ("empty.log", "it is empty", "name the log of a run that wrote one"),
        ("packed.log", "its packed data ends early or is damaged", "unpack what can be had of it"),
        ("other.log", "it is compressed in a way that is not read", "unpack it, and name the file that comes out"),
        ("wide.log", "it is UTF-16 text", "turn it into UTF-8"),
        ("numbers.log", "it is no text", "name the text that the program printed"),
    ] {
        let file = world.write("case/case.toml", evidence(name));
        let said = |args: &[&str]| world.bystander(args.iter().copied()).args([&file]).run().exits(3).stderr;
        let (dry, real) = (said(&["run", "--dry-run"]), said(&["run"]));
        assert!(dry.contains(why) && dry.contains(next) && dry.contains("nothing was launched"), "{name}: {dry}");
        assert_eq!(dry, real, "{name}");
    }
    let file = world.write("case/case.toml", evidence("good.log"));
    world.bystander(["run", "--dry-run"]).args([&file]).run().exits(0);
}

#[test]
fn a_wrong_command_line_is_a_usage_error() {
    let world = world();
    for args in [&["runn"][..], &[], &["run"], &["show", "--diff", "1"], &["run", "--no-such-flag", "x.toml"]] {
        let ran = world.bystander(args.iter().copied()).run().exits(3);
        assert!(!ran.stderr.is_empty() && ran.stdout.is_empty(), "{ran:?}");
    }
    let ran = world.bystander(["show", "--json"]).run().exits(3);
    assert!(text(&ran.json()["error"]["message"]).contains("find a state directory"), "{ran:?}");
    let ran = world.bystander(["--version"]).run().exits(0);
    assert!(ran.stdout.starts_with("bystander "), "{ran:?}");
}
