//! What is said about predictions of every kind, old logs and open-ended plans.

use insta::assert_snapshot;

use crate::shown::shown;

/// A file with a factor and two metrics, and a claim under test.
fn predicted(prediction: &str) -> String {
    shown(&format!(
        "program.command = ['true']\nfactors.ar = {{ nccl = {{}}, custom = {{ args = ['x'] }} }}\n\
         metrics.tokens = {{ log = 't=(\\d+)', margin = 0.02 }}\nmetrics.bare = {{ log = 'b=(\\d+)' }}\n\
         plan.baseline = {{ ar = 'nccl' }}\n[[hypotheses]]\nclaim = 'c'\npredicts = [{prediction}]"
    ))
}

/// The same file with a plan under test.
fn planned(plan: &str) -> String {
    shown(&format!(
        "program.command = ['true']\nfactors.ar = {{ nccl = {{}}, custom = {{ args = ['x'] }} }}\nmetrics.tokens = {{ log = 't=(\\d+)' }}\n\
         [plan]\nbaseline = {{ ar = 'nccl' }}\n{plan}"
    ))
}

#[test]
fn predictions_of_every_kind_are_read() {
    for prediction in [
        "{ cell = {}, outcome = 'failed' }",
        "{ cell = { ar = 'custom' }, cause = 'memory' }",
        "{ cell = {}, metric = 'tokens', above = 10 }",
        "{ cell = {}, metric = 'tokens', below = 1e3 }",
        "{ cell = {}, metric = 'tokens', within = [1, 2.5] }",
        "{ factor = 'ar', level = 'custom', metric = 'tokens', effect = 'none' }",
        "{ factor = 'ar', level = 'custom', metric = 'bare', effect = 'up' }",
    ] {
        assert_eq!(predicted(prediction), "", "{prediction}");
    }
}

#[test]
fn a_prediction_says_one_thing_and_says_it_whole() {
    assert_snapshot!(predicted("{ cell = {}, outcome = 'failed', cause = 'memory' }"), @r###"
    error spec.invalid_value 8:46 "cause"
      `hypotheses[0].predicts[0].cause` is a second thing that one prediction says
      help: write a prediction for each
    "###);
    assert_snapshot!(predicted("{ cell = {}, cause = 'memroy.device_oom' }"), @r###"
    error spec.unknown_cause 8:34 "'memroy.device_oom'"
      no launch fails with a cause `memroy.device_oom`
      ^ not a class of causes
      help: did you mean `memory`?
    "###);
    assert_snapshot!(predicted("{ cell = {} }"), @r###"
    error spec.missing_key 8:13 "{ cell = {} }"
      `outcome` is missing in `hypotheses[0].predicts[0]`
      help: add `outcome = "failed"`
    "###);
    assert_snapshot!(predicted("{ cell = {}, metric = 'token', above = 1 }"), @r###"
    error spec.unknown_metric 8:35 "'token'"
      there is no metric `token`
      ^ not a metric
      help: did you mean `tokens`?
    "###);
    assert_snapshot!(predicted("{ cell = {}, metric = 'tokens' }"), @r###"
    error spec.invalid_value 8:35 "'tokens'"
      `hypotheses[0].predicts[0].metric` does not say where its value lies
      help: add `above = 100`, `below = 100` or `within = [90, 110]`
    "###);
    assert_snapshot!(predicted("{ cell = {}, metric = 'tokens', above = 1, below = 2 }"), @r###"
    error spec.invalid_value 8:56 "below"
      `hypotheses[0].predicts[0].below` is a second bound
      help: `within = [LOW, HIGH]` states both
    "###);
    assert_snapshot!(predicted("{ cell = {}, metric = 'tokens', within = [2, 1] }"), @r###"
    error spec.invalid_value 8:54 "[2, 1]"
      `hypotheses[0].predicts[0].within` must be two numbers, the lower one first, such as [90, 110]
    "###);
    assert_snapshot!(predicted("{ cell = {}, metric = 'tokens', above = inf }"), @r###"
    error spec.invalid_value 8:53 "inf"
      `hypotheses[0].predicts[0].above` must be a finite number
    "###);
    assert_snapshot!(predicted("{ cell = {}, outcome = 'failed', above = 1 }"), @r###"
    error spec.invalid_value 8:46 "above"
      `hypotheses[0].predicts[0].above` means nothing without `metric`
    "###);
}

#[test]
fn an_effect_is_of_a_level_that_is_compared() {
    assert_snapshot!(predicted("{ factor = 'ar', level = 'nccl', metric = 'tokens', effect = 'up' }"), @r###"
    error spec.invalid_value 8:38 "'nccl'"
      `hypotheses[0].predicts[0].level` is the baseline's level, and has no effect against itself
      help: the levels that are compared with the baseline are `custom`
    "###);
    assert_snapshot!(predicted("{ factor = 'arr', level = 'custom', metric = 'tokens', effect = 'up' }"), @r###"
    error spec.unknown_factor 8:24 "'arr'"
      there is no factor `arr`
      ^ not a factor
      help: did you mean `ar`?
    "###);
    assert_snapshot!(predicted("{ factor = 'ar', level = 'custom', metric = 'tokens', effect = 'upp' }"), @r###"
    error spec.invalid_value 8:76 "'upp'"
      `hypotheses[0].predicts[0].effect` must be `up`, `down` or `none`, found `upp`
      help: did you mean `up`?
    "###);
    assert_snapshot!(predicted("{ factor = 'ar', level = 'custom', metric = 'bare', effect = 'none' }"), @r###"
    error spec.no_margin 8:74 "'none'"
      "none" can never be shown of `bare`: it states no margin
      help: add `margin` to metrics.bare: what counts as no effect
    "###);
    assert_snapshot!(predicted("{ factor = 'ar', level = 'custom', metric = 'tokens', effect = 'up', cell = {} }"), @r###"
    error spec.invalid_value 8:82 "cell"
      `hypotheses[0].predicts[0].cell` does not go with `factor`: an effect is of a level on a metric
      help: write a prediction of its own for the cell
    "###);
    assert_snapshot!(predicted("{ factor = 'ar', metric = 'tokens', effect = 'up' }"), @r###"
    error spec.missing_key 8:13 "{ factor = 'ar', metric = 'tokens', effect = 'up' }"
      `level` is missing in `hypotheses[0].predicts[0]`
      help: add `level = "custom"`
    "###);
}

#[test]
fn one_claim_answers_a_question_once() {
    assert_snapshot!(predicted("{ cell = {}, outcome = 'failed' }, { cell = { ar = 'nccl' }, cause = 'memory' }"), @r###"
    error spec.duplicate_prediction 8:48 "{ cell = { ar = 'nccl' }, cause = 'memory' }"
      the hypothesis predicts the cell `nccl/none` twice
    "###);
    assert_snapshot!(predicted("{ cell = {}, metric = 'tokens', above = 1 }, { cell = {}, metric = 'tokens', below = 9 }"), @r###"
    error spec.duplicate_prediction 8:58 "{ cell = {}, metric = 'tokens', below = 9 }"
      the hypothesis predicts `tokens` of the cell `nccl/none` twice
    "###);
    assert_eq!(predicted("{ cell = {}, outcome = 'completed' }, { cell = {}, metric = 'tokens', below = 9 }"), "");
}

#[test]
fn a_plan_without_end_needs_a_rule_without_a_last_look() {
    assert_eq!(planned("rule = 'e-value'\nblocks = { min = 4 }"), "");
    assert_snapshot!(planned("blocks = { min = 4 }"), @r###"
    error spec.no_last_block 6:18 "4"
      `plan.blocks` has no `max`, and Fisher's test may not be looked at without end
      ^ no last block
      help: add `max = 10`, or write `rule = "e-value"` in [plan], which goes on until it is decided or you stop it
    "###);
    assert_snapshot!(planned("rule = 'evalue'"), @r###"
    error spec.invalid_value 6:8 "'evalue'"
      `plan.rule` must be `fisher` or `e-value`, found `evalue`
      help: did you mean `e-value`?
    "###);
    assert_snapshot!(planned("rule = 'e-value'\nblocks = { min = 4 }\nprimary = 'tokens'"), @r###"
    error spec.no_last_block 7:10 "{ min = 4 }"
      a run whose primary answer is `tokens` needs a last block: metrics never stop a run
      help: write `blocks = { min = 4, max = 10 }`, or `primary = "outcome"`
    "###);
    assert_snapshot!(planned("rule = 'e-value'\nblocks = 3"), @r###"
    error spec.cannot_reach 7:10 "3"
      the plan cannot answer for `ar`: that needs 4 blocks, and at most 3 are run
      note: at its level of 0.0500, even a cell that fails in every launch against one that never fails needs 4 launches of each
      help: write `blocks = { min = 4, max = 10 }`, or `describe = true` to launch without a verdict
    "###);
}

#[test]
fn a_log_is_named_once() {
    let with = |tables: &str| planned(&format!("describe = true\n{tables}"));
    assert_eq!(with("[[evidence]]\nlog = 'a.log'\n[[evidence]]\nlog = 'b/a.log'\nname = 'other'"), "");
    assert_snapshot!(with("[[evidence]]\nname = 'x'"), @r###"
    error spec.missing_key 7:1 "[[evidence]]"
      `log` is missing in `[[evidence]]`
      help: add `log = "baseline_clean.log"`
    "###);
    assert_snapshot!(with("[[evidence]]\nlog = 'a.log'\n[[evidence]]\nlog = 'a.log'"), @r###"
    error spec.duplicate_name 10:7 "'a.log'"
      this log is named twice
    "###);
    assert_snapshot!(with("[[evidence]]\nlog = 'a.log'\n[[evidence]]\nlog = 'b/a.log'"), @r###"
    error spec.duplicate_name 10:7 "'b/a.log'"
      two logs have the name `a.log`
      help: give one of them another `name`
    "###);
    assert_snapshot!(with("[[evidence]]\nlogs = 'a.log'"), @r###"
    error spec.unknown_key 8:1 "logs"
      unknown key `logs` in `[[evidence]]`
      ^ not a key of this table
      help: did you mean `log`?
    "###);
    assert_snapshot!(with("[evidence]\nlog = 'a.log'"), @r###"
    error spec.wrong_type 7:1 "[evidence]"
      `evidence` must be a list of tables, found a table
      ^ a table
      help: write `[[evidence]]`
    "###);
}
