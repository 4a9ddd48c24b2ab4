//! What may happen to the link, to either end and to the disk there, while a command goes on there: nothing is lost, nothing comes twice, nothing is left.

use std::fs;
use std::path::Path;

use bystander_testkit::{LIMIT, Mark, Process, Run, Running, Signal, Sshd, World, kill, python, skip, until};
use serde_json::Value;

use crate::remote::{far, far_state, on};

/// A program that hits a probe 500 times, waits for a file, and hits it 500 times more.
const GATED: &str = "import os, sys, time

def hit(n):
    return n

for n in range(1000):
    if n == 500:
        while not os.path.exists('go'):
            time.sleep(0.01)
    hit(n)
";

/// An experiment whose third launch waits for a file.
const WAITS: &str = r#"
question = "does it survive?"
[program]
command = ["sh", "-c", "echo launch >> launches; n=$(wc -l < launches); while [ $n -eq 3 ] && [ ! -e go ]; do sleep 0.05; done; echo value=$V"]
[factors.v]
one = { env = { V = "1" } }
two = { env = { V = "2" } }
[plan]
baseline = { v = "one" }
blocks = 4
[metrics]
value = { log = 'value=(\d+)', margin = 0.5, scale = "difference" }
"#;

/// Watches the gated program there.
fn gated(world: &World, sshd: &Sshd) -> Run {
    world.write("far/gated.py", GATED);
    on(world, sshd, ["watch", "--json", "-p", "gated.py:4 {n} limit 100000", "--", "python3", "gated.py"])
}

/// Waits until the first half of the hits has arrived here.
fn half(running: &Running) {
    until("500 hits have arrived", LIMIT, || running.output().matches("\"hit\"").count() >= 500);
}

/// Every hit arrived once, in order, and is in the record here.
fn all_hits(world: &World, stdout: &str) {
    let lines: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let seen: Vec<u64> = lines.iter().filter_map(|line| line["hit"]["values"]["n"].as_u64()).collect();
    assert_eq!(seen, (0..1000).collect::<Vec<u64>>(), "{:?}", lines.first());
    let shown = world.bystander(["show", "--json"]).run().exits(0);
    assert!(shown.stdout.contains("1000"), "{}", shown.stdout);
}

fn of<'a>(processes: &'a [Process], words: &str) -> Vec<&'a Process> {
    processes.iter().filter(|process| process.command.contains(words)).collect()
}

/// No process, no command and no edit is left.
fn nothing_left(world: &World, sshd: &Sshd) {
    let left = || {
        let all = world.processes();
        let ours = |process: &&Process| !process.command.contains("sshd") && !process.command.starts_with("ssh: ");
        all.iter().filter(ours).cloned().collect::<Vec<_>>()
    };
    until(&format!("nothing is left of {:?}", left()), LIMIT, || left().is_empty());
    for state in fs::read_dir(far_state(world).join("far")).into_iter().flatten().flatten() {
        let jobs: Vec<_> = fs::read_dir(state.path().join("jobs")).into_iter().flatten().flatten().collect();
        assert!(jobs.is_empty(), "{jobs:?}");
    }
    drop(sshd.config());
}

/// Without Python nothing can be watched.
fn with_python() -> Option<(World, Sshd)> {
    if python().is_none() {
        skip("there is no Python 3.8 or newer", Mark::Machine);
        return None;
    }
    far()
}

#[test]
fn ssh_may_be_killed_and_the_stream_goes_on_where_it_was() {
    let Some((world, sshd)) = with_python() else { return };
    let running = gated(&world, &sshd).start();
    half(&running);
    let ours = world.processes();
    let clients = of(&ours, "-S ");
    assert!(!clients.is_empty(), "{ours:?}");
    clients.iter().for_each(|process| kill(process.pid, Signal::KILL));
    of(&ours, "[mux]").iter().for_each(|process| kill(process.pid, Signal::KILL));
    until("the loss is noticed", LIMIT, || running.stderr().contains("the connection broke"));
    world.write("far/go", "");
    let ran = running.wait().exits(0).says(&["there again", "nothing is lost"]);
    all_hits(&world, &ran.stdout);
    nothing_left(&world, &sshd);
}

#[test]
fn the_agent_may_be_killed_and_the_stream_goes_on_where_it_was() {
    let Some((world, sshd)) = with_python() else { return };
    let running = gated(&world, &sshd).start();
    half(&running);
    let agents: Vec<u32> = of(&world.processes(), "bystander agent").iter().map(|process| process.pid).collect();
    assert!(!agents.is_empty());
    agents.iter().for_each(|pid| kill(*pid, Signal::KILL));
    until("the loss is noticed", LIMIT, || running.stderr().contains("the connection broke"));
    world.write("far/go", "");
    let ran = running.wait().exits(0).says(&["nothing is lost"]);
    all_hits(&world, &ran.stdout);
    nothing_left(&world, &sshd);
}

#[test]
fn a_link_that_carries_nothing_any_more_is_made_anew() {
    let Some((world, sshd)) = with_python() else { return };
    let running = gated(&world, &sshd).start();
    half(&running);
    let connections = sshd.connections();
    assert!(!connections.is_empty());
    connections.iter().for_each(|pid| kill(*pid, Signal::STOP));
    world.write("far/go", "");
    let ran = running.wait();
    connections.iter().for_each(|pid| kill(*pid, Signal::KILL));
    let ran = ran.exits(0).says(&["no answer for", "nothing is lost"]);
    all_hits(&world, &ran.stdout);
}

/// A process in a network of its own, which is up; `None` where this user may make none.
fn network(world: &World) -> Option<Running> {
    if !rustix::process::geteuid().is_root() {
        skip("only the superuser makes networks", Mark::Superuser);
        return None;
    }
    if [["ip", "-V"], ["nsenter", "-V"], ["unshare", "-V"]]
        .iter()
        .any(|[tool, option]| world.run(Path::new(tool)).args([option]).run().code != Some(0))
    {
        skip("there is no ip, nsenter or unshare", Mark::Machine);
        return None;
    }
    let holder = world.run(Path::new("unshare")).args(["--net", "sh", "-c", "ip link set lo up && echo up && exec sleep 600"]).start();
    until("the network is up", LIMIT, || holder.output().contains("up"));
    Some(holder)
}

#[test]
fn a_link_that_is_cut_for_half_a_minute_costs_nothing_but_the_time() {
    let world = crate::world::world();
    if python().is_none() {
        return skip("there is no Python 3.8 or newer", Mark::Machine);
    }
    let Some(holder) = network(&world) else { return };
    let Some(sshd) = Sshd::start_in(&world, Some(Path::new(env!("CARGO_BIN_EXE_bystander"))), Some(holder.pid())) else {
        return skip("there is no sshd", Mark::Machine);
    };
    let inside = format!("--net=/proc/{}/ns/net", holder.pid());
    let link = |way: &str| {
        let _set = world.run(Path::new("nsenter")).args([&inside, "ip", "link", "set", "lo", way]).run().exits(0);
    };
    world.write("far/gated.py", GATED);
    let near = world.run(Path::new("nsenter")).args([&inside, env!("CARGO_BIN_EXE_bystander"), "--on", "ssh://target", "--ssh-config"]);
    let near = near.args([sshd.config()]).args(["watch", "--json", "-p", "gated.py:4 {n} limit 100000", "--", "python3", "gated.py"]);
    let running = near.start();
    half(&running);
    link("down");
    let cut = std::time::Instant::now();
    world.write("far/go", "");
    until("half a minute is over", LIMIT, || cut.elapsed() >= std::time::Duration::from_secs(30));
    assert!(running.stderr().contains("the connection broke"), "{}", running.stderr());
    link("up");
    let ran = running.wait().exits(0).says(&["nothing is lost"]);
    all_hits(&world, &ran.stdout);
}

#[test]
fn the_near_end_may_be_killed_and_started_again() {
    let Some((world, sshd)) = far() else { return };
    world.write("e.toml", WAITS);
    let launches = || fs::read_to_string(world.path("far/launches")).unwrap_or_default().lines().count();
    let mut first = on(&world, &sshd, ["run", "e.toml"]).start();
    until("the third launch waits", LIMIT, || launches() == 3);
    first.signal(Signal::KILL);
    drop(first.wait());
    // The agent goes with its connection; the run goes on.
    until("no agent is left", LIMIT, || of(&world.processes(), "bystander agent").is_empty());
    assert_eq!(of(&world.processes(), "far-warden").len(), 1);
    world.write("far/go", "");
    until("every launch is made", LIMIT, || launches() == 8);
    let second = on(&world, &sshd, ["run", "e.toml", "--json"]).run();
    assert_eq!(second.code, Some(2), "{}\n{}", second.stdout, second.stderr);
    let report = second.says(&["taken up where it was"]).json();
    assert_eq!((report["trials"].as_array().map(Vec::len), launches()), (Some(8), 8), "nothing twice");
    nothing_left(&world, &sshd);
}

#[test]
fn nobody_within_the_lease_ends_the_run_and_undoes_its_edits() {
    let Some((world, sshd)) = far() else { return };
    let source = "one\ntwo\n";
    let file = world.write("far/source.txt", source);
    let experiment = WAITS.replace("question", "lease = \"10s\"\nquestion").replace(
        "[plan]\n",
        "[[edits]]\nname = \"edit\"\nfile = \"source.txt\"\nfind = \"one\\n\"\nreplace = \"three\\n\"\n[plan]\ndescribe = true\ninstruments = [\"none\", \"edit\"]\n",
    );
    let experiment = experiment.replace("baseline = { v = \"one\" }", "baseline = { v = \"one\", instrument = \"none\" }");
    let experiment =
        experiment.replace("echo launch >> launches;", "cat source.txt; echo launch >> launches;").replace("$n -eq 3", "$n -ge 3");
    world.write("e.toml", experiment);
    let mut first = on(&world, &sshd, ["run", "e.toml"]).start();
    until("a launch waits", LIMIT, || fs::read_to_string(world.path("far/launches")).unwrap_or_default().lines().count() >= 3);
    first.signal(Signal::KILL);
    drop(first.wait());
    until("the run has left", LIMIT, || of(&world.processes(), "far-warden").is_empty() && world.trial_processes().is_empty());
    assert_eq!(fs::read_to_string(file).expect("the file"), source);
    world.write("far/go", "");
    let second = on(&world, &sshd, ["run", "e.toml", "--json", "--lease", "10m"]).run();
    assert!(matches!(second.code, Some(0 | 2)), "{}\n{}", second.stdout, second.stderr);
    second.says(&["it was stopped there meanwhile"]);
    nothing_left(&world, &sshd);
}

#[test]
fn the_same_command_twice_at_once_is_followed_by_one_and_the_other_says_so() {
    let Some((world, sshd)) = far() else { return };
    world.write("e.toml", WAITS);
    let launches = || fs::read_to_string(world.path("far/launches")).unwrap_or_default().lines().count();
    let first = on(&world, &sshd, ["run", "e.toml"]).start();
    until("the third launch waits", LIMIT, || launches() == 3);
    on(&world, &sshd, ["run", "e.toml"]).run().exits(3).says(&["another process here follows it already"]);
    // Another run from the same state directory meanwhile takes nothing of this one.
    world.write("other.toml", crate::remote::EXPERIMENT);
    on(&world, &sshd, ["run", "other.toml"]).run().exits(2);
    world.write("far/go", "");
    first.wait().exits(2);
    nothing_left(&world, &sshd);
}

#[test]
fn ctrl_c_here_ends_the_run_there_in_order() {
    let Some((world, sshd)) = far() else { return };
    world.write("e.toml", WAITS);
    let mut running = on(&world, &sshd, ["run", "e.toml"]).start();
    until("the third launch waits", LIMIT, || fs::read_to_string(world.path("far/launches")).unwrap_or_default().lines().count() == 3);
    running.signal(Signal::INT);
    let ran = running.wait().exits(130);
    assert!(ran.stdout.contains("Interrupted") || ran.stderr.contains("stopping"), "{}\n{}", ran.stdout, ran.stderr);
    nothing_left(&world, &sshd);
    world.write("far/go", "");
    on(&world, &sshd, ["run", "e.toml"]).run().exits(2).says(&["block 4/4"]);
}

#[test]
fn a_warden_that_is_killed_takes_its_command_along_and_is_told() {
    let Some((world, sshd)) = far() else { return };
    world.write("e.toml", WAITS);
    let running = on(&world, &sshd, ["run", "e.toml"]).start();
    until("the third launch waits", LIMIT, || fs::read_to_string(world.path("far/launches")).unwrap_or_default().lines().count() == 3);
    of(&world.processes(), "far-warden").iter().for_each(|process| kill(process.pid, Signal::KILL));
    running.wait().exits(4).says(&["whoever looked after it there is gone", "the same command goes on"]);
    nothing_left(&world, &sshd);
    world.write("far/go", "");
    on(&world, &sshd, ["run", "e.toml"]).run().exits(2).says(&["block 4/4"]);
}

#[test]
fn a_home_that_cannot_be_written_to_is_told_with_the_way_out() {
    let Some((world, sshd)) = far() else { return };
    let state = world.path("far/.local");
    fs::create_dir_all(&state).expect("a folder");
    let mounted = world.run(Path::new("/bin/mount")).args(["-t", "tmpfs", "-o", "size=64k,ro", "none"]).args([&state]).run();
    if mounted.code != Some(0) {
        return skip("no file system can be mounted", Mark::Superuser);
    }
    let ran = on(&world, &sshd, ["patch", "status"]).run();
    let there = on(&world, &sshd, ["doctor"]).run();
    fs::remove_file(world.path("far-bin/bystander")).expect("own link");
    let copied = on(&world, &sshd, ["doctor"]).run();
    let unmounted = world.run(Path::new("/bin/umount")).args(["-l"]).args([&state]).run();
    assert_eq!((ran.code, unmounted.code), (Some(4), Some(0)), "{}", ran.stderr);
    ran.says(&["Read-only file system", "set XDG_STATE_HOME there"]);
    for ran in [there, copied] {
        found_broken(&ran, "Read-only file system");
    }
}

/// What `doctor` says of a home that cannot be written to: every line, what is broken with its mend.
fn found_broken(ran: &bystander_testkit::Ran, why: &str) {
    assert_eq!(ran.code, Some(4), "{}\n{}", ran.stdout, ran.stderr);
    assert!(!ran.stderr.contains("error:"), "{}", ran.stderr);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let broken = lines.iter().position(|line| line.starts_with("MISSING") && line.contains(why));
    let mend = broken.and_then(|at| lines.get(at + 1)).copied().unwrap_or_default();
    assert!(mend.starts_with("        ") && mend.contains("XDG_STATE_HOME"), "{}", ran.stdout);
    for found in ["room for records", "temporary folder", "python3 for probes", "git state in records"] {
        assert!(ran.stdout.contains(found), "{found} is missing:\n{}", ran.stdout);
    }
}

#[test]
fn a_doctor_tells_all_of_a_machine_that_has_no_room_no_python_and_no_temporary_folder() {
    let Some((world, sshd)) = far() else { return };
    let state = world.path("far/.local");
    fs::create_dir_all(&state).expect("a folder");
    let mounted = world.run(Path::new("/bin/mount")).args(["-t", "tmpfs", "-o", "size=64k", "none"]).args([&state]).run();
    if mounted.code != Some(0) {
        return skip("no file system can be mounted", Mark::Superuser);
    }
    let filled = fs::write(state.join("fill"), vec![0; 256 << 10]);
    let bin = world.path("far-bin");
    for tool in ["sh", "env", "uname", "df", "tail", "rm", "mkdir", "getconf", "cat", "wc", "chmod", "mv"] {
        let found = ["/usr/bin", "/bin"].iter().map(|folder| Path::new(folder).join(tool)).find(|path| path.exists());
        std::os::unix::fs::symlink(found.expect("a tool of every machine"), bin.join(tool)).expect("a link");
    }
    let sshd = sshd.with_path(&world, &format!("{} TMPDIR=/none", bin.display()));
    let there = on(&world, &sshd, ["doctor"]).run();
    let json = on(&world, &sshd, ["doctor", "--json"]).run();
    fs::remove_file(bin.join("bystander")).expect("own link");
    let copied = on(&world, &sshd, ["doctor"]).run();
    let left: Vec<_> = fs::read_dir(&state).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
    let unmounted = world.run(Path::new("/bin/umount")).args(["-l"]).args([&state]).run();
    assert_eq!(unmounted.code, Some(0));
    assert!(filled.is_err(), "it is full");
    found_broken(&there, "No space left");
    found_broken(&copied, "No space left");
    for ran in [&there, &copied] {
        let broken = |name: &str| ran.stdout.lines().any(|line| line.starts_with("without") && line.contains(name));
        assert!(["temporary folder", "python3 for probes", "git state in records"].into_iter().all(broken), "{}", ran.stdout);
    }
    let json = json.exits(4).json();
    assert_eq!(
        (&json["on"]["address"], json["findings"].as_array().is_some_and(|all| all.len() > 10)),
        (&"ssh://target".into(), true),
        "{json}"
    );
    assert!(left.iter().all(|name| name == "fill" || name == "state"), "nothing is left there: {left:?}");
}

#[test]
fn a_full_disk_there_is_the_reason_that_is_named() {
    let Some((world, sshd)) = far() else { return };
    let state = world.path("far/.local");
    fs::create_dir_all(&state).expect("a folder");
    let mounted = world.run(Path::new("/bin/mount")).args(["-t", "tmpfs", "-o", "size=256k", "none"]).args([&state]).run();
    if mounted.code != Some(0) {
        return skip("no file system can be mounted", Mark::Superuser);
    }
    fs::write(state.join("fill"), vec![0; 200 << 10]).expect("there is room for that");
    let filled = fs::write(state.join("rest"), vec![0; 256 << 10]);
    assert!(filled.is_err(), "it is full");
    world.write("e.toml", crate::remote::EXPERIMENT);
    let ran = on(&world, &sshd, ["run", "e.toml"]).run();
    let unmounted = world.run(Path::new("/bin/umount")).args(["-l"]).args([&state]).run();
    assert_eq!((ran.code, unmounted.code), (Some(4), Some(0)), "{}\n{}", ran.stdout, ran.stderr);
    let ran = ran.says(&["No space left on device"]);
    assert!(!ran.stderr.contains("--state"), "the directory that is full is not the one here:\n{}", ran.stderr);
    on(&world, &sshd, ["run", "e.toml"]).run().exits(2);
}
