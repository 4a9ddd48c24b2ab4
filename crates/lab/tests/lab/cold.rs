//! Runs that begin with failures: a cold start, a flaky baseline, and a baseline that is really broken.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use bystander_lab::ledger::Ledger;
use bystander_lab::plan::{Blocks, Hypothesis, Plan, Prediction, Rule, Stop};
use bystander_model::cell::Cell;
use bystander_model::event::{Purpose, RunEnd};
use bystander_model::outcome::Outcome;
use bystander_model::report::{Strength, Verdict};
use indexmap::IndexMap;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::scripted::{Ends, Scripted, answer, plan, run, summary_of};

const FAILURE: &str = "RuntimeError @ engine core did not answer";

fn is_b(cell: &Cell) -> bool {
    cell.levels["arm"] == "b"
}

/// Runs a plan whose first launches all fail; after them those of b fail if it is broken, in the same way.
fn cold(plan: &Plan, launches: u32, is_broken: bool) -> (Ledger, RunEnd) {
    let made = AtomicU32::new(0);
    run(
        plan,
        &mut Scripted::new(move |cell, _| {
            let cold = made.fetch_add(1, Ordering::Relaxed) < launches;
            if cold || is_broken && is_b(cell) { Ends::Fails(FAILURE) } else { Ends::Completes }
        }),
    )
}

fn claims_that_b_breaks_it() -> Plan {
    let cell = |arm: &str| Cell { levels: IndexMap::from([("arm".to_owned(), arm.to_owned())]), instrument: "none".to_owned() };
    let predicts = |arm: &str, outcome| Prediction::Outcome { cell: cell(arm), outcome };
    let claim =
        Hypothesis { claim: "b breaks it".into(), predicts: vec![predicts("b", Outcome::Failed), predicts("a", Outcome::Completed)] };
    Plan { hypotheses: vec![claim], ..plan(&["a", "b"], &[]) }
}

fn measured(ledger: &Ledger) -> usize {
    ledger.trials.values().filter(|trial| trial.slot.purpose == Purpose::Measure).count()
}

/// Both cells fail once, cold, and the baseline never again: the run goes on, b is found, and no cold launch refutes that.
#[test]
fn a_cold_start_ends_no_run_and_refutes_nothing() {
    for stop in [Stop::Same, Stop::All] {
        let plan = Plan { stop, ..claims_that_b_breaks_it() };
        let (ledger, end) = cold(&plan, 2, true);
        let found = answer(&ledger, "factor:arm", "outcome");
        assert_eq!((found.verdict, found.strength), (Verdict::Effect, Some(Strength::Shown)), "{stop:?} {end:?}: {}", found.text);
        assert!(measured(&ledger) >= 8, "{stop:?}: {end:?}");
        let claim = answer(&ledger, "hypothesis:b breaks it", "outcome");
        assert_eq!(claim.verdict, Verdict::Open, "{stop:?}: {}", claim.text);
        assert!(
            claim.text.contains("trials 1 to 2, the first of the run, failed, whatever was launched, and a/none in none"),
            "{}",
            claim.text
        );
        assert!(claim.needs.is_some_and(|needs| needs.missing[0].contains("warms up")));
        let notes = summary_of(&ledger).notes;
        assert!(notes.iter().any(|note| note.starts_with("cold start: ")), "{notes:#?}");
    }
}

/// A failure of the baseline that is not among the first of the run is a counterexample, and so is one of a baseline that fails again.
#[test]
fn a_failure_that_comes_back_refutes() {
    for fails in [[1_u32, 1], [0, 3]] {
        let plan = Plan { stop: Stop::All, blocks: Blocks { min: 6, max: 6 }, ..claims_that_b_breaks_it() };
        let script = move |cell: &Cell, n: u32| if is_b(cell) || fails.contains(&n) { Ends::Fails(FAILURE) } else { Ends::Completes };
        let (ledger, _) = run(&plan, &mut Scripted::new(script));
        assert_eq!(answer(&ledger, "hypothesis:b breaks it", "outcome").verdict, Verdict::Refuted, "{fails:?}");
    }
}

/// However long a start is cold and in whichever order the cells come: a level that does nothing is given no effect, and a baseline that works is not broken.
#[test]
fn a_cold_start_is_never_an_answer() {
    for (launches, seed) in (1..=6).flat_map(|launches| (0..25).map(move |seed| (launches, seed))) {
        for (stop, rule) in [(Stop::Same, Rule::Fisher), (Stop::All, Rule::Fisher), (Stop::All, Rule::EValue)] {
            for arms in [&["a", "b"][..], &["a", "b", "c"]] {
                // Launches of the baseline alone are cold too where the start is that long: five in all are needed to be called broken.
                if stop == Stop::Same && launches as usize >= arms.len() + 3 {
                    continue;
                }
                let plan = Plan { stop, rule, seed: Some(seed), ..plan(arms, &[]) };
                let (ledger, end) = cold(&plan, launches, false);
                let answers = bystander_lab::verdict::answers(&ledger);
                for found in answers.iter().filter(|answer| answer.metric == "outcome") {
                    let is_answer = matches!(found.verdict, Verdict::Effect | Verdict::BaselineBroken);
                    assert!(!is_answer, "{launches} cold, seed {seed}, {stop:?}, {rule:?}: {end:?}: {}", found.text);
                }
                assert!(measured(&ledger) >= 4 * arms.len(), "{launches} cold, seed {seed}: {end:?}");
            }
        }
    }
}

/// An instrument is not acquitted by the cold failure of a baseline that works.
#[test]
fn a_cold_failure_without_an_instrument_acquits_it_of_nothing() {
    let made = AtomicU32::new(0);
    let plan = Plan { blocks: Blocks { min: 7, max: 7 }, ..plan(&["a"], &["probe"]) };
    let script = move |cell: &Cell, _: u32| {
        let cold = made.fetch_add(1, Ordering::Relaxed) < 2;
        if cold || !cell.is_bare() { Ends::Fails(FAILURE) } else { Ends::Completes }
    };
    let (ledger, _) = run(&plan, &mut Scripted::new(script));
    let probe = answer(&ledger, "instrument:probe", "outcome");
    assert_eq!(probe.verdict, Verdict::Perturbs, "7 of 7 against 1 of 7: {}", probe.text);
}

/// A baseline that fails in three launches of ten, and a level that breaks it always: with one failure to go by, 120 runs of 400 would end in the first block.
#[test]
fn a_flaky_baseline_is_seldom_called_broken() {
    let mut random = ChaCha8Rng::seed_from_u64(31);
    let mut broken = 0;
    for seed in 0..400 {
        let stream = Mutex::new(ChaCha8Rng::seed_from_u64(random.next_u64()));
        let plan = Plan { seed: Some(seed), ..plan(&["a", "b"], &[]) };
        let script = move |cell: &Cell, _: u32| {
            let flaky = stream.lock().expect("no panic").next_u32() < u32::MAX / 10 * 3;
            if is_b(cell) || flaky { Ends::Fails(FAILURE) } else { Ends::Completes }
        };
        let (ledger, _) = run(&plan, &mut Scripted::new(script));
        let found = answer(&ledger, "factor:arm", "outcome");
        broken += u32::from((found.verdict, found.strength) == (Verdict::BaselineBroken, Some(Strength::Shown)));
    }
    assert!(broken <= 10, "0.3^4 of 400 are 3: {broken}");
}

/// What is really broken costs launches of the baseline alone: as many in all as the plan has blocks at the least, and four show it.
#[test]
fn a_broken_baseline_is_launched_alone_until_it_is_shown() {
    for (blocks, alone) in [((4, 10), 3), ((2, 10), 3), ((8, 10), 7), ((4, u32::MAX), 3)] {
        let rule = if blocks.1 == u32::MAX { Rule::EValue } else { Rule::Fisher };
        let plan = Plan { blocks: Blocks { min: blocks.0, max: blocks.1 }, rule, ..plan(&["a", "b"], &[]) };
        let (ledger, end) = cold(&plan, u32::MAX, false);
        assert_eq!((measured(&ledger), ledger.trials.len()), (2, 2 + alone), "{blocks:?}: {end:?}");
        let found = answer(&ledger, "factor:arm", "outcome");
        assert_eq!((found.verdict, found.strength), (Verdict::BaselineBroken, Some(Strength::Shown)), "{}", found.text);
        let said = format!("a/none fails in {0} of {0} launches, {alone} of them outside the blocks", alone + 1);
        assert!(found.text.contains(&said), "{}", found.text);
        assert!(matches!(&end, RunEnd::Finished { why } if why.contains(&format!("the baseline {alone} times more by itself"))), "{end:?}");
    }
}

/// A plan with fewer blocks than that says what one failure is.
#[test]
fn few_failures_of_a_baseline_show_nothing() {
    for (blocks, strength) in [(1, Strength::Anecdotal), (2, Strength::Consistent), (3, Strength::Consistent)] {
        let plan = Plan { blocks: Blocks { min: blocks, max: blocks }, describe: true, ..plan(&["a", "b"], &[]) };
        let (ledger, _) = cold(&plan, u32::MAX, false);
        let found = answer(&ledger, "factor:arm", "outcome");
        assert_eq!((found.verdict, found.strength), (Verdict::BaselineBroken, Some(strength)), "{}", found.text);
        assert!(found.text.contains("That is not shown"), "{}", found.text);
        assert_eq!(found.needs.expect("more launches").launches_per_cell, Some(4));
    }
}
