//! `[[hypotheses]]`: claims, and what each predicts of cells of the plan.

use bystander_model::cell::Cell;
use bystander_model::diagnostic::Diagnostic;
use bystander_model::outcome::Outcome;
use indexmap::IndexMap;

use super::cells::Levels;
use super::instruments::tables;
use super::item::Item;
use super::nearest::{hint, names};
use super::problems::Problems;
use super::schema;
use super::table::Table;
use crate::plan::{Bounds, Direction, Hypothesis, Metric, Prediction};

/// Outcomes that can be predicted: those that are data points.
const OUTCOMES: [(&str, Outcome); 3] = [("completed", Outcome::Completed), ("failed", Outcome::Failed), ("timed_out", Outcome::TimedOut)];
/// Directions of an effect.
const DIRECTIONS: [(&str, Direction); 3] = [("up", Direction::Up), ("down", Direction::Down), ("none", Direction::None)];
/// What says what is predicted, one of them in each prediction.
const SAYS: [&str; 3] = ["outcome", "cause", "metric"];
/// Where a value lies, one of them in each prediction of one.
const BOUNDS: [&str; 3] = ["above", "below", "within"];

/// What predictions may speak of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    /// Factors and instruments with their levels.
    pub(super) levels: Levels<'a>,
    /// The cell whose levels stand for those that a prediction does not name.
    pub(super) baseline: &'a Cell,
    /// Metrics by name.
    pub(super) metrics: &'a IndexMap<String, Metric>,
}

/// Reads every hypothesis; what a cell does not name is the baseline's.
pub(super) fn read(root: &Table<'_>, known: Known<'_>, problems: &mut Problems<'_>) -> Vec<Hypothesis> {
    let mut hypotheses: Vec<Hypothesis> = Vec::new();
    for table in tables(root, "hypotheses", schema::HYPOTHESIS, problems) {
        let claim = table.require("claim", r#"claim = "the print broke it""#, problems);
        let text = claim.as_ref().and_then(|item| item.some_text(problems)).unwrap_or_default();
        if let Some(item) = claim.filter(|_| !text.is_empty() && hypotheses.iter().any(|other| other.claim == text)) {
            problems.push(&item.span, Diagnostic::error("spec.duplicate_name", "this claim is made twice"));
        }
        let predicts = predictions(&table, known, problems);
        hypotheses.push(Hypothesis { claim: text.to_owned(), predicts });
    }
    hypotheses
}

fn predictions(table: &Table<'_>, known: Known<'_>, problems: &mut Problems<'_>) -> Vec<Prediction> {
    let example = r#"predicts = [{ cell = { instrument = "none" }, outcome = "failed" }]"#;
    let Some(item) = table.require("predicts", example, problems) else { return Vec::new() };
    let items = item.list("tables", problems).unwrap_or_default();
    if items.is_empty() && item.value.is_array() {
        problems
            .push(&item.span, item.invalid("predicts nothing, so that nothing could speak against it").help(format!("write {example}")));
    }
    let mut predictions: Vec<Prediction> = Vec::new();
    for item in items {
        let Some(prediction) = prediction(&item, known, problems) else { continue };
        if let Some(twice) = predictions.iter().find_map(|other| same_question(other, &prediction)) {
            let problem = Diagnostic::error("spec.duplicate_prediction", format!("the hypothesis predicts {twice} twice"));
            problems.push(&item.span, problem);
        }
        predictions.push(prediction);
    }
    predictions
}

/// What two predictions of one claim both speak of, where one of them says all that there is to say.
fn same_question(one: &Prediction, other: &Prediction) -> Option<String> {
    let ends = |prediction: &Prediction| matches!(prediction, Prediction::Outcome { .. } | Prediction::Cause { .. });
    match (one, other) {
        (Prediction::Value { cell: a, metric: m, .. }, Prediction::Value { cell: b, metric: n, .. }) if a == b && m == n => {
            Some(format!("`{m}` of the cell `{a}`"))
        }
        (Prediction::Effect { level: a, metric: m, factor: f, .. }, Prediction::Effect { level: b, metric: n, factor: g, .. })
            if a == b && m == n && f == g =>
        {
            Some(format!("the effect of `{f} = {a}` on `{m}`"))
        }
        _ if ends(one) && ends(other) && one.cell() == other.cell() => one.cell().map(|cell| format!("the cell `{cell}`")),
        _ => None,
    }
}

fn prediction(item: &Item<'_>, known: Known<'_>, problems: &mut Problems<'_>) -> Option<Prediction> {
    let table = item.table(schema::PREDICTION, problems)?;
    let named: Vec<(&str, Item<'_>)> = SAYS.into_iter().filter_map(|key| table.get(key).map(|item| (key, item))).collect();
    if let [_, (_, second), ..] = named.as_slice() {
        problems.push(&second.key, second.invalid("is a second thing that one prediction says").help("write a prediction for each"));
        return None;
    }
    if table.get("factor").is_some() || table.get("effect").is_some() {
        return effect(&table, known, problems);
    }
    only_with(&table, "level", "`factor`", problems);
    let example = r#"cell = { instrument = "none" }"#;
    let written = table.require("cell", example, problems).map(|item| known.levels.read(&item, problems));
    let said = match named.first() {
        Some(("outcome", item)) => item.word(&OUTCOMES, problems).map(Said::Outcome),
        Some(("cause", item)) => cause(item, problems).map(Said::Cause),
        Some((_, item)) => value(&table, item, known, problems),
        None => {
            table.require("outcome", r#"outcome = "failed""#, problems);
            None
        }
    };
    if !matches!(said, Some(Said::Value(..))) && named.first().is_none_or(|(key, _)| *key != "metric") {
        BOUNDS.into_iter().for_each(|key| only_with(&table, key, "`metric`", problems));
    }
    let written = written.filter(|written| !written.refused)?;
    let mut cell = known.baseline.clone();
    cell.levels.extend(written.levels);
    cell.instrument = written.instrument.unwrap_or(cell.instrument);
    Some(match said? {
        Said::Outcome(outcome) => Prediction::Outcome { cell, outcome },
        Said::Cause(cause) => Prediction::Cause { cell, cause },
        Said::Value(metric, range) => Prediction::Value { cell, metric, range },
    })
}

/// The first words of causes that a launch which counts can have.
const CAUSES: [&str; 15] = [
    "python",
    "memory",
    "memory_limit",
    "host_oom",
    "port_in_use",
    "signal",
    "exit",
    "exited_early",
    "ready_then_died",
    "died_under_load",
    "ready_too_early",
    "part_died",
    "hang",
    "timeout",
    "workload",
];

/// A class of causes, or the first parts of one. A word that no launch can have would refute every claim that uses it.
fn cause(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<String> {
    let text = item.some_text(problems)?;
    let first = text.split('.').next().unwrap_or_default();
    if CAUSES.contains(&first) {
        return Some(text.to_owned());
    }
    let problem = Diagnostic::error("spec.unknown_cause", format!("no launch fails with a cause `{text}`"));
    problems.push(&item.span, problem.label("not a class of causes").help(hint(first, "the first parts of causes", CAUSES)));
    None
}

/// What is said of a cell.
enum Said {
    Outcome(Outcome),
    Cause(String),
    Value(String, Bounds),
}

/// Refuses a key that means nothing without another.
fn only_with(table: &Table<'_>, key: &str, needs: &str, problems: &mut Problems<'_>) {
    if let Some(item) = table.get(key) {
        problems.push(&item.key, item.invalid(&format!("means nothing without {needs}")));
    }
}

/// Reads where a value lies.
fn value(table: &Table<'_>, item: &Item<'_>, known: Known<'_>, problems: &mut Problems<'_>) -> Option<Said> {
    let metric = metric(item, known, problems);
    let named: Vec<(&str, Item<'_>)> = BOUNDS.into_iter().filter_map(|key| table.get(key).map(|item| (key, item))).collect();
    let (key, bound) = match named.as_slice() {
        [one] => one,
        [] => {
            let problem = item.invalid("does not say where its value lies");
            problems.push(&item.span, problem.help("add `above = 100`, `below = 100` or `within = [90, 110]`"));
            return None;
        }
        [_, (_, second), ..] => {
            problems.push(&second.key, second.invalid("is a second bound").help("`within = [LOW, HIGH]` states both"));
            return None;
        }
    };
    let range = match *key {
        "within" => within(bound, problems)?,
        "above" => Bounds { low: Some(finite(bound, problems)?), high: None },
        _ => Bounds { low: None, high: Some(finite(bound, problems)?) },
    };
    Some(Said::Value(metric?, range))
}

fn within(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Bounds> {
    let bounds: Vec<f64> = item.list("two numbers", problems)?.iter().filter_map(|item| finite(item, problems)).collect();
    match bounds.as_slice() {
        [low, high] if low < high => Some(Bounds { low: Some(*low), high: Some(*high) }),
        _ => {
            problems.push(&item.span, item.invalid("must be two numbers, the lower one first, such as [90, 110]"));
            None
        }
    }
}

fn finite(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<f64> {
    let number = item.number(problems)?;
    if !number.is_finite() {
        problems.push(&item.span, item.invalid("must be a finite number"));
        return None;
    }
    Some(number)
}

/// Reads what a level does to a metric.
fn effect(table: &Table<'_>, known: Known<'_>, problems: &mut Problems<'_>) -> Option<Prediction> {
    for key in ["cell", "outcome", "cause", "above", "below", "within"] {
        only_without_factor(table, key, problems);
    }
    let factor = table.require("factor", r#"factor = "allreduce""#, problems);
    let level = table.require("level", r#"level = "custom""#, problems);
    let metric = table.require("metric", r#"metric = "kv_tokens""#, problems).and_then(|item| metric(&item, known, problems));
    let direction =
        table.require("effect", r#"effect = "down""#, problems).and_then(|item| Some((item.word(&DIRECTIONS, problems)?, item)));
    let (factor, level) = (factor?, level?);
    let name = factor.text(problems)?;
    let Some(levels) = known.levels.factors.get(name) else {
        let valid: Vec<&str> = known.levels.factors.keys().map(String::as_str).collect();
        let problem = Diagnostic::error("spec.unknown_factor", format!("there is no factor `{name}`"));
        problems.push(&factor.span, problem.label("not a factor").help(hint(name, "factors", valid)));
        return None;
    };
    let told = level.text(problems)?;
    let others: Vec<&str> =
        levels.keys().map(String::as_str).filter(|other| known.baseline.levels.get(name).is_none_or(|b| b != other)).collect();
    if !others.contains(&told) {
        let why = if levels.contains_key(told) { "is the baseline's level, and has no effect against itself" } else { "is no level" };
        let problem = level.invalid(why).help(format!("the levels that are compared with the baseline are {}", names(others)));
        problems.push(&level.span, problem);
        return None;
    }
    let (metric, (effect, item)) = (metric?, direction?);
    if effect == Direction::None && known.metrics.get(&metric).is_some_and(|metric| metric.margin.is_none()) {
        let problem = Diagnostic::error("spec.no_margin", format!("\"none\" can never be shown of `{metric}`: it states no margin"));
        problems.push(&item.span, problem.help(format!("add `margin` to metrics.{metric}: what counts as no effect")));
    }
    Some(Prediction::Effect { factor: name.to_owned(), level: told.to_owned(), metric, effect })
}

fn only_without_factor(table: &Table<'_>, key: &str, problems: &mut Problems<'_>) {
    if let Some(item) = table.get(key) {
        let problem = item.invalid("does not go with `factor`: an effect is of a level on a metric");
        problems.push(&item.key, problem.help("write a prediction of its own for the cell"));
    }
}

fn metric(item: &Item<'_>, known: Known<'_>, problems: &mut Problems<'_>) -> Option<String> {
    let name = item.text(problems)?;
    if known.metrics.contains_key(name) {
        return Some(name.to_owned());
    }
    let valid: Vec<&str> = known.metrics.keys().map(String::as_str).collect();
    let problem = Diagnostic::error("spec.unknown_metric", format!("there is no metric `{name}`"));
    problems.push(&item.span, problem.label("not a metric").help(hint(name, "metrics", valid)));
    None
}
