//! Conclusions that later evidence contradicts: within a run that goes on, and between runs of one file.

use bystander_lab::conduct;
use bystander_lab::ledger::Ledger;
use bystander_lab::plan::{Blocks, Hypothesis, Plan, Prediction, Rule};
use bystander_lab::summary;
use bystander_lab::superseding::{OtherRun, conclusions};
use bystander_model::cell::Cell;
use bystander_model::event::{EventBody, RunEnd};
use bystander_model::ids::{RunId, TimeNs, TrialId};
use bystander_model::outcome::Outcome;
use bystander_model::report::Verdict;
use indexmap::IndexMap;

use crate::scripted::{Ends, Kept, Scripted, answer, create, plan, run, summary_of};

fn cell(arm: &str) -> Cell {
    Cell { levels: IndexMap::from([("arm".to_owned(), arm.to_owned())]), instrument: "none".to_owned() }
}

fn claimed() -> Plan {
    let predicts = vec![
        Prediction::Outcome { cell: cell("b"), outcome: Outcome::Failed },
        Prediction::Outcome { cell: cell("a"), outcome: Outcome::Completed },
    ];
    let hypotheses = vec![Hypothesis { claim: "b breaks it".into(), predicts }];
    Plan { hypotheses, rule: Rule::EValue, blocks: Blocks { min: 8, max: Blocks::OPEN }, ..plan(&["a", "b"], &[]) }
}

/// `b` fails but for its launch number `odd`.
fn fails_but(odd: u32) -> impl Fn(&Cell, u32) -> Ends + Send + Sync + 'static {
    move |cell, n| if cell.levels["arm"] == "b" && n != odd { Ends::Fails("RuntimeError @ f") } else { Ends::Completes }
}

#[test]
fn a_claim_that_a_run_supported_when_it_was_stopped_and_refuted_later_says_so() {
    let plan = claimed();
    let mut sink = Kept::default();
    let mut ledger = create(&plan, &mut sink).expect("recorded");
    let mut place = Scripted::new(fails_but(6));
    place.interrupt_after = Some(12);
    assert_eq!(conduct::conduct(&mut ledger, &place, &mut sink).expect("recorded"), RunEnd::Interrupted);
    assert_eq!(answer(&ledger, "hypothesis:b breaks it", "outcome").verdict, Verdict::Supported);
    assert!(summary_of(&ledger).superseded.is_empty());
    conduct::resume(&mut ledger, &IndexMap::new(), &mut sink).expect("recorded");
    place.interrupt_after = None;
    conduct::conduct(&mut ledger, &place, &mut sink).expect("recorded");
    let report = summary_of(&ledger);
    assert_eq!(report.superseded.len(), 1, "{:#?}", report.superseded);
    let one = &report.superseded[0];
    assert_eq!((one.conclusion.verdict, one.now), (Verdict::Supported, Verdict::Refuted));
    let against = one.by_trial.expect("a single launch speaks against it");
    let trial = &ledger.trials[&against];
    assert!(trial.slot.cell == cell("b") && trial.outcome() == Some(Outcome::Completed) && against > TrialId(12));
    assert!(
        one.text.contains("it said of \u{201c}b breaks it\u{201d}: supported")
            && one.text.contains(&format!("by trial {against}: now refuted")),
        "{}",
        one.text
    );
    // It stays in the record, and the record alone gives the same.
    let stays = sink.events.iter().filter(|event| matches!(event.body, EventBody::Concluded { .. })).count();
    assert_eq!(stays, 2);
    assert_eq!(summary_of(&Ledger::replay(&ledger.run, sink.events).expect("whole")).superseded, report.superseded);
}

#[test]
fn what_was_open_and_is_settled_contradicts_nothing() {
    let plan = Plan { hypotheses: Vec::new(), ..claimed() };
    let mut sink = Kept::default();
    let mut ledger = create(&plan, &mut sink).expect("recorded");
    let mut place = Scripted::new(fails_but(u32::MAX));
    place.interrupt_after = Some(4);
    conduct::conduct(&mut ledger, &place, &mut sink).expect("recorded");
    conduct::resume(&mut ledger, &IndexMap::new(), &mut sink).expect("recorded");
    place.interrupt_after = None;
    conduct::conduct(&mut ledger, &place, &mut sink).expect("recorded");
    assert_eq!(answer(&ledger, "factor:arm", "outcome").verdict, Verdict::Effect);
    assert!(summary_of(&ledger).superseded.is_empty());
}

fn other(ledger: &Ledger, run: &str, seconds_later: i64) -> OtherRun {
    let at = ledger.concluded.last().expect("it came to an end").0.0;
    OtherRun { run: RunId(run.into()), time: TimeNs(at.saturating_add_signed(seconds_later * 1_000_000_000)), answers: conclusions(ledger) }
}

#[test]
fn another_run_of_the_file_that_says_otherwise_is_named_in_both() {
    let (broke, _) = run(&claimed(), &mut Scripted::new(fails_but(u32::MAX)));
    let (worked, _) = run(&Plan { margin: Some(0.4), ..claimed() }, &mut Scripted::new(|_, _| Ends::Completes));
    assert_eq!(answer(&worked, "factor:arm", "outcome").verdict, Verdict::NoEffectWithin);
    // Seen from the newer run: the older one's conclusion does not hold.
    let newer = summary::report_beside(&worked, &[other(&broke, "old", -86_400)]);
    let about: Vec<&str> = newer.superseded.iter().map(|one| one.conclusion.about.as_str()).collect();
    assert_eq!(about, ["factor:arm", "hypothesis:b breaks it"]);
    let one = &newer.superseded[0];
    assert_eq!(
        (one.run.as_str(), one.by_run.as_str(), one.conclusion.verdict, one.now),
        ("old", "r", Verdict::Effect, Verdict::NoEffectWithin)
    );
    assert!(one.text.contains("run old said of arm: effect. Contradicted by this run, trial"), "{}", one.text);
    // Seen from the older one: its own does not.
    let older = summary::report_beside(&broke, &[other(&worked, "new", 86_400)]);
    let one = &older.superseded[0];
    assert_eq!(
        (one.run.as_str(), one.by_run.as_str(), one.conclusion.verdict, one.now),
        ("r", "new", Verdict::Effect, Verdict::NoEffectWithin)
    );
    assert!(one.text.contains("this run said of arm: effect. Contradicted by the later run new"), "{}", one.text);
}

#[test]
fn runs_that_agree_and_the_run_itself_supersede_nothing() {
    let (ledger, _) = run(&claimed(), &mut Scripted::new(fails_but(u32::MAX)));
    let same = other(&ledger, "again", 5);
    let itself = OtherRun { run: ledger.run.clone(), answers: Vec::new(), ..same };
    assert!(summary::report_beside(&ledger, &[same, itself]).superseded.is_empty());
}
