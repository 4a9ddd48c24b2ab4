//! What a probe costs, in CPU time: a recorded hit with five locals, a hit over the limit, and code that nothing probes.
//!
//! Each sample is one run of `python/bench/cost.py` in a process of its own, on every Python that is found.

use std::time::Duration;

use bystander_probe::{CheckedProbe, ProbeSpec};
use criterion::{Criterion, criterion_group, criterion_main};

#[path = "../tests/it/world.rs"]
#[expect(dead_code, reason = "shared with the tests, which use all of it")]
mod world;

use world::{World, probe, pythons};

const COST: &str = include_str!("../python/bench/cost.py");
const TARGET: &str = include_str!("../python/bench/target.py");
const BATCHES: &str = "30";

/// The numbers of `cost.py`, by their place in its line of output.
#[derive(Clone, Copy)]
enum Figure {
    Hit = 0,
    FullRing = 1,
    Unprobed = 2,
}

fn measure(world: &World, probes: &[CheckedProbe], figure: Figure) -> f64 {
    let stdout = if probes.is_empty() {
        world.run_plain(&["cost.py", BATCHES]).stdout
    } else {
        world.run(probes, &["cost.py", BATCHES]).output.stdout
    };
    let text = String::from_utf8(stdout).expect("is text");
    text.split_whitespace().nth(figure as usize).and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("no figure in {text:?}"))
}

fn hits(c: &mut Criterion) {
    let mut group = c.benchmark_group("probe");
    group.sample_size(10).warm_up_time(Duration::from_millis(50));
    for python in pythons() {
        let world = World::new(python, &[("cost.py", COST), ("target.py", TARGET)]);
        let place = |limit| ProbeSpec { limit: Some(limit), ..probe("target:work", Some("e = ..."), &["a", "b", "c", "d", "e"]) };
        let (recording, rejecting) = (world.checked(&[place(1 << 40)]), world.checked(&[place(0)]));
        let cases: [(&str, &[CheckedProbe], Figure); 5] = [
            ("recorded hit, five locals", &recording, Figure::Hit),
            ("hit that finds the ring full", &recording, Figure::FullRing),
            ("hit over the limit", &rejecting, Figure::Hit),
            ("unprobed recursion, with the overlay", &recording, Figure::Unprobed),
            ("unprobed recursion, without", &[], Figure::Unprobed),
        ];
        for (name, probes, figure) in cases {
            group.bench_function(format!("{name}/3.{}", python.minor), |bencher| {
                bencher.iter_custom(|count| Duration::from_nanos(measure(&world, probes, figure).max(1.0) as u64).mul_f64(count as f64));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, hits);
criterion_main!(benches);
