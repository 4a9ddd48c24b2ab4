//! Output is kept byte for byte, whatever it is, and nothing that a program does with its streams disturbs the trial.

use std::fs;
use std::time::Duration;

use bystander_model::evidence::Stream;
use bystander_supervise::output::LONGEST_TEXT;
use bystander_supervise::output::times::Times;
use bystander_supervise::{ExitStatus, Trial, TrialEvent};

use crate::bench::{LIMIT, Told, World, until, wait_for};

/// The most memory that this process has used, in KiB.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("reads");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("is listed");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn a_line_of_a_hundred_megabytes_is_kept_whole_in_little_memory() {
    let world = World::new();
    let before = peak_kib();
    let script = "import sys\nb=b'x'*(1<<20)\nfor i in range(100): sys.stdout.buffer.write(b)\nsys.stdout.buffer.write(b'\\nend\\n')";
    let told = Told::of(&mut world.start(&["python3", "-c", script]));
    let grown = peak_kib().saturating_sub(before);
    assert!(grown < 48 << 10, "{grown} KiB");
    let lines = told.lines();
    assert_eq!((lines.len(), lines[0].length, lines[0].text.len()), (2, 100 << 20, LONGEST_TEXT));
    assert!(lines[0].is_cut() && !lines[1].is_cut());
    assert_eq!((lines[1].text().as_ref(), lines[1].offset, lines[1].number), ("end", (100 << 20) + 1, 2));
    assert_eq!(fs::metadata(world.path("stdout")).expect("is there").len(), (100 << 20) + 5);
}

#[test]
fn bytes_that_are_not_utf8_survive() {
    let world = World::new();
    let told = Told::of(&mut world.start(&["python3", "-c", "import sys; sys.stdout.buffer.write(bytes(range(256))*3)"]));
    let all: Vec<u8> = (0..=255).collect::<Vec<u8>>().repeat(3);
    assert_eq!(world.stdout(), all);
    let lines: Vec<&[u8]> = told.lines().into_iter().map(|line| line.text.as_slice()).collect();
    assert_eq!(lines.join(&b'\n'), all);
}

#[test]
fn both_streams_are_told_in_the_order_in_which_they_came() {
    let world = World::new();
    let mut trial = world.start(&["sh", "-c", "for i in 1 2 3; do echo out$i; sleep 0.02; echo err$i >&2; sleep 0.02; done"]);
    let told = Told::of(&mut trial);
    assert_eq!(told.texts(), ["out1", "err1", "out2", "err2", "out3", "err3"]);
    let times: Vec<u64> = told.lines().iter().map(|line| line.time_ns.0).collect();
    assert!(times.is_sorted(), "{times:?}");
    let (started, ended) = (trial.started_ns().0, told.finished.exit.expect("ended").time_ns.0);
    assert!(started <= times[0] && times[5] <= ended, "{started} {times:?} {ended}");
    let index = Times::load(&world.path("stderr")).expect("loads");
    for line in told.lines().into_iter().filter(|line| line.stream == Stream::Stderr) {
        assert_eq!(index.at(line.offset), Some(line.time_ns));
    }
}

#[test]
fn a_program_that_closes_its_streams_goes_on() {
    let world = World::new();
    let script =
        "import os,time\nos.write(1,b'bye')\nos.close(1); os.close(2)\nwhile not os.path.exists('go'): time.sleep(0.005)\nos._exit(5)";
    let mut trial = world.start(&["python3", "-c", script]);
    let mut events = Vec::new();
    wait_for(&mut trial, &mut events, |event| matches!(event, TrialEvent::StreamEnded(Stream::Stdout)));
    if !events.iter().any(|event| matches!(event, TrialEvent::StreamEnded(Stream::Stderr))) {
        wait_for(&mut trial, &mut events, |event| matches!(event, TrialEvent::StreamEnded(Stream::Stderr)));
    }
    assert!(trial.exit().is_none() && trial.next(Duration::from_millis(50)).is_none());
    world.write("go", "");
    wait_for(&mut trial, &mut events, |event| matches!(event, TrialEvent::Exited(_)));
    let told = Told::finish(&mut trial, Duration::ZERO, events);
    assert_eq!((told.status(), told.texts()), (ExitStatus::Code(5), vec!["bye".to_owned()]));
    assert!(told.finished.stdout.complete && told.finished.stderr.complete);
}

#[test]
fn a_descendant_that_holds_the_stream_does_not_hold_up_the_end() {
    let world = World::new();
    let mut trial = world.start(&[
        "sh",
        "-c",
        "setsid sh -c 'trap \"\" TERM; while :; do echo on; sleep 0.01; done' & echo off; while ! [ -e go ]; do sleep 0.005; done; exit 2",
    ]);
    let mut events = Vec::new();
    wait_for(&mut trial, &mut events, |event| matches!(event, TrialEvent::Line(line) if line.text == b"on"));
    world.write("go", "");
    wait_for(&mut trial, &mut events, |event| matches!(event, TrialEvent::Exited(_)));
    let asked = std::time::Instant::now();
    let told = Told::finish(&mut trial, Duration::from_millis(100), events);
    assert!((100..5000).contains(&asked.elapsed().as_millis()), "{:?}", asked.elapsed());
    assert_eq!(told.status(), ExitStatus::Code(2));
    assert!(told.finished.stdout.complete);
}

#[test]
fn a_stream_that_a_stranger_holds_is_given_up_once_the_tree_is_gone() {
    let world = World::new();
    let mut trial = world.start(&["sh", "-c", "echo up; while ! [ -e go ]; do sleep 0.005; done"]);
    let mut events = Vec::new();
    wait_for(&mut trial, &mut events, |event| matches!(event, TrialEvent::Line(_)));
    // Opening it through /proc gives this process a writing end of the program's pipe.
    let held = fs::File::options().write(true).open(format!("/proc/{}/fd/1", trial.pid())).expect("opens");
    world.write("go", "");
    wait_for(&mut trial, &mut events, |event| matches!(event, TrialEvent::TreeEmpty(_)));
    let told = Told::finish(&mut trial, Duration::ZERO, events);
    assert_eq!((told.texts(), told.finished.stdout.complete, told.finished.stderr.complete), (vec!["up".to_owned()], false, true));
    drop(held);
}

#[test]
fn a_full_disk_is_told_once_and_never_blocks_the_program() {
    let world = World::new();
    let mut spec = world.spec(&[
        "python3",
        "-c",
        "import sys\nfor i in range(64): sys.stdout.buffer.write(b'x'*(1<<18))\nprint('kept',file=sys.stderr)",
    ]);
    spec.output.stdout = world.path("full");
    // Every write to it finds no space left.
    std::os::unix::fs::symlink("/dev/full", world.path("full")).expect("links");
    let told = Told::of(&mut Trial::start(spec).expect("starts"));
    assert_eq!(told.status(), ExitStatus::Code(0));
    let failures: Vec<_> =
        told.events.iter().filter_map(|event| if let TrialEvent::OutputFailed(error) = event { Some(error) } else { None }).collect();
    assert_eq!(failures.len(), 1);
    assert_eq!((failures[0].offset, failures[0].source.kind()), (0, std::io::ErrorKind::StorageFull));
    assert!(failures[0].to_string().starts_with("write "));
    assert_eq!(told.texts(), ["kept"]);
    assert!(!told.finished.stdout.complete && told.finished.stderr.complete);
}

#[test]
fn a_flood_neither_hides_the_end_nor_waits_for_its_reader() {
    let world = World::new();
    let mut trial = world.start(&["sh", "-c", "yes flood | head -c 4000000; exit 6"]);
    let program = trial.pid();
    // It is more than a pipe holds, and nobody asks for events meanwhile: the program must come to its end all the same.
    until("the program has ended", LIMIT, || bystander_supervise::tree::process(program).is_none());
    let told = Told::of(&mut trial);
    assert_eq!(told.status(), ExitStatus::Code(6));
    let bytes = world.stdout();
    assert_eq!(told.finished.stdout.bytes, bytes.len() as u64);
    assert_eq!(told.lines().len(), bytes.iter().filter(|&&b| b == b'\n').count() + usize::from(!bytes.ends_with(b"\n")));
}
