//! Events as lines of progress.

use bystander_model::cell::Cell;
use bystander_model::edit::{AppliedEdit, RevertedEdit};
use bystander_model::event::{Event, EventBody, FileProof, Origin, Purpose, RunEnd, Slot, TrialEnd};
use bystander_model::hit::{Receipt, ReceiptState};
use bystander_model::ids::{RunId, TimeNs, TrialId};
use bystander_model::outcome::{Cause, CauseGroup, Outcome};
use bystander_report::{Names, event_line};
use insta::assert_snapshot;

use crate::{fixture, story};

fn event(trial: Option<u32>, body: EventBody) -> Event {
    Event { run: RunId("r".into()), trial: trial.map(TrialId), origin: Origin::Lab, seq: 0, time: TimeNs(0), body }
}

fn slot(purpose: Purpose, attempt: u32) -> EventBody {
    let cell = Cell { levels: fixture::levels("nccl"), instrument: "print".into() };
    EventBody::TrialStarted { slot: Slot { purpose, block: 1, position: 3, attempt, lane: 1, cell } }
}

fn ended(cause: Option<&str>) -> EventBody {
    let cause = cause.map(|class| Cause {
        class: class.into(),
        group: CauseGroup::Target,
        signature: String::new(),
        text: String::new(),
        blames: None,
        is_echo: false,
        evidence: Vec::new(),
    });
    let outcome = if cause.is_some() { Outcome::Failed } else { Outcome::Completed };
    EventBody::TrialEnded(TrialEnd { cause, wall_s: 1.44, ..TrialEnd::new(outcome) })
}

fn edits() -> [EventBody; 2] {
    let (id, name, file) = ("e1".to_owned(), "print".to_owned(), std::path::PathBuf::from("engine/sizing.py"));
    let applied = AppliedEdit {
        id: id.clone(),
        name: name.clone(),
        file: file.clone(),
        before_sha256: "a".into(),
        after_sha256: "b".into(),
        added_lines: 43..45,
    };
    let undone =
        RevertedEdit { id, name, file, exact: true, sha256: Some("a".into()), how: "restored".into(), bytecode_removed: Vec::new() };
    [EventBody::Edited(applied), EventBody::Undone(undone)]
}

fn bodies() -> Vec<(Option<u32>, EventBody)> {
    let receipt = |state| {
        let detail = Some("no such function".to_owned());
        EventBody::Receipt(Receipt {
            pid: 9,
            rank: None,
            probe: "kv-budget".into(),
            state,
            hits: Some(0),
            dropped: Some(0),
            detail,
            python: None,
            passes: None,
            throttled: None,
            recorder: None,
            cost_ns: None,
            adds_switch_point: false,
        })
    };
    let proof =
        |after: &str| FileProof { file: "a".into(), before_sha256: "a".into(), after_sha256: Some(after.into()), metadata_same: true };
    let [edited, undone] = edits();
    vec![
        (None, EventBody::RunResumed),
        (Some(3), slot(Purpose::Measure, 1)),
        (Some(3), edited),
        (Some(3), receipt(ReceiptState::Refused)),
        (Some(3), receipt(ReceiptState::Armed)),
        (Some(3), EventBody::Hit(story::hit(0))),
        (Some(3), EventBody::Ready { after_s: 1.2, evidence: Vec::new() }),
        (Some(3), undone),
        (Some(3), ended(Some("memory.fraction_below_weights"))),
        (Some(4), slot(Purpose::Measure, 2)),
        (Some(4), ended(None)),
        (Some(5), slot(Purpose::Clean, 1)),
        (Some(6), ended(None)),
        (None, EventBody::Restored { files: vec![proof("a")] }),
        (None, EventBody::Restored { files: vec![proof("a"), proof("b")] }),
        (None, EventBody::Note { text: "two\nlines \u{1b}[31m".into() }),
        (None, EventBody::RunEnded(RunEnd::Finished { why: "every planned block was run".into() })),
    ]
}

#[test]
fn a_trial_that_is_forgotten_has_its_number_only() {
    let mut names = Names::new(10, 6);
    for number in [1, 2] {
        names.learn(&event(Some(number), slot(Purpose::Gate, 1)));
    }
    names.forget(TrialId(1));
    assert_eq!((names.place(Some(TrialId(1))), names.place(Some(TrialId(2)))), ("trial 1".to_owned(), "gate  nccl/print".to_owned()));
}

#[test]
fn each_event_is_a_line_or_none() {
    let mut names = Names::new(10, 6);
    let mut lines = Vec::new();
    for (trial, body) in bodies() {
        let event = event(trial, body);
        names.learn(&event);
        lines.push(event_line(&event, &names).unwrap_or_else(|| "(none)".into()));
    }
    assert_snapshot!(lines.join("\n"), @r#"
    run  taken up again
    block 1/10  trial 3/6  nccl/print  starting
    block 1/10  trial 3/6  nccl/print  print put into engine/sizing.py
    block 1/10  trial 3/6  nccl/print  kv-budget refused in pid 9: no such function
    (none)
    (none)
    block 1/10  trial 3/6  nccl/print  ready after 1.2 s
    block 1/10  trial 3/6  nccl/print  print taken out of engine/sizing.py, byte for byte (restored)
    block 1/10  trial 3/6  nccl/print  failed in 1.4 s  memory.fraction_below_weights
    block 1/10  trial 3/6  nccl/print  attempt 2  starting
    block 1/10  trial 3/6  nccl/print  attempt 2  completed in 1.4 s
    clean baseline  nccl/print  starting
    trial 6  completed in 1.4 s
    run  1 file as before
    run  2 files compared, NOT all as before
    run  two lines \u{1b}[31m
    run  finished: every planned block was run
    "#);
}
