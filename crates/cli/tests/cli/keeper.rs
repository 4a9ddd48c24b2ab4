//! The keeper of a trial killed with SIGKILL, alone and together with `bystander run`.

use bystander_testkit::{Process, Signal, kill, until};
use serde_json::Value;

use crate::fast::Fast;
use crate::world::{LIMIT, assert_nothing_left, text, trials, world};

#[test]
fn a_keeper_that_is_killed_takes_its_trial_out_of_the_data_and_leaves_nothing() {
    let world = world();
    let file = world.write(
        "loop.toml",
        r#"
        [program]
        command = ["sh", "-c", "setsid sleep 600 & echo up; test -e killed || sleep 600"]
        timeout = "60s"
        [factors.level]
        one = { env = { LEVEL = "1" } }
        two = { env = { LEVEL = "2" } }
        [plan]
        baseline = { level = "one" }
        blocks = 1
        describe = true
        "#,
    );
    let running = crate::world::run(&world, &file).start();
    let mut keeper = None;
    until("a trial with its child", LIMIT, || {
        keeper = keeper_of(&world.processes());
        keeper.is_some() && world.trial_processes().iter().filter(|process| process.command.starts_with("sleep")).count() == 2
    });
    world.write("killed", "");
    kill(keeper.expect("a keeper"), Signal::KILL);
    // One block cannot answer, which is exit code 2.
    let report = running.wait().exits(2).json();
    let first = &trials(&report)[0];
    assert_eq!((&first["outcome"], &first["cause"]), (&Value::from("undetermined"), &Value::from("harness")), "{first}");
    assert!(
        text(&first["cause_detail"]["text"]).starts_with("Bystander failed to keep the trial together: its keeper was killed"),
        "{first}"
    );
    let cells = report["cells"].as_array().expect("cells").iter().map(|cell| (&cell["completed"], &cell["undetermined"]));
    assert_eq!(cells.clone().map(|(completed, _)| completed).collect::<Vec<_>>(), [1, 1], "the launch is made again");
    assert_eq!(cells.filter(|(_, undetermined)| **undetermined == 1).count(), 1);
    assert_eq!(trials(&report).len(), 3);
    assert_nothing_left(&world);
}

#[test]
fn what_is_left_when_both_are_killed_is_listed_from_any_folder_and_taken_back() {
    let Some(fast) = Fast::new() else { return };
    both_killed(&fast);
    assert!(!fast.source_is_original() && !fast.world.rings().is_empty(), "the moment with the print and the rings was missed");
    let status = fast.world.bystander(["patch", "status", "--json"]).run().exits(1).json();
    let live: Vec<&Value> = status["edits"].as_array().expect("edits").iter().filter(|edit| edit["state"] == "live").collect();
    assert!(live.len() == 1 && text(&live[0]["file"]).ends_with("fast/lib.py") && text(&live[0]["name"]) == "print", "{status:#}");
    assert_eq!(status["clean"], false);
    // From a folder that knows nothing of it, by name.
    let reverted = fast.world.bystander(["patch", "revert", "--json", text(&live[0]["id"])]).run().exits(0).json();
    assert_eq!(reverted["clean"], true, "{reverted:#}");
    assert!(fast.source_is_original());
    fast.world.bystander(["patch", "revert"]).cwd(&fast.folder).run().exits(0);
    let verified = fast.world.bystander(["patch", "verify", "--json"]).cwd(&fast.folder).run().exits(0).json();
    assert_eq!((&verified["clean"], &verified["problems"]), (&Value::from(true), &serde_json::json!([])));
    // Processes and rings are swept by the next start.
    crate::fast::assert_answers(&fast.run().run().exits(0).json());
    assert_nothing_left(&fast.world);
}

#[test]
fn what_is_left_when_both_are_killed_is_swept_by_the_next_start() {
    let Some(fast) = Fast::new() else { return };
    both_killed(&fast);
    assert!(!fast.source_is_original(), "the moment with the print was missed");
    let ran = fast.run().run().exits(0).says(&["lib.py", "an edit that a killed run had left"]);
    crate::fast::assert_answers(&ran.json());
    assert!(fast.source_is_original());
    assert_nothing_left(&fast.world);
}

/// Kills the command and its keeper at once, while the print is on disk and the program runs.
fn both_killed(fast: &Fast) {
    let gate = fast.world.path("gate");
    let app = "import os, time, lib
print('total=%d' % lib.add(7), flush=True)
while os.path.exists('../gate'): time.sleep(0.01)
raise SystemExit(3 if os.environ.get('MODE') == 'bad' else 0)
";
    fast.world.write("fast/app.py", app);
    let mut running = fast.run().start();
    until("a program with print and rings", LIMIT, || {
        let there = !fast.source_is_original() && !fast.world.rings().is_empty();
        // Closed only now, so that the bare trials before it end by themselves.
        if there && !gate.exists() {
            std::fs::write(&gate, "").expect("a file");
        }
        there
            && fast.world.trial_processes().iter().any(|process| process.command.contains("app.py"))
            && keeper_of(&fast.world.processes()).is_some()
    });
    let keeper = keeper_of(&fast.world.processes()).expect("a keeper");
    kill(running.pid(), Signal::STOP);
    kill(keeper, Signal::KILL);
    running.signal(Signal::KILL);
    assert_eq!(running.wait().signal, Some(9));
    std::fs::remove_file(&gate).expect("the gate");
}

#[test]
fn what_is_left_is_taken_back_by_a_start_that_has_nothing_of_the_killed_run() {
    for with_another_state in [true, false] {
        let Some(fast) = Fast::new() else { return };
        both_killed(&fast);
        assert!(!fast.source_is_original(), "the moment with the print was missed");
        let run = if with_another_state {
            fast.run().args(["--state"]).args([fast.world.path("elsewhere")])
        } else {
            std::fs::remove_dir_all(fast.folder.join(".bystander")).expect("removed, as `git clean -fdx` does");
            fast.run()
        };
        let ran = run.run().exits(0).says(&["lib.py: restored: an edit that a killed run had left (print)"]);
        crate::fast::assert_answers(&ran.json());
        assert!(fast.source_is_original());
        assert_nothing_left(&fast.world);
    }
}

#[test]
fn nothing_is_launched_on_what_a_killed_run_has_left_and_that_cannot_be_taken_back() {
    let Some(fast) = Fast::new() else { return };
    both_killed(&fast);
    std::fs::remove_dir_all(fast.folder.join(".bystander")).expect("removed");
    let source = fast.folder.join("lib.py");
    let edited = std::fs::read_to_string(&source).expect("there");
    let print = edited.lines().find(|line| line.contains("DEBUG")).expect("the print");
    let twice = edited.replace(print, &format!("{print}\n    x = 1\n{print}"));
    std::fs::write(&source, &twice).expect("others work on it");
    let ran = fast.run().run().exits(3).says(&["lib.py holds edit `print` of a run that was killed", "bystander patch revert"]);
    assert!(ran.json()["error"].is_object(), "{ran:?}");
    assert_eq!(std::fs::read_to_string(&source).expect("there"), twice, "nothing was written");
    let status = fast.world.bystander(["patch", "status", "--json"]).run().exits(1).json();
    assert_eq!(status["edits"].as_array().map(Vec::len), Some(1), "{status}");
    std::fs::write(&source, crate::fast::LIB).expect("taken out by hand");
    crate::fast::assert_answers(&fast.run().run().exits(0).json());
}

#[test]
fn an_entry_of_a_newer_version_keeps_nobody_from_running_a_program() {
    let Some(fast) = Fast::new() else { return };
    fast.world.write("home/.local/state/bystander/edits/0123456789ab.json", "{\"format\": 99}");
    let bare = "[program]\ncommand = [\"python3\", \"app.py\"]\n[plan]\nblocks = 1\ndescribe = true\n";
    let bare = fast.world.write("fast/bare.toml", bare);
    crate::world::run(&fast.world, &bare)
        .run()
        .exits(0)
        .says(&["it cannot be told whether killed runs have left edits", "0123456789ab.json"]);
    let refused = fast.run().run();
    assert_ne!(refused.code, Some(0), "an edit needs the registry: {refused:?}");
    assert!(fast.source_is_original());
}

fn keeper_of(processes: &[Process]) -> Option<u32> {
    processes.iter().find(|process| process.command.starts_with("bystander-keeper")).map(|process| process.pid)
}
