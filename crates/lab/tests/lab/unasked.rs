//! Settings that a level turns without asking for them: told, where launches print them alike and neither level names them, and no winner is named then.

use bystander_lab::plan::{Direction, Hypothesis, Plan, Prediction, Template, Treatment};
use bystander_model::cell::Cell;
use bystander_model::event::TrialEnd;
use bystander_model::evidence::{Evidence, Stream};
use bystander_model::ids::TrialId;
use bystander_model::outcome::Outcome;
use bystander_model::report::{Answer, Means, Verdict};

use crate::scripted::{Ends, Scripted, answer, plan, run, summary_of};

/// What is said of a run whose launches print what a rule says.
fn told(plan: &Plan, printed: impl Fn(&Cell, u32) -> Option<String> + Send + Sync + 'static) -> Option<String> {
    let script = move |cell: &Cell, before: u32| {
        let configuration = printed(cell, before).map(|text| Evidence::log(TrialId(1), Stream::Stderr, 1, text));
        Ends::As(Box::new(TrialEnd { configuration, ..TrialEnd::new(Outcome::Completed) }))
    };
    let (ledger, _) = run(plan, &mut Scripted::new(script));
    summary_of(&ledger).notes.into_iter().find(|note| note.contains("differ in more than what they ask for"))
}

/// Two launches of a cell differ in `port` and `run`; `b` differs from `a` in three settings.
fn printed(cell: &Cell, before: u32) -> Option<String> {
    let (arm, is_b) = (&cell.levels["arm"], cell.levels["arm"] == "b");
    let fraction = if is_b { 0.88 } else { 0.55 };
    Some(format!("args=Args(arm='{arm}', fraction={fraction}, no_graphs={is_b}, port=4{before}, run={before})"))
}

#[test]
fn what_neither_level_names_is_told() {
    let said = told(&plan(&["a", "b"], &[]), printed).expect("it is said");
    let start = "arm=b and arm=a differ in more than what they ask for: arm 'a' → 'b', fraction 0.55 → 0.88, no_graphs false → true. ";
    assert!(said.starts_with(start), "{said}");
}

#[test]
fn what_a_level_names_in_an_argument_or_a_variable_is_not() {
    let mut asking = plan(&["a", "b"], &[]);
    let level = asking.factors.get_mut("arm").and_then(|levels| levels.get_mut("b")).expect("a level");
    level.args = ["--arm", "b", "--no-graphs=true"].map(|arg| Template(arg.to_owned())).to_vec();
    level.env.insert("ENGINE_FRACTION".to_owned(), Template("0.88".to_owned()));
    assert_eq!(told(&asking, printed), None);
    let level = asking.factors.get_mut("arm").and_then(|levels| levels.get_mut("b")).expect("a level");
    level.args = ["--harm", "b", "--no-graphs=true"].map(|arg| Template(arg.to_owned())).to_vec();
    let said = told(&asking, printed).expect("the name of a setting is a whole word");
    assert!(said.contains("ask for: arm 'a' → 'b'. "), "{said}");
}

#[test]
fn a_programs_own_numbers_and_silence_are_not() {
    assert_eq!(told(&plan(&["a", "b"], &[]), |_, before| Some(format!("args=Args(x=1, run={before})"))), None);
    assert_eq!(told(&plan(&["a", "b"], &[]), |_, _| None), None);
}

/// What is said of `b`, whose launches print what a rule says and draw 400 tokens more, and of the claim that it draws more.
fn judged(plan: &Plan, printed: fn(bool) -> String) -> (Answer, Verdict) {
    let mut plan = plan.clone();
    let up = Prediction::Effect { factor: "arm".into(), level: "b".into(), metric: "tokens".into(), effect: Direction::Up };
    plan.hypotheses = vec![Hypothesis { claim: "more".into(), predicts: vec![up] }];
    let script = move |cell: &Cell, _: u32| {
        let is_b = cell.levels["arm"] == "b";
        let configuration = Some(Evidence::log(TrialId(1), Stream::Stderr, 1, printed(is_b)));
        let mut end = TrialEnd { configuration, ..TrialEnd::new(Outcome::Completed) };
        end.metrics.insert("tokens".to_owned(), Some(if is_b { 1400.0 } else { 1000.0 }));
        Ends::As(Box::new(end))
    };
    let ledger = run(&plan, &mut Scripted::new(script)).0;
    (answer(&ledger, "factor:arm", "tokens"), answer(&ledger, "hypothesis:more", "outcome").verdict)
}

/// A plan whose level `b` gets an argument that the program does not print by that name.
fn switched() -> Plan {
    let mut plan = plan(&["a", "b"], &[]);
    plan.factors["arm"]["b"].args = vec![Template("--drafts".to_owned())];
    plan
}

#[test]
fn no_winner_is_named_where_the_level_turned_more_than_it_asks_for() {
    let two = |is_b: bool| format!("args=Args(eager={is_b}, fraction={}, seed=1)", if is_b { 0.8 } else { 0.88 });
    let (found, claim) = judged(&switched(), two);
    assert_eq!((found.verdict, found.strength, claim), (Verdict::Insufficient, None, Verdict::Open), "{}", found.text);
    let said = "No winner is named: with arm=b the program prints eager false → true, fraction 0.88 → 0.8 too, which no level asks for. Of all of it together: +400 tokens";
    assert!(found.text.starts_with(said), "{}", found.text);
    assert!(found.estimate.is_some() && found.evidence[0].text.contains("eager=false"), "what was measured stays: {found:?}");
    let needs = found.needs.expect("what would decide");
    assert_eq!(needs.means, [Means::File]);
    assert!(needs.missing[0].starts_with("eager, fraction alike in both cells, or as factors of their own"), "{:?}", needs.missing);
}

#[test]
fn what_is_declared_worked_out_or_the_treatment_itself_is_compared() {
    let two = |is_b: bool| format!("args=Args(eager={is_b}, fraction={})", if is_b { 0.8 } else { 0.88 });
    let is_compared = |plan: &Plan, printed: fn(bool) -> String| {
        let (found, claim) = judged(plan, printed);
        assert_eq!((found.verdict, claim), (Verdict::Effect, Verdict::Supported), "{}", found.text);
    };
    let mut declared = switched();
    declared.factors["arm"]["b"].treatment = Some(Treatment { log: None, configuration: Some("eager=true, fraction=0.8".to_owned()) });
    is_compared(&declared, two);
    is_compared(&switched(), |is_b| format!("args=Args(eager={is_b}, fraction=0.8)"));
    is_compared(&switched(), |is_b| format!("args=Args(eager={is_b}, sizes=[1, {}])", u32::from(is_b)));
    // The levels ask for nothing: what differs by itself is no unfairness of theirs.
    is_compared(&plan(&["a", "b"], &[]), two);
    // A setting that is asked for and printed makes any other one more than was asked for.
    let mut named = switched();
    named.factors["arm"]["b"].args = vec![Template("--eager".to_owned())];
    assert_eq!(judged(&named, two).0.verdict, Verdict::Insufficient);
}
