//! How many launches would settle what is open: by which rule, with which cap, and which step comes first.

use bystander_lab::plan::{Blocks, Hypothesis, Plan, Prediction, Rule, Stop};
use bystander_lab::stats::evalue::blocks_for_power;
use bystander_lab::stats::peeking::plan_power;
use bystander_model::cell::Cell;
use bystander_model::outcome::Outcome;
use bystander_model::report::{Answer, Means, Verdict};

use crate::scripted::{Ends, Scripted, answer, plan, run, summary_of};

/// A baseline that fails every second time and a level that fails as `fails` says, for so many blocks.
fn flaky(blocks: u32, fails: fn(u32) -> bool) -> Answer {
    let plan = Plan { blocks: Blocks { min: blocks, max: blocks }, stop: Stop::All, ..plan(&["a", "b"], &[]) };
    let script = move |cell: &Cell, n: u32| {
        let failed = if cell.levels["arm"] == "a" { n.is_multiple_of(2) } else { fails(n) };
        if failed { Ends::Fails("RuntimeError @ f") } else { Ends::Completes }
    };
    let (ledger, _) = run(&plan, &mut Scripted::new(script));
    answer(&ledger, "factor:arm", "outcome")
}

#[test]
fn about_half_failing_is_open_and_the_number_names_its_rule_its_cap_and_its_chance() {
    let open = flaky(4, |n| n % 4 != 3);
    assert_eq!(open.verdict, Verdict::Insufficient, "{}", open.text);
    let needs = open.needs.clone().expect("says what would settle it");
    let rule = needs.rule.expect("names the rule");
    assert!(rule.contains("80 % chance at the observed rates (75 % against 50 %)"), "{rule}");
    assert!(rule.contains("up to block 10, where its chance is only"), "the cap of Fisher's rule is named: {rule}");
    let expected = blocks_for_power(0.75, 0.5, 0.05, 0.8).expect("rates").expect("within what is simulated");
    assert_eq!(needs.launches_per_cell, Some(expected));
    assert!(open.text.contains(&format!("{expected} launches of each cell would decide it")), "{}", open.text);
    assert!(needs.missing[0].contains("e-value"), "{:?}", needs.missing);
}

#[test]
fn a_number_within_the_cap_is_that_of_the_rule_that_looks_after_every_block() {
    // Three of four against none.
    let plan = Plan { blocks: Blocks { min: 4, max: 4 }, ..plan(&["a", "b"], &[]) };
    let script = |cell: &Cell, n: u32| if cell.levels["arm"] == "b" && n != 1 { Ends::Fails("RuntimeError @ f") } else { Ends::Completes };
    let (ledger, _) = run(&plan, &mut Scripted::new(script));
    let open = answer(&ledger, "factor:arm", "outcome");
    let needs = open.needs.expect("says what would settle it");
    let power = |blocks| plan_power(0.05, blocks, 0.75, 0.0).expect("few blocks").power;
    assert!(power(7) < 0.8 && power(8) >= 0.8, "{} {}", power(7), power(8));
    assert_eq!(needs.launches_per_cell, Some(8), "{:?}", needs.rule);
    assert!(needs.rule.expect("named").ends_with("by Fisher's test at 0.0500 after every block, cap 10"));
    assert_eq!(needs.missing, ["`max = 8` in plan.blocks"]);
}

#[test]
fn equal_rates_are_planned_for_a_named_difference() {
    let open = flaky(4, |n| n % 2 == 1);
    assert_eq!(open.verdict, Verdict::Insufficient);
    let rule = open.needs.and_then(|needs| needs.rule).expect("names the rule");
    assert!(rule.contains("rates 30 points apart around the observed 50 % (65 % against 35 %)"), "{rule}");
}

#[test]
fn the_simulated_length_is_near_the_enumerated_figures_of_the_literature() {
    // 0.9 against 0: median 4, and 0.8 within 4 to 8; 0.5 against 0: median 11, 95 % within 19.
    let blocks = |p1, p0, wanted| blocks_for_power(p1, p0, 0.05, wanted).expect("rates").expect("few blocks");
    assert_eq!(blocks(1.0, 0.0, 0.8), 4);
    assert_eq!((blocks(0.9, 0.0, 0.5), blocks(0.5, 0.0, 0.5)), (4, 11));
    assert!((18..=20).contains(&blocks(0.5, 0.0, 0.95)) && (13..=15).contains(&blocks(0.9, 0.1, 0.95)));
    assert_eq!(blocks_for_power(0.5, 0.5, 0.05, 0.8), Ok(None), "equal rates are never shown to differ");
    assert_eq!(blocks(0.75, 0.5, 0.8), blocks(0.75, 0.5, 0.8), "the stream is fixed");
}

#[test]
fn the_ladder_has_the_least_invasive_step_first_with_its_cost() {
    // The baseline fails by itself; a print on disk was put in.
    let mut plan = plan(&["nccl", "custom"], &["print"]);
    plan.stop = Stop::Same;
    let (ledger, _) = run(&plan, &mut Scripted::new(|_, _| Ends::Fails("RuntimeError @ sizing")));
    let next = summary_of(&ledger).next;
    let means: Vec<Means> = next.iter().map(|step| step.means).collect();
    assert!(means.is_sorted(), "{next:#?}");
    let mend = next.iter().find(|step| step.text.starts_with("a baseline that starts")).expect("it is named");
    assert_eq!((mend.about.as_slice(), mend.launches), (["factor:arm".to_owned()].as_slice(), Some(16)));
    assert!(mend.seconds.is_some_and(|seconds| (seconds - 32.0).abs() < 1e-9), "16 launches of 2 s: {mend:?}");
    assert!(next.last().is_some_and(|step| step.text.contains("stop = \"all\"")), "{next:#?}");
}

#[test]
fn one_step_that_several_answers_need_is_one_step() {
    let plan = Plan { blocks: Blocks { min: 5, max: 5 }, rule: Rule::Fisher, ..plan(&["a", "b"], &["probe", "print"]) };
    let (ledger, _) = run(&plan, &mut Scripted::new(|_, _| Ends::Completes));
    let next = summary_of(&ledger).next;
    let margin: Vec<_> = next.iter().filter(|step| step.text.contains("`margin` in [plan]")).collect();
    assert_eq!(margin.len(), 1, "{next:#?}");
    assert_eq!(margin[0].about, ["factor:arm", "instrument:probe", "instrument:print"]);
    assert_eq!((margin[0].means, margin[0].launches, margin[0].seconds), (Means::File, Some(0), Some(0.0)));
}

#[test]
fn launches_that_a_factor_and_a_claim_about_it_need_are_named_once() {
    let cells = plan(&["a", "b"], &[]).cells;
    let predicts = |arm: &str, outcome| Prediction::Outcome {
        cell: cells.iter().find(|cell| cell.levels["arm"] == arm).expect("a cell").clone(),
        outcome,
    };
    let claim =
        Hypothesis { claim: "b breaks it".to_owned(), predicts: vec![predicts("b", Outcome::Failed), predicts("a", Outcome::Completed)] };
    let plan = Plan { blocks: Blocks { min: 2, max: 2 }, hypotheses: vec![claim], ..plan(&["a", "b"], &[]) };
    let script = |cell: &Cell, _| if cell.levels["arm"] == "b" { Ends::Fails("RuntimeError @ f") } else { Ends::Completes };
    let (ledger, _) = run(&plan, &mut Scripted::new(script));
    let next = summary_of(&ledger).next;
    let more: Vec<_> = next.iter().filter(|step| step.text.contains("launches per cell in all")).collect();
    assert_eq!(more.len(), 1, "{next:#?}");
    assert_eq!(more[0].about, ["factor:arm", "hypothesis:b breaks it"], "{next:#?}");
    assert!(more[0].text.ends_with("; these launches decide both"), "{next:#?}");
}
