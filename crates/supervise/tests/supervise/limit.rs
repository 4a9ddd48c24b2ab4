//! A time limit with an owner that is behind: what was written by then counts, what came after does not, and what nobody could see is not told.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use bystander_supervise::trial::AtLimit;
use bystander_supervise::{CommandCheck, OutputPaths, ReadySpec, Trial, TrialEvent, pick_free_port};

use crate::bench::{LIMIT, World, is_ready, keeper, pattern, proof, until};

/// Much more than a pipe holds, and then the word.
const FLOOD: &str = "head -c 3000000 /dev/zero | tr '\\0' 'x' | fold -w 99; echo; echo up; touch said; exec sleep 600";

/// Starts a program, and reads nothing of it until it has said all.
fn unread(world: &World, script: &str, spec: ReadySpec) -> Trial {
    let mut trial = Trial::start(World::ready(world.spec(&["sh", "-c", script]), spec)).expect("starts");
    until("it has said all", LIMIT, || world.path("said").exists());
    trial.in_blocks();
    trial
}

/// A line, and then a command that a shell runs.
fn with_command(world: &World, script: &str) -> ReadySpec {
    let command = CommandCheck {
        command: world.spec(&["sh", "-c", script]).command,
        keeper: keeper(),
        output: OutputPaths { stdout: world.path("asked.out"), stderr: world.path("asked.err") },
        hidden: Vec::new(),
        limit: LIMIT,
    };
    ReadySpec { logs: vec![pattern("^up$")], command: Some(command), ..ReadySpec::default() }
}

/// Reads on until something can be said of the limit.
fn to_the_limit(trial: &mut Trial) -> (AtLimit, Vec<TrialEvent>) {
    let (started, mut events, mut ready) = (Instant::now(), Vec::new(), false);
    loop {
        match trial.at_limit() {
            found if ready || found != AtLimit::Open => return (found, events),
            _ => assert!(started.elapsed() < LIMIT, "nothing is said: {:?}", trial.unready()),
        }
        if let Some(event) = trial.next(Duration::from_millis(5)) {
            ready |= is_ready(&event);
            events.push(event);
        }
    }
}

#[test]
fn a_line_that_was_written_before_the_limit_counts_whenever_it_is_read() {
    let world = World::new();
    let mut trial = unread(&world, FLOOD, ReadySpec { logs: vec![pattern("^up$")], ..ReadySpec::default() });
    assert!(trial.has_unread());
    let limit = trial.limit();
    assert_eq!(trial.at_limit(), AtLimit::Open);
    let (_, events) = to_the_limit(&mut trial);
    let found = proof(&events);
    assert!(found.time_ns <= limit && found.logs[0].time_ns <= limit, "{found:?}, limit {limit:?}");
    assert!(trial.limit() == limit && !trial.has_unread(), "a second call changes nothing");
}

#[test]
fn a_port_that_was_bound_all_the_time_is_not_dated_by_the_look_that_followed_the_line() {
    let world = World::new();
    let port = pick_free_port().expect("a port");
    world.write("server.py", "import os, socket, sys, time\ns = socket.create_server(('127.0.0.1', int(sys.argv[1])))\nprint('x' * 99, flush=True)\nopen('bound', 'w')\nwhile not os.path.exists('seen'): time.sleep(0.01)\nprint('up', flush=True)\nopen('said', 'w')\ntime.sleep(600)\n");
    let spec = ReadySpec { logs: vec![pattern("^up$")], port: Some(port), ..ReadySpec::default() };
    let mut trial = Trial::start(World::ready(world.spec(&["python3", "server.py", &port.to_string()]), spec)).expect("starts");
    let started = Instant::now();
    let bound = |trial: &Trial| trial.unready().is_some_and(|why| why == "no line has matched the `log` pattern");
    while !bound(&trial) {
        assert!(started.elapsed() < LIMIT, "{:?}", trial.unready());
        let _ = trial.next(Duration::from_millis(5));
    }
    assert!(TcpListener::bind(("127.0.0.1", port)).is_err());
    world.write("seen", "");
    until("it has said all", LIMIT, || world.path("said").exists());
    let limit = trial.limit();
    let (_, events) = to_the_limit(&mut trial);
    assert!(proof(&events).time_ns <= limit);
}

#[test]
fn what_comes_after_the_limit_is_too_late_also_for_who_reads_both_at_once() {
    let world = World::new();
    let script = FLOOD.replace("echo up; touch said", "touch said; until test -e go; do sleep 0.01; done; echo up; touch late");
    let mut trial = unread(&world, &script, ReadySpec { logs: vec![pattern("^up$")], ..ReadySpec::default() });
    let limit = trial.limit();
    world.write("go", "");
    until("it has said more", LIMIT, || world.path("late").exists());
    let (found, events) = to_the_limit(&mut trial);
    match events.iter().any(is_ready) {
        false => assert_eq!(found, AtLimit::Over),
        true => assert!(proof(&events).time_ns > limit, "{:?}", proof(&events)),
    }
}

#[test]
fn a_command_that_could_only_be_asked_after_the_limit_tells_nothing() {
    let world = World::new();
    let mut trial = unread(&world, FLOOD, with_command(&world, "true"));
    trial.limit();
    let (found, events) = to_the_limit(&mut trial);
    let AtLimit::Unknown(why) = found else { panic!("{found:?} {events:?}") };
    assert!(why.contains("read only after it"), "{why}");
}

#[test]
fn a_command_that_ran_at_the_limit_has_not_ended_by_then() {
    let world = World::new();
    let spec = with_command(&world, "touch asked; exec sleep 600");
    let mut trial = unread(&world, "echo up; touch said; exec sleep 600", spec);
    let started = Instant::now();
    while !world.path("asked").exists() {
        assert!(started.elapsed() < LIMIT);
        let _ = trial.next(Duration::from_millis(5));
    }
    trial.limit();
    assert_eq!(to_the_limit(&mut trial).0, AtLimit::Over);
}

#[test]
fn a_program_that_is_to_be_ready_never_has_no_more_to_say_once_it_is_read() {
    let world = World::new();
    let mut trial = world.start(&["sh", "-c", FLOOD]);
    trial.in_blocks();
    until("it has said all", LIMIT, || world.path("said").exists());
    let limit = trial.limit();
    let (found, events) = to_the_limit(&mut trial);
    assert_eq!(found, AtLimit::Over);
    let is_word = |event: &TrialEvent| match event {
        TrialEvent::Lines(lines) => lines.text.ends_with(b"up\n") && lines.time_ns <= limit,
        TrialEvent::Line(line) => line.text == b"up" && line.time_ns <= limit,
        _ => false,
    };
    assert!(events.iter().any(is_word), "the last word was told first");
}
