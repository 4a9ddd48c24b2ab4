//! Forked children that can leave no account of themselves are missed, and no child that can leave one is.

use std::fs;
use std::os::unix::fs::MetadataExt;

use bystander_model::hit::{Receipt, ReceiptState};
use bystander_model::value::Value;

use crate::world::{Python, Run, World, on_each, probe};

const PROGRAM: &str = include_str!("orphans.py");
const WORK: &str = "def step(number):\n    done = number\n    return done\n";

/// Runs a mode with the native recorder and without.
fn both(python: &Python, mode: &str) -> [Run; 2] {
    let world = World::new(python, &[("orphans.py", PROGRAM), ("work.py", WORK)]);
    let probes = world.checked(&[probe("work:step", Some("done = ..."), &["number"])]);
    [world.run(&probes, &["orphans.py", mode]), world.run_without_recorder(&probes, &["orphans.py", mode])]
}

fn uncovered(run: &Run) -> Vec<&Receipt> {
    run.receipts.iter().filter(|receipt| receipt.state == ReceiptState::Uncovered).collect()
}

fn assert_parent_is_exact(python: &Python, mode: &str, run: &Run) {
    assert!(run.output.status.success(), "3.{} {mode}: {}", python.minor, run.stderr());
    let numbers: Vec<_> = run.hits.iter().map(|hit| hit.values["number"].clone()).collect();
    assert_eq!(numbers, [Value::Int(1), Value::Int(4)], "3.{} {mode}", python.minor);
    let parents: Vec<_> = run.receipts.iter().filter(|receipt| receipt.state == ReceiptState::Armed).collect();
    assert_eq!(parents.len(), 1, "3.{} {mode}: {:?}", python.minor, run.receipts);
    assert_eq!((parents[0].passes, parents[0].hits, parents[0].dropped), (Some(2), Some(2), Some(0)), "3.{} {mode}", python.minor);
}

#[test]
fn children_without_a_record_are_missed_and_leave_their_parents_ring_alone() {
    let is_root = fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0);
    on_each(|python| {
        for mode in ["descriptors", "user"].into_iter().filter(|mode| *mode != "user" || is_root) {
            for run in both(python, mode) {
                assert_parent_is_exact(python, mode, &run);
                let missed = uncovered(&run);
                assert_eq!(missed.len(), 1, "3.{} {mode}: {:?}", python.minor, run.receipts);
                assert_eq!((missed[0].pid, missed[0].hits, missed[0].dropped), (0, None, None));
                let detail = missed[0].detail.as_deref().unwrap_or_default();
                assert!(detail.starts_with("2 forked children left no account"), "3.{} {mode}: {detail}", python.minor);
            }
        }
    });
}

#[test]
fn children_that_can_write_nothing_are_uncovered_by_their_number() {
    on_each(|python| {
        for run in both(python, "size") {
            assert_parent_is_exact(python, "size", &run);
            let missed = uncovered(&run);
            assert_eq!(missed.len(), 2, "3.{}: {:?}", python.minor, run.receipts);
            assert!(missed.iter().all(|receipt| receipt.pid != 0 && receipt.hits.is_none()), "3.{}: {missed:?}", python.minor);
        }
    });
}

#[test]
fn every_child_that_leaves_an_account_is_known() {
    on_each(|python| {
        for run in both(python, "told") {
            assert!(run.output.status.success(), "3.{}: {}", python.minor, run.stderr());
            assert_eq!(uncovered(&run), Vec::<&Receipt>::new(), "3.{}", python.minor);
            let mut numbers: Vec<_> = run.hits.iter().filter_map(|hit| hit.values["number"].as_f64()).collect();
            numbers.sort_by(f64::total_cmp);
            assert_eq!(numbers, [0., 0., 1., 1., 2., 3., 5., 7., 7., 7., 8., 9., 9.], "3.{}", python.minor);
        }
    });
}
