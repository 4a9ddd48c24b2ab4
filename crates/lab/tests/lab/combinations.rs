//! Levels of several factors together: what only their combination does.

use bystander_lab::contrast::{self, Subject};
use bystander_lab::plan::{Blocks, Direction, Hypothesis, Plan, Prediction};
use bystander_lab::stats::peeking;
use bystander_lab::verdict;
use bystander_model::cell::Cell;
use bystander_model::event::RunEnd;
use bystander_model::report::{Answer, Strength, Verdict};
use indexmap::IndexMap;

use crate::scripted::{Ends, Scripted, answer, plan, run};

/// A plan of factors that are `no` or `yes`, all combinations or those given, as the cells say it: `yes/no`.
fn factors(names: &[&str], cells: &[&str]) -> Plan {
    let levels = plan(&["no", "yes"], &[]).factors["arm"].clone();
    let of = |text: &str| Cell {
        levels: names.iter().zip(text.split('/')).map(|(name, level)| ((*name).to_owned(), level.to_owned())).collect(),
        instrument: "none".to_owned(),
    };
    let cells: Vec<Cell> = cells.iter().map(|text| of(text)).collect();
    Plan {
        factors: names.iter().map(|name| ((*name).to_owned(), levels.clone())).collect::<IndexMap<_, _>>(),
        baseline: cells[0].clone(),
        cells,
        margin: Some(0.4),
        ..plan(&["no", "yes"], &[])
    }
}

const FULL: [&str; 4] = ["no/no", "no/yes", "yes/no", "yes/yes"];

/// Runs a plan in which the cells that are named fail.
fn failing(plan: &Plan, fails: &'static [&'static str]) -> (bystander_lab::ledger::Ledger, RunEnd) {
    let fails = |cell: &Cell, _: u32| {
        let name = cell.levels.values().map(String::as_str).collect::<Vec<_>>().join("/");
        if fails.contains(&name.as_str()) { Ends::Fails("RuntimeError @ f") } else { Ends::Completes }
    };
    run(plan, &mut Scripted::new(fails))
}

fn outcome(ledger: &bystander_lab::ledger::Ledger, about: &str) -> Answer {
    answer(ledger, about, "outcome")
}

fn combinations(ledger: &bystander_lab::ledger::Ledger) -> Vec<Answer> {
    verdict::answers(ledger).into_iter().filter(|answer| answer.about.starts_with("combination:")).collect()
}

/// The program fails where both levels are in, and never else: neither is acquitted, and both are found.
#[test]
fn levels_that_only_break_together_are_found_and_not_acquitted() {
    for margin in [None, Some(0.4)] {
        let plan = Plan { margin, ..factors(&["a", "b"], &FULL) };
        let (ledger, _) = failing(&plan, &["yes/yes"]);
        let both = outcome(&ledger, "combination:a=yes,b=yes");
        assert_eq!((both.verdict, both.strength), (Verdict::Effect, Some(Strength::Shown)), "{}", both.text);
        assert!(both.text.contains("yes/no/none completes in"), "{}", both.text);
        for about in ["factor:a", "factor:b"] {
            let alone = outcome(&ledger, about);
            assert_eq!((alone.verdict, alone.strength), (Verdict::Effect, Some(Strength::Shown)), "{about}: {}", alone.text);
            assert!(alone.text.contains("On the baseline: No failure"), "{}", alone.text);
        }
    }
}

/// What one level does alone is not said again of its combinations, and a level that changes nothing anywhere is acquitted.
#[test]
fn a_level_that_breaks_alone_is_the_whole_answer() {
    let plan = Plan { blocks: Blocks { min: 8, max: 8 }, ..factors(&["a", "b"], &FULL) };
    let (ledger, _) = failing(&plan, &["yes/no", "yes/yes"]);
    assert_eq!(outcome(&ledger, "factor:a").verdict, Verdict::Effect);
    assert_eq!(outcome(&ledger, "factor:b").verdict, Verdict::NoEffectWithin);
    assert_eq!(combinations(&ledger), []);
}

/// A level that mends what another one breaks is not without effect.
#[test]
fn a_level_that_hides_what_another_breaks_is_not_acquitted() {
    let plan = Plan { blocks: Blocks { min: 8, max: 8 }, ..factors(&["a", "b"], &FULL) };
    let (ledger, _) = failing(&plan, &["yes/no"]);
    assert_eq!(outcome(&ledger, "factor:a").verdict, Verdict::Effect);
    let mends = outcome(&ledger, "factor:b");
    assert_eq!(mends.verdict, Verdict::Insufficient, "{}", mends.text);
    assert!(mends.text.contains("Beside other levels the data differ, and nothing is shown"), "{}", mends.text);
}

/// Two of three levels break together; the third is without effect beside all of them.
#[test]
fn of_three_levels_the_two_that_break_together_are_named() {
    let all = ["no/no/no", "no/no/yes", "no/yes/no", "no/yes/yes", "yes/no/no", "yes/no/yes", "yes/yes/no", "yes/yes/yes"];
    let plan = Plan { blocks: Blocks { min: 8, max: 8 }, ..factors(&["a", "b", "c"], &all) };
    let (ledger, _) = failing(&plan, &["yes/yes/no", "yes/yes/yes"]);
    assert_eq!(outcome(&ledger, "factor:a").verdict, Verdict::Effect);
    assert_eq!(outcome(&ledger, "factor:b").verdict, Verdict::Effect);
    assert_eq!(outcome(&ledger, "factor:c").verdict, Verdict::NoEffectWithin);
    let found: Vec<String> = combinations(&ledger).into_iter().map(|answer| answer.about).collect();
    assert_eq!(found, ["combination:a=yes,b=yes"], "what all three do is what two of them do");
}

/// Cells that only put levels together are compared: something was launched, and something is answered.
#[test]
fn declared_cells_that_differ_in_several_levels_are_compared() {
    let plan = Plan { declared: true, ..factors(&["a", "b"], &["no/no", "yes/yes"]) };
    let (ledger, end) = failing(&plan, &["yes/yes"]);
    let both = outcome(&ledger, "combination:a=yes,b=yes");
    assert_eq!((both.verdict, both.strength), (Verdict::Effect, Some(Strength::Shown)), "{}", both.text);
    assert!(matches!(end, RunEnd::Finished { ref why } if why.contains("every comparison of outcomes is shown")), "{end:?}");
    let (ledger, _) = failing(&plan, &[]);
    assert_eq!(outcome(&ledger, "combination:a=yes,b=yes").verdict, Verdict::NoEffectWithin);
}

/// However many cells put levels together, they share one level.
#[test]
fn levels_put_together_share_one_level() {
    let all = ["no/no/no", "no/no/yes", "no/yes/no", "no/yes/yes", "yes/no/no", "yes/no/yes", "yes/yes/no", "yes/yes/yes"];
    let contrasts = contrast::contrasts(&factors(&["a", "b", "c"], &all));
    let together: Vec<_> = contrasts.iter().filter(|contrast| contrast.subject == Subject::Combination).collect();
    assert_eq!(together.len(), 4);
    let worst: f64 = together.iter().map(|contrast| peeking::worst_case(contrast.alpha, 10).expect("few blocks")).sum();
    assert!(worst > 0.0 && worst <= 0.05, "{worst}");
}

/// What a level does to a metric beside another level is not passed over either.
#[test]
fn a_level_that_does_nothing_to_a_metric_on_the_baseline_alone_is_not_acquitted() {
    let plan = Plan { blocks: Blocks { min: 9, max: 9 }, primary: "tokens".into(), ..factors(&["a", "b"], &FULL) };
    let measured = |together: f64| {
        let script = move |cell: &Cell, n: u32| {
            let both = cell.levels.values().all(|level| level == "yes");
            Ends::Measures(1000.0 + f64::from((n * 7) % 5) + if both { together } else { 0.0 })
        };
        let (ledger, _) = run(&plan, &mut Scripted::new(script));
        answer(&ledger, "factor:a", "tokens")
    };
    assert_eq!(measured(0.0).verdict, Verdict::NoEffectWithin);
    let open = measured(700.0);
    assert_eq!((open.verdict, open.strength), (Verdict::Insufficient, None), "{}", open.text);
    assert!(open.text.contains("yes/yes/none against no/yes/none, +700"), "{}", open.text);
}

/// Runs a full two by two whose metric is as a table says, by the number of levels `yes`; `a` alone and `b` alone are alike.
fn measured(values: [f64; 3], blocks: u32) -> bystander_lab::ledger::Ledger {
    let mut plan = Plan { blocks: Blocks { min: blocks, max: blocks }, primary: "tokens".into(), ..factors(&["a", "b"], &FULL) };
    plan.metrics["tokens"].margin = Some(5.0);
    let grows = Prediction::Effect { factor: "a".into(), level: "yes".into(), metric: "tokens".into(), effect: Direction::Up };
    plan.hypotheses = vec![Hypothesis { claim: "a is slow".into(), predicts: vec![grows] }];
    let script = move |cell: &Cell, n: u32| {
        let levels = cell.levels.values().filter(|level| *level == "yes").count();
        Ends::Measures(values[levels] + f64::from((n * 7 + cell.levels["a"].len() as u32) % 5) * 0.1)
    };
    run(&plan, &mut Scripted::new(script)).0
}

/// Two levels that undo each other: what each does on the baseline is said to be that, and a claim about it everywhere is not supported.
#[test]
fn an_effect_that_reverses_beside_another_level_is_said_to() {
    let ledger = measured([100.0, 150.0, 100.0], 4);
    let found = answer(&ledger, "factor:a", "tokens");
    assert_eq!((found.verdict, found.strength), (Verdict::Effect, Some(Strength::Shown)), "{}", found.text);
    assert!(found.text.starts_with("An effect: on the baseline +"), "{}", found.text);
    assert!(found.text.contains(" With b=yes it reverses: \u{2212}"), "{}", found.text);
    let claim = outcome(&ledger, "hypothesis:a is slow");
    assert_eq!((claim.verdict, claim.strength), (Verdict::Open, None), "{}", claim.text);
    assert!(claim.text.contains("tokens with a=yes and b=yes: \u{2212}"), "{}", claim.text);
    assert!(claim.needs.is_some_and(|needs| needs.missing[0].starts_with("a claim for each cell")));
}

#[test]
fn an_effect_that_vanishes_beside_another_level_is_said_to() {
    let ledger = measured([100.0, 150.0, 150.0], 4);
    let found = answer(&ledger, "factor:a", "tokens");
    assert_eq!(found.verdict, Verdict::Effect, "{}", found.text);
    assert!(found.text.contains(" With b=yes it vanishes: ") && found.text.contains("within 5 tokens"), "{}", found.text);
    assert_eq!(outcome(&ledger, "hypothesis:a is slow").verdict, Verdict::Open);
}

#[test]
fn an_effect_that_is_there_beside_every_level_supports_its_claim() {
    let ledger = measured([100.0, 150.0, 200.0], 4);
    let found = answer(&ledger, "factor:a", "tokens");
    assert!(found.text.contains(" With b=yes it is there too: +"), "{}", found.text);
    let claim = outcome(&ledger, "hypothesis:a is slow");
    assert_eq!((claim.verdict, claim.strength), (Verdict::Supported, Some(Strength::Shown)), "{}", claim.text);
}
