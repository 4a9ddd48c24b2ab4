//! Runs without a last block: they go on until an e-process decides, may be stopped at any time, and go on next week as if nothing had been.

use bystander_lab::conduct;
use bystander_lab::looks;
use bystander_lab::plan::{Blocks, Plan, Rule};
use bystander_lab::stats::Tally;
use bystander_model::cell::Cell;
use bystander_model::event::RunEnd;
use bystander_model::report::{Strength, Verdict};
use indexmap::IndexMap;

use crate::scripted::{Ends, Kept, Scripted, answer, create, plan, run, summary_of};

fn open(levels: &[&str], instruments: &[&str]) -> Plan {
    Plan { rule: Rule::EValue, blocks: Blocks { min: 4, max: Blocks::OPEN }, ..plan(levels, instruments) }
}

fn fails_in_b(cell: &Cell, _: u32) -> Ends {
    if cell.levels["arm"] == "b" { Ends::Fails("RuntimeError @ f") } else { Ends::Completes }
}

#[test]
fn complete_separation_is_shown_after_four_blocks_by_an_e_value_above_twenty() {
    let place = Scripted::new(fails_in_b);
    let (ledger, end) = run(&open(&["a", "b"], &[]), &mut { place });
    assert!(matches!(&end, RunEnd::Finished { why } if why == "every comparison of outcomes is shown"), "{end:?}");
    assert_eq!(ledger.trials.len(), 8);
    let shown = answer(&ledger, "factor:arm", "outcome");
    assert_eq!((shown.verdict, shown.strength), (Verdict::Effect, Some(Strength::Shown)));
    assert!(shown.text.contains("e = 36.8, 20 are needed"), "{}", shown.text);
    assert!((shown.p.expect("bounded") - 1.0 / 36.77).abs() < 1e-3, "{:?}", shown.p);
    assert!(shown.rule.expect("named").contains("valid whenever one looks or stops"));
    let report = summary_of(&ledger);
    assert_eq!((report.plan.blocks, report.plan.launches, report.plan.rule.as_str()), (None, None, "e_value"));
}

#[test]
fn it_goes_on_past_every_cap_until_it_is_decided() {
    // Half against three quarters: Fisher's ten blocks would give up.
    let script = |cell: &Cell, n: u32| {
        let fails = if cell.levels["arm"] == "b" { !n.is_multiple_of(4) } else { n.is_multiple_of(4) };
        if fails { Ends::Fails("RuntimeError @ f") } else { Ends::Completes }
    };
    let (ledger, end) = run(&open(&["a", "b"], &[]), &mut Scripted::new(script));
    assert!(matches!(end, RunEnd::Finished { .. }), "{end:?}");
    let blocks = ledger.trials.len() / 2;
    assert!(blocks > 10, "{blocks} blocks");
    assert_eq!(answer(&ledger, "factor:arm", "outcome").verdict, Verdict::Effect);
}

#[test]
fn a_run_that_is_stopped_and_taken_up_again_and_again_comes_to_the_same_end() {
    let script = |cell: &Cell, n: u32| {
        let fails = if cell.levels["arm"] == "b" { !n.is_multiple_of(3) } else { n.is_multiple_of(5) };
        if fails { Ends::Fails("RuntimeError @ f") } else { Ends::Completes }
    };
    let plan = open(&["a", "b"], &[]);
    let (whole, _) = run(&plan, &mut Scripted::new(script));
    let mut sink = Kept::default();
    let mut ledger = create(&plan, &mut sink).expect("recorded");
    let mut place = Scripted::new(script);
    let mut stops = 0;
    loop {
        place.interrupt_after = Some(place.launched().len() + 3);
        let end = conduct::conduct(&mut ledger, &place, &mut sink).expect("recorded");
        if end != RunEnd::Interrupted {
            break;
        }
        stops += 1;
        let seen = answer(&ledger, "factor:arm", "outcome");
        assert!(seen.verdict != Verdict::Effect || stops > 2, "a stop is no look that costs anything");
        conduct::resume(&mut ledger, &IndexMap::new(), &mut sink).expect("recorded");
    }
    assert!(stops > 3, "{stops}");
    let (one, other) = (answer(&whole, "factor:arm", "outcome"), answer(&ledger, "factor:arm", "outcome"));
    assert_eq!((one.verdict, one.p, one.text), (other.verdict, other.p, other.text));
    assert!(summary_of(&ledger).superseded.is_empty(), "what was open and is settled now contradicts nothing");
}

#[test]
fn where_nothing_fails_a_margin_ends_it_and_without_one_only_the_user_does() {
    let mut plan = open(&["a", "b"], &[]);
    plan.margin = Some(0.2);
    let (ledger, end) = run(&plan, &mut Scripted::new(|_, _| Ends::Completes));
    assert!(matches!(&end, RunEnd::Finished { why } if why.contains("stated margin")), "{end:?}");
    assert_eq!(ledger.trials.len(), 28, "14 launches without failure exclude a rate above 20 %");
    assert_eq!(answer(&ledger, "factor:arm", "outcome").verdict, Verdict::NoEffectWithin);
    plan.margin = None;
    let mut place = Scripted::new(|_, _| Ends::Completes);
    place.interrupt_after = Some(90);
    let (ledger, end) = run(&plan, &mut place);
    assert_eq!((end, ledger.trials.len()), (RunEnd::Interrupted, 90));
}

#[test]
fn a_shown_level_and_one_within_the_margin_end_it_together() {
    let mut plan = open(&["a", "b", "c"], &[]);
    plan.margin = Some(0.2);
    let (ledger, end) = run(&plan, &mut Scripted::new(fails_in_b));
    assert!(matches!(&end, RunEnd::Finished { why } if why.contains("shown, or within the stated margin (1)")), "{end:?}");
    assert_eq!(answer(&ledger, "factor:arm=b", "outcome").verdict, Verdict::Effect);
    assert_eq!(answer(&ledger, "factor:arm=c", "outcome").verdict, Verdict::NoEffectWithin);
}

#[test]
fn with_a_cap_it_ends_there_and_says_that_no_cap_is_needed() {
    let plan = Plan { rule: Rule::EValue, blocks: Blocks { min: 4, max: 6 }, ..plan(&["a", "b"], &[]) };
    let script = |cell: &Cell, n: u32| {
        if cell.levels["arm"] == "b" && n.is_multiple_of(2) { Ends::Fails("RuntimeError @ f") } else { Ends::Completes }
    };
    let (ledger, end) = run(&plan, &mut Scripted::new(script));
    assert!(matches!(end, RunEnd::Finished { .. }), "{end:?}");
    let open = answer(&ledger, "factor:arm", "outcome");
    assert_eq!(open.verdict, Verdict::Insufficient, "{}", open.text);
    let needs = open.needs.expect("says what would settle it");
    assert!(needs.launches_per_cell.is_some_and(|n| n > 6), "{needs:?}");
    assert!(needs.missing[0].contains("no last block"), "{needs:?}");
}

#[test]
fn an_undetermined_launch_counts_for_nothing() {
    let plan = open(&["a", "b"], &[]);
    let tally = |failures, trials| Tally::new(failures, trials).expect("few");
    let blocks = vec![(tally(1, 1), tally(0, 1)); 3];
    let mut with_a_gap = blocks.clone();
    with_a_gap.insert(2, (Tally::default(), tally(0, 1)));
    let (without, with) =
        (looks::follow_blocks(&blocks, &plan, 0.05).expect("a rule"), looks::follow_blocks(&with_a_gap, &plan, 0.05).expect("a rule"));
    assert!(!without.is_shown() && without.e_value.is_some_and(|e| (e - 10.3).abs() < 0.05), "{without:?}");
    // A launch without its partner multiplies by one; that its cell completed is known to the next block.
    assert!(with.e_value.is_some_and(|e| e >= 10.3) && with.blocks == 4, "{with:?}");
}
