//! Programs of other people through `bystander watch`: every way in which Python starts processes, test runners, and servers with workers.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use bystander_testkit::{LIMIT, Mark, Python, Ran, Signal, World, pythons, skip, until};
use serde_json::Value;

use crate::experiment::{shown, world};
use crate::workers::{FASTAPI, FLASK, programs};

/// A parent that starts two children by the way that it is told, each of which calls the function once.
const STARTS: &str = "import multiprocessing, subprocess, sys

def step(number):
    answer = number * 2
    return answer

if __name__ == '__main__':
    import starts
    way = sys.argv[1]
    if way == 'subprocess':
        for number in (1, 2):
            subprocess.run([sys.executable, '-c', 'import starts; starts.step(%d)' % number], check=True)
    else:
        context = multiprocessing.get_context(way)
        children = [context.Process(target=starts.step, args=(number,)) for number in (1, 2)]
        [child.start() for child in children]
        [child.join() for child in children]
    print('done')
";

/// The hits and the summary of `watch --json`.
fn printed(ran: &Ran) -> (Vec<Value>, Value) {
    let mut lines: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    let summary = lines.pop().unwrap_or_else(|| panic!("nothing was printed:\n{}", ran.stderr));
    (lines.into_iter().map(|line| line["hit"].clone()).collect(), summary["summary"].clone())
}

#[test]
fn each_way_to_start_a_process_is_covered_on_every_python() {
    if pythons().is_empty() {
        return skip("there is no Python 3.8 or newer", Mark::Machine);
    }
    for python in pythons() {
        let world = world();
        world.write("starts.py", STARTS);
        for way in ["fork", "spawn", "forkserver", "subprocess"] {
            let run = world.bystander([
                "watch",
                "--json",
                "-p",
                "starts:step after \"answer = ...\" {number, answer}",
                "--",
                shown(&python.path),
            ]);
            let ran = run.args(["starts.py", way]).run().exits(0);
            let (hits, summary) = printed(&ran);
            let seen: BTreeSet<(u64, u64)> =
                hits.iter().filter_map(|hit| Some((hit["values"]["number"].as_u64()?, hit["values"]["answer"].as_u64()?))).collect();
            let pids: BTreeSet<u64> = hits.iter().filter_map(|hit| hit["pid"].as_u64()).collect();
            assert_eq!((seen, pids.len()), ([(1, 2), (2, 4)].into(), 2), "{:?} {way}: {summary:#}", python.version);
            assert_eq!(summary["probes"][0]["dropped"], 0, "{:?} {way}", python.version);
            assert!(ran.stderr.contains("done"), "{}", ran.stderr);
        }
    }
}

/// The packages for one Python; `None` where there are none, which is told.
fn packages(python: &Python) -> Option<PathBuf> {
    let version = format!("{}.{}", python.version.0, python.version.1);
    let folder = std::env::var_os("BYSTANDER_TEST_PACKAGES").map(|folder| PathBuf::from(folder).join(version));
    let found = folder.filter(|folder| folder.join("pytest").is_dir() && folder.join("coverage").is_dir());
    if found.is_none() {
        skip("BYSTANDER_TEST_PACKAGES names no pytest and coverage (crates/probe/python/tests/requirements.txt)", Mark::Machine);
    }
    found
}

#[test]
fn test_runners_and_coverage_say_the_same_and_the_probe_sees_the_test() {
    for python in pythons() {
        let Some(packages) = packages(python) else { return };
        let world = world();
        world.write("mod.py", "def double(n):\n    answer = n * 2\n    return answer\n");
        world.write("test_mod.py", "import mod\n\ndef test_double():\n    assert mod.double(4) == 8\n");
        let exe = shown(&python.path);
        for command in [
            &[exe, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mod.py"][..],
            &[exe, "-m", "coverage", "run", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mod.py"],
        ] {
            let run = world.bystander(["watch", "--json", "-p", "mod:double@return {return, n}", "-p", "test_mod.py:4 as test", "--"]);
            let ran = run.args(command).env("PYTHONPATH", &packages).run().exits(0);
            let (hits, summary) = printed(&ran);
            assert!(ran.stderr.contains("1 passed"), "{}", ran.stderr);
            let probes: BTreeSet<&str> = hits.iter().filter_map(|hit| hit["probe"].as_str()).collect();
            assert_eq!(probes, ["p1", "test"].into(), "{:?} {command:?} {summary:#}", python.version);
            let back = hits.iter().find(|hit| hit["probe"] == "p1").expect("a hit");
            assert_eq!(back["values"]["return"], 8, "{back}");
        }
    }
}

#[test]
fn both_workers_of_a_server_are_watched_until_it_is_stopped() {
    let Some(programs) = programs() else { return };
    let (gunicorn, python) = (programs.join("bin/gunicorn"), programs.join("bin/python"));
    let forked: &[&str] = &[shown(&gunicorn), "-w", "2", "-b", "127.0.0.1:PORT", "app:app"];
    let spawned: &[&str] = &[shown(&python), "-m", "uvicorn", "app:app", "--workers", "2", "--host", "127.0.0.1", "--port", "PORT"];
    for (text, command) in [(FLASK, forked), (FASTAPI, spawned)] {
        let world = world();
        world.write("app.py", text);
        serves(&world, command);
    }
}

fn serves(world: &World, command: &[&str]) {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
    let command: Vec<String> = command.iter().map(|word| word.replace("PORT", &port.to_string())).collect();
    let mut running = world.bystander(["watch", "--json", "-p", "app:double {number}", "--"]).args(&command).start();
    let both_hit = || {
        let output = running.output();
        let hit = |line: &str| serde_json::from_str::<Value>(line).ok()?["hit"]["pid"].as_u64();
        output.lines().filter_map(hit).collect::<BTreeSet<u64>>().len() == 2
    };
    // Asked until both workers have answered: which of them does is for the kernel to choose.
    until("both workers to be hit", LIMIT, || {
        let ask = world.run(Path::new("/usr/bin/env")).args(["python3", "-c", ASK]).args([port.to_string()]).run();
        ask.code.is_some() && both_hit()
    });
    running.signal(Signal::INT);
    let (hits, summary) = printed(&running.wait().exits(130));
    let armed: BTreeSet<u64> = summary["receipts"]
        .as_array()
        .expect("receipts")
        .iter()
        .filter(|receipt| receipt["state"] == "armed" && receipt["hits"].as_u64() > Some(0))
        .filter_map(|receipt| receipt["pid"].as_u64())
        .collect();
    assert_eq!(armed.len(), 2, "{summary:#}");
    assert_eq!((summary["hits"].as_u64(), summary["status"].as_str()), (Some(hits.len() as u64), Some("interrupted")));
    assert_eq!(world.processes(), []);
}

/// Asks once from each of four threads.
const ASK: &str = "
import sys, threading, urllib.request
def ask(number):
    try:
        urllib.request.urlopen('http://127.0.0.1:%s/double/%d' % (sys.argv[1], number), timeout=5).read()
    except OSError:
        pass
threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
";
