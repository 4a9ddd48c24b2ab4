//! A thousand launches and a million hits: the state of a run is the size of its launches, and neither its steps nor its report take long.

use std::time::{Duration, Instant};

use bystander_lab::conduct;
use bystander_lab::ledger::Ledger;
use bystander_lab::plan::{Blocks, Stop};
use bystander_model::event::{Event, EventBody, Origin};
use bystander_model::hit::Hit;
use bystander_model::ids::RunId;
use indexmap::IndexMap;

use crate::scripted::{Ends, Kept, Scripted, create, plan, summary_of};

const LAUNCHES: usize = 1000;
const HITS_A_LAUNCH: u64 = 1000;
/// A million hits that were all kept would take more than three times as much.
const MOST_KIB: u64 = 128 << 10;
/// Ten times what it takes without optimisation on a busy machine.
const MOST: Duration = Duration::from_secs(60);

fn hits(of: &Event) -> impl Iterator<Item = Event> + use<> {
    let of = of.clone();
    let count = if matches!(of.body, EventBody::TrialStarted { .. }) { HITS_A_LAUNCH } else { 0 };
    (0..count).map(move |seq| {
        let hit = Hit {
            probe: "kv-budget".into(),
            pid: 1000 + u32::try_from(seq % 4).unwrap_or(0),
            tid: 1,
            rank: None,
            seq: seq / 4,
            time_ns: seq,
            file: "/venv/lib/python3.12/site-packages/engine/worker/model_runner.py".into(),
            line: 120,
            function: "ModelRunner.profile_max_num_token".into(),
            values: IndexMap::new(),
        };
        Event { origin: Origin::Host, seq: 1_000_000 + seq, body: EventBody::Hit(hit), ..of.clone() }
    })
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("this process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.split_whitespace().next().and_then(|kib| kib.parse().ok()).expect("a number")
}

#[test]
fn a_thousand_launches_and_a_million_hits_are_folded_in_little_memory_and_reported_soon() {
    let mut plan = plan(&["a", "b"], &[]);
    plan.blocks = Blocks { min: 500, max: 500 };
    (plan.stop, plan.describe) = (Stop::All, true);
    let place = Scripted::new(|_, count| Ends::Measures(f64::from(count % 7)));
    let mut sink = Kept::default();
    let started = Instant::now();
    let mut ledger = create(&plan, &mut sink).expect("recorded");
    conduct::conduct(&mut ledger, &place, &mut sink).expect("recorded");
    assert_eq!(ledger.trials.len(), LAUNCHES);
    assert!(started.elapsed() < MOST, "the steps took {:?}", started.elapsed());

    let before = resident_kib();
    let started = Instant::now();
    let events = sink.events.iter().flat_map(|event| std::iter::once(event.clone()).chain(hits(event)));
    let folded = Ledger::replay(&RunId("r".into()), events).expect("the record is whole");
    let grown = resident_kib().saturating_sub(before);
    assert!(started.elapsed() < MOST, "the fold took {:?}", started.elapsed());
    assert!(grown < MOST_KIB, "{grown} KiB");
    let counted: u64 = folded.trials.values().flat_map(|trial| trial.hits.values()).map(|(_, count)| count).sum();
    assert_eq!(counted, LAUNCHES as u64 * HITS_A_LAUNCH);

    let started = Instant::now();
    let report = summary_of(&folded);
    assert!(started.elapsed() < MOST, "the report took {:?}", started.elapsed());
    assert_eq!((report.trials.len(), report.answers.is_empty()), (LAUNCHES, false));
}
