//! How a near end ends that is told to, or is killed, before its command has: at once, and with nothing that stays for ever.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bystander_testkit::{LIMIT, Mark, Running, Signal, Sshd, World, kill, skip, until};

use crate::remote::{far, far_state, on};
use crate::world::world;

/// What a near end that is told to end may take, on a machine that is busy; a link that carries nothing is given up after 12 s.
const PROMPT: Duration = Duration::from_secs(8);

/// An experiment whose launches print much that cannot be compressed.
const MUCH: &str = r#"
question = "does it come back?"
[program]
command = ["sh", "-c", "head -c 4000000 /dev/urandom | base64; echo value=$V"]
[factors.v]
one = { env = { V = "1" } }
two = { env = { V = "2" } }
[plan]
baseline = { v = "one" }
blocks = 2
describe = true
[metrics]
value = { log = 'value=(\d+)', margin = 0.5, scale = "difference" }
"#;

/// Processes of the world whose command has these words.
fn processes(world: &World, words: &str) -> Vec<u32> {
    world.processes().iter().filter(|process| process.command.contains(words)).map(|process| process.pid).collect()
}

/// Files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Sends a signal, and gives what was said at the end, which comes at once.
fn ended_by(mut running: Running, signal: Signal) -> String {
    let sent = std::time::Instant::now();
    running.signal(signal);
    let ran = running.wait().exits(130);
    assert!(sent.elapsed() < PROMPT, "{:?}\n{}", sent.elapsed(), ran.stderr);
    ran.stderr
}

#[test]
fn ctrl_c_while_the_record_comes_back_ends_it_at_once_and_the_same_command_goes_on() {
    let Some((world, sshd)) = far() else { return };
    world.write("e.toml", MUCH);
    let running = on(&world, &sshd, ["run", "e.toml"]).start();
    // The link carries nothing any more from when the first of it has come.
    until("the record comes", LIMIT, || files(&world.path(".bystander/runs")).iter().any(|file| file.ends_with("far.json")));
    let agents = processes(&world, "bystander agent");
    agents.iter().for_each(|pid| kill(*pid, Signal::STOP));
    let said = ended_by(running, Signal::INT);
    assert!(said.contains("not all of its record is here") && said.contains("the same command brings it back"), "{said}");
    agents.iter().for_each(|pid| kill(*pid, Signal::CONT));
    // Another process here is at it.
    let lock = fs::File::options().write(true).open(world.path(".bystander/remote/record.lock")).expect("a file");
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).expect("locked");
    let running = on(&world, &sshd, ["run", "e.toml"]).start();
    until("it is taken up", LIMIT, || running.stderr().contains("taken up where it was"));
    let said = ended_by(running, Signal::TERM);
    assert!(said.contains("the same command"), "{said}");
    drop(lock);
    let report = on(&world, &sshd, ["run", "e.toml", "--json"]).run();
    assert!(matches!(report.code, Some(0 | 2)), "{}", report.stderr);
    let run = report.says(&["taken up where it was"]).json()["run"].as_str().expect("a run").to_owned();
    let length =
        |trial: u32| fs::metadata(world.path(&format!(".bystander/runs/{run}/trial-{trial}/stdout"))).map_or(0, |found| found.len());
    assert!((1..=4).all(|trial| length(trial) > 4_000_000), "all of it is here");
    assert!(files(&far_state(&world)).iter().all(|file| !file.components().any(|part| part.as_os_str() == "jobs")));
}

#[test]
fn ctrl_c_while_a_lost_link_is_made_anew_ends_it_at_once() {
    let Some((world, sshd)) = far() else { return };
    world.write("far/wait.sh", "echo begun; while [ ! -e go ]; do sleep 0.05; done\n");
    world.write("e.toml", MUCH.replace("head -c 4000000 /dev/urandom | base64", "while [ ! -e go ]; do sleep 0.05; done"));
    let running = on(&world, &sshd, ["run", "e.toml"]).start();
    until("a launch is there", LIMIT, || !world.trial_processes().is_empty());
    // Whoever connects now is let in by nobody and refused by nobody.
    let daemon = sshd.pid().expect("it runs");
    kill(daemon, Signal::STOP);
    processes(&world, "bystander agent").iter().for_each(|pid| kill(*pid, Signal::KILL));
    processes(&world, "[mux]").iter().for_each(|pid| kill(*pid, Signal::KILL));
    until("the loss is noticed", LIMIT, || running.stderr().contains("the connection broke"));
    until("it connects", LIMIT, || !processes(&world, "ConnectTimeout").is_empty());
    let said = ended_by(running, Signal::INT);
    assert!(said.contains("the command there was not stopped") && said.contains("the same command finds it again"), "{said}");
    kill(daemon, Signal::CONT);
    world.write("far/go", "");
    let report = on(&world, &sshd, ["run", "e.toml"]).run();
    assert!(matches!(report.code, Some(0 | 2)), "{}", report.stderr);
}

#[test]
fn ctrl_c_while_machines_are_asked_for_their_edits_ends_it_at_once() {
    let Some((world, sshd)) = far() else { return };
    world.write("far/x.py", "x = 1\n");
    on(&world, &sshd, ["patch", "apply", "--file", "x.py", "--find", "x = 1", "--replace", "x = 2"]).run().exits(0);
    let daemon = sshd.pid().expect("it runs");
    kill(daemon, Signal::STOP);
    // Once by a signal to it alone, once as a terminal sends it: to SSH as well.
    for also_ssh in [false, true] {
        let running = world.bystander(["patch", "status"]).start();
        until("it connects", LIMIT, || !processes(&world, "ConnectTimeout").is_empty());
        if also_ssh {
            processes(&world, "ConnectTimeout").iter().for_each(|pid| kill(*pid, Signal::INT));
        }
        let said = ended_by(running, Signal::INT);
        assert!(said.contains("interrupted while"), "{said}");
        until("SSH is gone", LIMIT, || processes(&world, "ConnectTimeout").is_empty());
    }
    kill(daemon, Signal::CONT);
    let status = world.bystander(["patch", "status"]).run().exits(1).stdout;
    assert!(status.contains("1 edit live on ssh://target."), "{status}");
}

#[test]
fn what_a_killed_near_end_left_of_a_verb_that_keeps_nothing_goes_when_it_does_not_come_back() {
    let Some((world, sshd)) = far() else { return };
    let watched = ["--lease", "5s", "memory", "watch"];
    let mut running = on(&world, &sshd, watched).start();
    until("it is at work", LIMIT, || !processes(&world, " far-job ").is_empty());
    let jobs = || files(&far_state(&world)).into_iter().filter(|file| file.ends_with("start.json")).collect::<Vec<_>>();
    assert_eq!(jobs().len(), 1);
    running.signal(Signal::KILL);
    drop(running.wait());
    on(&world, &sshd, ["doctor"]).run().exits(0);
    assert_eq!(jobs().len(), 1, "its lease has not passed, and it runs");
    until("its lease has ended it", LIMIT, || processes(&world, "far-warden").is_empty());
    assert!(processes(&world, " far-job ").is_empty());
    on(&world, &sshd, ["doctor"]).run().exits(0);
    assert_eq!(jobs().len(), 1, "whoever follows it may be cut off, and come back");
    let lease = fs::File::options().write(true).open(jobs()[0].with_file_name("lease")).expect("a file");
    lease.set_modified(std::time::SystemTime::now() - Duration::from_secs(25 * 3600)).expect("own file");
    on(&world, &sshd, ["doctor"]).run().exits(0);
    assert_eq!(jobs(), Vec::<PathBuf>::new());
}

#[test]
fn a_near_end_that_is_killed_in_the_middle_of_a_copy_sends_no_more_of_it() {
    let world = world();
    let Some(sshd) = Sshd::start(&world, None) else { return skip("there is no sshd", Mark::Machine) };
    let copies = || files(&far_state(&world).join("bin"));
    let mut running = on(&world, &sshd, ["doctor"]).start();
    until("a copy is begun", LIMIT, || !copies().is_empty());
    let connections = sshd.connections();
    connections.iter().for_each(|pid| kill(*pid, Signal::STOP));
    let begun = copies();
    assert!(begun.iter().all(|file| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".new."))), "{begun:?}");
    running.signal(Signal::KILL);
    drop(running.wait());
    connections.iter().for_each(|pid| kill(*pid, Signal::CONT));
    until("ssh is gone", LIMIT, || processes(&world, "ssh -").is_empty() && processes(&world, "[mux]").is_empty());
    until("what runs there has ended", LIMIT, || processes(&world, "cat").is_empty());
    assert_eq!(copies(), Vec::<PathBuf>::new(), "neither half a copy nor a whole one");
    // What a machine that stopped in the middle has left.
    on(&world, &sshd, ["doctor"]).run().exits(0);
    let cut = copies().first().expect("an executable").with_file_name(".new.4194305");
    fs::write(&cut, "half").expect("written");
    on(&world, &sshd, ["doctor"]).run().exits(0);
    assert!(!cut.exists() && copies().len() == 1);
}
