//! Reads the vectors and compares numbers with them.

use bystander_lab::stats::{Interval, Tally};
use serde_json::Value;

/// Tolerance of exact computations, relative.
pub(crate) const EXACT: f64 = 1e-9;
/// Tolerance of suprema over a grid.
pub(crate) const SUPREMUM: f64 = 1e-6;

pub(crate) fn group(name: &str) -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/stats_vectors.json");
    let text = std::fs::read_to_string(path).expect("the fixture is readable");
    let all: Value = serde_json::from_str(&text).expect("the fixture is JSON");
    all.get(name).unwrap_or_else(|| panic!("the fixture has no group {name}")).clone()
}

pub(crate) fn items(value: &Value) -> &[Value] {
    let list = value.as_array().expect("a list");
    assert!(!list.is_empty(), "an empty list would assert nothing");
    list
}

pub(crate) fn number(value: &Value) -> f64 {
    match value {
        Value::String(text) if text == "inf" => f64::INFINITY,
        Value::String(text) if text == "-inf" => f64::NEG_INFINITY,
        other => other.as_f64().unwrap_or_else(|| panic!("{other} is no number")),
    }
}

pub(crate) fn count(value: &Value) -> u32 {
    u32::try_from(value.as_u64().expect("a count")).expect("a small count")
}

pub(crate) fn optional_count(value: &Value) -> Option<u32> {
    (!value.is_null()).then(|| count(value))
}

pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    items(value).iter().map(number).collect()
}

pub(crate) fn tally(failures: u32, trials: u32) -> Tally {
    Tally::new(failures, trials).expect("a valid tally")
}

/// The two arms of a `[failures, trials, failures, trials]` table.
pub(crate) fn arms(table: &Value) -> (Tally, Tally) {
    let cells: Vec<u32> = items(table).iter().map(count).collect();
    (tally(cells[0], cells[1]), tally(cells[2], cells[3]))
}

#[track_caller]
pub(crate) fn close(got: f64, wanted: &Value, tolerance: f64, what: &str) {
    let wanted = number(wanted);
    // Infinite ends are equal or wrong; the floor stands for a vector printed as 0.
    let near = got == wanted || (got - wanted).abs() <= (tolerance * wanted.abs()).max(1e-13);
    assert!(near, "{what}: got {got}, the vector says {wanted}");
}

#[track_caller]
pub(crate) fn close_interval(got: Interval, wanted: &Value, what: &str) {
    close(got.low, &wanted[0], EXACT, &format!("{what}, low"));
    close(got.high, &wanted[1], EXACT, &format!("{what}, high"));
}
