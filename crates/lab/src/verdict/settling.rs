//! What would settle a question about outcomes: how many launches, by which rule, with which chance.
//!
//! The chance is 80 % if both cells go on to fail as often as they did. Rates from few launches are guesses, so the number is one to plan with, not a
//! promise.

use bystander_model::cell::Cell;
use bystander_model::report::{Means, Needs};

use super::sentence::percent;
use crate::plan::{Plan, Rule};
use crate::stats::Tally;
use crate::stats::evalue::blocks_for_power;
use crate::stats::peeking::{cap, plan_power};

/// The chance of a decision that "would settle it" stands for.
const POWER: f64 = 0.8;
/// The difference of failure rates that is planned for where both cells fail equally often and no margin is stated.
const DIFFERENCE: f64 = 0.3;
/// What a plan can be told to do that no rule with a cap can.
pub(super) const OPEN_ENDED: &str = "`rule = \"e-value\"` with `blocks = { min = 4 }` in [plan]: it has no cap";

/// Says how a plan compares outcomes at a level.
pub(crate) fn rule_said(plan: &Plan, alpha: f64) -> String {
    match plan.rule {
        Rule::Fisher => {
            let last = cap(alpha).map_or(plan.blocks.max, |cap| cap.min(plan.blocks.max));
            let looks = match last {
                0 | 1 => "which is looked at after two blocks at the earliest: this plan has one".to_owned(),
                2 => "looked at after block 2".to_owned(),
                last => format!("looked at after every block from 2 to {last}"),
            };
            format!("Fisher's exact test, two-sided, at {alpha:.4}, {looks}")
        }
        Rule::EValue => format!("an e-value of at least {:.0} (level {alpha:.4}), valid whenever one looks or stops", 1.0 / alpha),
    }
}

/// A launch that is missing, with what it takes.
pub(crate) fn launch_of(plan: &Plan, cell: &Cell) -> (Means, String) {
    let means = if cell.is_bare() {
        Means::CleanRun
    } else if plan.edits_of(cell).next().is_some() {
        Means::Edit
    } else {
        Means::Probe
    };
    (means, format!("a launch of {cell}"))
}

/// Says what would settle whether two cells fail at different rates.
pub(super) fn needs(plan: &Plan, treated: Tally, control: Tally, alpha: f64) -> Needs {
    let (Some(p1), Some(p0)) = (treated.proportion(), control.proportion()) else {
        return Needs::of([(Means::Launches, "launches of both cells".to_owned())]);
    };
    let (high, low, at) = planned_for(plan, p1, p0);
    match plan.rule {
        Rule::Fisher => by_fisher(plan, alpha, (high, low), &at),
        Rule::EValue => by_e_value(plan, alpha, (high, low), &at, None),
    }
}

/// The rates that are planned for, and what they are.
fn planned_for(plan: &Plan, p1: f64, p0: f64) -> (f64, f64, String) {
    if p1.to_bits() != p0.to_bits() {
        return (p1, p0, format!("at the observed rates ({} against {})", percent(p1), percent(p0)));
    }
    let width = plan.margin.unwrap_or(DIFFERENCE);
    let low = (p0 - width / 2.0).clamp(0.0, 1.0 - width);
    let said = format!(
        "for rates {} points apart around the observed {} ({} against {})",
        (width * 100.0).round(),
        percent(p0),
        percent(low + width),
        percent(low)
    );
    (low + width, low, said)
}

fn by_fisher(plan: &Plan, alpha: f64, (p1, p0): (f64, f64), at: &str) -> Needs {
    let Ok(cap) = cap(alpha) else { return Needs::default() };
    let power = |blocks: u32| plan_power(alpha, blocks, p1, p0).map_or(0.0, |plan| plan.power);
    let enough = (2..=cap).find(|blocks| power(*blocks) >= POWER);
    let Some(blocks) = enough else {
        let capped = format!("Fisher's test may be looked at up to block {cap}, where its chance is only {}", percent(power(cap)));
        return by_e_value(plan, alpha, (p1, p0), at, Some(&capped));
    };
    let rule = format!("80 % chance {at}, by Fisher's test at {alpha:.4} after every block, cap {cap}");
    let missing = if blocks > plan.blocks.max { format!("`max = {blocks}` in plan.blocks") } else { "more blocks".to_owned() };
    Needs { launches_per_cell: Some(blocks), rule: Some(rule), ..Needs::of([(Means::Launches, missing)]) }
}

fn by_e_value(plan: &Plan, alpha: f64, (p1, p0): (f64, f64), at: &str, instead: Option<&str>) -> Needs {
    let blocks = blocks_for_power(p1, p0, alpha, POWER).ok().flatten();
    let instead = instead.map_or_else(String::new, |why| format!("; {why}"));
    let threshold = (1.0 / alpha).round();
    let rule = match blocks {
        Some(_) => format!("about 80 % chance {at}, by an e-value of {threshold} (level {alpha:.4}), no cap{instead}"),
        None => format!("an e-value of {threshold} would take more than 300 blocks {at}{instead}"),
    };
    let missing = match (plan.rule, blocks) {
        (Rule::Fisher, _) => OPEN_ENDED.to_owned(),
        (Rule::EValue, Some(blocks)) if blocks > plan.blocks.max => format!("`blocks = {{ min = {} }}`: no last block", plan.blocks.min),
        (Rule::EValue, _) => "more blocks".to_owned(),
    };
    Needs { launches_per_cell: blocks, rule: Some(rule), ..Needs::of([(Means::Launches, missing)]) }
}
