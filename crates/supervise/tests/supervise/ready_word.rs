//! The program's own word, a file of its own, and a command that finds out.

use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use bystander_supervise::ready::CommandCheck;
use bystander_supervise::{OutputPaths, ReadySpec, Trial};

use crate::bench::{LIMIT, World, carrying, is_ready, keeper, proof, until, wait_for, wait_unready};

/// Tells its status, and that it is ready once it may; by a child that waits for the barrier where that is asked.
const NOTIFIES: &str = r#"
import array, os, socket, sys, time
name = os.environ['NOTIFY_SOCKET']
sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
sock.connect('\0' + name[1:] if name.startswith('@') else name)
sock.send(b'STATUS=loading 3 of 8')
while not os.path.exists('go'):
    time.sleep(0.005)
if sys.argv[1] == 'child':
    if os.fork() == 0:
        sock.send(b'READY=1')
        reading, writing = os.pipe()
        sock.sendmsg([b'BARRIER=1'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [writing]))])
        os.close(writing)
        os.read(reading, 1)
        os._exit(0)
    os.wait()
    print('helped', flush=True)
else:
    sock.send(b'READY=1\nSTATUS=serving')
time.sleep(600)
"#;

fn word(world: &World, name: &str) -> ReadySpec {
    ReadySpec { notify: Some(world.path(name)), stable: Some(Duration::ZERO), ..ReadySpec::default() }
}

#[test]
fn the_word_counts_from_the_programs_own_processes_alone() {
    let world = World::new();
    let spec = World::ready(world.spec(&["python3", "-c", NOTIFIES, "itself"]), word(&world, "notify"));
    let mut trial = Trial::start(spec).expect("starts");
    let mut events = Vec::new();
    wait_unready(&mut trial, &mut events, "has not said READY=1; its status is: loading 3 of 8");
    let stranger = UnixDatagram::unbound().expect("a socket");
    stranger.send_to(b"READY=1", world.path("notify")).expect("sends");
    wait_unready(&mut trial, &mut events, &format!("READY=1 came from process {}, which is not of this trial", std::process::id()));
    world.write("go", "");
    wait_for(&mut trial, &mut events, is_ready);
    let said = proof(&events).notified.as_ref().expect("said so");
    assert_eq!((said.pid, said.status.as_deref()), (trial.pid(), Some("serving")));
    assert_eq!(proof(&events).time_ns, said.time_ns);
}

#[test]
fn a_helper_that_waits_for_the_barrier_is_heard_where_a_path_is_too_long() {
    let world = World::new();
    let spec = World::ready(world.spec(&["python3", "-c", NOTIFIES, "child"]), word(&world, &"n".repeat(120)));
    let mut trial = Trial::start(spec).expect("starts");
    let mut events = Vec::new();
    world.write("go", "");
    wait_for(&mut trial, &mut events, is_ready);
    let said = proof(&events).notified.as_ref().expect("said so");
    assert_ne!(said.pid, trial.pid());
    if !events.iter().any(|event| matches!(event, bystander_supervise::TrialEvent::Line(_))) {
        wait_for(&mut trial, &mut events, |event| matches!(event, bystander_supervise::TrialEvent::Line(_)));
    }
}

#[test]
fn a_file_from_before_the_launch_is_no_sign() {
    let world = World::new();
    world.write("warm", "from the last run");
    let spec = ReadySpec { file: Some("warm".into()), stable: Some(Duration::ZERO), ..ReadySpec::default() };
    let script = "while [ ! -e go ]; do sleep 0.01; done; echo now > warm; exec sleep 600";
    let mut trial = Trial::start(World::ready(world.spec(&["sh", "-c", script]), spec)).expect("starts");
    let mut events = Vec::new();
    wait_unready(&mut trial, &mut events, "was there before the launch and has not changed since");
    world.write("go", "");
    wait_for(&mut trial, &mut events, is_ready);
    let seen = proof(&events).file.as_ref().expect("was changed");
    assert!(seen.changed && seen.path == world.path("warm"), "{seen:?}");
}

/// A command of readiness in the same folder.
fn command(world: &World, script: &str, limit: Duration) -> ReadySpec {
    let mut spec = world.spec(&["sh", "-c", script]);
    spec.command.env.insert("CHECK".into(), world.marker.clone().into());
    let output = OutputPaths { stdout: world.path("check"), stderr: world.path("check_stderr") };
    let check = CommandCheck { command: spec.command, keeper: keeper(), output, hidden: Vec::new(), limit };
    ReadySpec { command: Some(check), stable: Some(Duration::ZERO), ..ReadySpec::default() }
}

#[test]
fn a_command_is_asked_until_it_ends_well() {
    let world = World::new();
    let spec = command(&world, "test -e go || { echo 'no go' >&2; exit 7; }", LIMIT);
    let mut trial = Trial::start(World::ready(world.spec(&["sleep", "600"]), spec)).expect("starts");
    let mut events = Vec::new();
    wait_unready(&mut trial, &mut events, "`sh` ended with exit code 7: no go");
    world.write("go", "");
    wait_for(&mut trial, &mut events, is_ready);
    assert!(proof(&events).command.as_ref().is_some_and(|seen| seen.runs >= 2 && seen.argv[0] == "sh"));
}

#[test]
fn a_command_that_hangs_is_killed_with_all_that_it_started() {
    let world = World::new();
    let spec = command(&world, "setsid sleep 600 & echo waits; sleep 600", Duration::from_millis(400));
    let mut trial = Trial::start(World::ready(world.spec(&["sleep", "600"]), spec)).expect("starts");
    let mut events = Vec::new();
    wait_unready(&mut trial, &mut events, "`sh` had not ended at its limit of 0.4 s and was killed");
    trial.finish(Duration::ZERO, |_| {});
    trial.close();
    until("nothing of the command is left", LIMIT, || carrying("CHECK", &world.marker).is_empty());
}

#[test]
fn how_a_command_ended_stands_while_it_runs_again() {
    let world = World::new();
    // The first run fails, and the second one does not end by itself.
    let script = "[ -e ran ] || { : > ran; exit 7; }; : > again; exec sleep 600";
    let mut trial = Trial::start(World::ready(world.spec(&["sleep", "600"]), command(&world, script, LIMIT))).expect("starts");
    let mut events = Vec::new();
    wait_unready(&mut trial, &mut events, "`sh` ended with exit code 7");
    // What is said of a run is said before it begins.
    until("it runs again", LIMIT, || world.path("again").exists());
    while let Some(event) = trial.next(Duration::from_millis(5)) {
        events.push(event);
    }
    assert_eq!(trial.unready().as_deref(), Some("`sh` ended with exit code 7"));
    trial.finish(Duration::ZERO, |_| {});
    trial.close();
}
