//! Hypotheses of every kind: supported, refuted, open; and those that the data cannot tell apart.

use bystander_lab::plan::{Blocks, Bounds, Direction, Hypothesis, Plan, Prediction, Scale};
use bystander_model::cell::Cell;
use bystander_model::event::TrialEnd;
use bystander_model::outcome::{Cause, CauseGroup, Outcome};
use bystander_model::report::{Answer, Strength, Verdict};
use indexmap::IndexMap;

use crate::scripted::{Ends, Scripted, answer, plan, run, summary_of};

fn cell(arm: &str, instrument: &str) -> Cell {
    Cell { levels: IndexMap::from([("arm".to_owned(), arm.to_owned())]), instrument: instrument.to_owned() }
}

fn claim(name: &str, predicts: Vec<Prediction>) -> Hypothesis {
    Hypothesis { claim: name.to_owned(), predicts }
}

fn outcome(arm: &str, instrument: &str, outcome: Outcome) -> Prediction {
    Prediction::Outcome { cell: cell(arm, instrument), outcome }
}

fn value(arm: &str, low: Option<f64>, high: Option<f64>) -> Prediction {
    Prediction::Value { cell: cell(arm, "none"), metric: "tokens".into(), range: Bounds { low, high } }
}

fn effect(direction: Direction) -> Prediction {
    Prediction::Effect { factor: "arm".into(), level: "b".into(), metric: "tokens".into(), effect: direction }
}

fn blocks(n: u32) -> Plan {
    let mut plan = Plan { blocks: Blocks { min: n, max: n }, ..plan(&["a", "b"], &[]) };
    plan.metrics["tokens"].scale = Scale::Difference;
    plan
}

fn judged(mut plan: Plan, claims: Vec<Hypothesis>, script: impl Fn(&Cell, u32) -> Ends + Send + Sync + 'static) -> Vec<Answer> {
    plan.hypotheses = claims;
    let (ledger, _) = run(&plan, &mut Scripted::new(script));
    plan.hypotheses.iter().map(|claim| answer(&ledger, &format!("hypothesis:{}", claim.claim), "outcome")).collect()
}

/// A failure of a class.
fn fails_with(class: &str) -> Ends {
    let cause = Cause {
        class: class.to_owned(),
        group: CauseGroup::Target,
        signature: class.to_owned(),
        text: class.to_owned(),
        blames: None,
        is_echo: false,
        evidence: Vec::new(),
    };
    Ends::As(Box::new(TrialEnd { cause: Some(cause), ..TrialEnd::new(Outcome::Failed) }))
}

#[test]
fn how_a_program_ended_says_nothing_against_a_cause() {
    let ends = |class: &'static str, predicted: &str| {
        let claims = vec![claim(
            "c",
            vec![Prediction::Cause { cell: cell("b", "none"), cause: predicted.into() }, outcome("a", "none", Outcome::Completed)],
        )];
        judged(blocks(4), claims, move |cell, _| if cell.levels["arm"] == "b" { fails_with(class) } else { Ends::Completes }).remove(0)
    };
    for class in ["exit.code", "signal.SIGABRT", "timeout.stalled", "died_under_load"] {
        let answer = ends(class, "memory");
        assert_eq!(answer.verdict, Verdict::Open, "{class}: {}", answer.text);
        assert!(answer.text.contains("how it ended") && answer.needs.is_some(), "{class}: {answer:#?}");
    }
    assert_eq!(ends("python.RuntimeError", "memory").verdict, Verdict::Refuted);
    assert_eq!(ends("exit.code", "signal").verdict, Verdict::Refuted, "an exit code is no signal");
    assert_eq!(ends("exit.code", "exit").verdict, Verdict::Supported);
}

#[test]
fn a_cause_is_predicted_by_its_class_or_the_first_parts_of_it() {
    let script =
        |cell: &Cell, _: u32| if cell.levels["arm"] == "b" { fails_with("memory.fraction_below_weights") } else { Ends::Completes };
    let cause = |class: &str| Prediction::Cause { cell: cell("b", "none"), cause: class.to_owned() };
    let with = |class: &str| claim(class, vec![cause(class), outcome("a", "none", Outcome::Completed)]);
    let found =
        judged(blocks(4), vec![with("memory"), with("memory.fraction_below_weights"), with("mem"), with("memory.host_oom")], script);
    let verdicts: Vec<Verdict> = found.iter().map(|answer| answer.verdict).collect();
    assert_eq!(verdicts, [Verdict::Supported, Verdict::Supported, Verdict::Refuted, Verdict::Refuted]);
    assert!(
        found[3].text.contains("fails with memory.host_oom, and trial") && found[3].text.contains("failed with memory.fraction"),
        "{}",
        found[3].text
    );
    let completed = judged(blocks(4), vec![with("memory")], |_, _| Ends::Completes);
    assert_eq!(
        (completed[0].verdict, completed[0].strength),
        (Verdict::Refuted, Some(Strength::Shown)),
        "a launch that completes is a counterexample"
    );
}

#[test]
fn one_value_outside_of_the_range_refutes_and_support_is_of_the_mean() {
    let script = |_: &Cell, n: u32| Ends::Measures(100.0 + f64::from(n % 3));
    let found = judged(
        blocks(6),
        vec![
            claim("well above", vec![value("a", Some(90.0), None)]),
            claim("within", vec![value("a", Some(99.0), Some(103.0))]),
            claim("below", vec![value("a", None, Some(101.5))]),
            claim("only just", vec![value("a", Some(99.9), Some(102.0))]),
            claim("at the bound", vec![value("a", Some(100.0), None)]),
        ],
        script,
    );
    let verdicts: Vec<Verdict> = found.iter().map(|answer| answer.verdict).collect();
    assert_eq!(verdicts, [Verdict::Supported, Verdict::Supported, Verdict::Refuted, Verdict::Supported, Verdict::Refuted], "{found:#?}");
    assert!(found[2].text.contains("tokens of a/none is below 101.5, and in trial"), "{}", found[2].text);
    assert!(found[0].text.contains("mean 100."), "{}", found[0].text);
    // Two launches hold within the range, and their mean might not.
    let few = judged(blocks(2), vec![claim("few", vec![value("a", Some(99.0), Some(103.0))])], script);
    assert_eq!((few[0].verdict, few[0].strength), (Verdict::Open, Some(Strength::Consistent)), "{}", few[0].text);
    assert!(few[0].text.contains("not shown of all launches"), "{}", few[0].text);
}

#[test]
fn the_same_value_every_time_is_shown_after_nine_launches() {
    let exact = |n: u32| judged(blocks(n), vec![claim("exact", vec![value("a", Some(99.0), None)])], |_, _| Ends::Measures(100.0));
    assert_eq!((exact(8)[0].verdict, exact(9)[0].verdict), (Verdict::Open, Verdict::Supported));
}

#[test]
fn an_effect_is_supported_or_refuted_by_its_interval() {
    let down = |cell: &Cell, n: u32| {
        Ends::Measures(1000.0 + f64::from(n) - if cell.levels["arm"] == "b" { 300.0 + f64::from(n % 3) } else { 0.0 })
    };
    let claims = || {
        vec![
            claim("down", vec![effect(Direction::Down)]),
            claim("up", vec![effect(Direction::Up)]),
            claim("none", vec![effect(Direction::None)]),
        ]
    };
    let found = judged(blocks(6), claims(), down);
    let verdicts: Vec<Verdict> = found.iter().map(|answer| answer.verdict).collect();
    assert_eq!(verdicts, [Verdict::Supported, Verdict::Refuted, Verdict::Refuted], "{found:#?}");
    assert!(found[1].text.contains("tokens grows with arm=b, and it is shown that it does not: \u{2212}301"), "{}", found[1].text);
    // The margin is 100 tokens: what stays within it neither grows nor shrinks.
    let still = |_: &Cell, n: u32| Ends::Measures(1000.0 + f64::from((n * 7) % 5));
    let found = judged(blocks(9), claims(), still);
    let verdicts: Vec<Verdict> = found.iter().map(|answer| answer.verdict).collect();
    assert_eq!(verdicts, [Verdict::Refuted, Verdict::Refuted, Verdict::Supported], "{found:#?}");
    assert!(found[1].text.contains("it is shown that it does not by more than 100 tokens: "), "{}", found[1].text);
    // Too noisy for either.
    let noisy = |cell: &Cell, n: u32| {
        Ends::Measures(1000.0 + [0.0, 900.0, -700.0, 300.0][n as usize % 4] * if cell.levels["arm"] == "b" { 1.0 } else { -0.7 })
    };
    let found = judged(blocks(4), claims(), noisy);
    assert!(found.iter().all(|answer| answer.verdict == Verdict::Open && answer.needs.is_some()), "{found:#?}");
}

#[test]
fn what_was_never_measured_is_open_and_says_what_is_missing() {
    let found =
        judged(blocks(4), vec![claim("e", vec![effect(Direction::Up)]), claim("v", vec![value("b", Some(1.0), None)])], |cell, _| {
            if cell.levels["arm"] == "b" { Ends::Fails("RuntimeError @ f") } else { Ends::Measures(5.0) }
        });
    for answer in found {
        assert_eq!(answer.verdict, Verdict::Open, "{}", answer.text);
        assert_eq!(answer.needs.expect("says so").missing, ["a launch of b/none that completes and shows tokens"]);
    }
}

#[test]
fn alternatives_that_predict_the_same_of_every_cell_that_was_run_are_listed_with_where_they_differ() {
    let mut plan = Plan { blocks: Blocks { min: 4, max: 4 }, ..plan(&["a", "b"], &["print"]) };
    // The cell that would tell was left out.
    plan.cells.retain(|one| *one != cell("b", "print"));
    plan.hypotheses = vec![
        claim(
            "b breaks it",
            vec![outcome("a", "none", Outcome::Completed), outcome("b", "none", Outcome::Failed), outcome("b", "print", Outcome::Failed)],
        ),
        claim(
            "b breaks it, print mends it",
            vec![
                outcome("a", "none", Outcome::Completed),
                outcome("b", "none", Outcome::Failed),
                outcome("b", "print", Outcome::Completed),
            ],
        ),
        claim("print breaks it", vec![outcome("a", "print", Outcome::Failed), outcome("a", "none", Outcome::Completed)]),
    ];
    let (ledger, _) =
        run(&plan, &mut Scripted::new(|cell, _| if cell.levels["arm"] == "b" { Ends::Fails("RuntimeError @ f") } else { Ends::Completes }));
    let report = summary_of(&ledger);
    assert_eq!(report.alternatives.len(), 1, "{:#?}", report.alternatives);
    let found = &report.alternatives[0];
    assert_eq!(found.claims, ["b breaks it", "b breaks it, print mends it"], "a claim that is refuted is no alternative");
    assert_eq!(found.differ, ["b/print: failed or completed"]);
    assert!(found.text.contains("cannot tell \u{201c}b breaks it\u{201d} and"), "{}", found.text);
    let step = report.next.iter().find(|step| step.text.contains("predict different things")).expect("the step that tells them apart");
    assert!(step.text.starts_with("a launch of b/print") && step.launches == Some(1) && step.about.len() == 2, "{step:?}");
}

#[test]
fn alternatives_that_differ_nowhere_need_another_prediction() {
    let mut plan = blocks(4);
    let same = || vec![outcome("a", "none", Outcome::Completed), outcome("b", "none", Outcome::Failed)];
    plan.hypotheses =
        vec![claim("the cable", same()), claim("the switch", same()), claim("of something else", vec![value("a", Some(1.0), None)])];
    let script = |cell: &Cell, _: u32| if cell.levels["arm"] == "b" { Ends::Fails("RuntimeError @ f") } else { Ends::Measures(5.0) };
    let (ledger, _) = run(&plan, &mut Scripted::new(script));
    let report = summary_of(&ledger);
    assert_eq!(report.alternatives.len(), 1, "{:#?}", report.alternatives);
    assert_eq!(report.alternatives[0].claims, ["the cable", "the switch"]);
    assert!(report.alternatives[0].text.contains("no launch can"), "{}", report.alternatives[0].text);
}

/// A claim that says more than another is open where that one is supported, and nothing that was run tells the two apart.
#[test]
fn a_claim_that_also_speaks_of_a_cell_that_was_not_run_is_an_alternative_all_the_same() {
    let mut plan = Plan { blocks: Blocks { min: 4, max: 4 }, ..plan(&["a", "b"], &["print"]) };
    plan.cells.retain(|one| *one != cell("a", "print"));
    let both = || vec![outcome("a", "none", Outcome::Completed), outcome("b", "none", Outcome::Failed)];
    plan.hypotheses = vec![
        claim("b breaks it", both()),
        claim("b or print breaks it", [both(), vec![outcome("a", "print", Outcome::Failed)]].concat()),
        claim("print is needed too", vec![outcome("b", "print", Outcome::Failed), outcome("b", "none", Outcome::Failed)]),
    ];
    let (ledger, _) =
        run(&plan, &mut Scripted::new(|cell, _| if cell.levels["arm"] == "b" { Ends::Fails("RuntimeError @ f") } else { Ends::Completes }));
    assert_eq!(answer(&ledger, "hypothesis:b breaks it", "outcome").verdict, Verdict::Supported);
    assert_eq!(answer(&ledger, "hypothesis:b or print breaks it", "outcome").verdict, Verdict::Open);
    let report = summary_of(&ledger);
    let told = report.alternatives.iter().find(|found| found.claims.contains(&"b breaks it".to_owned())).expect("they are listed together");
    assert!(told.claims.contains(&"b or print breaks it".to_owned()), "{told:#?}");
    assert!(told.text.contains("not all of them say what a/print does"), "{}", told.text);
}

/// Of claims that contradict each other none holds that the data do not follow, however few launches there are, and more of them would tell.
#[test]
fn claims_that_contradict_each_other_do_not_all_hold() {
    let claims = || [Direction::Up, Direction::Down, Direction::None].map(|to| claim(&format!("{to:?}"), vec![effect(to)])).to_vec();
    let same = |_: &Cell, _: u32| Ends::Measures(100.0);
    let few = judged(blocks(4), claims(), same);
    assert!(few.iter().all(|answer| answer.verdict == Verdict::Open), "{few:#?}");
    for (answer, predicted) in few.iter().zip(["grows", "shrinks"]) {
        assert!(answer.text.starts_with("Not every prediction holds so far: it predicts that tokens "), "{}", answer.text);
        assert!(answer.text.contains(predicted) && answer.strength.is_none(), "{}", answer.text);
        assert!(answer.text.contains("9 launches of each cell would decide it"), "{}", answer.text);
    }
    assert!(
        few[2].text.starts_with("Every prediction held in 4 launches") && few[2].strength == Some(Strength::Consistent),
        "{}",
        few[2].text
    );
    assert_eq!(few[2].needs.as_ref().and_then(|needs| needs.launches_per_cell), Some(9));
    let enough: Vec<Verdict> = judged(blocks(9), claims(), same).iter().map(|answer| answer.verdict).collect();
    assert_eq!(enough, [Verdict::Refuted, Verdict::Refuted, Verdict::Supported]);

    let mut plan = blocks(4);
    plan.hypotheses = claims();
    let (ledger, _) = run(&plan, &mut Scripted::new(same));
    let told = summary_of(&ledger).alternatives;
    assert_eq!(told.len(), 1, "{told:#?}");
    let text = &told[0].text;
    assert!(!text.contains("no launch can") && text.contains("contradict each other on tokens with arm=b (up or down or none)"), "{text}");
    assert!(text.contains("so far as \u{201c}None\u{201d} predicts") && text.contains("9 launches of each cell would decide"), "{text}");
}

/// Noise that leans one way holds for that way alone, with the number of launches that would show an effect of its size.
#[test]
fn a_claim_holds_so_far_only_where_the_estimate_goes_its_way() {
    let leans = |cell: &Cell, n: u32| {
        Ends::Measures(1000.0 + [300.0, -200.0, 500.0, 100.0][n as usize % 4] * if cell.levels["arm"] == "b" { 1.0 } else { 0.0 })
    };
    let claims = [Direction::Up, Direction::Down, Direction::None].map(|to| claim(&format!("{to:?}"), vec![effect(to)])).to_vec();
    let found = judged(blocks(4), claims, leans);
    let holds: Vec<bool> = found.iter().map(|answer| answer.text.starts_with("Every prediction held")).collect();
    assert_eq!(holds, [true, false, false], "{found:#?}");
    assert!(found[0].needs.as_ref().and_then(|needs| needs.launches_per_cell).is_some_and(|n| n > 4), "{:#?}", found[0]);
}
