//! Whether the plan can reach its level: what complete separation would need, and where the looks end.
//!
//! Each contrast is of two cells with one launch per block; its level is fixed by the plan: 0.05 shared among a factor's levels beside the
//! baseline's, a third of 0.05 for every instrument level. The tests themselves are of `stats` and `design`.

use bystander_model::cell::NO_INSTRUMENT;
use bystander_model::diagnostic::Diagnostic;

use super::metrics::OUTCOME;
use super::nearest::names;
use super::problems::Problems;
use super::table::Table;
use crate::design::reach::{blocks_needed, instrument_alpha, level_alpha};
use crate::plan::Plan;
use crate::stats::StatsError;
use crate::stats::peeking::cap;

/// The level of an answer about outcomes.
const ALPHA: f64 = 0.05;
/// No level that a plan gives to a contrast has a lower cap than the one of [`ALPHA`].
const LOWEST_CAP: u32 = 10;
/// The fewest launches per cell from which a metric has an interval.
const METRIC_BLOCKS: u32 = 2;

/// Contrasts that share one level.
#[derive(Debug)]
struct Contrasts {
    about: Vec<String>,
    alpha: f64,
}

/// Tells the problems of power at the place of the blocks.
pub(super) fn tell(plan: &Plan, root: &Table<'_>, problems: &mut Problems<'_>) {
    let section = root.get("plan");
    let blocks = section.as_ref().and_then(|item| item.entries(problems)).and_then(|table| table.get("blocks"));
    let span = blocks.or(section).map_or(0..0, |item| item.span);
    for problem in check_power(plan) {
        problems.push(&span, problem);
    }
}

/// Checks that a plan which promises an answer can give one; places are for the caller to add.
///
/// Too few blocks for an answer about outcomes refuse the plan, or are warned of where a metric is the primary answer. More blocks than are
/// looked at are warned of.
pub(super) fn check_power(plan: &Plan) -> Vec<Diagnostic> {
    if plan.describe {
        return Vec::new();
    }
    let mut found: Vec<Diagnostic> =
        contrasts(plan).iter().filter_map(|contrasts| unattainable(plan, contrasts).transpose()).map(told).collect();
    if plan.primary != OUTCOME {
        for problem in &mut found {
            problem.severity = bystander_model::diagnostic::Severity::Warning;
        }
        found.extend((plan.blocks.max < METRIC_BLOCKS).then(|| metric_without_spread(plan)));
    }
    if plan.blocks.max > LOWEST_CAP {
        found.extend(contrasts(plan).iter().filter_map(|contrasts| beyond_cap(plan, contrasts).transpose()).map(told));
    }
    found
}

/// A problem, or why it could not be computed, which is a problem too.
fn told(problem: Result<Diagnostic, StatsError>) -> Diagnostic {
    problem.unwrap_or_else(|error| Diagnostic::error("spec.cannot_reach", format!("failed to {error}")))
}

/// The contrasts of the plan by level: one group for each factor, one for all instruments.
fn contrasts(plan: &Plan) -> Vec<Contrasts> {
    let factor = |(name, levels): (&String, &indexmap::IndexMap<String, _>)| {
        let others = u32::try_from(levels.len().saturating_sub(1)).unwrap_or(u32::MAX);
        Contrasts { about: vec![name.clone()], alpha: level_alpha(ALPHA, others) }
    };
    let instruments: Vec<String> = plan.instruments.keys().filter(|name| *name != NO_INSTRUMENT).cloned().collect();
    let instruments = (!instruments.is_empty()).then(|| Contrasts { about: instruments, alpha: instrument_alpha(ALPHA) });
    plan.factors.iter().map(factor).chain(instruments).collect()
}

fn unattainable(plan: &Plan, contrasts: &Contrasts) -> Result<Option<Diagnostic>, StatsError> {
    let needed = blocks_needed(contrasts.alpha)?;
    let allowed = plan.blocks.max;
    if needed <= allowed {
        return Ok(None);
    }
    let about = names(contrasts.about.iter().map(String::as_str));
    let problem = Diagnostic::error(
        "spec.cannot_reach",
        format!("the plan cannot answer for {about}: that needs {needed} blocks, and at most {allowed} are run"),
    );
    let why = format!(
        "at its level of {:.4}, even a cell that fails in every launch against one that never fails needs {needed} launches of each",
        contrasts.alpha
    );
    let help = format!(
        "write `blocks = {{ min = {}, max = {} }}`, or `describe = true` to launch without a verdict",
        needed.min(4),
        needed.max(10)
    );
    Ok(Some(problem.note(why).help(help)))
}

fn metric_without_spread(plan: &Plan) -> Diagnostic {
    let message = format!("the plan cannot answer for `{}`: one launch of each cell has no spread", plan.primary);
    Diagnostic::error("spec.cannot_reach", message).help("run at least 2 blocks, or write `describe = true` to launch without a verdict")
}

fn beyond_cap(plan: &Plan, contrasts: &Contrasts) -> Result<Option<Diagnostic>, StatsError> {
    let cap = cap(contrasts.alpha)?;
    if plan.blocks.max <= cap {
        return Ok(None);
    }
    let about = names(contrasts.about.iter().map(String::as_str));
    let message = format!("outcomes are looked at until block {cap} for {about}: later blocks serve metrics alone");
    let why =
        format!("looking after every block keeps false positives at the level of {:.4} for {cap} blocks, and no longer", contrasts.alpha);
    Ok(Some(Diagnostic::warning("spec.blocks_beyond_looks", message).note(why)))
}
