//! What is said about the metrics that tell of a command's requests, and what good ones mean.

use std::path::Path;

use bystander_lab::plan::{Count, RequestCounts};
use bystander_lab::spec;
use insta::assert_snapshot;

use crate::shown::{FILE, shown};

/// A file whose `[workload]` is under test.
fn file(workload: &str) -> String {
    format!(
        "[program]\ncommand = ['serve', '{{port}}']\nready = {{ port = '{{port}}' }}\n[plan]\ndescribe = true\n[metrics]\nok = {{ workload = 'ok: (\\d+)' }}\n\
         bad = {{ workload = 'bad: (\\d+)' }}\nall = {{ file = '{{trial}}/out.json', json = 'all' }}\nrss = {{ from = 'peak_rss' }}\n[workload]\n{workload}"
    )
}

fn of_command(more: &str) -> String {
    shown(&file(&format!("command = ['bench']\n{more}")))
}

fn counts(more: &str) -> Option<RequestCounts> {
    let text = file(&format!("command = ['bench']\n{more}"));
    assert_eq!(shown(&text), "", "{more}");
    spec::parse(&text, Path::new(FILE)).expect("a good file").plan.request_counts().cloned()
}

fn some(name: &str) -> Option<String> {
    Some(name.to_owned())
}

#[test]
fn a_share_or_two_of_three_counts_tell_the_requests() {
    assert_eq!(counts(""), None);
    assert_eq!(counts("error_rate = 'bad'"), Some(RequestCounts { error_rate: some("bad"), ..RequestCounts::default() }));
    let both = RequestCounts { completed: some("ok"), failed: some("bad"), tolerated: 0.05, ..RequestCounts::default() };
    assert_eq!(counts("completed = 'ok'\nfailed = 'bad'\nerrors = 0.05"), Some(both));
    let fixed = RequestCounts { completed: some("ok"), requests: Some(Count::Fixed(200)), tokens: some("all"), ..RequestCounts::default() };
    assert_eq!(counts("completed = 'ok'\nrequests = 200\ntokens = 'all'"), Some(fixed));
    let counted = RequestCounts { failed: some("bad"), requests: Some(Count::Metric("all".to_owned())), ..RequestCounts::default() };
    assert_eq!(counts("failed = 'bad'\nrequests = 'all'"), Some(counted));
}

#[test]
fn names_of_no_metric_are_told_with_the_nearest() {
    assert_snapshot!(of_command("error_rate = 'badd'"), @r#"
    error spec.unknown_metric 13:14 "'badd'"
      there is no metric `badd`
      help: did you mean `bad`?
    "#);
    assert_snapshot!(of_command("completed = 'ok'\nfailed = 'elsewhere'"), @r#"
    error spec.unknown_metric 14:10 "'elsewhere'"
      there is no metric `elsewhere`
      help: metrics are `ok`, `bad`, `all` and `rss`
    "#);
    assert_snapshot!(of_command("failed = 'bad'\nrequests = 'rss'"), @r#"
    error spec.invalid_value 14:12 "'rss'"
      `workload.requests` is `rss`, which Bystander measures; it is not told by the workload
      help: name a metric that is read of the workload's output, or of a file
    "#);
    assert_snapshot!(of_command("error_rate = 0.1"), @r#"
    error spec.wrong_type 13:14 "0.1"
      `workload.error_rate` must be the name of a metric, found a number with a fraction
      ^ a number with a fraction
      help: declare it: [metrics] bad = { workload = 'Failed requests:\s+(\d+)' }
    "#);
    assert_snapshot!(of_command("failed = 'bad'\nrequests = 0"), @r#"
    error spec.invalid_value 14:12 "0"
      `workload.requests` must be from 1 to 1000000000
    "#);
    assert_snapshot!(of_command("failed = 'bad'\nrequests = true"), @r#"
    error spec.wrong_type 14:12 "true"
      `workload.requests` must be a number of requests, or the name of a metric, found a truth value
      ^ a truth value
    "#);
}

#[test]
fn too_little_and_too_much_is_told() {
    assert_snapshot!(of_command("failed = 'bad'"), @r#"
    error spec.invalid_value 13:1 "failed"
      `workload.failed` alone tells no share of requests that failed
      help: add `requests = 200`, or a metric that counts them
    "#);
    assert_snapshot!(of_command("requests = 20"), @r#"
    error spec.invalid_value 13:1 "requests"
      `workload.requests` alone tells no share of requests that failed
      help: add `failed = "METRIC"`
    "#);
    assert_snapshot!(of_command("errors = 0.1"), @r#"
    error spec.invalid_value 13:1 "errors"
      `workload.errors` means nothing where nothing tells the requests
      help: write `failed = "METRIC"` and `requests = 200`, or `error_rate = "METRIC"`
    "#);
    assert_snapshot!(of_command("completed = 'ok'\nfailed = 'bad'\nrequests = 'all'"), @r#"
    error spec.invalid_value 15:1 "requests"
      `workload.requests` is told by the other two
      help: take one of the three out
    "#);
    assert_snapshot!(of_command("error_rate = 'ok'\nfailed = 'bad'"), @r#"
    error spec.invalid_value 14:1 "failed"
      `workload.failed` counts what `error_rate` tells already
      help: keep one of the two
    "#);
    assert_snapshot!(of_command("completed = 'ok'\nfailed = 'ok'"), @r#"
    error spec.invalid_value 14:10 "'ok'"
      `workload.failed` names the metric that `workload.completed` names
    "#);
    assert_snapshot!(of_command("error_rate = 'bad'\nerrors = 5"), @r#"
    error spec.invalid_value 14:10 "5"
      `workload.errors` is the share of requests that may fail, from 0 to less than 1
      help: one percent is written 0.01
    "#);
}

#[test]
fn built_in_traffic_counts_its_own() {
    let traffic = "[workload.traffic]\nurl = 'http://127.0.0.1:{port}'\nconcurrency = 8\nrequests = 10\nprompt = { tokens = 512 }\n";
    assert_snapshot!(shown(&file(&format!("errors = 0.1\nfailed = 'bad'\n{traffic}"))), @r#"
    error spec.invalid_value 7:8 "workload"
      `metrics.ok.workload` needs a workload that prints, and built-in traffic prints nothing
      help: read what it measures: from = "traffic.…"
    error spec.invalid_value 8:9 "workload"
      `metrics.bad.workload` needs a workload that prints, and built-in traffic prints nothing
      help: read what it measures: from = "traffic.…"
    error spec.invalid_value 12:1 "errors"
      `workload.errors` is for a command: built-in traffic counts the requests that failed itself
      help: `errors` belongs in [workload.traffic]
    error spec.invalid_value 13:1 "failed"
      `workload.failed` is for a command: built-in traffic counts the requests that failed itself
      help: take it out
    "#);
}
