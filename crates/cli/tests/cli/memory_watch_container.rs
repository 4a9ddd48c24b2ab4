//! Memory watched in a process namespace of its own, as in a container: the driver tells numbers of the machine, which say nothing there by themselves.

use std::fs;

use bystander_testkit::{LIMIT, Nvml, Running, StubGpu, World, until};
use serde_json::Value;

use crate::disk::unshare;
use crate::memory_watch::{nvml, sampled, with};
use crate::world::{assert_nothing_left, text, world};

/// Shows the machine's `/proc` at another place, and goes on in a process namespace with one of its own.
const CONTAINER: &str = "mount --rbind /proc \"$AT\" && exec unshare --pid --fork --mount-proc \"$@\"";
/// A program that waits until it may end.
const PROGRAM: &str = "echo up; until test -e go; do sleep 0.01; done";

/// Starts to watch a program in a container that sees the machine's `/proc`, or knows nothing of it.
fn start(world: &World, nvml: &Nvml, names_it: bool) -> Option<Running> {
    let (unshare, namespace) = unshare()?;
    let at = world.path("machine");
    fs::create_dir_all(&at).expect("a folder");
    let command = world.path("").join("command");
    if !command.exists() {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_bystander"), &command).expect("a link");
    }
    let command = command.display().to_string();
    let run =
        world.run(&unshare).args(namespace).args(["sh", "-c", CONTAINER, "sh", &command, "memory", "watch", "--json", "--interval", "5ms"]);
    let run = run.args(["--", "sh", "-c", PROGRAM, "sh", &mark(world)]).env("AT", &at);
    let run = if names_it { run.env("HOST_PROC", &at) } else { run };
    Some(with(nvml, run).start())
}

/// What tells the program of this world from all others.
fn mark(world: &World) -> String {
    world.path("").display().to_string()
}

/// The number of the program outside.
fn pid(world: &World) -> u32 {
    let wanted = format!("sh\0-c\0{PROGRAM}\0sh\0{}\0", mark(world));
    let mut found = None;
    until("the program to run", LIMIT, || {
        let all = fs::read_dir("/proc").expect("a folder").flatten();
        let mut pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        found = pids.find(|pid| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == wanted.as_bytes()));
        found.is_some()
    });
    found.expect("was waited for")
}

/// Watches a program that holds memory and a stranger that held some before; gives both as they are told, and how they were told apart.
fn watched(names_it: bool) -> Option<(Value, Value, String, u32)> {
    let world = world();
    let nvml = nvml(&[StubGpu::holding(700).by(4_000_000, 600)])?;
    let running = start(&world, &nvml, names_it)?;
    let pid = pid(&world);
    nvml.show(&[StubGpu::holding(9000).by(4_000_000, 600).by(pid, 8000)]);
    sampled(&nvml, 1);
    world.write("go", "");
    let seen = running.wait().exits(0).json();
    let processes = seen["samples"]["gpus"][0]["processes"].as_array().expect("a list");
    let by =
        |pid: u32| processes.iter().find(|process| process["pid"] == pid).unwrap_or_else(|| panic!("{pid} is missing in {seen:#}")).clone();
    assert!(seen["samples"]["peak_rss_bytes"].as_u64() > Some(0), "{seen:#}");
    assert_nothing_left(&world);
    Some((by(pid), by(4_000_000), text(&seen["told_by"]).to_owned(), pid))
}

#[test]
fn the_machines_own_proc_says_which_process_it_is() {
    let Some((ours, other, told, pid)) = watched(true) else { return };
    assert_eq!((&ours["known_by"], ours["peak_bytes"].as_u64()), (&"ns_pid".into(), Some(8000 << 20)), "{ours:#}");
    assert!(ours["pid_here"].as_u64().is_some_and(|here| here != u64::from(pid)) && text(&ours["title"]).starts_with("sh -c"), "{ours:#}");
    assert!(other["known_by"] == "other" && other["title"].is_null(), "{other:#}");
    assert!(told.contains("by NSpid"), "{told}");
}

#[test]
fn without_it_a_process_that_came_meanwhile_is_taken_for_one_watched_and_that_is_said() {
    let Some((ours, other, told, _)) = watched(false) else { return };
    assert_eq!((&ours["known_by"], ours["peak_bytes"].as_u64()), (&"appearance".into(), Some(8000 << 20)), "{ours:#}");
    assert!(ours["title"].is_null() && ours["pid_here"].is_null(), "{ours:#}");
    assert_eq!(other["known_by"], "other");
    assert!(told.contains("came while this was watched"), "{told}");
}
