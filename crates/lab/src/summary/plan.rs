//! What was planned, and what the plan can and cannot decide.

use bystander_model::report::PlanSummary;

use crate::contrast::{self, Contrast, Subject};
use crate::design::reach;
use crate::ledger::Ledger;
use crate::plan::Plan;
use crate::verdict::sentence::{blocks, launches, percent};

pub(super) fn summary(ledger: &Ledger) -> PlanSummary {
    let plan = &ledger.plan;
    let cells = u32::try_from(plan.cells.len()).unwrap_or(u32::MAX);
    let done =
        (1..=plan.blocks.max).take_while(|block| plan.cells.iter().all(|cell| ledger.data(cell).any(|trial| trial.slot.block == *block)));
    PlanSummary {
        blocks: plan.blocks.max,
        blocks_done: u32::try_from(done.count()).unwrap_or(u32::MAX),
        order_seed: ledger.seed,
        cells,
        launches: cells.saturating_mul(plan.blocks.max),
        power: power(plan),
    }
}

/// What a plan can and cannot decide, in sentences.
#[must_use]
pub fn power(plan: &Plan) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    for contrast in contrast::contrasts(plan) {
        let sentence = outcome_power(plan, &contrast);
        if !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
    }
    let n = plan.blocks.max;
    if let Ok(bound) = crate::stats::proportion::zero_failure_upper(n, 0.05) {
        sentences.push(format!("with no failure in {} of a cell, a failure rate up to {} is not excluded", launches(n), percent(bound)));
    }
    let without: Vec<&str> = plan.metrics.iter().filter(|(_, metric)| metric.margin.is_none()).map(|(name, _)| name.as_str()).collect();
    if !without.is_empty() {
        sentences.push(format!("\"no effect\" cannot be shown for {}: no `margin` is stated", without.join(", ")));
    }
    sentences
}

fn outcome_power(plan: &Plan, contrast: &Contrast) -> String {
    let what = match &contrast.subject {
        Subject::Factor { factor, level } => format!("{factor}={level}"),
        Subject::Instrument { .. } => "each instrument".to_owned(),
    };
    let level = contrast.alpha;
    match reach::blocks_needed(level) {
        Ok(needed) if needed <= plan.blocks.max => {
            format!(
                "{what}: an outcome that always differs is shown after {needed} blocks (Fisher, level {level:.4}, looked at after every block)"
            )
        }
        Ok(needed) => format!(
            "{what}: cannot be shown to change the outcome in {}; that takes {needed} (Fisher, level {level:.4})",
            blocks(plan.blocks.max)
        ),
        Err(_) => format!("{what}: cannot be shown to change the outcome at level {level:.4}"),
    }
}
