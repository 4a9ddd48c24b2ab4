//! A run that is killed at any event and taken up again gives the same answers, and nothing that was recorded is lost.

use bystander_lab::conduct;
use bystander_lab::ledger::Ledger;
use bystander_lab::place::LabError;
use bystander_model::event::{EventBody, RunEnd, Session};
use bystander_model::ids::{RunId, TimeNs};
use bystander_model::outcome::Outcome;
use indexmap::IndexMap;

use crate::scripted::{Ends, Kept, Scripted, create, plan, run, summary_of};

fn place() -> Scripted {
    Scripted::new(|cell, _| if cell.levels["arm"] == "b" { Ends::Fails("RuntimeError @ f") } else { Ends::Measures(5.0) })
}

/// The verdicts, without the numbers of trials, which differ where one was cut short.
fn verdicts(ledger: &Ledger) -> Vec<(String, String, String)> {
    let answers = summary_of(ledger).answers;
    answers.iter().map(|answer| (answer.about.clone(), answer.metric.clone(), answer.verdict.word().to_owned())).collect()
}

#[test]
fn killed_at_any_event_a_run_goes_on_to_the_same_verdict() {
    let plan = plan(&["a", "b"], &["print"]);
    let (whole, _) = run(&plan, &mut place());
    let mut sink = Kept::default();
    let mut ledger = create(&plan, &mut sink).expect("recorded");
    conduct::conduct(&mut ledger, &place(), &mut sink).expect("recorded");
    let events = sink.events.len();
    for killed_at in 1..events {
        let mut sink = Kept { events: Vec::new(), refuse_at: Some(killed_at) };
        let mut ledger = create(&plan, &mut sink).expect("the first event is recorded");
        let stopped = conduct::conduct(&mut ledger, &place(), &mut sink);
        assert!(matches!(stopped, Err(LabError::Record(_))), "killed at event {killed_at}");
        sink.refuse_at = None;
        let recorded = sink.events.clone();
        let mut ledger = Ledger::replay(&RunId("r".into()), recorded.clone()).expect("the record is readable");
        conduct::resume(&mut ledger, &IndexMap::new(), &mut sink).expect("recorded");
        let end = conduct::conduct(&mut ledger, &place(), &mut sink).expect("recorded");
        assert!(matches!(end, RunEnd::Finished { .. }), "killed at event {killed_at}: {end:?}");
        assert_eq!(verdicts(&ledger), verdicts(&whole), "killed at event {killed_at}");
        assert_eq!(sink.events[..recorded.len()], recorded[..], "what was recorded stays");
        let mut keys: Vec<_> = sink.events.iter().map(|event| (event.trial, event.origin, event.seq)).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), sink.events.len(), "every event has a number of its own");
        assert!(ledger.unfinished().is_empty());
    }
}

#[test]
fn an_interrupted_run_says_so_and_its_trial_is_no_data_point() {
    let plan = plan(&["a", "b"], &[]);
    let mut place = place();
    place.interrupt_after = Some(3);
    let mut sink = Kept::default();
    let mut ledger = create(&plan, &mut sink).expect("recorded");
    let end = conduct::conduct(&mut ledger, &place, &mut sink).expect("recorded");
    assert_eq!(end, RunEnd::Interrupted);
    assert_eq!(summary_of(&ledger).status, "interrupted");
    let last: Vec<&EventBody> = sink.events.iter().rev().take(2).map(|event| &event.body).collect();
    assert!(matches!(last[..], [EventBody::Concluded { .. }, EventBody::RunEnded(RunEnd::Interrupted)]), "{last:?}");
}

#[test]
fn a_trial_that_died_with_us_is_closed_as_interrupted() {
    let plan = plan(&["a", "b"], &[]);
    let mut sink = Kept { events: Vec::new(), refuse_at: Some(2) };
    let mut ledger = create(&plan, &mut sink).expect("recorded");
    conduct::conduct(&mut ledger, &place(), &mut sink).expect_err("the second event of the trial is refused");
    sink.refuse_at = None;
    let mut ledger = Ledger::replay(&RunId("r".into()), sink.events.clone()).expect("readable");
    conduct::resume(&mut ledger, &IndexMap::new(), &mut sink).expect("recorded");
    let first = ledger.trials.values().next().expect("it was started");
    assert_eq!(first.outcome(), Some(Outcome::Interrupted));
}

/// A run whose first session, in one start of the machine, was killed in a trial, and whose second is in another.
fn taken_up(first: Option<&str>, second: Option<&str>) -> Ledger {
    let session = |boot: Option<&str>, pid| Session { version: "test".into(), boot: boot.map(str::to_owned), pid };
    let mut sink = Kept::default();
    let mut ledger = create(&plan(&["a", "b"], &[]), &mut sink).expect("recorded");
    conduct::begin_session(&mut ledger, &session(first, 10), &mut sink).expect("recorded");
    // The first events of a trial are recorded, and not its end.
    sink.refuse_at = Some(sink.events.len() + 1);
    conduct::conduct(&mut ledger, &place(), &mut sink).expect_err("killed in a trial");
    sink.refuse_at = None;
    let mut ledger = Ledger::replay(&RunId("r".into()), sink.events.clone()).expect("readable");
    conduct::resume_in(&mut ledger, &IndexMap::new(), Some(&session(second, 20)), &mut sink).expect("recorded");
    conduct::conduct(&mut ledger, &place(), &mut sink).expect("recorded");
    ledger
}

#[test]
fn a_restart_of_the_machine_between_two_sessions_is_told_and_anything_else_is_none() {
    let restarted = |ledger: &Ledger| summary_of(ledger).notes.iter().any(|note| note.contains("the machine was restarted before trial "));
    let cut_short = |ledger: &Ledger| {
        let interrupted = ledger.trials.values().find(|trial| trial.outcome() == Some(Outcome::Interrupted)).expect("one was cut short");
        interrupted.end.as_ref().and_then(|end| end.cause.clone()).expect("a cause").text
    };
    let other = taken_up(Some("boot-1"), Some("boot-2"));
    assert!(restarted(&other), "{:?}", summary_of(&other).notes);
    assert_eq!(cut_short(&other), "the machine was restarted while this trial ran");
    // The same start, or one that nobody knows.
    for (first, second) in [(Some("boot-1"), Some("boot-1")), (None, Some("boot-2")), (Some("boot-1"), None), (None, None)] {
        let same = taken_up(first, second);
        assert!(!restarted(&same), "{first:?} {second:?}: {:?}", summary_of(&same).notes);
        assert_eq!(cut_short(&same), "bystander was killed while this trial ran");
    }
}

#[test]
fn a_wall_clock_that_is_set_while_a_run_goes_on_changes_neither_order_nor_numbers() {
    let mut sink = Kept::default();
    let mut ledger = create(&plan(&["a", "b"], &["print"]), &mut sink).expect("recorded");
    conduct::conduct(&mut ledger, &place(), &mut sink).expect("recorded");
    let as_it_was = summary_of(&ledger);
    let year = 365 * 24 * 3600 * 1_000_000_000;
    for at in [1, sink.events.len() / 3, sink.events.len() / 2, sink.events.len() - 1] {
        for forward in [true, false] {
            let mut events = sink.events.clone();
            for event in &mut events[at..] {
                event.time = TimeNs(if forward { event.time.0 + year } else { event.time.0 - year });
            }
            let jumped = Ledger::replay(&RunId("r".into()), events).expect("readable");
            assert_eq!(summary_of(&jumped), as_it_was, "set at event {at}, forward: {forward}");
            assert_eq!(jumped.trials.keys().collect::<Vec<_>>(), ledger.trials.keys().collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_resume_refuses_when_something_changed_and_names_it() {
    let plan = plan(&["a", "b"], &[]);
    let mut sink = Kept::default();
    let mut ledger = create(&plan, &mut sink).expect("recorded");
    let now = IndexMap::from([("engine/sizing.py".to_owned(), "other".to_owned())]);
    let refused = conduct::resume(&mut ledger, &now, &mut sink);
    assert!(matches!(&refused, Err(LabError::Changed { what }) if *what == ["engine/sizing.py"]), "{refused:?}");
    assert_eq!(sink.events.len(), 1, "a refused resume records nothing");
}
