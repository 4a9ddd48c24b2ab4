//! Ctrl-C, and what else asks a command to end, at any moment: children gone, edits undone, the record kept, exit code 130, and the same command goes on.

use std::time::{Duration, Instant};

use bystander_testkit::{Dice, Signal, until};

use crate::fast::{Fast, assert_answers};
use crate::world::{LIMIT, assert_nothing_left};

/// How often it is interrupted.
const TIMES: usize = 10;

#[test]
fn ctrl_c_at_random_moments_leaves_nothing_and_the_run_goes_on() {
    let Some(fast) = Fast::new() else { return };
    let whole = fast.run().run().exits(0).took;
    let mut dice = Dice::new("interrupted");
    let mut interrupted = 0;
    while interrupted < TIMES {
        let (moment, started) = (dice.time_below(whole / 2), Instant::now());
        let mut running = fast.run().start();
        until("the moment", LIMIT, || started.elapsed() >= moment || running.has_ended());
        let signal = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT][interrupted % 4];
        running.signal(signal);
        let ran = running.wait();
        assert_nothing_left(&fast.world);
        assert!(fast.source_is_original());
        if ran.code == Some(0) {
            // It was over before the signal came.
            assert_answers(&ran.json());
            continue;
        }
        // Before it listens for signals they end it as they end any program, and nothing was begun.
        assert!(ran.code == Some(130) || ran.signal == Some(signal.as_raw()), "{ran:?}");
        interrupted += 1;
        if ran.code == Some(130) {
            assert_eq!(ran.json()["status"], "interrupted");
            assert_eq!(fast.show().run().exits(130).json()["status"], "interrupted");
        }
    }
    assert_answers(&fast.run().run().exits(0).json());
    assert_nothing_left(&fast.world);
}

/// What a program writes at once; a build without optimisation reads it for half a minute.
const FLOOD_BYTES: usize = 120_000_000;
/// So long may a run take to end that was asked to, however much is still to be read.
const SOON: Duration = Duration::from_secs(30);

#[test]
fn ctrl_c_while_a_large_log_is_being_read_ends_the_run_soon() {
    let world = crate::world::world();
    world.write("case/flood", ("x".repeat(99) + "\n").repeat(FLOOD_BYTES / 1200));
    let flood = "flood ".repeat(12);
    let program = format!(
        "command = ['sh', '-c', 'cat {flood}; echo now ready; exec sleep 600']\nready = {{ log = 'now ready', file = 'never' }}\ntimeout = '600s'\ngrace = '1s'"
    );
    let file = world.write("case/case.toml", format!("[program]\n{program}\n[plan]\nblocks = 1\ndescribe = true\n"));
    let mut running = crate::world::run(&world, &file).start();
    let runs = world.path("case/.bystander/runs");
    let written = || {
        let trials = std::fs::read_dir(&runs).into_iter().flatten().flatten().map(|run| run.path().join("trial-1/stdout"));
        trials.filter_map(|stdout| std::fs::metadata(stdout).ok()).map(|stdout| stdout.len()).sum::<u64>()
    };
    until("all is written", LIMIT * 2, || written() >= FLOOD_BYTES as u64);
    let asked = Instant::now();
    running.signal(Signal::INT);
    let ran = running.wait().exits(130);
    assert!(asked.elapsed() < SOON, "it took {:?}", asked.elapsed());
    let report = ran.json();
    assert_eq!(
        (&report["status"], &crate::world::trials(&report)[0]["outcome"]),
        (&"interrupted".into(), &"interrupted".into()),
        "{report:#}"
    );
    assert_nothing_left(&world);
}

#[test]
fn ctrl_c_while_a_trial_with_an_edit_runs_ends_it_at_once_and_undoes_the_edit() {
    let Some(fast) = Fast::new() else { return };
    fast.world.write("fast/app.py", "import lib, signal\nlib.add(3)\nsignal.pause()\n");
    let mut running = fast.run().start();
    // The bare trials hang until they are ended too; what is waited for is the first one with the print on disk.
    until("the print on disk", LIMIT, || {
        let bare = fast.world.trial_processes().into_iter().find(|process| process.command.contains("app.py"));
        let live = !fast.source_is_original();
        if let Some(process) = bare.filter(|_| !live) {
            bystander_testkit::kill(process.pid, Signal::KILL);
        }
        live && !fast.world.trial_processes().is_empty()
    });
    running.signal(Signal::INT);
    let ran = running.wait().exits(130);
    assert_eq!(ran.json()["status"], "interrupted");
    assert!(fast.source_is_original());
    assert_nothing_left(&fast.world);
}
