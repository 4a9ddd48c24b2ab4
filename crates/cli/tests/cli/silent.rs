//! Servers whose health is green while requests run out of time: which of them hang, and which only were asked for too much.

use bystander_testkit::World;
use serde_json::Value;

use crate::world::{assert_nothing_left, python_world, run, text, trials};

/// Health and models are always fine; what becomes of a completion is the first argument's to say.
const SERVER: &str = r#"
import json, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

kind, served, never = sys.argv[2], [], threading.Lock()
never.acquire()

def decode(prompt):
    if kind == "stuck" and len(served) >= 1:
        never.acquire()
    if kind == "slow" and prompt.count(" ") > 20:
        time.sleep(3)
    served.append(prompt)

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def say(self, body):
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.say({"object": "list", "data": [{"id": "served", "object": "model"}]} if self.path == "/v1/models" else {})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        decode(str(asked.get("prompt") or asked.get("messages")))
        try:
            self.say({"choices": [{"index": 0, "text": "a", "finish_reason": "length"}], "usage": {"completion_tokens": 1}})
        except ConnectionError:
            pass

class Server(ThreadingHTTPServer):
    request_queue_size = 64
    daemon_threads = True

Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"#;

const TRAFFIC: &str = "timeout = \"60s\"\n[workload.traffic]\nurl = \"http://127.0.0.1:{port}\"\nendpoint = \"completions\"\nconcurrency = 2\nrequests = 4\n\
    timeout = \"1s\"\noutput_tokens = 4\nprompt = { tokens = 60 }\n";

/// The only launch of a server of that kind, with more conditions of readiness and that workload.
fn only_trial(world: &World, kind: &str, ready: &str, workload: &str) -> Value {
    world.write("case/server.py", SERVER);
    let file = format!(
        "[program]\ncommand = [\"python3\", \"server.py\", \"{{port}}\", \"{kind}\"]\nready = {{ http = \"http://127.0.0.1:{{port}}/health\"{ready} }}\n\
         timeout = \"100s\"\nstall = \"1s\"\ngrace = \"1s\"\n[workload]\n{workload}\n[plan]\nblocks = 1\ndescribe = true\n"
    );
    let file = world.write("case/case.toml", file);
    let report = run(world, &file).run().exits(0).json();
    assert_nothing_left(world);
    assert_eq!(trials(&report).len(), 1, "{report:#}");
    trials(&report)[0].clone()
}

/// Outcome, class of the cause, and its text.
fn came_to(trial: &Value) -> (&str, &str, &str) {
    (text(&trial["outcome"]), trial["cause"].as_str().unwrap_or(""), text(&trial["cause_detail"]["text"]))
}

#[test]
fn requests_that_run_out_of_time_at_a_server_that_answers_nobody_are_its_hang() {
    let Some(world) = python_world() else { return };
    for ready in ["", ", generates = { model = \"served\", prompt = \"are you there\" }"] {
        let trial = only_trial(&world, "stuck", ready, TRAFFIC);
        let (outcome, class, said) = came_to(&trial);
        assert_eq!((outcome, class), ("timed_out", "hang"), "{trial:#}");
        assert!(said.contains("its conditions hold, and http://127.0.0.1:") && said.contains("/v1/completions gave no answer"), "{said}");
        assert!(said.contains("in decode, case/server.py:") && said.contains("requests failed (timeout"), "{said}");
        assert_eq!(trial["cause_detail"]["signature"], "hang in case/server.py:decode");
        assert!(trial["output"]["stacks"].is_string(), "{trial:#}");
    }
}

#[test]
fn a_client_that_gives_up_for_itself_is_told_by_a_completion_of_our_own() {
    let Some(world) = python_world() else { return };
    let generates = ", generates = { model = \"served\", prompt = \"are you there\" }";
    let client = "import sys\nprint('read timed out', file=sys.stderr)\nsys.exit(1)\n";
    world.write("case/client.py", client);
    let workload = "command = [\"python3\", \"client.py\"]\n";
    let (hung, fine) = (only_trial(&world, "stuck", generates, workload), only_trial(&world, "good", generates, workload));
    assert_eq!((came_to(&hung).0, came_to(&hung).1), ("timed_out", "hang"), "{hung:#}");
    let (outcome, class, said) = came_to(&fine);
    assert_eq!((outcome, class), ("failed", "workload"), "{fine:#}");
    assert!(
        said.contains("exit code 1: read timed out; it does not hang: ") && said.contains("completed a prompt of its own in "),
        "{said}"
    );
}

#[test]
fn a_server_that_is_slow_for_what_it_is_asked_does_not_hang() {
    let Some(world) = python_world() else { return };
    let trial = only_trial(&world, "slow", "", TRAFFIC);
    let (outcome, class, said) = came_to(&trial);
    assert_eq!((outcome, class), ("failed", "workload"), "{trial:#}");
    assert!(said.contains("4 of 4 requests failed (timeout 4)") && said.contains("it does not hang: "), "{said}");
}
