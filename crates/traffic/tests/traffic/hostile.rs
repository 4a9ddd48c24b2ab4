//! Servers that never come to an end do not make memory grow.

use bystander_testkit::endpoint::{STREAM_HEAD, Step, piece};
use bystander_traffic::{HttpError, Response, Scanner};

use crate::asked::{PACE, load, run, server};

/// A gigabyte in pieces.
const PIECES: u64 = 16_384;
const PIECE: usize = 65_536;
/// More than any of these takes, less than a hundredth of what is sent.
const ROOM: u64 = 8 << 20;

/// Runs a test in a process of its own, since memory is that of all tests of a process together; whether this is that process.
fn is_alone(test: &str) -> bool {
    const MARK: &str = "TRAFFIC_TEST_ALONE";
    if std::env::var_os(MARK).is_some() {
        return true;
    }
    let ran = std::process::Command::new(std::env::current_exe().expect("this executable"))
        .args([&format!("hostile::{test}"), "--exact", "--test-threads=1"])
        .env(MARK, "1")
        .output()
        .expect("the test runs");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    false
}

/// The resident memory of this process, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").expect("statm");
    let pages: u64 = status.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("pages");
    pages * 4096
}

#[test]
fn a_head_without_end_is_refused_early() {
    let (mut response, line) = (Response::default(), b"x-filler: 0123456789\r\n".repeat(2000));
    assert_eq!(response.take(b"HTTP/1.1 200 OK\r\n", |_, _| {}), Ok(17));
    assert_eq!(response.take(&line, |_, _| {}), Err(HttpError::LongHead));
    let mut response = Response::default();
    assert_eq!(response.take(&vec![b'a'; 1 << 20], |_, _| {}), Err(HttpError::LongHead));
}

#[test]
fn interim_answers_without_end_are_refused_early() {
    let mut response = Response::default();
    let interim = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(100_000);
    assert_eq!(response.take(&interim, |_, _| {}), Err(HttpError::LongHead));
}

#[test]
fn lines_between_chunks_without_end_are_refused_early() {
    for beginning in ["1;", "0\r\nx: "] {
        let mut response = Response::default();
        let head = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{beginning}");
        assert_eq!(response.take(head.as_bytes(), |_, _| {}), Ok(head.len()));
        assert_eq!(response.take(&vec![b'a'; 1 << 20], |_, _| {}), Err(HttpError::LongLine), "{beginning}");
    }
    // A length of nothing but zeros is a line without end, too.
    let mut response = Response::default();
    let zeros = [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec(), vec![b'0'; 1 << 20]].concat();
    assert_eq!(response.take(&zeros, |_, _| {}), Err(HttpError::LongLine));
}

#[test]
fn events_and_lines_without_end_are_refused_at_a_mebibyte() {
    if !is_alone("events_and_lines_without_end_are_refused_at_a_mebibyte") {
        return;
    }
    for filler in [vec![b'a'; PIECE], b"data: a\n".repeat(PIECE / 8)] {
        let (mut scanner, before) = (Scanner::default(), resident());
        let refused_after = (0..PIECES).position(|_| scanner.take(&filler, |_| {}).is_err());
        assert!(refused_after.is_some_and(|pieces| pieces <= 65), "{refused_after:?}");
        assert!(resident() < before + ROOM);
    }
}

#[test]
fn comments_without_end_pass_and_take_no_memory() {
    if !is_alone("comments_without_end_pass_and_take_no_memory") {
        return;
    }
    let (mut scanner, before, filler) = (Scanner::default(), resident(), b": keep-alive\n\n".repeat(PIECE / 14));
    for _ in 0..PIECES / 16 {
        scanner.take(&filler, |_| panic!("no event")).expect("nothing to refuse");
    }
    assert!(resident() < before + ROOM);
}

/// The kind of failure of a request that is answered with a flood.
fn kind_of_flood(beginning: &[u8], flood: Vec<u8>, times: u64) -> String {
    let beginning = beginning.to_vec();
    let server = server(move |_| vec![Step::Send(beginning.clone()), Step::Flood(flood.clone(), times)]);
    let mut load = load(&server, 1);
    load.timeout_s = 20.0;
    let summary = run(&load);
    assert_eq!(summary.completed, 0);
    summary.errors.keys().next().expect("a kind").clone()
}

#[test]
fn a_server_that_sends_without_end_fails_its_request_by_what_it_does() {
    assert_eq!(kind_of_flood(b"HTTP/1.1 200 OK\r\n", b"x: y\r\n".repeat(1000), 1 << 20), "oversized");
    let until_close = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    assert_eq!(kind_of_flood(until_close, vec![b'a'; PIECE], 1 << 20), "oversized");
    assert_eq!(kind_of_flood([STREAM_HEAD, b"40000000\r\ndata: "].concat().as_slice(), vec![b'a'; PIECE], 1 << 20), "oversized");
}

#[test]
fn a_flood_of_tokens_on_one_connection_leaves_the_others_their_turn() {
    let server = server(|asked| {
        if asked.number == 0 {
            let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n".to_vec();
            return vec![Step::Send(head), Step::Flood(piece(true).repeat(100), u64::MAX)];
        }
        Step::good(5, PACE, 3)
    });
    let mut load = load(&server, 31);
    // Long enough for a busy machine to answer the others, and the flood lasts as long.
    load.timeout_s = 8.0;
    load.errors = 0.5;
    let summary = run(&load);
    assert_eq!((summary.completed, summary.errors.get("timeout")), (30, Some(&1)), "{summary:#?}");
}
