//! What the plan makes of factors, instruments and blocks.

use std::path::Path;

use bystander_lab::plan::{Blocks, Plan, Rule};
use bystander_lab::spec;

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
