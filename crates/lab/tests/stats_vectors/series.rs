//! Groups about order and time: rows of a Williams design, series that settle, how long an e-process takes. And that no group is left out.

use std::collections::BTreeSet;

use bystander_lab::design::williams;
use bystander_lab::stats::evalue::blocks_for_power;
use bystander_lab::stats::steady::{Course, change_points, course, mser};
use serde_json::Value;

use crate::fixture::{EXACT, close, count, group, items, numbers};

#[test]
fn the_rows_of_a_williams_design_agree() {
    let wanted = group("williams_design_4");
    let rows: Vec<Vec<u32>> = items(&wanted["rows"]).iter().map(|row| items(row).iter().map(count).collect()).collect();
    let ours: Vec<Vec<u32>> =
        williams::rows(4).into_iter().map(|row| row.into_iter().map(|cell| u32::try_from(cell).expect("small")).collect()).collect();
    assert_eq!(ours, rows);
}

#[test]
fn change_points_and_truncation_agree() {
    let cases = group("steady_state");
    for case in items(&cases) {
        let series = numbers(&case["series"]);
        let points: Vec<u64> = change_points(&series).expect("numbers").into_iter().map(|point| point as u64).collect();
        let wanted: Vec<u64> = case["changepoints_meanvar"].as_array().expect("a list").iter().filter_map(Value::as_u64).collect();
        assert_eq!(points, wanted);
        let (cut, value) = mser(&series).expect("numbers");
        assert_eq!(cut as u64, case["mser_truncation"], "{series:?}");
        if let Some(wanted) = case.get("mser_stat") {
            close(value, wanted, EXACT, "MSER");
        }
        let settled = points.last().map_or(Course::Flat, |point| Course::WarmUp(usize::try_from(*point).expect("small")));
        assert_eq!(course(&series), Ok(settled), "it falls once, or not at all");
    }
}

/// The vectors are simulated, and so is ours: a block apart, or a twentieth.
#[test]
fn the_blocks_that_an_e_process_takes_agree() {
    for (rates, wanted) in group("e_process_stopping_time_gamma018_1over20").as_object().expect("a map") {
        let (p1, p0) = rates.split_once('v').expect("two rates");
        let [p1, p0] = [p1, p0].map(|rate| rate.parse::<f64>().expect("a rate"));
        for (share, key) in [(0.5, "median"), (0.8, "q80"), (0.95, "q95")] {
            let blocks = blocks_for_power(p1, p0, 0.05, share).expect("rates").expect("few blocks");
            let wanted = wanted[key].as_f64().expect("a number");
            assert!((f64::from(blocks) - wanted).abs() <= (wanted / 20.0).max(1.0), "{rates} {key}: {blocks} for {wanted}");
        }
    }
}

/// Groups that are no computation but a record of simulations.
const DOCUMENTATION: [&str; 2] = ["meta", "simulations"];

/// Every group is asked for by some test of these; the patterns of readiness are run through the loop by `lab/answers.rs`.
#[test]
fn no_group_of_vectors_is_left_out() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/stats_vectors.json")).expect("the fixture");
    let all: Value = serde_json::from_str(&text).expect("JSON");
    let groups: BTreeSet<&str> =
        all.as_object().expect("a map").keys().map(String::as_str).filter(|name| !DOCUMENTATION.contains(name)).collect();
    let sources = [
        include_str!("series.rs"),
        include_str!("metrics.rs"),
        include_str!("outcomes.rs"),
        include_str!("plans.rs"),
        include_str!("../lab/answers.rs"),
    ];
    let asked = |name: &&str| {
        sources.iter().any(|source| source.contains(&format!("group(\"{name}\")")) || source.contains(&format!("table[\"{name}\"]")))
    };
    let (asserted, left): (Vec<&str>, Vec<&str>) = groups.iter().copied().partition(asked);
    assert_eq!(left, Vec::<&str>::new());
    assert_eq!(asserted.len(), 22, "the page says how many there are");
}
