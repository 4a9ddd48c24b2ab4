//! The open loop: starts wait for nobody, latencies count from the intended start.

use std::time::Duration;

use bystander_model::traffic::{Amount, Arrival};
use bystander_testkit::endpoint::Step;

use crate::asked::{PACE, load, run, run_in, server};

#[test]
fn a_slow_server_does_not_slow_the_arrivals() {
    // Each answer takes ten times as long as the time to the next arrival.
    let server = server(|_| Step::good(10, Duration::from_millis(10), 3));
    let mut load = load(&server, 60);
    load.arrival = Arrival::Constant { rate: 100.0 };
    let (summary, folder) = run_in(&load);
    assert_eq!(summary.failure, None, "{summary:#?}");
    let rows = std::fs::read_to_string(folder.path().join("requests.jsonl")).expect("rows");
    let mut intended: Vec<u64> = rows
        .lines()
        .map(|row| serde_json::from_str::<serde_json::Value>(row).expect("a row")["intended_ns"].as_u64().expect("a time"))
        .collect();
    intended.sort_unstable();
    assert_eq!(intended.len(), 60);
    assert!(intended.windows(2).all(|pair| (pair[1] - pair[0]).abs_diff(10_000_000) < 2), "{intended:?}");
    // A closed loop of any size that finished in this time would have to wait for answers.
    assert!(summary.connect.expect("connections").n >= 8, "{summary:#?}");
}

#[test]
fn a_request_that_could_not_start_in_time_is_late_and_its_latency_says_so() {
    // The first answer stands still for a while; with one connection at most, those behind it would look fast if they were timed from their start.
    let server = server(|_| Step::good(4, PACE, 3));
    let mut load = load(&server, 50);
    load.arrival = Arrival::Poisson { rate: 200.0 };
    let summary = run(&load);
    let (lag, e2e, ttft) = (summary.client_lag.expect("lag"), summary.e2e.expect("e2e"), summary.ttft.expect("ttft"));
    assert_eq!((lag.n, summary.completed), (50, 50));
    assert!(e2e.max >= lag.max && ttft.max >= lag.max, "the lag is part of every latency: {summary:#?}");
    assert_eq!(summary.client.late, lag.p99 > 0.001, "{summary:#?}");
    assert_eq!(summary.client.late, summary.notes.iter().any(|note| note.starts_with("The client was late")), "{summary:#?}");
}

#[test]
fn a_time_too_short_for_one_arrival_is_no_success() {
    let server = server(|_| Step::good(4, PACE, 3));
    let mut load = load(&server, 0);
    load.arrival = Arrival::Poisson { rate: 1e-6 };
    load.amount = Amount::Seconds(0.05);
    let summary = run(&load);
    assert_eq!((summary.sent, summary.failure.as_deref()), (0, Some("no request was due in the time that was given")));
}

#[test]
fn the_seed_decides_prompts_and_arrivals() {
    let prompts = |seed| {
        let server = server(|_| Step::good(2, PACE, 3));
        let mut load = load(&server, 12);
        load.arrival = Arrival::Closed { concurrency: 1 };
        load.seed = seed;
        assert_eq!(run(&load).failure, None);
        server.served().into_iter().map(|served| served.prompt).collect::<Vec<_>>()
    };
    assert_eq!(prompts(5), prompts(5));
    assert_ne!(prompts(5), prompts(6));
    let seeds: std::collections::BTreeSet<u64> =
        (0..50).flat_map(|seed| (1..50).map(move |block| bystander_traffic::effective_seed(seed, block))).collect();
    assert_eq!(seeds.len(), 50 * 49, "near seeds and near blocks differ all the same");
}
