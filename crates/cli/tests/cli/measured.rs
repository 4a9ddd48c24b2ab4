//! Metrics from everywhere: output, a file, answers of the program's own server, its Prometheus series, the engine's figures, a probe's hits, samples.

use serde_json::Value;

use crate::world::{assert_nothing_left, python_world, run, text, trials, world};

const SERVER: &str = r##"
import http.server, json, sys, sizing

asked = 0

def metrics():
    return "\n".join([
        "# TYPE vllm:generation_tokens_total counter",
        'vllm:generation_tokens_total{engine="0"} %d' % (100 + 10 * asked),
        "# TYPE vllm:num_requests_running gauge",
        'vllm:num_requests_running{engine="0"} 0',
        "vllm:prompt_tokens_total %d" % (50 * asked),
        "vllm:prefix_cache_queries_total %d" % (50 * asked),
        "vllm:prefix_cache_hits_total %d" % (25 * asked),
        "vllm:spec_decode_num_drafts_total %d" % (4 * asked),
        "vllm:spec_decode_num_draft_tokens_total %d" % (12 * asked),
        "vllm:spec_decode_num_accepted_tokens_total %d" % (6 * asked),
        "# TYPE ttft_seconds histogram",
        'ttft_seconds_bucket{le="+Inf"} %d' % (1 + asked),
        "ttft_seconds_sum %f" % (9 + 0.25 * asked),
        "ttft_seconds_count %d" % (1 + asked),
    ]) + "\n"

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        global asked
        asked += self.path == "/work"
        found = {"/health": "ok", "/work": "ok", "/metrics": metrics(), "/stats": json.dumps({"asked": asked, "s": [1, 2]})}.get(self.path)
        body = (found or "").encode()
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *a):
        pass

print("kv cache: tokens=%d" % sizing.rest(105), flush=True)
for step in range(3000):
    print("step %d of many" % step)
print("last tokens are 7", flush=True)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"##;

const SIZING: &str = "def rest(total):\n    left = total - 5\n    return left\n";

const WORK: &str = r#"
import json, sys, urllib.request
for _ in range(3):
    urllib.request.urlopen("http://127.0.0.1:%s/work" % sys.argv[1]).read()
json.dump({"runs": [{"t": 1.5}, {"t": 2}]}, open(sys.argv[2] + "/out.json", "w"))
print(json.dumps({"p50": {"ms": 1.25}}, indent=2))
"#;

const FILE: &str = r#"
[program]
command = ['python3', 'server.py', '{port}']
ready = { http = 'http://127.0.0.1:{port}/health' }
[workload]
command = ['python3', 'work.py', '{port}', '{trial}']
[[probes]]
name = 'kv'
at = 'sizing:rest'
after = 'left = ...'
capture = ['left']
[metrics]
tokens = { log = 'cache: tokens=(\d+)' }
steps = { log = '^step (\d+) of', pick = 'max' }
several = { log = '^step (\d+) of' }
printed = { workload = { json = 'p50.ms' } }
written = { file = '{trial}/out.json', json = 'runs[*].t', pick = 'sum' }
stale = { file = 'old.json', json = 'a' }
page = { http = 'http://127.0.0.1:{port}/stats', json = 'asked' }
lost = { http = 'http://127.0.0.1:{port}/nothing', json = 'asked' }
grown = { prometheus = 'vllm:generation_tokens{engine="0"}', when = 'delta' }
first = { prometheus = 'ttft_seconds', when = 'delta' }
accept = { from = 'engine.accept_length' }
hits = { from = 'engine.prefix_hit_rate' }
kept = { from = 'engine.preemptions' }
left = { from = 'kv.left' }
memory = { from = 'peak_rss' }
[plan]
describe = true
blocks = 1
baseline.instrument = 'none'
instruments = ['none', 'kv']
"#;

#[test]
fn every_number_is_read_where_it_is_and_says_so() {
    let Some(world) = python_world() else { return };
    world.write("case/server.py", SERVER);
    world.write("case/sizing.py", SIZING);
    world.write("case/work.py", WORK);
    world.write("case/old.json", r#"{"a": 5}"#);
    let file = world.write("case/case.toml", FILE);
    let report: Value = run(&world, &file).run().exits(0).json();
    assert_nothing_left(&world);
    assert_eq!(trials(&report).len(), 2);
    for trial in trials(&report) {
        assert_eq!(trial["outcome"], "completed", "{trial:#}");
        let number = |name: &str| trial["metrics"][name].as_f64();
        let said = |name: &str| {
            let evidence = &trial["metric_evidence"][name];
            format!("{}: {}", text(&evidence["where"]), text(&evidence["text"]))
        };
        let with_probe = trial["instrument"] == "kv";
        let wanted = [
            ("tokens", Some(100.0), "stdout:1: kv cache: tokens=100"),
            ("steps", Some(2999.0), "stdout:3001: the greatest of 3000 matches: step 2999 of many"),
            ("several", None, "one of 3000 matches, so none counts"),
            ("printed", Some(1.25), "workload p50.ms: p50.ms is 1.25"),
            ("written", Some(3.5), "out.json runs[*].t: the sum, beginning here, of 2 values"),
            ("stale", None, "old.json: the file is the one that was there before the launch"),
            ("page", Some(3.0), "-after-stats) asked: asked is 3"),
            ("lost", None, "/nothing answered 404"),
            ("grown", Some(30.0), "100 \u{2192} vllm:generation_tokens_total{engine=\"0\"} 130 (line 2)"),
            ("first", Some(0.25), "mean of 3 observations"),
            ("accept", Some(2.5), "1 + accepted / drafts: vllm:spec_decode_num_accepted_tokens_total 0 \u{2192} 18"),
            ("hits", Some(0.5), "vllm:prefix_cache_hits_total 0 \u{2192} 75"),
            ("kept", None, "the server has no `vllm:num_preemptions_total`"),
            ("left", with_probe.then_some(100.0), if with_probe { "left = 100" } else { "this cell does not hold the probe `kv`" }),
        ];
        for (name, value, words) in wanted {
            assert_eq!(number(name), value, "{name}: {}", said(name));
            assert!(said(name).contains(words), "{name}: {:?} is not in {:?}", words, said(name));
        }
        assert!(number("memory").is_some_and(|bytes| bytes > 1e6), "{}", said("memory"));
        assert_eq!((text(&trial["engine"]["engine"]), trial["engine"]["figures"]["running"]["value"].as_f64()), ("vllm", Some(0.0)));
    }
    let notes = report["notes"].to_string();
    assert!(notes.contains("50.0 % of the prompt tokens came from the prefix cache"), "{notes}");
}

#[test]
fn a_server_of_somebody_else_is_never_asked_for_numbers() {
    let Some(world) = python_world() else { return };
    // A server outside of the trial whose numbers would be taken if anybody asked it.
    let stranger = std::net::TcpListener::bind("127.0.0.1:0").expect("binds");
    stranger.set_nonblocking(true).expect("sets");
    let port = stranger.local_addr().expect("an address").port();
    let program = "command = ['python3', '-c', 'print(\"up\", flush=True); import time; time.sleep(600)']\nready = { log = 'up' }";
    let metrics = format!(
        "m = {{ http = 'http://127.0.0.1:{port}/', json = 'a' }}\np = {{ prometheus = 'up', when = 'after', url = 'http://127.0.0.1:{port}/metrics' }}"
    );
    let file = world.write("case/case.toml", format!("[program]\n{program}\n[metrics]\n{metrics}\n[plan]\nblocks = 1\ndescribe = true\n"));
    let report: Value = run(&world, &file).run().exits(0).json();
    let trial = &trials(&report)[0];
    assert_eq!(
        (trial["outcome"].as_str(), &trial["metrics"]["m"], &trial["metrics"]["p"]),
        (Some("completed"), &Value::Null, &Value::Null)
    );
    for name in ["m", "p"] {
        let said = text(&trial["metric_evidence"][name]["text"]);
        assert!(said.contains("which is not of this trial"), "{said}");
    }
    assert!(stranger.accept().is_err(), "somebody has connected");
    assert_nothing_left(&world);
}

/// A command as benchmarks are: it ends with exit code 0 whatever became of its requests, and prints how many failed.
const REFUSED: &str = r#"
[program]
command = ['sh', '-c', 'echo up; exec sleep 60']
ready = { log = '^up', stable = '0s' }
[factors.kind]
good = { env = { OK = 'Successful requests: 39', BAD = 'Failed requests: 1' } }
refuses = { env = { OK = 'Successful requests: 0', BAD = 'Failed requests: 40' } }
silent = { env = { OK = 'Successful requests: 40', BAD = '' } }
[workload]
command = ['sh', '-c', 'echo "$OK"; echo "$BAD"; echo Throughput: 5.94']
completed = 'ok'
failed = 'bad'
errors = 0.05
[metrics]
ok = { workload = 'Successful requests: (\d+)' }
bad = { workload = 'Failed requests: (\d+)' }
speed = { workload = 'Throughput: ([\d.]+)', margin = 0.05 }
[plan]
baseline.kind = 'good'
describe = true
blocks = 2
stop = 'all'
"#;

#[test]
fn a_command_that_says_its_requests_failed_fails_and_its_numbers_do_not_count() {
    let world = world();
    let file = world.write("case/case.toml", REFUSED);
    let report: Value = run(&world, &file).run().json();
    assert_nothing_left(&world);
    let of = |kind: &str| trials(&report).iter().find(|trial| trial["levels"]["kind"] == kind).expect("a trial");
    let good = of("good");
    assert_eq!(
        (text(&good["outcome"]), &good["metrics"]["speed"], &good["requests"]["error_rate"]),
        ("completed", &5.94.into(), &0.025.into())
    );
    let refuses = of("refuses");
    assert_eq!((text(&refuses["outcome"]), text(&refuses["cause"])), ("failed", "workload"), "{refuses:#}");
    let why = "40 of 40 requests failed (100.0 %), more than the 5 % that are tolerated";
    assert!(text(&refuses["cause_detail"]["text"]).contains(why), "{refuses:#}");
    assert_eq!((&refuses["metrics"]["speed"], &refuses["metrics"]["bad"]), (&Value::Null, &40.0.into()), "{refuses:#}");
    assert!(text(&refuses["metric_evidence"]["speed"]["text"]).starts_with(&format!("5.94 does not count: {why}")), "{refuses:#}");
    let silent = of("silent");
    assert_eq!((text(&silent["outcome"]), &silent["metrics"]["speed"]), ("undetermined", &Value::Null), "{silent:#}");
    assert!(text(&silent["cause_detail"]["text"]).contains("`bad` has no value"), "{silent:#}");
    // What tells of requests is compared with nothing, and stands beside what it is told of.
    let answers = report["answers"].as_array().expect("answers");
    assert!(answers.iter().all(|answer| answer["metric"] != "bad" && answer["metric"] != "ok"), "{answers:#?}");
    assert_eq!(report["cells"][0]["metrics"]["speed"]["error_rate"], 0.025, "{:#}", report["cells"][0]);
    assert_eq!(report["unrated"], Value::Null);
    let folder = file.parent().expect("a folder");
    let short = world.bystander(["show"]).cwd(folder).run().stdout;
    assert!(short.contains("5.94, 2.5 % failed"), "{short}");
    let shown = world.bystander(["show", "--why"]).cwd(folder).run().stdout;
    assert!(shown.contains("requests of the workload: 1 of 40 requests failed (2.5 %); 5.0 % tolerated"), "{shown}");

    // Without a word about its requests nobody knows, and that is said once.
    let undeclared = REFUSED.replace("completed = 'ok'\nfailed = 'bad'\nerrors = 0.05\n", "").replace("blocks = 2", "blocks = 1");
    let file = world.write("bare/case.toml", &undeclared);
    let report: Value = run(&world, &file).run().json();
    assert!(text(&report["unrated"]).starts_with("How many requests of the workload failed is not known, so ok, bad, speed"), "{report:#}");
    let short = world.bystander(["show"]).cwd(file.parent().expect("a folder")).run().stdout;
    assert_eq!(short.matches("failed is not known").count(), 1, "{short}");
}

/// Ready behind colours and a Windows line end; numbers in other forms and units for each level, and a file that grows over all trials.
const FORMS: &str = r#"
[program]
command = ['sh', '-c', '''
echo "n=$N" >> bench.log
printf 'tokens=%s\nmem=%s\nbig=%s\nhuge=%s\n' "$TOKENS" "$MEM" "$BIG" "$HUGE"
printf '\033[32mready\033[0m to roll\r\n'
exec sleep 60
''']
ready = { log = '^ready to roll$', stable = '50ms' }
[factors.form]
a = { env = { N = '10', TOKENS = '1234567', MEM = '2048 MiB', BIG = '9007199254740992', HUGE = '1e308' } }
b = { env = { N = '20', TOKENS = '1,234,567', MEM = '2.0 GiB', BIG = '9007199254740993', HUGE = '-1e308' } }
[metrics]
n = { file = 'bench.log', pattern = 'n=(\d+)', pick = 'first', scale = 'difference', margin = 1 }
tokens = { log = 'tokens=([\d.]+)', scale = 'difference', margin = 1 }
mem = { log = 'mem=([\d.]+)', scale = 'difference', margin = 1 }
big = { log = 'big=(\S+)', scale = 'difference', margin = 0.5 }
huge = { log = 'huge=(\S+)', scale = 'difference', margin = 1 }
[plan]
baseline.form = 'a'
blocks = 4
primary = 'n'
"#;

#[test]
fn lines_of_earlier_trials_and_parts_of_numbers_answer_nothing() {
    let world = world();
    world.write("case/bench.log", "n=1\nn=2\n");
    let file = world.write("case/case.toml", FORMS);
    let report: Value = run(&world, &file).run().json();
    assert_nothing_left(&world);
    assert!(trials(&report).iter().all(|trial| trial["outcome"] == "completed"), "{report:#}");
    let answer = |metric: &str| {
        let mut answers = report["answers"].as_array().expect("answers").iter();
        answers.find(|answer| answer["metric"] == metric).map(|answer| (text(&answer["verdict"]), text(&answer["text"]))).expect(metric)
    };
    let (verdict, said) = answer("n");
    assert!(verdict == "effect" && said.contains("+10"), "{said}");
    for (metric, why) in [
        ("tokens", "the match stops within a number; `tokens=([-+]?"),
        ("mem", "its unit differs between launches ("),
        ("big", "more digits than can be compared"),
        ("huge", "Not computable"),
    ] {
        let (verdict, said) = answer(metric);
        assert!(verdict == "insufficient" && said.contains(why), "{metric}: {verdict}: {said}");
    }
}
