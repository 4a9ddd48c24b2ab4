//! Looking at runs again: by name, in full, and two launches side by side.

use bystander_testkit::until;
use serde_json::Value;

use crate::fast::Fast;
use crate::world::{LIMIT, text, trials};

#[test]
fn a_run_is_shown_again_from_the_record_alone_by_the_start_of_its_name_from_any_folder_below() {
    let Some(fast) = Fast::new() else { return };
    let report = fast.run().run().exits(0).json();
    let below = fast.folder.join("below/it");
    std::fs::create_dir_all(&below).expect("a folder");
    // The record is enough: program and experiment may be gone.
    std::fs::remove_file(fast.folder.join("app.py")).expect("a file");
    std::fs::remove_file(&fast.file).expect("a file");
    let name = text(&report["run"]);
    for args in [&["show", "--json"][..], &["show", "--json", &name[..name.len() - 2]], &["show", "--json", name]] {
        assert_eq!(fast.world.bystander(args.iter().copied()).cwd(&below).run().exits(0).json(), report);
    }
    let long = fast.world.bystander(["show", "--why"]).cwd(&below).run().exits(0);
    let short = fast.world.bystander(["show"]).cwd(&below).run().exits(0);
    assert!(long.stdout.len() > short.stdout.len() && long.stdout.contains("exit code 3"), "{}", long.stdout);
    fast.world.bystander(["show", "no-such-run"]).cwd(&below).run().exits(3).says(&["no-such-run"]);
}

#[test]
fn two_launches_differ_in_what_their_levels_and_instruments_ask_for_and_in_nothing_else() {
    let Some(fast) = Fast::new() else { return };
    let report = fast.run().run().exits(0).json();
    assert_eq!(report["differences"], serde_json::json!([]));
    let find = |mode: &str, instrument: &str| {
        let is_it = |trial: &&Value| trial["levels"]["mode"] == mode && trial["instrument"] == instrument && trial["purpose"] == "measure";
        trials(&report).iter().find(is_it).expect("a trial")["id"].to_string()
    };
    let (bare, instrumented) = (find("good", "none"), find("bad", "print+probe"));
    let diff = fast.world.bystander(["show", "--json", "--diff", &bare, &instrumented]).cwd(&fast.folder).run().exits(0).json();
    let found: Vec<&Value> = diff["differences"].as_array().expect("differences").iter().collect();
    assert!(found.iter().all(|difference| difference["planned"] == true), "{diff:#}");
    let what = |name: &str| found.iter().find(|difference| text(&difference["what"]) == name).copied();
    let mode = what("env MODE").expect("the level's variable");
    assert_eq!((text(&mode["first"]), text(&mode["second"])), ("good", "bad"));
    assert!(found.iter().any(|difference| text(&difference["what"]).ends_with("lib.py")), "the edited file: {diff:#}");
    fast.world.bystander(["show", "--diff", &bare, "999"]).cwd(&fast.folder).run().exits(3).says(&["999", "trials are 1 to"]);
}

#[test]
fn launches_in_another_environment_are_flagged_as_differing_in_more_than_their_levels() {
    let Some(fast) = Fast::new() else { return };
    fast.killed();
    let report = fast.run().env("STRAY", "yes").run().exits(0).json();
    let flagged = report["differences"].as_array().expect("differences");
    assert!(!flagged.is_empty() && flagged.iter().all(|difference| text(difference).contains("env STRAY")), "{flagged:#?}");
}

#[test]
fn a_run_that_is_alive_can_be_looked_at_without_disturbing_it() {
    let Some(fast) = Fast::new() else { return };
    let running = fast.run().start();
    let mut looks = 0;
    until("some trials to be seen", LIMIT, || {
        let shown = fast.show().run();
        looks += 1;
        // Before its start is recorded there is nothing to see.
        shown.code != Some(3) && trials(&shown.json()).len() > 2
    });
    assert!(looks > 0);
    crate::fast::assert_answers(&running.wait().exits(0).json());
}

#[test]
fn a_metric_without_an_answer_is_told_why_and_a_word_that_is_none_what_there_is() {
    let world = crate::world::world();
    let file = "[program]\ncommand = [\"echo\", \"t=1\"]\n[metrics]\nt = { log = 't=(\\d)', scale = \"difference\" }\n[plan]\nblocks = 1\ndescribe = true\n";
    let file = world.write("case/case.toml", file);
    let _ = crate::world::run(&world, &file).run().exits(0);
    let why = |name: &str| world.bystander(["show", "--why", name]).cwd(&world.path("case")).run().exits(3);
    why("t").says(&[
        "an answer about the metric `t`",
        "since an answer compares two cells, and the plan has one",
        "needed is a factor with two levels",
    ]);
    why("nothing").says(&["an answer about `nothing`"]);
    let file = "[program]\ncommand = ['true']\n[factors.f]\na = {}\nb = { env = { X = '1' } }\n[plan]\nbaseline = { f = 'a' }\nblocks = 1\ndescribe = true\n";
    let file = world.write("two/case.toml", file);
    let _ = crate::world::run(&world, &file).run();
    let why = |name: &str| world.bystander(["show", "--why", name]).cwd(&world.path("two")).run();
    let said = why("nonsense").exits(3).stderr;
    assert!(said.contains("its answers are about factor:f; its metrics are outcome"), "{said}");
    // Each name that it gives is one.
    assert!(said.contains("\"factor:f on outcome\""), "{said}");
    for name in ["factor:f", "f", "outcome", "on outcome", "factor:f on outcome", "f on outcome"] {
        let shown = why(name);
        assert!(shown.code != Some(3) && shown.stdout.contains("No failure in"), "{name}: {}", shown.stdout);
    }
}
