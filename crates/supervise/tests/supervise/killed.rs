//! Nothing is left when the near side, the keeper or both are killed.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bystander_supervise::{Trial, TrialEvent, remove_leftovers, sweep};

use crate::bench::{LIMIT, Told, World, carrying, marked, pids, until, wait_for};
use crate::tree::RESPAWNING;

/// What may pass until nothing is left.
const PROMISED: Duration = Duration::from_secs(2);

/// The variable that tells a near side of these tests, and the keeper that inherits it.
const NEAR: &str = "SUPERVISE_TEST_NEAR";

/// A near side in a process of its own, with its trial.
struct Near {
    world: World,
    process: Child,
}

impl Near {
    fn start(program: &[&str]) -> Self {
        let world = World::new();
        fs::create_dir(world.path("ring")).expect("creates");
        fs::write(world.path("ring").join("1"), "x").expect("writes");
        let process = Command::new(env!("CARGO_BIN_EXE_bystander-keeper"))
            .arg("near")
            .args([world.directory.path(), world.marker.as_ref(), &world.path("ring")])
            .args(program)
            .env(NEAR, &world.marker)
            .stdin(Stdio::null())
            .spawn()
            .expect("starts");
        let near = Self { world, process };
        until("the program is up", LIMIT, || fs::read(near.world.path("stdout")).is_ok_and(|text| text.starts_with(b"up")));
        near
    }

    fn keeper(&self) -> u32 {
        let near = self.process.id();
        let is_keeper = |pid: &u32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit(')').next().is_some_and(|rest| rest.split_ascii_whitespace().nth(1) == Some(near.to_string().as_str()))
        };
        pids().into_iter().find(is_keeper).expect("has a keeper")
    }

    fn kill(&mut self) {
        self.process.kill().expect("kills");
        self.process.wait().expect("reaps");
    }

    fn is_clear(&self) -> bool {
        // The keeper inherits the variable of its near side and not the marker.
        marked(&self.world.marker).is_empty() && carrying(NEAR, &self.world.marker).is_empty() && !self.world.path("ring").exists()
    }
}

impl Drop for Near {
    fn drop(&mut self) {
        // Only after a failed assertion is anything left here.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = sweep(|marker| marker == self.world.marker);
    }
}

fn kill(pid: u32) {
    assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().expect("runs").success());
}

#[test]
fn the_tree_and_the_ring_are_gone_soon_after_the_near_side_is_killed() {
    for _ in 0..5 {
        let mut near = Near::start(&["python3", "-c", RESPAWNING]);
        until("some processes", LIMIT, || marked(&near.world.marker).len() > 30);
        near.kill();
        until("everything is gone", PROMISED, || near.is_clear());
    }
}

#[test]
fn a_near_side_that_is_killed_while_it_starts_leaves_nothing() {
    for step in 0..20 {
        let world = World::new();
        let mut process = Command::new(env!("CARGO_BIN_EXE_bystander-keeper"))
            .arg("near")
            .args([world.directory.path(), world.marker.as_ref(), &world.path("ring")])
            .args(["sleep", "600"])
            .env(NEAR, &world.marker)
            .spawn()
            .expect("starts");
        // Spread over the few milliseconds that a start takes.
        let moment = std::time::Instant::now() + Duration::from_micros(250 * step);
        while std::time::Instant::now() < moment {
            std::hint::spin_loop();
        }
        process.kill().expect("kills");
        process.wait().expect("reaps");
        until("no keeper and no program", PROMISED, || world.marked().is_empty() && carrying(NEAR, &world.marker).is_empty());
    }
}

#[test]
fn a_lost_keeper_is_told_and_its_orphans_are_gone() {
    let world = World::new();
    let ring = world.path("ring");
    fs::create_dir(&ring).expect("creates");
    let mut spec = world.spec(&["sh", "-c", "setsid sh -c 'sleep 600 & sleep 600' & env -i setsid sleep 600 & sleep 1000 & echo up; wait"]);
    spec.command.remove_on_exit = vec![ring.clone()];
    let mut trial = Trial::start(spec).expect("starts");
    let mut events = Vec::new();
    wait_for(&mut trial, &mut events, |event| matches!(event, TrialEvent::Line(_)));
    until("all have started", LIMIT, || trial.processes().iter().filter(|process| process.comm == "sleep").count() == 4);
    let activity = trial.activity(Duration::ZERO);
    assert!(activity.last_stdout.is_some());
    let processes = trial.processes();
    let keeper = processes[0].ppid;
    kill(keeper);
    wait_for(&mut trial, &mut events, |event| matches!(event, TrialEvent::KeeperLost(lost) if lost.cleared));
    for process in &processes {
        assert!(
            bystander_supervise::tree::process(process.pid).is_none_or(|now| now.start_time != process.start_time),
            "{process:?} is left"
        );
    }
    let told = Told::finish(&mut trial, Duration::from_secs(1), events);
    assert!(told.finished.keeper_lost.is_some() && told.finished.tree.is_none());
    trial.close();
    assert!(!ring.exists());
}

#[test]
fn children_of_others_survive_the_loss_of_a_keeper() {
    let mut other = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().expect("starts");
    let world = World::new();
    let mut trial = world.start(&["sleep", "600"]);
    kill(trial.processes()[0].ppid);
    wait_for(&mut trial, &mut Vec::new(), |event| matches!(event, TrialEvent::KeeperLost(_)));
    assert!(matches!(other.try_wait(), Ok(None)));
    other.kill().expect("kills");
    other.wait().expect("reaps");
}

#[test]
fn the_next_start_sweeps_what_a_killed_near_side_and_keeper_left() {
    let mut near = Near::start(&["sh", "-c", "setsid sh -c 'sleep 600 & sleep 600' & sleep 600 & echo up; wait"]);
    let keeper = near.keeper();
    let is_sleep = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "sleep\n");
    until("all sleep", LIMIT, || marked(&near.world.marker).iter().filter(|pid| is_sleep(pid)).count() == 3);
    // Stopped, it cannot notice; that is as good as killed at the same instant.
    assert!(Command::new("kill").args(["-STOP", &keeper.to_string()]).status().expect("runs").success());
    near.kill();
    kill(keeper);
    let left = marked(&near.world.marker);
    assert!(left.len() >= 3, "{left:?}");

    let marker = near.world.marker.clone();
    let spared = sweep(|other| other.starts_with("no-such-run"));
    assert!(spared.killed.is_empty() && spared.left.is_empty(), "{spared:?}");
    let swept = sweep(|other| other == marker);
    assert!(swept.killed.len() >= 3 && swept.left.is_empty(), "{swept:?}");
    assert_eq!(near.world.marked(), Vec::<u32>::new());

    let removed = remove_leftovers(near.world.directory.path(), "ri", |name| name == "ng").expect("removes");
    assert_eq!(removed, [near.world.path("ring")]);
    assert!(near.is_clear());
}
