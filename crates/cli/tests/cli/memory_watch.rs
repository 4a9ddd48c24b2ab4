//! Memory watched over time: of a command, of a process, of all GPUs; with a stand-in for the driver's library whose answers change, and without any.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use bystander_testkit::{LIMIT, Mark, Nvml, Run, Running, StubGpu, World, python, skip, until};
use rustix::process::Signal;
use serde_json::Value;

use crate::contaminated::{Ended, experiment};
use crate::world::{assert_nothing_left, run, text, trials, world};

/// The stand-in with some GPUs; `None` where there is no compiler, which is told.
pub(crate) fn nvml(gpus: &[StubGpu]) -> Option<Nvml> {
    let Some(nvml) = Nvml::build() else {
        skip("there is no C compiler", Mark::Machine);
        return None;
    };
    nvml.show(gpus);
    Some(nvml)
}

/// A run that finds the stand-in.
pub(crate) fn with(nvml: &Nvml, run: Run) -> Run {
    nvml.environment().iter().fold(run, |run, (name, value)| run.env(name, value))
}

/// A run that finds no driver, whatever the machine has.
fn without(run: Run) -> Run {
    let nowhere = std::env::temp_dir();
    run.env("LD_LIBRARY_PATH", nowhere).env("COLUMNS", "80")
}

fn watch(world: &World, arguments: &[&str]) -> Run {
    world.bystander(["memory", "watch"]).args(arguments).cwd(&world.path(""))
}

/// A page without its line ends.
fn folded(page: &str) -> String {
    page.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn somebody() -> Ended {
    Ended(Command::new("sleep").args(["6000"]).stdin(Stdio::null()).spawn().expect("runs"))
}

/// Waits until every GPU was asked about twice after this moment: what is shown now is in a sample then.
pub(crate) fn sampled(nvml: &Nvml, gpus: u64) {
    let asked = || fs::metadata(nvml.script().with_extension("asked")).map_or(0, |file| file.len());
    let from = asked();
    until("samples of what is held now", LIMIT, || asked() >= from + 3 * gpus);
}

/// A program that says a line, then waits until it may go on.
const STEPS: &str = "echo $$ > pid; for step in \"$@\"; do echo \"$step\"; n=$((n+1)); until test -e go$n; do sleep 0.01; done; done";

/// The number of the program, once it has written it.
fn pid(world: &World) -> u32 {
    let read = || fs::read_to_string(world.path("pid")).ok()?.trim().parse().ok();
    let mut pid = None;
    until("the program to tell its number", LIMIT, || {
        pid = read();
        pid.is_some()
    });
    pid.expect("was waited for")
}

/// Shows what is held while the program stands at a step, has it sampled, and lets the program go on.
fn at_step(world: &World, running: &Running, nvml: &Nvml, step: (usize, &str), gpus: &[StubGpu]) {
    until("the line of the step", LIMIT, || running.stderr().contains(step.1));
    nvml.show(gpus);
    sampled(nvml, gpus.len() as u64);
    world.write(&format!("go{}", step.0), "");
}

const LOADS: &str = "[2026-11-29 13:31:42 TP0] Load weight begin. avail mem=79.00 GB";
const SIZES: &str = "[2026-11-29 13:31:50 TP0] Load weight end. type=X, avail mem=60.00 GB, mem usage=19.00 GB.";
const CAPTURES: &str = "[2026-11-29 13:31:54 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=8.00 GB";
const SERVES: &str = "[2026-11-29 13:32:00] The server is fired up and ready to roll!";

/// A command is watched through a start of SGLang on two GPUs; gives the run when it is over.
fn start_of_a_server(world: &World, nvml: &Nvml, options: &[&str]) -> Running {
    let mut arguments = options.to_vec();
    arguments.extend(["--interval", "5ms", "--", "sh", "-c", STEPS, "sh", LOADS, SIZES, CAPTURES, SERVES]);
    let running = with(nvml, watch(world, &arguments)).env("COLUMNS", "80").start();
    let pid = pid(world);
    let held = |mib: u64, stray: u64| {
        [
            StubGpu::holding(100 + mib).by(pid, mib),
            if stray == 0 { StubGpu::holding(50) } else { StubGpu::holding(50 + stray).by(pid, stray) },
        ]
    };
    at_step(world, &running, nvml, (1, LOADS), &held(20 << 10, 0));
    at_step(world, &running, nvml, (2, SIZES), &held(70 << 10, 480));
    at_step(world, &running, nvml, (3, CAPTURES), &held(72 << 10, 480));
    at_step(world, &running, nvml, (4, SERVES), &held(71 << 10, 480));
    running
}

fn two_idle() -> [StubGpu; 2] {
    [StubGpu::holding(100), StubGpu::holding(50)]
}

#[test]
fn a_start_of_a_server_is_one_timeline_of_gpus_processes_host_and_phases() {
    let world = world();
    let Some(nvml) = nvml(&two_idle()) else { return };
    let seen = start_of_a_server(&world, &nvml, &["--json", "--output", "samples.jsonl"]).wait().exits(0).json();
    assert_eq!(
        (&seen["what"]["kind"], &seen["ending"], &seen["exit"]),
        (&"command".into(), &"command_ended".into(), &0.into()),
        "{seen:#}"
    );
    assert!(seen["driver"] == "999.10.01" && seen["no_gpus"].is_null(), "{seen:#}");
    let samples = &seen["samples"];
    let phases: Vec<&str> = samples["phases"].as_array().expect("phases").iter().map(|phase| text(&phase["name"])).collect();
    assert_eq!(phases, ["starting", "weight_load", "pool_sizing", "graph_capture", "serving"]);
    let from: Vec<&str> = samples["phases"].as_array().expect("phases")[1..].iter().map(|phase| text(&phase["from"])).collect();
    assert_eq!(from, ["stdout:1", "stdout:2", "stdout:3", "stdout:4"]);
    let held = |phase: usize| samples["phases"][phase]["gpus"][0]["bytes"].as_u64().map(|bytes| bytes >> 20);
    assert_eq!([1, 2, 3].map(held), [Some((20 << 10) + 100), Some((70 << 10) + 100), Some((72 << 10) + 100)]);
    // Of the first moment there may be no sample.
    assert!(
        samples["phases"].as_array().expect("phases")[1..].iter().all(|phase| phase["peak_rss_bytes"].as_u64() > Some(0)),
        "{samples:#}"
    );
    let gpu = &samples["gpus"][0];
    assert_eq!((&gpu["before_bytes"], &gpu["peak_at"]["phase"]), (&(100 << 20).into(), &"graph_capture".into()), "{gpu:#}");
    let process = &gpu["processes"][0];
    let mib = |key: &str| process[key].as_u64().map(|bytes| bytes >> 20);
    assert_eq!((mib("peak_bytes"), mib("last_bytes"), &process["known_by"]), (Some(72 << 10), Some(71 << 10), &"tree".into()), "{gpu:#}");
    assert_eq!(process["peak_at"]["phase"], "graph_capture");
    assert!(text(&process["title"]).starts_with("sh -c"), "{process:#}");
    let stray = &samples["gpus"][1]["strays"][0];
    assert_eq!(
        (&stray["pid"], &stray["why"]["kind"], &stray["why"]["index"]),
        (&process["pid"], &"at_home_on".into(), &0.into()),
        "{samples:#}"
    );
    assert!(samples["least_available_bytes"].as_u64() > Some(0) && samples["peak_rss_bytes"].as_u64() > Some(0));
    assert_eq!(samples["marks"][0]["text"], "exit code 0");
    let lines = fs::read_to_string(world.path("samples.jsonl")).expect("a file");
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("is JSON")).collect();
    let on_gpu = lines.iter().filter(|line| line["gpu"] == 0).filter_map(|line| line["processes"][0]["bytes"].as_u64()).max();
    assert_eq!(on_gpu, Some(72 << 30), "every sample is in the file");
    assert!(
        lines.iter().any(|line| line["available_bytes"].as_u64() > Some(0) && line["processes"][0]["resident_bytes"].as_u64() > Some(0))
    );
    assert_nothing_left(&world);
}

#[test]
fn the_screen_says_the_peak_its_phase_and_what_is_stray_in_eighty_columns() {
    let world = world();
    let Some(nvml) = nvml(&two_idle()) else { return };
    let ran = start_of_a_server(&world, &nvml, &[]).wait().exits(0);
    let folded = folded(&ran.stdout);
    for said in [
        "ended with exit 0",
        "the fullest GPU, GPU 0, held at most 72.1 GiB of 80.0 GiB, at",
        "in graph capture",
        "stray contexts on GPU 1: 1 process more than ranks, with 480 MiB",
        "most of its memory is on GPU 0",
        "c pool sizing",
        "70.1 GiB",
        "Processes on GPUs are told by their numbers",
    ] {
        assert!(folded.contains(said), "{said:?} is missing in\n{}", ran.stdout);
    }
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ran.stdout);
    assert!(ran.stdout.contains('\u{2588}') && !ran.stdout.contains('\u{1b}'), "{}", ran.stdout);
    assert!(ran.stdout.lines().count() <= 50, "{}", ran.stdout);
    // The words of the command went to standard error, and nothing was drawn there.
    assert!(ran.stderr.contains(SERVES) && !ran.stderr.contains('\u{1b}') && !ran.stdout.contains("fired up"), "{}", ran.stderr);
}

#[test]
fn without_a_driver_the_memory_of_the_host_is_shown_and_that_is_said() {
    let world = world();
    if Path::new("/proc/driver/nvidia").exists() {
        return skip("there is an NVIDIA driver", Mark::Machine);
    }
    let Some(python) = python() else { return skip("there is no Python 3.8 or newer", Mark::Machine) };
    let program = "import os, time\nx = bytearray(64 << 20)\nfor at in range(0, len(x), 4096): x[at] = 1\nwhile not os.path.exists('go'): time.sleep(0.01)";
    let python = python.path.display().to_string();
    let running = without(watch(&world, &["--interval", "5ms", "--json", "--output", "x", "--", &python, "-c", program])).start();
    let largest = || {
        let lines = fs::read_to_string(world.path("x")).unwrap_or_default();
        let lines = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter_map(|line| line["processes"][0]["resident_bytes"].as_u64()).max()
    };
    until("its memory to be in the file while it goes on", LIMIT, || largest() > Some(64 << 20));
    world.write("go", "");
    let ran = running.wait().exits(0);
    let seen = ran.says(&["nothing can be told of GPUs here: there is no NVIDIA driver", "the memory of the host is watched"]).json();
    assert!(text(&seen["no_gpus"]).contains("no NVIDIA driver") && seen["told_by"].is_null(), "{seen:#}");
    assert!(seen["samples"]["gpus"].as_array().expect("a list").is_empty());
    assert!(seen["samples"]["peak_rss_bytes"].as_u64() > Some(64 << 20), "{seen:#}");
    assert!(
        seen["samples"]["processes"].as_array().expect("a list").iter().any(|process| process["peak_rss_bytes"].as_u64() > Some(64 << 20))
    );
    let ran = without(watch(&world, &["--for", "50ms"])).run().exits(0);
    let said = folded(&ran.stdout);
    assert!(said.contains("were left to the machine") && said.contains("there is no NVIDIA driver"), "{}", ran.stdout);
}

#[test]
fn a_process_that_ends_ends_the_watch_and_its_memory_is_told() {
    let world = world();
    let mut other = somebody();
    let pid = other.0.id();
    let Some(nvml) = nvml(&[StubGpu::holding(3000).by(pid, 2900).by(1, 40)]) else { return };
    let running = with(&nvml, watch(&world, &[&pid.to_string(), "--interval", "5ms", "--json"])).start();
    sampled(&nvml, 1);
    other.0.kill().and_then(|()| other.0.wait()).expect("ends");
    let seen = running.wait().exits(0).json();
    assert_eq!(
        (&seen["ending"], &seen["what"]["pid"], &seen["what"]["title"]),
        (&"process_ended".into(), &pid.into(), &"sleep 6000".into())
    );
    let processes = seen["samples"]["gpus"][0]["processes"].as_array().expect("a list");
    let by = |pid: u32| processes.iter().find(|process| process["pid"] == pid).map(|process| text(&process["known_by"]));
    assert_eq!((by(pid), by(1)), (Some("tree"), Some("other")), "{seen:#}");
    assert_eq!(seen["samples"]["processes"][0]["pid"], pid);
}

#[test]
fn all_gpus_are_watched_until_ctrl_c_and_what_the_driver_does_not_tell_is_no_zero() {
    let world = world();
    let other = somebody();
    let pid = other.0.id();
    let untold = StubGpu { processes: vec![(pid, None)], ..StubGpu::holding(9 << 10) };
    let Some(nvml) = nvml(&[untold, StubGpu::holding(0)]) else { return };
    let mut running = with(&nvml, watch(&world, &["--interval", "5ms", "--json", "--output", "x.csv"])).start();
    sampled(&nvml, 2);
    running.signal(Signal::INT);
    let seen = running.wait().exits(130).json();
    assert_eq!((&seen["what"]["kind"], &seen["ending"]), (&"machine".into(), &"interrupted".into()));
    let process = &seen["samples"]["gpus"][0]["processes"][0];
    assert!(process["peak_bytes"].is_null() && process["pid"] == pid && text(&process["title"]) == "sleep 6000", "{process:#}");
    let table = fs::read_to_string(world.path("x.csv")).expect("a file");
    assert!(table.starts_with("seconds,what,gpu,pid,bytes,title\n"), "{table}");
    assert!(table.contains(&format!(",gpu_process,0,{pid},,")) && table.contains(&format!(",gpu,0,,{},", 9_u64 << 30)), "{table}");
    let ran = with(&nvml, watch(&world, &["--interval", "5ms", "--for", "100ms"])).run().exits(0);
    let said = folded(&ran.stdout);
    assert!(said.contains("the driver does not tell") && said.contains("not told"), "{}", ran.stdout);
}

#[test]
fn a_gpu_that_falls_silent_is_told_with_the_time() {
    let world = world();
    let Some(nvml) = nvml(&two_idle()) else { return };
    let mut running = with(&nvml, watch(&world, &["--interval", "5ms", "--json"])).start();
    sampled(&nvml, 2);
    nvml.show(&[StubGpu::holding(100), StubGpu { silent: true, ..StubGpu::holding(50) }]);
    sampled(&nvml, 1);
    running.signal(Signal::INT);
    let seen = running.wait().exits(130).json();
    let gpus = &seen["samples"]["gpus"];
    assert!(gpus[0]["silent_from_s"].is_null() && gpus[1]["silent_from_s"].as_f64() > Some(0.0), "{gpus:#}");
    assert!(gpus[1]["after_bytes"].is_null() && gpus[0]["after_bytes"] == 100 << 20, "{gpus:#}");
    // One that is silent from the start is named, and the others are watched.
    nvml.show(&[StubGpu { slices: vec!["1g.10gb", "3g.40gb"], ..StubGpu::holding(100) }, StubGpu { silent: true, ..StubGpu::holding(50) }]);
    let ran = with(&nvml, watch(&world, &["--for", "100ms"])).run().exits(0);
    let said = folded(&ran.stdout);
    assert!(said.contains("GPU 0 is divided into slices by MIG (Stand-in MIG 1g.10gb, Stand-in MIG 3g.40gb)"), "{}", ran.stdout);
    assert!(ran.stdout.contains("GPU 1 does not answer") && ran.stdout.contains("GPU 0"), "{}", ran.stdout);
}

#[test]
fn the_end_of_a_command_is_its_own() {
    let world = world();
    let seen = without(watch(&world, &["--json", "--", "sh", "-c", "exit 3"])).run().exits(1).json();
    assert_eq!((&seen["ending"], &seen["exit"]), (&"command_ended".into(), &3.into()));
    let seen = without(watch(&world, &["--json", "--", "sh", "-c", "kill -KILL $$"])).run().exits(1).json();
    assert_eq!((&seen["exit"], &seen["signal"]), (&Value::Null, &9.into()));
    // Ctrl-C reaches the command as it is, and how it ends then is its own affair.
    let traps = "trap 'exit 7' INT; echo up; while true; do sleep 0.01; done";
    let mut running = without(watch(&world, &["--json", "--", "sh", "-c", traps])).start();
    until("the command to be up", LIMIT, || running.stderr().contains("up"));
    running.signal(Signal::INT);
    let seen = running.wait().exits(130).json();
    assert_eq!((&seen["ending"], &seen["exit"]), (&"interrupted".into(), &7.into()), "{seen:#}");
    let names: Vec<&str> = seen["samples"]["phases"].as_array().expect("phases").iter().map(|phase| text(&phase["name"])).collect();
    assert_eq!(names, ["starting", "stopping"]);
    // What is asked to be watched for a time is ended after it, with what it has started.
    let seen = without(watch(&world, &["--json", "--for", "50ms", "--", "sh", "-c", "sleep 6000 & sleep 6000"])).run().exits(0).json();
    assert_eq!(seen["ending"], "time_over");
    assert_nothing_left(&world);
}

#[test]
fn what_cannot_be_watched_is_refused_before_anything_is_made() {
    let world = world();
    world.write("there", "mine");
    let gone = {
        let mut ended = somebody();
        ended.0.kill().and_then(|()| ended.0.wait()).expect("ends");
        ended.0.id().to_string()
    };
    for (arguments, said) in [
        (&[gone.as_str(), "--output", "new"][..], "there is no living process of this number"),
        (&["--output", "there", "--for", "1s"], "a file of this name is there; nothing was launched"),
        (&["--output", "new", "--", "no-such-program-here"], "failed to launch the command"),
        (&["--interval", "1ms"], "must be between 5ms and 1h"),
        (&["--for", "soon"], "a time is written such as"),
        (&["12", "--", "true"], "cannot be used with"),
        (&["0"], "invalid value"),
    ] {
        without(watch(&world, arguments)).run().exits(3).says(&[said]);
        assert!(!world.path("new").exists(), "{arguments:?}");
    }
    assert_eq!(fs::read_to_string(world.path("there")).expect("a file"), "mine");
}

#[test]
fn secrets_of_a_command_are_in_nothing_that_is_said() {
    let world = world();
    let secret = "hunter2-hunter2";
    let arguments =
        ["--json", "--output", "x", "--interval", "5ms", "--for", "300ms", "--", "sh", "-c", "sleep 6000", "sh", "--api-key", secret];
    let ran = without(watch(&world, &arguments)).run().exits(0);
    assert!(!ran.stdout.contains(secret) && !ran.stderr.contains(secret), "{}", ran.stdout);
    let lines = fs::read_to_string(world.path("x")).expect("a file");
    assert!(lines.contains("--api-key") && !lines.contains(secret), "{lines}");
}

#[test]
fn on_a_terminal_what_is_held_is_drawn_under_the_words_of_the_command() {
    let world = world();
    let Some(nvml) = nvml(&two_idle()) else { return };
    let script = "echo word; until test -e go; do sleep 0.01; done";
    let running = with(&nvml, watch(&world, &["--interval", "20ms", "--", "sh", "-c", script]))
        .without("COLUMNS")
        .env("TERM", "xterm")
        .start_on_terminal(80);
    until("the lines to be drawn", LIMIT, || {
        let drawn = running.drawn();
        drawn.contains("GPU 0") && drawn.contains("100 MiB of 80.0 GiB") && drawn.contains("host") && drawn.contains("word")
    });
    world.write("go", "");
    let (code, drawn) = running.wait();
    assert!(code == Some(0) && drawn.contains("ended with exit 0"), "{drawn}");
}

#[test]
fn the_timeline_of_a_trial_says_what_was_held_in_which_phase() {
    let world = world();
    let Some(nvml) = nvml(&[StubGpu::holding(100)]) else { return };
    // Each step waits until it was sampled: what is read of a line has the time at which it came.
    let script = nvml.script().display().to_string();
    let total = 80_u64 << 30;
    let hold = |mib: u64| {
        format!(
            "printf 'gpu {total} {0}\\nprocess 0 %d {0}\\n' $$ > {script}.next; mv {script}.next {script}; \
             from=$(wc -c < {script}.asked); until test $(wc -c < {script}.asked) -ge $((from + 3)); do sleep 0.01; done",
            mib << 20
        )
    };
    let said = |line: &str| format!("echo '{line}'; until grep -q '{}' {{trial}}/stdout; do sleep 0.01; done", &line[26..40]);
    let idle = format!("printf 'gpu {total} {}\\n' > {script}.next; mv {script}.next {script}", 100_u64 << 20);
    let program = [said(LOADS), hold(20 << 10), said(SIZES), hold(70 << 10), idle].join("; ");
    let file = world.write("case/case.toml", experiment(&program, "", ""));
    let report = with(&nvml, run(&world, &file)).run().exits(0).json();
    for trial in trials(&report) {
        let samples = &trial["samples"];
        let phases: Vec<(&str, Option<u64>)> = samples["phases"]
            .as_array()
            .expect("phases")
            .iter()
            .map(|phase| (text(&phase["name"]), phase["gpus"][0]["bytes"].as_u64().map(|bytes| bytes >> 30)))
            .collect();
        assert_eq!(phases[1..], [("weight_load", Some(20)), ("pool_sizing", Some(70))], "{samples:#}");
        assert_eq!((phases[0].0, &samples["gpus"][0]["peak_at"]["phase"]), ("starting", &"pool_sizing".into()), "{samples:#}");
        assert!(samples["gpus"][0]["series"].as_array().is_none_or(Vec::is_empty), "a report shows no series");
    }
    let why = world.bystander(["show", "--why"]).cwd(&world.path("case")).run().exits(0);
    let folded = folded(&why.stdout);
    assert!(folded.contains("memory by phase: starting from 0 s "), "{}", why.stdout);
    assert!(
        folded.contains("pool sizing from") && folded.contains("GPU 0 20.0 GiB; pool sizing") && folded.contains("GPU 0 70.0 GiB"),
        "{}",
        why.stdout
    );
}

/// On a machine with a GPU: its own driver is asked, and what it holds is told.
#[test]
fn a_real_gpu_is_watched() {
    if !Path::new("/proc/driver/nvidia/version").exists() {
        return skip("there is no NVIDIA driver", Mark::Gpu);
    }
    let world = world();
    let seen = watch(&world, &["--json", "--for", "1s"]).run().exits(0).json();
    assert!(seen["driver"].is_string() && seen["no_gpus"].is_null(), "{seen:#}");
    let gpu = &seen["samples"]["gpus"][0];
    assert!(gpu["total_bytes"].as_u64() > Some(1 << 30) && gpu["peak_bytes"].is_u64(), "{gpu:#}");
    assert!(seen["cost"]["gpu_samples"].as_u64() > Some(2), "{seen:#}");
}
