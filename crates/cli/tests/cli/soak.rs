//! A thousand launches in one run: what the command holds must not be the number of its launches.

use std::fs;
use std::time::{Duration, Instant};

use bystander_testkit::{Running, until};

use crate::world::{LIMIT, assert_nothing_left, run, trials, world};

/// Two cells in five hundred blocks.
const EXPERIMENT: &str = "[program]\ncommand = ['true']\n[factors.level]\none = { env = { LEVEL = '1' } }\ntwo = { env = { LEVEL = '2' } }\n\
                          [plan]\nbaseline = { level = 'one' }\nblocks = 500\ndescribe = true\nstop = 'all'\n";
const LAUNCHES: usize = 1000;
/// A launch may add so much to the memory of the command: where it stands in the plan, how it ended, and what it was launched with beside the others, which
/// decisions and the report are made from. That is some 2.5 KiB; what else grows with the number of launches has no room in the rest.
const MOST_KIB_A_LAUNCH: u64 = 4;
/// Output, keeper, record, and the like of the launch that goes on.
const MOST_DESCRIPTORS: usize = 48;
const MOST_THREADS: u64 = 16;

/// One look at the process.
#[derive(Debug, Clone, Copy)]
struct Look {
    launches: usize,
    at: Instant,
    /// Memory of its own; what it maps of files comes and goes with what is read.
    own_kib: u64,
    descriptors: usize,
    threads: u64,
    children: usize,
}

fn look(running: &Running) -> Option<Look> {
    let pid = running.pid();
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let value = |name: &str| status.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok();
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?.split_whitespace().count();
    let launches = running.stderr().lines().filter(|line| line.starts_with("block ")).count();
    Some(Look { launches, at: Instant::now(), own_kib: value("RssAnon:")?, descriptors, threads: value("Threads:")?, children })
}

#[test]
#[ignore = "a thousand launches take about a minute; run by `just test-all`"]
fn a_thousand_launches_leak_no_memory_no_descriptor_and_no_process() {
    let world = world();
    let file = world.write("case/case.toml", EXPERIMENT);
    let mut running = run(&world, &file).start();
    let mut looks: Vec<Look> = Vec::new();
    until("a thousand launches", LIMIT * 4, || {
        // One look for every ten launches is enough, and disturbs little.
        if let Some(now) = look(&running).filter(|now| looks.last().is_none_or(|last| now.launches >= last.launches + 10)) {
            looks.push(now);
        }
        running.has_ended()
    });
    let report = running.wait().exits(2).json();
    assert_eq!(trials(&report).len(), LAUNCHES);
    assert!(trials(&report).iter().all(|trial| trial["outcome"] == "completed"));
    assert_nothing_left(&world);

    let at = |launches: usize| *looks.iter().find(|look| look.launches >= launches).expect("a look");
    let (early, late) = (at(100), at(LAUNCHES - 50));
    let grown = late.own_kib.saturating_sub(early.own_kib);
    let launches = (late.launches - early.launches) as u64;
    assert!(grown < MOST_KIB_A_LAUNCH * launches, "{grown} KiB in {launches} launches");
    for look in &looks {
        assert!(look.descriptors < MOST_DESCRIPTORS && look.threads < MOST_THREADS && look.children <= 2, "{look:?}");
    }
    let took = |from: usize, to: usize| at(to).at.duration_since(at(from).at) / u32::try_from(to - from).unwrap_or(1);
    let (first, last) = (took(50, 350), took(650, 950));
    // A machine that does other things makes some launches slow; what grows with their number makes the last third many times as slow.
    assert!(last < first * 3 + Duration::from_millis(20), "a launch took {first:?} at first, {last:?} at last");
}
