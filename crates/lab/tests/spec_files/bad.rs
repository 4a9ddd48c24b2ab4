//! Bad files: each with what is said about it.

use insta::assert_snapshot;

use crate::shown::shown;

/// A file that is valid but for the part under test.
fn program(more: &str) -> String {
    shown(&format!("[program]\ncommand = ['true']\n{more}\n[plan]\ndescribe = true"))
}

/// A file with a factor, a probe and an edit, and a plan under test.
fn compared(more: &str) -> String {
    shown(&format!(
        "program.command = ['true']\nfactors.ar = {{ nccl = {{}}, custom = {{ args = ['x'] }} }}\n\
         [[probes]]\nname = 'kv'\nat = 'm:f'\n[[edits]]\nname = 'print'\nfile = 'a.py'\nfind = 'a'\nreplace = 'b'\n{more}"
    ))
}

/// The same with a baseline, for hypotheses.
fn claimed(more: &str) -> String {
    compared(&format!(
        "[plan]\nbaseline = {{ ar = 'nccl', instrument = 'none' }}\ninstruments = ['none', 'print', ['kv', 'print']]\n[[hypotheses]]\n{more}"
    ))
}

/// A probe under test.
fn probe(more: &str) -> String {
    shown(&format!("program.command = ['true']\nplan.baseline.instrument = 'none'\n[[probes]]\n{more}"))
}

/// An edit under test.
fn edit(more: &str) -> String {
    shown(&format!("program.command = ['true']\nplan.baseline.instrument = 'none'\n[[edits]]\n{more}"))
}

/// A metric under test.
fn metric(more: &str) -> String {
    shown(&format!("program.command = ['true']\nplan.describe = true\n[metrics]\nm = {more}"))
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
      help: valid keys here are `command`, `cwd`, `env`, `ready`, `timeout`, `stall` and `grace`
    "###);
    assert_snapshot!(program("log = 'x'"), @r###"
    error spec.unknown_key 3:1 "log"
      unknown key `log` in `[program]`
      ^ not a key of this table
      note: valid keys here are `command`, `cwd`, `env`, `ready`, `timeout`, `stall` and `grace`
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
      help: valid keys here are `question`, `program`, `workload`, `factors`, `probes`, `edits`, `metrics`, `plan` and `hypotheses`
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
      note: placeholders are `{port}`, `{trial}` or `{python}`
      help: did you mean `{port}`?
    error spec.invalid_value 1:53 "\"\\u0000\""
      `program.command[3]` holds a null character, which no process can be given
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
      ^ failed to find a unit after `5`
      help: write it like "15m", "90s", "500ms" or "1h30m"
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
      note: placeholders are `{port}`, `{trial}` or `{python}`
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

#[test]
fn factors_have_levels_and_names() {
    assert_snapshot!(shown("program.command = ['true']\nfactors.ar.nccl = {}\n[plan]\nbaseline = { ar = 'ncl' }"), @r###"
    error spec.one_level 2:9 "ar"
      the factor `ar` has one level, and so nothing to compare
      help: add the other level; one that changes nothing is written `plain = {}`
    error spec.unknown_level 4:19 "'ncl'"
      the factor `ar` has no level `ncl`
      ^ not a level
      help: did you mean `nccl`?
    "###);
    assert_snapshot!(shown("program.command = ['true']\nfactors.ar = { a = ['--x'], b = { arg = ['--y'] } }\nplan.baseline.ar = 'a'"), @r###"
    error spec.wrong_type 2:20 "['--x']"
      `factors.ar.a` must be a table, found a list
      ^ a list
      help: write what the level changes: { args = ["--flag"], env = { NAME = "value" }, unset = ["NAME"] }
    warning spec.same_levels 2:29 "b"
      the levels `a` and `b` are the same
    error spec.unknown_key 2:35 "arg"
      unknown key `arg` in `factors.ar.b`
      ^ not a key of this table
      help: did you mean `args`?
    "###);
    assert_snapshot!(shown("program.command = ['true']\nfactors.instrument = { a = {}, b = { unset = ['X'] } }\nplan.baseline.instrument = 'none'"), @r###"
    error spec.reserved_name 2:9 "instrument"
      `instrument` is the factor that probes and edits are the levels of
      help: give this factor another name
    "###);
    let text = "program.command = ['true']\nfactors.'a/b' = { 'x y' = { env.A = '1', unset = ['A'] }, 'p+q' = {}, r = {} }\nplan.baseline.'a/b' = 'r'";
    assert_snapshot!(shown(text), @r###"
    error spec.invalid_name 2:9 "'a/b'"
      the name of a factor holds `/`
      help: names hold letters, digits, `-`, `_` and `.`
    error spec.invalid_name 2:19 "'x y'"
      the name of a level holds white space
      help: names hold letters, digits, `-`, `_` and `.`
    error spec.invalid_value 2:50 "['A']"
      `factors.a/b.x y.unset` removes `A`, which `env` of the same level sets
    error spec.invalid_name 2:59 "'p+q'"
      the name of a level holds `+`
      help: names hold letters, digits, `-`, `_` and `.`
    warning spec.same_levels 2:71 "r"
      the levels `p+q` and `r` are the same
    "###);
}

#[test]
fn probes_name_a_place() {
    assert_snapshot!(probe("capture = 'x'"), @r###"
    error spec.missing_key 3:1 "[[probes]]"
      `name` is missing in `[[probes]]`
      help: add `name = "a-name"`
    error spec.missing_key 3:1 "[[probes]]"
      `at` is missing in `[[probes]]`
      help: add `at = "module:function"`
    error spec.wrong_type 4:11 "'x'"
      `probes[0].capture` must be a list of strings, found a string
      ^ a string
    "###);
    assert_snapshot!(probe("name = 'p'\nat = 'engine.sizing'\nlimit = 0\nunsafe = 'yes'"), @r###"
    error spec.invalid_value 5:6 "'engine.sizing'"
      `probes[0].at` names no function and no line
      help: write `module:function`, `module:Class.method` or `path/to/file.py:LINE`
    error spec.invalid_value 6:9 "0"
      `probes[0].limit` must be at least 1
    error spec.wrong_type 7:10 "'yes'"
      `probes[0].unsafe` must be `true` or `false`, found a string
      ^ a string
    "###);
    assert_snapshot!(probe("name = 'a b'\nat = 'engine/sizing.py:profile'\ncapture = ['x', ' ', 3]"), @r###"
    error spec.invalid_name 4:8 "'a b'"
      the name of a probe or edit holds white space
      help: names hold letters, digits, `-`, `_` and `.`
    error spec.invalid_value 5:6 "'engine/sizing.py:profile'"
      `probes[0].at` names a function in a path; a function is named by its module
      help: write `module:function`, `module:Class.method` or `path/to/file.py:LINE`
    error spec.invalid_value 6:17 "' '"
      `probes[0].capture[1]` is empty
    error spec.wrong_type 6:22 "3"
      `probes[0].capture[2]` must be a string, found a whole number
      ^ a whole number
    "###);
    assert_snapshot!(shown("program.command = ['true']\nplan.describe = true\n[probes]\nname = 'p'"), @r###"
    error spec.wrong_type 3:1 "[probes]"
      `probes` must be a list of tables, found a table
      ^ a table
      help: write `[[probes]]`
    "###);
}

#[test]
fn edits_do_one_thing() {
    assert_snapshot!(edit("name = 'e'"), @r###"
    error spec.missing_key 3:1 "[[edits]]"
      `file` is missing in `[[edits]]`
      help: add `file = "path/to/file.py"`
    error spec.missing_key 3:1 "[[edits]]"
      `find` is missing in `[[edits]]`
      help: add `find = "the text, exactly"`
    error spec.missing_key 3:1 "[[edits]]"
      this edit does nothing with the text it finds
      help: add `insert_after`, `insert_before` or `replace`
    "###);
    assert_snapshot!(edit("name = 'e'\nfile = 'a'\nfind = 'x'\nreplace = 'y'\ninsert_after = 'z'"), @r###"
    error spec.two_actions 7:1 "replace"
      this edit does more than one thing
      help: keep one of `insert_after`, `insert_before` or `replace`
    "###);
    assert_snapshot!(edit("name = 'e'\nfile = 'a'\nfind = 'x'\nreplace = 'x'\nsha256 = 'abc'"), @r###"
    error spec.invalid_value 7:11 "'x'"
      `edits[0].replace` is the text that it replaces, and so changes nothing
    error spec.invalid_value 8:10 "'abc'"
      `edits[0].sha256` must be 64 hexadecimal digits
      help: `sha256sum FILE` prints them
    "###);
    assert_snapshot!(edit("name = 'e'\nfile = 'a'\nfind = ''\ninsert_before = ''"), @r###"
    error spec.invalid_value 6:8 "''"
      `edits[0].find` is empty
    error spec.invalid_value 7:17 "''"
      `edits[0].insert_before` is empty, and so changes nothing
    "###);
}

#[test]
fn instruments_have_names_of_their_own() {
    assert_snapshot!(probe("name = 'p'\nat = 'm:f'\n[[edits]]\nname = 'p'\nfile = 'a'\nfind = 'x'\nreplace = 'y'"), @r###"
    error spec.duplicate_name 7:8 "'p'"
      the name `p` is taken by another probe or edit
      note: the first is on line 4
      help: probes and edits share one list of names
    "###);
    assert_snapshot!(probe("name = 'none'\nat = 'm:f'\n[[probes]]\nname = 'q'\nat = 'm:g'"), @r###"
    error spec.reserved_name 4:8 "'none'"
      `none` is the instrument that means: nothing is put in
      help: give it another name
    "###);
}

#[test]
fn metrics_say_where_they_are_read() {
    assert_snapshot!(metric("'tokens=(.*)'"), @r###"
    error spec.wrong_type 4:5 "'tokens=(.*)'"
      `metrics.m` must be a table, found a string
      ^ a string
      help: write where it is read: { log = 'tokens=(\d+)' }
    "###);
    assert_snapshot!(metric("{ unit = 's' }"), @r###"
    error spec.missing_key 4:5 "{ unit = 's' }"
      `metrics.m` does not say where it is read
      help: add `log = 'tokens=(\d+)'`, `workload = '…(\d+)'` or `from = "ready_s"`
    "###);
    assert_snapshot!(metric("{ log = 'tokens=.*', scale = 'difference' }"), @r###"
    error spec.pattern_groups 4:13 "'tokens=.*'"
      `metrics.m.log` must have exactly one group, found none
      help: put the number in a group: `tokens=(\d+)`
    "###);
    assert_snapshot!(metric("{ log = '(a)|(b)', pick = 'maximum', scale = 'log', margin = -1 }"), @r###"
    error spec.pattern_groups 4:13 "'(a)|(b)'"
      `metrics.m.log` must have exactly one group, found 2
      help: write groups that hold no value as `(?:…)`
    error spec.invalid_value 4:31 "'maximum'"
      `metrics.m.pick` must be `only`, `first`, `last`, `min`, `max` or `sum`, found `maximum`
    error spec.invalid_value 4:50 "'log'"
      `metrics.m.scale` must be `ratio` or `difference`, found `log`
    error spec.invalid_value 4:66 "-1"
      `metrics.m.margin` must be greater than nothing
    "###);
    assert_snapshot!(metric("{ log = '(a)', margin = 2 }"), @r###"
    error spec.invalid_value 4:29 "2"
      `metrics.m.margin` of a ratio must be a fraction below 1
      help: two percent is written 0.02; for the metric's own unit, write scale = "difference"
    "###);
    assert_snapshot!(metric("{ workload = '(a)' }"), @r###"
    error spec.invalid_value 4:7 "workload"
      `metrics.m.workload` needs a workload, and the file has none
      help: add [workload], or read the program's output with `log`
    "###);
    assert_snapshot!(metric("{ from = 'ready' }"), @r###"
    error spec.invalid_value 4:14 "'ready'"
      `metrics.m.from` must be `ready_s` or `wall_s`, found `ready`
      help: did you mean `ready_s`?
    "###);
    assert_snapshot!(metric("{ from = 'ready_s', pick = 'last' }"), @r###"
    error spec.invalid_value 4:14 "'ready_s'"
      `metrics.m.from` needs a program that says when it is ready
      help: add `ready` to [program], or use `wall_s`
    error spec.invalid_value 4:25 "pick"
      `metrics.m.pick` has nothing to pick from: a launch has one such time
    "###);
    assert_snapshot!(metric("{ log = '(a)', from = 'wall_s' }"), @r###"
    error spec.two_sources 4:20 "from"
      `metrics.m` is read at more than one place
      help: keep one of `log`, `workload` or `from`
    "###);
    assert_snapshot!(metric("{ from = 'wall_s' }\noutcome = { from = 'wall_s', margin = '2%' }"), @r###"
    error spec.reserved_name 5:1 "outcome"
      `outcome` is how a trial ended, and no name for a metric
      help: give this metric another name
    error spec.wrong_type 5:39 "'2%'"
      `metrics.outcome.margin` must be a number, found a string
      ^ a string
    "###);
}

#[test]
fn the_baseline_names_every_level_and_no_instrument() {
    assert_snapshot!(compared(""), @r###"
    error spec.missing_key (no place)
      `plan.baseline` is missing: it is what everything is compared with
      help: add to [plan]: baseline = { ar = "nccl", instrument = "none" }
    "###);
    assert_snapshot!(compared("[plan]\nbaseline = {}"), @r###"
    error spec.incomplete_baseline 12:12 "{}"
      the baseline does not name `ar` and `instrument`
      help: write every one: { ar = "nccl", instrument = "none" }
    "###);
    assert_snapshot!(compared("[plan]\nbaseline = { ar = 'ncll', instrument = 'none' }"), @r###"
    error spec.unknown_level 12:19 "'ncll'"
      the factor `ar` has no level `ncll`
      ^ not a level
      help: did you mean `nccl`?
    "###);
    assert_snapshot!(compared("[plan]\nbaseline = { al = 'nccl', instruments = 'none' }"), @r###"
    error spec.unknown_factor 12:14 "al"
      there is no factor `al`
      ^ not a factor
      help: factors are `ar` and `instrument`
    error spec.unknown_factor 12:27 "instruments"
      there is no factor `instruments`
      ^ not a factor
      help: did you mean `instrument`?
    "###);
    assert_snapshot!(compared("[plan]\nbaseline = { ar = 'nccl', instrument = 'print' }"), @r###"
    error spec.baseline_instrument 12:40 "'print'"
      the baseline's instrument must be `none`, found `print`
      help: instruments are judged by their difference from a launch without one: write instrument = "none"
    "###);
    assert_snapshot!(compared("[plan]\nbaseline = 'nccl'"), @r###"
    error spec.wrong_type 12:12 "'nccl'"
      `plan.baseline` must be a table, found a string
      ^ a string
    "###);
    assert_snapshot!(compared("[plan]\nbaseline = { ar = 'nccl' }\nseed = 1"), @r###"
    error spec.incomplete_baseline 12:12 "{ ar = 'nccl' }"
      the baseline does not name `instrument`
      help: write every one: { ar = "nccl", instrument = "none" }
    "###);
    assert_snapshot!(shown("program.command = ['true']"), @r###"
    error spec.nothing_to_compare (no place)
      the plan has one cell, and so nothing to compare
      help: add a factor or an instrument, or write `describe = true` in [plan] to describe one cell
    "###);
}

#[test]
fn the_plan_names_what_there_is() {
    let plan = |more: &str| compared(&format!("[plan]\nbaseline = {{ ar = 'nccl', instrument = 'none' }}\n{more}"));
    assert_snapshot!(plan("instruments = ['none', 'print']"), @r###"
    warning spec.unused_instrument 4:8 "'kv'"
      `kv` is declared, and `plan.instruments` does not name it
      ^ never put in
      help: add it to `plan.instruments`, or take it out
    "###);
    assert_snapshot!(plan("instruments = ['print', 'kv']"), @r###"
    error spec.invalid_value 13:15 "['print', 'kv']"
      `plan.instruments` must hold "none": instruments are judged by their difference from a launch without one
      help: add "none" to the list
    "###);
    assert_snapshot!(plan("instruments = ['none', 'prnt', 'kv+print']"), @r###"
    error spec.unknown_instrument 13:24 "'prnt'"
      there is no probe or edit `prnt`
      ^ not an instrument
      help: did you mean `print`?
    error spec.unknown_instrument 13:32 "'kv+print'"
      there is no probe or edit `kv+print`
      ^ not an instrument
      help: write those that go in together as a list: ["kv", "print"]
    "###);
    assert_snapshot!(plan("instruments = ['none', ['kv', 'none'], [], ['kv', 'kv'], 'print', ['print'], 3]"), @r###"
    error spec.invalid_value 13:31 "'none'"
      `plan.instruments[1][1]` is `none`, which goes in together with nothing
    error spec.invalid_value 13:40 "[]"
      `plan.instruments[2]` is empty
      help: write "none" for no instrument
    error spec.invalid_value 13:51 "'kv'"
      `plan.instruments[3][1]` names `kv` twice
    error spec.duplicate_level 13:67 "['print']"
      this instrument level is named twice
    error spec.wrong_type 13:78 "3"
      `plan.instruments[6]` must be a name, or a list of names that go in together, found a whole number
      ^ a whole number
    "###);
    assert_snapshot!(plan("blocks = { min = 5, max = 4 }"), @r###"
    error spec.invalid_value 13:10 "{ min = 5, max = 4 }"
      `plan.blocks` has a least number, 5, above its greatest, 4
    "###);
    assert_snapshot!(plan("blocks = 0"), @r###"
    error spec.invalid_value 13:10 "0"
      `plan.blocks` must be from 1 to 10000
    "###);
    assert_snapshot!(plan("margin = 10"), @r###"
    error spec.invalid_value 13:10 "10"
      `plan.margin` must be a fraction between 0 and 1
      help: it is a difference of failure rates: twenty percentage points are written 0.2
    "###);
    assert_snapshot!(plan("blocks = 'many'\nseed = -1"), @r###"
    error spec.wrong_type 13:10 "'many'"
      `plan.blocks` must be a number or a table, found a string
      ^ a string
      help: write blocks = { min = 4, max = 10 }
    error spec.invalid_value 14:8 "-1"
      `plan.seed` must be at least 0
    "###);
    assert_snapshot!(plan("primary = 'outcomes'\nexpect = 'complete'\nstop = 'never'\nrefused = 1\ndescribe = 'true'"), @r###"
    error spec.unknown_metric 13:11 "'outcomes'"
      there is no metric `outcomes`
      help: did you mean `outcome`?
    error spec.invalid_value 14:10 "'complete'"
      `plan.expect` must be `any`, `completed` or `failed`, found `complete`
      help: did you mean `completed`?
    error spec.invalid_value 15:8 "'never'"
      `plan.stop` must be `same` or `all`, found `never`
    error spec.wrong_type 16:11 "1"
      `plan.refused` must be `stop` or `drop`, found a whole number
      ^ a whole number
    error spec.wrong_type 17:12 "'true'"
      `plan.describe` must be `true` or `false`, found a string
      ^ a string
    "###);
}

#[test]
fn hypotheses_predict_cells_that_are_launched() {
    assert_snapshot!(claimed(""), @r###"
    error spec.missing_key 14:1 "[[hypotheses]]"
      `claim` is missing in `[[hypotheses]]`
      help: add `claim = "the print broke it"`
    error spec.missing_key 14:1 "[[hypotheses]]"
      `predicts` is missing in `[[hypotheses]]`
      help: add `predicts = [{ cell = { instrument = "none" }, outcome = "failed" }]`
    "###);
    assert_snapshot!(claimed("claim = 'c'\npredicts = []"), @r###"
    error spec.invalid_value 16:12 "[]"
      `hypotheses[0].predicts` predicts nothing, so that nothing could speak against it
      help: write predicts = [{ cell = { instrument = "none" }, outcome = "failed" }]
    "###);
    assert_snapshot!(claimed("claim = 'c'\npredicts = [{ cell = { ar = 'custm', instrument = 'prnt' }, outcome = 'fails' }]"), @r###"
    error spec.unknown_level 16:29 "'custm'"
      the factor `ar` has no level `custm`
      ^ not a level
      help: did you mean `custom`?
    error spec.unknown_instrument 16:51 "'prnt'"
      there is no probe or edit `prnt`
      ^ not an instrument
      help: did you mean `print`?
    error spec.invalid_value 16:71 "'fails'"
      `hypotheses[0].predicts[0].outcome` must be `completed`, `failed` or `timed_out`, found `fails`
      help: did you mean `failed`?
    "###);
    assert_snapshot!(claimed("claim = 'c'\npredicts = [{ cell = { instrument = 'kv' }, outcome = 'failed' }]"), @r###"
    error spec.cell_not_launched 16:37 "'kv'"
      the plan launches no cell with the instrument `kv`
      note: instrument levels of the plan are `none`, `print` and `kv+print`
      help: add it to `plan.instruments`
    "###);
    assert_snapshot!(claimed("claim = 'c'\npredicts = [{ cell = {}, outcome = 'void' }, { outcome = 'failed' }]"), @r###"
    error spec.invalid_value 16:36 "'void'"
      `hypotheses[0].predicts[0].outcome` must be `completed`, `failed` or `timed_out`, found `void`
    error spec.missing_key 16:46 "{ outcome = 'failed' }"
      `cell` is missing in `hypotheses[0].predicts[1]`
      help: add `cell = { instrument = "none" }`
    "###);
    let twice = "claim = 'c'\npredicts = [{ cell = { instrument = ['print', 'kv'] }, outcome = 'failed' }, { cell = { instrument = 'kv+print' }, outcome = 'completed' }]";
    assert_snapshot!(claimed(twice), @r###"
    error spec.duplicate_prediction 16:78 "{ cell = { instrument = 'kv+print' }, outcome = 'completed' }"
      the hypothesis predicts the cell `nccl/kv+print` twice
    "###);
    assert_snapshot!(claimed("claim = 'c'\npredicts = [{ cell = {}, outcome = 'failed' }]\n[[hypotheses]]\nclaim = 'c'\npredicts = [{ cell = {}, outcome = 'failed' }]"), @r###"
    error spec.duplicate_name 18:9 "'c'"
      this claim is made twice
    "###);
}

#[test]
fn a_plan_that_cannot_reach_its_level_is_refused_unless_it_describes() {
    let plan = |more: &str| compared(&format!("[plan]\nbaseline = {{ ar = 'nccl', instrument = 'none' }}\n{more}"));
    assert_snapshot!(plan("blocks = 4"), @r###"
    error spec.cannot_reach 13:10 "4"
      the plan cannot answer for `kv` and `print`: that needs 5 blocks, and at most 4 are run
      note: at its level of 0.0167, even a cell that fails in every launch against one that never fails needs 5 launches of each
      help: write `blocks = { min = 4, max = 10 }`, or `describe = true` to launch without a verdict
    "###);
    assert_snapshot!(plan("blocks = { max = 3 }"), @r###"
    error spec.cannot_reach 13:10 "{ max = 3 }"
      the plan cannot answer for `ar`: that needs 4 blocks, and at most 3 are run
      note: at its level of 0.0500, even a cell that fails in every launch against one that never fails needs 4 launches of each
      help: write `blocks = { min = 4, max = 10 }`, or `describe = true` to launch without a verdict
    error spec.cannot_reach 13:10 "{ max = 3 }"
      the plan cannot answer for `kv` and `print`: that needs 5 blocks, and at most 3 are run
      note: at its level of 0.0167, even a cell that fails in every launch against one that never fails needs 5 launches of each
      help: write `blocks = { min = 4, max = 10 }`, or `describe = true` to launch without a verdict
    "###);
    assert_snapshot!(plan("blocks = 3\ndescribe = true"), @"");
    assert_snapshot!(plan("blocks = 5"), @"");
    assert_snapshot!(plan("blocks = { max = 12 }"), @r###"
    warning spec.blocks_beyond_looks 13:10 "{ max = 12 }"
      outcomes of `ar` are looked at until block 10 of 12
      note: looking after every block keeps false positives at the level of 0.0500 for 10 blocks, and no longer
    "###);
    assert_snapshot!(plan("blocks = { max = 20 }"), @r###"
    warning spec.blocks_beyond_looks 13:10 "{ max = 20 }"
      outcomes of `ar` are looked at until block 10 of 20
      note: looking after every block keeps false positives at the level of 0.0500 for 10 blocks, and no longer
    warning spec.blocks_beyond_looks 13:10 "{ max = 20 }"
      outcomes of `kv` and `print` are looked at until block 12 of 20
      note: looking after every block keeps false positives at the level of 0.0167 for 12 blocks, and no longer
    "###);
    let three = "program.command = ['true']\nfactors.n = { a = {}, b = { args = ['b'] }, c = { args = ['c'] } }\nplan = { baseline.n = 'a', blocks = 4 }";
    assert_snapshot!(shown(three), @r###"
    error spec.cannot_reach 3:37 "4"
      the plan cannot answer for `n`: that needs 5 blocks, and at most 4 are run
      note: at its level of 0.0250, even a cell that fails in every launch against one that never fails needs 5 launches of each
      help: write `blocks = { min = 4, max = 10 }`, or `describe = true` to launch without a verdict
    "###);
    assert_snapshot!(plan("primary = 'up'\nblocks = 1\n[metrics]\nup.from = 'wall_s'"), @r###"
    warning spec.cannot_reach 14:10 "1"
      the plan cannot answer for `ar`: that needs 4 blocks, and at most 1 are run
      note: at its level of 0.0500, even a cell that fails in every launch against one that never fails needs 4 launches of each
      help: write `blocks = { min = 4, max = 10 }`, or `describe = true` to launch without a verdict
    warning spec.cannot_reach 14:10 "1"
      the plan cannot answer for `kv` and `print`: that needs 5 blocks, and at most 1 are run
      note: at its level of 0.0167, even a cell that fails in every launch against one that never fails needs 5 launches of each
      help: write `blocks = { min = 4, max = 10 }`, or `describe = true` to launch without a verdict
    error spec.cannot_reach 14:10 "1"
      the plan cannot answer for `up`: one launch of each cell has no spread
      help: run at least 2 blocks, or write `describe = true` to launch without a verdict
    "###);
    assert_snapshot!(plan("primary = 'up'\nblocks = 4\n[metrics]\nup.from = 'wall_s'"), @r###"
    warning spec.cannot_reach 14:10 "4"
      the plan cannot answer for `kv` and `print`: that needs 5 blocks, and at most 4 are run
      note: at its level of 0.0167, even a cell that fails in every launch against one that never fails needs 5 launches of each
      help: write `blocks = { min = 4, max = 10 }`, or `describe = true` to launch without a verdict
    "###);
}

#[test]
fn too_many_cells_are_refused_before_they_are_made() {
    let levels = |factor: usize| format!("f{factor} = {{ a = {{}}, b = {{ args = ['b'] }}, c = {{ args = ['c'] }} }}\n");
    let baseline: Vec<String> = (0..60).map(|factor| format!("f{factor} = 'a'")).collect();
    let factors: String = (0..60).map(levels).collect();
    assert_snapshot!(shown(&format!("program.command = ['true']\n[factors]\n{factors}[plan]\nbaseline = {{ {} }}", baseline.join(", "))), @r###"
    error spec.too_many_cells 63:1 "[plan]"
      the plan has more than 256 cells, and each is launched several times
      help: vary fewer factors at a time, or name fewer instruments in `plan.instruments`
    "###);
}
