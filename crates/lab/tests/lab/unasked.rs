//! Settings that a level turns without asking for them: told, where launches print them alike and neither level names them.

use bystander_lab::plan::{Plan, Template};
use bystander_model::cell::Cell;
use bystander_model::event::TrialEnd;
use bystander_model::evidence::{Evidence, Stream};
use bystander_model::ids::TrialId;
use bystander_model::outcome::Outcome;

use crate::scripted::{Ends, Scripted, plan, run, summary_of};

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
