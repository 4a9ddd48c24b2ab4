//! A/A: the same cell under two labels, through the whole pipeline; what is found is counted against what chance finds.

use std::sync::atomic::{AtomicU32, Ordering};

use bystander_lab::design::aa;
use bystander_lab::plan::{Kind, Stop};
use bystander_model::report::{AaReport, Verdict};

use crate::scripted::{Ends, Scripted, plan, run, summary_of};

fn judged(script: impl Fn(&bystander_model::cell::Cell, u32) -> Ends + Send + Sync + 'static) -> AaReport {
    let plan = aa::of(plan(&["a", "b"], &["print"]));
    let (ledger, _) = run(&plan, &mut Scripted::new(script));
    summary_of(&ledger).aa.expect("it is an A/A run")
}

#[test]
fn a_plan_becomes_its_baseline_under_two_labels_and_nothing_else() {
    let before = plan(&["a", "b"], &["print"]);
    let plan = aa::of(before.clone());
    let cells: Vec<String> = plan.cells.iter().map(ToString::to_string).collect();
    assert_eq!(cells, ["a/A/none", "a/A'/none"]);
    assert_eq!(plan.baseline, plan.cells[0]);
    assert!(plan.edits.is_empty() && plan.probes.is_empty() && plan.hypotheses.is_empty() && plan.instruments.len() == 1);
    assert_eq!((plan.kind, plan.stop, plan.blocks.min), (Kind::Aa, Stop::All, before.blocks.max));
    assert_eq!(plan.metrics.keys().collect::<Vec<_>>(), ["tokens", "wall_s"], "the time of a launch is compared too");
    assert_eq!(aa::of(plan.clone()), plan, "it is one already");
    assert_eq!(aa::factor(&before), None);
}

#[test]
fn where_nothing_differs_nothing_is_found_and_every_block_is_run() {
    let plan = aa::of(plan(&["a", "b"], &[]));
    let mut place = Scripted::new(|_, _| Ends::Measures(5.0));
    let (ledger, _) = run(&plan, &mut place);
    assert_eq!(place.launched().len(), 20);
    let report = summary_of(&ledger);
    let aa = report.aa.expect("it is an A/A run");
    assert_eq!((aa.tests, aa.differences, aa.beyond_chance), (2, 0, false), "{}", aa.text);
    assert!(report.answers.iter().all(|answer| answer.verdict != Verdict::Effect));
    assert_eq!(
        aa.text,
        "0 of 2 comparisons of the baseline with itself found a difference; at a level of 0.05 each, at most 0.10 are to be expected"
    );
}

#[test]
fn an_order_effect_that_the_pipeline_lets_through_is_told_as_beyond_chance() {
    // Whatever carries the second label fails and is slow: as if labels reached the program.
    let aa = judged(|cell, _| if cell.levels["copy"] == "A'" { Ends::Fails("RuntimeError @ f") } else { Ends::Measures(5.0) });
    assert!(aa.differences >= 1 && aa.differing.contains(&"outcome".to_owned()), "{}", aa.text);
    let count = AtomicU32::new(0);
    let aa = judged(move |cell, _| {
        let noise = f64::from(count.fetch_add(1, Ordering::SeqCst) % 3);
        Ends::Measures(if cell.levels["copy"] == "A" { 1000.0 } else { 5000.0 } + noise)
    });
    assert_eq!(aa.differing, ["tokens"], "{}", aa.text);
    // One of two at a level of 0.05 comes by chance in 10 % of all runs: told, and no reason to distrust everything.
    assert!(!aa.beyond_chance && aa.text.contains("come by chance in 10 %"), "{}", aa.text);
}

#[test]
fn another_plan_has_no_such_report() {
    let (ledger, _) = run(&plan(&["a", "b"], &[]), &mut Scripted::new(|_, _| Ends::Completes));
    assert!(summary_of(&ledger).aa.is_none());
}
