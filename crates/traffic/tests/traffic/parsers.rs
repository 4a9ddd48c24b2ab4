//! The parsers give the same answer however the bytes are split.

use bystander_traffic::{HttpError, Response, Scanner};
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};
use proptest::{prop_assert, prop_assert_eq};

/// What a parser made of bytes that came in pieces.
#[derive(Debug, PartialEq, Eq)]
struct Parsed {
    status: Option<u16>,
    body: Vec<u8>,
    used: usize,
    error: Option<HttpError>,
    done: bool,
}

fn parse(pieces: &[&[u8]], closes: bool) -> Parsed {
    let (mut response, mut body, mut used, mut error) = (Response::default(), Vec::new(), 0, None);
    for piece in pieces {
        match response.take(piece, |_, data| body.extend_from_slice(data)) {
            Ok(taken) => used += taken,
            Err(found) => error = Some(found),
        }
        if error.is_some() || response.is_done() {
            break;
        }
    }
    if closes && error.is_none() {
        error = response.close().err();
    }
    // What was used up to an error depends on the pieces, and says nothing.
    Parsed { status: response.status(), used: if error.is_some() { 0 } else { used }, body, done: response.is_done(), error }
}

fn split<'a>(bytes: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    at.extend([0, bytes.len()]);
    at.sort_unstable();
    at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

fn end_of_line() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("\r\n"), Just("\n")]
}

/// A body and the bytes of an answer with it in chunks.
fn chunked() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let chunk =
        (prop::collection::vec(any::<u8>(), 1..40), end_of_line(), prop_oneof![Just(""), Just(";name=value"), Just(" ")], any::<bool>());
    let head = prop_oneof![
        Just("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"),
        Just("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nx: y\r\n\r\n"),
        Just("HTTP/1.1 200\ntransfer-encoding:chunked\n\n"),
    ];
    let tail = prop_oneof![Just("0\r\n\r\n"), Just("0\n\n"), Just("000\r\nexpires: now\r\n\r\n")];
    (head, prop::collection::vec(chunk, 0..6), tail).prop_map(|(head, chunks, tail)| {
        let (mut body, mut wire) = (Vec::new(), head.as_bytes().to_vec());
        for (data, end, extension, upper) in chunks {
            let length = if upper { format!("{:X}", data.len()) } else { format!("{:x}", data.len()) };
            wire.extend([length.as_bytes(), extension.as_bytes(), end.as_bytes(), &data, end.as_bytes()].concat());
            body.extend(data);
        }
        wire.extend(tail.as_bytes());
        (body, wire)
    })
}

proptest! {
    #[test]
    fn chunks_are_the_body_however_the_bytes_are_split(
        (body, wire) in chunked(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        after in prop::collection::vec(any::<u8>(), 0..8),
    ) {
        let bytes = [wire.clone(), after].concat();
        let parsed = parse(&split(&bytes, &cuts), false);
        prop_assert_eq!(&parsed.body, &body);
        prop_assert_eq!((parsed.status, parsed.done, parsed.error), (Some(200), true, None));
        prop_assert!(parsed.used <= wire.len());
        let one_by_one: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(parse(&one_by_one, false).body, body);
    }

    #[test]
    fn an_answer_that_is_cut_is_never_whole((_, wire) in chunked(), cut in any::<prop::sample::Index>()) {
        let parsed = parse(&[&wire[..cut.index(wire.len())]], true);
        prop_assert_eq!((parsed.done, parsed.error), (false, Some(HttpError::CutShort)));
    }

    #[test]
    fn any_bytes_give_the_same_result_in_any_pieces_and_no_panic(
        beginning in prop_oneof![Just(""), Just("HTTP/1.1 200 OK\r\n"), Just("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")],
        rest in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'\r'), Just(b'\n'), Just(b'0'), Just(b':')], 0..80),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        closes in any::<bool>(),
    ) {
        let bytes = [beginning.as_bytes(), &rest].concat();
        let (whole, pieces) = (parse(&[&bytes], closes), parse(&split(&bytes, &cuts), closes));
        prop_assert_eq!(whole, pieces);
    }
}

/// Events, with whether each is one of an error.
fn scan(pieces: &[&[u8]]) -> Vec<(bool, Vec<u8>)> {
    let (mut scanner, mut events) = (Scanner::default(), Vec::new());
    let mut sink = |event: bystander_traffic::Event<'_>| events.push((event.is_error, event.data.to_vec()));
    for piece in pieces {
        scanner.take(piece, &mut sink).expect("short events");
    }
    scanner.close(&mut sink).expect("short events");
    events
}

proptest! {
    #[test]
    fn events_are_found_however_the_bytes_are_split(
        events in prop::collection::vec((prop::collection::vec("[ -~é]{0,12}", 1..4), any::<bool>()), 0..6),
        ends in prop::collection::vec(prop_oneof![Just("\n"), Just("\r\n"), Just("\r")], 1..5),
        comments in any::<bool>(),
        mark in any::<bool>(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let mut end = ends.iter().cycle();
        let mut wire = if mark { "\u{FEFF}".to_owned() } else { String::new() };
        for (lines, is_error) in &events {
            if comments {
                wire += &format!(": keep-alive{}", end.next().expect("an end"));
            }
            if *is_error {
                wire += &format!("event: error{}", end.next().expect("an end"));
            }
            for line in lines {
                wire += &format!("data: {line}{}", end.next().expect("an end"));
            }
            wire += "id: 7\n\n";
        }
        let expected: Vec<(bool, Vec<u8>)> = events.iter().map(|(lines, is_error)| (*is_error, lines.join("\n").into_bytes())).collect();
        prop_assert_eq!(&scan(&split(wire.as_bytes(), &cuts)), &expected);
        let one_by_one: Vec<&[u8]> = wire.as_bytes().chunks(1).collect();
        prop_assert_eq!(scan(&one_by_one), expected);
    }
}

#[test]
fn the_rules_of_the_format_hold() {
    let scan =
        |text: &str| scan(&[text.as_bytes()]).into_iter().map(|(_, data)| String::from_utf8(data).expect("text")).collect::<Vec<_>>();
    assert_eq!(scan("data: a\ndata:b\ndata\n\n"), ["a\nb\n"]);
    assert_eq!(scan("data:  a\n\n"), [" a"], "one space is taken off");
    assert_eq!(scan("data: a\n\n\n\n: c\n\nretry: 3\n\n"), ["a"], "without data there is no event");
    assert_eq!(scan("data: a\n\ndata: b"), ["a", "b"], "the last counts without its empty line");
    assert_eq!(scan("data:\n\n"), [""], "empty data is an event");
    assert_eq!(scan("dat: a\ndataa: b\n\n"), Vec::<String>::new());
}

#[test]
fn lengths_that_cannot_be_are_refused() {
    for (head, error) in [
        ("content-length: 3\r\ncontent-length: 4", HttpError::Length),
        ("content-length: -3", HttpError::Length),
        ("content-length: +3", HttpError::Length),
        ("content-length: 99999999999999999999", HttpError::Length),
        ("transfer-encoding: gzip, chunked", HttpError::Encoded("gzip, chunked".into())),
        ("content-encoding: br", HttpError::Encoded("br".into())),
    ] {
        let bytes = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n");
        assert_eq!(parse(&[bytes.as_bytes()], false).error, Some(error), "{head}");
    }
    for chunk in ["\r\n", "g\r\n", "-1\r\n", "10000000000000000\r\n", ";x\r\n", "1\r\nabc\r\n"] {
        let bytes = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{chunk}");
        let error = parse(&[bytes.as_bytes()], false).error;
        assert!(matches!(error, Some(HttpError::ChunkLength | HttpError::ChunkEnd)), "{chunk:?}: {error:?}");
    }
}
