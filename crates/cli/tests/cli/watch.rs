//! `bystander watch`: hits as they come, the program's own streams as they are, and everything in the record before it is printed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use bystander_testkit::{Mark, Ran, Run, Signal, World, python, pythons, skip, until};
use serde_json::Value;

use crate::world::{LIMIT, assert_nothing_left, engine, python_world, text, tree};

/// A program that says something on both streams and calls a function three times.
const APP: &str = "import sys

def work(n):
    total = 0
    for i in range(n):
        total += i * 1.5
    return total

print('out', sys.stdin.read() if len(sys.argv) > 1 else '')
print('err', file=sys.stderr)
for n in range(3):
    work(n)
";

/// A program that calls a function until it is ended.
const LOOP: &str = "import time

def step(i):
    return i

i = 0
while True:
    step(i)
    i += 1
    time.sleep(0.002)
";

/// `bystander watch --json -p PROBE … -- COMMAND…`.
fn watch(world: &World, probes: &[&str], command: &[&str]) -> Run {
    let mut run = world.bystander(["watch", "--json"]);
    for probe in probes {
        run = run.args(["-p", probe]);
    }
    run.args(["--"]).args(command)
}

/// The hits and the summary that a watched command printed.
pub(crate) fn printed(ran: &Ran) -> (Vec<Value>, Value) {
    let mut lines: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect();
    let summary = lines.pop().unwrap_or_else(|| panic!("nothing was printed:\n{}", ran.stderr));
    assert!(summary["summary"].is_object(), "the last line is no summary: {summary}");
    (lines.into_iter().map(|line| line["hit"].clone()).collect(), summary["summary"].clone())
}

fn counts(summary: &Value, probe: &str) -> (Option<u64>, Option<u64>) {
    let probe = summary["probes"].as_array().expect("probes").iter().find(|entry| entry["probe"] == probe).expect("the probe");
    (probe["hits"].as_u64(), probe["dropped"].as_u64())
}

#[test]
fn the_story_is_seen_by_one_command_on_eight_ranks() {
    let Some(world) = python_world() else { return };
    let engine = engine(&world);
    let before = tree(&engine);
    let probe = "engine.sizing:profile_max_num_token after \"max_num_token = ...\" \
                 {total_gpu_memory, available_gpu_memory, self.mem_fraction_static, rest_memory} as kv";
    let port = bystander_port();
    let command =
        ["python3", "-m", "engine", "--tp-size", "8", "--mem-fraction-static", "0.55", "--disable-custom-all-reduce", "--port", &port];
    let ran = watch(&world, &[probe], &command).cwd(&engine).env("PYTHONDONTWRITEBYTECODE", "1").run().exits(1);
    let (hits, summary) = printed(&ran);
    let ranks: BTreeSet<u64> = hits.iter().filter_map(|hit| hit["rank"].as_u64()).collect();
    assert_eq!((hits.len(), ranks), (8, (0..8).collect()), "{}", ran.stdout);
    for hit in &hits {
        let value = |name: &str| format!("{:.3}", hit["values"][name].as_f64().unwrap_or_else(|| panic!("no {name}: {hit}")));
        let values = ["total_gpu_memory", "available_gpu_memory", "self.mem_fraction_static", "rest_memory"].map(value);
        assert_eq!(values, ["93.999", "21.697", "0.550", "-20.603"]);
    }
    assert_eq!((counts(&summary, "kv"), &summary["exit"]), ((Some(8), Some(0)), &1.into()));
    assert!(ran.stderr.contains("Not enough memory"), "the program's own words: {}", ran.stderr);
    assert_eq!(before.differences(&tree(&engine)), Vec::<String>::new(), "no byte of a file changed");
    assert_nothing_left(&world);
}

/// A port that is free now.
fn bystander_port() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its number").port().to_string()
}

#[test]
fn every_python_says_what_it_passed_and_nothing_of_ours_is_in_its_streams() {
    if pythons().is_empty() {
        return skip("there is no Python 3.8 or newer", Mark::Machine);
    }
    for python in pythons() {
        let world = crate::world::world();
        world.write("app.py", APP);
        let exe = python.path.to_str().expect("text");
        let bare = world.run(&python.path).args(["app.py"]).run().exits(0);
        for command in [&[exe, "app.py"][..], &[exe, "-m", "app"], &[exe, "-c", "import app"]] {
            let probes = ["app.py:6 {i, total} as line", "app:work@return {return} if return > 0 as back"];
            let hits_file = world.path("hits.jsonl");
            let run = world
                .bystander(["watch", "--json", "--output"])
                .args([&hits_file])
                .args(["-p", probes[0], "-p", probes[1], "--"])
                .args(command);
            let ran = run.run().exits(0);
            assert_eq!(ran.stdout, bare.stdout, "its own standard output, byte for byte: {command:?}");
            let (hits, summary) = printed(&Ran { stdout: fs::read_to_string(&hits_file).expect("hits"), ..ran });
            fs::remove_file(&hits_file).expect("hits");
            let seen: Vec<String> = hits.iter().map(|hit| hit["values"].to_string()).collect();
            assert_eq!(seen.len(), 4, "{:?} {command:?} {seen:?} {summary:#}", python.version);
            assert_eq!((counts(&summary, "line"), counts(&summary, "back")), ((Some(3), Some(0)), (Some(1), Some(0))), "{summary:#}");
            assert_eq!(hits.last().expect("hits")["values"]["return"], 1.5, "{hits:#?}");
        }
        assert_nothing_left(&world);
    }
}

#[test]
fn standard_input_reaches_the_program_and_both_its_outputs_go_to_standard_error() {
    let Some(world) = python_world() else { return };
    world.write("app.py", APP);
    world.write("in.txt", "from outside");
    let script = format!("exec {} watch --json -p 'app.py:6 {{i}}' -- python3 app.py read < in.txt", env!("CARGO_BIN_EXE_bystander"));
    let ran = world.run(Path::new("/bin/sh")).args(["-c", &script]).run().exits(0);
    let (hits, _) = printed(&ran);
    assert_eq!(hits.len(), 3);
    assert!(ran.stderr.contains("out from outside\n") && ran.stderr.contains("err\n"), "{}", ran.stderr);
}

#[test]
fn a_terminal_stays_a_terminal() {
    let Some(world) = python_world() else { return };
    let Some(script) = ["/usr/bin/script", "/bin/script"].into_iter().find(|path| Path::new(path).is_file()) else {
        return skip("there is no `script` (Debian: bsdutils)", Mark::Machine);
    };
    world.write("app.py", "import os, sys\ndef f():\n    return 1\nprint('tty', [os.isatty(n) for n in (0, 1, 2)])\nf()\n");
    let inner = format!("{} watch -p app.py:3 -- python3 app.py", env!("CARGO_BIN_EXE_bystander"));
    let ran = world.run(Path::new(script)).args(["-qec", &inner, "/dev/null"]).run();
    // `script` gives its child a terminal on all three, whatever its own streams are.
    assert!(ran.stdout.contains("tty [True, True, True]"), "{}\n{}", ran.stdout, ran.stderr);
}

#[test]
fn ctrl_c_ends_the_whole_tree_and_keeps_what_was_seen() {
    let Some(world) = python_world() else { return };
    world.write("loop.py", LOOP);
    for signal in [Signal::INT, Signal::TERM] {
        let mut running = watch(&world, &["loop.py:4 {i}"], &["python3", "loop.py"]).start();
        until("a hit to be printed", LIMIT, || running.output().contains("\"hit\""));
        running.signal(signal);
        let ran = running.wait().exits(130);
        let (hits, summary) = printed(&ran);
        assert_eq!(
            (summary["status"].as_str(), summary["signal"].as_i64()),
            (Some("interrupted"), Some(signal.as_raw().into())),
            "{summary:#}"
        );
        assert_eq!((summary["hits"].as_u64(), counts(&summary, "p1").1), (Some(hits.len() as u64), Some(0)), "{summary:#}");
        let shown = world.bystander(["show", "--json"]).run().exits(130);
        assert_eq!(shown.stdout, ran.stdout, "`show` says the same");
        assert_nothing_left(&world);
    }
}

#[test]
fn a_killed_watch_has_lost_nothing_that_it_printed() {
    let Some(world) = python_world() else { return };
    world.write("loop.py", LOOP);
    let mut running = watch(&world, &["loop.py:4 {i}"], &["python3", "loop.py"]).start();
    until("hits to be printed", LIMIT, || running.output().matches("\"hit\"").count() > 20);
    running.signal(Signal::KILL);
    let ran = running.wait();
    until("the program to be gone", LIMIT, || world.trial_processes().is_empty());
    let last = ran.stdout.rfind('\n').map_or(0, |at| at + 1);
    let shown = world.bystander(["show", "--json"]).run();
    assert_eq!(shown.code, Some(130), "{}", shown.stderr);
    assert!(shown.stdout.starts_with(&ran.stdout[..last]), "every printed hit is in the record, in its order");
    let (_, summary) = printed(&shown);
    assert_eq!(
        (summary["status"].as_str(), &summary["exit"], &summary["probes"][0]["dropped"]),
        (Some("killed"), &Value::Null, &Value::Null)
    );
    until("the rings to be gone", LIMIT, || world.rings() == Vec::<PathBuf>::new());
}

#[test]
fn a_reader_that_goes_away_ends_neither_the_program_nor_the_record() {
    let Some(world) = python_world() else { return };
    world.write("app.py", "import os, sys\ndef f(i):\n    return i\nfor i in range(20000):\n    f(i)\nopen('done', 'w').close()\n");
    let inner = format!("{} watch --limit 100000 -p 'app.py:3 {{i}}' -- python3 app.py | head -1", env!("CARGO_BIN_EXE_bystander"));
    let ran = world.run(Path::new("/bin/sh")).args(["-c", &inner]).run().exits(0);
    assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
    assert!(world.path("done").exists(), "the program ran to its end");
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    let (hits, summary) = printed(&world.bystander(["show", "--json"]).run().exits(0));
    assert_eq!(summary["hits"].as_u64(), Some(hits.len() as u64));
    let (seen, dropped) = counts(&summary, "p1");
    assert_eq!((seen, hits.len() as u64 + dropped.expect("known")), (Some(20000), 20000), "recorded or counted as dropped");
}

#[test]
fn a_slow_reader_gets_every_hit_that_was_recorded() {
    let Some(world) = python_world() else { return };
    world.write("app.py", "def f(i):\n    return i\nfor i in range(120000):\n    f(i)\n");
    // The reader looks only when the program has ended; much more than a pipe holds is printed.
    let inner = format!(
        "{} watch --json --limit 1000000 -p 'app.py:2 {{i}}' -- python3 app.py | (until [ -e ended ]; do sleep 0.05; done; cat)",
        env!("CARGO_BIN_EXE_bystander")
    );
    let running = world.run(Path::new("/bin/sh")).args(["-c", &inner]).start();
    until("the program to be gone", LIMIT, || running.stderr().contains("watching") && world.trial_processes().is_empty());
    world.write("ended", "");
    let ran = running.wait().exits(0);
    let (hits, summary) = printed(&ran);
    let (seen, dropped) = counts(&summary, "p1");
    assert_eq!((seen, summary["hits"].as_u64()), (Some(120_000), Some(hits.len() as u64)));
    assert_eq!(hits.len() as u64 + dropped.expect("known"), 120_000);
    let order: Vec<u64> = hits.iter().map(|hit| hit["values"]["i"].as_u64().expect("a number")).collect();
    assert!(order.is_sorted(), "in their order");
}

#[test]
fn the_limit_is_said_and_counting_goes_on() {
    let Some(world) = python_world() else { return };
    world.write("app.py", "def f(i):\n    return i\nfor i in range(500):\n    f(i)\n");
    let (hits, summary) = printed(&watch(&world, &["app.py:2 {i} limit 7"], &["python3", "app.py"]).run().exits(0));
    let probe = &summary["probes"][0];
    assert_eq!(
        (hits.len(), &probe["recorded"], &probe["passes"], &probe["states"]["expired"]),
        (7, &7.into(), &500.into(), &1.into()),
        "{summary:#}"
    );
}

#[test]
fn the_exit_code_tells_a_program_that_failed_from_a_probe_that_saw_nothing() {
    let Some(world) = python_world() else { return };
    world.write("app.py", "import sys\ndef f():\n    return 1\nf()\nif sys.argv[1:]:\n    sys.exit(int(sys.argv[1]))\n");
    world.write("other.py", "def g():\n    return 1\n");
    watch(&world, &["app.py:3"], &["python3", "app.py"]).run().exits(0);
    watch(&world, &["app.py:3"], &["python3", "app.py", "5"]).run().exits(1);
    let (_, summary) = printed(&watch(&world, &["other.py:2", "app.py:3"], &["python3", "app.py"]).run().exits(2));
    assert!(text(&summary["probes"][0]["silent"]).starts_with("not imported"), "{summary:#}");
    assert_nothing_left(&world);
}

#[test]
fn what_a_program_leaves_behind_is_ended_and_said() {
    let Some(world) = python_world() else { return };
    world.write(
        "app.py",
        "import subprocess, sys\ndef f():\n    return 1\nf()\nsubprocess.Popen(['sleep', '600'], start_new_session=True)\n",
    );
    let (_, summary) = printed(&watch(&world, &["app.py:3"], &["python3", "app.py"]).run().exits(0));
    assert!(text(&summary["left"]).contains("sleep 600"), "{summary:#}");
    assert_nothing_left(&world);
}

#[test]
fn secrets_are_in_neither_hits_nor_the_record() {
    let Some(world) = python_world() else { return };
    world.write("app.py", "import os, sys\ndef f(text, api_key):\n    return text\nf('with ' + os.environ['HF_TOKEN'], sys.argv[2])\n");
    let run = watch(&world, &["app.py:3 {text, api_key}"], &["python3", "app.py", "--api-key", "hunter22hunter22"]);
    let ran = run.env("HF_TOKEN", "hf_verysecret").run().exits(0);
    let record = fs::read(world.path(".bystander/record.sqlite")).expect("the record");
    let log = fs::read(world.path(".bystander/record.sqlite-wal")).unwrap_or_default();
    for secret in ["hunter22hunter22", "hf_verysecret"] {
        assert!(!ran.stdout.contains(secret) && !ran.stderr.contains(secret), "{}\n{}", ran.stdout, ran.stderr);
        let held = |bytes: &[u8]| bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!held(&record) && !held(&log), "{secret} is in the record");
    }
    assert_eq!(printed(&ran).0[0]["values"]["text"], "with *************");
}

#[test]
fn the_places_of_a_file_or_a_module_are_listed_without_running_it() {
    if python().is_none() {
        return skip("there is no Python 3.8 or newer", Mark::Machine);
    }
    let world = crate::world::world();
    world.write("pkg/mod.py", "open('ran', 'w')\ndef f(x):\n    for i in x:\n        yield i\n    return 1\n");
    world.write("pkg/__init__.py", "open('ran', 'w')\n");
    for what in ["pkg/mod.py", "pkg.mod"] {
        let listed = world.bystander(["watch", "--json", "--list", what]).run().exits(0).json();
        assert_eq!(listed["functions"][0]["name"], "f", "{listed:#}");
        assert!(listed["lines"].as_array().is_some_and(|lines| lines.iter().any(|line| line["line"] == 3)), "{listed:#}");
        let text = world.bystander(["watch", "--lines", "--list", what]).run().exits(0).stdout;
        assert!(text.contains("before line 3 (for)") && text.contains("yield i"), "{text}");
    }
    assert!(!world.path("ran").exists(), "nothing was imported");
    world.bystander(["watch", "--list", "nosuch"]).run().exits(3).says(&["failed to find a file or a module `nosuch`"]);
}
