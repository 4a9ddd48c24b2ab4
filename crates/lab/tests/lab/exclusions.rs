//! Void launches: counted with their reasons, cell by cell, and a finding where they are shared out unevenly.

use bystander_lab::plan::{Expect, Plan};
use bystander_model::cell::Cell;
use bystander_model::event::RunEnd;
use bystander_model::report::{Report, Verdict};

use crate::scripted::{Ends, Scripted, answer, plan, run, summary_of};

/// The report of a run of all ten blocks in which a cell's launches are void as a rule says, by how often the cell was launched before.
fn report(levels: &[&str], is_void: impl Fn(&Cell, u32) -> bool + Send + Sync + 'static) -> Report {
    let plan = Plan { primary: "tokens".into(), ..plan(levels, &[]) };
    let mut place = Scripted::new(move |cell, before| if is_void(cell, before) { Ends::Voids } else { Ends::Completes });
    let (ledger, end) = run(&plan, &mut place);
    assert!(matches!(end, RunEnd::Finished { .. }), "{end:?}");
    summary_of(&ledger)
}

fn finding(report: &Report) -> Option<&str> {
    report.notes.iter().map(String::as_str).find(|note| note.contains("not left out evenly"))
}

fn is(cell: &Cell, level: &str) -> bool {
    cell.levels["arm"] == level
}

#[test]
fn voids_that_fall_on_one_cell_are_a_finding_with_the_counts() {
    // Two of three launches of `b` are void, none of `a`: 20 of 30 against 0 of 10.
    let report = report(&["a", "b"], |cell, before| is(cell, "b") && before % 3 != 2);
    assert_eq!(
        finding(&report),
        Some(
            "launches were not left out evenly: 20 of 30 of b/none were void (python.RuntimeError \u{d7}20), and 0 of 10 of the other cells \
             (Fisher, exact, p = 0.0004): what voids a launch may depend on the cell, and then the launches that are left are not comparable."
        )
    );
    let b = report.cells.iter().find(|cell| cell.levels["arm"] == "b").expect("is there");
    let reasons: Vec<(&str, u32)> = b.void_causes.iter().map(|cause| (cause.class.as_str(), cause.count)).collect();
    assert_eq!((b.void, b.trials, reasons), (20, 10, vec![("python.RuntimeError", 20)]));
    assert!(b.causes.is_empty(), "why launches were void is no cause of a failure");
}

#[test]
fn voids_that_fall_on_all_cells_or_are_few_are_none() {
    assert_eq!(finding(&report(&["a", "b"], |_, before| before % 3 != 2)), None, "as many of each");
    assert_eq!(finding(&report(&["a", "b"], |cell, before| is(cell, "b") && before < 2)), None, "two of twelve against none of ten");
    assert_eq!(finding(&report(&["a", "b"], |_, _| false)), None);
}

#[test]
fn one_of_many_cells_takes_more_to_stand_out() {
    // One void launch a block of one cell: 10 of 20 against 0 of 10, or 0 of 40.
    let odd = |cell: &Cell, before: u32| is(cell, "b") && before.is_multiple_of(2);
    for levels in [&["a", "b"][..], &["a", "b", "c", "d", "e"]] {
        let report = report(levels, odd);
        let said = finding(&report).unwrap_or_else(|| panic!("{levels:?}"));
        assert!(
            said.contains("10 of 20 of b/none were void") && said.contains(&format!("0 of {} of the other cells", 10 * (levels.len() - 1))),
            "{said}"
        );
    }
    // Four void launches of fourteen against none of forty: 0.0032 by itself, five times that where there are five cells to look at.
    let few = |cell: &Cell, before: u32| is(cell, "b") && before < 8 && before.is_multiple_of(2);
    assert!(finding(&report(&["a", "b", "c", "d", "e"], few)).is_some_and(|said| said.contains("p = 0.0158")));
    assert_eq!(finding(&report(&["a", "b"], few)), None, "four of fourteen against none of ten");
}

#[test]
fn what_ended_a_run_is_shown_by_the_launches_that_did() {
    let ran = |plan: &Plan, script: fn(&Cell, u32) -> Ends| {
        let (ledger, end) = run(plan, &mut Scripted::new(script));
        let found = answer(&ledger, "factor:arm", "outcome");
        (end, found.verdict, found.evidence.iter().map(|evidence| evidence.trial.map(|trial| trial.0)).collect::<Vec<_>>())
    };
    let both = Plan { seed: Some(3), ..plan(&["a", "b"], &[]) };
    // The first launch of `a` is good, whichever comes first; every one of `b` is void.
    let (end, verdict, shown) = ran(&both, |cell, _| if is(cell, "b") { Ends::VoidsLaunched } else { Ends::Completes });
    assert!(matches!(end, RunEnd::Invalid { .. }), "{end:?}");
    assert_eq!((verdict, shown.len()), (Verdict::Invalid, 3), "{shown:?}");
    let good = shown.first() == Some(&Some(2));
    assert_eq!(shown, if good { [2, 3, 4] } else { [1, 2, 3] }.map(Some), "the void launches, and no good one");
    // A baseline that is not what it was declared to be: the launch that shows it, after one that did not.
    let gated = Plan { expect: Expect::Completed, ..plan(&["a", "b"], &[]) };
    let (end, _, shown) = ran(&gated, |_, before| if before == 0 { Ends::Completes } else { Ends::Fails("odd") });
    assert!(matches!(end, RunEnd::Gated { .. }), "{end:?}");
    assert_eq!(shown, [Some(2)]);
}
