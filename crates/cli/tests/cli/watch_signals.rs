//! What asks `bystander watch` to stop asks the program in the same words: Ctrl-C is SIGINT for both, as at a terminal.

use bystander_testkit::{Ran, Signal, World, until};
use serde_json::Value;

use crate::watch::printed;
use crate::world::{LIMIT, assert_nothing_left, python_world};

/// Watches `app.py`, waits for its file `ready`, signals once and gives what came of it.
fn interrupted(world: &World, signal: Signal) -> (Ran, Value) {
    let mut running = world.bystander(["watch", "--json", "-p", "app:f", "--", "python3", "app.py"]).start();
    until("the program to be ready", LIMIT, || world.path("ready").exists());
    running.signal(signal);
    let ran = running.wait().exits(130);
    let summary = printed(&ran).1;
    std::fs::remove_file(world.path("ready")).expect("was there");
    assert_nothing_left(world);
    (ran, summary)
}

fn content(world: &World, name: &str) -> String {
    std::fs::read_to_string(world.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn a_keyboard_interrupt_is_one_in_the_program_and_in_what_shares_its_terminal() {
    let Some(world) = python_world() else { return };
    world.write(
        "worker.py",
        "import os, time\ntry:\n    os.write(1, b'.')\n    time.sleep(600)\nexcept KeyboardInterrupt:\n    \
         open('worker', 'w').write('interrupted')\n",
    );
    world.write(
        "app.py",
        "import subprocess, sys, time\n\ndef f():\n    return 1\n\nf()\nworker = subprocess.Popen([sys.executable, 'worker.py'], \
         stdout=subprocess.PIPE)\nworker.stdout.read(1)\ntry:\n    open('ready', 'w').close()\n    time.sleep(600)\n\
         except KeyboardInterrupt:\n    worker.wait()\n    open('main', 'w').write('interrupted')\n    sys.exit(7)\n",
    );
    let (ran, summary) = interrupted(&world, Signal::INT);
    assert_eq!((summary["status"].as_str(), summary["exit"].as_i64()), (Some("interrupted"), Some(7)), "{summary:#}\n{}", ran.stderr);
    assert_eq!((content(&world, "main"), content(&world, "worker")), ("interrupted".into(), "interrupted".into()));
}

#[test]
fn every_signal_that_asks_to_stop_reaches_the_program_as_itself() {
    let Some(world) = python_world() else { return };
    world.write(
        "app.py",
        "import signal, sys, time\n\ndef f(number, frame):\n    open('got', 'w').write(str(number))\n    sys.exit(0)\n\n\
         for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):\n    signal.signal(each, f)\nopen('ready', 'w').close()\n\
         while True:\n    time.sleep(600)\n",
    );
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
        let (_, summary) = interrupted(&world, signal);
        assert_eq!((content(&world, "got"), summary["exit"].as_i64()), (signal.as_raw().to_string(), Some(0)), "{summary:#}");
        assert_eq!(summary["hits"].as_u64(), Some(1), "the handler itself was seen: {summary:#}");
    }
}

#[test]
fn a_second_ctrl_c_ends_the_grace_of_a_program_that_does_not_end() {
    let Some(world) = python_world() else { return };
    world.write(
        "app.py",
        "import signal, time\n\ndef f(number, frame):\n    open('got', 'w').close()\n\nsignal.signal(signal.SIGINT, f)\n\
         open('ready', 'w').close()\nwhile True:\n    time.sleep(600)\n",
    );
    let mut running = world.bystander(["watch", "--json", "-p", "app:f", "--", "python3", "app.py"]).start();
    until("the program to be ready", LIMIT, || world.path("ready").exists());
    running.signal(Signal::INT);
    until("the program to have heard of it", LIMIT, || world.path("got").exists());
    running.signal(Signal::INT);
    let (_, summary) = printed(&running.wait().exits(130));
    assert_eq!(summary["signal"].as_i64(), Some(9), "{summary:#}");
    assert!(summary["wall_s"].as_f64().is_some_and(|wall| wall < 9.0), "the grace of 10 s was not waited for: {summary:#}");
    assert_nothing_left(&world);
}

#[test]
fn what_an_interrupted_program_leaves_in_another_session_is_asked_to_end() {
    let Some(world) = python_world() else { return };
    world.write(
        "daemon.py",
        "import os, signal, sys, time\ndef end(number, frame):\n    open('daemon', 'w').write(str(number))\n    os._exit(0)\n\
         signal.signal(signal.SIGTERM, end)\nos.write(1, b'.')\nwhile True:\n    time.sleep(600)\n",
    );
    world.write(
        "app.py",
        "import subprocess, sys, time\n\ndef f():\n    return 1\n\nf()\nchild = subprocess.Popen([sys.executable, 'daemon.py'], \
         start_new_session=True, stdout=subprocess.PIPE)\nchild.stdout.read(1)\ntry:\n    open('ready', 'w').close()\n    time.sleep(600)\n\
         except KeyboardInterrupt:\n    sys.exit(0)\n",
    );
    let (_, summary) = interrupted(&world, Signal::INT);
    assert_eq!((content(&world, "daemon"), summary["exit"].as_i64()), ("15".into(), Some(0)), "{summary:#}");
    assert!(summary["left"].is_null(), "who interrupts wants everything to end: {summary:#}");
}
