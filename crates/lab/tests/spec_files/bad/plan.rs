//! What is said about `[plan]` and hypotheses.

use insta::assert_snapshot;

use crate::shown::shown;

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
      note: at its level of 0.0083, even a cell that fails in every launch against one that never fails needs 5 launches of each
      help: write `blocks = { min = 4, max = 10 }`, or `describe = true` to launch without a verdict
    "###);
    assert_snapshot!(plan("blocks = { max = 3 }"), @r###"
    error spec.cannot_reach 13:10 "{ max = 3 }"
      the plan cannot answer for `ar`: that needs 4 blocks, and at most 3 are run
      note: at its level of 0.0500, even a cell that fails in every launch against one that never fails needs 4 launches of each
      help: write `blocks = { min = 4, max = 10 }`, or `describe = true` to launch without a verdict
    error spec.cannot_reach 13:10 "{ max = 3 }"
      the plan cannot answer for `kv` and `print`: that needs 5 blocks, and at most 3 are run
      note: at its level of 0.0083, even a cell that fails in every launch against one that never fails needs 5 launches of each
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
      outcomes of `kv` and `print` are looked at until block 13 of 20
      note: looking after every block keeps false positives at the level of 0.0083 for 13 blocks, and no longer
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
      note: at its level of 0.0083, even a cell that fails in every launch against one that never fails needs 5 launches of each
      help: write `blocks = { min = 4, max = 10 }`, or `describe = true` to launch without a verdict
    error spec.cannot_reach 14:10 "1"
      the plan cannot answer for `up`: one launch of each cell has no spread
      help: run at least 2 blocks, or write `describe = true` to launch without a verdict
    "###);
    assert_snapshot!(plan("primary = 'up'\nblocks = 4\n[metrics]\nup.from = 'wall_s'"), @r###"
    warning spec.cannot_reach 14:10 "4"
      the plan cannot answer for `kv` and `print`: that needs 5 blocks, and at most 4 are run
      note: at its level of 0.0083, even a cell that fails in every launch against one that never fails needs 5 launches of each
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
      help: vary fewer factors at a time, declare the cells that matter in `plan.cells`, or name fewer instruments in `plan.instruments`
    "###);
}

#[test]
fn a_variable_that_two_factors_change_in_one_cell_is_refused() {
    let plan = |one: &str, two: &str, more: &str| {
        let factors = format!("[factors.c]\ngood = {{}}\nbad = {one}\n[factors.d]\none = {{}}\ntwo = {two}");
        shown(&format!("program.command = ['true']\n{factors}\n[plan]\nbaseline = {{ c = 'good', d = 'one' }}\n{more}"))
    };
    assert_snapshot!(plan("{ env = { X = 'bad' } }", "{ env = { X = '2' } }", ""), @r###"
    error spec.contended_variable 7:1 "two"
      `c=bad` sets `X` and `d=two` sets it, so that only one of them reaches the program
      help: leave the variable to one factor, or declare `cells` in [plan] in which the two levels do not meet
    "###);
    assert_snapshot!(plan("{ env = { X = 'bad' } }", "{ unset = ['X'] }", ""), @r###"
    error spec.contended_variable 7:1 "two"
      `c=bad` sets `X` and `d=two` removes it, so that only one of them reaches the program
      help: leave the variable to one factor, or declare `cells` in [plan] in which the two levels do not meet
    "###);
    assert_snapshot!(plan("{ env = { X = '2', Y = '1' } }", "{ env = { X = '2' } }", ""), @"");
    let apart = "cells = [{ c = 'good', d = 'one' }, { c = 'bad', d = 'one' }, { c = 'good', d = 'two' }]";
    assert_snapshot!(plan("{ env = { X = 'bad' } }", "{ env = { X = '2' } }", apart), @"");
}
