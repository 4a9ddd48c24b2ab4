//! A watched command: rows that stand in columns from the first one, the summary's sentences, and a reason wherever there is no hit.

use bystander_model::event::EventBody;
use bystander_model::hit::{Hit, Receipt, ReceiptState};
use bystander_model::ids::{RunId, TimeNs};
use bystander_model::probe::{Delivery, syntax};
use bystander_model::value::Value;
use bystander_model::watch::{HitBatch, WatchEnd, WatchEvent, WatchProbe, WatchStart, WatchStatus, WatchSummary};
use bystander_report::{HitRows, Style, Watched, hit_json, summary_json, watch_places, watch_text};
use indexmap::IndexMap;

const START: u64 = 1_795_000_000_000_000_000;

fn probe(text: &str, placed: &str) -> WatchProbe {
    WatchProbe {
        spec: syntax::parse(text).expect(text).probe,
        placed: placed.into(),
        file: "/srv/engine/sizing.py".into(),
        function: "profile".into(),
        delivery: Delivery::Overlay,
        limits: None,
    }
}

fn hit(probe: &str, pid: u32, rank: Option<u32>, after_ns: u64, values: &[(&str, Value)]) -> Hit {
    Hit {
        probe: probe.into(),
        pid,
        tid: u64::from(pid),
        rank,
        seq: 0,
        time_ns: START + after_ns,
        file: "/srv/engine/sizing.py".into(),
        line: 33,
        function: "profile".into(),
        values: values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect::<IndexMap<_, _>>(),
    }
}

fn receipt(probe: &str, pid: u32, rank: Option<u32>, state: ReceiptState, hits: Option<u64>) -> Receipt {
    Receipt {
        pid,
        rank,
        probe: probe.into(),
        state,
        passes: hits,
        throttled: None,
        hits,
        dropped: hits.map(|_| 0),
        detail: None,
        python: Some("3.11.7".into()),
        recorder: hits.map(|_| "native".to_owned()),
        cost_ns: hits.map(|_| 150),
        adds_switch_point: false,
    }
}

/// A command that was watched: its hits, what its processes say, and how it ended.
struct Course {
    probes: Vec<WatchProbe>,
    hits: Vec<Hit>,
    receipts: Vec<Receipt>,
    end: Option<WatchEnd>,
}

impl Course {
    fn of(probe: WatchProbe) -> Self {
        let end = WatchEnd { exit: Some(0), signal: None, interrupted: false, why: None, wall_s: 2.0, left: None, trouble: None };
        Self { probes: vec![probe], hits: Vec::new(), receipts: Vec::new(), end: Some(end) }
    }

    fn watched(&self) -> Watched {
        let mut watched = Watched::default();
        let start = WatchStart {
            command: ["python3", "-m", "engine"].map(str::to_owned).to_vec(),
            cwd: "/srv".into(),
            probes: self.probes.clone(),
            python: Some("3.11.7".into()),
            version: "0".into(),
            notes: Vec::new(),
        };
        let mut take = |event| watched.take(TimeNs(START), &EventBody::Watch(event));
        take(WatchEvent::Started(start));
        take(WatchEvent::Launched { pid: 7 });
        self.hits.chunks(3).for_each(|hits| take(WatchEvent::Hits(HitBatch::new(hits))));
        for receipt in &self.receipts {
            watched.take(TimeNs(START), &EventBody::Receipt(receipt.clone()));
        }
        if let Some(end) = &self.end {
            watched.take(TimeNs(START), &EventBody::Watch(WatchEvent::Ended(end.clone())));
        }
        watched
    }

    fn summary(&self) -> WatchSummary {
        self.watched().summary(&RunId("watch-1".into()), false)
    }

    fn silent(mut self, states: &[(ReceiptState, Option<&str>)]) -> String {
        for (pid, (state, detail)) in (1..).zip(states) {
            let hits = (!matches!(state, ReceiptState::Uncovered)).then_some(0);
            self.receipts.push(Receipt { detail: detail.map(str::to_owned), ..receipt("p1", pid, None, *state, hits) });
        }
        let summary = self.summary();
        assert_eq!(summary.hits, 0);
        summary.probes[0].silent.clone().expect("no hit has a reason")
    }
}

fn story() -> Course {
    let mut course = Course::of(probe("engine.sizing:profile after \"rest = ...\" {total, rest} as kv", "after `rest = …` at 33"));
    course.hits = (0..8)
        .map(|rank| hit("kv", 100 + rank, Some(rank), 1_500_000, &[("total", Value::Float(93.999)), ("rest", Value::Float(-20.602_55))]))
        .collect();
    course.receipts = (0..8).map(|rank| receipt("kv", 100 + rank, Some(rank), ReceiptState::Armed, Some(1))).collect();
    course.receipts.push(receipt("kv", 99, None, ReceiptState::NotImported, Some(0)));
    course.end = course.end.map(|end| WatchEnd { exit: Some(1), ..end });
    course
}

#[test]
fn rows_stand_in_columns_that_the_first_one_knows() {
    let rows = HitRows::new(TimeNs(START), ["kv", "longer-name"], Style::default());
    let mut text = rows.header();
    rows.row(
        &hit("kv", 4_194_304, None, 1_500_000, &[("rest", Value::Float(-20.602_55)), ("name", Value::Text("a\nb".into()))]),
        &mut text,
    );
    rows.row(&hit("longer-name", 9, Some(3), 86_400_000_000_000, &[]), &mut text);
    rows.row(&hit("kv\x1b[31m", 9, Some(3), 0, &[("x\n", Value::Null)]), &mut text);
    insta::assert_snapshot!(text, @r#"
         seconds  process      probe        values
        0.001500  pid 4194304  kv           rest=-20.60255  name="a\nb"
    86400.000000  rank 3       longer-name
        0.000000  rank 3       kv\u{1b}[31m  x=None
    "#);
    assert!(!text.contains('\x1b'), "nothing that a program captured moves the cursor");
}

#[test]
fn what_was_stopped_says_by_whom() {
    let mut course = story();
    let first = |course: &Course| watch_text(&course.summary(), &Style::default(), "").split_whitespace().collect::<Vec<_>>().join(" ");
    course.end = course.end.map(|end| WatchEnd { interrupted: true, exit: None, signal: Some(2), ..end });
    assert!(first(&course).starts_with("`python3 -m engine` was stopped by you (signal 2 (SIGINT)) after 2 s:"), "{}", first(&course));
    course.end = course.end.map(|end| WatchEnd { why: Some("its lease of 10 s was over".into()), ..end });
    let said = first(&course);
    assert!(said.starts_with("`python3 -m engine` was stopped after 2 s (signal 2 (SIGINT)): its lease of 10 s was over"), "{said}");
}

#[test]
fn ranks_that_say_the_same_are_one_line_and_the_answer_comes_first() {
    insta::assert_snapshot!(watch_text(&story().summary(), &Style { width: 100, ..Style::default() }, "bystander show watch-1"), @r#"
    `python3 -m engine` ended with exit 1 after 2 s: 8 hits.

    kv  engine.sizing:profile after "rest = ..." {total, rest}
      8 hits, none dropped.
        ranks 0–7: 1 hit each
        pid 99: no module was loaded from the file
      recorded by the native recorder: 150 ns a hit, 1.2 µs in all, less than 0.01 % of the time of the
      busiest process.
    recorded: bystander show watch-1
    "#);
}

#[test]
fn what_was_not_recorded_is_said_with_its_reason() {
    let mut course = Course::of(probe("a.py:3 {x} if x < 0 limit 100, 10/s", "before line 3 (for)"));
    course.hits = (0..100).map(|n| hit("", 5, None, n, &[("x", Value::Int(1))])).collect();
    let expired = Receipt {
        passes: Some(9000),
        throttled: Some(7000),
        dropped: Some(900),
        adds_switch_point: true,
        ..receipt("", 5, None, ReceiptState::Expired, Some(1000))
    };
    let full = Receipt { dropped: Some(4), recorder: Some("python".into()), ..receipt("", 6, None, ReceiptState::Armed, Some(10)) };
    course.receipts = vec![expired, full];
    let text = watch_text(&course.summary(), &Style { width: 110, ..Style::default() }, "");
    for said in [
        "1010 hits of 9010 passes, 7000 turned away by the rate, 900 past the limit of their process, counted and not recorded, 4 DROPPED: a ring was full.",
        "pid 5: 1000 hits of 9000 passes, 7000 throttled, 900 not recorded, expired: its limit is reached",
        "pid 6: 10 hits, 4 not recorded",
        "recorded by the native recorder and plain Python: 150 ns a hit",
        "adds a thread-switch point",
    ] {
        let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(folded.contains(said), "{said:?} is missing in:\n{text}");
    }
}

const UNSEEN: &str = "a Python shorter than the sampling interval that no covered one started may be missing";

#[test]
fn each_way_to_no_hit_has_a_sentence_of_its_own() {
    let course = |text: &str| {
        Course::of(WatchProbe { spec: syntax::parse(text).expect(text).probe, ..probe("a.py:3 as p1", "before line 3 (for)") })
    };
    let silent = |states: &[(ReceiptState, Option<&str>)]| course("a.py:3 as p1").silent(states);
    assert!(silent(&[]).starts_with("uncovered: no Python process"));
    let cases: [(ReceiptState, Option<&str>, &str); 7] = [
        (ReceiptState::NotImported, None, "not imported: 1 process ran, and no module was loaded from the file"),
        (ReceiptState::NotReached, None, "not reached: in place in 1 process, control never came there"),
        (ReceiptState::Refused, Some("the file changed"), "refused in 1 process (the file changed)"),
        (ReceiptState::CompiledAway, Some("torch.compile"), "compiled away in 1 process (torch.compile)"),
        (ReceiptState::Uncovered, None, "uncovered: 1 process out of the probes' reach"),
        (ReceiptState::Paused, None, "paused: over its budget in 1 process"),
        (ReceiptState::Expired, None, "expired in 1 process"),
    ];
    for (state, detail, said) in cases {
        assert_eq!(silent(&[(state, detail)]), format!("{said}; {UNSEEN}"));
    }
    let both = silent(&[(ReceiptState::NotImported, None), (ReceiptState::NotReached, None), (ReceiptState::NotImported, None)]);
    let said = "not reached: in place in 1 process, control never came there; not imported: 2 processes ran, and no module was loaded from the file";
    assert_eq!(both, format!("{said}; {UNSEEN}"));
    let partly = silent(&[(ReceiptState::NotReached, None), (ReceiptState::Uncovered, Some("python3 -I x.py: -I hides the environment"))]);
    let said = "not reached where it is known: in place in 1 process, control never came there; \
                uncovered: 1 process out of the probes' reach (python3 -I x.py: -I hides the environment)";
    assert_eq!(partly, format!("{said}; {UNSEEN}"));
    let mut conditional = course("a.py:3 if x < 0 as p1");
    conditional.receipts = vec![Receipt { passes: Some(12), ..receipt("p1", 1, None, ReceiptState::Armed, Some(0)) }];
    let said = format!("no pass met its condition: in place in 1 process, passed 12 times; {UNSEEN}");
    assert_eq!(conditional.summary().probes[0].silent.as_ref(), Some(&said));
}

#[test]
fn without_an_end_it_runs_or_was_killed() {
    let mut course = story();
    course.end = None;
    course.receipts.clear();
    let watched = course.watched();
    let status = |alive| watched.summary(&RunId("watch-1".into()), alive);
    assert_eq!((status(true).status, status(false).status), (WatchStatus::Running, WatchStatus::Killed));
    let killed = status(false);
    assert_eq!((killed.hits, killed.probes[0].hits, killed.probes[0].recorded, killed.probes[0].dropped), (8, None, 8, None));
    let text = watch_text(&killed, &Style::default(), "");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("nobody recorded its end: Bystander was killed while it watched, or could not write: 8 hits")
            && text.contains("what was dropped is not known"),
        "{text}"
    );
}

#[test]
fn a_line_is_one_object_and_the_contract_is_kept() {
    let mut line = Vec::new();
    let mut seen = hit("kv", 5, None, 3, &[("rest", Value::Float(-20.602_55))]);
    seen.function = "a\nb".into();
    hit_json(&seen, &mut line);
    hit_json(&seen, &mut line);
    let text = String::from_utf8(line).expect("UTF-8");
    assert_eq!(text.lines().count(), 2);
    for line in text.lines() {
        let value: serde_json::Value = serde_json::from_str(line).expect("one object");
        assert_eq!((&value["hit"]["values"]["rest"], &value["hit"]["rank"]), (&serde_json::json!(-20.602_55), &serde_json::Value::Null));
        for field in ["probe", "pid", "tid", "rank", "seq", "time_ns", "file", "line", "function", "values"] {
            assert!(value["hit"].get(field).is_some(), "{field}");
        }
    }
    let summary: serde_json::Value = serde_json::from_slice(&summary_json(&story().summary())).expect("one object");
    let summary = &summary["summary"];
    assert_eq!((&summary["exit"], &summary["signal"]), (&serde_json::json!(1), &serde_json::Value::Null));
    let probe = &summary["probes"][0];
    assert_eq!((&probe["probe"], &probe["hits"], &probe["dropped"], &probe["cost_ns"]), (&"kv".into(), &8.into(), &0.into(), &150.into()));
    assert_eq!(summary["receipts"].as_array().map(Vec::len), Some(9));
}

#[test]
fn where_probes_go_is_said_with_what_they_may_do() {
    let mut risky = probe("a.py:3 {len(x)} unsafe as risky", "before line 3 (for)");
    risky.limits = Some("overlay: children started with -S are not reached".into());
    let start = Course { probes: vec![risky], ..story() }.watched().start().expect("started").clone();
    insta::assert_snapshot!(watch_places(&start, &Style { width: 100, ..Style::default() }), @r"
    watching python3 -m engine (Python 3.11.7)
    risky    engine/sizing.py: before line 3 (for) in profile; UNSAFE: captures may run code of the
             program
             overlay: children started with -S are not reached
    ");
}
