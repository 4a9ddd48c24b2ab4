//! Taking up a run that was stopped: only where nothing that it depends on has changed.

use bystander_testkit::{Signal, until};
use serde_json::Value;

use crate::fast::{Fast, LAUNCHES, assert_answers};
use crate::world::{LIMIT, assert_nothing_left, run, trials, world};

#[test]
fn the_same_command_takes_up_a_killed_run_where_it_stood_and_then_starts_anew() {
    let Some(fast) = Fast::new() else { return };
    fast.killed();
    let before = fast.show().run().exits(130).json();
    assert_eq!(
        (&before["status"], &before["why"]),
        (&Value::from("interrupted"), &Value::from("it was killed, or could not write to its record, such as on a full disk"))
    );
    let ran = fast.run().run().exits(0);
    let report = ran.json();
    assert_eq!(report["run"], before["run"], "it is the same run");
    assert_answers(&report);
    for (then, now) in trials(&before).iter().zip(trials(&report)) {
        if then["outcome"].is_string() {
            assert_eq!(then, now, "what was recorded stays as it was");
        }
    }
    let counted = trials(&report).iter().filter(|trial| trial["purpose"] == "measure" && trial["outcome"] != "interrupted").count();
    assert_eq!(counted, LAUNCHES);
    let anew = fast.run().run().exits(0).json();
    assert_ne!(anew["run"], report["run"], "a finished run starts anew");
    let shown = fast.world.bystander(["show", "--json"]).args([report["run"].as_str().expect("an id")]).cwd(&fast.folder).run().exits(0);
    assert_eq!(shown.json(), report, "the record alone gives the same report");
}

#[test]
fn a_changed_experiment_file_is_refused_by_name_and_new_starts_a_new_run() {
    let Some(fast) = Fast::new() else { return };
    fast.killed();
    let old = fast.show().run().exits(130).json();
    let text = std::fs::read_to_string(&fast.file).expect("the experiment");
    std::fs::write(&fast.file, format!("{text}\n# changed\n")).expect("the experiment");
    fast.run().run().exits(3).says(&["the experiment file changed", "--new"]);
    assert_eq!(fast.show().run().exits(130).json(), old, "the refusal changes nothing");
    let new = run(&fast.world, &fast.file).args(["--new"]).run().exits(0).json();
    assert_ne!(new["run"], old["run"]);
    assert_answers(&new);
}

#[test]
fn a_changed_program_or_instrumented_file_is_refused_by_name_until_the_change_is_undone() {
    let Some(fast) = Fast::new() else { return };
    fast.killed();
    for name in ["app.py", "lib.py"] {
        let path = fast.folder.join(name);
        let original = std::fs::read(&path).expect("a file");
        std::fs::write(&path, [&original[..], b"# changed\n"].concat()).expect("a file");
        fast.run().run().exits(3).says(&[name, "changed since the run started", "--new"]);
        std::fs::write(&path, original).expect("a file");
    }
    assert_answers(&fast.run().run().exits(0).json());
    assert_nothing_left(&fast.world);
}

#[test]
fn a_program_that_changes_under_a_run_stops_it_and_is_never_put_together_with_what_it_was() {
    let Some(fast) = Fast::new() else { return };
    let running = fast.after_trials(2);
    let path = fast.folder.join("app.py");
    let original = std::fs::read(&path).expect("a file");
    std::fs::write(&path, [&original[..], b"# changed\n"].concat()).expect("a file");
    let ended = running.wait();
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(ended.stderr.contains("app.py changed since the run started"), "{}", ended.stderr);
    let report = fast.show().run().json();
    let held = trials(&report)
        .iter()
        .filter(|trial| trial["purpose"] == "measure" && trial["outcome"] != "interrupted" && trial["outcome"] != "void");
    assert!(held.count() < LAUNCHES);
    fast.run().run().exits(3).says(&["app.py", "changed since the run started", "--new"]);
    std::fs::write(&path, original).expect("a file");
    assert_answers(&fast.run().run().exits(0).json());
    assert_nothing_left(&fast.world);
}

#[test]
fn a_live_run_is_locked_and_the_refusal_names_its_process() {
    let world = world();
    let file = world.write("wait.toml", waiting("until"));
    let mut first = run(&world, &file).start();
    until("a trial", LIMIT, || !world.trial_processes().is_empty());
    let second = run(&world, &file).run().exits(3);
    assert!(second.stderr.contains(&format!("process {}", first.pid())), "{}", second.stderr);
    let show = world.bystander(["show", "--json"]).run();
    assert_eq!(show.exits(2).json()["status"], "running", "a live run can be looked at");
    first.signal(Signal::INT);
    let _ = first.wait().exits(130);
    assert_nothing_left(&world);
}

#[test]
fn two_runs_of_different_files_in_one_folder_do_not_harm_each_other() {
    let Some(fast) = Fast::new() else { return };
    let other = fast.world.write(
        "fast/other.toml",
        std::fs::read_to_string(&fast.file)
            .expect("the experiment")
            .replace("[\"print\", \"probe\"]", "\"probe\"")
            .replace("print+probe", "probe"),
    );
    let second = run(&fast.world, &other).start();
    let first = fast.run().run().exits(0).json();
    let second = second.wait().exits(0).json();
    assert_answers(&first);
    assert_eq!(crate::world::verdict(&second, "factor:mode", "outcome"), "effect");
    for report in [&first, &second] {
        assert_eq!((&report["status"], trials(report).len() >= LAUNCHES), (&Value::from("finished"), true));
    }
    assert_nothing_left(&fast.world);
}

#[test]
fn two_runs_that_instrument_the_same_file_take_turns_at_it() {
    let Some(fast) = Fast::new() else { return };
    let other = fast.world.write("fast/other.toml", std::fs::read_to_string(&fast.file).expect("the experiment"));
    let second = run(&fast.world, &other).start();
    let first = fast.run().run().exits(0);
    for report in [first.json(), second.wait().exits(0).json()] {
        assert_answers(&report);
        assert_eq!((trials(&report).len() <= LAUNCHES + 1, &report["restored"]["exact"]), (true, &Value::from(true)), "none was void");
        // A bare launch that loads the other run's print would differ in its file, and would have printed it.
        assert_eq!(report["differences"], serde_json::json!([]));
        for trial in trials(&report).iter().filter(|trial| trial["instrument"] == "none") {
            let stdout = fast.folder.join(".bystander").join(crate::world::text(&trial["output"]["stdout"]));
            assert!(!std::fs::read_to_string(stdout).expect("the output").contains("DEBUG"), "{trial}");
        }
    }
    assert!(fast.source_is_original());
    assert_nothing_left(&fast.world);
}

#[test]
fn a_run_without_instruments_never_loads_what_another_run_has_put_in() {
    let Some(fast) = Fast::new() else { return };
    let plain = r#"
[program]
command = ["python3", "-c", "import lib; print(open(lib.__file__).read())"]
[factors.mode]
a = { env = { MODE = "a" } }
b = { env = { MODE = "b" } }
[plan]
baseline = { mode = "a" }
blocks = { min = 4, max = 4 }
describe = true
stop = "all"
"#;
    let plain = fast.world.write("fast/plain.toml", plain);
    let editing = fast.run().start();
    let report = run(&fast.world, &plain).run().json();
    assert_answers(&editing.wait().exits(0).json());
    assert_eq!(trials(&report).len(), 8, "{report}");
    for trial in trials(&report) {
        let stdout = fast.folder.join(".bystander").join(crate::world::text(&trial["output"]["stdout"]));
        let loaded = std::fs::read_to_string(stdout).expect("the output");
        assert!(loaded.contains("def add") && !loaded.contains("DEBUG"), "{loaded}");
    }
    assert_nothing_left(&fast.world);
}

#[test]
fn a_run_that_waits_for_its_turn_says_so_and_can_be_interrupted() {
    let Some(fast) = Fast::new() else { return };
    // A program without instruments that stays in the folder; bare launches of the other run go beside it, its print has to wait.
    let holding = fast.world.write("fast/hold.toml", waiting("gone"));
    let mut holder = run(&fast.world, &holding).start();
    until("a launch of the first run", LIMIT, || !fast.world.trial_processes().is_empty());
    let mut waiting = fast.run().start();
    until("the other one waits", LIMIT, || waiting.stderr().contains("waiting: another trial uses or edits"));
    assert!(fast.source_is_original(), "nothing is edited under a program that runs");
    for running in [&mut waiting, &mut holder] {
        running.signal(Signal::INT);
    }
    for ran in [waiting.wait(), holder.wait()] {
        let _ = ran.exits(130);
    }
    assert!(fast.source_is_original());
    assert_nothing_left(&fast.world);
}

#[test]
fn first_runs_that_start_at_once_in_one_folder_all_find_their_state() {
    let world = world();
    for round in 0..10 {
        let folder = format!("round-{round}");
        let files: Vec<_> = (0..4).map(|n| world.write(&format!("{folder}/{n}.toml"), ENDS_AT_ONCE)).collect();
        let running: Vec<_> = files.iter().map(|file| run(&world, file).start()).collect();
        for ran in running {
            let report = ran.wait().exits(0).json();
            assert_eq!(report["status"], "finished");
        }
    }
    assert_nothing_left(&world);
}

/// An experiment of one launch that ends at once.
const ENDS_AT_ONCE: &str = r#"
[program]
command = ["true"]
[plan]
blocks = 1
describe = true
"#;

/// An experiment whose program waits until a file is there.
fn waiting(file: &str) -> String {
    format!(
        r#"
        [program]
        command = ["sh", "-c", "until test -e {file}; do sleep 0.02; done"]
        timeout = "600s"
        grace = "1s"
        [factors.level]
        one = {{ env = {{ LEVEL = "1" }} }}
        two = {{ env = {{ LEVEL = "2" }} }}
        [plan]
        baseline = {{ level = "one" }}
        blocks = 4
        "#
    )
}
