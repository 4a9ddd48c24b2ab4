//! Lanes, hooks, what a trial has for itself, and A/A runs, on real processes.

use std::collections::BTreeSet;
use std::fs;

use bystander_testkit::{Nvml, Signal, StubGpu, World, until};
use serde_json::Value;

use crate::world::{LIMIT, assert_nothing_left, run, text, trials, world};

/// Writes an experiment on a shell script and gives its path.
fn experiment(world: &World, script: &str, more: &str) -> std::path::PathBuf {
    let file = world.path("x.toml");
    fs::write(&file, format!("program.command = ['sh', '-c', '''{script}''']\n{more}")).expect("written");
    file
}

/// The environment of a trial as it was recorded.
fn provenance<'a>(trial: &'a Value, key: &str) -> &'a Value {
    &trial["provenance"]["env"][key]
}

/// Two lanes whose trials meet: each leaves a mark and waits for the other's.
const MEET: &str = r#"touch "$M/$B.$L"; i=0; while [ $(ls "$M" | grep -c "^$B\.") -lt 2 ]; do i=$((i+1)); [ $i -gt 3000 ] && exit 9; sleep 0.02; done; cat "$M/$B.$L"; exit 0"#;

#[test]
fn two_lanes_run_trials_of_one_block_at_the_same_time_each_with_gpus_and_a_number_of_its_own() {
    let world = world();
    fs::create_dir(world.path("marks")).expect("made");
    let more = "program.env = { M = '{folder}/marks', B = '{seed}', L = '{lane}' }\nfactors.a = { x = {}, y = { env = { A = '1' } } }\n\
        plan = { baseline = { a = 'x' }, parallel = [[3], [5, 6]], blocks = 4, describe = true }";
    let file = experiment(&world, MEET, more);
    // Where there is a driver, the GPUs of lanes must be there.
    let nvml = Nvml::build().inspect(|nvml| nvml.show(&(0..7).map(|_| StubGpu::holding(0)).collect::<Vec<_>>()));
    let environment = nvml.iter().flat_map(Nvml::environment);
    let ran = environment.fold(world.bystander(["run", "--json", "--why"]).args([&file]), |run, (name, value)| run.env(name, value));
    let report = ran.run().exits(2).json();
    let all = trials(&report);
    assert_eq!(all.len(), 8);
    assert!(all.iter().all(|trial| trial["outcome"] == "completed"), "{report:#}");
    let gpus: BTreeSet<&str> = all.iter().map(|trial| text(provenance(trial, "CUDA_VISIBLE_DEVICES"))).collect();
    assert_eq!(gpus, BTreeSet::from(["3", "5,6"]));
    for level in ["x", "y"] {
        let lanes = all.iter().filter(|trial| trial["levels"]["a"] == level).map(|trial| text(provenance(trial, "L")));
        let mut lanes: Vec<&str> = lanes.collect();
        lanes.sort_unstable();
        assert_eq!(lanes, ["1", "1", "2", "2"], "{level} was in each lane equally often");
    }
    assert!(report["differences"].as_array().is_none_or(Vec::is_empty), "{:#}", report["differences"]);
    assert_nothing_left(&world);
}

#[test]
fn killed_with_two_trials_in_flight_both_are_closed_and_the_run_goes_on() {
    let world = world();
    let script = r#"touch "$D/$L"; while [ ! -e "$D/go" ]; do sleep 0.02; done"#;
    let more = "program.env = { D = '{folder}', L = 'lane{lane}' }\nfactors.a = { x = {}, y = { env = { A = '1' } } }\n\
        plan = { baseline = { a = 'x' }, parallel = [[], []], blocks = 2, describe = true }";
    let file = experiment(&world, script, more);
    for (signal, code) in [(Signal::INT, Some(130)), (Signal::KILL, None)] {
        let mut running = run(&world, &file).start();
        until("both lanes run", LIMIT, || ["lane1", "lane2"].iter().all(|mark| world.path(mark).exists()));
        running.signal(signal);
        assert_eq!(running.wait().code, code);
        until("nothing of the trials is left", LIMIT, || world.trial_processes().is_empty());
        ["lane1", "lane2"].iter().for_each(|mark| fs::remove_file(world.path(mark)).expect("removed"));
    }
    fs::write(world.path("go"), "").expect("written");
    let report = run(&world, &file).run().exits(2).json();
    let with = |outcome: &str| trials(&report).iter().filter(|trial| trial["outcome"] == outcome).count();
    assert_eq!((with("interrupted"), with("completed")), (4, 4), "{report:#}");
    assert_nothing_left(&world);
}

#[test]
fn hooks_run_around_the_run_and_its_trials_in_order_and_also_after_ctrl_c() {
    let world = world();
    let log = "printf '%s\\n' \"$1\" >> \"$2/log\"";
    let hook = |name: &str| format!("['sh', '-c', '''{log}''', 'x', '{name}', '{{folder}}']");
    let hooks = format!(
        "[hooks]\nsetup = {}\nprepare = [{}, ['sh', '-c', 'echo \"$PWD\" > {{trial}}/where; echo {{seed}} > seeded']]\nconclude = {}\ncleanup = {}\n",
        hook("setup"),
        hook("prepare"),
        hook("conclude"),
        hook("cleanup")
    );
    let more = format!("program.env = {{ D = '{{folder}}' }}\nprogram.fresh = true\nplan = {{ describe = true, blocks = 2 }}\n{hooks}");
    // What was prepared lies in the directory of the trial, and its caches are of its own and empty.
    let script = r#"[ "$(ls)" = seeded ] && [ -z "$(ls "$TRITON_CACHE_DIR")" ] && echo x > "$TRITON_CACHE_DIR/kernel" && printf 'program\n' >> "$D/log""#;
    let file = experiment(&world, script, &more);
    let report = world.bystander(["run", "--json", "--why"]).args([&file]).run().exits(0).json();
    let said = || fs::read_to_string(world.path("log")).expect("written");
    assert_eq!(
        said().lines().collect::<Vec<_>>(),
        ["setup", "prepare", "program", "conclude", "prepare", "program", "conclude", "cleanup"]
    );
    let cwds: BTreeSet<&str> = trials(&report).iter().map(|trial| text(&trial["provenance"]["cwd"])).collect();
    assert_eq!(cwds.len(), 2);
    assert!(cwds.iter().all(|cwd| cwd.ends_with("/cwd") && !std::path::Path::new(cwd).with_file_name("cache").exists()), "{cwds:?}");
    for trial in trials(&report) {
        assert!(text(provenance(trial, "BYSTANDER_PADDING")).ends_with(" bytes"));
        assert!(text(provenance(trial, "HF_HOME")).ends_with("/huggingface"), "models stay where they are");
    }

    fs::remove_file(world.path("log")).expect("removed");
    let file = experiment(&world, r#"printf 'program\n' >> "$D/log"; exec sleep 1000"#, &more);
    let mut running = run(&world, &file).start();
    until("the program runs", LIMIT, || fs::read_to_string(world.path("log")).is_ok_and(|log| log.contains("program")));
    running.signal(Signal::INT);
    running.wait().exits(130);
    assert_eq!(said().lines().collect::<Vec<_>>(), ["setup", "prepare", "program", "conclude", "cleanup"]);
    assert_nothing_left(&world);
}

#[test]
fn a_hook_that_fails_is_never_a_failure_of_the_program() {
    let world = world();
    let hooked = |hooks: &str| experiment(&world, "exit 0", &format!("plan = {{ describe = true, blocks = 1 }}\n[hooks]\n{hooks}"));
    let failing = "['sh', '-c', 'echo no room left >&2; exit 3']";

    let ran = run(&world, &hooked(&format!("prepare = {failing}"))).run().exits(2);
    let report = ran.json();
    assert_eq!(trials(&report).len(), 3, "made again at the same place, three times");
    for trial in trials(&report) {
        assert_eq!((text(&trial["outcome"]), text(&trial["cause"])), ("void", "hook.prepare"), "{trial:#}");
    }
    assert!(ran.stderr.contains("exited with 3: no room left"), "{}", ran.stderr);

    let ran = world.bystander(["run", "--json", "--new"]).args([hooked(&format!("setup = {failing}"))]).run().exits(4);
    assert!(ran.stderr.contains("setup failed") && ran.stderr.contains("no room left"), "{}", ran.stderr);
    assert!(trials(&ran.json()).is_empty());
    assert!(
        ran.stderr.contains("mend the command in the experiment file and run that with `--new`: nothing is lost by that"),
        "{}",
        ran.stderr
    );

    let ran = world.bystander(["run", "--json", "--new"]).args([hooked(&format!("conclude = {failing}"))]).run().exits(0);
    assert!(trials(&ran.json())[0]["outcome"] == "completed" && ran.stderr.contains("conclude failed"), "{}", ran.stderr);

    let strict = hooked(&format!("conclude = {failing}\nstrict = true"));
    let ran = world.bystander(["run", "--json", "--new"]).args([strict]).run().exits(2);
    assert_eq!(text(&trials(&ran.json())[0]["cause"]), "hook.conclude");

    let slow = hooked("prepare = ['sleep', '1000']\ntimeout = '200ms'");
    let ran = world.bystander(["run", "--json", "--new"]).args([slow]).run().exits(2);
    assert!(ran.stderr.contains("was ended after its time limit of 0.2 s"), "{}", ran.stderr);
    assert_nothing_left(&world);
}

#[test]
fn an_aa_run_of_a_file_is_a_run_of_its_own_and_finds_nothing_where_nothing_is() {
    let world = world();
    let more = "factors.a = { x = { args = ['x'] }, y = { args = ['y'] } }\nmetrics.n = { log = 'n=(\\d+)', scale = 'difference' }\n\
        plan = { baseline = { a = 'x' }, blocks = 4 }";
    let file = experiment(&world, "echo n=5", more);
    let shown = world.bystander(["run", "--aa", "--dry-run"]).args([&file]).run().exits(0);
    assert!(
        shown.stdout.contains("the same cell under two labels") && shown.stdout.contains("x/A/none (the baseline)  x/A'/none"),
        "{}",
        shown.stdout
    );
    let first = world.bystander(["run", "--aa", "--json"]).args([&file]).run();
    let report = first.json();
    let aa = &report["aa"];
    assert_eq!((trials(&report).len(), aa["tests"].as_u64() >= Some(2)), (8, true), "{report:#}");
    let wrong: Vec<&str> = aa["differing"].as_array().expect("a list").iter().map(text).collect();
    assert!(!wrong.contains(&"outcome") && !wrong.contains(&"n"), "{aa:#}");
    assert_eq!(first.code, Some(if aa["beyond_chance"] == true { 2 } else { 0 }));
    // The run of the file itself is another one.
    let own = run(&world, &file).run().json();
    assert_ne!(own["run"], report["run"]);
    assert!(own["aa"].is_null() && trials(&own)[0]["levels"]["copy"].is_null());
    assert_nothing_left(&world);
}

#[test]
fn an_aa_run_that_was_stopped_is_not_taken_up_by_a_run_of_the_file_nor_the_other_way_round() {
    let world = world();
    let script = r#"touch "$D/here"; while [ ! -e "$D/go" ]; do sleep 0.02; done"#;
    let more = "program.env = { D = '{folder}' }\nfactors.a = { x = {}, y = { env = { A = '1' } } }\nplan = { baseline = { a = 'x' }, blocks = 4 }";
    let file = experiment(&world, script, more);
    let mut stopped = Vec::new();
    for words in [&["run", "--json"][..], &["run", "--json", "--aa"]] {
        let mut running = world.bystander(words.iter().copied()).args([&file]).start();
        until("it runs", LIMIT, || world.path("here").exists());
        running.signal(Signal::INT);
        stopped.push(text(&running.wait().exits(130).json()["run"]).to_owned());
        fs::remove_file(world.path("here")).expect("removed");
    }
    fs::write(world.path("go"), "").expect("written");
    let own = run(&world, &file).run().json();
    let aa = world.bystander(["run", "--json", "--aa"]).args([&file]).run().json();
    assert_eq!([text(&own["run"]), text(&aa["run"])], [stopped[0].as_str(), stopped[1].as_str()]);
    assert_ne!(stopped[0], stopped[1]);
    assert_nothing_left(&world);
}
