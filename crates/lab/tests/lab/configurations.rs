//! Levels whose printed configuration is that of the baseline: told, unless something is printed that differs, or nothing is printed at all.

use bystander_lab::plan::Plan;
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
    summary_of(&ledger).notes.into_iter().find(|note| note.contains("leaves no trace"))
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
