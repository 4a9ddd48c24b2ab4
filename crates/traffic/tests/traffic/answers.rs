//! Good answers: what is counted and how it is timed.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bystander_model::traffic::{Amount, Endpoint, Load, Prompt};
use bystander_testkit::endpoint::{DONE, LAST_CHUNK, STREAM_HEAD, Step, answer, chunked, event, piece, usage};
use serde_json::{Value, json};

use crate::asked::{PACE, load, of_steps, run, run_in, server};

#[test]
fn a_good_server_passes_with_every_token_counted() {
    let server = server(|_| Step::good(20, PACE, 33));
    let (summary, folder) = run_in(&load(&server, 40));
    assert_eq!(summary.failure, None, "{summary:#?}");
    assert_eq!((summary.sent, summary.completed, summary.output_tokens, summary.chunks), (40, 40, 800, 800));
    assert_eq!((summary.input_tokens, summary.tokens_from.as_str(), summary.tokens_per_chunk), (Some(1320), "usage", Some(1.0)));
    assert_eq!(summary.error_rate, 0.0);
    let (ttft, e2e, itl) = (summary.ttft.expect("ttft"), summary.e2e.expect("e2e"), summary.itl.expect("itl"));
    assert_eq!((ttft.n, e2e.n, itl.n), (40, 40, 760));
    // Twenty tokens at a pace take nineteen paces at least, and their first comes one pace after the opening.
    assert!(e2e.p50 >= 19.0 * PACE.as_secs_f64() && ttft.p50 >= 0.9 * PACE.as_secs_f64(), "{summary:#?}");
    assert!(summary.connect.expect("connections").n <= 40 && summary.retried == 0, "{summary:#?}");
    for name in ["ttft", "itl", "tpot", "e2e", "connect", "client_lag", "clock_error"] {
        let bytes = std::fs::read(folder.path().join(format!("{name}.hdr"))).expect("a histogram");
        let histogram: hdrhistogram::Histogram<u64> =
            hdrhistogram::serialization::Deserializer::new().deserialize(&mut bytes.as_slice()).expect("a histogram in V2");
        assert!(!histogram.is_empty(), "{name}");
    }
    let rows = std::fs::read_to_string(folder.path().join("requests.jsonl")).expect("rows");
    let rows: Vec<Value> = rows.lines().map(|row| serde_json::from_str(row).expect("a row")).collect();
    assert_eq!(rows.len(), 40);
    for row in rows {
        let at = |name: &str| row[name].as_u64().expect("a time");
        let order = [at("intended_ns"), at("started_ns"), at("first_ns"), at("last_ns"), at("end_ns")];
        assert!(order.is_sorted(), "{row}");
    }
}

#[test]
fn a_silence_before_the_first_token_is_told_and_a_server_that_is_always_slow_is_not() {
    let silence = Duration::from_millis(1100);
    let cold = || {
        let mut asked = 0;
        server(move |_| {
            asked += 1;
            let wait = (asked <= 4).then_some(Step::Wait(silence));
            wait.into_iter().chain(Step::good(4, PACE, 5)).collect()
        })
    };
    let told = |summary: &bystander_model::traffic::Summary| {
        summary.notes.iter().any(|note| note.starts_with("Nothing was served in the first 1."))
    };
    let server_of_all = cold();
    let summary = run(&load(&server_of_all, 200));
    assert!(summary.failure.is_none() && told(&summary), "{summary:#?}");

    let server_of_the_rest = cold();
    let mut excluded = load(&server_of_the_rest, 20);
    excluded.warmup = Some(Amount::Requests(4));
    assert!(!told(&run(&excluded)));
    let slow = server(move |_| [Step::Wait(silence)].into_iter().chain(Step::good(4, PACE, 5)).collect());
    let summary = run(&load(&slow, 8));
    assert!(summary.failure.is_none() && !told(&summary), "{summary:#?}");
}

#[test]
fn connections_are_used_again() {
    let server = server(|_| Step::good(4, PACE, 5));
    let summary = run(&load(&server, 60));
    assert_eq!(summary.completed, 60);
    assert_eq!(summary.connect.expect("connections").n, 4, "four at a time need four connections");
}

#[test]
fn the_request_says_what_the_load_says_and_no_two_prompts_are_alike() {
    let seen: Arc<Mutex<Vec<(String, Value)>>> = Arc::default();
    let keep = Arc::clone(&seen);
    let server = server(move |asked| {
        keep.lock().expect("kept").push((asked.head.to_owned(), serde_json::from_slice(asked.body).expect("JSON")));
        Step::good(3, PACE, 5)
    });
    let mut load = load(&server, 10);
    load.ignore_eos = true;
    load.output_tokens = 3;
    load.body = serde_json::Map::from_iter([
        ("temperature".to_owned(), json!(0.0)),
        ("stream_options".to_owned(), json!({"include_usage": true, "x": 1})),
    ]);
    assert_eq!(run(&load).failure, None);
    let seen = seen.lock().expect("seen");
    let mut prompts = BTreeSet::new();
    for (head, body) in seen.iter() {
        assert!(
            head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n") && head.to_lowercase().contains("accept-encoding: identity"),
            "{head}"
        );
        assert_eq!((&body["model"], &body["max_tokens"], &body["stream"]), (&json!("mock"), &json!(3), &json!(true)));
        assert_eq!((&body["ignore_eos"], &body["temperature"]), (&json!(true), &json!(0.0)));
        assert_eq!(body["stream_options"], json!({"include_usage": true, "x": 1}), "the file's own body wins");
        prompts.insert(body["messages"][0]["content"].as_str().expect("a prompt").to_owned());
    }
    assert_eq!((seen.len(), prompts.len()), (10, 10));
}

#[test]
fn answers_shorter_than_asked_are_told_where_the_engine_was_to_ignore_the_end() {
    let server = server(|_| Step::good(5, PACE, 5));
    let told = |ignore_eos: bool, output_tokens: u32| {
        let load = Load { ignore_eos, output_tokens, ..load(&server, 4) };
        run(&load).notes.iter().any(|note| note.contains("shorter than was asked for: 5.0 tokens"))
    };
    assert!(told(true, 20));
    assert!(!told(false, 20) && !told(true, 5));
}

#[test]
fn completions_are_asked_at_their_own_address_with_prompts_of_a_file_in_turn() {
    let file = tempfile::NamedTempFile::new().expect("file");
    std::fs::write(file.path(), "one\ntwo\nthree\n").expect("written");
    let server = server(|asked| {
        assert!(asked.head.starts_with("POST /engine/v1/completions "), "{}", asked.head);
        let end = [chunked(DONE), LAST_CHUNK.to_vec()].concat();
        vec![Step::Send(STREAM_HEAD.to_vec()), Step::Stream { pieces: 5, pace: PACE, chat: false }, Step::Send(end)]
    });
    let mut load = load(&server, 6);
    load.url = format!("{}/engine/v1/", server.url());
    load.endpoint = Endpoint::Completions;
    load.arrival = bystander_model::traffic::Arrival::Closed { concurrency: 1 };
    load.prompt = Prompt::File { path: file.path().to_owned() };
    let summary = run(&load);
    assert_eq!(summary.failure, None, "{summary:#?}");
    let prompts: Vec<String> = server.served().into_iter().map(|served| served.prompt).collect();
    assert_eq!(prompts, ["one", "two", "three", "one", "two", "three"]);
    assert_eq!((summary.output_tokens, summary.tokens_from.as_str(), summary.tokens_per_chunk), (30, "chunks", None));
    assert!(summary.notes.iter().any(|note| note.contains("did not count the tokens of 6 of 6")), "{:?}", summary.notes);
    assert!(summary.notes.iter().any(|note| note.contains("asked 2.0 times")), "{:?}", summary.notes);
}

#[test]
fn chunks_with_several_tokens_are_counted_by_the_server_and_told() {
    // Speculative decoding: five chunks, and the server counts twenty tokens.
    let end = [chunked(&usage(10, 20)), chunked(DONE), LAST_CHUNK.to_vec()].concat();
    let summary =
        of_steps(4, vec![Step::Send(STREAM_HEAD.to_vec()), Step::Stream { pieces: 5, pace: 4 * PACE, chat: true }, Step::Send(end)]);
    assert_eq!((summary.output_tokens, summary.chunks, summary.tokens_per_chunk), (80, 20, Some(4.0)));
    let (itl, tpot) = (summary.itl.expect("itl"), summary.tpot.expect("tpot"));
    assert!((itl.mean / tpot.mean - 4.0).abs() < 0.2, "{itl:?} {tpot:?}");
    assert!(summary.notes.iter().any(|note| note.contains("A chunk held 4.00 tokens")), "{:?}", summary.notes);
}

#[test]
fn tokens_that_show_no_text_are_told_by_the_server_s_count() {
    // Random weights: every piece is empty, and the server counts.
    let empty = event(&json!({"choices": [{"index": 0, "delta": {"content": ""}}]}));
    let mut steps = vec![Step::Send([STREAM_HEAD, &chunked(bystander_testkit::endpoint::OPENING)].concat())];
    for _ in 0..8 {
        steps.extend([Step::Wait(PACE), Step::Send(chunked(&empty))]);
    }
    let counted = [steps.clone(), vec![Step::Send([chunked(&usage(10, 8)), chunked(DONE), LAST_CHUNK.to_vec()].concat())]].concat();
    let summary = of_steps(3, counted);
    assert_eq!((summary.failure.as_deref(), summary.output_tokens, summary.chunks), (None, 24, 24));
    assert!(summary.ttft.expect("ttft").p50 >= 0.9 * PACE.as_secs_f64());
    let uncounted = [steps, vec![Step::Send([chunked(DONE), LAST_CHUNK.to_vec()].concat())]].concat();
    let summary = of_steps(3, uncounted);
    assert_eq!(summary.errors.get("empty"), Some(&3), "{summary:#?}");
}

#[test]
fn a_server_that_refuses_to_count_is_asked_again_without() {
    let server = server(|asked| {
        if String::from_utf8_lossy(asked.body).contains("stream_options") {
            return vec![Step::Send(answer(400, "application/json", r#"{"error":"extra inputs are not permitted: stream_options"}"#))];
        }
        let end = [chunked(DONE), LAST_CHUNK.to_vec()].concat();
        vec![Step::Send(STREAM_HEAD.to_vec()), Step::Stream { pieces: 5, pace: PACE, chat: true }, Step::Send(end)]
    });
    let summary = run(&load(&server, 12));
    assert_eq!((summary.failure.as_deref(), summary.completed, summary.output_tokens), (None, 12, 60));
    assert!((1..=4).contains(&summary.retried), "{summary:#?}");
    assert!(summary.notes.iter().any(|note| note.contains("refuses stream_options")), "{:?}", summary.notes);
}

#[test]
fn the_warm_up_is_counted_apart_and_enters_nothing() {
    let server = server(|asked| if asked.number < 6 { Step::good(5, 20 * PACE, 3) } else { Step::good(5, PACE, 3) });
    let mut load = load(&server, 8);
    load.warmup = Some(Amount::Requests(6));
    let summary = run(&load);
    assert_eq!((summary.warmup.sent, summary.warmup.completed, summary.sent, summary.completed), (6, 6, 8, 8));
    assert_eq!((summary.output_tokens, summary.ttft.expect("ttft").n), (40, 8));
    // The slow start is not in it: a slow answer takes a hundred paces.
    assert!(summary.e2e.expect("e2e").p50 < 100.0 * PACE.as_secs_f64(), "{summary:#?}");
}

#[test]
fn a_load_by_time_takes_every_request_that_started_in_it_to_its_end() {
    let server = server(|_| Step::good(10, 4 * PACE, 3));
    let mut load = load(&server, 0);
    load.amount = Amount::Seconds(0.3);
    let summary = run(&load);
    assert_eq!(summary.failure, None, "{summary:#?}");
    assert!(summary.sent >= 4 && summary.completed == summary.sent, "{summary:#?}");
    assert!(summary.wall_s >= 0.25, "{summary:#?}");
}

#[test]
fn the_model_is_asked_for_where_nobody_names_it() {
    let server = server(|asked| {
        if asked.head.starts_with("GET /v1/models ") {
            return vec![Step::Send(answer(200, "application/json", r#"{"object":"list","data":[{"id":"served"},{"id":"other"}]}"#))];
        }
        assert!(String::from_utf8_lossy(asked.body).contains(r#""model":"served""#));
        Step::good(3, PACE, 3)
    });
    let mut load = load(&server, 4);
    load.model = None;
    let summary = run(&load);
    assert_eq!((summary.failure.as_deref(), summary.model.as_str()), (None, "served"));
}

#[test]
fn bytes_that_come_one_by_one_are_the_same_answer() {
    let whole = [STREAM_HEAD, &chunked(piece(true)), &chunked(&usage(9, 1)), &chunked(DONE), LAST_CHUNK].concat();
    let steps = whole.iter().flat_map(|byte| [Step::Send(vec![*byte]), Step::Wait(Duration::from_micros(20))]).collect();
    let summary = of_steps(2, steps);
    assert_eq!((summary.failure.as_deref(), summary.output_tokens, summary.input_tokens), (None, 2, Some(18)), "{summary:#?}");
}
