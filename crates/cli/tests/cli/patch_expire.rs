//! `patch apply --expire`: the edit goes by itself, also when the shell and the terminal are gone, and by the next start where the waiter was killed.

use std::fs;
use std::process::Command;

use bystander_testkit::{Signal, until};

use crate::world::{LIMIT, assert_nothing_left, world};

const SOURCE: &str = "x = 1\n";

/// The processes that wait for the end of an edit of this world, by number.
fn waiters(world: &bystander_testkit::World) -> Vec<i32> {
    let home = format!("HOME={}", world.path("home").display());
    let processes = fs::read_dir("/proc").expect("mounted").flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let has = |pid: &i32, file: &str, word: &str| {
        fs::read(format!("/proc/{pid}/{file}")).is_ok_and(|bytes| bytes.split(|&byte| byte == 0).any(|part| part == word.as_bytes()))
    };
    numbers.filter(|pid| has(pid, "cmdline", "--wait-for-expiry") && has(pid, "environ", &home)).collect()
}

fn apply<'a>(world: &'a bystander_testkit::World, time: &'a str) -> bystander_testkit::Run {
    world
        .bystander(["patch", "apply", "--file", "app.py", "--find", "x = 1", "--insert-after", "print(x)", "--expire", time])
        .cwd(&world.path("tree"))
}

#[test]
fn an_edit_goes_by_itself_when_its_time_is_over() {
    let world = world();
    let file = world.write("tree/app.py", SOURCE);
    // A shell with a terminal of its own, which ends with it.
    let state = world.path("tree");
    let applied = apply(&world, "1s").run().exits(0);
    assert!(applied.stdout.contains("by itself at"), "{}", applied.stdout);
    let waiter = waiters(&world);
    assert!(waiter.len() <= 1, "{waiter:?}");
    if let Some(pid) = waiter.first() {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let session = stat.rsplit(')').next().and_then(|rest| rest.split_ascii_whitespace().nth(3)).map(str::to_owned);
        assert!(session.is_none_or(|session| session == pid.to_string()), "it has its own session");
    }
    until("the edit is gone", LIMIT, || fs::read_to_string(&file).expect("there") == SOURCE);
    until("nobody waits any more", LIMIT, || waiters(&world).is_empty());
    let status = world.bystander(["patch", "status", "--json"]).cwd(&state).run().exits(0).json();
    assert_eq!((&status["edits"][0]["state"], status["edits"][0]["expires"].is_string()), (&"reverted".into(), true));
    assert_nothing_left(&world);
}

#[test]
fn who_waits_ends_when_the_edit_is_taken_back_before() {
    let world = world();
    world.write("tree/app.py", SOURCE);
    apply(&world, "2h").run().exits(0);
    assert_eq!(waiters(&world).len(), 1);
    world.bystander(["patch", "revert"]).cwd(&world.path("tree")).run().exits(0);
    until("nobody waits any more", LIMIT, || waiters(&world).is_empty());
}

#[test]
fn where_the_waiter_was_killed_the_next_start_of_anything_takes_the_edit_back() {
    let world = world();
    let file = world.write("tree/app.py", SOURCE);
    apply(&world, "1s").run().exits(0);
    for pid in waiters(&world) {
        bystander_testkit::kill(u32::try_from(pid).expect("a number"), Signal::KILL);
    }
    let over = || world.bystander(["doctor"]).run().stderr.contains("was over") || fs::read_to_string(&file).expect("there") == SOURCE;
    until("a start after the time takes it back", LIMIT, over);
    assert_eq!(fs::read_to_string(&file).expect("there"), SOURCE);
    assert_nothing_left(&world);
}

#[test]
fn the_end_of_the_terminal_ends_nothing() {
    // `script` gives a terminal that goes away with it.
    if Command::new("script").arg("--version").output().is_err() {
        return bystander_testkit::skip("there is no `script`", bystander_testkit::Mark::Machine);
    }
    let world = world();
    let file = world.write("tree/app.py", SOURCE);
    let command =
        format!("{} patch apply --file app.py --find 'x = 1' --insert-after 'print(x)' --expire 2s", env!("CARGO_BIN_EXE_bystander"));
    let script = fs::canonicalize("/usr/bin/script").expect("there");
    world.run(&script).args(["-qec", &command, "/dev/null"]).cwd(&world.path("tree")).run().exits(0);
    let waiting = waiters(&world);
    assert!(waiting.len() == 1 || fs::read_to_string(&file).expect("there") == SOURCE, "{waiting:?}");
    until("the edit is gone", LIMIT, || fs::read_to_string(&file).expect("there") == SOURCE);
    until("nobody waits any more", LIMIT, || waiters(&world).is_empty());
}
