//! GPUs that somebody else uses, that are not given back, and that two runs want: with a stand-in for the driver's library.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use bystander_testkit::{LIMIT, Mark, Nvml, Run, StubGpu, World, skip, until};
use serde_json::Value;

use crate::contaminated::{Ended, experiment, invalid};
use crate::world::{assert_nothing_left, run, text, trials, world};

/// The stand-in with some GPUs; `None` where there is no compiler, which is told.
fn nvml(gpus: &[StubGpu]) -> Option<Nvml> {
    let Some(nvml) = Nvml::build() else {
        skip("there is no C compiler", Mark::Machine);
        return None;
    };
    nvml.show(gpus);
    Some(nvml)
}

/// A run that finds the stand-in.
fn with(nvml: &Nvml, run: Run) -> Run {
    nvml.environment().iter().fold(run, |run, (name, value)| run.env(name, value))
}

/// A process that could be anybody's.
fn somebody() -> Ended {
    Ended(Command::new("sleep").args(["6000"]).stdin(Stdio::null()).spawn().expect("runs"))
}

fn write(world: &World, script: &str, conditions: &str) -> std::path::PathBuf {
    world.write("case/case.toml", experiment(script, "", conditions))
}

fn all_completed(report: &Value) {
    assert_eq!(report["status"], "finished", "{report:#}");
    assert!(trials(report).iter().all(|trial| trial["outcome"] == "completed"), "{report:#}");
}

#[test]
fn memory_that_somebody_holds_voids_and_they_are_named() {
    let world = world();
    let other = somebody();
    let Some(nvml) = nvml(&[StubGpu::holding(0), StubGpu::holding(30 << 10).by(other.0.id(), 29 << 10)]) else { return };
    let file = write(&world, "touch launched", "settle = \"100ms\"");
    let ran = with(&nvml, run(&world, &file)).run().exits(2).says(&["waiting up to 100 ms: GPU 1"]);
    let why = invalid(&ran.json(), "gpu_memory_held");
    let pid = other.0.id();
    for said in
        ["GPU 1 (Stand-in 1) holds 30.0 GiB", "more than the 1.0 GiB", &format!("29.0 GiB by pid {pid} (sleep 6000)"), "`gpus = []`"]
    {
        assert!(why.contains(said), "{said:?} is missing in {why}");
    }
    assert!(!world.path("case/launched").exists());
    assert_nothing_left(&world);
}

#[test]
fn memory_that_no_visible_process_holds_is_a_reason_of_its_own() {
    let world = world();
    let Some(nvml) = nvml(&[StubGpu::holding(2 << 10)]) else { return };
    let file = write(&world, "exit 0", "settle = \"0s\"");
    let why = invalid(&with(&nvml, run(&world, &file)).run().exits(2).json(), "gpu_memory_held.unseen");
    assert!(why.contains("GPU 0 (Stand-in 0) holds 2.0 GiB") && why.contains("no process is visible on it"), "{why}");
    // What the driver reserves for itself is nobody's, and a limit can be set.
    nvml.show(&[StubGpu { reserved: 3 << 10, ..StubGpu::holding(2 << 10) }]);
    let file = write(&world, "exit 0", "gpu_memory = \"2GiB\"");
    all_completed(&with(&nvml, run(&world, &file)).run().exits(0).json());
}

#[test]
fn memory_that_is_given_back_in_time_voids_nothing() {
    let world = world();
    let other = somebody();
    let Some(nvml) = nvml(&[StubGpu::holding(30 << 10).by(other.0.id(), 30 << 10)]) else { return };
    let file = write(&world, "exit 0", "settle = \"1h\"");
    let running = with(&nvml, run(&world, &file)).start();
    until("the wait to be told", LIMIT, || running.stderr().contains("waiting up to 60 min"));
    nvml.show(&[StubGpu::holding(0)]);
    all_completed(&running.wait().exits(0).json());
}

#[test]
fn only_the_gpus_of_the_trial_are_looked_at() {
    let world = world();
    let Some(nvml) = nvml(&[StubGpu::holding(30 << 10), StubGpu::holding(0)]) else { return };
    let ends = |file: &Path| with(&nvml, run(&world, file)).run();
    let by_environment = |value: &str| {
        world.write("case/case.toml", experiment("exit 0", &format!("env = {{ CUDA_VISIBLE_DEVICES = \"{value}\" }}"), "settle = \"0s\""))
    };
    for value in ["1", "GPU-00000001", "", "-1"] {
        all_completed(&ends(&by_environment(value)).exits(0).json());
    }
    invalid(&ends(&by_environment("0,1")).exits(2).json(), "gpu_memory_held.unseen");
    for gpus in ["[1]", "[]", "[\"GPU-00000001-0000-0000-0000-000000000000\"]"] {
        all_completed(&ends(&write(&world, "exit 0", &format!("gpus = {gpus}"))).exits(0).json());
    }
    let missing = ends(&write(&world, "exit 0", "gpus = [0, 7]")).exits(3);
    missing.says(&["find GPU 7: this machine has GPU 0 to 1"]);
    // Without a driver nobody can have named a GPU in earnest.
    let file = write(&world, "exit 0", "gpus = [0]");
    run(&world, &file)
        .env("LD_LIBRARY_PATH", std::env::var("LD_LIBRARY_PATH").unwrap_or_default())
        .run()
        .exits(3)
        .says(&["there is no NVIDIA driver here"]);
}

#[test]
fn gpus_of_lanes_are_looked_for_before_anything_is_launched() {
    let world = world();
    let Some(nvml) = nvml(&[StubGpu::holding(0), StubGpu::holding(0)]) else { return };
    let lanes = |gpus: &str| {
        let lanes = format!("[factors.a]\nx = {{}}\ny = {{ args = [\"y\"] }}\n[plan]\nbaseline = {{ a = \"x\" }}\nparallel = {gpus}\n");
        world.write("case/case.toml", format!("[program]\ncommand = [\"true\"]\n{lanes}"))
    };
    let dry = |file: &Path| world.bystander(["run", "--dry-run"]).args([file]);
    let said = with(&nvml, dry(&lanes("[[0], [7]]"))).run().exits(3);
    said.says(&["failed to find GPU 7: this machine has GPU 0 to 1; `parallel` in [plan] names it"]);
    let there = with(&nvml, dry(&lanes("[[0], [1]]"))).run().exits(0);
    let without = with(&nvml, dry(&lanes("[[], []]"))).run().exits(0);
    for ran in [there, without] {
        assert!(!ran.stderr.contains("`parallel`"), "{}", ran.stderr);
    }
    if bystander_supervise::gpu::driver().is_err() {
        let unchecked = dry(&lanes("[[0], [7]]")).run().exits(0);
        unchecked.says(&["the GPUs of `parallel` in [plan] were not checked: there is no NVIDIA driver here"]);
    }
}

/// A program that takes GPU memory by changing the answers, waits until it was seen twice, and ends after `last`.
fn takes(nvml: &Nvml, mib: u64, last: &str) -> String {
    let script = nvml.script().display().to_string();
    let held = mib << 20;
    let total = 80_u64 << 30;
    format!(
        "printf 'gpu {total} {held}\\nprocess 0 %d {held}\\n' $$ > {script}.next; mv {script}.next {script}; \
         from=$(wc -c < {script}.asked); until test $(wc -c < {script}.asked) -ge $((from + 2)); do sleep 0.01; done; {last}"
    )
}

/// Sets the answers from within a program.
fn sets(nvml: &Nvml, mib: u64) -> String {
    let script = nvml.script().display().to_string();
    format!("printf 'gpu {} {}\\n' > {script}.next; mv {script}.next {script}", 80_u64 << 30, mib << 20)
}

#[test]
fn memory_that_somebody_takes_while_a_trial_runs_voids_it_and_they_are_named() {
    let world = world();
    let other = somebody();
    let Some(nvml) = nvml(&[StubGpu::holding(0)]) else { return };
    let (pid, script) = (other.0.id(), nvml.script().display().to_string());
    let (total, held) = (80_u64 << 30, 40_u64 << 30);
    let taken = format!("printf 'gpu {total} {held}\\nprocess 0 {pid} {held}\\n' > {script}.next; mv {script}.next {script}");
    let seen = format!("from=$(wc -c < {script}.asked); until test $(wc -c < {script}.asked) -ge $((from + 2)); do sleep 0.01; done");
    let file = write(&world, &format!("{taken}; {seen}; {}; exit 0", sets(&nvml, 0)), "settle = \"5s\"");
    let why = invalid(&with(&nvml, run(&world, &file)).run().exits(2).json(), "gpu_memory_held");
    for said in ["GPU 0 (Stand-in 0): while the trial ran, others took 40.0 GiB", &format!("40.0 GiB by pid {pid} (sleep 6000)")] {
        assert!(why.contains(said), "{said:?} is missing in {why}");
    }
    assert_nothing_left(&world);
}

#[test]
fn the_memory_of_a_trial_is_sampled_for_the_gpu_and_for_its_processes() {
    let world = world();
    let Some(nvml) = nvml(&[StubGpu::holding(100)]) else { return };
    let file = write(&world, &takes(&nvml, 20 << 10, &sets(&nvml, 100)), "");
    let report = with(&nvml, run(&world, &file)).run().exits(0).json();
    all_completed(&report);
    for trial in trials(&report) {
        let gpu = &trial["samples"]["gpus"][0];
        assert_eq!((&gpu["index"], &gpu["name"]), (&Value::from(0), &Value::from("Stand-in 0")), "{trial:#}");
        let mib = |key: &str| gpu[key].as_u64().map(|bytes| bytes >> 20);
        assert_eq!((mib("before_bytes"), mib("peak_bytes"), mib("after_bytes")), (Some(100), Some(20 << 10), Some(100)), "{gpu:#}");
        let process = &gpu["processes"][0];
        assert_eq!((&process["known_by"], process["peak_bytes"].as_u64()), (&Value::from("tree"), Some(20 << 30)), "{gpu:#}");
        assert!(text(&process["title"]).starts_with("sh -c"), "{process}");
    }
    let why = world.bystander(["show", "--why"]).cwd(&world.path("case")).run().exits(0);
    assert!(why.stdout.contains("GPU 0: at most 20.0 GiB held, 100 MiB before, 100 MiB after"), "{}", why.stdout);
}

#[test]
fn memory_that_is_not_given_back_voids_the_next_launch_and_not_the_one_that_had_it() {
    let world = world();
    let Some(nvml) = nvml(&[StubGpu::holding(0)]) else { return };
    // Below what others may hold: it is the change that counts.
    let file = write(&world, &takes(&nvml, 900, &sets(&nvml, 900)), "settle = \"300ms\"");
    let ran = with(&nvml, run(&world, &file)).run().exits(2);
    let report = ran.says(&["GPU 0 (Stand-in 0): 900 MiB were not given back"]).json();
    assert_eq!((&report["status"], trials(&report).len()), (&Value::from("invalid"), 4), "{report:#}");
    let first = &trials(&report)[0];
    assert_eq!(first["outcome"], "completed");
    assert!(first["evidence"].to_string().contains("900 MiB were not given back"), "{first:#}");
    assert!(trials(&report)[1..].iter().all(|trial| trial["cause"] == "memory_not_returned"), "{report:#}");
    let why = text(&report["why"]);
    assert!(why.contains("900 MiB that trial 1 of this run had are still held") && why.contains("no process is visible"), "{why}");
}

#[test]
fn memory_that_comes_back_late_is_waited_for() {
    let world = world();
    let Some(nvml) = nvml(&[StubGpu::holding(0)]) else { return };
    let file = write(&world, &takes(&nvml, 5000, &sets(&nvml, 5000)), "settle = \"1h\"");
    let mut running = with(&nvml, run(&world, &file)).start();
    // Whoever waits asks again and again; the driver gives the memory back when it has been asked for a while, and the run goes on.
    let asked = || fs::metadata(nvml.script().with_extension("asked")).map_or(0, |file| file.len());
    let mut seen = 0;
    until("the end of the run", LIMIT * 2, || {
        let still = fs::read_to_string(nvml.script())
            .is_ok_and(|answers| answers.contains(&(5000_u64 << 20).to_string()) && !answers.contains("process"));
        if still && asked() >= seen + 3 {
            nvml.show(&[StubGpu::holding(0)]);
        } else if !still {
            seen = asked();
        }
        running.has_ended()
    });
    let report = running.wait().exits(0).json();
    all_completed(&report);
    assert!(trials(&report).iter().all(|trial| trial["samples"]["gpus"][0]["after_bytes"] == 0), "{report:#}");
}

#[test]
fn a_process_that_the_driver_still_lists_is_waited_for_and_named() {
    let world = world();
    let Some(nvml) = nvml(&[StubGpu::holding(0)]) else { return };
    let script = nvml.script().display().to_string();
    // Its memory is back at once, and its number is not.
    let last = format!("printf 'gpu {} 0\\nprocess 0 %d 0\\n' $$ > {script}.next; mv {script}.next {script}", 80_u64 << 30);
    let file = write(&world, &takes(&nvml, 5000, &last), "settle = \"300ms\"");
    let ran = with(&nvml, run(&world, &file)).run().exits(0);
    let report = ran.says(&["GPU 0: the driver still listed process", "of this trial"]).json();
    all_completed(&report);
    assert!(trials(&report)[0]["evidence"].to_string().contains("the driver still listed process"), "{report:#}");

    let world = crate::world::world();
    nvml.show(&[StubGpu::holding(0)]);
    let file = write(&world, &takes(&nvml, 5000, &last), "settle = \"1h\"");
    let mut running = with(&nvml, run(&world, &file)).start();
    let asked = || fs::metadata(nvml.script().with_extension("asked")).map_or(0, |file| file.len());
    let (mut seen, mut waited) = (0, 0);
    until("the end of the run", LIMIT * 2, || {
        let lingers = fs::read_to_string(nvml.script())
            .is_ok_and(|answers| answers.starts_with(&format!("gpu {} 0", 80_u64 << 30)) && answers.contains("process"));
        if lingers && asked() >= seen + 3 {
            nvml.show(&[StubGpu::holding(0)]);
            waited += 1;
        } else if !lingers {
            seen = asked();
        }
        running.has_ended()
    });
    let report = running.wait().exits(0).json();
    all_completed(&report);
    assert_eq!(waited, trials(&report).len(), "every trial was waited for");
    assert!(!report.to_string().contains("still listed"), "{report:#}");
}

#[test]
fn what_others_take_meanwhile_is_not_what_a_trial_owes() {
    let world = world();
    let other = somebody();
    let Some(nvml) = nvml(&[StubGpu::holding(0)]) else { return };
    let script = nvml.script().display().to_string();
    let theirs = 700_u64 << 20;
    let last = format!(
        "printf 'gpu {} {theirs}\\nprocess 0 {} {theirs}\\n' > {script}.next; mv {script}.next {script}",
        80_u64 << 30,
        other.0.id()
    );
    let file = write(&world, &takes(&nvml, 5000, &last), "settle = \"0s\"");
    let report = with(&nvml, run(&world, &file)).run().exits(0).json();
    all_completed(&report);
}

#[test]
fn runs_that_want_the_same_gpu_take_turns_and_others_do_not_wait() {
    let world = world();
    let Some(nvml) = nvml(&[StubGpu::holding(0), StubGpu::holding(0)]) else { return };
    let case = |name: &str, script: &str, gpus: &str| {
        world.write(&format!("{name}/case.toml"), experiment(script, "timeout = \"10m\"", &format!("gpus = {gpus}")))
    };
    let first = case("first", "touch up; until test -e done; do sleep 0.01; done", "[0]");
    let second = case("second", "touch up", "[0, 1]");
    let third = case("third", "exit 0", "[1]");
    let holds = with(&nvml, run(&world, &first)).start();
    until("the first run to have the GPU", LIMIT, || world.path("first/up").exists());
    all_completed(&with(&nvml, run(&world, &third)).run().exits(0).json());
    let waits = with(&nvml, run(&world, &second)).start();
    until("the second run to wait", LIMIT, || waits.stderr().contains("waiting: another trial uses GPU-00000000-"));
    assert!(!world.path("second/up").exists(), "two runs on one GPU");
    world.write("first/done", "");
    all_completed(&holds.wait().exits(0).json());
    all_completed(&waits.wait().exits(0).json());
    assert_nothing_left(&world);
}

#[test]
fn a_gpu_that_does_not_answer_is_named_where_it_was_asked_for() {
    let world = world();
    let Some(nvml) = nvml(&[StubGpu::holding(0), StubGpu { silent: true, ..StubGpu::holding(0) }]) else { return };
    let file = write(&world, "exit 0", "gpus = [1]");
    with(&nvml, run(&world, &file)).run().exits(3).says(&["find GPU 1", "GPU 1 does not answer"]);
    let file = write(&world, "exit 0", "gpus = [0]");
    all_completed(&with(&nvml, run(&world, &file)).run().exits(0).json());
}

#[test]
fn the_doctor_shows_gpus_with_their_holders() {
    let world = world();
    let other = somebody();
    let lost = StubGpu { silent: true, ..StubGpu::holding(0) };
    let Some(nvml) = nvml(&[StubGpu::holding(30 << 10).by(other.0.id(), 29 << 10), StubGpu::holding(0), lost]) else { return };
    let of = |run: Run| {
        let found = run.run().json();
        let findings = found["findings"].as_array().expect("findings").clone();
        findings.into_iter().find(|finding| finding["name"] == "GPUs").expect("is there")
    };
    let finding = of(with(&nvml, world.bystander(["doctor", "--json"])));
    assert_eq!(finding["works"], true);
    let found = text(&finding["found"]);
    let pid = other.0.id();
    for said in [
        "GPU 0 (Stand-in 0, driver 999.10.01): 30.0 GiB of 80.0 GiB held: 29.0 GiB by pid",
        &format!("pid {pid} (sleep 6000)"),
        "GPU 1 (Stand-in 1, driver 999.10.01): nothing of 80.0 GiB held",
        "GPU 2 does not answer",
    ] {
        assert!(found.contains(said), "{said:?} is missing in {found}");
    }
    let without = of(world.bystander(["doctor", "--json"]));
    if !Path::new("/proc/driver/nvidia").exists() {
        assert!(without["works"] == false && text(&without["found"]).contains("no NVIDIA driver"), "{without}");
    }
}

/// On a machine with a GPU: the driver's own library is read, and a program that uses no GPU is not in its way.
#[test]
fn a_real_driver_is_read() {
    if !Path::new("/proc/driver/nvidia/version").exists() {
        return skip("there is no NVIDIA driver", Mark::Gpu);
    }
    let world = world();
    let found = world.bystander(["doctor", "--json"]).run().json();
    let findings = found["findings"].as_array().expect("findings");
    let finding = findings.iter().find(|finding| finding["name"] == "GPUs").expect("is there");
    assert!(finding["works"] == true && text(&finding["found"]).contains(" GiB held"), "{finding}");
    all_completed(&run(&world, &write(&world, "exit 0", "gpus = []")).run().exits(0).json());
}
