//! How launches end, and what is said of the cause: one small program each.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use bystander_testkit::{Dice, Signal, World, is_alive, until};
use serde_json::Value;

use crate::world::{LIMIT, assert_nothing_left, python_world, run, text, trials, world};

/// An experiment with one launch of one program, which only describes.
fn experiment(program: &str) -> String {
    format!("[program]\n{program}\n[plan]\nblocks = 1\ndescribe = true\n")
}

/// A program that is a shell script.
fn shell(script: &str) -> String {
    format!("command = [\"sh\", \"-c\", {script:?}]\n")
}

/// The only trial of such an experiment.
fn only_trial(world: &World, program: &str) -> Value {
    let file = world.write("case/case.toml", experiment(program));
    let report = run(world, &file).run().exits(0).json();
    assert_nothing_left(world);
    assert_eq!(trials(&report).len(), 1, "{report:#}");
    trials(&report)[0].clone()
}

fn cause(trial: &Value) -> (&str, &str) {
    (text(&trial["outcome"]), trial["cause"].as_str().unwrap_or(""))
}

fn cause_text(trial: &Value) -> &str {
    text(&trial["cause_detail"]["text"])
}

/// A kept stream of a trial.
fn output(world: &World, trial: &Value, stream: &str) -> std::path::PathBuf {
    world.path("case/.bystander").join(text(&trial["output"][stream]))
}

#[test]
fn lines_that_are_not_utf_8_are_kept_as_they_are_and_read_all_the_same() {
    let world = world();
    let program = shell(r"printf 'caf\351 \377\376\nvalue=3\n'") + "[metrics]\nvalue = { log = 'value=(\\d+)', scale = \"difference\" }";
    let trial = only_trial(&world, &program);
    assert_eq!((cause(&trial), &trial["metrics"]["value"]), (("completed", ""), &Value::from(3.0)));
    assert_eq!(fs::read(output(&world, &trial, "stdout")).expect("the output"), b"caf\xe9 \xff\xfe\nvalue=3\n");
}

#[test]
fn a_line_of_a_hundred_megabytes_costs_no_memory_and_what_follows_is_read() {
    const LENGTH: u64 = 100_000_000;
    let world = world();
    let script = format!("head -c {LENGTH} /dev/zero | tr '\\0' x; echo; echo value=7");
    let program = shell(&script) + "[metrics]\nvalue = { log = 'value=(\\d+)', scale = \"difference\" }";
    let file = world.write("case/case.toml", experiment(&program));
    let mut running = run(&world, &file).start();
    let mut peak_kib = 0;
    until("the end of the run", LIMIT * 3, || {
        peak_kib = peak_kib.max(peak_of(running.pid()));
        running.has_ended()
    });
    let report = running.wait().exits(0).json();
    let trial = &trials(&report)[0];
    assert_eq!((cause(trial), &trial["metrics"]["value"]), (("completed", ""), &Value::from(7.0)));
    assert_eq!(fs::metadata(output(&world, trial, "stdout")).expect("the output").len(), LENGTH + 1 + 8);
    assert!(peak_kib > 0 && peak_kib < 200_000, "{peak_kib} KiB");
}

/// The most memory that a process has had, in KiB.
fn peak_of(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|peak| peak.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[test]
fn what_a_program_leaves_behind_and_what_it_took_to_end_it_is_told() {
    let world = world();
    let stubborn = "(trap '' TERM; touch up; while :; do sleep 1; done) & until test -e up; do sleep 0.01; done";
    let trial = only_trial(&world, &(shell(stubborn) + "grace = \"1s\""));
    assert_eq!(cause(&trial), ("completed", ""));
    let evidence = trial["evidence"].to_string();
    assert!(evidence.contains("processes that it had left behind were gone") && evidence.contains("SIGKILL was sent"), "{evidence}");
    let clean = only_trial(&world, &shell("exit 0"));
    assert!(!clean["evidence"].to_string().contains("left behind"), "{clean}");
}

#[test]
fn a_program_that_closes_its_streams_goes_on_until_it_ends() {
    let world = world();
    let trial = only_trial(&world, &shell("echo up; exec >&- 2>&-; sleep 0.3; exit 5"));
    assert_eq!(cause(&trial), ("failed", "exit.code"));
    assert!(cause_text(&trial).contains("exit code 5") && trial["wall_s"].as_f64().is_some_and(|wall| wall >= 0.3), "{trial}");
}

#[test]
fn a_server_that_closes_its_streams_is_ready_when_it_answers() {
    let Some(world) = python_world() else { return };
    world.write("case/server.py", SERVER);
    let program = "command = [\"python3\", \"server.py\", \"{port}\"]\nready = { http = \"http://127.0.0.1:{port}/\" }\ntimeout = \"60s\"";
    let trial = only_trial(&world, program);
    assert_eq!(cause(&trial), ("completed", ""));
    let http = trial["evidence"].as_array().expect("evidence").iter().find(|evidence| evidence["kind"] == "http").expect("an answer");
    assert!(text(&http["text"]).contains("answered 200 by process"), "{http}");
}

const SERVER: &str = "import http.server, os, sys
os.close(1); os.close(2)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def log_message(self, *words):
        pass
http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()
";

#[test]
fn a_program_that_was_ready_and_then_died_under_its_workload_has_failed() {
    let world = world();
    let program = shell("echo ready; until test -e begun; do sleep 0.01; done; echo gone >&2; exit 7")
        + "ready = { log = \"ready\" }\ntimeout = \"60s\"\n[workload]\ncommand = [\"sh\", \"-c\", \"touch begun; sleep 50\"]";
    let trial = only_trial(&world, &program);
    assert_eq!(cause(&trial), ("failed", "died_under_load"));
    assert!(cause_text(&trial).contains("exit code 7") && trial["wall_s"].as_f64().is_some_and(|wall| wall < 40.0), "{trial}");
}

#[test]
fn what_a_workload_writes_is_kept_read_and_cited_by_its_stream() {
    let world = world();
    let program = |workload: &str| {
        let ready = shell("echo ready; exec sleep 600") + "ready = { log = \"ready\" }\ntimeout = \"60s\"\n";
        format!(
            "{ready}[workload]\ncommand = [\"sh\", \"-c\", \"{workload}\"]\n[metrics]\nrate = {{ workload = 'rate=(\\d+)', scale = \"ratio\" }}"
        )
    };
    let trial = only_trial(&world, &program("echo begun; echo rate=7 >&2"));
    assert_eq!((&trial["outcome"], &trial["metrics"]["rate"]), (&Value::from("completed"), &Value::from(7.0)), "{trial}");
    let kept = world.path("case/.bystander").join(text(&trial["output"]["workload_stderr"]));
    assert_eq!(std::fs::read_to_string(kept).expect("is kept"), "rate=7\n");
    let trial = only_trial(&world, &program("echo begun; echo connection refused >&2; exit 3"));
    assert_eq!(cause(&trial), ("failed", "workload"));
    assert_eq!(cause_text(&trial), "the workload ended with exit code 3: connection refused");
    assert!(trial["cause_detail"]["evidence"].to_string().contains("\"where\":\"workload_stderr:1\""), "{trial}");
}

#[test]
fn a_program_that_ends_well_before_it_was_ready_has_failed() {
    let world = world();
    let trial = only_trial(&world, &(shell("echo nearly") + "ready = { log = \"ready\" }"));
    assert_eq!(cause(&trial), ("failed", "exited_early"));
    assert!(trial["cause_detail"]["evidence"].to_string().contains("nearly"), "{trial}");
}

#[test]
fn a_program_that_still_moves_at_its_time_limit_is_told_from_one_that_stands_still() {
    let world = world();
    let limits = "ready = { log = \"ready\" }\ntimeout = \"4s\"\nstall = \"1s\"\ngrace = \"1s\"";
    let moving = only_trial(&world, &(shell("while :; do echo tick; sleep 0.05; done") + limits));
    assert_eq!(cause(&moving), ("timed_out", "timeout.starting"));
    let still = only_trial(&world, &(shell("echo loading weights; sleep 600") + limits));
    assert_eq!(cause(&still), ("timed_out", "timeout.stalled"));
    // A limit that is shorter than `stall` is too short a time to call it a standstill.
    let brief = only_trial(
        &world,
        &(shell("echo loading weights; sleep 600") + "ready = { log = \"ready\", stable = \"250ms\" }\ntimeout = \"1s\"\ngrace = \"1s\""),
    );
    assert_eq!(cause(&brief), ("timed_out", "timeout.starting"));
    for (trial, last) in [(&moving, "tick"), (&still, "loading weights")] {
        let said = cause_text(trial);
        assert!(said.contains("its last line, ") && said.contains(&format!(" s before: {last}")), "{said}");
        assert!(said.starts_with("never ready: no line has matched the `log` pattern; it "), "{said}");
    }
}

#[test]
fn a_program_that_is_never_ready_is_told_apart_by_why() {
    let Some(world) = crate::world::python_world() else { return };
    let server = "import http.server, sys\nclass Handler(http.server.BaseHTTPRequestHandler):\n    def do_GET(self): self.send_error(503)\n    def log_message(self, *words): pass\nport = int(sys.argv[1]) if sys.argv[2] == 'ill' else 0\nhttp.server.HTTPServer(('127.0.0.1', port), Handler).serve_forever()\n";
    world.write("case/server.py", server);
    let mut signatures = Vec::new();
    for (how, why) in [("ill", "/health answered 503"), ("elsewhere", "no process of the trial listens on port ")] {
        let program = format!(
            "command = [\"python3\", \"server.py\", \"{{port}}\", \"{how}\"]\nready = {{ http = \"http://127.0.0.1:{{port}}/health\" }}\ntimeout = \"4s\"\ngrace = \"1s\""
        );
        let trial = only_trial(&world, &program);
        assert_eq!(trial["outcome"], "timed_out", "{trial}");
        assert!(cause_text(&trial).starts_with("never ready: ") && cause_text(&trial).contains(why), "{}", cause_text(&trial));
        signatures.push(text(&trial["cause_detail"]["signature"]).to_owned());
    }
    assert_ne!(signatures[0], signatures[1]);
}

#[test]
fn a_program_without_a_ready_condition_completes_by_exit_code_0_alone() {
    let world = world();
    assert_eq!(cause(&only_trial(&world, &shell("exit 0"))), ("completed", ""));
    assert_eq!(cause(&only_trial(&world, &shell("kill -SEGV $$"))), ("failed", "signal.SIGSEGV"));
    let late = only_trial(&world, &(shell("while :; do echo tick; sleep 0.05; done") + "timeout = \"1s\"\ngrace = \"1s\""));
    assert_eq!(cause(&late), ("timed_out", "timeout.running"));
}

#[test]
fn somebody_elses_server_on_the_port_is_never_taken_for_the_program() {
    let world = world();
    // Below the ports that the system gives out, so that nobody is given it meanwhile.
    let mut dice = Dice::new("foreign server");
    let port = std::iter::repeat_with(|| 20_000 + u16::try_from(dice.below(10_000)).expect("small"))
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("a free port");
    let program = shell("touch started; sleep 600")
        + &format!("ready = {{ http = \"http://127.0.0.1:{port}/health\" }}\ntimeout = \"300s\"\ngrace = \"1s\"");
    let file = world.write("case/case.toml", experiment(&program) + "\n[conditions]\nsettle = \"1s\"\n");
    let running = run(&world, &file).start();
    until("the program", LIMIT, || world.path("case/started").exists());
    let listener = TcpListener::bind(("127.0.0.1", port)).expect("the port");
    std::thread::spawn(move || answer(&listener));
    // Three contaminated launches at one place end the run, and none waits for its time limit.
    let ran = running.wait().exits(2);
    assert!(ran.took < Duration::from_secs(150), "{:?}", ran.took);
    let report = ran.json();
    assert_eq!(report["status"], "invalid");
    let holder = format!("pid {}", std::process::id());
    assert!(text(&report["why"]).contains(&format!("port {port} is held by {holder}")), "{}", report["why"]);
    assert_eq!(trials(&report).len(), 3);
    for trial in trials(&report) {
        assert_eq!((cause(trial), &trial["ready_s"]), (("void", "port_in_use"), &Value::Null));
    }
    assert_eq!((&report["cells"][0]["trials"], &report["cells"][0]["void"]), (&Value::from(0), &Value::from(3)));
    assert_nothing_left(&world);
}

/// Answers every request with 200.
fn answer(listener: &TcpListener) {
    for mut stream in listener.incoming().flatten() {
        // Whoever asks may hang up at any time.
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    }
}

#[test]
fn a_program_that_ignores_sigterm_is_killed_after_its_grace() {
    let world = world();
    let program = shell("trap '' TERM; echo ready; while :; do sleep 0.1; done")
        + "ready = { log = \"ready\" }\ngrace = \"300ms\"\ntimeout = \"100s\"";
    let trial = only_trial(&world, &program);
    assert_eq!(cause(&trial), ("completed", ""));
    assert!(trial["wall_s"].as_f64().is_some_and(|wall| (0.3..60.0).contains(&wall)), "{trial}");
}

#[test]
fn a_child_that_leaves_its_session_and_its_environment_is_gone_before_the_next_launch() {
    let world = world();
    let script = "if test -e pid && kill -0 $(cat pid); then echo leftover; exit 9; fi; rm -f pid; \
        env -i \"$(command -v setsid)\" sh -c 'echo $$ > new; mv new pid; exec sleep 600' & \
        until test -e pid; do sleep 0.01; done";
    let file = world.write("case/case.toml", experiment(&shell(script)).replace("blocks = 1", "blocks = 3"));
    let report = run(&world, &file).run().exits(0).json();
    assert_eq!((trials(&report).len(), &report["cells"][0]["completed"]), (3, &Value::from(3)), "{report:#}");
    assert!(!is_alive(read_pid(&world.path("case/pid"))));
    assert_nothing_left(&world);
}

fn read_pid(path: &Path) -> u32 {
    fs::read_to_string(path).expect("a file").trim().parse().expect("a number")
}

#[test]
fn a_baseline_that_is_not_as_declared_stops_the_run_at_the_gate() {
    let world = world();
    let gated = |expect: &str| {
        format!(
            "[program]\n{}[factors.level]\none = {{ env = {{ L = \"1\" }} }}\ntwo = {{ env = {{ L = \"2\" }} }}\n[plan]\nbaseline = {{ level = \"one\" }}\nblocks = 4\nexpect = \"{expect}\"\n",
            shell("test $L = 2 || exit 3")
        )
    };
    let file = world.write("case/case.toml", gated("completed"));
    let report = run(&world, &file).run().exits(1).json();
    assert_eq!((&report["status"], trials(&report).len()), (&Value::from("gated"), 1));
    assert!(text(&report["why"]).contains("declared to be completed") && text(&report["why"]).contains("exit code 3"), "{}", report["why"]);
    assert_eq!(crate::world::verdict(&report, "factor:level", "outcome"), "invalid");
    let file = world.write("case/other.toml", gated("failed"));
    let report = run(&world, &file).run().exits(0).json();
    let gates = trials(&report).iter().filter(|trial| trial["purpose"] == "gate").count();
    assert_eq!((&report["status"], gates), (&Value::from("finished"), 2));
    assert_eq!(crate::world::verdict(&report, "factor:level", "outcome"), "effect");
    // Gate launches enter no test.
    assert_eq!(report["cells"][0]["trials"], 4);
}

#[test]
fn a_question_is_answered_when_every_factor_is() {
    let world = world();
    let factors = [
        "[factors.a]\none = { env = { A = \"1\" } }\ntwo = { env = { A = \"2\" } }\n",
        "[factors.b]\none = {}\ntwo = { env = { B = \"2\" } }\n",
    ];
    for order in [[0, 1], [1, 0]] {
        let file = format!(
            "[program]\ncommand = [\"sh\", \"-c\", \"test $A = 1\"]\n{}{}[plan]\nbaseline = {{ a = \"one\", b = \"one\" }}\nblocks = {{ min = 4, max = 4 }}\n",
            factors[order[0]], factors[order[1]]
        );
        let report = run(&world, &world.write("case/case.toml", file)).args(["--new"]).run().exits(2).json();
        let verdict = |about| crate::world::verdict(&report, about, "outcome").to_owned();
        assert_eq!((verdict("factor:a").as_str(), verdict("factor:b").as_str()), ("effect", "insufficient"));
    }
}

#[test]
fn a_second_ctrl_c_ends_the_grace_of_a_program_that_ignores_sigterm() {
    let world = world();
    let program = shell("trap 'touch asked' TERM; touch started; while :; do sleep 0.1; done") + "grace = \"300s\"\ntimeout = \"600s\"";
    let file = world.write("case/case.toml", experiment(&program));
    let mut running = run(&world, &file).start();
    until("the program", LIMIT, || world.path("case/started").exists());
    running.signal(Signal::INT);
    until("the program is asked to end", LIMIT, || world.path("case/asked").exists());
    assert!(!running.has_ended(), "it has its grace");
    running.signal(Signal::INT);
    let ran = running.wait().exits(130);
    assert!(ran.took < Duration::from_secs(100), "{:?}", ran.took);
    assert_nothing_left(&world);
}
