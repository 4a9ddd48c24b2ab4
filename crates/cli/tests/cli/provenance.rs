//! What is recorded of each launch: command, environment, files as loaded, versions, machine.

use std::path::Path;

use bystander_lab::ledger::{Ledger, TrialRecord};
use bystander_model::outcome::Outcome;
use bystander_store::{StateDir, Store};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::fast::Fast;
use crate::world::{run, text, trials};

/// The newest run of a state directory.
fn ledger(state: &Path) -> Ledger {
    let store = Store::open(&StateDir::open_existing(state).expect("a state directory")).expect("a record");
    let run = store.latest().expect("readable").expect("a run");
    let events: Vec<_> = store.events(&run.id).expect("readable").map(|event| event.expect("an event")).collect();
    Ledger::replay(&run.id, events).expect("a run")
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn every_launch_is_recorded_with_the_files_as_loaded_and_an_environment_without_secrets() {
    let Some(fast) = Fast::new() else { return };
    let lib = fast.folder.join("lib.py");
    let original = std::fs::read_to_string(&lib).expect("a file");
    let printed = original.replace("    return total\n", "    print('DEBUG', total, flush=True)\n    return total\n");
    fast.run().env("MY_API_KEY", "a-secret-value").env("PLAIN", "plain").run().exits(0);
    let ledger = ledger(&fast.folder.join(".bystander"));
    let mut masked = std::collections::BTreeSet::new();
    for trial in ledger.trials.values() {
        let provenance = trial.provenance().expect("every trial was launched");
        let loaded = if trial.slot.cell.instrument == "none" { &original } else { &printed };
        assert_eq!(provenance.files.get(&lib), Some(&sha256(loaded.as_bytes())), "{} in trial {}", lib.display(), trial.id);
        assert_eq!((&provenance.command, &provenance.cwd), (&vec!["python3".to_owned(), "app.py".to_owned()], &fast.folder));
        assert_eq!(provenance.env.get("PLAIN").map(String::as_str), Some("plain"));
        assert_eq!(provenance.env.get("MODE"), trial.slot.cell.levels.get("mode"));
        masked.insert(provenance.env["MY_API_KEY"].clone());
        let python = provenance.python.as_ref().expect("it is a Python program");
        assert!(python.version.starts_with("3.") && python.executable.is_absolute(), "{python:?}");
        assert!(!provenance.kernel.is_empty());
        assert_eq!(trial.edited.len(), trial.undone.len(), "trial {}", trial.id);
    }
    let shown = |args: &[&str]| fast.world.bystander(["show"]).args(args).cwd(&fast.folder).run().exits(0);
    assert!(shown(&["--json"]).json()["trials"][0]["provenance"].is_null(), "what nobody asked for is left out");
    let launch = shown(&["--json", "--why"]).json()["trials"][0]["provenance"].clone();
    let packages = |launch: &serde_json::Value| {
        launch["python"]["packages"].as_object().map(|packages| packages.values().all(|version| version.is_string()))
    };
    assert!(packages(&launch) == Some(true) && launch["env"]["PLAIN"] == "plain" && launch["gpus"].is_array(), "{launch}");
    let why = shown(&["--why"]).stdout;
    assert!(why.contains("Launched (trial 1;") && why.contains("  command: python3 app.py") && why.contains("  kernel: "), "{why}");
    assert!(masked.len() == 1 && masked.iter().all(|mask| mask.starts_with("<hidden:")), "{masked:?}");
    assert!(trials_of(&ledger, "good").all(|trial| trial.outcome() == Some(Outcome::Completed)));
    assert!(trials_of(&ledger, "bad").all(|trial| trial.outcome() == Some(Outcome::Failed)));
}

#[test]
fn a_python_process_that_the_overlay_does_not_reach_says_so_and_claims_no_number_of_hits() {
    let Some(fast) = Fast::new() else { return };
    // The isolated child is there when its parent ends, which is a moment at which the processes of the trial are looked at.
    let child = "import signal; print('up', flush=True); signal.pause()";
    let app = format!(
        "import subprocess, sys, lib\nlib.add(3)\nchild = subprocess.Popen([sys.executable, '-I', '-c', {child:?}], stdout=subprocess.PIPE)\nchild.stdout.readline()\n"
    );
    fast.world.write("fast/app.py", app);
    let plan = std::fs::read_to_string(&fast.file).expect("the experiment").replace("blocks = 4", "blocks = 1");
    let report = run(&fast.world, &fast.world.write("fast/one.toml", plan)).run().json();
    let probed = trials(&report).iter().find(|trial| trial["instrument"] == "print+probe").expect("a trial with the probe");
    let receipts = probed["receipts"].as_array().expect("receipts");
    let of =
        |state: &str| receipts.iter().find(|receipt| receipt["state"] == state).unwrap_or_else(|| panic!("none is {state}: {receipts:?}"));
    assert_eq!((&of("armed")["hits"], &of("armed")["dropped"]), (&Value::from(1), &Value::from(0)));
    assert_eq!((&of("uncovered")["hits"], &of("uncovered")["dropped"]), (&Value::Null, &Value::Null));
    assert!(text(&of("uncovered")["detail"]).contains("-I"), "{receipts:?}");
}

fn trials_of<'a>(ledger: &'a Ledger, mode: &'a str) -> impl Iterator<Item = &'a TrialRecord> {
    ledger.trials.values().filter(move |trial| trial.slot.cell.levels["mode"] == mode)
}

#[test]
fn the_git_state_of_the_programs_folder_is_recorded_and_looking_leaves_it_as_it_is() {
    let Some(fast) = Fast::new() else { return };
    let git = |args: &[&str]| {
        let identity = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"];
        fast.world.run(Path::new("git")).args(identity).args(args).cwd(&fast.folder).run()
    };
    if std::process::Command::new("git").arg("--version").output().is_err() {
        return bystander_testkit::skip("there is no git", bystander_testkit::Mark::Machine);
    }
    git(&["init", "--quiet"]).exits(0);
    git(&["add", "app.py", "lib.py"]).exits(0);
    git(&["commit", "--quiet", "-m", "all"]).exits(0);
    let head = git(&["rev-parse", "HEAD"]).exits(0).stdout;
    let before = bystander_testkit::Tree::of(&fast.folder.join(".git"), |_| true);
    fast.run().run().exits(0);
    assert_eq!(before.differences(&bystander_testkit::Tree::of(&fast.folder.join(".git"), |_| true)), Vec::<String>::new());
    for trial in ledger(&fast.folder.join(".bystander")).trials.values() {
        let found = trial.provenance().and_then(|provenance| provenance.git).expect("a work tree");
        assert_eq!((found.commit.as_str(), found.dirty), (head.trim(), !trial.edited.is_empty()), "trial {}", trial.id);
    }
    // Its own state is hidden from git by a file of its own.
    assert_eq!(git(&["status", "--porcelain", "--", ".bystander"]).exits(0).stdout, "");
}

#[test]
fn a_program_that_a_script_starts_is_probed_by_the_python_that_the_file_names() {
    let Some(fast) = Fast::new() else { return };
    let script = fast.world.write_program("fast/start.sh", "#!/bin/sh\nexec python3 app.py \"$@\"\n");
    let plan = std::fs::read_to_string(&fast.file).expect("a file").replace(r#"["python3", "app.py"]"#, &format!("[{script:?}]"));
    let unnamed = fast.world.write("fast/unnamed.toml", &plan);
    run(&fast.world, &unnamed).run().exits(3).says(&["probe.not_python", "python = \"venv/bin/python\""]);
    for (python, reason) in [("nowhere/python3", "nowhere/python3` cannot be run"), ("no-such-python", "`no-such-python` cannot be run")] {
        let bad = plan.replace("[program]\n", &format!("[program]\npython = {python:?}\n"));
        run(&fast.world, &fast.world.write("fast/bad.toml", bad)).run().exits(3).says(&["program.python", reason]);
    }
    let named = fast.world.write("fast/named.toml", plan.replace("[program]\n", "[program]\npython = \"python3\"\n"));
    run(&fast.world, &named).run().exits(0);
    let ledger = ledger(&fast.folder.join(".bystander"));
    for trial in ledger.trials.values() {
        let python = trial.provenance().and_then(|provenance| provenance.python);
        assert!(python.as_ref().is_some_and(|python| python.version.starts_with("3.")), "{python:?}");
        assert_eq!(!trial.hits.is_empty(), trial.slot.cell.instrument != "none", "trial {}", trial.id);
    }
}

#[test]
fn what_the_file_fills_in_for_each_launch_is_no_difference() {
    let world = crate::world::world();
    let file = "[program]\ncommand = ['sh', '-c', 'echo Args: n=$N']\nenv = { N = '{number}', MY_API_KEY = 'k{number}' }\n\
                [factors.m]\na = {}\nb = { env = { M = '1' } }\n[plan]\nbaseline = { m = 'a' }\nblocks = 2\ndescribe = true\n";
    let file = world.write("case/case.toml", file);
    let report = run(&world, &file).args(["--why"]).run().json();
    assert_eq!(report["differences"], serde_json::json!([]));
    let numbers: Vec<&str> = trials(&report).iter().map(|trial| text(&trial["provenance"]["env"]["N"])).collect();
    assert_eq!(numbers, ["1", "2", "3", "4"], "they did differ");
}
