//! Two starts beside each other.

use bystander_memory::explain::Asked;
use bystander_model::memory::Compared;

use crate::replay::explained;

fn differing(first: &str, second: &str) -> Vec<Compared> {
    explained(&[("a.log", first), ("b.log", second)], &Asked::default()).compared
}

fn names(all: &[Compared]) -> Vec<&str> {
    all.iter().map(|one| one.name.as_str()).collect()
}

const LOG: &str = include_str!("../fixtures/sglang-0.5.9-simulated-llama8b.log");

#[test]
fn the_same_log_differs_in_nothing() {
    assert_eq!(differing(LOG, LOG), []);
}

#[test]
fn a_term_that_differs_is_named_with_its_amount() {
    let other =
        LOG.replace("12.89 GB", "10.39 GB").replace("mem_fraction_static=0.836", "mem_fraction_static=0.9").replace("port=18300", "port=1");
    let all = differing(LOG, &other);
    assert_eq!(names(&all), ["tokens", "headroom", "unexplained", "mem_fraction_static"]);
    let headroom = &all[1];
    assert_eq!((headroom.first.as_str(), headroom.second.as_str()), ("12.89 GiB", "10.39 GiB"));
    // At another fraction the same pool is not what the formula gives.
    assert_eq!((all[0].first.as_str(), all[0].second.is_empty()), ("421,755", false));
    assert!((headroom.difference_gib.expect("an amount").value + 2.5).abs() < 1e-9);
    assert_eq!((all[3].first.as_str(), all[3].second.as_str()), ("0.836", "0.9"));
}

#[test]
fn a_difference_within_the_rounding_is_none() {
    let other = LOG.replace("avail mem=12.89 GB", "avail mem=12.90 GB").replace("available_gpu_mem=12.89", "available_gpu_mem=12.90");
    assert_eq!(names(&differing(LOG, &other)), [""; 0]);
}

#[test]
fn a_start_that_failed_is_compared_as_far_as_it_came() {
    let cut: String = LOG.lines().take(6).map(|line| format!("{line}\n")).collect();
    let all = differing(LOG, &cut);
    assert!(names(&all).contains(&"state") && names(&all).contains(&"kv"), "{all:#?}");
}
