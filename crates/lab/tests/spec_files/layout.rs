//! What the plan makes of factors, instruments and blocks.

use std::path::Path;

use bystander_lab::contrast::{contrasts, unanswered};
use bystander_lab::plan::{Blocks, Plan, Rule};
use bystander_lab::spec;
use bystander_lab::summary::power;

use crate::shown::FILE;

fn plan(text: &str) -> Plan {
    let text = format!("program.command = ['true']\n{text}");
    spec::parse(&text, Path::new(FILE)).unwrap_or_else(|problems| panic!("{problems:#?}")).plan
}

fn cells(plan: &Plan) -> Vec<String> {
    plan.cells.iter().map(ToString::to_string).collect()
}

#[test]
fn factors_alone_need_no_instrument() {
    let plan = plan("factors.a = { x = {}, y = { args = ['-y'] } }\nplan.baseline = { a = 'y' }");
    assert_eq!(cells(&plan), ["y/none", "x/none"]);
}

#[test]
fn instruments_alone_need_no_factor() {
    let plan = plan("plan.baseline.instrument = 'none'\n[[probes]]\nname = 'p'\nat = 'm:f'\n[[probes]]\nname = 'q'\nat = 'm:g'");
    assert_eq!(cells(&plan), ["none", "p", "q"]);
    assert_eq!(plan.probes.len(), 2);
}

#[test]
fn one_cell_is_a_description() {
    let plan = plan("plan.describe = true");
    assert_eq!(cells(&plan), ["none"]);
    assert!(plan.cells[0].is_bare());
}

#[test]
fn only_what_the_plan_uses_is_in_it() {
    let probes = "[[probes]]\nname = 'p'\nat = 'm:f'\n[[probes]]\nname = 'q'\nat = 'm:g'";
    let plan = plan(&format!("plan = {{ baseline.instrument = 'none', instruments = ['none', 'q'] }}\n{probes}"));
    let used: Vec<&str> = plan.probes.iter().map(|probe| probe.spec.name.as_str()).collect();
    assert_eq!(used, ["q"]);
}

#[test]
fn several_factors_are_crossed_in_the_order_of_the_file() {
    let plan = plan(
        "[factors]\nb = { 1 = {}, 2 = { args = ['2'] } }\na = { x = {}, y = { args = ['y'] } }\n[plan]\nbaseline = { a = 'x', b = '2' }",
    );
    assert_eq!(cells(&plan), ["2/x/none", "1/x/none", "1/y/none", "2/y/none"]);
}

#[test]
fn a_bound_that_is_not_said_gives_way() {
    let blocks = |text: &str| plan(&format!("plan = {{ describe = true, blocks = {text} }}")).blocks;
    assert_eq!(blocks("{ max = 2 }"), Blocks { min: 2, max: 2 });
    assert_eq!(blocks("{ min = 12 }"), Blocks { min: 12, max: 12 });
    assert_eq!(blocks("{}"), Blocks { min: 4, max: 10 });
    assert_eq!(blocks("0x7"), Blocks { min: 7, max: 7 });
}

#[test]
fn only_e_values_go_on_without_a_last_block() {
    let e_value = plan("plan = { describe = true, rule = 'e-value', blocks = { min = 6 } }");
    assert!(e_value.rule == Rule::EValue && e_value.blocks.is_open() && e_value.blocks.min == 6);
    let capped = plan("plan = { describe = true, rule = 'e-value', blocks = { min = 6, max = 20 } }");
    assert!(!capped.blocks.is_open() && capped.blocks.max == 20);
    assert_eq!(plan("plan = { describe = true }").rule, Rule::Fisher);
}

#[test]
fn declared_cells_are_the_plan_and_what_they_cannot_answer_is_said() {
    let text = "factors.a = { x = {}, y = { args = ['y'] } }\nfactors.b = { p = {}, q = { args = ['q'] }, r = { args = ['r'] } }\n\
        plan.baseline = { a = 'x', b = 'p' }\n\
        plan.cells = [{ a = 'y', b = 'q' }, { a = 'x', b = 'p' }, { b = 'p', a = 'y' }]";
    let plan = plan(text);
    assert_eq!(cells(&plan), ["x/p/none", "y/q/none", "y/p/none"], "the baseline comes first");
    assert!(plan.declared);
    let found: Vec<String> = contrasts(&plan)
        .iter()
        .map(|contrast| format!("{}: {} against {}", contrast.about(&plan), contrast.treated, contrast.control))
        .collect();
    assert_eq!(
        found,
        ["factor:a: y/p/none against x/p/none", "factor:b=q: y/q/none against y/p/none", "combination:a=y,b=q: y/q/none against x/p/none"]
    );
    let said = power(&plan);
    assert!(said.iter().any(|sentence| sentence.contains("b=r is not compared: no two declared cells differ in this alone")), "{said:?}");
    assert!(unanswered(&self::plan("factors.a = { x = {}, y = { args = ['y'] } }\nplan.baseline = { a = 'x' }")).is_empty());
}

#[test]
fn what_a_plan_decides_beside_its_cells_is_read() {
    let text = "hooks = { prepare = [['a'], ['b', '{seed}']], cleanup = ['c'], timeout = '5s', strict = true }\n\
        factors.a = { x = {}, y = { args = ['y'] } }\nplan = { baseline = { a = 'x' }, parallel = [[0, 1], []], padding = false }";
    let plan = plan(text);
    let gpus: Vec<&[u32]> = plan.lanes.iter().map(|lane| lane.gpus.as_slice()).collect();
    assert_eq!(gpus, [&[0, 1][..], &[]]);
    assert!(!plan.padding && plan.hooks.strict && plan.hooks.timeout.as_secs() == 5);
    let names: Vec<(&str, usize)> = plan.hooks.all().map(|(name, commands)| (name, commands.len())).collect();
    assert_eq!(names, [("prepare", 2), ("cleanup", 1)]);
    let plain = self::plan("plan.describe = true");
    assert!(plain.padding && plain.lane_count() == 1 && plain.lane(1).is_none() && plain.hooks.all().next().is_none());
}

#[test]
fn an_aa_plan_is_its_baseline_under_two_labels() {
    let plan = plan("factors.a = { x = {}, y = { args = ['y'] } }\nplan = { baseline = { a = 'x' }, kind = 'aa' }");
    assert_eq!(cells(&plan), ["x/A/none", "x/A'/none"]);
    assert_eq!(contrasts(&plan).len(), 1);
    let alone = self::plan("plan.kind = 'aa'");
    assert_eq!(cells(&alone), ["A/none", "A'/none"]);
}
