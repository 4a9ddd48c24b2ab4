//! Whatever the events: appended twice is appended once, and what is read is what was appended.

use bystander_model::event::{Event, EventBody, Origin};
use bystander_model::evidence::{Evidence, Stream};
use bystander_model::hit::Hit;
use bystander_model::ids::{RunId, TimeNs, TrialId};
use bystander_model::value::{ObjectValue, Value};
use indexmap::IndexMap;
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::test_runner::{Config, TestRunner};

use crate::fixture::{all, state, store_with};

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        any::<f64>().prop_filter("finite", |x| x.is_finite()).prop_map(Value::Float),
        any::<String>().prop_map(Value::Text),
        (any::<String>(), vec(any::<i64>(), 0..3)).prop_map(|(dtype, shape)| {
            Value::Object(Box::new(ObjectValue { dtype: Some(dtype), shape: Some(shape), ..ObjectValue::default() }))
        }),
    ]
}

fn body() -> impl Strategy<Value = EventBody> {
    let hit =
        (any::<u32>(), any::<u64>(), any::<String>(), vec((any::<String>(), value()), 0..4)).prop_map(|(pid, time_ns, file, values)| {
            let values: IndexMap<String, Value> = values.into_iter().collect();
            let (probe, function) = ("kv-budget".to_owned(), "f".to_owned());
            EventBody::Hit(Hit { probe, pid, tid: time_ns, rank: None, seq: 0, time_ns, file, line: 1, function, values })
        });
    let ready = (any::<f64>(), any::<String>())
        .prop_filter("finite", |(after, _)| after.is_finite())
        .prop_map(|(after_s, text)| EventBody::Ready { after_s, evidence: vec![Evidence::log(TrialId(1), Stream::Stderr, 4, text)] });
    prop_oneof![any::<String>().prop_map(|text| EventBody::Note { text }), hit, ready, Just(EventBody::RunResumed)]
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let place = (0_u32..4, any::<bool>(), 0_u64..(1 << 62));
    let event = (place, 0_u64..(1 << 62), body()).prop_map(|((trial, lab, seq), time, body)| Event {
        run: RunId("r".into()),
        trial: (trial > 0).then_some(TrialId(trial)),
        origin: if lab { Origin::Lab } else { Origin::Host },
        seq,
        time: TimeNs(time),
        body,
    });
    vec(event, 0..20).prop_map(|mut events| {
        let mut seen = std::collections::HashSet::new();
        events.retain(|event| seen.insert((event.trial, event.origin, event.seq)));
        events
    })
}

#[test]
fn appended_twice_is_appended_once_and_reads_as_it_was() {
    let mut runner = TestRunner::new(Config { cases: 32, failure_persistence: None, ..Config::default() });
    let result = runner.run(&(events(), any::<bool>()), |(events, one_by_one)| {
        let folder = tempfile::tempdir().expect("folder");
        let mut store = store_with(&state(folder.path()), "r");
        assert_eq!(store.append_all(&events).expect("appends"), events.len());
        let once = all(&store, "r");
        assert_eq!(once, events);
        // What was read is sent again, too: reading must not change a digit.
        for sent in [&events, &once] {
            if one_by_one {
                assert!(sent.iter().all(|event| !store.append(event).expect("appends again")));
            } else {
                assert_eq!(store.append_all(sent).expect("appends again"), 0);
            }
        }
        assert_eq!(all(&store, "r"), events);
        Ok(())
    });
    result.expect("holds for all");
}
