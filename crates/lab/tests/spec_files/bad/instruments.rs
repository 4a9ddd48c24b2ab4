//! What is said about factors, probes, edits and metrics.

use insta::assert_snapshot;

use super::probe;
use crate::shown::shown;

/// An edit under test.
fn edit(more: &str) -> String {
    shown(&format!("program.command = ['true']\nplan.baseline.instrument = 'none'\n[[edits]]\n{more}"))
}

/// A metric under test.
fn metric(more: &str) -> String {
    shown(&format!("program.command = ['true']\nplan.describe = true\n[metrics]\nm = {more}"))
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
      help: write `module:function`, `module:Class.method@return`, `module:function@raise` or `path/to/file.py:LINE`
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
    error spec.invalid_value 5:24 "profile"
      `probes[0].at` names a function in a path; a function is named by its module
      help: write `module:function`, `module:Class.method@return`, `module:function@raise` or `path/to/file.py:LINE`
    error spec.invalid_value 6:17 "' '"
      `probes[0].capture[1]` is empty
    error spec.wrong_type 6:22 "3"
      `probes[0].capture[2]` must be a string, found a whole number
      ^ a whole number
    "###);
    assert_snapshot!(probe("name = 'p'\nat = 'm:f@exit'\nif = ' '\nrate = '10/d'\ncompiled = 'no'\ndelivery = 'ssh'"), @r###"
    error spec.invalid_value 5:11 "exit"
      `probes[0].at` names no moment of a call after its `@`: it is `@entry`, `@return` or `@raise`
      help: write `module:function`, `module:Class.method@return`, `module:function@raise` or `path/to/file.py:LINE`
    error spec.invalid_value 6:6 "' '"
      `probes[0].if` is empty
    error spec.invalid_value 7:12 "d"
      `probes[0].rate` is no rate
      help: write hits and a span, such as `10/s`, `600/min` or `5/h`
    error spec.invalid_value 8:12 "'no'"
      `probes[0].compiled` must be `refuse`, `break` or `skip`, found `no`
    error spec.invalid_value 9:12 "'ssh'"
      `probes[0].delivery` must be `auto`, `overlay`, `mount` or `patch`, found `ssh`
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
      note: sources are `log`, `workload`, `file`, `http`, `prometheus` and `from`
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
      `metrics.m.pick` must be `only`, `first`, `last`, `min`, `max`, `sum` or `mean`, found `maximum`
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
      `metrics.m.from` names nothing that is measured
      note: besides captures of probes (`PROBE.EXPRESSION`) there are `ready_s`, `wall_s`, `peak_rss`, `gpu_memory`, `engine.…` and `traffic.…`
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
      help: keep one of `log`, `workload`, `file`, `http`, `prometheus` or `from`
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
