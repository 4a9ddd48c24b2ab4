//! What is said about the file as a whole, `[program]` and `[workload]`.

use insta::assert_snapshot;

use super::probe;
use crate::shown::shown;

/// A file that is valid but for the part under test.
fn program(more: &str) -> String {
    shown(&format!("[program]\ncommand = ['true']\n{more}\n[plan]\ndescribe = true"))
}

#[test]
fn an_empty_file_says_what_is_missing() {
    assert_snapshot!(shown(""), @r###"
    error spec.missing_key (no place)
      `program` is missing in the experiment file
      help: add `program.command = ["python3", "app.py"]`
    error spec.nothing_to_compare (no place)
      the plan has one cell, and so nothing to compare
      help: add a factor or an instrument, or write `describe = true` in [plan] to describe one cell
    "###);
    assert_snapshot!(shown("[progam]\ncommand = ['true']\n[factor.a]\n[plan]\ndescribe = true"), @r###"
    error spec.unknown_key 1:2 "progam"
      unknown key `progam` in the experiment file
      ^ not a key of this table
      help: did you mean `program`?
    error spec.unknown_key 3:2 "factor"
      unknown key `factor` in the experiment file
      ^ not a key of this table
      help: did you mean `factors`?
    "###);
    assert_snapshot!(shown("[program]\n"), @r###"
    error spec.nothing_to_compare (no place)
      the plan has one cell, and so nothing to compare
      help: add a factor or an instrument, or write `describe = true` in [plan] to describe one cell
    error spec.missing_key 1:1 "[program]"
      `command` is missing in `[program]`
      help: add `command = ["python3", "app.py"]`
    "###);
}

#[test]
fn text_that_is_no_toml_is_shown_at_its_place() {
    assert_snapshot!(shown("[program\ncommand = ['true']"), @r###"
    error spec.syntax 1:9 ""
      this is no TOML: unclosed table, expected `]`
    "###);
    assert_snapshot!(shown("question = \"open\n[program]\n"), @r###"
    error spec.syntax 1:17 ""
      this is no TOML: invalid basic string, expected `"`
    "###);
    assert_snapshot!(shown("metrics.m = { log = \"tokens=(\\d+)\" }"), @r###"
    error spec.syntax 1:31 ""
      this is no TOML: missing escaped value, expected `b`, `e`, `f`, `n`, `r`, `\`, `"`, `x`, `u`, `U`
      help: in double quotes a backslash starts an escape; write patterns in single quotes: '(\d+)'
    "###);
    assert_snapshot!(shown("question = 'a'\nquestion = 'b'"), @r###"
    error spec.duplicate_key 2:1 "question"
      `question` is defined twice
      help: a key stands once in its table, and a table has one header
    "###);
    assert_snapshot!(shown("[program]\ncommand = ['a']\n[program]\n"), @r###"
    error spec.duplicate_key 3:2 "program"
      `program` is defined twice
      help: a key stands once in its table, and a table has one header
    "###);
    assert_snapshot!(shown("question = "), @r###"
    error spec.syntax 1:12 ""
      this is no TOML: string values must be quoted, expected literal string
    "###);
}

#[test]
fn unknown_keys_name_the_nearest_or_the_place_they_belong_in() {
    assert_snapshot!(program("comand = ['x']"), @r###"
    error spec.unknown_key 3:1 "comand"
      unknown key `comand` in `[program]`
      ^ not a key of this table
      help: did you mean `command`?
    "###);
    assert_snapshot!(program("colour = 1"), @r###"
    error spec.unknown_key 3:1 "colour"
      unknown key `colour` in `[program]`
      ^ not a key of this table
      help: valid keys here are `command`, `python`, `cwd`, `env`, `ready`, `timeout`, `stall`, `grace` and `fresh`
    "###);
    assert_snapshot!(program("log = 'x'"), @r###"
    error spec.unknown_key 3:1 "log"
      unknown key `log` in `[program]`
      ^ not a key of this table
      note: valid keys here are `command`, `python`, `cwd`, `env`, `ready`, `timeout`, `stall`, `grace` and `fresh`
      help: `log` belongs in `program.ready`
    "###);
    assert_snapshot!(program("ready = { htp = 'http://h:{port}' }"), @r###"
    error spec.unknown_key 3:11 "htp"
      unknown key `htp` in `program.ready`
      ^ not a key of this table
      help: did you mean `http`?
    "###);
    assert_snapshot!(program("[progam]\n[\"a\\nb\"]"), @r###"
    error spec.unknown_key 3:2 "progam"
      unknown key `progam` in the experiment file
      ^ not a key of this table
      help: did you mean `program`?
    error spec.unknown_key 4:2 "\"a\\nb\""
      unknown key `a\nb` in the experiment file
      ^ not a key of this table
      help: valid keys here are `question`, `on`, `lease`, `program`, `workload`, `factors`, `probes`, `edits`, `metrics`, `plan`, `hypotheses`, `evidence`, `conditions` and `hooks`
    "###);
    assert_snapshot!(probe("name = 'p'\nat = 'm:f'\ncaptures = []"), @r###"
    error spec.unknown_key 6:1 "captures"
      unknown key `captures` in `[[probes]]`
      ^ not a key of this table
      help: did you mean `capture`?
    "###);
}

#[test]
fn commands_are_lists() {
    assert_snapshot!(shown("program.command = 'python3 -m engine'\nplan.describe = true"), @r###"
    error spec.wrong_type 1:19 "'python3 -m engine'"
      `program.command` must be a list of strings, found a string
      ^ a string
      help: write a list, one element for each argument: ["python3", "-m", "engine"]
    "###);
    assert_snapshot!(shown("program.command = 'a | b'\nplan.describe = true"), @r###"
    error spec.wrong_type 1:19 "'a | b'"
      `program.command` must be a list of strings, found a string
      ^ a string
      help: write a list; for a shell line, name the shell: ["sh", "-c", 'a | b']
    "###);
    assert_snapshot!(shown("program.command = []\nplan.describe = true"), @r###"
    error spec.invalid_value 1:19 "[]"
      `program.command` names no program
      help: the first element is the program: ["python3", "app.py"]
    "###);
    assert_snapshot!(shown("program.command = ['']\nplan.describe = true"), @r###"
    error spec.invalid_value 1:19 "['']"
      `program.command` names no program
      help: the first element is the program: ["python3", "app.py"]
    "###);
    assert_snapshot!(shown("program.command = ['serve', '--port', 8000]\nplan.describe = true"), @r###"
    error spec.wrong_type 1:39 "8000"
      `program.command[2]` must be a string, found a whole number
      ^ a whole number
      help: put it in quotes: "8000"
    "###);
    assert_snapshot!(shown("program.command = ['serve', '--port={prot}', '{x}', \"\\u0000\"]\nplan.describe = true"), @r###"
    warning spec.unknown_placeholder 1:29 "'--port={prot}'"
      `{prot}` is no placeholder and stays as it is
      note: placeholders are `{port}`, `{trial}`, `{number}`, `{python}`, `{folder}`, `{cache}`, `{seed}`, `{gpus}` or `{lane}`
      help: did you mean `{port}`?
    error spec.invalid_value 1:53 "\"\\u0000\""
      `program.command[3]` holds a null character, which no process can be given
    "###);
    assert_snapshot!(shown("program = { command = ['serve', '{x}'], env = { Q = '{x}', R = 'a{x}', S = '{port}', BYSTANDER_TRIAL = '1' } }\nplan.describe = true"), @r###"
    warning spec.unknown_placeholder 1:53 "'{x}'"
      `{x}` is no placeholder and stays as it is
      note: placeholders are `{port}`, `{trial}`, `{number}`, `{python}`, `{folder}`, `{cache}`, `{seed}`, `{gpus}` or `{lane}`
    error spec.invalid_value 1:86 "BYSTANDER_TRIAL"
      `program.env.BYSTANDER_TRIAL` is Bystander's own: by it the processes of a launch are found again
    "###);
    assert_snapshot!(shown("program = ['true']\nplan.describe = true"), @r###"
    error spec.wrong_type 1:11 "['true']"
      `program` must be a table, found a list
      ^ a list
    "###);
}

#[test]
fn environments_are_strings_and_folders_are_paths() {
    assert_snapshot!(program("env = { DEBUG = 1, 'A=B' = 'c' }"), @r###"
    error spec.wrong_type 3:17 "1"
      `program.env.DEBUG` must be a string, found a whole number
      ^ a whole number
      help: put it in quotes: "1"
    error spec.invalid_value 3:20 "'A=B'"
      `program.env.A=B` is no name of a variable: it is empty, or holds `=` or a null character
    "###);
    assert_snapshot!(program("cwd = '{trial}'"), @r###"
    error spec.invalid_value 3:7 "'{trial}'"
      `program.cwd` holds `{trial}`, which is not filled in paths of the file
    "###);
    assert_snapshot!(program("cwd = ['a']"), @r###"
    error spec.wrong_type 3:7 "['a']"
      `program.cwd` must be a string, found a list
      ^ a list
    "###);
}

#[test]
fn spans_of_time_have_units() {
    assert_snapshot!(program("timeout = 90"), @r###"
    error spec.wrong_type 3:11 "90"
      `program.timeout` must be a span of time, a string such as "15m", found a whole number
      ^ a whole number
      help: say the unit: "90s"
    "###);
    assert_snapshot!(program("timeout = '90'"), @r###"
    error spec.invalid_value 3:11 "'90'"
      `program.timeout` is no span of time
      ^ failed to find a unit after `90`
      help: say the unit: "90s"
    "###);
    assert_snapshot!(program("timeout = '5 minutes'"), @r###"
    error spec.invalid_value 3:11 "'5 minutes'"
      `program.timeout` is no span of time
      ^ failed to know the unit `minutes`
      help: did you mean `m`?
    "###);
    assert_snapshot!(program("timeout = '0s'\nstall = true\ngrace = '30m1h'"), @r###"
    error spec.invalid_value 3:11 "'0s'"
      `program.timeout` must be longer than nothing
    error spec.wrong_type 4:9 "true"
      `program.stall` must be a span of time, a string such as "15m", found a truth value
      ^ a truth value
    error spec.invalid_value 5:9 "'30m1h'"
      `program.grace` is no span of time
      ^ failed to take the unit `h` at this place: units go from great to small, each once
      help: write it like "15m", "90s", "500ms" or "1h30m"
    "###);
}

#[test]
fn readiness_names_conditions_that_can_be_asked() {
    assert_snapshot!(program("ready = 'http://127.0.0.1:{port}/'"), @r###"
    error spec.wrong_type 3:9 "'http://127.0.0.1:{port}/'"
      `program.ready` must be a table of conditions, found a string
      ^ a string
      help: write ready = { http = "http://127.0.0.1:{port}/health", log = "ready" }, or one of the two
    "###);
    assert_snapshot!(program("ready = {}"), @r###"
    error spec.invalid_value 3:9 "{}"
      `program.ready` names no condition
      help: write ready = { http = "http://127.0.0.1:{port}/health", log = "ready" }, or one of the two
    "###);
    assert_snapshot!(program("ready.http = 'https://127.0.0.1:{port}/'"), @r###"
    error spec.invalid_value 3:14 "'https://127.0.0.1:{port}/'"
      `program.ready.http` must start with `http://`: readiness is asked in plain HTTP
      help: write it like "http://127.0.0.1:{port}/health"
    "###);
    assert_snapshot!(program("ready.http = '127.0.0.1:{port}'"), @r###"
    error spec.invalid_value 3:14 "'127.0.0.1:{port}'"
      `program.ready.http` must start with `http://`
      help: write it like "http://127.0.0.1:{port}/health"
    "###);
    assert_snapshot!(program("ready.http = 'http://:{port}/'"), @r###"
    error spec.invalid_value 3:14 "'http://:{port}/'"
      `program.ready.http` names no host, or holds white space
      help: write it like "http://127.0.0.1:{port}/health"
    "###);
    assert_snapshot!(program("ready.http = 'http://h:{prot}/'"), @r###"
    warning spec.unknown_placeholder 3:14 "'http://h:{prot}/'"
      `{prot}` is no placeholder and stays as it is
      note: placeholders are `{port}`, `{trial}`, `{number}`, `{python}`, `{folder}`, `{cache}`, `{seed}`, `{gpus}` or `{lane}`
      help: did you mean `{port}`?
    error spec.invalid_value 3:14 "'http://h:{prot}/'"
      `program.ready.http` must have a port from 1 to 65535, or `{port}`
      help: write it like "http://127.0.0.1:{port}/health"
    "###);
    assert_snapshot!(program("ready = { http = 'http://h:8000/', port = 0 }"), @r###"
    warning spec.fixed_port 3:18 "'http://h:8000/'"
      `program.ready.http` uses a fixed port: another run, or a leftover, may hold it
      help: write `{port}` here and in the command: each trial gets its own free port
    error spec.invalid_value 3:43 "0"
      `program.ready.port` must be from 1 to 65535
    "###);
    assert_snapshot!(program("ready.port = '{port}'"), @r###"
    warning spec.untold_port 3:1 "ready"
      `{port}` is asked here, and the program is never told it
      help: give `{port}` to the program in its command or environment
    "###);
    assert_snapshot!(program("ready.log = 'ready ('"), @r###"
    error spec.bad_pattern 3:20 "("
      `program.ready.log` is no valid pattern: unclosed group
      ^ unclosed group
    "###);
    assert_snapshot!(program("ready.log = \"tab\\t(?P<n>\""), @r###"
    error spec.bad_pattern 3:13 "\"tab\\t(?P<n>\""
      `program.ready.log` is no valid pattern: unclosed group
      ^ unclosed group
      note: at character 5 of the pattern tab	(?P<n>
    "###);
    assert_snapshot!(program("ready.log = '.*'"), @r###"
    error spec.invalid_value 3:13 "'.*'"
      `program.ready.log` matches an empty line, so that any output would count as ready
    "###);
}

#[test]
fn a_workload_needs_a_program_that_is_ready() {
    assert_snapshot!(program("[workload]\ncommand = ['load']"), @r###"
    error spec.workload_without_ready 3:1 "[workload]"
      a workload runs against a ready program, and nothing says when it is ready
      help: add to [program]: ready = { http = "http://127.0.0.1:{port}/health" }
    "###);
    assert_snapshot!(program("ready.log = 'up'\n[workload]\ncommand = ['load']\ntimeout = '1h'"), @r###"
    warning spec.timeout_never_reached 6:11 "'1h'"
      the time limit of the workload is longer than the program's, which holds for both
      help: raise `program.timeout`, which runs from spawn to the end of the workload
    "###);
}
