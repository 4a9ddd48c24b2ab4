//! What is said about `program.ready` beyond one address and one pattern, and about the `treatment` of a level.

use insta::assert_snapshot;

use crate::shown::shown;

/// A file that is valid but for its conditions.
fn ready(conditions: &str) -> String {
    shown(&format!("program = {{ command = ['serve', '{{port}}'], ready = {{ {conditions} }} }}\nplan.describe = true"))
}

/// A file that is valid but for the treatment of a level.
fn treatment(written: &str) -> String {
    shown(&format!(
        "program.command = ['serve']\nplan.baseline = {{ mode = 'a' }}\n[factors.mode]\na = {{}}\nb = {{ args = ['--b'], treatment = {written} }}"
    ))
}

#[test]
fn addresses_say_what_they_must_answer() {
    assert_snapshot!(ready("http = []"), @r###"
    error spec.invalid_value 1:61 "[]"
      `program.ready.http` is empty, and so no condition
    "###);
    assert_snapshot!(ready("http = 8000"), @r###"
    error spec.wrong_type 1:61 "8000"
      `program.ready.http` must be an address, or a table of an address and what it must answer, found a whole number
      ^ a whole number
      help: write http = { url = "http://127.0.0.1:{port}/health", status = 200, body = 'ok' }
    "###);
    assert_snapshot!(ready("http = { status = 200 }"), @r###"
    error spec.missing_key 1:61 "{ status = 200 }"
      `url` is missing in `program.ready.http`
      help: add `url = "http://127.0.0.1:{port}/health"`
    "###);
    assert_snapshot!(ready("http = { url = 'http://127.0.0.1:{port}/', status = 99, bdy = 'ok' }"), @r###"
    error spec.invalid_value 1:106 "99"
      `program.ready.http.status` must be from 100 to 599
    error spec.unknown_key 1:110 "bdy"
      unknown key `bdy` in `program.ready.http`
      ^ not a key of this table
      help: did you mean `body`?
    "###);
    assert_snapshot!(ready("http = { url = 'http://127.0.0.1:{port}/', status = [], body = 'ok|' }"), @r###"
    error spec.invalid_value 1:106 "[]"
      `program.ready.http.status` is empty: no answer would count
    error spec.invalid_value 1:117 "'ok|'"
      `program.ready.http.body` matches an empty body, so that any answer would count
      help: leave it out, or say more
    "###);
    assert_snapshot!(ready("http = ['http://127.0.0.1:{port}/', { url = 'https://h/', body = '(' }]"), @r###"
    error spec.invalid_value 1:98 "'https://h/'"
      `program.ready.http[1].url` must start with `http://`: readiness is asked in plain HTTP
      help: write it like "http://127.0.0.1:{port}/health"
    error spec.bad_pattern 1:120 "("
      `program.ready.http[1].body` is no valid pattern: unclosed group
      ^ unclosed group
    "###);
}

#[test]
fn lines_files_and_words_that_say_nothing_are_refused() {
    assert_snapshot!(ready("log = []"), @r###"
    error spec.invalid_value 1:60 "[]"
      `program.ready.log` is empty, and so no condition
    "###);
    assert_snapshot!(ready("log = 7"), @r###"
    error spec.wrong_type 1:60 "7"
      `program.ready.log` must be a pattern, or a list of patterns that must all match some line, found a whole number
      ^ a whole number
    "###);
    assert_snapshot!(ready("log = ['up', 'x*']"), @r###"
    error spec.invalid_value 1:67 "'x*'"
      `program.ready.log[1]` matches an empty line, so that any output would count as ready
    "###);
    assert_snapshot!(ready("file = ' '"), @r###"
    error spec.invalid_value 1:61 "' '"
      `program.ready.file` names no file
      help: write it like file = "{trial}/ready", or relative to `program.cwd`
    "###);
    assert_snapshot!(ready("file = '{trail}/'"), @r###"
    warning spec.unknown_placeholder 1:61 "'{trail}/'"
      `{trail}` is no placeholder and stays as it is
      note: placeholders are `{port}`, `{trial}`, `{number}`, `{python}`, `{folder}`, `{cache}`, `{seed}`, `{gpus}` or `{lane}`
      help: did you mean `{trial}`?
    error spec.invalid_value 1:61 "'{trail}/'"
      `program.ready.file` names no file
      help: write it like file = "{trial}/ready", or relative to `program.cwd`
    "###);
    assert_snapshot!(ready("notify = 'yes'"), @r###"
    error spec.wrong_type 1:63 "'yes'"
      `program.ready.notify` must be `true` or `false`, found a string
      ^ a string
    "###);
    assert_snapshot!(ready("notify = false"), @r###"
    error spec.invalid_value 1:63 "false"
      `program.ready.notify` is no condition when it is `false`
      help: leave it out
    "###);
    assert_snapshot!(ready("stable = '2s'"), @r###"
    error spec.invalid_value 1:52 "{ stable = '2s' }"
      `program.ready` names no condition
      help: write ready = { http = "http://127.0.0.1:{port}/health", log = "ready" }, or one of the two
    "###);
    assert_snapshot!(ready("log = 'up', stable = 2"), @r###"
    error spec.wrong_type 1:75 "2"
      `program.ready.stable` must be a span of time, a string such as "15m", found a whole number
      ^ a whole number
      help: say the unit: "2s"
    "###);
}

#[test]
fn a_command_and_a_completion_are_checked_too() {
    assert_snapshot!(ready("command = 'curl -f http://127.0.0.1'"), @r###"
    error spec.wrong_type 1:64 "'curl -f http://127.0.0.1'"
      `program.ready.command` must be a list of strings, found a string
      ^ a string
      help: write a list, one element for each argument: ["curl", "-f", "http://127.0.0.1"]
    "###);
    assert_snapshot!(ready("command = { command = ['true'], timeout = '0s', limit = '1s' }"), @r###"
    error spec.invalid_value 1:96 "'0s'"
      `program.ready.command.timeout` must be longer than nothing
    error spec.unknown_key 1:102 "limit"
      unknown key `limit` in `program.ready.command`
      ^ not a key of this table
      note: valid keys here are `command` and `timeout`
      help: `limit` belongs in `[[probes]]`
    "###);
    assert_snapshot!(ready("command = {}"), @r###"
    error spec.missing_key 1:64 "{}"
      `command` is missing in `program.ready.command`
      help: add `command = ["python3", "app.py"]`
    "###);
    assert_snapshot!(ready("generates = false"), @r###"
    error spec.invalid_value 1:66 "false"
      `program.ready.generates` is no condition when it is `false`
      help: leave it out
    "###);
    assert_snapshot!(ready("generates = 'tiny'"), @r###"
    error spec.wrong_type 1:66 "'tiny'"
      `program.ready.generates` must be `true` or a table, found a string
      ^ a string
      help: write generates = true, or generates = { model = "NAME" }
    "###);
    assert_snapshot!(ready("generates = { name = 'tiny', model = '', url = '127.0.0.1:{port}' }"), @r###"
    error spec.unknown_key 1:68 "name"
      unknown key `name` in `program.ready.generates`
      ^ not a key of this table
      note: valid keys here are `url`, `model` and `prompt`
      help: `name` belongs in `[[probes]]`
    error spec.invalid_value 1:91 "''"
      `program.ready.generates.model` is empty
    error spec.invalid_value 1:101 "'127.0.0.1:{port}'"
      `program.ready.generates.url` must start with `http://`
      help: write it like "http://127.0.0.1:{port}/health"
    "###);
    assert_snapshot!(ready("generate = true"), @r###"
    error spec.unknown_key 1:54 "generate"
      unknown key `generate` in `program.ready`
      ^ not a key of this table
      help: did you mean `generates`?
    "###);
}

#[test]
fn a_treatment_names_what_is_to_be_seen() {
    assert_snapshot!(treatment("true"), @r###"
    error spec.wrong_type 5:35 "true"
      `factors.mode.b.treatment` must be a table, found a truth value
      ^ a truth value
      help: write treatment = { log = 'custom all-reduce is on' }, or { configuration = 'disable_custom_all_reduce=False' }
    "###);
    assert_snapshot!(treatment("{}"), @r###"
    error spec.invalid_value 5:35 "{}"
      `factors.mode.b.treatment` names nothing to be seen
      help: write treatment = { log = 'custom all-reduce is on' }, or { configuration = 'disable_custom_all_reduce=False' }
    "###);
    assert_snapshot!(treatment("{ log = '.*' }"), @r###"
    error spec.invalid_value 5:43 "'.*'"
      `factors.mode.b.treatment.log` matches an empty text, so that it would be seen in every trial
    "###);
    assert_snapshot!(treatment("{ log = 'on (', config = 'x' }"), @r###"
    error spec.bad_pattern 5:47 "("
      `factors.mode.b.treatment.log` is no valid pattern: unclosed group
      ^ unclosed group
    error spec.unknown_key 5:51 "config"
      unknown key `config` in `factors.mode.b.treatment`
      ^ not a key of this table
      help: valid keys here are `log` and `configuration`
    "###);
    assert_snapshot!(treatment("{ configuration = 7 }"), @r###"
    error spec.wrong_type 5:53 "7"
      `factors.mode.b.treatment.configuration` must be a string, found a whole number
      ^ a whole number
    "###);
}

#[test]
fn what_must_hold_for_longer_than_a_launch_may_take_is_refused() {
    let timed = |limit: &str, stable: &str| {
        shown(&format!("program = {{ command = ['serve'], {limit}ready = {{ log = 'up', stable = '{stable}' }} }}\nplan.describe = true"))
    };
    assert_snapshot!(timed("timeout = '5s', ", "20s"), @r###"
    error spec.invalid_value 1:81 "'20s'"
      `program.ready.stable` is 20 s, and `program.timeout` is 5 s: no launch could be seen to hold so long within its limit
      help: shorten `stable`, or raise `timeout` to more than the start and `stable` take together
    "###);
    assert!(timed("", "15m").contains("where the file does not say, is 900 s"), "{}", timed("", "15m"));
    assert!(timed("timeout = '5s', ", "5s").contains("spec.invalid_value"));
    assert!(!timed("timeout = '5s', ", "4s").contains("stable"), "{}", timed("timeout = '5s', ", "4s"));
    // The default counts as much: it is longer where nothing else tests the program.
    let usual = |limit: &str, workload: &str| {
        shown(&format!("plan.describe = true\n{workload}\n[program]\ncommand = ['serve']\ntimeout = '{limit}'\nready = {{ log = 'up' }}"))
    };
    assert_snapshot!(usual("1s", ""), @r#"
    error spec.invalid_value 5:11 "'1s'"
      `program.timeout` is 1 s, and what `ready` names must go on holding for 2 s, the default where `stable` is not said and there is no workload: no launch could be seen to hold so long within its limit
      help: raise `timeout` to more than the start and those 2 s take together, or write `stable = "0s"` in `ready`
    "#);
    assert_snapshot!(usual("200ms", "workload.command = ['ask']"), @r#"
    error spec.invalid_value 5:11 "'200ms'"
      `program.timeout` is 0.2 s, and what `ready` names must go on holding for 0.25 s, the default where `stable` is not said: no launch could be seen to hold so long within its limit
      help: raise `timeout` to more than the start and those 0.25 s take together, or write `stable = "0s"` in `ready`
    "#);
    assert_eq!((usual("3s", ""), usual("1s", "workload.command = ['ask']")), (String::new(), String::new()));
    // Without conditions nothing has to hold.
    assert_eq!(shown("plan.describe = true\nprogram = { command = ['true'], timeout = '1s' }"), "");
}
