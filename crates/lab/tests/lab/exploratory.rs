//! Metrics that nothing declares: corrected together, labelled, never shown; and the order of answers where the question is about a metric.

use bystander_lab::design::aa;
use bystander_lab::ledger::Ledger;
use bystander_lab::plan::{Blocks, Direction, Hypothesis, Plan, Prediction};
use bystander_model::cell::Cell;
use bystander_model::event::TrialEnd;
use bystander_model::outcome::Outcome;
use bystander_model::report::{Answer, Means, Strength, Verdict};

use crate::scripted::{Ends, Scripted, answer, plan, run, summary_of};

/// Metrics `m0`, `m1`, … without a margin, five blocks of two arms.
fn of(count: usize) -> Plan {
    let mut plan = Plan { blocks: Blocks { min: 5, max: 5 }, ..plan(&["a", "b"], &["probe"]) };
    let metric = bystander_lab::plan::Metric { margin: None, ..plan.metrics["tokens"].clone() };
    plan.metrics = (0..count).map(|number| (format!("m{number}"), metric.clone())).collect();
    plan
}

/// A run in which `b` adds to the first metric, launch by launch, what is given, and to each other one as much noise.
fn measured(plan: &Plan, added: [f64; 5]) -> Ledger {
    let names: Vec<String> = plan.metrics.keys().cloned().collect();
    let script = move |cell: &Cell, before: u32| {
        let mut end = TrialEnd::new(Outcome::Completed);
        for (index, name) in names.iter().enumerate() {
            let noise = [1.0, -2.0, 1.5, -1.0, 0.5][(before as usize + index) % 5];
            let is_b = cell.levels.values().any(|level| level == "b" || level == "A'");
            let effect = if is_b && cell.is_bare() { if index == 0 { added[before as usize % 5] } else { noise } } else { 0.0 };
            end.metrics.insert(name.clone(), Some(1000.0 + effect));
        }
        Ends::As(Box::new(end))
    };
    run(plan, &mut Scripted::new(script)).0
}

/// Mean 4, standard error 1.304: p = 0.037 by itself.
const SLIGHT: [f64; 5] = [1.0, 2.0, 4.0, 5.0, 8.0];
const CLEAR: [f64; 5] = [40.0, 41.0, 39.0, 40.5, 39.5];

fn on_first(plan: &Plan, added: [f64; 5]) -> Answer {
    answer(&measured(plan, added), "factor:arm", "m0")
}

#[test]
fn of_many_metrics_one_that_differs_a_little_is_chance_and_one_that_differs_clearly_is_a_lead() {
    let slight = on_first(&of(4), SLIGHT);
    assert!(slight.exploratory && slight.interval.is_some_and(|[low, _]| low > 0.0), "alone it would be shown: {slight:?}");
    assert_eq!((slight.verdict, slight.strength), (Verdict::Insufficient, Some(Strength::Consistent)), "{}", slight.text);
    assert!(slight.text.contains("chance explains it (p = 0.1") && slight.text.contains("among 4 comparisons"), "{}", slight.text);
    let clear = on_first(&of(4), CLEAR);
    assert_eq!((clear.exploratory, clear.verdict, clear.strength), (true, Verdict::Effect, Some(Strength::Consistent)), "{}", clear.text);
    assert!(clear.text.starts_with("A difference, exploratory (p < 0.001 among 4 comparisons): +40 tokens"), "{}", clear.text);
    assert_eq!(clear.needs.map(|needs| needs.means), Some(vec![Means::File]), "a new run that declares it would decide");
    assert!(on_first(&of(1), SLIGHT).verdict == Verdict::Effect, "alone it needs no correction");
}

#[test]
fn no_exploratory_answer_is_ever_shown_and_their_steps_are_one() {
    let report = summary_of(&measured(&of(6), CLEAR));
    let exploratory: Vec<&Answer> = report.answers.iter().filter(|answer| answer.exploratory).collect();
    assert_eq!(exploratory.len(), 6, "those about the level, and none about the probe");
    assert!(exploratory.iter().all(|answer| answer.strength != Some(Strength::Shown) && answer.about == "factor:arm"));
    assert!(exploratory.iter().all(|answer| answer.numbers.iter().any(|number| number.contains("Benjamini"))));
    let steps = report.next.iter().filter(|step| step.text.contains("before a new run")).count();
    assert_eq!(steps, 1, "{:?}", report.next);
    let json = serde_json::to_value(exploratory[0]).expect("it is serialised");
    assert_eq!(json["exploratory"], true);
}

#[test]
fn what_is_declared_is_tested_by_itself() {
    let declared = |change: fn(&mut Plan)| {
        let mut plan = of(4);
        change(&mut plan);
        let found = on_first(&plan, SLIGHT);
        (found.exploratory, found.verdict, found.strength)
    };
    let shown = (false, Verdict::Effect, Some(Strength::Shown));
    assert_eq!(declared(|plan| plan.metrics["m0"].margin = Some(0.1)), shown);
    assert_eq!(declared(|plan| "m0".clone_into(&mut plan.primary)), shown);
    let claim = |plan: &mut Plan| {
        let effect = Prediction::Effect { factor: "arm".into(), level: "b".into(), metric: "m0".into(), effect: Direction::Up };
        plan.hypotheses = vec![Hypothesis { claim: "more".into(), predicts: vec![effect] }];
    };
    assert_eq!(declared(claim), shown);
    let of_another = |plan: &mut Plan| plan.metrics["m1"].margin = Some(0.1);
    assert_eq!(declared(of_another), (true, Verdict::Insufficient, Some(Strength::Consistent)), "three are left to be corrected");
}

#[test]
fn a_comparison_of_the_baseline_with_itself_explores_nothing() {
    let report = summary_of(&measured(&aa::of(of(4)), SLIGHT));
    assert!(report.answers.iter().all(|answer| !answer.exploratory), "each is held against its own level");
    assert_eq!(report.aa.map(|aa| aa.differing), Some(vec!["m0".to_owned()]));
}

#[test]
fn the_metric_that_the_question_is_about_comes_first() {
    let mut plan = of(3);
    "m2".clone_into(&mut plan.primary);
    let report = summary_of(&measured(&plan, CLEAR));
    let order: Vec<String> = report.answers.iter().map(|answer| format!("{} {}", answer.about, answer.metric)).collect();
    assert_eq!(order[..4], ["factor:arm m2", "instrument:probe m2", "factor:arm outcome", "factor:arm m0"]);
    assert_eq!(report.plan.primary, "m2");
}
