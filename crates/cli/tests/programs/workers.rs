//! Web servers with two workers, one that forks and one that spawns: the probe is in both, and both account for it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use bystander_testkit::{Mark, World, skip};

use crate::experiment::{Experiment, Found, shown, sorts_of_lines, world};

pub(crate) const FLASK: &str = r#"import os

from flask import Flask, jsonify

app = Flask(__name__)


@app.route("/double/<int:number>")
def double(number):
    answer = number * 2
    return jsonify(answer=answer, worker=os.getpid())
"#;

pub(crate) const FASTAPI: &str = r#"import os

from fastapi import FastAPI

app = FastAPI()


@app.get("/double/{number}")
def double(number: int):
    answer = number * 2
    return {"answer": answer, "worker": os.getpid()}
"#;

/// Asks from four threads until both workers have answered, and says how often it asked and whether every answer was right.
const ASK: &str = "
import json, sys, threading, urllib.request
lock, seen, asked, wrong = threading.Lock(), set(), [0], [0]
def ask():
    while True:
        with lock:
            if len(seen) == 2 or asked[0] >= 4000:
                return
            asked[0] += 1
            number = asked[0]
        with urllib.request.urlopen('http://127.0.0.1:%s/double/%d' % (sys.argv[1], number)) as answer:
            body = json.loads(answer.read())
        with lock:
            seen.add(body['worker'])
            wrong[0] += body['answer'] != 2 * number
threads = [threading.Thread(target=ask) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print('workers=%d wrong=%d' % (len(seen), wrong[0]))
print('asked=%d' % asked[0])
";

/// The folder of programs that the tests may install; `None` where there is none, which is told.
pub(crate) fn programs() -> Option<PathBuf> {
    let named = std::env::var_os("BYSTANDER_TEST_VENV").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/ci-venv"));
    match ["gunicorn", "uvicorn", "python"].iter().all(|name| folder.join("bin").join(name).is_file()) {
        true => Some(std::path::absolute(folder).expect("a path")),
        false => {
            skip("gunicorn, flask, uvicorn and fastapi are not in BYSTANDER_TEST_VENV (`just venv` installs them)", Mark::Machine);
            None
        }
    }
}

#[test]
fn both_forked_workers_of_gunicorn_are_probed() {
    let Some(programs) = programs() else { return };
    let world = world();
    world.write("app.py", FLASK);
    let gunicorn = programs.join("bin/gunicorn");
    let command = [shown(&gunicorn), "-w", "2", "-b", "127.0.0.1:{port}", "--access-logfile", "-", "app:app"];
    // The launcher puts the working directory on the path by itself, so the place is told by the file.
    let found = probed(&world, &programs, &command, "app.py:11", None);
    both_workers_account_for_every_answer(&found);
}

#[test]
fn both_spawned_workers_of_uvicorn_are_probed() {
    let Some(programs) = programs() else { return };
    let world = world();
    world.write("app.py", FASTAPI);
    let python = programs.join("bin/python");
    let command = [shown(&python), "-m", "uvicorn", "app:app", "--workers", "2", "--host", "127.0.0.1", "--port", "{port}"];
    let found = probed(&world, &programs, &command, "app:double", Some("answer = ..."));
    both_workers_account_for_every_answer(&found);
}

fn probed(world: &World, programs: &Path, command: &[&str], at: &str, after: Option<&str>) -> Found {
    let python = programs.join("bin/python");
    Experiment {
        command,
        // By an answer: a socket that listens says nothing of the workers behind it.
        ready: Some("{ http = \"http://127.0.0.1:{port}/double/0\" }"),
        workload: Some(&[shown(&python), "-c", ASK, "{port}"]),
        at,
        after,
        capture: &["number", "answer"],
        count: "{ workload = 'asked=(\\d+)' }",
    }
    .run(world)
}

fn both_workers_account_for_every_answer(found: &Found) {
    for instrument in ["none", "probe"] {
        let said = found.output(instrument, "workload");
        assert!(said.contains("workers=2 wrong=0"), "{instrument}: {said}");
    }
    let hit: BTreeSet<u64> =
        found.receipts().iter().filter(|(_, state, hits)| state == "armed" && *hits > 0).map(|(pid, ..)| *pid).collect();
    assert_eq!(hit.len(), 2, "{:?}", found.receipts());
    // Beside the workload only the questions of readiness came, of which the last was answered.
    let access = found.output("probe", "stdout") + &found.output("probe", "stderr");
    let answered = access.lines().filter(|line| line.contains("GET /double/")).count() as u64;
    assert!(found.hits() > found.count("probe"), "{} hits of {} requests", found.hits(), found.count("probe"));
    assert_eq!(found.hits(), answered, "{access}");
    let log = |instrument| sorts_of_lines(&(found.output(instrument, "stdout") + &found.output(instrument, "stderr")), "GET /double/");
    assert!(!log("none").is_empty());
    assert_eq!(log("none"), log("probe"));
    for capture in found.report["captures"].as_array().expect("captures") {
        let values = &capture["hit"]["values"];
        assert_eq!(values["answer"].as_u64(), values["number"].as_u64().map(|number| number * 2), "{capture}");
    }
    found.assert_quiet();
}
