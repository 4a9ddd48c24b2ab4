//! The native recorder against the plain Python path: the same hits, no lost update, nothing of a parent's in a child, no hit lost.

use std::time::{Duration, Instant};

use bystander_model::hit::{Hit, ReceiptState};
use bystander_probe::{CheckedProbe, Drain, ProbeSpec};

use crate::world::{Python, Run, World, on_each, probe};

const KINDS: &str = include_str!("native/kinds.py");
const EXPRESSIONS: &str = include_str!("native/expressions.py");
const COUNTER: &str = include_str!("native/counter.py");
const FORKS: &str = include_str!("native/forks.py");
const STORM: &str = include_str!("native/storm.py");
const WORLDS_APART: &str = include_str!("native/moments.py");
const FIRST_NATIVE: u32 = 10;

/// Runs a program twice, with the native recorder and without; the second world lacks the library.
fn both(python: &Python, files: &[(&str, &str)], specs: &[ProbeSpec], arguments: &[&str]) -> (Run, Run) {
    let world = World::new(python, files);
    let probes = world.checked(specs);
    let native = world.run(&probes, arguments);
    let plain = world.run_without_recorder(&probes, arguments);
    (native, plain)
}

fn recorders(run: &Run) -> Vec<Option<&str>> {
    run.receipts.iter().map(|receipt| receipt.recorder.as_deref()).collect()
}

fn shown(hits: &[Hit]) -> Vec<String> {
    hits.iter().map(|hit| format!("{} {}", hit.line, serde_json::to_string(&hit.values).expect("prints"))).collect()
}

fn assert_alike(python: &Python, native: &Run, plain: &Run) {
    assert!(native.output.status.success(), "3.{}: {}", python.minor, native.stderr());
    assert_eq!((native.stdout(), native.stderr()), (plain.stdout(), plain.stderr()), "3.{}", python.minor);
    let expected = if python.minor >= FIRST_NATIVE { "native" } else { "python" };
    assert!(recorders(native).iter().all(|recorder| *recorder == Some(expected)), "3.{}: {:?}", python.minor, native.receipts);
    assert!(recorders(plain).iter().all(|recorder| *recorder == Some("python")), "3.{}: {:?}", python.minor, plain.receipts);
    let (native_hits, plain_hits) = (shown(&native.hits), shown(&plain.hits));
    for (one, other) in native_hits.iter().zip(&plain_hits) {
        assert_eq!(one, other, "3.{}", python.minor);
    }
    assert_eq!(native_hits.len(), plain_hits.len(), "3.{}", python.minor);
    let counts = |run: &Run| run.receipts.iter().map(|one| (one.hits, one.passes, one.throttled, one.state)).collect::<Vec<_>>();
    assert_eq!(counts(native), counts(plain), "3.{}", python.minor);
}

#[test]
fn every_kind_of_value_arrives_as_from_plain_python() {
    on_each(|python| {
        let specs = [ProbeSpec { limit: Some(10_000), ..probe("kinds:show", Some("seen = ..."), &["value", "box", "number"]) }];
        let (native, plain) = both(python, &[("kinds.py", KINDS)], &specs, &["kinds.py"]);
        assert!(native.hits.len() > 80, "3.{}: {}", python.minor, native.hits.len());
        assert_alike(python, &native, &plain);
    });
}

/// Expressions of every form over the names of `expressions.py`, the same ones on every run.
fn expressions() -> Vec<String> {
    let atoms: Vec<&str> = EXPRESSIONS.lines().filter_map(|line| line.strip_prefix("# atom: ")).collect();
    assert!(atoms.len() > 60, "{}", atoms.len());
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = move |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % bound as u64).expect("is small")
    };
    let mut all: Vec<String> = atoms.iter().map(ToString::to_string).collect();
    let (signs, comparisons) = (["+", "-", "*", "/", "//", "%"], ["<", "<=", "==", "!=", ">", ">=", "is", "is not"]);
    for _ in 0..400 {
        let mut pick = || all[below(all.len())].clone();
        let (a, b, c) = (pick(), pick(), pick());
        let made = match below(6) {
            0 => format!("({a} {} {b})", signs[below(signs.len())]),
            1 => format!("({a} {} {b})", comparisons[below(comparisons.len())]),
            2 => format!("({a} {} {b} {} {c})", comparisons[below(comparisons.len())], comparisons[below(comparisons.len())]),
            3 => format!("({a} and {b} or {c})"),
            4 => format!("({a} or {b} and {c})"),
            _ => format!("({}{a})", ["not ", "-", "+"][below(3)]),
        };
        if made.len() < 300 {
            all.push(made);
        }
    }
    all
}

#[test]
fn every_expression_has_the_value_or_the_error_that_plain_python_gives() {
    let all = expressions();
    let specs: Vec<ProbeSpec> = all
        .chunks(25)
        .enumerate()
        .map(|(index, chunk)| {
            let captured: Vec<&str> = chunk.iter().map(String::as_str).collect();
            ProbeSpec { name: format!("p{index}"), ..probe("expressions:look", Some("done = ..."), &captured) }
        })
        .collect();
    on_each(|python| {
        let (native, plain) = both(python, &[("expressions.py", EXPRESSIONS)], &specs, &["expressions.py"]);
        assert_eq!(native.hits.len(), specs.len() * 4, "3.{}: {}", python.minor, native.stderr());
        assert_alike(python, &native, &plain);
    });
}

#[test]
fn moments_conditions_limits_and_rates_count_as_in_plain_python() {
    let named = |name: &str, at: &str, capture: &[&str]| ProbeSpec { name: name.into(), ..probe(at, None, capture) };
    let specs = [
        named("return", "moments:half@return", &["return", "number"]),
        named("raise", "moments:fail@raise", &["raise", "number"]),
        ProbeSpec { condition: Some("number % 3 == 0".into()), ..named("third", "moments:half", &["number"]) },
        ProbeSpec { condition: Some("number.nothing > 1".into()), ..named("never", "moments:half", &["number"]) },
        ProbeSpec { limit: Some(4), ..named("four", "moments:half", &["number"]) },
        ProbeSpec { limit: Some(2), condition: Some("number > 5".into()), ..named("two", "moments:half", &["number"]) },
        ProbeSpec { rate: Some("1/h".parse().expect("a rate")), ..named("slow", "moments:half", &["number"]) },
        ProbeSpec {
            rate: Some("1/h".parse().expect("a rate")),
            condition: Some("number == 7".into()),
            ..named("once", "moments:half", &["number"])
        },
        named("maybe", "moments:maybe@return", &["number", "found", "return"]),
        named("module", "moments.py:4", &["LIMIT", "__name__"]),
    ];
    on_each(|python| {
        let (native, plain) = both(python, &[("moments.py", WORLDS_APART)], &specs, &["moments.py"]);
        assert_alike(python, &native, &plain);
        assert_eq!(native.hits.iter().filter(|hit| hit.probe == "two").count(), 2, "3.{}", python.minor);
        let of = |name: &str| native.receipts.iter().find(|receipt| receipt.probe == name).expect("a receipt");
        assert_eq!((of("third").hits, of("third").passes), (Some(4), Some(10)), "3.{}", python.minor);
        assert_eq!((of("never").hits, of("never").passes), (Some(0), Some(10)), "3.{}", python.minor);
        assert!(of("never").detail.as_deref().is_some_and(|text| text.contains("could not be evaluated 10 times")), "{:?}", of("never"));
        assert_eq!(
            (of("four").hits, of("four").dropped, of("four").state),
            (Some(10), Some(6), ReceiptState::Expired),
            "3.{}",
            python.minor
        );
        assert_eq!((of("once").hits, of("once").throttled, of("once").dropped), (Some(1), Some(2), Some(0)), "3.{}", python.minor);
        assert_eq!((of("slow").throttled, of("slow").dropped), (Some(9), Some(0)), "3.{}", python.minor);
    });
}

#[test]
fn an_unlocked_counter_loses_nothing_that_it_would_not_lose_bare() {
    on_each(|python| {
        if python.minor < FIRST_NATIVE {
            return;
        }
        let world = World::new(python, &[("counter.py", COUNTER)]);
        let probes = world
            .checked(&[ProbeSpec { limit: Some(1 << 40), ..probe("counter:work", Some("seen = ..."), &["seen", "box.count", "turns"]) }]);
        let lost = |text: &str| text.trim().parse::<i64>().expect("a number");
        let bare = lost(&String::from_utf8(world.run_plain(&["counter.py"]).stdout).expect("text"));
        let run = world.run(&probes, &["counter.py"]);
        assert_eq!(recorders(&run), [Some("native")], "3.{}: {:?}", python.minor, run.receipts);
        assert_eq!(run.receipts[0].passes, Some(2_000_000), "3.{}", python.minor);
        assert!(!run.receipts[0].adds_switch_point);
        if bare == 0 {
            assert_eq!(lost(&run.stdout()), 0, "3.{}: updates were lost", python.minor);
        }
    });
}

#[test]
fn a_child_that_hits_before_it_is_armed_writes_nothing_into_its_parents_ring() {
    on_each(|python| {
        if python.minor < FIRST_NATIVE {
            return;
        }
        let world = World::new(python, &[("forks.py", FORKS)]);
        let run = world.run(&world.checked(&[probe("forks:step", Some("done = ..."), &["who", "number"])]), &["forks.py"]);
        assert!(run.output.status.success(), "3.{}: {}", python.minor, run.stderr());
        let mut seen: Vec<_> = run.hits.iter().map(|hit| serde_json::to_string(&hit.values).expect("prints")).collect();
        seen.sort();
        let expected = ["after", "child", "parent"].map(|who| format!(r#"{{"who":"{who}","number":1}}"#));
        assert_eq!(seen, expected, "3.{}", python.minor);
        let threads = run.hits.iter().filter(|hit| hit.tid == u64::from(hit.pid)).count();
        assert_eq!(threads, 3, "3.{}: the main thread's number is that of its process, in the child too", python.minor);
    });
}

#[test]
fn more_than_a_million_hits_of_eight_processes_arrive_whole() {
    let python = crate::world::pythons().iter().find(|python| python.minor >= FIRST_NATIVE).expect("a Python that the recorder serves");
    // Whole they are always; that none is dropped takes a machine on which the reader has its turn within a second.
    let kept = (0..3).find(|_| storm(python) == 0);
    assert!(kept.is_some(), "the rings were full in each of three storms");
}

/// Drains eight processes that make hits at a pace of 100,000 a second each; gives how many were dropped.
fn storm(python: &Python) -> u64 {
    const PROCESSES: usize = 8;
    /// More than a ring holds.
    const EACH: u64 = 150_000;
    let world = World::new(python, &[("storm.py", STORM)]);
    let probes = world.checked(&[ProbeSpec { limit: Some(1 << 40), ..probe("storm:step", Some("double = ..."), &["number", "double"]) }]);
    let overlay = world.overlay(&probes);
    let start = Instant::now();
    let count = EACH.to_string();
    let mut children: Vec<_> =
        (0..PROCESSES).map(|_| world.command(&["storm.py", &count], &overlay.env(None)).spawn().expect("starts")).collect();
    let mut drain = Drain::new(overlay.ring_dir(), &probes);
    let mut tally = Tally::default();
    while children.iter_mut().any(|child| child.try_wait().expect("waits").is_none()) {
        tally.add(&drain.poll().expect("drains"));
        assert!(start.elapsed() < Duration::from_secs(240), "the processes do not end");
    }
    let (rest, receipts) = drain.finish().expect("drains");
    tally.add(&rest);
    assert_eq!((tally.torn, receipts.len()), (0, PROCESSES));
    for receipt in &receipts {
        assert_eq!((receipt.passes, receipt.hits, receipt.recorder.as_deref()), (Some(EACH), Some(EACH), Some("native")));
        assert_eq!(tally.next[&receipt.pid] + receipt.dropped.expect("is known"), EACH);
    }
    receipts.iter().filter_map(|receipt| receipt.dropped).sum()
}

/// Counts hits by process: each must follow the one before, and its values must belong together.
#[derive(Default)]
struct Tally {
    next: std::collections::BTreeMap<u32, u64>,
    torn: usize,
}

impl Tally {
    fn add(&mut self, hits: &[Hit]) {
        for hit in hits {
            let next = self.next.entry(hit.pid).or_default();
            let (number, double) = (hit.values["number"].as_f64(), hit.values["double"].as_f64());
            // A hit that was dropped has no number, so what is between two that follow one another is known from the values alone.
            let whole = hit.seq == *next && number >= Some(*next as f64) && double == number.map(|number| number * 2.0);
            self.torn += usize::from(!whole);
            *next += 1;
        }
    }
}

#[test]
fn one_that_cannot_be_served_natively_says_so() {
    on_each(|python| {
        let world = World::new(python, &[("kinds.py", KINDS)]);
        let specs = [ProbeSpec { unsafe_capture: true, ..probe("kinds:show", Some("seen = ..."), &["len(str(number))"]) }];
        let run = world.run(&world.checked(&specs), &["kinds.py"]);
        assert_eq!(recorders(&run), [Some("python")], "3.{}", python.minor);
        assert!(run.receipts[0].adds_switch_point);
    });
}

#[test]
fn the_cost_of_a_hit_is_measured_and_is_plausible() {
    on_each(|python| {
        let world = World::new(python, &[("kinds.py", KINDS)]);
        let probes: Vec<CheckedProbe> = world.checked(&[probe("kinds:show", Some("seen = ..."), &["number", "box.number"])]);
        let run = world.run(&probes, &["kinds.py"]);
        let cost = run.receipts[0].cost_ns;
        assert!(cost.is_some_and(|cost| (5..1_000_000).contains(&cost)), "3.{}: {cost:?}", python.minor);
        // Trying it counts nowhere.
        let hits = run.hits.len() as u64;
        assert_eq!((run.receipts[0].hits, run.receipts[0].dropped), (Some(hits), Some(0)), "3.{}", python.minor);
        let dear = ProbeSpec { unsafe_capture: true, ..probe("kinds:show", Some("seen = ..."), &["str(number)"]) };
        let run = world.run(&world.checked(&[dear]), &["kinds.py"]);
        assert_eq!(run.receipts[0].cost_ns, None, "3.{}: an unsafe capture has no price before", python.minor);
    });
}
