//! A load that is stopped before its end leaves what it had measured, and nothing of it counts as a measurement.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bystander_model::traffic::{Amount, Load, Summary};
use bystander_testkit::endpoint::{Asked, Endpoint, Step, answer};

use crate::asked::{PACE, load, server};

/// The first `good` requests are answered (every fifth of them refused), the rest never; the one that is numbered `last` stops the load.
fn hanging(good: u64, last: u64, stop: &Arc<AtomicBool>) -> Endpoint {
    let stop = Arc::clone(stop);
    server(move |asked: &Asked<'_>| {
        let number = asked.number;
        if number == last {
            stop.store(true, Ordering::Relaxed);
        }
        match number {
            n if n >= good => Vec::new(),
            n if n % 5 == 4 => vec![Step::Send(answer(503, "text/plain", "full"))],
            _ => Step::good(4, PACE, 3),
        }
    })
}

fn stopped(load: &Load, stop: &Arc<AtomicBool>) -> (Summary, usize) {
    let folder = tempfile::tempdir().expect("folder");
    let summary = bystander_traffic::run(load, folder.path(), stop, &mut |_| {}).expect("a load that can be put on");
    let rows = std::fs::read_to_string(folder.path().join("requests.jsonl")).expect("a row a request");
    assert!(folder.path().join("ttft.hdr").exists(), "what was measured is kept");
    (summary, rows.lines().count())
}

#[test]
fn what_was_under_way_is_neither_completed_nor_failed() {
    let stop = Arc::new(AtomicBool::new(false));
    // Four at a time: when the fourth that hangs is asked for, the twelve before them have ended.
    let server = hanging(12, 15, &stop);
    let mut load = load(&server, 1000);
    load.errors = 0.5;
    let (summary, rows) = stopped(&load, &stop);
    assert_eq!((summary.stopped, summary.sent, summary.completed, summary.unfinished), (true, 12, 10, 4), "{summary:#?}");
    assert_eq!((summary.metric("error_rate"), summary.metric("sent")), (Some(2.0 / 12.0), Some(12.0)));
    assert_eq!((summary.metric("ttft_p50"), summary.metric("tokens_per_s")), (None, None), "a part of a load is no measurement");
    let failure = summary.failure.expect("it did not come to its end");
    assert!(
        failure.starts_with("it was stopped before its end: 2 of 12 requests failed (status_503 2), and 4 were under way"),
        "{failure}"
    );
    assert_eq!(rows, 12);
}

#[test]
fn a_warm_up_that_is_stopped_has_no_error_rate() {
    let stop = Arc::new(AtomicBool::new(false));
    let server = hanging(3, 6, &stop);
    let mut load = load(&server, 1000);
    load.warmup = Some(Amount::Requests(100));
    let (summary, _) = stopped(&load, &stop);
    assert_eq!((summary.stopped, summary.sent, summary.warmup.sent, summary.warmup.completed), (true, 0, 3, 3), "{summary:#?}");
    assert_eq!(summary.metric("error_rate"), None);
    assert_eq!(summary.failure.as_deref(), Some("it was stopped before a measured request had ended"));
}

#[test]
fn a_load_that_waits_for_its_next_arrival_is_stopped_at_once() {
    let stop = Arc::new(AtomicBool::new(false));
    let server = hanging(1, 0, &stop);
    let mut load = load(&server, 1000);
    load.arrival = bystander_model::traffic::Arrival::Constant { rate: 0.001 };
    let began = std::time::Instant::now();
    let (summary, _) = stopped(&load, &stop);
    assert!(summary.stopped && began.elapsed() < Duration::from_secs(60), "{summary:#?}");
}
