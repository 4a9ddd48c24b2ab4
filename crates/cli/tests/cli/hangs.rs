//! Programs that stand still: which of them hang, which only take their time, and where they stand.

use std::fs;
use std::time::Duration;

use bystander_testkit::World;
use serde_json::Value;

use crate::world::{assert_nothing_left, python_world, run, text, trials};

/// Long enough that only a program that is given up early ends before it.
const LIMITS: &str = "timeout = \"120s\"\nstall = \"1500ms\"\ngrace = \"2s\"\n";

/// The only trial of a Python program with a time limit that it must not need.
fn only_trial(world: &World, script: &str, more: &str) -> Value {
    world.write("case/program.py", script);
    let program = "[program]\ncommand = [\"python3\", \"program.py\", \"--api-key\", \"sk-veryverysecret\"]\nready = { log = \"ready\" }\n"
        .to_string();
    let file = world.write("case/case.toml", format!("{program}{more}\n[plan]\nblocks = 1\ndescribe = true\n"));
    let report = run(world, &file).run().exits(0).json();
    assert_nothing_left(world);
    assert_eq!(trials(&report).len(), 1, "{report:#}");
    trials(&report)[0].clone()
}

fn cause(trial: &Value) -> (&str, &str) {
    (text(&trial["outcome"]), trial["cause"].as_str().unwrap_or(""))
}

fn said(trial: &Value) -> &str {
    text(&trial["cause_detail"]["text"])
}

/// The kept stacks of a trial, where there are any.
fn stacks(world: &World, trial: &Value) -> Option<String> {
    let kept = trial["output"]["stacks"].as_str()?;
    Some(fs::read_to_string(world.path("case/.bystander").join(kept)).expect("the stacks"))
}

/// Whether it was ended long before its time limit.
fn is_early(trial: &Value) -> bool {
    trial["wall_s"].as_f64().is_some_and(|wall| wall < Duration::from_secs(100).as_secs_f64())
}

#[test]
fn a_deadlock_is_ended_and_named_to_the_line() {
    let Some(world) = python_world() else { return };
    let script = "import threading\nprint('loading', flush=True)\nlock = threading.Lock()\nlock.acquire()\ndef barrier():\n    lock.acquire()\nbarrier()\n";
    let trial = only_trial(&world, script, LIMITS);
    assert_eq!(cause(&trial), ("timed_out", "hang"), "{trial:#}");
    assert!(is_early(&trial) && said(&trial).contains(" in barrier, case/program.py:6, waits for a lock"), "{}", said(&trial));
    assert_eq!(trial["cause_detail"]["signature"], "hang in case/program.py:barrier");
    let stacks = stacks(&world, &trial).expect("stacks");
    assert!(!stacks.contains("veryverysecret"), "{stacks}");
    let place = text(&trial["cause_detail"]["evidence"][0]["where"]).to_owned();
    let line: usize = place.strip_prefix("stacks:").and_then(|line| line.parse().ok()).expect("a line of the stacks");
    assert!(stacks.lines().nth(line - 1).is_some_and(|line| line.ends_with("line 6, in barrier")), "{place}\n{stacks}");
}

#[test]
fn a_rank_that_hangs_is_found_below_a_parent_that_polls() {
    let Some(world) = python_world() else { return };
    world.write("case/rank.py", "import os\ndef recv():\n    r, w = os.pipe()\n    os.read(r, 1)\nrecv()\n");
    let script = "import subprocess, sys, time\nchild = subprocess.Popen([sys.executable, 'rank.py'])\nwhile child.poll() is None:\n    time.sleep(0.1)\n";
    let trial = only_trial(&world, script, LIMITS);
    assert_eq!(cause(&trial), ("timed_out", "hang"), "{trial:#}");
    assert!(is_early(&trial) && said(&trial).contains(" in recv, case/rank.py:4, waits for bytes"), "{}", said(&trial));
}

#[test]
fn a_process_that_stays_after_its_traceback_is_not_waited_for() {
    let Some(world) = python_world() else { return };
    let script = "import threading, time\ndef engine():\n    raise ValueError('no such model')\nthreading.Thread(target=engine).start()\nwhile True:\n    time.sleep(0.1)\n";
    let trial = only_trial(&world, script, LIMITS);
    assert_eq!(cause(&trial), ("failed", "python.ValueError"), "{trial:#}");
    assert!(is_early(&trial) && said(&trial).contains("its processes stayed, and stood still"), "{}", said(&trial));
}

#[test]
fn slow_starts_are_waited_for() {
    let Some(world) = python_world() else { return };
    // Asleep, polling, or silent at work, each for longer than two looks take.
    let asleep = "import time\ntime.sleep(5)\nprint('ready', flush=True)\ntime.sleep(600)\n";
    let polls = "import time\nfor n in range(50):\n    time.sleep(0.1)\nprint('ready', flush=True)\ntime.sleep(600)\n";
    let works =
        "import time\nuntil = time.monotonic() + 5\nwhile time.monotonic() < until: pass\nprint('ready', flush=True)\ntime.sleep(600)\n";
    for script in [asleep, polls, works] {
        let trial = only_trial(&world, script, LIMITS);
        assert_eq!(cause(&trial), ("completed", ""), "{script}\n{trial:#}");
        assert!(script != works || stacks(&world, &trial).is_none(), "who works is not looked at");
    }
}

#[test]
fn an_idle_server_that_never_says_the_word_has_its_time_limit_and_its_stacks() {
    let Some(world) = python_world() else { return };
    let script = "import socket\ns = socket.socket()\ns.bind(('127.0.0.1', 0))\ns.listen()\nprint('up', flush=True)\ndef serve():\n    s.accept()\nserve()\n";
    let trial = only_trial(&world, script, "timeout = \"8s\"\nstall = \"1500ms\"\ngrace = \"2s\"\n");
    assert_eq!(cause(&trial), ("timed_out", "timeout.stalled"), "{trial:#}");
    assert!(said(&trial).contains(" in serve, case/program.py:7, waits for connections or events"), "{}", said(&trial));
}

#[test]
fn an_engine_that_serves_nobody_is_dead_while_it_talks() {
    let Some(world) = python_world() else { return };
    let script = "import time\nprint('ready', flush=True)\nwhile True:\n    print('Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 0.0 tokens/s, Running: 0 reqs, Waiting: 3 reqs', flush=True)\n    time.sleep(0.2)\n";
    let trial = only_trial(&world, script, &format!("{LIMITS}[workload]\ncommand = [\"sleep\", \"600\"]\ntimeout = \"100s\"\n"));
    assert_eq!(cause(&trial), ("timed_out", "hang"), "{trial:#}");
    assert!(said(&trial).starts_with("it serves nobody: "), "{}", said(&trial));
}
