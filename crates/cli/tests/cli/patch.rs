//! `bystander patch` and `bystander doctor` where there is nothing to undo, and where what is asked for is not there.

use serde_json::Value;

use crate::fast::Fast;
use crate::world::{assert_nothing_left, text, tree, world};

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
