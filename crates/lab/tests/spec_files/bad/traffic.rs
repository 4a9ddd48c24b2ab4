//! What is said about `[workload.traffic]`, and what a good one means.

use std::path::Path;

use bystander_lab::spec;
use bystander_model::traffic::{Amount, Arrival, Endpoint, Load, Prompt};
use insta::assert_snapshot;

use crate::shown::{FILE, shown};

/// A file whose traffic is under test.
fn file(traffic: &str) -> String {
    format!(
        "[program]\ncommand = ['serve', '{{port}}']\nready = {{ http = 'http://127.0.0.1:{{port}}/health' }}\n[plan]\ndescribe = true\n[workload.traffic]\n{traffic}"
    )
}

/// The load of a file without a problem.
fn load(traffic: &str) -> Load {
    let text = file(traffic);
    assert_eq!(shown(&text), "", "{traffic}");
    let plan = spec::parse(&text, Path::new(FILE)).expect("a good file").plan;
    plan.workload.and_then(|workload| workload.traffic).expect("traffic")
}

const LEAST: &str = "url = 'http://127.0.0.1:{port}'\nconcurrency = 8\nrequests = 10\nprompt = { tokens = 512 }\n";

#[test]
fn the_least_that_can_be_said_is_a_load() {
    let load = load(LEAST);
    assert_eq!((load.url.as_str(), load.model.as_deref(), load.endpoint), ("http://127.0.0.1:{port}", None, Endpoint::Chat));
    assert_eq!((load.arrival, load.amount, load.warmup), (Arrival::Closed { concurrency: 8 }, Amount::Requests(10), None));
    assert_eq!(load.prompt, Prompt::Random { tokens: 512, seed: None });
    assert_eq!((load.output_tokens, load.ignore_eos, load.timeout_s, load.errors, load.seed), (128, false, 300.0, 0.0, 1));
    assert!(load.api_key_env.is_none() && load.body.is_empty());
}

#[test]
fn everything_that_can_be_said_is_read() {
    let load = load(
        "url = 'http://127.0.0.1:{port}/v1'\nmodel = 'tiny'\nendpoint = 'completions'\nrate = 2.5\nevenly = true\nduration = '30s'\nwarmup = '5s'\n\
         prompt = { random = 64, seed = 7 }\noutput_tokens = 16\nignore_eos = true\ntimeout = '90s'\nerrors = 0.01\nseed = 3\n\
         api_key_env = 'OPENAI_API_KEY'\nbody = { temperature = 0.0, top_k = 1, stop = ['a', 'b'], extra = { deep = true } }",
    );
    assert_eq!((load.arrival, load.amount), (Arrival::Constant { rate: 2.5 }, Amount::Seconds(30.0)));
    assert_eq!((load.warmup, load.prompt), (Some(Amount::Seconds(5.0)), Prompt::Random { tokens: 64, seed: Some(7) }));
    assert_eq!(
        (load.model.as_deref(), load.endpoint, load.output_tokens, load.ignore_eos),
        (Some("tiny"), Endpoint::Completions, 16, true)
    );
    assert_eq!((load.timeout_s, load.errors, load.seed), (90.0, 0.01, 3));
    assert_eq!(load.api_key_env.as_deref(), Some("OPENAI_API_KEY"));
    assert_eq!(serde_json::Value::from(load.body).to_string(), r#"{"temperature":0.0,"top_k":1,"stop":["a","b"],"extra":{"deep":true}}"#);
}

#[test]
fn a_file_of_prompts_lies_beside_the_experiment() {
    let load = load("url = 'http://h:{port}'\nrate = 1\nrequests = 1\nprompt = { file = 'prompts.jsonl' }");
    assert_eq!((load.arrival, load.prompt), (Arrival::Poisson { rate: 1.0 }, Prompt::File { path: "/exp/prompts.jsonl".into() }));
}

#[test]
fn what_is_missing_is_told_in_one_go() {
    assert_snapshot!(shown(&file("")), @r###"
    error spec.missing_key 6:1 "[workload.traffic]"
      `url` is missing in `workload.traffic`
      help: add `url = "http://127.0.0.1:{port}"`
    error spec.missing_key 6:1 "[workload.traffic]"
      `workload.traffic` does not say how requests come
      help: add `concurrency = 8`, or `rate = 10.0` (requests a second, at random)
    error spec.missing_key 6:1 "[workload.traffic]"
      `workload.traffic` does not say how much there is of it
      help: add `requests = 200`, or `duration = "60s"`
    error spec.missing_key 6:1 "[workload.traffic]"
      `prompt` is missing in `workload.traffic`
      help: add `prompt = { tokens = 512 }`
    "###);
}

#[test]
fn what_excludes_each_other_is_told() {
    let both = "url = 'http://h:{port}'\nconcurrency = 1\nrate = 1\nrequests = 1\nduration = '1s'\nprompt = { tokens = 1, file = 'x' }";
    assert_snapshot!(shown(&file(both)), @r###"
    error spec.two_arrivals 9:1 "rate"
      requests come `concurrency` at a time, or at a `rate`, and here are both
      help: keep one of `concurrency` and `rate`
    error spec.two_amounts 11:1 "duration"
      so many `requests` are sent, or all of a `duration`, and here are both
      help: keep one of `requests` and `duration`
    error spec.two_sources 12:24 "file"
      `workload.traffic.prompt` names more than one source of prompts
      help: keep one of `tokens`, `random` and `file`
    "###);
    let command = file(LEAST).replace("[workload.traffic]", "[workload]\ncommand = ['load']\n[workload.traffic]");
    assert_snapshot!(shown(&command), @r###"
    error spec.two_workloads 7:1 "command"
      a workload is a command or built-in traffic, and here are both
      help: keep one of `command` and [workload.traffic]
    "###);
}

#[test]
fn values_that_cannot_be_are_refused_where_they_stand() {
    let bad = "url = 'https://h:{port}'\nendpoint = 'chats'\nconcurrency = 0\nrequests = 0\nwarmup = true\nprompt = { tokens = 0, seed = 1 }\n\
               output_tokens = 0\ntimeout = '0s'\nerrors = 1\nseed = -1\napi_key_env = 'sk-abc'\nbody = { messages = [], stream = false, x = 1979-05-27 }\nmodle = 'x'";
    assert_snapshot!(shown(&file(bad)), @r###"
    error spec.invalid_value 7:7 "'https://h:{port}'"
      `workload.traffic.url` must start with `http://`: traffic speaks plain HTTP
      help: write it like "http://127.0.0.1:{port}"
    error spec.invalid_value 8:12 "'chats'"
      `workload.traffic.endpoint` must be `chat` or `completions`, found `chats`
      help: did you mean `chat`?
    error spec.invalid_value 9:15 "0"
      `workload.traffic.concurrency` must be from 1 to 1000000
    error spec.invalid_value 10:12 "0"
      `workload.traffic.requests` must be from 1 to 1000000000
    error spec.wrong_type 11:10 "true"
      `workload.traffic.warmup` must be a number of requests, or a span of time such as "10s", found a truth value
      ^ a truth value
    error spec.invalid_value 12:21 "0"
      `workload.traffic.prompt.tokens` must be from 1 to 10000000
    error spec.invalid_value 12:24 "seed"
      `workload.traffic.prompt.seed` belongs to `random`: the prompts of a seed of their own are the same in every trial
      help: write { random = 512, seed = 1 }, or set `seed` in [workload.traffic]
    error spec.invalid_value 13:17 "0"
      `workload.traffic.output_tokens` must be from 1 to 10000000
    error spec.invalid_value 14:11 "'0s'"
      `workload.traffic.timeout` must be longer than nothing
    error spec.invalid_value 15:10 "1"
      `workload.traffic.errors` is the share of requests that may fail, from 0 to less than 1
      help: one percent is written 0.01
    error spec.invalid_value 16:8 "-1"
      `workload.traffic.seed` must be at least 0
    error spec.invalid_value 17:15 "'sk-abc'"
      `workload.traffic.api_key_env` is no name of a variable: write the name of the variable that holds the key, and never the key
      help: write api_key_env = "OPENAI_API_KEY"
    error spec.invalid_value 18:10 "messages"
      `workload.traffic.body.messages` is decided by the load, and not here
      help: write `prompt` in [workload.traffic]
    error spec.invalid_value 18:25 "stream"
      `workload.traffic.body.stream` is decided by the load, and not here
      help: take it out
    error spec.invalid_value 18:45 "1979-05-27"
      `workload.traffic.body.x` holds a date or time, which JSON does not know
      help: put it in quotes
    error spec.unknown_key 19:1 "modle"
      unknown key `modle` in `workload.traffic`
      ^ not a key of this table
      help: did you mean `model`?
    "###);
    for (bad, told) in [
        ("rate = 0", "must be greater than 0"),
        ("rate = inf", "must be greater than 0"),
        ("rate = nan", "must be greater than 0"),
        ("concurrency = 8\nevenly = true", "means nothing without `rate`"),
        ("concurrency = 8\nwarmup = -1", "must be from 0"),
        ("concurrency = 8\nerrors = nan", "is the share of requests that may fail"),
        ("concurrency = 8\nbody = { x = inf }", "JSON cannot hold"),
    ] {
        let shown = shown(&file(&format!("url = 'http://h:{{port}}'\nrequests = 1\nprompt = {{ tokens = 1 }}\n{bad}")));
        assert!(shown.contains(told), "{bad}: {shown}");
    }
    for (url, told) in [
        ("http://h:{port}/v1/chat/completions", "which `endpoint` chooses"),
        ("http://h:{port}/?a", "only a host, a port and a path belong here"),
        ("h:80", "write \"http://h:80\", or write it like \"http://127.0.0.1:{port}\""),
        ("http://:80", "names no host"),
    ] {
        let shown = shown(&file(&format!("url = '{url}'\nconcurrency = 1\nrequests = 1\nprompt = {{ tokens = 1 }}")));
        assert!(shown.contains(told), "{url}: {shown}");
    }
}

#[test]
fn traffic_needs_a_program_that_says_when_it_is_ready() {
    let text = file(LEAST).replace("ready = { http = 'http://127.0.0.1:{port}/health' }\n", "");
    assert!(shown(&text).contains("spec.workload_without_ready"), "{}", shown(&text));
}

#[test]
fn metrics_name_what_traffic_measures() {
    let metric = |name: &str| shown(&format!("{}[metrics]\nm = {{ from = '{name}' }}", file(LEAST)));
    assert_eq!(metric("traffic.ttft_p50"), "");
    assert_eq!(metric("traffic.error_rate"), "");
    assert!(metric("traffic.ttft_p51").contains("did you mean `traffic.ttft_p50`?"), "{}", metric("traffic.ttft_p51"));
}
