//! Groups about planning: power, looks, launches needed.

use bystander_lab::stats::peeking::{plan_power, worst_case};
use bystander_lab::stats::planning::{blocks_for_equivalence, blocks_to_detect};
use bystander_lab::stats::power::{OutcomeTest, launches_for_power, least_failures_against_none, power};
use bystander_lab::stats::proportion::{launches_to_bound, newcombe};
use serde_json::Value;

use crate::fixture::{EXACT, close, count, group, items, number, optional_count, tally};

/// The vectors were computed up to this many launches per arm; beyond it they say null.
const VECTOR_LIMIT: u32 = 60;

fn entries(value: &Value) -> Vec<(&str, &Value)> {
    let map = value.as_object().expect("a map");
    assert!(!map.is_empty());
    map.iter().map(|(key, value)| (key.as_str(), value)).collect()
}

fn parsed<T: std::str::FromStr>(text: &str) -> T
where
    T::Err: std::fmt::Debug,
{
    text.parse().expect("a number in a key")
}

#[test]
fn launches_for_power_agree() {
    for (key, case) in entries(&group("power_n_per_arm")) {
        let (p0, p1) = key.split_once(',').expect("two probabilities");
        let p0: f64 = parsed(p0.trim_start_matches("p0="));
        let p1: f64 = parsed(p1.trim_start_matches("p1="));
        for (wanted, suffix) in [(0.80, "80"), (0.95, "95")] {
            let fisher = launches_for_power(OutcomeTest::Fisher, p1, p0, 0.05, wanted).unwrap();
            let within = fisher.filter(|n| *n <= VECTOR_LIMIT);
            assert_eq!(within, optional_count(&case[format!("fisher2_{suffix}")]), "fisher {suffix} {key}");
            // Boschloo's regions are slow to enumerate: the step is checked, not the whole search.
            let reaches = |n: u32| power(OutcomeTest::Boschloo, n, p1, p0, 0.05).unwrap() >= wanted;
            match optional_count(&case[format!("boschloo2_{suffix}")]) {
                Some(n) => assert!(reaches(n) && !reaches(n - 1), "boschloo {suffix} {key}"),
                None => assert!(!reaches(VECTOR_LIMIT), "boschloo {suffix} {key}"),
            }
        }
    }
}

#[test]
fn a_power_that_is_lost_again_does_not_count() {
    // Four of ten against none is significant, four of eleven is not: the power is 0.83, 0.73, 0.93 for 10, 11, 12.
    let power_at = |n| power(OutcomeTest::Boschloo, n, 0.5, 0.0, 0.05).unwrap();
    assert!(power_at(10) >= 0.8 && power_at(11) < 0.8);
    assert_eq!(launches_for_power(OutcomeTest::Boschloo, 0.5, 0.0, 0.05, 0.8).unwrap(), Some(12));
}

#[test]
fn least_failures_agree() {
    for (n, case) in entries(&group("min_failures_vs_zero_for_p05")) {
        let n = parsed(n);
        for (test, key) in [(OutcomeTest::Fisher, "fisher"), (OutcomeTest::Boschloo, "boschloo")] {
            assert_eq!(least_failures_against_none(test, n, 0.05).unwrap(), optional_count(&case[key]), "{key} {n}");
        }
    }
}

#[test]
fn worst_cases_with_looks_agree() {
    let groups = group("worst_case_fpr_with_peeking");
    // "0167" is one third of 0.05, not its rounding: from 17 blocks on the two reject different tables.
    for (alpha, key) in [(0.05, "a05"), (0.05 / 3.0, "a0167"), (0.025, "a025")] {
        for (blocks, wanted) in entries(&groups["fisher_nmax"][key]) {
            close(worst_case(alpha, parsed(blocks)).unwrap(), wanted, EXACT, &format!("{key} {blocks}"));
        }
    }
    for (blocks, case) in entries(&groups["rules"]["fisher2"]) {
        // These are printed to four digits.
        let got = worst_case(0.05, parsed(blocks.trim_start_matches('n'))).unwrap();
        assert!((got - number(&case["peek_2_to_n_sup"])).abs() <= 0.5e-4 + 1e-12, "{blocks}: {got}");
    }
    for case in items(&groups["power_fisher05_look_each_pair_max10"]) {
        let plan = plan_power(0.05, 10, number(&case["p1"]), number(&case["p0"])).unwrap();
        close(plan.power, &case["power"], EXACT, "power");
        close(plan.expected_blocks, &case["expected_pairs"], EXACT, "length");
    }
}

#[test]
fn launches_to_bound_a_failure_rate_agree() {
    for (delta, case) in entries(&group("equivalence_binary_zero_failures")["table"]) {
        let delta: f64 = parsed(delta);
        assert_eq!(launches_to_bound(delta, 0.05).unwrap(), count(&case["probe_rate_only_upper95 (rule of three exact)"]), "{delta}");
        let inside = |n: u32| newcombe(tally(0, n), tally(0, n), 0.90).unwrap().lies_within(-delta, delta);
        assert_eq!((1..=VECTOR_LIMIT).find(|n| inside(*n)), optional_count(&case["newcombe90"]), "newcombe {delta}");
    }
    for case in items(&group("find_flaky_failure_n_for_95pct")) {
        assert_eq!(launches_to_bound(number(&case["rate"]), 0.05).unwrap(), count(&case["n"]));
    }
}

#[test]
fn paired_plans_agree() {
    for case in items(&group("planning_paired_blocks")) {
        let effect = number(&case["effect_over_sd_d"]);
        assert_eq!(blocks_to_detect(effect, 0.05, 0.80).unwrap(), optional_count(&case["n_detect_80"]), "80 % {effect}");
        assert_eq!(blocks_to_detect(effect, 0.05, 0.95).unwrap(), optional_count(&case["n_detect_95"]), "95 % {effect}");
        let equivalent = blocks_for_equivalence(effect, 0.05, 0.80).unwrap();
        assert_eq!(equivalent, optional_count(&case["n_equiv80_if_true_zero"]), "equivalence {effect}");
    }
}
