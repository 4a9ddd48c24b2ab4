//! Programs that write faster than they are read: what they said in time counts, and silence is none as long as something is unread.

use bystander_testkit::World;
use serde_json::Value;

use crate::world::{assert_nothing_left, python_world, run, text, trials, world};

/// A build without optimisation reads this for longer than the time limit below; the program writes it in a moment.
const FLOOD_BYTES: usize = 30_000_000;

/// The only trial of a program that writes a lot at once and then does something.
fn only_trial(world: &World, then: &str, more: &str) -> Value {
    let line = "x".repeat(99) + "\n";
    world.write("case/flood", line.repeat(FLOOD_BYTES / 100));
    let script = if then.contains("python3") { then.to_owned() } else { format!("cat flood; {then}") };
    let file = format!("[program]\ncommand = [\"sh\", \"-c\", {script:?}]\n{more}\n[plan]\nblocks = 1\ndescribe = true\n");
    let report = run(world, &world.write("case/case.toml", file)).run().json();
    assert_nothing_left(world);
    trials(&report)[0].clone()
}

fn told(trial: &Value) -> (&str, &str) {
    (text(&trial["outcome"]), trial["cause"].as_str().unwrap_or(""))
}

#[test]
fn a_ready_line_behind_a_flood_was_said_when_it_was_written() {
    let world = world();
    let trial = only_trial(&world, "echo now ready; exec sleep 600", "ready = { log = 'now ready' }\ntimeout = '3s'\ngrace = '1s'");
    assert_eq!(told(&trial), ("completed", ""), "{trial:#}");
    assert!(trial["ready_s"].as_f64().is_some_and(|ready| ready <= 3.0), "{trial:#}");
}

#[test]
fn an_end_behind_a_flood_was_before_the_limit() {
    let world = world();
    let trial = only_trial(&world, "exit 3", "timeout = '3s'\ngrace = '1s'");
    assert_eq!(told(&trial), ("failed", "exit.code"), "{trial:#}");
}

#[test]
fn a_workload_behind_a_flood_of_its_own_ended_in_time() {
    let world = world();
    let more = "ready = { log = 'now ready' }\ntimeout = '300s'\n[workload]\ncommand = ['sh', '-c', 'cat flood; echo rate=7']\ntimeout = '3s'\n[metrics]\nrate = { workload = 'rate=(\\d+)', scale = \"ratio\" }";
    let trial = only_trial(&world, "echo now ready; exec sleep 600", more);
    assert_eq!((told(&trial), &trial["metrics"]["rate"]), (("completed", ""), &Value::from(7.0)), "{trial:#}");
}

#[test]
fn nothing_is_taken_for_a_hang_while_its_output_is_unread() {
    let Some(world) = python_world() else { return };
    // It waits for ever, with its last word far behind what it has written before.
    let script = "import os, shutil, sys\nshutil.copyfileobj(open('flood', 'rb'), sys.stdout.buffer)\nprint('now ready', flush=True)\nr, w = os.pipe()\nos.read(r, 1)\n";
    world.write("case/program.py", script);
    let more = "ready = { log = 'now ready' }\ntimeout = '300s'\nstall = '500ms'\ngrace = '1s'";
    let trial = only_trial(&world, "exec python3 program.py", more);
    assert_eq!(told(&trial), ("completed", ""), "{trial:#}");
}

#[test]
fn what_could_only_be_asked_after_the_limit_makes_no_data_point() {
    let world = world();
    let more = "ready = { log = 'now ready', command = ['true'], stable = '250ms' }\ntimeout = '2s'\ngrace = '1s'";
    let trial = only_trial(&world, "echo now ready; exec sleep 600", more);
    // Who reads fast enough has asked in time.
    match told(&trial) {
        ("completed", _) => assert!(trial["ready_s"].as_f64().is_some_and(|ready| ready <= 2.0), "{trial:#}"),
        found => {
            assert_eq!(found, ("void", "behind"), "{trial:#}");
            assert!(text(&trial["cause_detail"]["text"]).starts_with("Bystander was behind with reading"), "{trial:#}");
        }
    }
}
