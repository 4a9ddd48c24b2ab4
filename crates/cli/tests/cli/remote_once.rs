//! What is asked for there is done once, however often its near end is killed, and a command that is killed there leaves nothing.

use std::fs;
use std::path::PathBuf;

use bystander_testkit::{LIMIT, Mark, Signal, World, is_alive, kill, python, skip, until};

use crate::remote::{far, far_state, on};

/// Processes of the world whose command has these words.
fn processes(world: &World, words: &str) -> Vec<u32> {
    world.processes().iter().filter(|process| process.command.contains(words)).map(|process| process.pid).collect()
}

/// The names in a folder of all state directories there.
fn jobs_there(world: &World) -> Vec<PathBuf> {
    let states = fs::read_dir(far_state(world).join("far")).into_iter().flatten().flatten();
    states.flat_map(|state| fs::read_dir(state.path().join("jobs")).into_iter().flatten().flatten()).map(|job| job.path()).collect()
}

/// What was asked for here and not told, without locks.
fn jobs_here(world: &World) -> Vec<PathBuf> {
    let folders = [world.path(".bystander/remote/jobs"), world.path("home/.local/state/bystander/remote/jobs")];
    let entries = folders.into_iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|kind| kind == "json")).collect()
}

/// An edit that can be made again and again.
const TWICE: [&str; 8] = ["patch", "apply", "--file", "app.txt", "--find", "end", "--insert-before", "more\n"];

/// How often the edit stands in the file there.
fn made(world: &World) -> usize {
    fs::read_to_string(world.path("far/app.txt")).expect("the file").matches("more").count()
}

#[test]
fn the_same_edit_typed_again_after_a_kill_is_the_one_that_was_made() {
    let Some((world, sshd)) = far() else { return };
    world.write("far/app.txt", "begin\nend\n");
    let moments: [(&str, &dyn Fn() -> bool); 3] = [
        ("it is written down", &|| !jobs_here(&world).is_empty()),
        ("it was asked for", &|| !jobs_there(&world).is_empty()),
        ("it was made", &|| made(&world) > 0),
    ];
    for (moment, has_come) in moments {
        let mut first = on(&world, &sshd, TWICE).start();
        until(moment, LIMIT, has_come);
        first.signal(Signal::KILL);
        let first = first.wait();
        if first.code.is_none() {
            let second = on(&world, &sshd, TWICE)
                .run()
                .exits(0)
                .says(&["the same command was asked for on ssh://target before", "taken up where it was"]);
            assert!(second.stdout.contains("app.txt"), "its answer is given as a whole:\n{}", second.stdout);
        }
        assert_eq!(made(&world), 1, "{moment}");
        assert_eq!((jobs_here(&world), jobs_there(&world)), (Vec::new(), Vec::new()), "{moment}");
        on(&world, &sshd, ["patch", "revert"]).run().exits(0);
    }
    // Its end was told: it is another one now.
    for times in 1..=2 {
        let typed = on(&world, &sshd, TWICE).run().exits(0);
        assert!(!typed.stderr.contains("taken up"), "{}", typed.stderr);
        assert_eq!(made(&world), times);
    }
}

#[test]
fn an_end_that_was_written_down_and_not_told_is_told_once_and_begins_nothing() {
    let Some((world, sshd)) = far() else { return };
    world.write("far/app.txt", "begin\nend\n");
    let mut first = on(&world, &sshd, TWICE).start();
    // The far end answers no more from when its edit stands: so its end cannot be told.
    until("it was made", LIMIT, || made(&world) > 0);
    first.signal(Signal::KILL);
    drop(first.wait());
    let here = jobs_here(&world);
    if here.len() == 1 {
        let mut job: serde_json::Value = serde_json::from_slice(&fs::read(&here[0]).expect("a file")).expect("JSON");
        until("it has ended there", LIMIT, || processes(&world, "far-warden").is_empty());
        // As it is where the far end has removed it, and the near end was killed before it had told the end.
        job["ended"] = serde_json::json!({ "ended": {
            "code": 0, "signal": null, "lease_over_s": null, "unstarted": null, "lost_bytes": 0, "lost_why": null, "cleared": null
        } });
        fs::write(&here[0], job.to_string()).expect("own file");
        jobs_there(&world).iter().for_each(|job| fs::remove_dir_all(job).expect("own folder"));
        on(&world, &sshd, TWICE).run().exits(0).says(&["has ended", "to tell its end"]);
    }
    assert_eq!((made(&world), jobs_here(&world)), (1, Vec::new()));
}

#[test]
fn a_command_whose_memory_is_watched_is_run_once() {
    let Some((world, sshd)) = far() else { return };
    let script = "echo run >> runs; echo said; while [ ! -e go ]; do sleep 0.05; done; exit 3";
    let watch = || on(&world, &sshd, ["memory", "watch", "--json", "--", "sh", "-c", script]);
    let mut first = watch().start();
    until("it runs", LIMIT, || world.path("far/runs").exists());
    first.signal(Signal::KILL);
    drop(first.wait());
    let second = watch().start();
    until("it is taken up", LIMIT, || second.stderr().contains("taken up where it was"));
    // One that is followed already is not taken up: this is another one.
    let third = watch().start();
    until("another one runs", LIMIT, || fs::read_to_string(world.path("far/runs")).expect("a file").lines().count() == 2);
    world.write("far/go", "");
    for ran in [second.wait(), third.wait()] {
        let ran = ran.exits(1);
        assert_eq!(ran.json()["exit"], 3, "{}", ran.stdout);
    }
    assert_eq!(fs::read_to_string(world.path("far/runs")).expect("a file").lines().count(), 2);
    assert_eq!((jobs_here(&world), jobs_there(&world)), (Vec::new(), Vec::new()));
    watch().run().exits(1);
    assert_eq!(
        fs::read_to_string(world.path("far/runs")).expect("a file").lines().count(),
        3,
        "its end was told: typed again, it is run again"
    );
}

/// An experiment whose edited launch waits until it is ended.
const EDITED: &str = r#"
question = "what is left of it?"
[program]
command = ["sh", "-c", "if grep -q three source.txt; then echo edited > edited; exec sleep 600; fi; echo value=$V"]
[factors.v]
one = { env = { V = "1" } }
two = { env = { V = "2" } }
[[edits]]
name = "edit"
file = "source.txt"
find = "one\n"
replace = "three\n"
[plan]
describe = true
instruments = ["none", "edit"]
baseline = { v = "one", instrument = "none" }
blocks = 2
[metrics]
value = { log = 'value=(\d+)', margin = 0.5, scale = "difference" }
"#;

/// The command of a run that a warden has started.
fn far_command(world: &World) -> Vec<u32> {
    processes(world, " far-job ")
}

#[test]
fn a_far_command_that_is_killed_leaves_neither_its_edit_nor_its_program() {
    let Some((world, sshd)) = far() else { return };
    let file = world.write("far/source.txt", "one\ntwo\n");
    world.write("e.toml", EDITED);
    let running = on(&world, &sshd, ["run", "e.toml"]).start();
    until("the edited launch is there", LIMIT, || world.path("far/edited").exists());
    let killed = far_command(&world);
    assert!(!killed.is_empty());
    killed.iter().for_each(|pid| kill(*pid, Signal::KILL));
    let ran = running.wait().exits(4);
    let ran =
        ran.says(&["was ended by signal 9", "its edit was taken back", "source.txt", "the same command goes on with what was recorded"]);
    assert_eq!(fs::read_to_string(&file).expect("the file"), "one\ntwo\n", "{}", ran.stderr);
    assert!(processes(&world, "sleep 600").is_empty() && world.trial_processes().is_empty());
    on(&world, &sshd, ["patch", "verify"]).run().exits(0);
}

#[test]
fn a_far_command_and_its_near_end_that_are_killed_leave_no_edit_either() {
    let Some((world, sshd)) = far() else { return };
    let file = world.write("far/source.txt", "one\ntwo\n");
    world.write("e.toml", EDITED);
    let mut running = on(&world, &sshd, ["run", "e.toml"]).start();
    until("the edited launch is there", LIMIT, || world.path("far/edited").exists());
    running.signal(Signal::KILL);
    drop(running.wait());
    far_command(&world).iter().for_each(|pid| kill(*pid, Signal::KILL));
    until("its warden is done", LIMIT, || processes(&world, "far-warden").is_empty());
    assert_eq!(fs::read_to_string(file).expect("the file"), "one\ntwo\n");
    assert!(processes(&world, "sleep 600").is_empty());
}

#[test]
fn what_a_command_and_its_warden_leave_that_are_killed_at_once_is_taken_back_for_whoever_asks() {
    let Some((world, sshd)) = far() else { return };
    let file = world.write("far/source.txt", "one\ntwo\n");
    world.write("e.toml", EDITED);
    let running = on(&world, &sshd, ["run", "e.toml"]).start();
    until("the edited launch is there", LIMIT, || world.path("far/edited").exists());
    let wardens = processes(&world, "far-warden");
    wardens.iter().for_each(|pid| kill(*pid, Signal::STOP));
    far_command(&world).iter().for_each(|pid| kill(*pid, Signal::KILL));
    until("the command is gone", LIMIT, || far_command(&world).is_empty());
    wardens.iter().for_each(|pid| kill(*pid, Signal::KILL));
    running.wait().exits(4).says(&["whoever looked after it there is gone"]);
    assert_eq!(fs::read_to_string(file).expect("the file"), "one\ntwo\n");
    assert!(processes(&world, "sleep 600").is_empty());
}

#[test]
fn an_edit_of_a_killed_command_that_cannot_be_taken_back_is_told_with_the_way() {
    let Some((world, sshd)) = far() else { return };
    let file = world.write("far/source.txt", "one\ntwo\n");
    world.write("e.toml", EDITED);
    let running = on(&world, &sshd, ["run", "e.toml"]).start();
    until("the edited launch is there", LIMIT, || world.path("far/edited").exists());
    // Somebody has put something else in its place.
    fs::remove_file(&file).and_then(|()| fs::create_dir(&file)).expect("own file");
    far_command(&world).iter().for_each(|pid| kill(*pid, Signal::KILL));
    let ran = running.wait().exits(4);
    ran.says(&["could not be taken back and is live", "source.txt", "`bystander --on ssh://target --ssh-config ", " patch revert "]);
}

#[test]
fn a_lease_that_ends_a_watch_is_the_reason_that_is_told_and_the_same_command_shows_it_first() {
    if python().is_none() {
        return skip("there is no Python 3.8 or newer", Mark::Machine);
    }
    let Some((world, sshd)) = far() else { return };
    world.write("far/app.py", "import os, time\n\ndef hit(n):\n    return n\n\nopen('begun', 'a').write('x')\nhit(1)\nwhile not os.path.exists('go'):\n    time.sleep(0.05)\n");
    let watch = || on(&world, &sshd, ["--lease", "5s", "watch", "-p", "app.py:4 {n}", "--", "python3", "app.py"]);
    let mut first = watch().start();
    until("a hit has come", LIMIT, || first.output().contains("n=1"));
    first.signal(Signal::KILL);
    drop(first.wait());
    until("its lease has ended it", LIMIT, || processes(&world, "far-warden").is_empty());
    let second = watch().run().exits(4);
    let words = "its lease of 5 s was over, since nobody was connected for so long";
    let second = second.says(&["taken up where it was", words, "the same command begins anew"]);
    assert!(!second.stderr.contains("by you") && !second.stderr.contains("nothing is lost"), "{}", second.stderr);
    let begun = || fs::read_to_string(world.path("far/begun")).expect("a file").len();
    assert_eq!(begun(), 1, "nothing was begun beside it");
    let shown = world.bystander(["show"]).run();
    assert!(shown.stderr.split_whitespace().collect::<Vec<_>>().join(" ").contains(words), "{}", shown.stderr);
    world.write("far/go", "");
    let third = watch().run().exits(0);
    assert!(!third.stderr.contains("taken up") && begun() == 2, "{}", third.stderr);
}

#[test]
fn a_lease_that_ends_a_run_is_in_its_record() {
    let Some((world, sshd)) = far() else { return };
    world.write("far/source.txt", "one\ntwo\n");
    world.write("e.toml", EDITED);
    let mut first = on(&world, &sshd, ["--lease", "5s", "run", "e.toml"]).start();
    until("the edited launch is there", LIMIT, || world.path("far/edited").exists());
    first.signal(Signal::KILL);
    drop(first.wait());
    until("its lease has ended it", LIMIT, || processes(&world, "far-warden").is_empty());
    // The record comes back with the next that is done there, whatever that is.
    world.write("other.toml", crate::remote::EXPERIMENT);
    on(&world, &sshd, ["run", "other.toml"]).run().exits(2);
    let runs = fs::read_dir(world.path(".bystander/runs")).expect("runs").flatten().map(|run| run.file_name());
    let run = runs.map(|run| run.to_string_lossy().into_owned()).find(|run| run.starts_with("e-"));
    let shown = world.bystander(["show"]).args([run.expect("its record")]).run();
    let said = [shown.stdout, shown.stderr].concat();
    assert!(
        said.split_whitespace().collect::<Vec<_>>().join(" ").contains("ts lease of 5 s was over, since nobody was connected"),
        "{said}"
    );
}

#[test]
fn a_run_that_is_to_begin_anew_ends_the_one_that_was_left() {
    let Some((world, sshd)) = far() else { return };
    world.write("e.toml", crate::remote::EXPERIMENT.replace("echo value=$V", "echo l >> launches; [ -e go ] || sleep 600; echo value=$V"));
    let mut first = on(&world, &sshd, ["run", "e.toml"]).start();
    until("a launch is there", LIMIT, || world.path("far/launches").exists());
    first.signal(Signal::KILL);
    drop(first.wait());
    let older = processes(&world, "far-warden");
    assert_eq!(older.len(), 1);
    world.write("far/go", "");
    let second = on(&world, &sshd, ["run", "e.toml", "--new"]).run().exits(2).says(&["it is ended first", "block 4/4"]);
    assert!(!is_alive(older[0]), "{}", second.stderr);
    assert_eq!((jobs_here(&world), jobs_there(&world)), (Vec::new(), Vec::new()));
}

#[test]
fn whatever_verb_is_killed_there_its_program_goes_and_its_end_is_told() {
    let Some((world, sshd)) = far() else { return };
    world.write("far/app.py", "def hit(n):\n    return n\nhit(1)\nopen('begun', 'w')\nimport time\ntime.sleep(600)\n");
    let mut verbs = vec![vec!["memory", "watch", "--", "sh", "-c", "echo > begun; exec sleep 600"]];
    if python().is_some() {
        verbs.push(vec!["watch", "-p", "app.py:2 {n}", "--", "python3", "app.py"]);
    }
    for verb in verbs {
        let running = on(&world, &sshd, verb.iter().copied()).start();
        until("the program is there", LIMIT, || world.path("far/begun").exists());
        far_command(&world).iter().for_each(|pid| kill(*pid, Signal::KILL));
        running.wait().exits(4).says(&["was ended by signal 9", "the same command begins anew"]);
        let left = || world.processes().into_iter().filter(|process| process.command.contains("600") || process.command.contains("app.py"));
        assert_eq!(left().count(), 0, "{:?}", left().collect::<Vec<_>>());
        assert_eq!((jobs_here(&world), jobs_there(&world)), (Vec::new(), Vec::new()));
        fs::remove_file(world.path("far/begun")).expect("own file");
    }
}

#[test]
fn a_link_that_dies_when_the_end_is_told_costs_no_wait_and_what_is_left_goes_later() {
    let Some((world, sshd)) = far() else { return };
    world.write("far/app.txt", "begin\nend\n");
    let mut running = on(&world, &sshd, TWICE).start();
    // From here on only what is live there by now is asked for, and that what has ended goes there.
    let has_ended = || jobs_here(&world).iter().any(|job| fs::read_to_string(job).is_ok_and(|text| text.contains("\"ended\": {")));
    until("its end is here", LIMIT, || has_ended() || running.output().contains("app.txt") && jobs_here(&world).is_empty());
    let agents = processes(&world, "bystander agent");
    agents.iter().for_each(|pid| kill(*pid, Signal::STOP));
    let sent = std::time::Instant::now();
    running.signal(Signal::INT);
    let ran = running.wait();
    agents.iter().for_each(|pid| kill(*pid, Signal::KILL));
    assert!(sent.elapsed() < std::time::Duration::from_secs(8), "{:?}\n{}", sent.elapsed(), ran.stderr);
    // It had done what it was asked for.
    assert_eq!((ran.exits(0).code, made(&world)), (Some(0), 1));
    let typed = on(&world, &sshd, TWICE).run().exits(0);
    assert!(!typed.stderr.contains("taken up"), "{}", typed.stderr);
    assert_eq!((made(&world), jobs_here(&world)), (2, Vec::new()));
    assert!(jobs_there(&world).iter().all(|job| job.to_string_lossy().contains("/status-")), "{:?}", jobs_there(&world));
}

#[test]
fn ctrl_c_ends_a_verb_there_that_knows_none_and_says_so() {
    let Some((world, sshd)) = far() else { return };
    // An edit of a file behind a lock that somebody holds there waits.
    world.write("far/app.txt", "begin\nend\n");
    on(&world, &sshd, TWICE).run().exits(0);
    let state = fs::read_dir(far_state(&world).join("far")).expect("states").flatten().next().expect("a state").path();
    let lock = files(&state).into_iter().find(|file| file.ends_with("edits/lock")).expect("the lock of the journal");
    let ends = [(Signal::INT, 130, "interrupted: the command on ssh://target was ended"), (Signal::KILL, 4, "was ended by signal 9")];
    for (signal, code, words) in ends {
        let held = fs::File::options().write(true).open(&lock).expect("a file");
        rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).expect("locked");
        let mut running = on(&world, &sshd, TWICE).start();
        let at_work = || processes(&world, " far-job ").iter().any(|pid| processes(&world, " apply ").contains(pid));
        until("it is at work", LIMIT, at_work);
        if signal == Signal::INT {
            running.signal(signal);
        } else {
            far_command(&world).iter().for_each(|pid| kill(*pid, signal));
        }
        until("it has ended", LIMIT, || !at_work());
        // What is live there is asked for in the end.
        drop(held);
        running.wait().exits(code).says(&[words, "patch status"]);
    }
    assert_eq!((made(&world), jobs_here(&world), jobs_there(&world)), (1, Vec::new(), Vec::new()));
}

/// Files below a folder.
fn files(folder: &std::path::Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}
