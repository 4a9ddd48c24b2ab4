//! Records of other versions and of clocks that jumped: what was recorded stays readable, and a run goes on.

use std::fs;
use std::path::{Path, PathBuf};

use bystander_testkit::{World, python};
use serde_json::Value;

use crate::export::{contents, export};
use crate::fast::{Fast, LAUNCHES, assert_answers};
use crate::world::{assert_nothing_left, python_world, run, text, trials};

/// A record of three runs as the first version wrote it: an experiment, a watched command, and an experiment that was killed in its first launch.
const RECORD: &str = include_str!("../fixtures/old/record.sql");
const CASE: &str = include_str!("../fixtures/old/case.toml");
const STOPPED: &str = include_str!("../fixtures/old/stopped.toml");

/// Runs statements on a record.
fn change(world: &World, state: &Path, statements: &str) {
    let script =
        "import sqlite3, sys\nrecord = sqlite3.connect(sys.argv[1])\nrecord.executescript(open(sys.argv[2]).read())\nrecord.commit()";
    let file = world.write("statements.sql", statements);
    let python = &python().expect("checked before").path;
    let _ = world.run(python).args(["-c", script]).args([state.join("record.sqlite"), file]).run().exits(0);
}

/// The old state beside its experiment files.
fn old() -> Option<(World, PathBuf)> {
    let world = python_world()?;
    world.write("case/case.toml", CASE);
    world.write("case/stopped.toml", STOPPED);
    let state = world.path("case/.bystander");
    world.write("case/.bystander/format", "1\n");
    for folder in ["runs", "locks"] {
        fs::create_dir_all(state.join(folder)).expect("a folder");
    }
    change(&world, &state, &RECORD.replace("@CASE@", &world.path("case").display().to_string()));
    let folder = world.path("case");
    Some((world, folder))
}

#[test]
fn a_record_of_the_first_version_is_listed_shown_explained_compared_and_exported() {
    let Some((world, folder)) = old() else { return };
    let show = |args: &[&str]| world.bystander(["show"]).args(args).cwd(&folder).run();
    let list = show(&["--list", "--json"]).exits(0).json();
    let runs = list["runs"].as_array().expect("runs").iter().map(|run| {
        let answer = run["answer"].as_str().unwrap_or("none");
        format!("{} {} {answer}", text(&run["kind"]), text(&run["status"]))
    });
    assert_eq!(
        runs.collect::<Vec<_>>(),
        ["run interrupted factor:level: insufficient", "watch finished python3 app.py: exit 0, 1 hit", "run finished factor:mode: effect"],
        "{list:#}"
    );
    let report = show(&["case", "--json"]).exits(0).json();
    assert_answers(&report);
    assert_eq!((trials(&report).len(), report["restored"]["exact"].as_bool()), (LAUNCHES + 1, Some(true)));
    let why = show(&["case", "--why"]).exits(0).stdout;
    assert!(why.contains("exit code 3") && why.contains("armed"), "{why}");
    assert!(show(&["case", "--diff", "1", "2"]).exits(0).stdout.contains("MODE"));
    assert!(show(&["watch", "--json"]).exits(0).stdout.contains("\"hits\""));
    let archive = world.path("old.tar.zst");
    let manifest = world.bystander(["export", "case", "--json", "-o"]).args([&archive]).cwd(&folder).run().exits(0).json();
    assert_eq!(
        trials(&report).len() * 2,
        manifest["left_out"].as_array().expect("a list").iter().filter(|left| text(left).contains("is gone")).count()
    );
    let there = crate::world::world().bystander(["show", "--json"]).args([&archive]).run().exits(0).json();
    assert_eq!(there["answers"], report["answers"]);
    let spec = contents(&archive).into_iter().find(|(name, _)| name.ends_with("/experiment.toml"));
    assert!(spec.is_some_and(|(_, text)| String::from_utf8_lossy(&text).contains("Does the bad mode break it?")));
}

#[test]
fn a_run_that_the_first_version_left_is_taken_up_and_one_that_it_finished_is_begun_anew() {
    let Some((world, folder)) = old() else { return };
    world.write("go", "");
    let file = folder.join("stopped.toml");
    let report = run(&world, &file).run().exits(2).json();
    assert!(text(&report["run"]).starts_with("stopped-20261130-"), "{report:#}");
    let outcomes: Vec<&str> = trials(&report).iter().map(|trial| text(&trial["outcome"])).collect();
    assert_eq!(outcomes, ["interrupted", "completed", "completed", "completed", "completed"]);
    let order = |report: &Value| trials(report)[1..].iter().map(|trial| trial["levels"].to_string()).collect::<Vec<_>>();
    assert_eq!(trials(&report)[0]["levels"], trials(&report)[1]["levels"], "the order is that of its seed");
    assert_eq!(report["plan"]["order_seed"], 7);
    let anew = run(&world, &file).args(["--seed", "7"]).run().exits(2).json();
    assert_ne!(anew["run"], report["run"]);
    let all = trials(&anew).iter().map(|trial| trial["levels"].to_string()).collect::<Vec<_>>();
    assert_eq!(all, order(&report));
    assert_nothing_left(&world);
}

#[test]
fn what_a_newer_version_recorded_is_not_called_damaged() {
    let Some((world, folder)) = old() else { return };
    let state = folder.join(".bystander");
    let event = "INSERT INTO event (run, trial, origin, seq, time_ns, kind, body) VALUES (1, 0, 'lab', 999, 1, 'hologram', ";
    change(&world, &state, &format!("{event}'{{\"kind\":\"hologram\",\"depth\":3}}');"));
    let show = |args: &[&str]| world.bystander(["show"]).args(args).cwd(&folder).run();
    let _ = show(&["case"]).exits(4).says(&["a newer version of bystander wrote it; update bystander", "hologram"]);
    // What this version knows is there all the same, and the list tells which one is not.
    assert!(show(&["watch", "--json"]).exits(0).stdout.contains("\"hits\""));
    assert!(show(&["--list"]).exits(0).stdout.contains("cannot be read: unknown variant `hologram`"));
    change(&world, &state, "UPDATE event SET body = '{\"kind\":' WHERE seq = 999;");
    let _ = show(&["case"]).exits(4).says(&["its text is damaged"]);
    change(&world, &state, "PRAGMA user_version = 99;");
    let _ = show(&["case"]).exits(4).says(&["it has version 99", "update bystander"]);
}

/// A report without the numbers of the instants, of which a clock that jumps makes others.
fn timeless(mut report: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(map) => {
                map.retain(|name, _| !name.ends_with("_ns") && name != "at");
                map.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut report);
    report
}

#[test]
fn a_clock_that_jumps_back_or_by_years_changes_neither_order_nor_durations_nor_answers() {
    let Some(fast) = Fast::new() else { return };
    let before = fast.run().run().exits(0).json();
    let state = fast.folder.join(".bystander");
    let text_before = fast.world.bystander(["show", "--why"]).cwd(&fast.folder).run().exits(0).stdout;
    for (what, jump) in [
        ("each event a second before the last", "UPDATE event SET time_ns = 1000000000000000000 - number * 1000000000;"),
        ("years ahead in the middle", "UPDATE event SET time_ns = time_ns + 315360000000000000 WHERE number > 40;"),
        ("back to 1970", "UPDATE event SET time_ns = 0 WHERE number > 20;"),
        ("beyond what a date can be", "UPDATE event SET time_ns = -1 WHERE number % 3 = 0;"),
    ] {
        change(&fast.world, &state, jump);
        let after = fast.show().run().exits(0).json();
        assert_eq!(timeless(after), timeless(before.clone()), "{what}");
        let why = fast.world.bystander(["show", "--why"]).cwd(&fast.folder).run().exits(0).stdout;
        assert_eq!(why, text_before, "{what}");
    }
    let (archive, _) = export(&fast.world, &fast.folder, "run.tar.zst");
    let there = fast.world.bystander(["show", "--json"]).args([&archive]).run().exits(0).json();
    assert_eq!(there["answers"], before["answers"]);
}

#[test]
fn a_run_goes_on_in_its_order_after_its_clock_jumped() {
    for jump in [
        "UPDATE event SET time_ns = time_ns + 946080000000000000; UPDATE run SET created_ns = created_ns + 946080000000000000;",
        "UPDATE event SET time_ns = 5; UPDATE run SET created_ns = 5;",
    ] {
        let Some(fast) = Fast::new() else { return };
        fast.killed();
        let stopped = fast.show().run().exits(130).json();
        change(&fast.world, &fast.folder.join(".bystander"), jump);
        let report = fast.run().run().exits(0).json();
        assert_eq!((&report["run"], &report["plan"]["order_seed"]), (&stopped["run"], &stopped["plan"]["order_seed"]));
        assert_answers(&report);
        for (then, now) in trials(&stopped).iter().zip(trials(&report)).filter(|(then, _)| then["outcome"].is_string()) {
            assert_eq!(timeless(then.clone()), timeless(now.clone()));
        }
        assert!(trials(&report).iter().all(|trial| trial["wall_s"].as_f64().is_none_or(|wall| (0.0..60.0).contains(&wall))), "{report:#}");
        assert_nothing_left(&fast.world);
    }
}
