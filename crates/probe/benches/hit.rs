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

/// What serves a probe.
#[derive(Clone, Copy)]
enum Served {
    Bare,
    Natively,
    ByPython,
}

fn measure(world: &World, probes: &[CheckedProbe], served: Served, figure: Figure) -> f64 {
    let arguments = ["cost.py", BATCHES];
    let stdout = match served {
        Served::Bare => world.run_plain(&arguments).stdout,
        Served::Natively => world.run(probes, &arguments).output.stdout,
        Served::ByPython => world.run_without_recorder(probes, &arguments).output.stdout,
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
        let cases: [(&str, &[CheckedProbe], Served, Figure); 7] = [
            ("recorded hit, five locals", &recording, Served::Natively, Figure::Hit),
            ("recorded hit, five locals, plain Python", &recording, Served::ByPython, Figure::Hit),
            ("hit that finds the ring full", &recording, Served::Natively, Figure::FullRing),
            ("hit over the limit", &rejecting, Served::Natively, Figure::Hit),
            ("hit over the limit, plain Python", &rejecting, Served::ByPython, Figure::Hit),
            ("unprobed recursion, with the overlay", &recording, Served::Natively, Figure::Unprobed),
            ("unprobed recursion, without", &[], Served::Bare, Figure::Unprobed),
        ];
        for (name, probes, served, figure) in cases {
            group.bench_function(format!("{name}/3.{}", python.minor), |bencher| {
                bencher.iter_custom(|count| {
                    Duration::from_nanos(measure(&world, probes, served, figure).max(1.0) as u64).mul_f64(count as f64)
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, hits);
criterion_main!(benches);
