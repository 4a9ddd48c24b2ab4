//! Metrics about which a run says nothing at all: why, and what would give an answer.

use bystander_model::cell::Cell;
use bystander_model::outcome::Outcome;

use super::metric::where_seen;
use crate::contrast::contrasts;
use crate::ledger::{Ledger, TrialRecord};

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unanswered {
    /// The reason, which fits after "there is none, since".
    pub why: String,
    /// What would give one.
    pub step: String,
}

/// Why nothing is said about a metric of the plan; `None` where the plan has no such metric.
#[must_use]
pub fn unanswered(ledger: &Ledger, name: &str) -> Option<Unanswered> {
    let plan = &ledger.plan;
    let metric = plan.metrics.get(name)?;
    let said = |why: String, step: String| Some(Unanswered { why, step });
    let all = contrasts(plan);
    if all.is_empty() {
        let step = "a factor with two levels, or an instrument, gives it two; `bystander show --why` has the value of each launch";
        return said("an answer compares two cells, and the plan has one".to_owned(), step.to_owned());
    }
    let seen: Vec<_> = all.iter().filter_map(|contrast| where_seen(plan, contrast, metric)).collect();
    if seen.is_empty() {
        let step = "a factor whose levels are both run with the probe, or a source other than its hits";
        return said("no comparison has the metric's probe on both of its sides".to_owned(), step.to_owned());
    }
    let cells: Vec<&Cell> = seen.iter().flat_map(|contrast| [&contrast.control, &contrast.treated]).collect();
    if let Some(cell) = cells.iter().find(|cell| ledger.data(cell).next().is_none()) {
        let step = format!("a launch of {cell} that is a data point");
        return said(format!("no launch of {cell} counts{}", last_of(ledger, cell, |_| true)), step);
    }
    let completed = |trial: &TrialRecord| trial.outcome() == Some(Outcome::Completed);
    if let Some(cell) = cells.iter().find(|cell| !ledger.data(cell).any(completed)) {
        let step = format!("a launch of {cell} that completes: mend what ends it first");
        return said(
            format!("a metric is of launches that completed, and none of {cell} did{}", last_of(ledger, cell, TrialRecord::counts)),
            step,
        );
    }
    said("no launch shows a value of it".to_owned(), metric.source.remedy(name))
}

/// How the last launch of a cell ended, of those that are asked for.
fn last_of(ledger: &Ledger, cell: &Cell, is_asked: impl Fn(&TrialRecord) -> bool) -> String {
    let last = ledger.trials.values().rev().find(|trial| trial.slot.cell == *cell && trial.end.is_some() && is_asked(trial));
    last.map_or_else(String::new, |trial| {
        let what = trial.outcome().map_or("has no outcome", Outcome::word);
        let cause = trial.end.as_ref().and_then(|end| end.cause.as_ref()).map_or_else(String::new, |cause| format!(": {}", cause.text));
        format!(" (trial {} {what}{cause})", trial.id)
    })
}
