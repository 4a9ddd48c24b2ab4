//! Programs of which a part dies before they are ready, while the rest goes on: who has failed by that, and who has not.

use bystander_testkit::World;
use serde_json::Value;

use crate::world::{assert_nothing_left, python_world, run, text, trials};

/// Nothing here takes as long as its time limit; `stall` makes the wait for the rest of a program short, and ends none that prints.
const LIMITS: &str = "ready = { log = '^ready' }\ntimeout = \"200s\"\nstall = \"3s\"\ngrace = \"2s\"\n";

/// A child that dies of an exception, when it is told to.
const ENGINE: &str = "import sys\ndef load():\n    raise RuntimeError('no such model')\nload()\n";

fn only_trial(world: &World, script: &str) -> Value {
    world.write("case/engine.py", ENGINE);
    world.write("case/front.py", script);
    let file = format!("[program]\ncommand = [\"python3\", \"front.py\"]\n{LIMITS}\n[plan]\nblocks = 1\ndescribe = true\n");
    let report = run(world, &world.write("case/case.toml", file)).run().exits(0).json();
    assert_nothing_left(world);
    trials(&report)[0].clone()
}

fn cause(trial: &Value) -> (&str, &str) {
    (text(&trial["outcome"]), trial["cause"].as_str().unwrap_or(""))
}

/// Asserts that the program has failed at its start by the exception of its child, and was not waited for.
fn assert_failed_by_its_part(trial: &Value) {
    assert_eq!(cause(trial), ("failed", "python.RuntimeError"), "{trial:#}");
    let said = text(&trial["cause_detail"]["text"]);
    assert!(said.contains("no such model") && said.contains("the rest went on for"), "{said}");
    assert!(trial["wall_s"].as_f64().is_some_and(|wall| wall < 100.0), "{trial:#}");
}

#[test]
fn a_front_end_that_goes_on_printing_without_its_engine_has_failed() {
    let Some(world) = python_world() else { return };
    let script = "import subprocess, sys, time\nchild = subprocess.Popen([sys.executable, 'engine.py'])\nwhile True:\n    print('waiting for the engine', flush=True)\n    time.sleep(0.1)\n";
    assert_failed_by_its_part(&only_trial(&world, script));
}

#[test]
fn a_worker_whose_pool_looks_after_it_all_the_time_has_failed_too() {
    let Some(world) = python_world() else { return };
    // Its parent asks how it ended faster than anybody else could see.
    let script = "import multiprocessing, time\ndef work():\n    raise RuntimeError('no such model')\nif __name__ == '__main__':\n    child = multiprocessing.get_context('fork').Process(target=work)\n    child.start()\n    while True:\n        child.is_alive()\n        print('waiting', flush=True)\n        time.sleep(0.002)\n";
    assert_failed_by_its_part(&only_trial(&world, script));
}

#[test]
fn an_engine_that_says_that_it_is_dead_is_believed() {
    let Some(world) = python_world() else { return };
    let script = "import sys, time\np = '(EngineCore_DP0 pid=77) ERROR 11-29 13:10:57 [core.py:1482] '\nfor line in ['EngineCore failed to start.', 'Traceback (most recent call last):', '  File \"/app/core.py\", line 3, in run', '    load()', 'RuntimeError: no such model']:\n    print(p + line, file=sys.stderr, flush=True)\nwhile True:\n    print('waiting', flush=True)\n    time.sleep(0.1)\n";
    assert_failed_by_its_part(&only_trial(&world, script));
}

#[test]
fn what_a_program_has_caught_printed_or_started_again_ends_no_wait() {
    let Some(world) = python_world() else { return };
    let ready =
        "\nfor n in range(50):\n    print('loading', n, flush=True)\n    time.sleep(0.1)\nprint('ready', flush=True)\ntime.sleep(600)\n";
    // Each is ready long after the wait for a dead part is over.
    for script in [
        // Words alone.
        "import time\nprint('ERROR the exporter failed to start', flush=True)\nprint('fatal: no cache', flush=True)",
        // Caught and printed, while a child that has nothing to do with it ends well, and another one lives.
        "import subprocess, sys, time, traceback\nlives = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\nwell = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1)'])\ntry:\n    raise RuntimeError('no such model')\nexcept RuntimeError:\n    traceback.print_exc()",
        // In a child that has caught it and lives.
        "import subprocess, sys, time\nchild = subprocess.Popen([sys.executable, '-c', 'import traceback, time\\ntry:\\n    raise RuntimeError()\\nexcept RuntimeError:\\n    traceback.print_exc()\\ntime.sleep(600)'])",
        // A command that is no Python and fails, right after an exception that was caught.
        "import subprocess, time, traceback\ntry:\n    raise RuntimeError('no such model')\nexcept RuntimeError:\n    traceback.print_exc()\nchild = subprocess.Popen(['sh', '-c', 'sleep 0.5; exit 7'])",
        // Dead, and started again.
        "import subprocess, sys, time\nchild = subprocess.Popen([sys.executable, 'engine.py'])\nwhile child.poll() is None:\n    time.sleep(0.05)\nchild = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])",
    ] {
        let trial = only_trial(&world, &format!("{script}{ready}"));
        assert_eq!(cause(&trial), ("completed", ""), "{script}\n{trial:#}");
    }
}
