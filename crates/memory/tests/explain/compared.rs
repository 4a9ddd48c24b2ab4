//! Two starts beside each other.

use bystander_memory::explain::Asked;
use bystander_model::budget::Figure;
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
    assert_eq!(names(&all), ["headroom", "unexplained", "mem_fraction_static"]);
    let headroom = &all[0];
    assert_eq!((headroom.first.as_str(), headroom.second.as_str()), ("12.89 GiB", "10.39 GiB"));
    assert!((headroom.difference_gib.expect("an amount").value + 2.5).abs() < 1e-9);
    assert_eq!((all[2].first.as_str(), all[2].second.as_str()), ("0.836", "0.9"));
}

#[test]
fn tokens_are_those_of_the_log_and_their_difference_is_told() {
    let other = LOG.replace("421755", "400000").replace("mem_fraction_static=0.836", "mem_fraction_static=0.9");
    let all = differing(LOG, &other);
    let tokens = all.iter().find(|one| one.name == "tokens").expect("tokens");
    // At this fraction the formula gives more: the log decides.
    assert_eq!((tokens.first.as_str(), tokens.second.as_str()), ("421,755", "400,000"));
    assert_eq!(tokens.difference_tokens, Some(Figure::exact(-21_755.0)));
}

#[test]
fn tokens_that_no_line_has_are_unknown_or_by_the_formula() {
    let cut: String = LOG.lines().take(6).map(|line| format!("{line}\n")).collect();
    let all = differing(LOG, &cut);
    let tokens = all.iter().find(|one| one.name == "tokens").expect("tokens");
    assert_eq!(
        tokens,
        &Compared {
            name: "tokens".into(),
            first: "421,755".into(),
            second: "unknown".into(),
            difference_gib: None,
            difference_tokens: None
        }
    );
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
