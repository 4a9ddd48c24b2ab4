//! What held once must go on holding: for as long as is asked, by a program that is alive.

use std::time::Duration;

use bystander_supervise::{HttpCheck, ReadySpec, Trial, TrialEvent, pick_free_port};

use crate::bench::{LIMIT, Told, World, is_ready, pattern, until, wait_for, wait_unready};

/// Says that it is ready, and ends once it is told to.
const DIES_WHEN_TOLD: &str = "echo up; while [ ! -e die ]; do sleep 0.01; done; exit 3";

#[test]
fn a_program_that_says_so_and_dies_was_never_ready() {
    let world = World::new();
    let spec = ReadySpec { logs: vec![pattern("up")], ..ReadySpec::default() };
    let mut trial = Trial::start(World::ready(world.spec(&["sh", "-c", "echo up; exit 3"]), spec)).expect("starts");
    let told = Told::of(&mut trial);
    assert!(!told.events.iter().any(is_ready), "{:?}", told.events);
    assert_eq!(told.status().code(), Some(3));
    let held = trial.held_ns().expect("it had said everything that was asked");
    let line = told.lines()[0].time_ns;
    assert_eq!(held, line);
    assert!(trial.unready().is_some_and(|why| why.contains("before it ended, and must go on holding for 0.25 s")), "{:?}", trial.unready());
}

#[test]
fn a_death_while_it_must_hold_is_seen_however_long_that_is() {
    let world = World::new();
    let spec = ReadySpec { logs: vec![pattern("up")], stable: Some(Duration::from_secs(600)), ..ReadySpec::default() };
    let mut trial = Trial::start(World::ready(world.spec(&["sh", "-c", DIES_WHEN_TOLD]), spec)).expect("starts");
    let mut events = Vec::new();
    let started = std::time::Instant::now();
    while trial.held_ns().is_none() {
        assert!(started.elapsed() < LIMIT);
        events.extend(trial.next(Duration::from_millis(5)));
    }
    world.write("die", "");
    wait_for(&mut trial, &mut events, |event| matches!(event, TrialEvent::Exited(_)));
    let told = Told::finish(&mut trial, Duration::ZERO, events);
    assert!(!told.events.iter().any(is_ready), "{:?}", told.events);
    assert!(trial.unready().is_some_and(|why| why.ends_with("must go on holding for 600 s")), "{:?}", trial.unready());
}

#[test]
fn what_lapses_while_it_must_hold_begins_anew() {
    let world = World::new();
    let port = pick_free_port().expect("a port");
    let http = vec![HttpCheck::any(format!("http://127.0.0.1:{port}/health"))];
    let spec = ReadySpec { http, stable: Some(Duration::from_secs(3)), ..ReadySpec::default() };
    let server = include_str!("servers/openai.py");
    let mut trial = Trial::start(World::ready(world.spec(&["python3", "-c", server, &port.to_string()]), spec)).expect("starts");
    let mut events = Vec::new();
    let started = std::time::Instant::now();
    while trial.held_ns().is_none() {
        assert!(started.elapsed() < LIMIT);
        events.extend(trial.next(Duration::from_millis(5)));
    }
    let first = trial.held_ns();
    world.write("mode", "ill");
    wait_unready(&mut trial, &mut events, "/health answered 503");
    world.write("mode", "ok");
    wait_for(&mut trial, &mut events, is_ready);
    let found = crate::bench::proof(&events);
    assert!(first.is_some_and(|first| found.time_ns > first), "it counts from when it held without a lapse");
    let held = found.levels.stable.expect("lasted").seconds_since(found.time_ns);
    assert!(held >= 3.0, "{held}");
}

#[test]
fn nothing_is_left_of_a_trial_that_ends_while_its_readiness_is_looked_at() {
    let world = World::new();
    let spec = ReadySpec { logs: vec![pattern("up")], notify: Some(world.path("notify")), ..ReadySpec::default() };
    let mut trial = Trial::start(World::ready(world.spec(&["sh", "-c", "exec sleep 600"]), spec)).expect("starts");
    assert!(world.path("notify").exists());
    let told = Told::finish(&mut trial, Duration::ZERO, Vec::new());
    trial.close();
    assert!(told.finished.exit.is_some());
    until("the socket is removed", LIMIT, || !world.path("notify").exists());
}
