//! Levels whose printed configuration is that of the baseline: told, unless something is printed that differs, or nothing is printed at all.

use bystander_lab::ledger::Ledger;
use bystander_lab::plan::{Direction, Hypothesis, Plan, Prediction, Template};
use bystander_model::cell::Cell;
use bystander_model::event::TrialEnd;
use bystander_model::evidence::{Evidence, Stream};
use bystander_model::ids::TrialId;
use bystander_model::outcome::Outcome;
use bystander_model::report::{Means, Verdict};

use crate::scripted::{Ends, Scripted, answer, plan, run, summary_of};

/// What is said of a run whose launches print what a rule says.
fn told(plan: &Plan, printed: impl Fn(&Cell, u32) -> Option<String> + Send + Sync + 'static) -> Option<String> {
    note_of(&of(plan, printed))
}

/// A run whose launches print what a rule says, and whose tokens are always 400 more in `b`.
fn of(plan: &Plan, printed: impl Fn(&Cell, u32) -> Option<String> + Send + Sync + 'static) -> Ledger {
    let script = move |cell: &Cell, before: u32| {
        let configuration = printed(cell, before).map(|text| Evidence::log(TrialId(1), Stream::Stderr, 1, text));
        let mut end = TrialEnd { configuration, ..TrialEnd::new(Outcome::Completed) };
        end.metrics.insert("tokens".to_owned(), Some(if cell.levels["arm"] == "b" { 1400.0 } else { 1000.0 }));
        Ends::As(Box::new(end))
    };
    run(plan, &mut Scripted::new(script)).0
}

fn note_of(ledger: &Ledger) -> Option<String> {
    summary_of(ledger).notes.into_iter().find(|note| note.contains("leaves no trace"))
}

/// A plan whose level `b` has these arguments, and which claims that more tokens come of it.
fn with_arguments(args: &[&str]) -> Plan {
    let mut plan = plan(&["a", "b"], &[]);
    plan.factors["arm"]["b"].args = args.iter().map(|word| Template((*word).to_owned())).collect();
    let effect = Prediction::Effect { factor: "arm".into(), level: "b".into(), metric: "tokens".into(), effect: Direction::Down };
    let fails = Prediction::Outcome { cell: plan.cells[1].clone(), outcome: Outcome::Failed };
    plan.hypotheses = vec![
        Hypothesis { claim: "it shrinks".into(), predicts: vec![effect] },
        Hypothesis { claim: "it fails".into(), predicts: vec![fails] },
    ];
    plan
}

#[test]
fn a_level_that_the_program_prints_and_does_not_take_is_no_treatment() {
    let plan = with_arguments(&["--mem-fraction", "0.88"]);
    let ledger = of(&plan, |_, before| Some(format!("args=Args(mem_fraction=0.55, port=4{before}123, socket='/tmp/{before}')")));
    for metric in ["outcome", "tokens"] {
        let found = answer(&ledger, "factor:arm", metric);
        assert_eq!((found.verdict, found.strength, found.p, found.estimate), (Verdict::Invalid, None, None, None), "{found:?}");
        assert!(found.text.contains("the treatment was not applied: the program prints mem_fraction=0.55 whether"), "{}", found.text);
        assert_eq!(found.evidence.len(), 2);
        assert_eq!(found.needs.map(|needs| needs.means), Some(vec![Means::File]));
    }
    for claim in ["it shrinks", "it fails"] {
        let found = answer(&ledger, &format!("hypothesis:{claim}"), "outcome");
        assert_eq!(found.verdict, Verdict::Open, "no cell of it was launched: {}", found.text);
        assert!(found.text.contains("was not applied"), "{}", found.text);
    }
    assert_eq!(note_of(&ledger), None, "it is said once");
    let report = summary_of(&ledger);
    assert!(report.why.is_some_and(|why| why.contains("was not applied")) && report.trials.len() <= 4, "it stops early");
    assert!(report.next.iter().any(|step| step.text.starts_with("arguments of arm=b that the program takes over")), "{:?}", report.next);
}

#[test]
fn spellings_of_command_lines_are_those_of_configurations() {
    let not_applied = |args: &[&str], printed: &'static str| {
        let ledger = of(&with_arguments(args), move |_, _| Some(printed.to_owned()));
        answer(&ledger, "factor:arm", "tokens").verdict == Verdict::Invalid
    };
    assert!(not_applied(&["--no-enable-prefix-caching"], "non-default args: {'enable_prefix_caching': True, 'model': 'm'}"));
    assert!(not_applied(&["--a=1", "--b", "2"], "args=Args(a=0, b=0)"));
    assert!(!not_applied(&["--a=1", "--b", "2"], "args=Args(a=0)"), "b is not printed: it may act");
    assert!(not_applied(&["--random-seed", "7"], "args=Args(random_seed=1)"), "what is varied is compared, whatever its name");
}

#[test]
fn what_is_not_printed_or_does_differ_is_a_treatment_all_the_same() {
    let arguments = ["--mem-fraction", "0.88"];
    let verdict = |plan: &Plan, printed: fn(&Cell, u32) -> Option<String>| {
        let ledger = of(plan, printed);
        (answer(&ledger, "factor:arm", "tokens").verdict, answer(&ledger, "hypothesis:it shrinks", "outcome").verdict)
    };
    let acts = (Verdict::Effect, Verdict::Refuted);
    let same = |_: &Cell, _: u32| Some("args=Args(mem_fraction=0.55)".to_owned());
    assert_eq!(verdict(&with_arguments(&arguments), |cell, _| Some(format!("args=Args(mem_fraction={})", fraction_of(cell)))), acts);
    let derived = |cell: &Cell, _: u32| Some(format!("args=Args(mem_fraction=0.55, max_tokens={})", fraction_of(cell)));
    assert_eq!(verdict(&with_arguments(&arguments), derived), acts, "something follows from it");
    assert_eq!(verdict(&with_arguments(&arguments), |_, _| None), acts, "nothing is printed");
    assert_eq!(verdict(&with_arguments(&["--unknown"]), same), acts, "it is not printed");
    assert_eq!(verdict(&with_arguments(&["other-model"]), same), acts, "it has no name");
    let mut with_variable = with_arguments(&arguments);
    with_variable.factors["arm"]["b"].env.insert("FORCE".into(), Template("1".into()));
    assert_eq!(verdict(&with_variable, same), acts, "a variable may act without a trace");
    let only = |cell: &Cell, before: u32| {
        Some(format!("args=Args(mem_fraction={})", if cell.levels["arm"] == "b" && before == 0 { "0.9" } else { "0.55" }))
    };
    assert_eq!(verdict(&with_arguments(&arguments), only).0, Verdict::Effect, "it was taken once");
}

#[test]
fn a_baseline_that_fails_by_itself_is_broken_whatever_the_other_cell_was() {
    let mut plan = with_arguments(&["--mem-fraction", "0.88"]);
    plan.hypotheses.clear();
    let script = |_: &Cell, _: u32| {
        let configuration = Some(Evidence::log(TrialId(1), Stream::Stderr, 1, "args=Args(mem_fraction=0.55)"));
        Ends::As(Box::new(TrialEnd { configuration, ..TrialEnd::new(Outcome::Failed) }))
    };
    let (ledger, _) = run(&plan, &mut Scripted::new(script));
    let found = answer(&ledger, "factor:arm", "outcome");
    assert_eq!(found.verdict, Verdict::BaselineBroken);
    assert!(found.text.contains("Besides, the treatment was not applied"), "{}", found.text);
}

fn fraction_of(cell: &Cell) -> &'static str {
    if cell.levels["arm"] == "b" { "0.88" } else { "0.55" }
}

#[test]
fn a_level_that_the_program_does_not_print_is_told() {
    let same =
        told(&plan(&["a", "b"], &[]), |_, before| Some(format!("args=Args(fraction=0.55, port=4{before}123, random_seed={before})")));
    let same = same.expect("it is said");
    assert!(same.starts_with("arm=b leaves no trace in the configuration that the program prints: trial "), "{same}");
}

#[test]
fn a_level_that_it_prints_and_a_program_that_prints_none_are_not() {
    let differs = told(&plan(&["a", "b"], &[]), |cell, _| Some(format!("args=Args(fraction={}, port=1)", fraction_of(cell))));
    assert_eq!(differs, None);
    assert_eq!(told(&plan(&["a", "b"], &[]), |_, _| None), None);
    assert_eq!(told(&plan(&["a", "b"], &[]), |cell, _| (cell.levels["arm"] == "a").then(|| "args=Args(x=1)".to_owned())), None);
}
