//! Readiness and treatments through the whole command: what counts as ready, what dies with it, and a level that must be seen.

use bystander_testkit::World;
use serde_json::Value;

use crate::world::{assert_nothing_left, python_world, run, text, trials, world};

/// The server that the supervisor's tests ask.
const SERVER: &str = include_str!("../../../supervise/tests/supervise/servers/openai.py");

/// The report of an experiment that may end in any way.
fn report(world: &World, file: &str, exit: i32) -> Value {
    let path = world.write("case/case.toml", file);
    let report = run(world, &path).run().exits(exit).json();
    assert_nothing_left(world);
    report
}

/// The only trial of a program that is described.
fn only_trial(world: &World, program: &str) -> Value {
    let report = report(world, &format!("[program]\n{program}\n[plan]\nblocks = 1\ndescribe = true\n"), 0);
    assert_eq!(trials(&report).len(), 1, "{report:#}");
    trials(&report)[0].clone()
}

fn told(trial: &Value) -> (&str, &str, &str) {
    (text(&trial["outcome"]), trial["cause"].as_str().unwrap_or(""), trial["cause_detail"]["text"].as_str().unwrap_or(""))
}

/// The texts of a trial's evidence, in one.
fn evidence(trial: &Value) -> String {
    let found = trial["evidence"].as_array().expect("evidence").iter();
    found.map(|evidence| format!("{}: {}", text(&evidence["where"]), text(&evidence["text"]))).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_program_that_says_that_it_is_ready_and_dies_has_failed() {
    let world = world();
    let trial = only_trial(&world, "command = ['sh', '-c', 'echo up; exit 3']\nready = { log = 'up' }");
    let (outcome, cause, said) = told(&trial);
    assert_eq!((outcome, cause, &trial["ready_s"]), ("failed", "ready_then_died", &Value::Null));
    assert!(said.starts_with("every condition of readiness held, and ") && said.contains("later it ended with exit code 3"), "{said}");
    assert!(trial["cause_detail"]["evidence"].to_string().contains("must go on holding for 2 s"), "{trial:#}");
}

#[test]
fn a_death_that_comes_a_moment_after_the_ready_line_is_seen_although_nobody_works_with_it() {
    let world = world();
    for (end, said) in [("exit 3", "exit code 3"), ("kill -SEGV $$", "ended by SIGSEGV")] {
        let trial = only_trial(&world, &format!("command = ['sh', '-c', 'echo up; sleep 0.4; {end}']\nready = {{ log = 'up' }}"));
        let (outcome, cause, text) = told(&trial);
        assert_eq!((outcome, cause), ("failed", "ready_then_died"), "{trial:#}");
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn a_program_that_gives_its_word_and_ends_well_has_completed_however_soon() {
    let world = world();
    for pause in ["", "sleep 0.4; "] {
        let trial = only_trial(&world, &format!("command = ['sh', '-c', 'echo up; {pause}exit 0']\nready = {{ log = 'up' }}"));
        assert_eq!(told(&trial).0, "completed", "{trial:#}");
        let (ready, wall) = (trial["ready_s"].as_f64().expect("was ready"), trial["wall_s"].as_f64().expect("ended"));
        assert!(ready <= wall && wall < 60.0, "ready at {ready}, over at {wall}");
        assert!(evidence(&trial).contains("later it ended with exit code 0, as a program may that serves nobody"), "{}", evidence(&trial));
    }
}

#[test]
fn a_server_that_ends_as_if_all_were_well_has_died() {
    let Some(world) = python_world() else { return };
    let script = "import socket, sys, time\ns = socket.create_server(('127.0.0.1', int(sys.argv[1])))\ntime.sleep(0.7)\n";
    world.write("case/server.py", script);
    let trial = only_trial(&world, "command = ['python3', 'server.py', '{port}']\nready = { port = '{port}' }\ntimeout = '60s'");
    let (outcome, cause, said) = told(&trial);
    assert_eq!((outcome, cause), ("failed", "ready_then_died"), "{trial:#}");
    assert!(said.contains("later it ended with exit code 0"), "{said}");
}

/// A server that answers `/health`, and stands still in `generate` once it is asked for more; `KIND` is the server's class.
const HANGS: &str = "import http.server, sys, threading
lock = threading.Lock()
lock.acquire()
def generate():
    lock.acquire()
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def do_POST(self):
        generate()
    def log_message(self, *words):
        pass
http.server.KIND(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()
";

/// A trial whose workload asks such a server.
fn asked(world: &World, kind: &str, workload: &str) -> Value {
    world.write("case/server.py", HANGS.replace("KIND", kind));
    world.write("case/ask.py", "import sys, urllib.request\nurllib.request.urlopen(sys.argv[1], data=b'x', timeout=float(sys.argv[2]))\n");
    only_trial(
        world,
        &format!(
            "command = ['python3', 'server.py', '{{port}}']\nready = {{ http = 'http://127.0.0.1:{{port}}/health' }}\n[workload]\n{workload}"
        ),
    )
}

#[test]
fn a_server_that_stands_still_once_it_is_asked_hangs_and_its_stacks_are_kept() {
    let Some(world) = python_world() else { return };
    let trial = asked(&world, "HTTPServer", "command = ['python3', 'ask.py', 'http://127.0.0.1:{port}/v1', '1']");
    let (outcome, cause, said) = told(&trial);
    assert_eq!((outcome, cause), ("timed_out", "hang"), "{said}");
    assert!(said.starts_with("it was ready, and stopped answering under its workload: "), "{said}");
    assert!(said.contains(" in generate, case/server.py:5, waits for a lock"), "{said}");
    assert_eq!(trial["cause_detail"]["signature"], "hang in case/server.py:generate");
    let kept = world.path("case/.bystander").join(text(&trial["output"]["stacks"]));
    assert!(std::fs::read_to_string(kept).expect("the stacks").contains("do_POST"));
}

#[test]
fn the_thread_that_is_at_work_is_named_before_the_loop_that_waits_for_connections() {
    let Some(world) = python_world() else { return };
    let workload = "command = ['python3', 'ask.py', 'http://127.0.0.1:{port}/v1', '600']\ntimeout = '2s'";
    let trial = asked(&world, "ThreadingHTTPServer", workload);
    let (outcome, cause, said) = told(&trial);
    assert_eq!((outcome, cause), ("timed_out", "workload"), "{said}");
    assert!(said.contains(", thread ") && said.contains(" in generate, case/server.py:5, waits for a lock"), "{said}");
}

#[test]
fn a_program_that_is_ready_says_how_far_it_came_and_when() {
    let Some(world) = python_world() else { return };
    world.write("case/server.py", SERVER);
    let program = "command = ['python3', 'server.py', '{port}']\nready = { http = { url = 'http://127.0.0.1:{port}/health', body = 'serving' }, generates = { model = 'tiny' }, stable = '1s' }";
    let trial = only_trial(&world, program);
    assert_eq!(told(&trial).0, "completed", "{trial:#}");
    let shown = evidence(&trial);
    for words in [
        "answered 200 with `serving` by process",
        "`tiny` completed a prompt with \"Paris\", 4 tokens",
        "ready by first completion; after spawn: port bound ",
    ] {
        assert!(shown.contains(words), "no `{words}` in\n{shown}");
    }
    let ready = trial["ready_s"].as_f64().expect("was ready");
    let wall = trial["wall_s"].as_f64().expect("ended");
    assert!(wall >= ready + 1.0, "ready at {ready}, over at {wall}");
}

#[test]
fn a_server_that_is_healthy_and_generates_nothing_is_never_ready() {
    let Some(world) = python_world() else { return };
    world.write("case/server.py", SERVER);
    world.write("case/mode", "broken");
    let program = "command = ['python3', 'server.py', '{port}']\nready = { http = 'http://127.0.0.1:{port}/health', generates = true }\ntimeout = '15s'\ngrace = '1s'";
    let trial = only_trial(&world, program);
    let (outcome, _, said) = told(&trial);
    assert_eq!(outcome, "timed_out", "{trial:#}");
    assert!(said.contains("/v1/completions answered 500") && said.contains("/v1/chat/completions answered 500"), "{said}");
}

#[test]
fn word_file_and_command_are_conditions_of_a_real_launch() {
    let Some(world) = python_world() else { return };
    let script = "import os, socket, sys, time\n\
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n\
        name = os.environ['NOTIFY_SOCKET']\n\
        sock.connect('\\0' + name[1:] if name.startswith('@') else name)\n\
        open(sys.argv[1], 'w').write('warm')\n\
        sock.send(b'READY=1\\nSTATUS=serving')\n\
        time.sleep(600)\n";
    world.write("case/app.py", script);
    let program = "command = ['python3', 'app.py', '{trial}/warm']\nready = { notify = true, file = '{trial}/warm', command = ['grep', 'warm', '{trial}/warm'] }";
    let trial = only_trial(&world, program);
    assert_eq!(told(&trial).0, "completed", "{trial:#}");
    let shown = evidence(&trial);
    for words in [
        "READY=1 from process",
        "with the status: serving",
        "made since the launch, 4 bytes",
        "exit code 0 of `grep warm ",
        "ready by its own word",
    ] {
        assert!(shown.contains(words), "no `{words}` in\n{shown}");
    }
}

#[test]
fn work_that_fails_on_a_program_that_is_not_ready_any_more_came_too_early() {
    let Some(world) = python_world() else { return };
    world.write("case/server.py", SERVER);
    let program = "command = ['python3', 'server.py', '{port}']\nready = { http = 'http://127.0.0.1:{port}/health' }\n[workload]\ncommand = ['sh', '-c', 'echo ill > mode; echo connection refused >&2; exit 5']";
    let trial = only_trial(&world, program);
    let (outcome, cause, said) = told(&trial);
    assert_eq!((outcome, cause), ("failed", "ready_too_early"), "{said}");
    assert!(said.contains("/health answered 503") && said.ends_with("exit code 5: connection refused"), "{said}");
    std::fs::remove_file(world.path("case/mode")).expect("was written");
    let blamed = only_trial(&world, &program.replace("echo ill > mode; ", ""));
    assert_eq!(told(&blamed).1, "workload", "a program that is as it was is not blamed");
}

/// Two levels of a factor; the treatment of `b` must be seen. The script gets `--b` as `$1`.
fn levels(script: &str, treatment: &str, blocks: u32) -> String {
    format!(
        "[program]\ncommand = [\"sh\", \"-c\", {script:?}, \"sh\"]\n[factors.mode]\na = {{}}\nb = {{ args = [\"--b\"], treatment = {treatment} }}\n[plan]\nbaseline = {{ mode = \"a\" }}\nblocks = {blocks}\ndescribe = true\n"
    )
}

fn trials_of<'a>(report: &'a Value, level: &'a str) -> Vec<&'a Value> {
    trials(report).iter().filter(|trial| trial["levels"]["mode"] == level).collect()
}

#[test]
fn a_treatment_that_is_visible_is_kept_as_evidence() {
    let world = world();
    let file = levels("echo begun; [ \"$1\" != --b ] || echo mode b is on; true", "{ log = 'mode (\\w) is on' }", 1);
    // One block decides nothing, which is an exit code of its own.
    let report = report(&world, &file, 2);
    assert_eq!(report["status"], "finished", "{report:#}");
    let (a, b) = (trials_of(&report, "a"), trials_of(&report, "b"));
    assert_eq!((told(a[0]).0, told(b[0]).0), ("completed", "completed"), "{report:#}");
    assert!(evidence(b[0]).contains("stdout:2: mode b is on"), "{}", evidence(b[0]));
    assert!(evidence(a[0]).contains("treatment: the treatment of mode=b is not in the 1 line of its output"), "{}", evidence(a[0]));
}

#[test]
fn a_treatment_that_was_not_applied_makes_void() {
    let world = world();
    let applied_nowhere = report(&world, &levels("echo begun; echo going", "{ log = 'b is on' }", 1), 2);
    for trial in trials_of(&applied_nowhere, "b") {
        let (outcome, cause, said) = told(trial);
        assert_eq!((outcome, cause), ("void", "treatment_not_visible"));
        let why = "the treatment of mode=b is not visible: `b is on` is not in the 2 lines of its output, and nothing like it is";
        assert!(said.starts_with(why), "{said}");
    }
    assert_eq!(trials_of(&applied_nowhere, "b").len(), 3, "three voids in one position end the run");

    let world = crate::world::world();
    let dies = report(&world, &levels("echo begun; [ \"$1\" != --b ] || exit 4", "{ log = 'b is on' }", 1), 2);
    let said = told(trials_of(&dies, "b")[0]).2;
    let end = "not in the 1 line of its output; it ended with exit code 4, perhaps before it could show it: its last line: begun";
    assert!(said.ends_with(end), "{said}");
}

#[test]
fn a_program_that_printed_nothing_or_crashed_is_told_as_what_it_is() {
    let world = world();
    let script = "[ \"$1\" != --b ] || exit 4";
    let silent = report(&world, &levels(script, "{ log = 'b is on' }", 1), 2);
    let said = told(trials_of(&silent, "b")[0]).2;
    assert!(
        said.ends_with(": `b is on` is nowhere, since it printed nothing; it ended with exit code 4, perhaps before it could show it"),
        "{said}"
    );
    let Some(world) = crate::world::python_world() else { return };
    world.write("case/app.py", "import sys\nif '--b' in sys.argv: raise ValueError('no such device')\n");
    let crashed = report(&world, &levels("exec python3 app.py \"$@\"", "{ log = 'b is on' }", 1), 2);
    let said = told(trials_of(&crashed, "b")[0]).2;
    assert!(said.ends_with("perhaps before it could show it: ValueError: no such device"), "{said}");
}

#[test]
fn a_pattern_that_is_mistyped_is_told_with_the_line_that_comes_near() {
    let world = world();
    let file = levels("echo begun; [ \"$1\" != --b ] || echo custom all_reduce: disabled", "{ log = 'custom all_reduce disabled' }", 1);
    let wrong = report(&world, &file, 2);
    let (outcome, cause, said) = told(trials_of(&wrong, "b")[0]);
    assert_eq!((outcome, cause), ("void", "treatment_not_visible"), "{said}");
    assert!(said.ends_with("; stdout:2 comes near (custom all_reduce: disabled): is the pattern right?"), "{said}");
}

#[test]
fn a_treatment_that_is_seen_where_it_does_not_belong_makes_void() {
    let world = world();
    let report = report(&world, &levels("echo b is on", "{ log = 'b is on' }", 1), 2);
    let (outcome, cause, said) = told(trials_of(&report, "a")[0]);
    assert_eq!((outcome, cause), ("void", "treatment_visible_elsewhere"));
    assert!(
        said.starts_with("the treatment of mode=b is visible in a trial of mode=a, where it must not be: `b is on` matches stdout:1"),
        "{said}"
    );
    assert!(said.ends_with("or the pattern is not of b alone"), "{said}");
    assert!(trials_of(&report, "b").iter().all(|trial| told(trial).0 == "completed"), "{report:#}");
}

#[test]
fn a_treatment_is_read_from_the_configuration_that_the_engine_prints() {
    let world = world();
    let script = "v=True; [ \"$1\" != --b ] || v=False; echo \"[2026-11-29 12:44:00] server_args=ServerArgs(tp_size=1, disable_custom_all_reduce=$v)\"";
    let treatment = "{ configuration = 'disable_custom_all_reduce=False' }";
    let seen = report(&world, &levels(script, treatment, 1), 2);
    assert!(evidence(trials_of(&seen, "b")[0]).contains("disable_custom_all_reduce=False"), "{seen:#}");
    assert_eq!(told(trials_of(&seen, "a")[0]).0, "completed");

    let world = crate::world::world();
    let silent = report(&world, &levels("echo begun", treatment, 1), 2);
    let said = told(trials_of(&silent, "b")[0]).2;
    assert!(said.ends_with("is not to be told: in the 1 line of its output is no configuration that a reader knows"), "{said}");
}

#[test]
fn a_trial_says_what_became_of_its_probes() {
    let Some(world) = python_world() else { return };
    world.write("case/other.py", "def f(x):\n    return x + 1\n");
    world.write("case/main.py", "print('never imports it')\n");
    let file = "[program]\ncommand = ['python3', 'main.py']\n[[probes]]\nname = 'p'\nat = 'other:f'\ncapture = ['x']\n[plan]\nbaseline = { instrument = 'none' }\nblocks = 1\ndescribe = true\n";
    let report = report(&world, file, 2);
    let with = trials(&report).iter().find(|trial| trial["instrument"] == "p").expect("a trial with the probe");
    let shown = evidence(with);
    assert!(
        shown.contains("receipts of p: not imported in 1 process; 0 hits: it was in place in no process, so this trial says nothing"),
        "{shown}"
    );
}

#[test]
fn a_dry_run_shows_the_conditions() {
    let world = world();
    let file =
        levels("echo begun", "{ log = 'b is on' }", 1).replace("[factors", "ready = { log = ['up', 'warm'], stable = '2s' }\n[factors");
    let path = world.write("case/case.toml", file);
    let shown = world.bystander(["run", "--dry-run"]).args([&path]).run().exits(0).stdout;
    let wanted = [
        "ready     a line matches `up`\n",
        "ready     all of it for 2 s\n",
        "visible   mode=b: a line matches `b is on`, and in no trial of another level\n",
    ];
    assert!(wanted.iter().all(|line| shown.contains(line)), "{shown}");
}
