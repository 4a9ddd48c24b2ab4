//! The memory budgets that were read, each once, with the cells it was seen in.

use bystander_model::report::BudgetFinding;

use crate::ledger::Ledger;

pub(super) fn findings(ledger: &Ledger) -> Vec<BudgetFinding> {
    let mut findings: Vec<BudgetFinding> = Vec::new();
    // The baseline's levels first, and exact inputs (from hits) before rounded ones (from logs): the reader sees the sharper equation first.
    let mut trials: Vec<_> = ledger.trials.values().filter_map(|trial| Some((trial, trial.end.as_ref()?.budget.as_deref()?))).collect();
    trials.sort_by_key(|(trial, budget)| (trial.slot.cell.levels != ledger.plan.baseline.levels, width(budget), trial.id));
    for (trial, budget) in trials {
        let cell = trial.slot.cell.to_string();
        match findings.iter_mut().find(|finding| same(&finding.budget, budget)) {
            Some(finding) => {
                finding.trials.push(trial.id);
                if !finding.cells.contains(&cell) {
                    finding.cells.push(cell);
                }
            }
            None => findings.push(BudgetFinding { trials: vec![trial.id], cells: vec![cell], budget: budget.clone() }),
        }
    }
    findings
}

/// Whether a budget was read from rounded figures.
fn width(budget: &bystander_model::budget::BudgetReport) -> bool {
    budget.rest_gib.high > budget.rest_gib.low
}

/// Two budgets are one finding when each lies within what the other's sources allow.
fn same(one: &bystander_model::budget::BudgetReport, other: &bystander_model::budget::BudgetReport) -> bool {
    let fits = |a: &bystander_model::budget::Figure, b: &bystander_model::budget::Figure| a.low <= b.high + 1e-3 && b.low <= a.high + 1e-3;
    one.of_little_use.is_some() == other.of_little_use.is_some()
        && (one.fraction - other.fraction).abs() < 1e-9
        && fits(&one.total_gib, &other.total_gib)
        && fits(&one.available_gib, &other.available_gib)
}
