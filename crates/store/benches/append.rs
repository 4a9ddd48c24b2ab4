//! How many events a second reach the record: one commit each, and one commit for many.
#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

use bystander_model::event::{Event, EventBody, Origin};
use bystander_model::hit::Hit;
use bystander_model::ids::{RunId, TimeNs, TrialId};
use bystander_model::value::Value;
use bystander_store::{RunRecord, RunStatus, StateDir, Store};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const BATCH: u64 = 1000;

fn hit(seq: u64) -> Event {
    let names = ["available_gpu_memory", "total_gpu_memory", "self.mem_fraction_static", "rest_memory"];
    let values = names.iter().map(|name| ((*name).to_owned(), Value::Float(-20.603))).collect();
    let body = EventBody::Hit(Hit {
        probe: "kv-budget".into(),
        pid: 812,
        tid: 812,
        rank: Some(3),
        seq,
        time_ns: 1_795_000_000_000_000_000,
        file: "/srv/engine/sizing.py".into(),
        line: 42,
        function: "profile_max_num_token".into(),
        values,
    });
    Event { run: RunId("bench".into()), trial: Some(TrialId(1)), origin: Origin::Host, seq, time: TimeNs(seq), body }
}

fn append(criterion: &mut Criterion) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("folder");
    let state = StateDir::open(&folder.path().join(".bystander")).expect("state");
    let mut store = Store::open(&state).expect("store");
    let run = RunRecord {
        id: RunId("bench".into()),
        file: "bench.toml".into(),
        spec_sha256: String::new(),
        created: TimeNs(0),
        status: RunStatus::Running,
    };
    store.create_run(&run, &[]).expect("run");
    let mut seq = 0;
    let mut group = criterion.benchmark_group("append");
    group.measurement_time(Duration::from_secs(5)).sample_size(20);
    for size in [1, BATCH] {
        group.throughput(Throughput::Elements(size));
        group.bench_function(format!("{size} a commit"), |bencher| {
            bencher.iter_custom(|rounds| {
                let mut spent = Duration::ZERO;
                for _ in 0..rounds {
                    let events: Vec<Event> = (seq..seq + size).map(hit).collect();
                    seq += size;
                    let start = Instant::now();
                    store.append_all(&events).expect("appends");
                    spent += start.elapsed();
                }
                spent
            });
        });
    }
    group.finish();
}

criterion_group!(benches, append);
criterion_main!(benches);
