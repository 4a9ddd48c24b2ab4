//! What was planned, and what the plan can and cannot decide.

use bystander_model::report::PlanSummary;

use crate::contrast::{self, Contrast, Subject};
use crate::design::reach;
use crate::ledger::Ledger;
use crate::looks::anytime::AnytimeRule;
use crate::looks::said_last;
use crate::plan::{Plan, Rule};
use crate::verdict::margin;
use crate::verdict::sentence::{blocks, launches, percent};

pub(super) fn summary(ledger: &Ledger) -> PlanSummary {
    let plan = &ledger.plan;
    let cells = u32::try_from(plan.cells.len()).unwrap_or(u32::MAX);
    PlanSummary {
        blocks: said_last(plan.blocks),
        rule: match plan.rule {
            Rule::Fisher => "fisher",
            Rule::EValue => "e_value",
        }
        .to_owned(),
        primary: plan.primary.clone(),
        blocks_done: blocks_done(ledger),
        order_seed: ledger.seed,
        cells,
        launches: said_last(plan.blocks).map(|blocks| cells.saturating_mul(blocks)),
        power: power(plan),
    }
}

/// Blocks of which every cell has a data point, from the first on.
pub(super) fn blocks_done(ledger: &Ledger) -> u32 {
    let plan = &ledger.plan;
    let done =
        (1..=plan.blocks.max).take_while(|block| plan.cells.iter().all(|cell| ledger.data(cell).any(|trial| trial.slot.block == *block)));
    u32::try_from(done.count()).unwrap_or(u32::MAX)
}

/// What a plan can and cannot decide, in sentences.
#[must_use]
pub fn power(plan: &Plan) -> Vec<String> {
    let contrasts = contrast::contrasts(plan);
    let mut sentences: Vec<String> = primary_metric(plan).filter(|_| !contrasts.is_empty()).into_iter().collect();
    for contrast in contrasts {
        let sentence = outcome_power(plan, &contrast);
        if !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
    }
    sentences.extend(contrast::unanswered(plan));
    let n = if plan.blocks.is_open() { plan.blocks.min } else { plan.blocks.max };
    if plan.blocks.is_open() {
        sentences.push(
            "no last block: it goes on until every comparison is decided or you stop it, and the same command takes it up again".to_owned(),
        );
        if plan.margin.is_none() {
            sentences.push("where nothing ever differs only you can stop it: no `margin` says what counts as no effect".to_owned());
        }
    }
    if let Ok(bound) = crate::stats::proportion::zero_failure_upper(n, 0.05) {
        sentences.push(format!("with no failure in {} of a cell, a failure rate up to {} is not excluded", launches(n), percent(bound)));
    }
    let without: Vec<&str> = plan.metrics.iter().filter(|(_, metric)| metric.margin.is_none()).map(|(name, _)| name.as_str()).collect();
    if !without.is_empty() {
        sentences.push(format!("\"no effect\" cannot be shown for {}: no `margin` is stated", without.join(", ")));
    }
    sentences
}

/// By what a metric decides, where the primary answer is about one.
fn primary_metric(plan: &Plan) -> Option<String> {
    let name = &plan.primary;
    let metric = plan.metrics.get(name)?;
    let within = match metric.margin {
        Some(_) => format!("; no effect is shown within {}", margin(metric)),
        None => String::new(),
    };
    Some(format!(
        "the exit code follows {name}: an effect on it is shown where its interval over blocks, two at least, leaves out no effect{within}; outcomes are \
         answered beside it. A metric never stops a run, so that every block is run"
    ))
}

fn outcome_power(plan: &Plan, contrast: &Contrast) -> String {
    let what = match &contrast.subject {
        Subject::Factor { factor, level } => format!("{factor}={level}"),
        Subject::Combination => "levels put together".to_owned(),
        Subject::Instrument { .. } if contrast.is_beside(plan) => "each instrument beside another combination of levels".to_owned(),
        Subject::Instrument { .. } => "each instrument".to_owned(),
    };
    let level = contrast.alpha;
    if plan.rule == Rule::EValue {
        return by_e_value(plan, &what, level);
    }
    match reach::blocks_needed(level) {
        Ok(needed) if needed <= plan.blocks.max => {
            format!(
                "{what}: an outcome that always differs is shown after {} (Fisher, level {level:.4}, looked at after every block)",
                blocks(needed)
            )
        }
        Ok(needed) => format!(
            "{what}: cannot be shown to change the outcome in {}; that takes {needed} (Fisher, level {level:.4})",
            blocks(plan.blocks.max)
        ),
        Err(_) => format!("{what}: cannot be shown to change the outcome at level {level:.4}"),
    }
}

fn by_e_value(plan: &Plan, what: &str, level: f64) -> String {
    let threshold = (1.0 / level).round();
    let needed = AnytimeRule::new(level, plan.blocks.max).ok().and_then(|rule| rule.blocks_needed());
    match needed {
        Some(needed) if needed <= plan.blocks.max => format!(
            "{what}: an outcome that always differs is shown after {} (an e-value of {threshold}, level {level:.4}, valid at any stop)",
            blocks(needed)
        ),
        Some(needed) => format!(
            "{what}: cannot be shown to change the outcome in {}; that takes {needed} (an e-value of {threshold}, level {level:.4})",
            blocks(plan.blocks.max)
        ),
        None => format!("{what}: cannot be shown to change the outcome at level {level:.4}"),
    }
}
