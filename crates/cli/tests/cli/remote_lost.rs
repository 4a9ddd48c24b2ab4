//! Connections that break while they are made: each is a lost link, and none is taken for a machine without the command.

use std::fs;

use bystander_testkit::{LIMIT, Mark, Run, Signal, Sshd, World, kill, skip, until};

use crate::remote::{EXPERIMENT, far, on};

/// How SSH goes where it is killed, where its connection is cut, and where that was gone before.
const WAYS: [&str; 3] =
    ["kill -KILL $$", "exit 255", "echo 'ssh: Could not resolve hostname none: Name or service not known' >&2; exit 255"];

/// The command with a client of SSH that goes before the far end has answered, so many times, where what it is to start there has these words.
fn cut(world: &World, run: Run, times: usize, words: &str, way: &str) -> Run {
    world.write("cut-times", times.to_string());
    let count = world.path("cut-times");
    let path = world.environment().into_iter().find(|(name, _)| *name == "PATH").map(|(_, value)| value).expect("a PATH");
    let text = format!(
        "#!/bin/sh\nn=$(cat '{count}')\ncase \"$*\" in *{words}*) if [ \"$n\" -gt 0 ]; then echo $((n - 1)) > '{count}'; {way}; fi;; esac\n\
         PATH='{path}'\nexec ssh \"$@\"\n",
        count = count.display()
    );
    let client = world.write_program("cutting/ssh", &text);
    run.env("PATH", format!("{}:{path}", client.parent().expect("a folder").display()))
}

#[test]
fn a_connection_that_is_cut_before_the_far_end_answers_is_a_lost_link() {
    let Some((world, sshd)) = far() else { return };
    for way in WAYS {
        let told = cut(&world, on(&world, &sshd, ["doctor"]), 1, "bystander-agent", way).run().exits(4);
        assert!(!told.stderr.contains("there is no bystander there") && !told.stderr.contains("copying"), "{way}\n{}", told.stderr);
        let told = told.says(&["the connection ended before bystander there had answered", "run the same command again"]);
        assert!(!told.stderr.contains("look whether") && !told.stderr.contains("hostname none"), "{}", told.stderr);
    }
    on(&world, &sshd, ["doctor"]).run().exits(0);
}

#[test]
fn a_connection_that_is_cut_while_a_copy_is_made_is_a_lost_link() {
    let world = crate::world::world();
    let Some(sshd) = Sshd::start(&world, None) else { return skip("there is no sshd", Mark::Machine) };
    for (what, way) in ["uname", "umask"].into_iter().flat_map(|what| WAYS.map(|way| (what, way))) {
        let told = cut(&world, on(&world, &sshd, ["doctor"]), 1, what, way).run().exits(4);
        let told = told.says(&["copying this executable", "the connection ended", "run the same command again"]);
        assert!(!told.stderr.contains("install bystander") && !told.stderr.contains("look whether"), "{what}: {way}\n{}", told.stderr);
    }
    on(&world, &sshd, ["doctor"]).run().exits(0);
}

#[test]
fn a_link_that_is_cut_again_while_it_is_made_anew_is_tried_once_more() {
    let Some((world, sshd)) = far() else { return };
    world.write("e.toml", EXPERIMENT.replace("echo value=$V", "while [ ! -e go ]; do sleep 0.05; done; echo value=$V"));
    let running = cut(&world, on(&world, &sshd, ["run", "e.toml"]), 0, "bystander-agent", WAYS[1]).start();
    until("a launch is there", LIMIT, || !world.trial_processes().is_empty());
    world.write("cut-times", "2");
    let agents = world.processes().into_iter().filter(|process| process.command.contains("bystander agent"));
    agents.for_each(|process| kill(process.pid, Signal::KILL));
    until("it was cut twice more", LIMIT, || fs::read_to_string(world.path("cut-times")).is_ok_and(|left| left.trim() == "0"));
    world.write("far/go", "");
    running.wait().exits(2).says(&["the connection broke", "there again", "nothing is lost"]);
}

#[test]
fn advice_is_about_what_was_seen() {
    let Some((world, sshd)) = far() else { return };
    // The folder for the socket of SSH's own connection is made here.
    let told = on(&world, &sshd, ["doctor"]).env("XDG_RUNTIME_DIR", "/nowhere").env("TMPDIR", "/nowhere/either").run().exits(4);
    let told = told.says(&["make the folder /nowhere/either", "with TMPDIR"]);
    assert!(!told.stderr.contains("look whether"), "{}", told.stderr);
    // What is started there ends by itself and without a word.
    world.write_program("silent", "#!/bin/sh\nexit 7\n");
    let sshd = sshd.with_shell(&world, &world.path("silent"));
    let told = on(&world, &sshd, ["doctor", "--no-upload"]).run().exits(4);
    assert!(told.stderr.contains("ended without a word") && !told.stderr.contains("look whether"), "{}", told.stderr);
}
