//! Every way in which a request fails has its name, none is a success, and a server that refuses requests never wins.

use std::time::Duration;

use bystander_testkit::endpoint::{DONE, LAST_CHUNK, OPENING, STREAM_HEAD, Step, answer, chunked, event, piece, usage};
use serde_json::json;

use crate::asked::{PACE, load, of_steps, run, server};

/// The kind of the only failure of a load.
fn kind(steps: Vec<Step>) -> String {
    let summary = of_steps(3, steps);
    assert_eq!((summary.sent, summary.completed, summary.error_rate), (3, 0, 1.0), "{summary:#?}");
    assert!(summary.failure.is_some() && summary.metric("tokens_per_s").is_none() && summary.metric("ttft_p50").is_none());
    assert_eq!(summary.errors.len(), 1, "{summary:#?}");
    let (kind, count) = summary.errors.first().expect("a kind");
    assert_eq!(*count, 3);
    assert!(summary.error_texts.contains_key(kind), "{summary:#?}");
    kind.clone()
}

fn stream(parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = STREAM_HEAD.to_vec();
    parts.iter().for_each(|part| bytes.extend(chunked(part)));
    bytes
}

#[test]
fn answers_that_are_none_are_told_apart() {
    let whole = |body: &[&[u8]]| [stream(body), LAST_CHUNK.to_vec()].concat();
    let error = event(&json!({"error": {"message": "EngineCore died", "code": 500}}));
    let ended = |word: &str| event(&json!({"choices": [{"delta": {}, "finish_reason": word}]}));
    let (aborted, failed) = (ended("abort"), ended("error"));
    for (expected, steps) in [
        ("status_503", vec![Step::Send(answer(503, "application/json", r#"{"error":"full"}"#))]),
        ("status_429", vec![Step::Send(answer(429, "text/plain", ""))]),
        ("status_404", vec![Step::Send(b"HTTP/1.1 404 Not Found\r\n\r\nno such model".to_vec()), Step::Close]),
        ("not_streamed", vec![Step::Send(answer(200, "application/json", r#"{"choices":[{"message":{"content":"hi"}}]}"#))]),
        ("empty", vec![Step::Send(whole(&[OPENING, DONE]))]),
        ("empty", vec![Step::Send(whole(&[OPENING, &usage(10, 0), DONE]))]),
        ("empty", vec![Step::Send(whole(&[OPENING, &usage(10, 7), DONE]))]),
        ("no_done", vec![Step::Send(whole(&[OPENING, piece(true)]))]),
        ("no_done", vec![Step::Send(whole(&[]))]),
        ("cut_short", vec![Step::Send(stream(&[OPENING, piece(true)])), Step::Close]),
        ("cut_short", vec![Step::Send(b"HTTP/1.1 200 OK\r\ncontent-".to_vec()), Step::Close]),
        ("error_in_stream", vec![Step::Send(stream(&[piece(true), &error]))]),
        ("error_in_stream", vec![Step::Send(stream(&[piece(true), b"event: error\ndata: out of memory\n\n"]))]),
        ("finished_by_abort", vec![Step::Send(whole(&[OPENING, piece(true), &aborted, DONE]))]),
        ("finished_by_error", vec![Step::Send(whole(&[OPENING, piece(true), &failed, DONE]))]),
        ("unreadable", vec![Step::Send(stream(&[b"data: {\"choices\"\n\n"]))]),
        (
            "encoded",
            vec![Step::Send(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-type: text/event-stream\r\n\r\n\x1f\x8b".to_vec())],
        ),
        ("malformed", vec![Step::Send(b"SSH-2.0-OpenSSH_9.2\r\n\r\n".to_vec())]),
        ("malformed", vec![Step::Send([STREAM_HEAD, b"zz\r\n"].concat())]),
        ("malformed", vec![Step::Send(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n".to_vec())]),
    ] {
        assert_eq!(kind(steps), expected);
    }
}

#[test]
fn a_connection_that_breaks_is_a_reset_and_not_an_end() {
    assert_eq!(kind(vec![Step::Send(stream(&[OPENING, piece(true)])), Step::Wait(20 * PACE), Step::Reset]), "reset");
    assert_eq!(kind(vec![Step::Wait(PACE), Step::Reset]), "reset");
}

#[test]
fn nobody_listening_is_refused() {
    let server = server(|_| Step::good(3, PACE, 3));
    let load = load(&server, 3);
    drop(server);
    let summary = run(&load);
    assert_eq!((summary.errors.get("connect_refused"), summary.completed), (Some(&3), 0), "{summary:#?}");
    let failure = summary.failure.expect("a failure");
    assert!(failure.starts_with("3 of 3 requests failed (connect_refused 3), more than the 0 % that are tolerated"), "{failure}");
}

#[test]
fn what_hangs_is_ended_by_the_time_limit_of_the_request() {
    for steps in [vec![], vec![Step::Send(stream(&[OPENING, piece(true)]))], vec![Step::Send(b"HTTP/1.1 200 OK\r\n".to_vec())]] {
        let server = server(move |_| steps.clone());
        let mut load = load(&server, 3);
        load.timeout_s = 0.3;
        let summary = run(&load);
        assert_eq!(summary.errors.get("timeout"), Some(&3), "{summary:#?}");
        assert!(summary.wall_s >= 0.3, "{summary:#?}");
    }
}

#[test]
fn a_refusal_whose_body_never_ends_is_a_refusal_all_the_same() {
    let server = server(|_| vec![Step::Send(b"HTTP/1.1 503 Busy\r\ncontent-length: 1000\r\n\r\nfull".to_vec())]);
    let mut load = load(&server, 2);
    load.timeout_s = 0.2;
    assert_eq!(run(&load).errors.get("status_503"), Some(&2));
}

#[test]
fn an_answer_that_was_done_counts_though_the_connection_is_broken_off_after_it() {
    let done = [STREAM_HEAD.to_vec(), chunked(piece(true)), chunked(DONE)].concat();
    for last in [Step::Close, Step::Reset] {
        // The time between the two is what makes the answer arrive before the end.
        let summary = of_steps(4, vec![Step::Send(done.clone()), Step::Wait(Duration::from_millis(20)), last]);
        assert_eq!((summary.failure.as_deref(), summary.completed), (None, 4), "{summary:#?}");
    }
}

#[test]
fn answers_faster_than_any_engine_are_not_believed() {
    // A server that claims tokens which it cannot have made in the time that it took.
    let claimed = [stream(&[piece(true), &usage(3, 1_000_000_000), DONE]), LAST_CHUNK.to_vec()].concat();
    assert_eq!(kind(vec![Step::Send(claimed)]), "too_fast");
}

#[test]
fn the_share_that_is_tolerated_decides_and_the_rate_stands_beside_every_number() {
    let mixed = || {
        server(|asked| if asked.number % 10 == 3 { vec![Step::Send(answer(503, "text/plain", "full"))] } else { Step::good(4, PACE, 3) })
    };
    let endpoint = mixed();
    let mut tolerant = load(&endpoint, 40);
    tolerant.errors = 0.1;
    let summary = run(&tolerant);
    assert_eq!((summary.failure.as_deref(), summary.completed, summary.error_rate), (None, 36, 0.1), "{summary:#?}");
    assert_eq!(summary.metric("error_rate"), Some(0.1));
    assert!(summary.metric("ttft_p50").is_some());
    let endpoint = mixed();
    let mut strict = load(&endpoint, 40);
    strict.errors = 0.05;
    let summary = run(&strict);
    let failure = summary.failure.clone().expect("a failure");
    assert!(failure.contains("4 of 40 requests failed (status_503 4), more than the 5 %") && failure.contains("full"), "{failure}");
    assert_eq!((summary.metric("error_rate"), summary.metric("ttft_p50")), (Some(0.1), None));
}

#[test]
fn without_one_token_nothing_passes_whatever_is_tolerated() {
    let server = server(|_| vec![Step::Send([stream(&[OPENING, DONE]), LAST_CHUNK.to_vec()].concat())]);
    let mut load = load(&server, 3);
    load.errors = 1.0;
    assert!(run(&load).failure.is_some());
}

#[test]
fn an_idle_connection_that_the_server_closed_costs_no_request() {
    // Each answer is followed by the end of the connection, though nothing in it says so.
    let server = server(|_| [Step::good(3, PACE, 3), vec![Step::Close]].concat());
    let summary = run(&load(&server, 40));
    assert_eq!((summary.failure.as_deref(), summary.completed), (None, 40), "{summary:#?}");
}
