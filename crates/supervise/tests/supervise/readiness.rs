//! Ready means: all conditions, and the listener is the trial's own.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use bystander_model::evidence::Stream;
use bystander_supervise::{Canceller, HttpCheck, ReadySpec, Trial, TrialEvent, pick_free_port};

use crate::bench::{Told, World, is_ready, pattern, proof, wait_for, wait_unready};

/// A server whose child answers; the parent closes its copy of the socket.
const FORKED: &str = r#"
import http.server, os, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        code = 503 if not os.path.exists('warm') else 204 if self.path == '/health' else 404
        self.send_response(code); self.end_headers()
        open('asked', 'a').write('x')
    def log_message(self, *a): pass
server = http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), Handler)
if os.fork() == 0:
    os.setsid()
    server.serve_forever()
server.socket.close()
print('parent', flush=True)
time.sleep(600)
"#;

#[test]
fn all_conditions_must_hold_and_the_proof_names_them() {
    let world = World::new();
    let port = pick_free_port().expect("a port");
    let spec = ReadySpec {
        logs: vec![pattern("^par"), pattern("ent$")],
        http: vec![HttpCheck::any(format!("http://127.0.0.1:{port}/health"))],
        port: Some(port),
        ..ReadySpec::default()
    };
    let mut trial = Trial::start(World::ready(world.spec(&["python3", "-c", FORKED, &port.to_string()]), spec)).expect("starts");
    let mut events = Vec::new();
    // It answers 503 first, and must have been asked more than once before it may answer well.
    while std::fs::read(world.path("asked")).map_or(0, |asked| asked.len()) < 3 {
        if let Some(event) = trial.next(Duration::from_millis(5)) {
            assert!(!is_ready(&event), "{event:?}");
            events.push(event);
        }
    }
    world.write("warm", "");
    wait_for(&mut trial, &mut events, is_ready);
    let found = proof(&events);
    assert_eq!(found.logs.iter().map(|line| line.text().into_owned()).collect::<Vec<_>>(), ["parent", "parent"]);
    assert_eq!(found.http.iter().map(|answer| answer.status).collect::<Vec<_>>(), [204]);
    let levels = found.levels;
    assert!(levels.port.is_some() && levels.port <= levels.health && levels.health < levels.stable, "{levels:?}");
    let listener = found.listener.as_ref().expect("is named");
    assert!(listener.pid.is_some_and(|pid| pid != trial.pid() && trial.contains(pid)), "the forked child listens: {listener:?}");
    assert!(listener.command.as_ref().is_some_and(|command| command.contains("python3")), "{listener:?}");
    assert!(found.time_ns > trial.started_ns() && Some(found.time_ns) < levels.stable);
    let told = Told::finish(&mut trial, Duration::ZERO, events);
    assert_eq!(told.events.iter().filter(|event| is_ready(event)).count(), 1);
}

#[test]
fn a_line_that_is_left_without_its_end_says_ready_all_the_same() {
    let world = World::new();
    let spec = ReadySpec { logs: vec![pattern("^server ready$")], ..ReadySpec::default() };
    let script = "echo loading; printf 'server ready'; exec sleep 600";
    let mut trial = Trial::start(World::ready(world.spec(&["sh", "-c", script]), spec)).expect("starts");
    trial.in_blocks();
    let mut events = Vec::new();
    wait_for(&mut trial, &mut events, is_ready);
    let found: Vec<_> = proof(&events).logs.iter().map(|line| (line.text().into_owned(), line.number, line.terminated)).collect();
    assert_eq!(found, [("server ready".to_owned(), 2, false)]);
    let told = Told::finish(&mut trial, Duration::ZERO, events);
    let lines = |event: &TrialEvent| matches!(event, TrialEvent::Line(line) if line.text() == "server ready");
    assert_eq!(told.events.iter().filter(|event| lines(event)).count(), 1, "as a line of output it comes once, at its end");
}

#[test]
fn the_line_that_says_ready_is_found_among_many_that_come_at_once() {
    let world = World::new();
    let spec = ReadySpec { logs: vec![pattern("^ready (now|soon)$"), pattern("^1999$")], ..ReadySpec::default() };
    // Nothing is read before all of it was written, so that it comes as few blocks.
    let script = "{ seq 2000; echo not ready now; echo ready now; echo ready soon; seq 2000; } > all; cat all; exec sleep 600";
    let mut trial = Trial::start(World::ready(world.spec(&["sh", "-c", script]), spec)).expect("starts");
    trial.in_blocks();
    let mut events = Vec::new();
    wait_for(&mut trial, &mut events, is_ready);
    let all = std::fs::read_to_string(world.path("all")).expect("is there");
    let at = |line: &str| all.find(&format!("\n{line}\n")).expect("was written") as u64 + 1;
    let found: Vec<_> = proof(&events).logs.iter().map(|line| (line.text().into_owned(), line.number, line.offset)).collect();
    assert_eq!(found, [("ready now".to_owned(), 2002, at("ready now")), ("1999".to_owned(), 1999, at("1999"))]);
    assert!(events.iter().any(|event| matches!(event, TrialEvent::Lines(_))), "{events:?}");
    Told::finish(&mut trial, Duration::ZERO, events);
}

#[test]
fn a_server_of_somebody_else_never_reads_as_ready_and_is_named() {
    let world = World::new();
    let foreign = TcpListener::bind("127.0.0.1:0").expect("binds");
    let port = foreign.local_addr().expect("has an address").port();
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    thread::spawn(move || {
        for stream in foreign.incoming() {
            let mut stream = stream.expect("accepts");
            let mut request = [0; 1024];
            if stream.read(&mut request).is_ok_and(|bytes| bytes > 0) {
                count.fetch_add(1, Ordering::SeqCst);
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            }
        }
    });
    let spec = ReadySpec { http: vec![HttpCheck::any(format!("http://127.0.0.1:{port}/"))], ..ReadySpec::default() };
    let script = "while [ ! -e enough ]; do sleep 0.01; done; exit 1";
    let mut trial = Trial::start(World::ready(world.spec(&["sh", "-c", script]), spec)).expect("starts");
    let mut events = Vec::new();
    wait_for(&mut trial, &mut events, |event| matches!(event, TrialEvent::ForeignListener(_)));
    world.write("enough", "");
    wait_for(&mut trial, &mut events, |event| matches!(event, TrialEvent::Exited(_)));
    let told = Told::finish(&mut trial, Duration::ZERO, events);
    assert!(!told.events.iter().any(is_ready));
    let holders: Vec<_> =
        told.events.iter().filter_map(|event| if let TrialEvent::ForeignListener(holder) = event { Some(holder) } else { None }).collect();
    assert_eq!(holders.len(), 1, "told once");
    assert_eq!((holders[0].pid, holders[0].port), (Some(std::process::id()), port));
    assert!(holders[0].command.is_some());
    assert_eq!(asked.load(Ordering::SeqCst), 0, "a stranger is not even asked");
}

#[test]
fn a_port_that_a_child_listens_on_is_enough_where_only_a_port_is_named() {
    let world = World::new();
    let port = pick_free_port().expect("a port");
    let script =
        "import socket,sys,os,time\ns=socket.socket(socket.AF_INET6); s.bind(('::',int(sys.argv[1]))); s.listen()\ntime.sleep(600)";
    let argv = ["sh", "-c", "setsid python3 -c \"$0\" \"$1\" & wait", script, &port.to_string()];
    let spec = ReadySpec { port: Some(port), ..ReadySpec::default() };
    let mut trial = Trial::start(World::ready(world.spec(&argv), spec)).expect("starts");
    let mut events = Vec::new();
    wait_for(&mut trial, &mut events, is_ready);
    assert!(proof(&events).http.is_empty() && proof(&events).listener.is_some());
}

#[test]
fn a_log_line_on_either_stream_makes_ready() {
    let world = World::new();
    let spec = ReadySpec { logs: vec![pattern(r"ready to (\w+)")], ..ReadySpec::default() };
    let argv = ["sh", "-c", "echo 'not ready'; echo 'ready to roll' >&2; exec sleep 600"];
    let mut trial = Trial::start(World::ready(world.spec(&argv), spec)).expect("starts");
    let mut events = Vec::new();
    wait_for(&mut trial, &mut events, is_ready);
    let found = proof(&events);
    assert_eq!(found.logs.iter().map(|line| (line.stream, line.number)).collect::<Vec<_>>(), [(Stream::Stderr, 1)]);
    assert_eq!(found.time_ns, found.logs[0].time_ns, "it was ready when it said so, and not when that had lasted");
    assert_eq!(trial.unready(), None);
}

#[test]
fn a_program_that_ends_first_is_never_ready() {
    let world = World::new();
    let port = pick_free_port().expect("a port");
    let spec =
        ReadySpec { logs: vec![pattern("up")], http: vec![HttpCheck::any(format!("http://127.0.0.1:{port}/"))], ..ReadySpec::default() };
    let told = Told::of(&mut Trial::start(World::ready(world.spec(&["sh", "-c", "echo up; exit 1"]), spec)).expect("starts"));
    assert!(!told.events.iter().any(is_ready));
}

#[test]
fn the_wait_ends_at_once_when_it_is_cancelled() {
    let world = World::new();
    let canceller = Canceller::new();
    let mut spec = world.spec(&["sh", "-c", "trap '' TERM; echo up; while :; do sleep 1; done"]);
    spec.canceller = canceller.clone();
    let mut trial = Trial::start(spec).expect("starts");
    let mut events = Vec::new();
    wait_for(&mut trial, &mut events, |event| matches!(event, TrialEvent::Line(_)));
    let waiter = thread::spawn(move || {
        wait_for(&mut trial, &mut events, |event| matches!(event, TrialEvent::Cancelled));
        // The program does not heed SIGTERM: a second call ends the grace.
        let told = Told::finish(&mut trial, Duration::from_secs(600), events);
        told.status()
    });
    canceller.cancel();
    while !waiter.is_finished() {
        thread::sleep(Duration::from_millis(20));
        canceller.cancel();
    }
    assert_eq!(waiter.join().expect("does not panic").signal(), Some(9));
    assert!(canceller.is_cancelled());
}

#[test]
fn a_server_that_listens_at_another_address_is_told_as_that() {
    if TcpListener::bind("[::1]:0").is_err() {
        bystander_testkit::skip("this machine has no IPv6", bystander_testkit::Mark::Machine);
        return;
    }
    let world = World::new();
    let port = pick_free_port().expect("a port");
    let script = "import socket, sys, time; s = socket.create_server(('::1', int(sys.argv[1])), family=socket.AF_INET6); time.sleep(600)";
    let spec = ReadySpec { http: vec![HttpCheck::any(format!("http://127.0.0.1:{port}/"))], ..ReadySpec::default() };
    let mut trial = Trial::start(World::ready(world.spec(&["python3", "-c", script, &port.to_string()]), spec)).expect("starts");
    let mut events = Vec::new();
    let words = format!("a process of the trial listens on port {port} at ::1, and not at 127.0.0.1");
    wait_unready(&mut trial, &mut events, &words);
    // Somebody else who listens where it is asked does not make that untrue.
    let _foreign = TcpListener::bind(("127.0.0.1", port)).expect("binds");
    wait_unready(&mut trial, &mut events, &format!("{words}; somebody else listens there"));
    Told::finish(&mut trial, Duration::ZERO, events);
}
