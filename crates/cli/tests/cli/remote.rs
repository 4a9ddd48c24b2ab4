//! `--on ssh://…`: a real daemon on loopback, whose users live in a home of their own. What is done there is done as here, and told here.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use bystander_testkit::{LIMIT, Mark, Run, Signal, Sshd, World, clock_ahead, skip, until};
use serde_json::Value;

use crate::world::world;

/// The command.
const PROGRAM: &str = env!("CARGO_BIN_EXE_bystander");

/// An experiment whose program prints its own folder.
pub(crate) const EXPERIMENT: &str = r#"
question = "does b say more?"
[program]
command = ["sh", "-c", "echo in $(pwd); echo value=$V"]
[factors.v]
one = { env = { V = "1" } }
two = { env = { V = "2" } }
[metrics]
value = { log = 'value=(\d+)', margin = 0.5, scale = "difference" }
[plan]
baseline = { v = "one" }
blocks = 4
"#;

/// A world with a daemon on whose users' PATH the command is.
pub(crate) fn far() -> Option<(World, Sshd)> {
    let world = world();
    let sshd = Sshd::start(&world, Some(Path::new(PROGRAM)));
    if sshd.is_none() {
        skip("there is no sshd", Mark::Machine);
    }
    Some((world, sshd?))
}

/// `bystander --on ssh://target …`.
pub(crate) fn on<'a>(world: &World, sshd: &Sshd, args: impl IntoIterator<Item = &'a str>) -> Run {
    world.bystander(["--on", "ssh://target", "--ssh-config"]).args([sshd.config()]).args(args)
}

/// What users there keep.
pub(crate) fn far_state(world: &World) -> std::path::PathBuf {
    world.path("far/.local/state/bystander")
}

#[test]
fn a_run_there_is_told_from_the_record_here() {
    let Some((world, sshd)) = far() else { return };
    world.write("exp/e.toml", EXPERIMENT);
    let ran = on(&world, &sshd, ["run", "exp/e.toml", "--json"]).run().exits(2).says(&["its clock is", "block 4/4"]);
    let report = ran.json();
    assert_eq!(report["trials"].as_array().map(Vec::len), Some(8));
    let there = far_state(&world).join("far");
    let states: Vec<_> = fs::read_dir(&there).expect("there is a state").flatten().collect();
    assert_eq!(states.len(), 1, "one for each state directory here");
    assert!(fs::read_dir(states[0].path().join("jobs")).expect("jobs").next().is_none(), "what has ended is forgotten");
    // Without the daemon: everything is here.
    drop(sshd);
    let shown = world.bystander(["show", "--json", "--state", "exp/.bystander"]).run().exits(2).json();
    assert_eq!((&shown["answers"], &shown["on"]), (&report["answers"], &report["on"]));
    let machine = &report["on"];
    assert!(machine["address"] == "ssh://target" && machine["machine"].is_string() && machine["clock_error_ns"].is_u64(), "{machine}");
    let run = report["run"].as_str().expect("a run");
    let said = fs::read_to_string(world.path(&format!("exp/.bystander/runs/{run}/trial-1/stdout"))).expect("what it printed");
    assert!(said.starts_with(&format!("in {}\n", world.path("far").display())), "{said}");
    let ran: Value =
        serde_json::from_slice(&fs::read(world.path(&format!("exp/.bystander/runs/{run}/far.json"))).expect("where it ran")).expect("JSON");
    assert_eq!(ran["address"], "ssh://target");
    assert!(ran["offset"]["error_ns"].as_u64().is_some_and(|error| error < 10_000_000_000), "{ran}");
    assert!(world.processes().is_empty(), "{:?}", world.processes());
}

#[test]
fn a_run_there_and_one_here_of_a_file_of_the_same_path_are_two() {
    let Some((world, sshd)) = far() else { return };
    // Here the folder is the home directory there, as it is where both are `/root`.
    world.write("far/e.toml", EXPERIMENT.replace("echo value=$V", "[ ! -e stop ] || sleep 600; echo value=$V"));
    world.write("far/stop", "");
    let mut running = on(&world, &sshd, ["run", "far/e.toml"]).start();
    until("a launch is there", LIMIT, || !world.trial_processes().is_empty());
    running.signal(Signal::INT);
    running.wait().exits(130);
    fs::remove_file(world.path("far/stop")).expect("own file");
    let here = world.bystander(["run", "far/e.toml", "--json"]).run().exits(2);
    assert!(!here.stderr.contains("taken up"), "{}", here.stderr);
    let there = on(&world, &sshd, ["run", "far/e.toml", "--json"]).run().exits(2).says(&["taken up"]);
    assert_ne!(here.json()["run"], there.json()["run"]);
}

#[test]
fn the_file_names_the_machine_and_the_address_the_folder() {
    let Some((world, sshd)) = far() else { return };
    fs::create_dir_all(world.path("far/sub dir")).expect("a folder");
    world.write("e.toml", EXPERIMENT.replace("[program]", "on = \"ssh://target/~/sub dir\"\nlease = \"10m\"\n[program]"));
    let run = |args: &[&str]| world.bystander(["--ssh-config"]).args([sshd.config()]).args(args).run();
    run(&["run", "e.toml", "--dry-run"]).exits(0);
    assert!(!world.path("far/sub dir/.bystander").exists() && fs::read_dir(world.path("far/sub dir")).expect("a folder").next().is_none());
    let report = run(&["run", "e.toml", "--json"]).exits(2).json();
    let run = report["run"].as_str().expect("a run");
    let said = fs::read_to_string(world.path(&format!(".bystander/runs/{run}/trial-1/stdout"))).expect("what it printed");
    assert!(said.contains("/far/sub dir\n"), "{said}");
    world.write("e.toml", EXPERIMENT.replace("[program]", "on = \"gpu1\"\n[program]"));
    world.bystander(["run", "e.toml"]).run().exits(3).says(&["on", "ssh://user@host[:port][/folder]"]);
}

#[test]
fn without_the_command_there_it_is_brought_unless_that_is_forbidden() {
    let world = world();
    let Some(sshd) = Sshd::start(&world, None) else { return skip("there is no sshd", Mark::Machine) };
    let forbidden = on(&world, &sshd, ["doctor", "--no-upload"]).run().exits(4);
    for found in
        ["MISSING bystander there: there is no bystander there, and --no-upload forbids to copy this one there", "install bystander"]
    {
        assert!(forbidden.stdout.contains(found), "{found} is missing:\n{}", forbidden.stdout);
    }
    assert!(!far_state(&world).exists(), "nothing is left by an attempt");
    let old = world.write_program("far-bin/bystander", "#!/bin/sh\necho noise of a shell\necho bystander-agent 1 0.0.9\n");
    let other = on(&world, &sshd, ["doctor", "--no-upload"]).run().exits(4);
    assert!(other.stdout.contains("has version 0.0.9, this one"), "{}", other.stdout);
    let brought = on(&world, &sshd, ["doctor"]).run();
    assert_eq!(brought.code, Some(0), "{}\n{}", brought.stdout, brought.stderr);
    brought.says(&["copying this executable to ssh://target", "0.0.9"]);
    fs::remove_file(old).expect("own file");
    let again = on(&world, &sshd, ["doctor", "--no-upload"]).run().exits(0).says(&["answers by a shell", "GiB free", "its clock is"]);
    for found in ["room for records", "versions of Python", "stacks of a hang (ptrace)", "private mounts", "clock"] {
        assert!(again.stdout.contains(found), "{found} is missing:\n{}", again.stdout);
    }
    assert!(!again.stderr.contains("copying"), "{}", again.stderr);
}

#[test]
fn a_host_with_an_unknown_or_another_key_is_not_talked_to() {
    let Some((world, sshd)) = far() else { return };
    sshd.trust("other");
    let refused = on(&world, &sshd, ["doctor"]).run().exits(4);
    let refused =
        refused.says(&["the host key has changed: another one is known from", "ssh/known, line 1", "nothing was sent", "accept it"]);
    assert!(!refused.stderr.contains("NASTY"), "{}", refused.stderr);
    fs::write(world.path("ssh/known"), "").expect("own file");
    on(&world, &sshd, ["doctor"]).run().exits(4).says(&["strict checking", "nothing was sent"]);
    assert!(!far_state(&world).exists());
}

#[test]
fn a_host_that_is_not_there_and_a_wrong_address_say_what_to_do() {
    let Some((world, mut sshd)) = far() else { return };
    sshd.stop();
    on(&world, &sshd, ["doctor"]).run().exits(4).says(&["failed to connect to ssh://target", "refused", "ssh -F", "look whether"]);
    world.bystander(["--on", "target", "doctor"]).run().exits(3).says(&["ssh://user@host[:port][/folder]"]);
    world.bystander(["--on", "ssh://u:p@h", "doctor"]).run().exits(3).says(&["password"]);
    world.bystander(["--on", "ssh://h", "show"]).run().exits(3).says(&["it reads what is here"]);
    world.bystander(["--lease", "5m", "doctor"]).run().exits(3).says(&["--lease says nothing without --on"]);
    world.bystander(["--on", "ssh://h", "--lease", "x", "doctor"]).run().exits(3).says(&["no span of time"]);
    world.bystander(["--on", "ssh://h", "--lease", "4s", "doctor"]).run().exits(3).says(&["shorter than 5 s"]);
}

#[test]
fn edits_there_are_made_listed_and_taken_back_whatever_bytes_they_are_of() {
    let Some((world, mut sshd)) = far() else { return };
    let name = OsString::from_vec(b"a $HOME 'q' \"d\"\n\xff.txt".to_vec());
    let file = world.path("far").join(&name);
    let before = b"x = 1\ny = '$(touch bad)' # `touch bad` \xfe\nz = 3\n";
    fs::write(&file, before).expect("a file");
    world.write("find", "y = '$(touch bad)' # `touch bad`");
    world.write("text", "y = \"\\\"$HOME 'e\"; z = 2 # ");
    let applied =
        on(&world, &sshd, ["patch", "apply", "--find-file", "find", "--replace-file", "text", "--unchecked", "--comment", "#", "--file"])
            .args([&name])
            .run();
    assert_eq!(applied.code, Some(0), "{}\n{}", applied.stdout, applied.stderr);
    let after = fs::read(&file).expect("the file");
    assert!(
        after.windows(5).any(|part| part == b"$HOME") && after.contains(&0xfe) && !after.windows(5).any(|part| part == b"touch"),
        "{after:?}"
    );
    assert!(!world.path("far/bad").exists() && !world.path("bad").exists(), "no shell has seen it");
    // From here, without a word of where: every machine that was used is asked.
    let status = world.bystander(["patch", "status", "--json"]).run().exits(1).json();
    assert_eq!(status["edits"].as_array().map(Vec::len), Some(0), "{status}");
    assert_eq!(
        (&status["hosts"][0]["address"], status["hosts"][0]["report"]["edits"].as_array().map(Vec::len)),
        (&"ssh://target".into(), Some(1)),
        "{status}"
    );
    on(&world, &sshd, ["patch", "diff"]).run().exits(0);
    on(&world, &sshd, ["patch", "verify"]).run().exits(1);
    sshd.stop();
    let unreachable = world.bystander(["patch", "status"]).run().exits(1);
    assert!(unreachable.stdout.contains("which cannot be asked now") && unreachable.stdout.contains("as of 20"), "{}", unreachable.stdout);
    let sshd = sshd.again(&world);
    let reverted = on(&world, &sshd, ["patch", "revert"]).run();
    assert_eq!(reverted.code, Some(0), "{}\n{}", reverted.stdout, reverted.stderr);
    assert_eq!(fs::read(&file).expect("the file"), before);
    on(&world, &sshd, ["patch", "verify"]).run().exits(0);
    world.bystander(["patch", "status"]).run().exits(0);
}

#[test]
fn a_machine_without_python_runs_what_needs_none_and_says_what_needs_it() {
    let Some((world, sshd)) = far() else { return };
    let bin = world.path("far-bin");
    for tool in ["sh", "env", "uname", "pwd"] {
        let found = ["/usr/bin", "/bin"].iter().map(|folder| Path::new(folder).join(tool)).find(|path| path.exists());
        std::os::unix::fs::symlink(found.expect("a tool of every machine"), bin.join(tool)).expect("a link");
    }
    let sshd = sshd.with_path(&world, &bin.display().to_string());
    world.write("e.toml", EXPERIMENT);
    on(&world, &sshd, ["run", "e.toml"]).run().exits(2);
    world.write("far/app.py", "x = 1\ny = 2\n");
    on(&world, &sshd, ["watch", "-p", "app.py:2 {x}", "--", "python3", "app.py"]).run().exits(3).says(&["python3"]);
}

/// Nanoseconds since 1970 by the clock here.
fn now_ns() -> u64 {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("later than 1970");
    u64::try_from(since.as_nanos()).expect("before 2554")
}

#[test]
fn every_time_is_given_by_the_clock_here() {
    // Two days behind, and nine hours ahead, of the clock here.
    for ahead in [-172_800, 32_400] {
        let world = world();
        let Some(clock) = clock_ahead(&world, ahead) else { return skip("there is no C compiler", Mark::Machine) };
        let wrapper = world.path("shifted");
        fs::write(&wrapper, format!("#!/bin/sh\nLD_PRELOAD='{}' exec '{PROGRAM}' \"$@\"\n", clock.display())).expect("a file");
        fs::set_permissions(&wrapper, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("own file");
        let Some(sshd) = Sshd::start(&world, Some(&wrapper)) else { return skip("there is no sshd", Mark::Machine) };
        world.write("far/app.py", "def hit(n):\n    return n\nfor n in range(5):\n    hit(n)\n");
        let before = now_ns();
        let told = on(&world, &sshd, ["watch", "--json", "-p", "app.py:2 {n}", "--", "python3", "app.py"]).run().exits(0);
        let times = |text: &str| -> Vec<u64> {
            let hits = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).expect("JSON")["hit"]["time_ns"].as_u64());
            hits.collect()
        };
        let hits = times(&told.stdout);
        let runs = fs::read_dir(world.path(".bystander/runs")).expect("runs").flatten().map(|run| run.path().join("far.json"));
        let offset =
            runs.filter_map(|file| serde_json::from_slice::<Value>(&fs::read(file).ok()?).ok()?["offset"]["ahead_ns"].as_i64()).next();
        assert!(offset.is_some_and(|ns| (ns / 1_000_000_000 - ahead).abs() <= 1), "the clock there is another one: {offset:?}");
        let (error, after) = (1_000_000_000, now_ns());
        assert!(hits.len() == 5 && hits.iter().all(|hit| (before - error..after + error).contains(hit)), "{before} {hits:?} {after}");
        let shown = world.bystander(["show", "--json"]).run().exits(0);
        assert_eq!(times(&shown.stdout), hits, "the record says the same, to the nanosecond");
        let is_ahead = |on: &Value| on["clock_ahead_ns"].as_i64().is_some_and(|ns| (ns / 1_000_000_000 - ahead).abs() <= 1);
        for text in [&told.stdout, &shown.stdout] {
            let last: Value = serde_json::from_str(text.lines().last().unwrap_or_default()).expect("JSON");
            assert!(is_ahead(&last["summary"]["on"]) && last["summary"]["on"]["address"] == "ssh://target", "{last}");
        }
        let found = on(&world, &sshd, ["doctor", "--json"]).run().exits(0).json();
        assert!(is_ahead(&found["on"]), "{found}");
        let clock = found["findings"].as_array().into_iter().flatten().find(|finding| finding["name"] == "clock");
        let word = if ahead > 0 { "ahead of the one here" } else { "behind the one here" };
        let told = clock.is_some_and(|clock| {
            clock["found"].as_str().is_some_and(|text| text.contains(word))
                && clock["mend"].as_str().is_some_and(|text| text.contains("timedatectl"))
        });
        assert!(told, "{clock:?}");
        let rows = world.bystander(["show"]).run().exits(0).stdout;
        let seconds = rows.lines().filter(|line| line.contains("n=")).map(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        let seconds: Option<Vec<f64>> = seconds.collect();
        assert!(seconds.is_some_and(|all| all.len() == 5 && all.iter().all(|one| (0.0..60.0).contains(one))), "{rows}");
        let moment = |time: &Value| {
            let at: jiff::Timestamp = time.as_str().expect("a time").parse().expect("RFC 3339");
            u64::try_from(at.as_nanosecond()).expect("later than 1970")
        };
        let apply = ["patch", "apply", "--json", "--expire", "1h", "--file", "app.py", "--find", "return n", "--replace", "return n + 1"];
        let applied = on(&world, &sshd, apply).run().exits(0).json();
        let hour = 3_600_000_000_000;
        let until = moment(&applied["expires"]);
        assert!((before + hour - error..now_ns() + hour + error).contains(&until), "{applied}");
        let status = world.bystander(["patch", "status", "--json"]).run().exits(1).json();
        let edit = &status["hosts"][0]["report"]["edits"][0];
        assert!((before - error..now_ns() + error).contains(&moment(&edit["made"])), "{status}");
        assert_eq!(moment(&edit["expires"]) / 1_000_000_000, until / 1_000_000_000, "{status}");
        on(&world, &sshd, ["patch", "revert"]).run().exits(0);
    }
}

#[test]
fn programs_there_see_nothing_of_the_connection() {
    let Some((world, sshd)) = far() else { return };
    world.write("e.toml", EXPERIMENT.replace("echo value", "env | grep ^SSH_; echo value"));
    let report = on(&world, &sshd, ["run", "e.toml", "--json"]).run().exits(2).json();
    let run = report["run"].as_str().expect("a run");
    let said = fs::read_to_string(world.path(&format!(".bystander/runs/{run}/trial-1/stdout"))).expect("what it printed");
    assert!(said.contains("value=") && !said.contains("SSH_"), "{said}");
}

#[test]
fn a_file_that_cannot_be_read_is_told_before_what_its_options_are_for() {
    let world = world();
    world.write("e.toml", "on = \"ssh://target\"\nlease = \"nonsense\"\n");
    let ran = world.bystander(["--no-upload", "run", "e.toml"]).run().exits(3);
    assert!(ran.stderr.contains("lease") && !ran.stderr.contains("without --on"), "{}", ran.stderr);
}

#[test]
fn a_lease_in_a_file_that_nothing_sends_anywhere_is_refused_with_its_place() {
    let world = world();
    world.write("e.toml", EXPERIMENT.replace("[program]", "lease = \"10m\"\n[program]"));
    for more in [&[][..], &["--dry-run"]] {
        let ran = world.bystander(["run", "e.toml"].into_iter().chain(more.iter().copied())).run().exits(3);
        ran.says(&["`lease` says nothing without a machine", "lease = \"10m\"", "on = \"ssh://user@host\""]);
    }
}
