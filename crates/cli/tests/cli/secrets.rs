//! Secrets stay out of everything that is written or printed, wherever they came from and wherever the program says them.

use std::fs;
use std::path::Path;

use bystander_testkit::{Signal, World, until};

use crate::export::{contents, export};
use crate::world::{LIMIT, python_world, run, text, trials};

/// One from the caller's environment, one each from the file's environment, its command, and a level.
const SECRETS: [&str; 4] = ["key-of-the-caller-8c1f", "token-of-the-file-77aa", "sk-on-the-command-line-31d0", "password-of-a-level-55e2"];

const APP: &str = r#"
import os, sys

def work(api_key, innocent):
    held = [innocent, {"name": innocent}]
    return held

print("told:", sys.argv, os.environ["API_KEY"], os.environ["SERVICE_TOKEN"], flush=True)
work(sys.argv[2], os.environ["API_KEY"])
print("ready", flush=True)
raise RuntimeError("refused key " + os.environ["API_KEY"] + " and " + sys.argv[2] + " and " + sys.argv[-1])
"#;

#[test]
fn secrets_of_environment_command_and_levels_are_nowhere_in_state_and_output() {
    let Some(world) = python_world() else { return };
    world.write("case/app.py", APP);
    let file = world.write("case/case.toml", experiment());
    let started = |world: &World| run(world, &file).env("API_KEY", SECRETS[0]);
    // One launch of a baseline that fails shows little.
    let ran = started(&world).run().exits(2);
    let report = ran.json();
    assert_eq!(trials(&report).len(), 4, "{report:#}");
    for trial in trials(&report) {
        assert_eq!((text(&trial["outcome"]), text(&trial["cause"])), ("failed", "python.RuntimeError"));
    }
    let mut printed = vec![ran.stdout, ran.stderr];
    for args in [
        &["show"][..],
        &["show", "--json"],
        &["show", "--why"],
        &["show", "--json", "--why"],
        &["show", "--diff", "1", "2"],
        &["show", "--json", "--diff", "1", "2"],
    ] {
        let code = if args.contains(&"--diff") { 0 } else { 2 };
        let ran = world.bystander(args.iter().copied()).cwd(&world.path("case")).run().exits(code);
        printed.extend([ran.stdout, ran.stderr]);
    }
    for (args, code) in [(&["run", "--dry-run"][..], 0), (&["run", "--dry-run", "--json"], 0), (&["run", "--new", "--why"], 2)] {
        let ran = world.bystander(args.iter().copied()).args([&file]).env("API_KEY", SECRETS[0]).run().exits(code);
        printed.extend([ran.stdout, ran.stderr]);
    }
    for secret in SECRETS {
        for text in &printed {
            assert!(!text.contains(secret), "{secret} was printed:\n{text}");
        }
        assert_eq!(files_with(&world.path("case/.bystander"), secret.as_bytes()), Vec::<String>::new(), "{secret} was stored");
    }
    let (archive, _) = export(&world, &world.path("case"), "run.tar.zst");
    let key = fs::read(world.path("case/.bystander/mask.key")).expect("the key of the hashes");
    for (name, bytes) in contents(&archive) {
        let has = |secret: &[u8]| bytes.windows(secret.len()).any(|window| window == secret);
        assert!(!SECRETS.iter().any(|secret| has(secret.as_bytes())) && !has(&key), "{name}: {}", String::from_utf8_lossy(&bytes));
        if name.ends_with("/experiment.toml") {
            assert!(String::from_utf8_lossy(&bytes).contains("<hidden:"), "{}", String::from_utf8_lossy(&bytes));
        }
    }
    // What stands for them tells them apart, and what is not secret is still there.
    let stdout = fs::read_to_string(world.path("case/.bystander").join(text(&trials(&report)[0]["output"]["stdout"]))).expect("the output");
    assert!(stdout.starts_with("told: ['app.py', '--api-key', '*") && stdout.ends_with("ready\n"), "{stdout}");
    let redacted =
        report["captures"].as_array().expect("captures").iter().find(|capture| capture["hit"]["probe"] == "look").expect("a hit");
    assert_eq!(redacted["hit"]["values"]["api_key"]["redacted"], true, "{redacted}");
}

#[test]
fn a_killed_run_with_secrets_in_its_file_is_taken_up_and_launches_with_them() {
    let Some(world) = python_world() else { return };
    // Fails where a secret does not arrive as it was written, and says it before it is killed.
    let app = format!(
        "import os, sys, time\nprint(sys.argv[2], flush=True)\nassert sys.argv[2] == {:?} and os.environ['SERVICE_TOKEN'] == {:?}\nwhile os.path.exists('../gate'): time.sleep(0.01)\n",
        SECRETS[2], SECRETS[1]
    );
    world.write("case/app.py", app);
    let gate = world.write("gate", "");
    let file = world.write("case/case.toml", experiment().replace(PROBE, "").replace(r#""none", "look""#, r#""none""#));
    let mut running = run(&world, &file).start();
    let stored = |text: &str| files_with(&world.path("case/.bystander"), text.as_bytes());
    let stars = "*".repeat(SECRETS[2].len());
    until("the program says its secret", LIMIT, || !world.trial_processes().is_empty() && !stored(&stars).is_empty());
    assert_eq!(stored(SECRETS[2]), Vec::<String>::new(), "not for a moment");
    running.signal(Signal::KILL);
    let _ = running.wait();
    until("nothing is left", LIMIT, || world.processes().is_empty());
    fs::remove_file(gate).expect("the gate");
    let report = run(&world, &file).run().json();
    let outcomes: Vec<&str> = trials(&report).iter().map(|trial| text(&trial["outcome"])).collect();
    assert_eq!(outcomes, ["interrupted", "completed", "completed"], "{report:#}");
    assert_eq!(stored(SECRETS[2]), Vec::<String>::new());
}

#[test]
fn secrets_of_a_server_and_its_workload_are_nowhere_in_evidence_output_and_metrics() {
    let Some(world) = python_world() else { return };
    let experiment = r#"
[program]
command = ["python3", "-c", "import http.server, sys; print('ready', flush=True); http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), http.server.SimpleHTTPRequestHandler).serve_forever()", "{port}", "--api-key", "sk-on-the-command-line-31d0"]
ready = { log = "ready", http = "http://127.0.0.1:{port}/" }
grace = "1s"
[workload]
command = ["sh", "-c", "echo \"$1 $API_KEY value=3\"; echo \"$1 $API_KEY\" >&2", "load", "--api-key=sk-on-the-command-line-31d0"]
[metrics]
value = { workload = 'value=(\d+)', scale = "difference" }
[plan]
blocks = 1
describe = true
"#;
    let file = world.write("case/case.toml", experiment);
    let ran = run(&world, &file).env("API_KEY", SECRETS[0]).run().exits(0);
    assert_eq!(trials(&ran.json())[0]["metrics"]["value"], 3.0);
    let shown = world.bystander(["show", "--why"]).cwd(&world.path("case")).run().exits(0);
    assert!(shown.stdout.contains("answered 200 by process") && !shown.stdout.contains(SECRETS[2]), "{}", shown.stdout);
    for secret in [SECRETS[0], SECRETS[2]] {
        assert!(!ran.stdout.contains(secret) && !ran.stderr.contains(secret), "{ran:?}");
        assert_eq!(files_with(&world.path("case/.bystander"), secret.as_bytes()), Vec::<String>::new());
    }
}

/// The probe of the experiment.
const PROBE: &str = "[[probes]]
name = \"look\"
at = \"app.py:6\"
capture = [\"api_key\", \"innocent\", \"held\"]
";

fn experiment() -> String {
    format!(
        r#"
[program]
command = ["python3", "app.py", "--api-key", "{}"]
env = {{ SERVICE_TOKEN = "{}" }}
timeout = "60s"

[factors.level]
one = {{ env = {{ LEVEL = "1" }} }}
two = {{ args = ["--password={}"] }}

{PROBE}
[plan]
baseline = {{ level = "one", instrument = "none" }}
instruments = ["none", "look"]
blocks = 1
describe = true
"#,
        SECRETS[2], SECRETS[1], SECRETS[3]
    )
}

/// The files below a folder that hold these bytes.
fn files_with(folder: &Path, bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_with(&path, bytes));
        } else if fs::read(&path).expect("a file").windows(bytes.len()).any(|window| window == bytes) {
            found.push(path.display().to_string());
        }
    }
    found
}
