//! False positives of the whole road: runs in which nothing has an effect, from the loop to the words of the answer.

use std::sync::Mutex;

use bystander_lab::conduct;
use bystander_lab::contrast::{self, INSTRUMENT_ALPHA, Subject};
use bystander_lab::plan::{Blocks, Plan, Scale, Stop};
use bystander_lab::stats::evalue::{MOST_ENUMERATED, worst_case};
use bystander_lab::stats::peeking;
use bystander_lab::verdict;
use bystander_model::cell::Cell;
use bystander_model::report::{Answer, Strength, Verdict};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::scripted::{Ends, Kept, Scripted, answer, create, plan, run};

const RUNS: u32 = 2000;
/// Of 2,000 runs 100 are expected at 0.05; 123 is the 99th percentile.
const MOST: u32 = 123;

/// One comparison of a metric, in `blocks` blocks.
fn compared(scale: Scale, blocks: u32, instruments: &[&str]) -> Plan {
    let mut plan =
        Plan { blocks: Blocks { min: blocks, max: blocks }, primary: "tokens".into(), stop: Stop::All, ..plan(&["a", "b"], instruments) };
    let tokens = &mut plan.metrics["tokens"];
    (tokens.scale, tokens.margin) = (scale, None);
    plan
}

/// A sum of twelve uniform values, which is close to normal with a standard deviation of 1.
fn normal(random: &mut ChaCha8Rng) -> f64 {
    (0..12).map(|_| f64::from(random.next_u32()) / f64::from(u32::MAX)).sum::<f64>() - 6.0
}

/// How many of the runs answer that the level has an effect; `at` gives a launch its value from the stream and its number in the run.
fn effects(plan: &Plan, seed: u64, at: impl Fn(&mut ChaCha8Rng, u32) -> f64 + Send + Sync + Copy + 'static) -> u32 {
    answers(plan, seed, |answer| answer.verdict == Verdict::Effect, move |random, launch, _| at(random, launch))
}

/// How many of the runs answer as `is` says.
fn answers(
    plan: &Plan,
    seed: u64,
    is: impl Fn(&Answer) -> bool,
    at: impl Fn(&mut ChaCha8Rng, u32, &Cell) -> f64 + Send + Sync + Copy + 'static,
) -> u32 {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut found = 0;
    for number in 0..RUNS {
        let stream = Mutex::new((ChaCha8Rng::seed_from_u64(random.next_u64()), 0_u32));
        let script = move |cell: &Cell, _: u32| {
            let mut stream = stream.lock().expect("no panic");
            let (random, launch) = &mut *stream;
            *launch += 1;
            Ends::Measures(at(random, *launch, cell))
        };
        let mut sink = Kept::default();
        let plan = Plan { seed: Some(u64::from(number)), ..plan.clone() };
        let mut ledger = create(&plan, &mut sink).expect("recorded");
        conduct::conduct(&mut ledger, &Scripted::new(script), &mut sink).expect("recorded");
        let answers = verdict::answers(&ledger);
        let answer = answers.iter().find(|answer| answer.about == "factor:arm" && answer.metric == "tokens").expect("it is compared");
        found += u32::from(is(answer));
    }
    found
}

/// Ratios of values whose launches vary by five per cent.
#[test]
fn launches_that_vary_by_five_per_cent_are_told_apart_no_more_often_than_the_level() {
    let found = effects(&compared(Scale::Ratio, 6, &[]), 11, |random, _| 1000.0 * (0.05 * normal(random)).exp());
    assert!((60..=MOST).contains(&found), "{found} of {RUNS}");
}

/// The same while the machine drifts by four of these standard deviations over the run: blocks in random order cancel it.
#[test]
fn drift_is_not_taken_for_an_effect() {
    let found = effects(&compared(Scale::Ratio, 6, &[]), 12, |random, launch| {
        1000.0 * (0.05 * normal(random) + 0.2 * f64::from(launch) / 12.0).exp()
    });
    assert!(found <= MOST, "{found} of {RUNS}");
}

/// Differences of heavy-tailed values: a launch in ten is far off.
#[test]
fn outliers_are_not_taken_for_an_effect() {
    let found = effects(&compared(Scale::Difference, 8, &[]), 13, |random, _| {
        let outlier = random.next_u32() < u32::MAX / 10;
        100.0 + normal(random) * if outlier { 8.0 } else { 1.0 }
    });
    assert!(found <= MOST, "{found} of {RUNS}");
}

/// Differences of values that are 0 or 1: few launches that are all alike are no exact ones.
#[test]
fn coarse_values_are_not_taken_for_an_effect() {
    for blocks in [2, 3, 4, 6] {
        let found = effects(&compared(Scale::Difference, blocks, &[]), 14, |random, _| f64::from(random.next_u32() % 2));
        assert!(found <= MOST, "{found} of {RUNS} in {blocks} blocks");
    }
}

/// A level under which three launches in ten show another value: that they are all alike so far shows no equivalence.
#[test]
fn values_that_seldom_differ_are_not_called_exact() {
    for blocks in [2, 4, 8, 10] {
        let mut plan = compared(Scale::Difference, blocks, &[]);
        plan.metrics["tokens"].margin = Some(1.0);
        let is_shown = |answer: &Answer| answer.verdict == Verdict::NoEffectWithin && answer.strength == Some(Strength::Shown);
        let found = answers(&plan, 15, is_shown, |random, _, cell| {
            let differs = cell.levels["arm"] == "b" && random.next_u32() < u32::MAX / 10 * 3;
            if differs { 10.0 } else { 0.0 }
        });
        assert!(found <= MOST, "{found} of {RUNS} in {blocks} blocks");
    }
}

/// Every rule of outcomes that a plan can have, at every level that it gives, for every number of blocks: the worst case over the failure rate is
/// enumerated and at most the level.
#[test]
fn every_rule_of_outcomes_stays_at_its_level_at_its_cap() {
    let levels = [0.05, 0.05 / 2.0, 0.05 / 3.0, 0.05 / 4.0, 0.05 / 5.0];
    for alpha in levels {
        let cap = peeking::cap(alpha).expect("a level");
        for blocks in 2..=cap {
            let worst = peeking::worst_case(alpha, blocks).expect("few blocks");
            assert!(worst <= alpha, "Fisher at {alpha}, {blocks} blocks: {worst}");
        }
        assert!(peeking::worst_case(alpha, cap + 1).expect("few blocks") > alpha, "the cap of {alpha} is the last that holds");
    }
}

/// The e-process has no cap; what can be enumerated shows what the theorem says of any number of blocks.
#[test]
fn the_e_value_stays_at_its_level_wherever_one_stops() {
    let mut before = 0.0;
    for blocks in 1..=9 {
        let worst = worst_case(0.05, blocks).expect("few blocks");
        assert!(worst <= 0.05 && worst >= before, "{blocks} blocks: {worst}");
        before = worst;
    }
    assert!(before > 0.0, "the rule is never met");
    assert!(worst_case(0.05 / 3.0, 8).expect("few blocks") <= 0.05 / 3.0);
    assert!(worst_case(0.05, MOST_ENUMERATED + 1).is_err() && worst_case(1.0, 3).is_err());
}

/// A difference in any state says that the instrument perturbs, so its comparisons of outcomes share one level, however many states there are.
#[test]
fn the_states_of_an_instrument_share_its_level() {
    let levels = ["a", "b", "c", "d", "e", "f", "g", "h"];
    for states in 1..=levels.len() {
        let plan = plan(&levels[..states], &["probe"]);
        let contrasts = contrast::contrasts(&plan);
        let of_instrument = contrasts.iter().filter(|contrast| matches!(contrast.subject, Subject::Instrument { .. }));
        let alphas: Vec<f64> = of_instrument.map(|contrast| contrast.alpha).collect();
        assert_eq!(alphas.len(), states);
        let worst: f64 = alphas.iter().map(|alpha| peeking::worst_case(*alpha, 12).expect("few blocks")).sum();
        assert!(worst > 0.0 && worst <= INSTRUMENT_ALPHA, "{states} states: {worst}");
    }
}

/// What is chance among many states is not shown of one of them.
#[test]
fn an_instrument_beside_many_levels_is_blamed_at_their_shared_level() {
    let beside_d = |blocks: u32| {
        let blocks = Blocks { min: blocks, max: blocks };
        let plan = Plan { blocks, stop: Stop::All, ..plan(&["a", "b", "c", "d"], &["probe"]) };
        let script = |cell: &Cell, _: u32| {
            let fails = cell.levels["arm"] == "d" && !cell.is_bare();
            if fails { Ends::Fails("RuntimeError @ f") } else { Ends::Completes }
        };
        let (ledger, _) = run(&plan, &mut Scripted::new(script));
        answer(&ledger, "instrument:probe", "outcome")
    };
    let (open, shown) = (beside_d(5), beside_d(6));
    assert_eq!(open.verdict, Verdict::Undetermined, "5 of 5 against 0 of 5 is p = 0.008, and four states share 0.0167: {}", open.text);
    assert_eq!((shown.verdict, shown.strength), (Verdict::Perturbs, Some(Strength::Shown)), "{}", shown.text);
}
