//! What is said about kinds, declared cells, lanes, hooks and what is fresh.

use insta::assert_snapshot;

use crate::shown::shown;

/// Two factors and a plan under test.
fn crossed(more: &str) -> String {
    shown(&format!(
        "program.command = ['true']\nfactors.a = {{ x = {{}}, y = {{ args = ['y'] }} }}\nfactors.b = {{ p = {{}}, q = {{ args = ['q'] }} }}\n\
         [plan]\nbaseline = {{ a = 'x', b = 'p' }}\n{more}"
    ))
}

#[test]
fn declared_cells_are_whole_different_and_hold_the_baseline() {
    assert_snapshot!(crossed("cells = [{ a = 'y', b = 'p' }]"), @r###"
    error spec.baseline_not_declared 6:9 "[{ a = 'y', b = 'p' }]"
      the baseline x/p/none is not among the declared cells
      help: add it: everything is compared with it
    "###);
    assert_snapshot!(crossed("cells = [{ a = 'x', b = 'p' }, { a = 'y' }]"), @r###"
    error spec.incomplete_cell 6:32 "{ a = 'y' }"
      the cell does not name `b`
      help: a cell names a level of every factor
    "###);
    assert_snapshot!(crossed("cells = [{ a = 'x', b = 'p' }, { b = 'q', a = 'x' }, { a = 'x', b = 'q' }]"), @r###"
    error spec.duplicate_cell 6:54 "{ a = 'x', b = 'q' }"
      the cell x/q/none is declared twice
    "###);
    assert_snapshot!(crossed("cells = [{ a = 'x', b = 'p' }, { a = 'yy', b = 'q' }]"), @r###"
    error spec.unknown_level 6:38 "'yy'"
      the factor `a` has no level `yy`
      ^ not a level
      help: its levels are `x` and `y`
    "###);
    assert_snapshot!(crossed("cells = 'all'"), @r###"
    error spec.wrong_type 6:9 "'all'"
      `plan.cells` must be a list of cells, found a string
      ^ a string
    "###);
}

#[test]
fn kinds_ask_something_of_the_plan() {
    assert_snapshot!(crossed("kind = 'wiliams'"), @r###"
    error spec.invalid_value 6:8 "'wiliams'"
      `plan.kind` must be `blocks`, `williams` or `aa`, found `wiliams`
      help: did you mean `williams`?
    "###);
    assert_snapshot!(crossed("kind = 'williams'\nparallel = [[0], [1]]"), @r###"
    error spec.williams_parallel 7:12 "[[0], [1]]"
      a Williams design balances what one launch leaves to the next, and in lanes none comes alone after another
      help: leave `parallel` out, or write kind = "blocks"
    "###);
    assert_snapshot!(crossed("kind = 'williams'\nblocks = 3\ndescribe = true"), @r###"
    warning spec.unbalanced_williams 6:8 "'williams'"
      carry-over is balanced after 4 blocks of these 4 cells, and at most 3 are run
      help: run 4 blocks, or a multiple of them
    "###);
    assert_snapshot!(crossed("kind = 'aa'\ncells = [{ a = 'x', b = 'p' }, { a = 'y', b = 'p' }]"), @r###"
    error spec.aa_cells 7:9 "[{ a = 'x', b = 'p' }, { a = 'y', b = 'p' }]"
      an A/A plan launches the baseline alone, under two labels
      help: leave `cells` out; `bystander run --aa FILE` makes an A/A run of any experiment
    "###);
}

#[test]
fn lanes_have_gpus_of_their_own() {
    assert_snapshot!(crossed("parallel = [[0, 1], [1, 2]]"), @r###"
    error spec.shared_gpu 6:21 "[1, 2]"
      GPU 1 is in two lanes, whose trials would disturb each other
      help: give every lane GPUs of its own, or leave `parallel` out
    "###);
    assert_snapshot!(crossed("parallel = [[0, 0], 'x']"), @r###"
    error spec.invalid_value 6:17 "0"
      `plan.parallel[0][1]` names GPU 0 twice
    error spec.wrong_type 6:21 "'x'"
      `plan.parallel[1]` must be a list of GPUs, found a string
      ^ a string
      help: one list of GPUs for each lane: parallel = [[0], [1]]; [[], []] for two lanes that see no GPU
    "###);
    assert_snapshot!(crossed("parallel = []"), @r###"
    error spec.invalid_value 6:12 "[]"
      `plan.parallel` must name 1 to 64 lanes
      help: one list of GPUs for each lane: parallel = [[0], [1]]; [[], []] for two lanes that see no GPU
    "###);
    let set = "parallel = [[0], [1]]\n[program.env]\nCUDA_VISIBLE_DEVICES = '3'";
    assert_snapshot!(crossed(set).lines().take(2).collect::<Vec<_>>().join("\n"), @r###"
    error spec.lane_variable 6:12 "[[0], [1]]"
      `CUDA_VISIBLE_DEVICES` is set in the file, and `parallel` sets it for every lane
    "###);
}

#[test]
fn lanes_have_ports_of_their_own() {
    let lanes = |program: &str| {
        let plan = "[plan]\nbaseline = { a = 'x' }\nblocks = 4\nparallel = [[0], [1]]";
        shown(&format!("[factors.a]\nx = {{}}\ny = {{ args = ['1'] }}\n[program]\n{program}\n{plan}"))
    };
    for fixed in [
        "command = ['serve', '--port', '8000']\nready = { log = 'up' }",
        "command = ['serve']\nready = { http = 'http://127.0.0.1:8000/health' }",
        "command = ['serve']\nready = { port = '8000' }",
    ] {
        let told = lanes(fixed);
        assert!(told.contains("error spec.lane_port 10:12") && told.contains("the file fixes port 8000"), "{fixed}: {told}");
    }
    for own in ["command = ['serve', '--port', '{port}']\nready = { log = 'up' }", "command = ['ask', '--port', '8000']"] {
        assert!(!lanes(own).contains("lane_port"), "{own}");
    }
}

#[test]
fn hooks_are_commands_and_know_what_they_are_run_for() {
    let hooked = |more: &str| shown(&format!("program.command = ['true']\nplan.describe = true\n[hooks]\n{more}"));
    assert_snapshot!(hooked("prepare = 'echo hi'"), @r###"
    error spec.wrong_type 4:11 "'echo hi'"
      `hooks.prepare` must be a list of strings, found a string
      ^ a string
      help: write a list, one element for each argument: ["echo", "hi"]
    "###);
    assert_snapshot!(hooked("setup = ['mkdir', '{trial}/x']"), @r###"
    error spec.invalid_value 4:9 "['mkdir', '{trial}/x']"
      `hooks.setup` holds `{trial}`, and it is run for no trial
      help: `prepare` and `conclude` are run for every trial
    "###);
    assert_snapshot!(hooked("prepar = [['true'], ['false']]"), @r###"
    error spec.unknown_key 4:1 "prepar"
      unknown key `prepar` in `[hooks]`
      ^ not a key of this table
      help: did you mean `prepare`?
    "###);
    assert_snapshot!(hooked("cleanup = []"), @r###"
    error spec.invalid_value 4:11 "[]"
      `hooks.cleanup` names no program
      help: the first element is the program: ["python3", "app.py"]
    "###);
}

#[test]
fn a_program_in_an_empty_directory_is_not_named_relative_to_it() {
    assert_snapshot!(shown("program = { command = ['./serve'], fresh = true }\nplan.describe = true"), @r###"
    error spec.relative_program 1:23 "['./serve']"
      `./serve` is relative to the working directory, which is empty in every trial
      help: write `{folder}/serve`
    "###);
    assert_snapshot!(shown("program = { command = ['{folder}/serve'], fresh = { cwd = true } }\nplan.describe = true"), @"");
    assert_snapshot!(shown("program = { command = ['serve'], fresh = { cvd = true } }\nplan.describe = true"), @r###"
    error spec.unknown_key 1:44 "cvd"
      unknown key `cvd` in `program.fresh`
      ^ not a key of this table
      help: did you mean `cwd`?
    "###);
}
