//! `[[hypotheses]]`: claims, and what each predicts of cells of the plan.

use bystander_model::cell::Cell;
use bystander_model::diagnostic::Diagnostic;
use bystander_model::outcome::Outcome;

use super::cells::Levels;
use super::instruments::tables;
use super::item::Item;
use super::problems::Problems;
use super::schema;
use super::table::Table;
use crate::plan::{Hypothesis, Prediction};

/// Outcomes that can be predicted: those that are data points.
const OUTCOMES: [(&str, Outcome); 3] = [("completed", Outcome::Completed), ("failed", Outcome::Failed), ("timed_out", Outcome::TimedOut)];

/// Reads every hypothesis; what a cell does not name is the baseline's.
pub(super) fn read(root: &Table<'_>, levels: Levels<'_>, baseline: &Cell, problems: &mut Problems<'_>) -> Vec<Hypothesis> {
    let mut hypotheses: Vec<Hypothesis> = Vec::new();
    for table in tables(root, "hypotheses", schema::HYPOTHESIS, problems) {
        let claim = table.require("claim", r#"claim = "the print broke it""#, problems);
        let text = claim.as_ref().and_then(|item| item.some_text(problems)).unwrap_or_default();
        if let Some(item) = claim.filter(|_| !text.is_empty() && hypotheses.iter().any(|other| other.claim == text)) {
            problems.push(&item.span, Diagnostic::error("spec.duplicate_name", "this claim is made twice"));
        }
        let predicts = predictions(&table, levels, baseline, problems);
        hypotheses.push(Hypothesis { claim: text.to_owned(), predicts });
    }
    hypotheses
}

fn predictions(table: &Table<'_>, levels: Levels<'_>, baseline: &Cell, problems: &mut Problems<'_>) -> Vec<Prediction> {
    let example = r#"predicts = [{ cell = { instrument = "none" }, outcome = "failed" }]"#;
    let Some(item) = table.require("predicts", example, problems) else { return Vec::new() };
    let items = item.list("tables", problems).unwrap_or_default();
    if items.is_empty() && item.value.is_array() {
        problems
            .push(&item.span, item.invalid("predicts nothing, so that nothing could speak against it").help(format!("write {example}")));
    }
    let mut predictions: Vec<Prediction> = Vec::new();
    for item in items {
        let Some(prediction) = prediction(&item, levels, baseline, problems) else { continue };
        if predictions.iter().any(|other| other.cell == prediction.cell) {
            let message = format!("the hypothesis predicts the cell `{}` twice", prediction.cell);
            problems.push(&item.span, Diagnostic::error("spec.duplicate_prediction", message));
        }
        predictions.push(prediction);
    }
    predictions
}

fn prediction(item: &Item<'_>, levels: Levels<'_>, baseline: &Cell, problems: &mut Problems<'_>) -> Option<Prediction> {
    let table = item.table(schema::PREDICTION, problems)?;
    let cell = table.require("cell", r#"cell = { instrument = "none" }"#, problems).map(|item| levels.read(&item, problems));
    let outcome = table.require("outcome", r#"outcome = "failed""#, problems).and_then(|item| item.word(&OUTCOMES, problems));
    let written = cell.filter(|written| !written.refused)?;
    let mut cell = baseline.clone();
    cell.levels.extend(written.levels);
    cell.instrument = written.instrument.unwrap_or(cell.instrument);
    Some(Prediction { cell, outcome: outcome? })
}
