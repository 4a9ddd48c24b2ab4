//! Appending and reading: order, numbers, runs, and two processes' worth of writers at once.

use std::path::Path;

use bystander_model::event::{Event, EventBody, Origin, RunEnd};
use bystander_model::ids::{RunId, TimeNs, TrialId};
use bystander_store::{RunStatus, Store, StoreError};

use crate::fixture::{all, note, run, state, store_with};

fn lab(run: &str, seq: u64, body: EventBody) -> Event {
    Event { run: RunId(run.into()), trial: None, origin: Origin::Lab, seq, time: TimeNs(seq), body }
}

#[test]
fn events_come_back_in_the_order_of_insertion_over_many_pages() {
    let folder = tempfile::tempdir().expect("folder");
    let mut store = store_with(&state(folder.path()), "r");
    store.create_run(&run("other", "/x/other.toml"), &[]).expect("another run");
    let mut wanted: Vec<Event> = (0..2500).rev().map(|seq| note("r", seq)).collect();
    wanted.insert(1200, lab("r", 0, EventBody::RunResumed));
    for (index, event) in wanted.iter().enumerate() {
        if index % 500 == 0 {
            store.append_all(&wanted[index..(index + 500).min(wanted.len())]).expect("appends");
        }
        if index % 1000 == 0 {
            let mut elsewhere = event.clone();
            elsewhere.run = RunId("other".into());
            store.append(&elsewhere).expect("appends");
        }
    }
    assert!(all(&store, "r") == wanted);
    assert_eq!(all(&store, "other").len(), 3);
}

#[test]
fn events_as_lines_are_the_same_events_and_end_at_the_bytes_that_are_asked_for() {
    let folder = tempfile::tempdir().expect("folder");
    let mut store = store_with(&state(folder.path()), "r");
    let wanted: Vec<Event> = (0..250).map(|seq| note("r", seq)).chain([lab("r", 0, EventBody::RunResumed)]).collect();
    store.append_all(&wanted).expect("appends");
    let (mut read, mut calls) = (Vec::new(), 0);
    loop {
        let (count, lines) = store.event_lines(&RunId("r".into()), read.len() as u64, 1000).expect("lines");
        if count == 0 {
            break;
        }
        let events = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let events: Vec<Event> = events.map(|line| serde_json::from_slice(line).expect("an event")).collect();
        assert_eq!(events.len() as u64, count);
        assert!(lines.len() < 2000, "{}", lines.len());
        read.extend(events);
        calls += 1;
    }
    assert!(read == wanted && calls > 20, "{calls}");
}

#[test]
fn numbers_go_on_per_trial_and_origin() {
    let folder = tempfile::tempdir().expect("folder");
    let mut store = store_with(&state(folder.path()), "r");
    let next =
        |store: &Store, trial: Option<u32>, origin| store.next_seq(&RunId("r".into()), trial.map(TrialId), origin).expect("a number");
    assert_eq!(next(&store, Some(1), Origin::Host), 0);
    store.append(&note("r", 0)).expect("appends");
    store.append(&note("r", 6)).expect("appends");
    store.append(&lab("r", 0, EventBody::RunResumed)).expect("appends");
    assert_eq!(next(&store, Some(1), Origin::Host), 7);
    assert_eq!(next(&store, Some(2), Origin::Host), 0);
    assert_eq!(next(&store, Some(1), Origin::Lab), 0);
    assert_eq!(next(&store, None, Origin::Lab), 1);
    let error = store.next_seq(&RunId("none".into()), None, Origin::Lab).expect_err("no such run");
    assert!(matches!(error, StoreError::UnknownRun { .. }), "{error:?}");
}

#[test]
fn another_event_under_a_taken_number_is_refused_and_the_first_one_stands() {
    let folder = tempfile::tempdir().expect("folder");
    let mut store = store_with(&state(folder.path()), "r");
    assert!(store.append(&note("r", 0)).expect("new"));
    assert!(!store.append(&note("r", 0)).expect("passed over"));
    let mut other = note("r", 0);
    other.body = EventBody::Note { text: "else".into() };
    let error = store.append_all(&[note("r", 1), other]).expect_err("contradicts");
    assert!(matches!(error, StoreError::Contradiction { seq: 0, .. }), "{error:?}");
    assert_eq!(all(&store, "r"), [note("r", 0)], "a batch is recorded whole or not at all");
}

#[test]
fn an_event_that_could_not_be_read_again_is_refused() {
    let folder = tempfile::tempdir().expect("folder");
    let mut store = store_with(&state(folder.path()), "r");
    let ready = lab("r", 0, EventBody::Ready { after_s: f64::NAN, evidence: Vec::new() });
    let error = store.append(&ready).expect_err("not a number");
    assert!(matches!(&error, StoreError::Unwritable { kind, .. } if kind == "ready"), "{error:?}");
    assert_eq!(all(&store, "r"), []);
    let error = store.append(&note("unknown", 0)).expect_err("no such run");
    assert!(matches!(&error, StoreError::UnknownRun { name, .. } if name == "unknown"), "{error:?}");
}

#[test]
fn a_run_and_its_first_events_are_recorded_together_and_its_status_follows_the_events() {
    let folder = tempfile::tempdir().expect("folder");
    let mut store = Store::open(&state(folder.path())).expect("opens");
    let first = [lab("b", 0, EventBody::RunResumed), note("unknown", 0)];
    store.create_run(&run("b", "/x/b.toml"), &first).expect_err("the second event is of no run");
    assert_eq!(store.latest().expect("reads"), None, "all or nothing");

    store.create_run(&run("b", "/x/b.toml"), &first[..1]).expect("created");
    let status = |store: &Store| store.run(&RunId("b".into())).expect("reads").expect("there").status;
    let ends = [
        (RunEnd::Interrupted, RunStatus::Interrupted),
        (RunEnd::Abandoned { why: String::new() }, RunStatus::Interrupted),
        (RunEnd::Gated { why: String::new() }, RunStatus::Gated),
        (RunEnd::Invalid { why: String::new() }, RunStatus::Invalid),
        (RunEnd::Broken { why: String::new() }, RunStatus::Broken),
        (RunEnd::Finished { why: String::new() }, RunStatus::Finished),
    ];
    for (seq, (end, wanted)) in (1..).step_by(2).zip(ends) {
        assert_eq!(status(&store), RunStatus::Running);
        store.append(&lab("b", seq, EventBody::RunEnded(end))).expect("ends");
        assert_eq!(status(&store), wanted);
        assert!(!store.append(&first[0]).expect("sent again"));
        assert_eq!(status(&store), wanted, "an event that is sent again changes nothing");
        store.append(&lab("b", seq + 1, EventBody::RunResumed)).expect("goes on");
    }
}

#[test]
fn runs_are_found_by_file_by_time_and_by_the_first_letters() {
    let folder = tempfile::tempdir().expect("folder");
    let mut store = Store::open(&state(folder.path())).expect("opens");
    for (id, file) in
        [("story-1", "/x/story.toml"), ("fixed-1", "/x/fixed.toml"), ("story-2", "/x/story.toml"), ("story-20", "/y/story.toml")]
    {
        store.create_run(&run(id, file), &[]).expect("created");
    }
    let ids = |runs: Vec<bystander_store::RunRecord>| runs.into_iter().map(|run| run.id.0).collect::<Vec<_>>();
    assert_eq!(ids(store.runs_for(Path::new("/x/story.toml")).expect("reads")), ["story-2", "story-1"]);
    assert_eq!(ids(store.runs_for(Path::new("/x/none.toml")).expect("reads")), [""; 0]);
    assert_eq!(ids(store.runs().expect("reads")), ["story-20", "story-2", "fixed-1", "story-1"]);
    assert_eq!(store.latest().expect("reads"), Some(run("story-20", "/y/story.toml")));
    assert_eq!(store.find("fix").expect("one").id.0, "fixed-1");
    assert_eq!(store.find("story-2").expect("a whole id wins over a longer one").id.0, "story-2");
    let error = store.find("story").expect_err("three");
    assert_eq!(error.to_string(), "tell which run \"story\" is: story-20, story-2, story-1 begin so");
    let error = store.find("sto%").expect_err("letters, no pattern");
    assert!(matches!(error, StoreError::UnknownRun { .. }), "{error:?}");
}

#[test]
fn two_writers_and_a_reader_do_not_harm_each_other() {
    let folder = tempfile::tempdir().expect("folder");
    let state = state(folder.path());
    store_with(&state, "a");
    store_with(&state, "b");
    std::thread::scope(|scope| {
        // Two write to runs of their own, and two send the same events of one run.
        for id in ["a", "b", "a", "b"] {
            let state = &state;
            scope.spawn(move || {
                let mut store = Store::open(state).expect("opens");
                for seq in 0..80 {
                    store.append(&note(id, seq)).expect("appends");
                }
            });
        }
        let mut store = Store::open(&state).expect("opens");
        let mut seen = 0;
        while seen < 80 {
            let events = all(&store, "a");
            assert!(events.len() >= seen, "nothing gets lost again");
            seen = events.len();
            store.create_run(&run(&format!("c{seen}"), "/x/c.toml"), &[]).expect("a reader may write too");
        }
    });
    let store = Store::open(&state).expect("opens");
    for id in ["a", "b"] {
        assert_eq!(all(&store, id), (0..80).map(|seq| note(id, seq)).collect::<Vec<_>>());
    }
}
