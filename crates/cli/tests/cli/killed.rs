//! `bystander run` killed with SIGKILL at any moment: nothing is left, nothing recorded is lost, and the same command goes on.

use std::time::{Duration, Instant};

use bystander_testkit::{Dice, Signal, until};

use crate::fast::{Fast, LAUNCHES, assert_answers};
use crate::world::{LIMIT, assert_nothing_left, text, tree, trials, verdicts};

/// How often it is killed.
const KILLS: usize = 50;
/// How long a killed run's trial may be there.
const GONE_WITHIN: Duration = Duration::from_secs(2);

#[test]
fn a_run_that_is_killed_at_fifty_random_moments_leaves_nothing_and_answers_as_one_that_is_not() {
    let Some(fast) = Fast::new() else { return };
    let before = sources(&fast);
    let undisturbed = fast.run().run().exits(0);
    let (expected, whole) = (verdicts(&undisturbed.json()), undisturbed.took);
    assert_answers(&undisturbed.json());
    let mut dice = Dice::new("killed");
    let mut kills = 0;
    while kills < KILLS {
        // A third of a run at most, so that every run is killed several times and each part of it is hit.
        let moment = dice.time_below(whole / 3);
        let started = Instant::now();
        let mut running = fast.run().start();
        until("the moment", LIMIT, || started.elapsed() >= moment || running.has_ended());
        if running.has_ended() {
            assert_eq!(verdicts(&running.wait().exits(0).json()), expected);
            continue;
        }
        running.signal(Signal::KILL);
        if running.wait().signal == Some(9) {
            kills += 1;
            // Every other time the next start comes at once, while the keeper still clears up.
            if kills % 2 == 0 {
                until("nothing of the trial is left", GONE_WITHIN, || fast.world.trial_processes().is_empty());
                the_record_is_readable(&fast);
                a_live_edit_is_listed(&fast);
            }
        }
    }
    let report = fast.run().run().exits(0).json();
    assert_eq!(verdicts(&report), expected);
    let counted = trials(&report).iter().filter(|trial| trial["purpose"] == "measure" && trial["outcome"] != "interrupted").count();
    assert_eq!(counted, LAUNCHES, "every cell once in every block");
    assert_eq!((&report["restored"]["exact"], sources(&fast).differences(&before)), (&true.into(), Vec::<String>::new()));
    assert_nothing_left(&fast.world);
}

/// The program's folder without bytecode, which Python itself writes.
fn sources(fast: &Fast) -> bystander_testkit::Tree {
    let mut tree = tree(&fast.folder);
    tree.entries.retain(|path, _| !path.starts_with("__pycache__"));
    tree
}

fn the_record_is_readable(fast: &Fast) {
    let shown = fast.show().run();
    match shown.code {
        // Stopped before its end, or before it had recorded its start.
        Some(130) => assert!(text(&shown.json()["status"]) == "interrupted", "{}", shown.stdout),
        Some(0) => assert_eq!(shown.json()["status"], "finished"),
        Some(3) => assert!(shown.stderr.contains("find a run") || shown.stderr.contains("find a state directory"), "{}", shown.stderr),
        _ => panic!("the record cannot be read: {shown:?}"),
    }
}

fn a_live_edit_is_listed(fast: &Fast) {
    if fast.source_is_original() {
        return;
    }
    let status = fast.world.bystander(["patch", "status", "--json"]).run().exits(1).json();
    let live: Vec<_> = status["edits"].as_array().expect("edits").iter().filter(|edit| edit["state"] == "live").collect();
    assert!(live.len() == 1 && text(&live[0]["file"]).ends_with("fast/lib.py"), "{status:#}");
}
