//! What is launched, and when a run stops.

use std::collections::BTreeMap;

use bystander_lab::conduct;
use bystander_lab::plan::{Expect, Plan, Stop};
use bystander_model::cell::Cell;
use bystander_model::event::{Purpose, RunEnd};
use bystander_model::outcome::Outcome;
use indexmap::IndexMap;

use crate::scripted::{Ends, Kept, Scripted, create, plan, run, summary_of};

#[test]
fn a_first_block_of_one_failure_stops_the_run_after_a_clean_baseline() {
    let plan = plan(&["nccl", "custom"], &["print", "probe"]);
    let mut place = Scripted::new(|_, _| Ends::Fails("RuntimeError @ sizing"));
    let (ledger, end) = run(&plan, &mut place);
    let RunEnd::Finished { why } = end else { panic!("{end:?}") };
    assert!(why.contains("failed in the same way"), "{why}");
    let measured = ledger.trials.values().filter(|trial| trial.slot.purpose == Purpose::Measure).count();
    assert_eq!(measured, 6);
    let restored = summary_of(&ledger).restored;
    let clean = restored.clean_trial.expect("a bare baseline ran after the last undo");
    let last_edit = ledger.trials.values().rev().find(|trial| !trial.edited.is_empty()).expect("edits were made").id;
    assert!(clean > last_edit);
}

#[test]
fn a_first_block_that_hangs_alike_stops_the_run_too() {
    let plan = plan(&["a", "b"], &["probe"]);
    let mut place = Scripted::new(|_, _| Ends::Hangs("stalled: loading weights"));
    let (_, end) = run(&plan, &mut place);
    assert!(matches!(&end, RunEnd::Finished { why } if why.contains("failed in the same way")), "{end:?}");
    assert_eq!(place.launched().len(), 4 + 3, "the baseline hangs three times more by itself");
}

#[test]
fn in_every_order_a_bare_baseline_comes_before_the_first_edit_and_one_after_the_last() {
    let plan = plan(&["a", "b"], &["print", "probe"]);
    let mut firsts = std::collections::BTreeSet::new();
    for seed in 0..40 {
        let mut place = Scripted::new(|_, _| Ends::Fails("RuntimeError @ f"));
        let (ledger, _) = run(&Plan { seed: Some(seed), ..plan.clone() }, &mut place);
        let restored = summary_of(&ledger).restored;
        assert!(restored.clean_trial.is_some() && restored.not_shown.is_none(), "seed {seed}: {:?}", place.launched());
        let first = |cell: &str| place.launched().iter().position(|launched| launched == cell).expect("launched");
        assert!(first("a/none") < first("a/print").min(first("b/print")), "seed {seed}: {:?}", place.launched());
        firsts.insert(place.launched()[0].clone());
    }
    assert!(firsts.len() >= 4, "the rest is in random order: {firsts:?}");
}

#[test]
fn stop_all_runs_every_block_of_the_same_failure() {
    let mut plan = plan(&["a", "b"], &[]);
    plan.stop = Stop::All;
    let mut place = Scripted::new(|_, _| Ends::Fails("RuntimeError @ f"));
    let (_, end) = run(&plan, &mut place);
    assert!(matches!(end, RunEnd::Finished { .. }));
    assert!(place.launched().len() >= 8, "{} launches", place.launched().len());
}

#[test]
fn different_failures_in_the_first_block_do_not_stop_it() {
    let plan = plan(&["a", "b"], &[]);
    let mut place =
        Scripted::new(|cell, _| if cell.levels["arm"] == "a" { Ends::Fails("RuntimeError @ f") } else { Ends::Fails("ValueError @ g") });
    run(&plan, &mut place);
    assert!(place.launched().len() > 2);
}

#[test]
fn every_block_holds_every_cell_once() {
    let mut plan = plan(&["a", "b"], &["probe"]);
    plan.blocks.min = 10;
    let mut place = Scripted::new(|_, _| Ends::Completes);
    let (ledger, _) = run(&plan, &mut place);
    let mut cells: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for trial in ledger.trials.values() {
        cells.entry(trial.slot.block).or_default().push(trial.slot.cell.to_string());
    }
    assert_eq!(cells.len(), 10);
    let orders: std::collections::BTreeSet<_> = cells.values().cloned().collect();
    assert!(orders.len() > 1, "the order is randomised");
    for mut block in cells.into_values() {
        block.sort();
        assert_eq!(block, ["a/none", "a/probe", "b/none", "b/probe"]);
    }
}

#[test]
fn a_shown_difference_stops_at_the_least_number_of_blocks() {
    let plan = plan(&["a", "b"], &[]);
    let mut place = Scripted::new(|cell, _| if cell.levels["arm"] == "a" { Ends::Completes } else { Ends::Fails("RuntimeError @ f") });
    let (_, end) = run(&plan, &mut place);
    assert_eq!(place.launched().len(), 8, "four blocks of two: {end:?}");
}

#[test]
fn no_difference_is_curtailed_once_none_can_be_shown_any_more() {
    let mut plan = plan(&["a", "b"], &[]);
    plan.blocks.max = 5;
    let mut place = Scripted::new(|_, _| Ends::Completes);
    let (_, end) = run(&plan, &mut place);
    assert_eq!(place.launched().len(), 8, "after four blocks one that is left cannot show a difference");
    assert!(matches!(&end, RunEnd::Finished { why } if why.contains("no outcome of the blocks that are left")), "{end:?}");
}

#[test]
fn a_void_launch_is_made_again_at_the_same_place_and_three_end_the_run() {
    let plan = plan(&["a", "b"], &[]);
    let mut once = Scripted::new(|cell, n| if cell.levels["arm"] == "b" && n == 0 { Ends::Voids } else { Ends::Completes });
    let (ledger, end) = run(&plan, &mut once);
    assert!(matches!(end, RunEnd::Finished { .. }));
    let void = ledger.trials.values().find(|trial| trial.outcome() == Some(Outcome::Void)).expect("one was void");
    let again = ledger.trials.values().filter(|t| t.slot.block == void.slot.block && t.slot.position == void.slot.position).count();
    assert_eq!(again, 2);

    let mut always = Scripted::new(|cell, _| if cell.levels["arm"] == "b" { Ends::Voids } else { Ends::Completes });
    let (_, end) = run(&plan, &mut always);
    assert!(matches!(&end, RunEnd::Invalid { why } if why.contains("b/none") && why.contains("port_in_use")), "{end:?}");
}

#[test]
fn attempts_that_launched_nothing_are_not_called_launches() {
    let plan = plan(&["a", "b"], &[]);
    let why = |launched: u32| {
        let script = move |cell: &Cell, n: u32| match cell.levels["arm"].as_str() {
            "b" if n < launched => Ends::VoidsLaunched,
            "b" => Ends::Voids,
            _ => Ends::Completes,
        };
        let (_, end) = run(&plan, &mut Scripted::new(script));
        let RunEnd::Invalid { why } = end else { panic!("{end:?}") };
        why
    };
    assert_eq!(why(3), "3 launches of b/none in block 1 were contaminated or lost: port_in_use");
    assert_eq!(why(0), "b/none in block 1 was not launched: 3 looks before the launch found what would have contaminated it: port_in_use");
    let mixed = "of 3 attempts at b/none in block 1, 2 ended before the launch and 1 after it, contaminated or lost: port_in_use";
    assert_eq!(why(1), mixed);
}

#[test]
fn a_launch_that_bystander_itself_lost_is_made_again_and_three_end_the_run() {
    let plan = plan(&["a", "b"], &[]);
    let mut once = Scripted::new(|cell, n| if cell.levels["arm"] == "b" && n == 0 { Ends::Loses } else { Ends::Completes });
    let (ledger, end) = run(&plan, &mut once);
    assert!(matches!(end, RunEnd::Finished { .. }));
    let cells = summary_of(&ledger).cells;
    assert_eq!((cells[0].completed, cells[1].completed, cells[1].undetermined), (cells[1].completed, cells[0].completed, 1));

    let mut always = Scripted::new(|cell, _| if cell.levels["arm"] == "b" { Ends::Loses } else { Ends::Completes });
    let (_, end) = run(&plan, &mut always);
    assert!(matches!(&end, RunEnd::Invalid { why } if why.contains("b/none") && why.contains("harness")), "{end:?}");
}

#[test]
fn a_place_that_cannot_go_on_breaks_the_run_off_and_the_launch_is_made_again_later() {
    let plan = plan(&["a", "b"], &[]);
    let mut sink = Kept::default();
    let mut ledger = create(&plan, &mut sink).expect("recorded");
    // More often than launches may be void: trouble that comes back does not spoil the run.
    for time in 0..4 {
        if time > 0 {
            conduct::resume(&mut ledger, &IndexMap::new(), &mut sink).expect("recorded");
        }
        let end = conduct::conduct(&mut ledger, &Scripted::new(|_, _| Ends::Breaks), &mut sink).expect("recorded");
        assert!(matches!(&end, RunEnd::Broken { why } if why.contains("the disk is full")), "{end:?}");
    }
    conduct::resume(&mut ledger, &IndexMap::new(), &mut sink).expect("recorded");
    let end = conduct::conduct(&mut ledger, &Scripted::new(|_, _| Ends::Completes), &mut sink).expect("recorded");
    assert!(matches!(end, RunEnd::Finished { .. }), "{end:?}");
    let report = summary_of(&ledger);
    for cell in &report.cells {
        assert!(cell.completed == cell.trials && cell.trials >= 4 && cell.undetermined == 0 && cell.causes.is_empty(), "{cell:?}");
    }
}

#[test]
fn the_gate_lets_a_baseline_through_that_does_as_declared_and_stops_any_other() {
    let mut plan = plan(&["a", "b"], &[]);
    plan.expect = Expect::Completed;
    let (ledger, end) = run(&plan, &mut Scripted::new(|_, _| Ends::Completes));
    assert!(matches!(end, RunEnd::Finished { .. }));
    assert_eq!(ledger.trials.values().filter(|trial| trial.slot.purpose == Purpose::Gate).count(), 2);
    assert_eq!(
        ledger.data(&plan.baseline).count(),
        ledger.trials.values().filter(|t| t.slot.cell == plan.baseline).count() - 2,
        "gate launches enter no test"
    );

    let mut place = Scripted::new(|_, _| Ends::Fails("RuntimeError @ f"));
    let (_, end) = run(&plan, &mut place);
    assert!(matches!(&end, RunEnd::Gated { why } if why.contains("RuntimeError @ f")), "{end:?}");
    assert_eq!(place.launched().len(), 1);
}
