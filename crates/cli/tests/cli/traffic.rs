//! Built-in traffic in an experiment: what it measures, what fails it, and that its key stays out of the record.

use std::fs;

use bystander_testkit::World;
use serde_json::Value;

use crate::world::{assert_nothing_left, python_world, run, text, trials};

/// A server that streams an answer a token at a time, refuses, or ends itself after some requests.
const SERVER: &str = r#"
import json, os, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

kind, asked = sys.argv[2], 0
held = threading.Lock()
METRICS = '''# TYPE vllm:spec_decode_num_drafts_total counter
vllm:spec_decode_num_drafts_total {drafts}
vllm:spec_decode_num_draft_tokens_total {drafted}
vllm:spec_decode_num_accepted_tokens_total {accepted}
vllm:generation_tokens_total {tokens}
vllm:kv_cache_usage_perc 0.25
vllm:num_requests_running 4
vllm:num_requests_waiting 1
'''

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def say(self, status, kind, body):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/metrics" and kind in ("warm", "cold"):
            hits = 3 * asked if kind == "warm" else 0
            lines = [f"vllm:prefix_cache_queries_total {11 * asked}", f"vllm:prefix_cache_hits_total {hits}", ""]
            return self.say(200, "text/plain", "\n".join(lines).encode())
        models = json.dumps({"object": "list", "data": [{"id": "served", "object": "model"}]}).encode()
        if self.path == "/metrics":
            return self.say(200, "text/plain", METRICS.format(drafts=asked, drafted=3 * asked, accepted=2 * asked, tokens=20 * asked).encode())
        self.say(200, "application/json", models if self.path == "/v1/models" else b"ok")

    def do_POST(self):
        global asked
        asked += 1
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        print("asked with", self.headers.get("authorization"), flush=True)
        if kind == "refuse":
            return self.say(503, "text/plain", b"no room for you")
        if kind == "stuck":
            held.acquire()
        if kind == "die" and asked > 6:
            print("engine: fatal: the device is gone", file=sys.stderr, flush=True)
            os._exit(3)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        def event(data):
            line = b"data: " + data + b"\n\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        for _ in range(body["max_tokens"]):
            time.sleep(0.001)
            event(json.dumps({"choices": [{"index": 0, "delta": {"content": " a"}}]}).encode())
        usage = {"prompt_tokens": 11, "completion_tokens": body["max_tokens"]}
        event(json.dumps({"choices": [], "usage": usage}).encode())
        event(b"[DONE]")
        self.wfile.write(b"0\r\n\r\n")

class Server(ThreadingHTTPServer):
    request_queue_size = 64
    daemon_threads = True

Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"#;

/// An experiment with one factor, `kind`, whose levels are given; the traffic asks twelve times, three at a time.
pub(crate) fn experiment(world: &World, levels: &[&str], more: &str) -> std::path::PathBuf {
    world.write("serve/server.py", SERVER);
    let declared: String = levels.iter().map(|level| format!("{level} = {{ args = [\"{level}\"] }}\n")).collect();
    let file = format!(
        r#"
[program]
command = ["python3", "server.py", "{{port}}"]
ready = {{ http = "http://127.0.0.1:{{port}}/health" }}
[factors.kind]
{declared}
[workload]
timeout = "60s"
[workload.traffic]
url = "http://127.0.0.1:{{port}}"
concurrency = 3
requests = 12
warmup = 3
prompt = {{ tokens = 8 }}
output_tokens = 20
{more}
[metrics]
speed = {{ from = "traffic.tokens_per_s" }}
first = {{ from = "traffic.ttft_p50" }}
errors = {{ from = "traffic.error_rate", scale = "difference" }}
[plan]
baseline = {{ kind = "{}" }}
blocks = 1
describe = true
"#,
        levels[0]
    );
    world.write("serve/serve.toml", file)
}

pub(crate) fn of_level<'a>(report: &'a Value, level: &str) -> &'a Value {
    trials(report).iter().find(|trial| trial["purpose"] == "measure" && trial["levels"]["kind"] == level).expect("a trial")
}

#[test]
fn a_server_that_refuses_requests_fails_and_never_wins() {
    let Some(world) = python_world() else { return };
    let file = experiment(&world, &["good", "refuse"], "");
    let report = run(&world, &file).run().json();
    let good = of_level(&report, "good");
    assert_eq!(good["outcome"], "completed", "{good:#}");
    let traffic = &good["traffic"];
    assert_eq!((&traffic["sent"], &traffic["completed"], &traffic["output_tokens"]), (&12.into(), &12.into(), &240.into()), "{traffic:#}");
    assert_eq!((&traffic["warmup"]["sent"], &traffic["model"], &traffic["input_tokens"]), (&3.into(), &"served".into(), &132.into()));
    assert!(good["metrics"]["speed"].as_f64().is_some_and(|speed| speed > 0.0), "{good:#}");
    assert!(good["metrics"]["first"].as_f64().is_some_and(|first| first >= 0.001), "{good:#}");
    assert_eq!(good["metrics"]["errors"], 0.0);
    let refused = of_level(&report, "refuse");
    assert_eq!(refused["outcome"], "failed", "{refused:#}");
    let said = refused["cause_detail"].to_string();
    assert!(said.contains("12 of 12 requests failed (status_503 12)") && said.contains("no room for you"), "{said}");
    assert_eq!((&refused["metrics"]["speed"], &refused["metrics"]["first"]), (&Value::Null, &Value::Null), "{refused:#}");
    assert_eq!(refused["traffic"]["error_rate"], 1.0);
    let folder = file.parent().expect("a folder");
    let shown = world.bystander(["show", "--why"]).cwd(folder).run().stdout;
    assert!(shown.contains("12 requests, 3 at a time; 0 failed, 0.0 %"), "{shown}");
    assert!(shown.contains("240 output tokens, as the server counts"), "{shown}");
    let short = world.bystander(["show"]).cwd(folder).run().stdout;
    assert!(short.contains("Traffic (medians over launches)") && short.contains("12 of 12"), "{short}");
    assert_nothing_left(&world);
}

/// What an engine counted over the workload is of its measured requests alone: the three of the warm-up are in no figure.
#[test]
fn the_warm_up_enters_no_figure_of_the_engine() {
    let Some(world) = python_world() else { return };
    let file = experiment(&world, &["good", "other"], "");
    let more = "[metrics]\ncounted = { from = \"engine.generation_tokens\" }\n\
        between = { prometheus = 'vllm:generation_tokens_total', when = 'delta' }\n\
        before = { prometheus = 'vllm:generation_tokens_total', when = 'before' }\n";
    let text = fs::read_to_string(&file).expect("it was written").replace("[metrics]\n", more);
    fs::write(&file, text).expect("written");
    let report = run(&world, &file).run().json();
    let metrics = &of_level(&report, "good")["metrics"];
    assert_eq!((&metrics["counted"], &metrics["between"]), (&240.0.into(), &240.0.into()), "{metrics:#}");
    assert_eq!(metrics["before"], 60.0, "{metrics:#}");
    assert_nothing_left(&world);
}

/// No metric asks the engine for its cache: that the prompts are random is reason enough.
#[test]
fn random_prompts_out_of_a_warm_cache_are_no_comparison() {
    let Some(world) = python_world() else { return };
    let file = experiment(&world, &["cold", "warm"], "");
    let report: Value = run(&world, &file).run().json();
    assert_nothing_left(&world);
    let of = |metric: &str| answers_on(&report, metric);
    for metric in ["speed", "first"] {
        let found = of(metric);
        assert_eq!(found["verdict"], "invalid", "{found:#}");
        assert!(text(&found["text"]).contains("27.3 % of their tokens came from the prefix cache"), "{found:#}");
        assert_eq!((&found["strength"], &found["estimate"]), (&Value::Null, &Value::Null));
    }
    assert_ne!(of("errors")["verdict"], "invalid");
    let warm = of_level(&report, "warm");
    assert_eq!(warm["outcome"], "completed", "{warm:#}");
}

fn answers_on<'a>(report: &'a Value, metric: &str) -> &'a Value {
    let answers = report["answers"].as_array().expect("answers");
    answers.iter().find(|answer| answer["metric"] == metric && answer["about"] == "factor:kind").expect("an answer")
}

#[test]
fn the_engine_is_asked_before_and_after_traffic_although_no_metric_asks() {
    let Some(world) = python_world() else { return };
    let file = experiment(&world, &["good", "refuse"], "");
    let report = run(&world, &file).run().json();
    let good = of_level(&report, "good");
    let figure = |name: &str| &good["engine"]["figures"][name];
    assert_eq!(good["engine"]["engine"], "vllm", "{good:#}");
    // Twelve requests without the warm-up, one draft of three each, two of them taken.
    assert_eq!((&figure("accept_length")["value"], &figure("generation_tokens")["value"]), (&3.0.into(), &240.0.into()), "{good:#}");
    assert!(figure("accept_rate")["value"].as_f64().is_some_and(|rate| (rate - 2.0 / 3.0).abs() < 1e-9), "{good:#}");
    for (state, value) in [("kv_usage", 0.25), ("running", 4.0), ("queued", 1.0)] {
        assert_eq!((figure(state)["before"].as_f64(), figure(state)["value"].as_f64()), (Some(value), Some(value)), "{state}: {good:#}");
    }
    // No figure of traffic or engine is without the share of requests that failed.
    let metrics = |kind: &str| {
        let cells = report["cells"].as_array().expect("cells");
        cells.iter().find(|cell| cell["levels"]["kind"] == kind).expect("a cell")["metrics"].clone()
    };
    assert_eq!((&metrics("good")["speed"]["error_rate"], &metrics("refuse")["errors"]["error_rate"]), (&0.0.into(), &1.0.into()));
    let shown = world.bystander(["show"]).cwd(file.parent().expect("a folder")).run().stdout;
    let engine = shown.split("Engine (").nth(1).unwrap_or_else(|| panic!("no table of the engine in:\n{shown}"));
    assert!(engine.contains("failed requests") && engine.contains("accept length") && engine.contains("kv usage"), "{shown}");
    assert!(engine.contains("0 of 12") && engine.contains("3.00") && engine.contains("0.25"), "{shown}");
    assert!(shown.contains(", 0 % failed"), "{shown}");
    assert_nothing_left(&world);
}

#[test]
fn a_server_that_ends_under_load_is_not_a_failure_of_the_traffic_alone() {
    let Some(world) = python_world() else { return };
    let file = experiment(&world, &["good", "die"], "");
    let report = run(&world, &file).run().json();
    assert_eq!(of_level(&report, "good")["outcome"], "completed");
    let died = of_level(&report, "die");
    assert_eq!(died["outcome"], "failed", "{died:#}");
    let cause = text(&died["cause"]);
    assert!(cause != "workload", "the server ended by itself: {died:#}");
    assert!(died["metrics"]["speed"].is_null(), "{died:#}");
    // What the client had measured by then is kept with its error rate, and counts as no measurement.
    let traffic = &died["traffic"];
    let number = |name: &str| traffic[name].as_u64().unwrap_or_else(|| panic!("{name}: {died:#}"));
    assert!(number("completed") >= 1 && number("sent") > number("completed"), "{traffic:#}");
    assert!(died["metrics"]["errors"].as_f64().is_some_and(|rate| rate > 0.0) && traffic["failure"].is_string(), "{died:#}");
    let shown = world.bystander(["show"]).cwd(file.parent().expect("a folder")).run().stdout;
    let table = shown.split("Traffic (").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap_or_default();
    assert!(table.lines().any(|line| line.trim_start().starts_with("die")), "{shown}");
    assert_nothing_left(&world);
}

#[test]
fn the_key_of_the_interface_is_used_and_is_nowhere_in_the_record() {
    let Some(world) = python_world() else { return };
    // A name that does not look secret, so that only the file says that it is.
    let file = experiment(&world, &["good", "refuse"], "api_key_env = \"SERVE_ACCESS\"");
    run(&world, &file).run().exits(3).says(&["the variable `SERVE_ACCESS` with the key of the interface is not set"]);
    let ran = run(&world, &file).env("SERVE_ACCESS", "kept-out-of-it").run();
    assert_eq!(of_level(&ran.json(), "good")["outcome"], "completed");
    let mut asked = false;
    for file in files(&file.parent().expect("a folder").join(".bystander")) {
        let bytes = fs::read(&file).expect("a file of the state");
        let holds = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(!holds("kept-out-of-it"), "{}", file.display());
        asked |= holds("asked with Bearer **************");
    }
    assert!(asked, "the server was asked with the key");
    assert_nothing_left(&world);
}

#[test]
fn prompts_that_are_none_are_told_before_anything_is_launched() {
    let Some(world) = python_world() else { return };
    let file = experiment(&world, &["good", "refuse"], "");
    let text = fs::read_to_string(&file).expect("the file").replace("{ tokens = 8 }", "{ file = \"prompts.jsonl\" }");
    let file = world.write("serve/serve.toml", text);
    run(&world, &file).run().exits(3).says(&["failed to read the prompts in"]);
    world.write("serve/prompts.jsonl", "{\"prompt\": \"a\"}\n{\"no\": 1}\n");
    run(&world, &file).run().exits(3).says(&["line 2 of"]);
    assert_nothing_left(&world);
}

fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).filter(|path| path.is_file()).collect()
}
