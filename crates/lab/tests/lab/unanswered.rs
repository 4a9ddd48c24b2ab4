//! Metrics that have no answer: why there is none, and what would give one.

use bystander_lab::plan::{Blocks, Plan};
use bystander_lab::summary::power;
use bystander_lab::verdict::{answers, unanswered};
use bystander_model::cell::Cell;
use bystander_model::event::TrialEnd;
use bystander_model::outcome::Outcome;

use crate::scripted::{Ends, Scripted, plan, run, summary_of};

/// What is said of the only metric after a run of two blocks; `None` where there is an answer.
fn said(levels: &[&str], script: impl Fn(&Cell, u32) -> Ends + Send + Sync + 'static) -> Option<(String, String)> {
    let plan = Plan { blocks: Blocks { min: 2, max: 2 }, ..plan(levels, &[]) };
    let (ledger, _) = run(&plan, &mut Scripted::new(script));
    assert_eq!(unanswered(&ledger, "nothing"), None, "no metric of the plan");
    let none = unanswered(&ledger, "tokens").expect("a metric of the plan");
    let has_one = answers(&ledger).iter().any(|answer| answer.metric == "tokens");
    (!has_one).then_some((none.why, none.step))
}

#[test]
fn a_metric_without_an_answer_says_why_and_what_would_give_one() {
    let (why, step) = said(&["a"], |_, _| Ends::Measures(1.0)).expect("one cell");
    assert!(why.contains("the plan has one") && step.contains("two levels"), "{why}; {step}");
    let fails = |cell: &Cell, _| if cell.levels["arm"] == "b" { Ends::Fails("RuntimeError @ f") } else { Ends::Measures(1.0) };
    let (why, step) = said(&["a", "b"], fails).expect("survivors of one cell alone");
    assert!(why.contains("none of b/none did (trial ") && why.ends_with(" failed: RuntimeError @ f)"), "{why}");
    assert_eq!(step, "a launch of b/none that completes: mend what ends it first");
    let voids = |cell: &Cell, _| if cell.levels["arm"] == "b" { Ends::Voids } else { Ends::Measures(1.0) };
    let (why, step) = said(&["a", "b"], voids).expect("nothing counts");
    assert!(why.starts_with("no launch of b/none counts (trial ") && why.contains(" void: port_in_use"), "{why}");
    assert_eq!(step, "a launch of b/none that is a data point");
    assert_eq!(said(&["a", "b"], |_, _| Ends::Measures(1.0)), None);
}

#[test]
fn a_plan_whose_primary_answer_is_about_a_metric_says_by_what_it_decides() {
    let outcome = plan(&["a", "b"], &[]);
    let of_metric = Plan { primary: "tokens".into(), ..outcome.clone() };
    let first = power(&of_metric)[0].clone();
    assert!(first.starts_with("the exit code follows tokens: ") && first.contains("no effect is shown within 100 tokens"), "{first}");
    assert_eq!(power(&outcome), power(&of_metric)[1..]);
    assert!(power(&Plan { primary: "tokens".into(), ..plan(&["a"], &[]) }).iter().all(|said| !said.contains("exit code")));
}

#[test]
fn how_long_launches_take_is_not_told_by_one_that_was_interrupted_or_void() {
    let plan = plan(&["a", "b"], &[]);
    let seconds = |ends: fn(u32) -> Ends, after: usize| {
        let mut place = Scripted::new(move |_, before| ends(before));
        place.interrupt_after = Some(after);
        let steps = summary_of(&run(&plan, &mut place).0).next;
        steps.iter().filter(|step| step.launches != Some(0)).map(|step| Some(step.seconds? / f64::from(step.launches?))).collect::<Vec<_>>()
    };
    let cut = seconds(|_| of(Outcome::Interrupted, 3.0), 1);
    assert!(!cut.is_empty() && cut.iter().all(Option::is_none), "{cut:?}");
    // Launches that came to their end tell it, those beside them do not.
    let mixed = |before| if before == 0 { of(Outcome::Void, 300.0) } else { of(Outcome::Completed, 7.0) };
    let some = seconds(mixed, 3);
    assert!(some.contains(&Some(7.0)) && some.iter().flatten().all(|each| *each == 7.0), "{some:?}");
}

fn of(outcome: Outcome, wall_s: f64) -> Ends {
    Ends::As(Box::new(TrialEnd { wall_s, ..TrialEnd::new(outcome) }))
}
