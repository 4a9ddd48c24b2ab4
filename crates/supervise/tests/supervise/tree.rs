//! The whole tree goes, whatever its processes did to stay.

use std::time::Duration;

use bystander_supervise::{ExitStatus, ProcessInfo, Trial, TrialEvent};

use crate::bench::{LIMIT, Told, World, until, wait_for};

/// Eight processes that detach, ignore SIGTERM and start new ones all the time.
pub(crate) const RESPAWNING: &str = r"
import os, signal, time
for i in range(8):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            for round in range(40):
                if os.fork() == 0:
                    if round % 2:
                        os.setsid()
                    time.sleep(600)
                    os._exit(0)
                time.sleep(0.01)
            time.sleep(600)
        os._exit(0)
print('up', flush=True)
time.sleep(600)
";

#[test]
fn detached_and_respawning_processes_are_cleared_quickly() {
    let world = World::new();
    let mut trial = world.start(&["python3", "-c", RESPAWNING]);
    until("a hundred processes", LIMIT, || {
        while trial.next(Duration::ZERO).is_some() {}
        trial.processes().len() > 100
    });
    let asked = std::time::Instant::now();
    let told = Told::finish(&mut trial, Duration::ZERO, Vec::new());
    assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
    assert!(told.finished.tree.is_some_and(|tree| tree.kills > 0), "{:?}", told.finished.tree);
    assert_eq!(world.marked(), Vec::<u32>::new());
    assert!(told.finished.processes.len() > 8, "{}", told.finished.processes.len());
}

#[test]
fn a_runaway_chain_of_forks_is_caught() {
    // Each process starts the next one and ends: whoever is listed is gone before it is signalled.
    let chain = "import os,time\nprint('up', flush=True)\nwhile True:\n    if os.fork(): os._exit(0)\n";
    let world = World::new();
    let mut trial = world.start(&["python3", "-c", chain]);
    let mut events = Vec::new();
    wait_for(&mut trial, &mut events, |event| matches!(event, TrialEvent::Line(_)));
    let asked = std::time::Instant::now();
    let told = Told::finish(&mut trial, Duration::ZERO, events);
    assert!(told.finished.tree.is_some() && asked.elapsed() < Duration::from_secs(2), "{:?} {:?}", told.finished, asked.elapsed());
    assert_eq!(world.marked(), Vec::<u32>::new());
}

#[test]
fn what_a_program_leaves_behind_is_told_and_goes_with_the_trial() {
    let world = World::new();
    let mut trial = world.start(&["sh", "-c", "setsid sleep 600 & echo left; exit 0"]);
    let mut events = Vec::new();
    wait_for(&mut trial, &mut events, |event| matches!(event, TrialEvent::Exited(_)));
    until("the leftover shows", LIMIT, || trial.processes().iter().any(|process| process.comm == "sleep"));
    let leftover = trial.processes().remove(0);
    assert!(trial.contains(leftover.pid) && !trial.contains(std::process::id()));
    assert_eq!(leftover.title(), "sleep 600");
    let told = Told::finish(&mut trial, Duration::from_secs(30), events);
    assert_eq!((told.status(), told.finished.tree.map(|tree| tree.kills)), (ExitStatus::Code(0), Some(0)), "SIGTERM was enough");
    assert_eq!(world.marked(), Vec::<u32>::new());
}

#[test]
fn a_trial_that_is_dropped_takes_its_tree_and_its_files_with_it() {
    let world = World::new();
    let ring = world.path("ring");
    std::fs::create_dir(&ring).expect("creates");
    std::fs::write(ring.join("1"), "x").expect("writes");
    let mut spec = world.spec(&["sh", "-c", "setsid sleep 600 & sleep 600"]);
    spec.command.remove_on_exit = vec![ring.clone(), world.path("never-made")];
    let trial = Trial::start(spec).expect("starts");
    assert!(ring.exists());
    let keeper_and_program: Vec<u32> = trial.processes().iter().map(|process| process.pid).collect();
    assert!(!keeper_and_program.is_empty());
    drop(trial);
    assert_eq!(world.marked(), Vec::<u32>::new());
    assert!(!ring.exists() && world.directory.path().exists());
}

#[test]
fn a_stopped_process_can_still_be_asked_to_end() {
    let world = World::new();
    let mut trial = world.start(&["sh", "-c", "trap 'echo bye; exit 4' TERM; echo up; kill -STOP $$; sleep 600"]);
    let mut events = Vec::new();
    wait_for(&mut trial, &mut events, |event| matches!(event, TrialEvent::Line(_)));
    let program = trial.pid();
    until("it has stopped", LIMIT, || std::fs::read_to_string(format!("/proc/{program}/stat")).is_ok_and(|stat| stat.contains(") T ")));
    let told = Told::finish(&mut trial, Duration::from_secs(30), events);
    assert_eq!(told.status(), ExitStatus::Code(4));
}

#[test]
fn processes_are_seen_with_their_titles() {
    let world = World::new();
    let mut trial = world.start(&["sh", "-c", "python3 -c 'import time; print(1,flush=True); time.sleep(600)' rank-0 & wait"]);
    let mut events = Vec::new();
    wait_for(&mut trial, &mut events, |event| matches!(event, TrialEvent::Line(_)));
    let activity = trial.activity(Duration::from_secs(60));
    assert_eq!(activity.last_stdout.map(|line| line.text), Some(b"1".to_vec()));
    assert!(activity.output_bytes == 2 && activity.last_output.is_some() && activity.cpu > Duration::ZERO, "{:?}", activity.cpu);
    let told = Told::finish(&mut trial, Duration::ZERO, events);
    // A wrapper such as a version manager may have had the same arguments before it.
    let is_python = |process: &&ProcessInfo| process.exe.as_ref().is_some_and(|exe| exe.to_string_lossy().contains("python3"));
    let rank = told.finished.processes.iter().find(is_python).expect("was seen");
    assert!(rank.title().ends_with("rank-0"), "{rank:?}");
    assert!(told.finished.peak_rss_bytes > 1 << 20);
}
