//! `bystander patch` and `bystander doctor` where there is nothing to undo, and where what is asked for is not there.

use bystander_testkit::until;
use serde_json::Value;

use crate::fast::Fast;
use crate::world::{LIMIT, assert_nothing_left, run, text, tree, trials, world};

#[test]
fn without_any_edit_everything_is_clean_and_nothing_is_made() {
    let world = world();
    for verb in ["status", "verify"] {
        let report = world.bystander(["patch", verb, "--json"]).run().exits(0).json();
        assert_eq!((&report["format"], &report["clean"], &report["edits"]), (&Value::from(1), &Value::from(true), &serde_json::json!([])));
    }
    world.bystander(["patch", "revert"]).run().exits(3).says(&["find a state directory", "--state DIR"]);
    assert!(!world.path(".bystander").exists() && !world.path("home/.local/state/bystander").exists(), "looking made something");
}

#[test]
fn undone_edits_are_listed_as_such_and_an_unknown_one_is_refused() {
    let Some(fast) = Fast::new() else { return };
    fast.run().run().exits(0);
    let before = tree(&fast.folder);
    let patch = |args: &[&str]| fast.world.bystander(["patch"]).args(args).args(["--json"]).cwd(&fast.folder).run();
    let status = patch(&["status"]).exits(0).json();
    let edits = status["edits"].as_array().expect("edits");
    assert_eq!((edits.len(), &status["clean"]), (8, &Value::from(true)), "one for each launch with the print");
    for edit in edits {
        assert_eq!((text(&edit["state"]), text(&edit["name"])), ("reverted", "print"), "{edit}");
        assert!(text(&edit["file"]).ends_with("fast/lib.py") && text(&edit["made"]).contains('T'), "{edit}");
    }
    assert_eq!(patch(&["verify"]).exits(0).json()["problems"], serde_json::json!([]));
    patch(&["revert", "no-such-edit"]).exits(3).says(&["no-such-edit", "patch status"]);
    patch(&["revert"]).exits(0);
    assert_eq!(before.differences(&tree(&fast.folder)), Vec::<String>::new());
    assert_nothing_left(&fast.world);
}

#[test]
fn a_trial_whose_edit_was_taken_out_meanwhile_is_no_data_point() {
    // By `patch revert`, and by somebody who changes the file beside it.
    for by_command in [true, false] {
        let Some(fast) = Fast::new() else { return };
        let app = "import os, time, lib\nlib.add(3)\nwhile os.path.exists('../gate'): time.sleep(0.01)\n";
        fast.world.write("fast/app.py", app);
        let plan = std::fs::read_to_string(&fast.file).expect("the experiment").replace("blocks = 4", "blocks = 1");
        let running = run(&fast.world, &fast.world.write("fast/one.toml", plan)).start();
        until("the print on disk", LIMIT, || !fast.source_is_original());
        fast.world.write("gate", "");
        until("a program that has loaded it", LIMIT, || {
            fast.world.trial_processes().iter().any(|process| process.command.contains("app.py"))
        });
        let source = fast.folder.join("lib.py");
        if by_command {
            fast.world.bystander(["patch", "revert"]).cwd(&fast.folder).run().exits(0).says(&["restored (print)", "is at work with it"]);
        } else {
            let edited = std::fs::read_to_string(&source).expect("there");
            std::fs::write(&source, edited + "# theirs\n").expect("written");
        }
        std::fs::remove_file(fast.world.path("gate")).expect("the gate");
        let report = running.wait().json();
        let void: Vec<&Value> = trials(&report).iter().filter(|trial| trial["outcome"] == "void").collect();
        assert_eq!(void.len(), 1, "{report:#}");
        assert_eq!((&void[0]["cause"], &void[0]["instrument"]), (&Value::from("instrument.changed"), &Value::from("print+probe")));
        assert!(text(&void[0]["cause_detail"]["text"]).contains("lib.py") && text(&void[0]["cause_detail"]["text"]).contains("`print`"));
        assert!(trials(&report).len() >= 5, "the launch is made again");
        assert_nothing_left(&fast.world);
    }
}

#[test]
fn the_doctor_names_what_works_and_leaves_nothing() {
    let world = world();
    let ran = world.bystander(["doctor", "--json"]).run().exits(0);
    let findings = ran.json()["findings"].as_array().expect("findings").clone();
    assert!(findings.len() >= 6, "{findings:#?}");
    for finding in &findings {
        assert!(finding["name"].is_string() && finding["found"].is_string() && finding["works"].is_boolean(), "{finding}");
        assert!(finding["works"] == true || finding["mend"].is_string(), "without a way to mend it: {finding}");
    }
    let text = world.bystander(["doctor"]).run().exits(0).stdout;
    assert!(findings.iter().all(|finding| text.contains(crate::world::text(&finding["name"]))), "{text}");
    assert!(!world.path(".bystander").exists());
    // Without a home there is no registry of live edits, and that is not optional.
    let broken = world.bystander(["doctor", "--json", "--state"]).args([world.write("taken", "")]).run().exits(4).json();
    let state =
        broken["findings"].as_array().expect("findings").iter().find(|finding| finding["works"] == false && finding["optional"] == false);
    assert!(text_of(state.expect("a finding that does not work"), "mend").contains("--state DIR"));
}

fn text_of<'a>(value: &'a Value, key: &str) -> &'a str {
    text(&value[key])
}

#[test]
fn a_state_directory_is_left_out_of_what_is_searched_whatever_it_is_called_and_however_it_is_reached() {
    let world = world();
    world.write("app/x.py", "x = 1\n");
    let apply = ["patch", "apply", "--file", "app/x.py", "--find", "x = 1", "--insert-after", "print(x)", "--state"];
    std::os::unix::fs::symlink(".", world.path("round")).expect("a link");
    for state in ["st", "home/.local/state/bystander/far/0123", "round/deep/st", "app/.bystander"] {
        world.bystander(apply).args([state]).run().exits(0);
        world.bystander(["patch", "revert", "--all"]).run().exits(0);
        for options in [&["--state", state][..], &[]] {
            let found = world.bystander(["patch", "verify", "."]).args(options).run();
            assert_eq!(found.code, Some(0), "{state} {options:?}:\n{}", found.stdout);
        }
    }
    // What only looks like one is searched.
    world.write("app/.bystander2/format", "1\n");
    world.write("app/.bystander2/copy", format!("bystander-patch-{}\n", "0123456789ab"));
    let found = world.bystander(["patch", "verify", "."]).run().exits(1);
    assert!(found.stdout.contains(".bystander2/copy"), "{}", found.stdout);
}
