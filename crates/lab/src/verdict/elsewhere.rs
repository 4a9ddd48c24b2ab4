//! What a level does to a metric beside the other levels: an effect on the baseline may vanish or reverse there, and then it is none of the level at large.

use bystander_model::cell::Cell;

use super::effect::Effect;
use super::found::Found;
use super::metric::{margin, said};
use super::prediction;
use crate::contrast::{self, ALPHA, Contrast};
use crate::ledger::Ledger;
use crate::plan::{Direction, Metric, Prediction};

/// So many other combinations are told one by one.
const TOLD: usize = 4;

/// The effect of a level in one combination of the other levels.
struct State<'a> {
    with: &'a Cell,
    effect: Effect,
    found: Found,
}

/// The effect of a level in every other combination in which it was measured; they share a level of `alpha`.
fn states<'a>(ledger: &'a Ledger, contrast: &'a Contrast, name: &str, metric: &Metric, alpha: f64) -> Vec<State<'a>> {
    let cells: Vec<(&Cell, &Cell)> = contrast::states_of_level(&ledger.plan, contrast).collect();
    let confidence = 1.0 - alpha / cells.len().max(1) as f64;
    let measured = cells.into_iter().filter_map(|(with, without)| {
        let effect = Effect::of(ledger, name, metric, with, without, confidence);
        Some(State { with, found: Found::of(metric, &effect)?, effect })
    });
    measured.collect()
}

/// The levels in which a combination differs from the cell that is compared: `b=on`.
fn beside(contrast: &Contrast, with: &Cell) -> String {
    let differ = with.levels.iter().filter(|(factor, level)| contrast.treated.levels.get(*factor) != Some(level));
    differ.map(|(factor, level)| format!("{factor}={level}")).collect::<Vec<_>>().join(",")
}

/// Where an effect was measured, to stand before its estimate: nothing where it was measured in one combination of the other levels alone.
pub(super) fn place(ledger: &Ledger, contrast: &Contrast) -> String {
    if contrast::states_of_level(&ledger.plan, contrast).next().is_none() {
        return String::new();
    }
    if contrast.is_with_baseline(&ledger.plan) { "on the baseline ".to_owned() } else { format!("against {} ", contrast.control) }
}

/// What the level does in the other combinations, in sentences that begin with a space; those where it does something else come first.
pub(super) fn told(ledger: &Ledger, contrast: &Contrast, name: &str, metric: &Metric, effect: &Effect) -> String {
    let Some(here) = Found::of(metric, effect) else { return String::new() };
    let direction = if here.goes(Direction::Up) { Direction::Up } else { Direction::Down };
    let is_shown = here.is_for(direction);
    let mut all: Vec<(u8, String)> = Vec::new();
    for State { with, effect, found } in states(ledger, contrast, name, metric, contrast.alpha) {
        let (rank, does) = match () {
            () if is_shown && found.is_for(opposite(direction)) => (0, "it reverses"),
            () if is_shown && found.is_within => (1, "it vanishes"),
            () if is_shown && found.is_for(direction) => (3, "it is there too"),
            () if found.is_for(Direction::Up) || found.is_for(Direction::Down) => (0, "it is shown"),
            () => (2, "it is not shown"),
        };
        let within = if found.is_within { format!(", within {}", margin(metric)) } else { String::new() };
        all.push((rank, format!(" With {} {does}: {}{within}.", beside(contrast, with), said(metric, &effect))));
    }
    all.sort_by_key(|(rank, _)| *rank);
    let more = all.len().saturating_sub(TOLD);
    let mut text: String = all.into_iter().take(TOLD).map(|(_, text)| text).collect();
    if more > 0 {
        text.push_str(&format!(" {more} more combinations are in the table."));
    }
    text
}

const fn opposite(direction: Direction) -> Direction {
    match direction {
        Direction::Up => Direction::Down,
        Direction::Down => Direction::Up,
        Direction::None => Direction::None,
    }
}

/// Where a prediction that names no cell is shown not to hold beside another level, and what was seen there.
pub(super) fn against(ledger: &Ledger, predicted: &Prediction, direction: Direction) -> Option<String> {
    let Prediction::Effect { factor, level, metric: name, .. } = predicted else { return None };
    let metric = ledger.plan.metrics.get(name)?;
    let contrast = prediction::contrast_of(ledger, factor, level)?;
    let found = states(ledger, &contrast, name, metric, ALPHA);
    let found: Vec<String> = found
        .iter()
        .filter(|state| state.found.is_against(direction))
        .map(|state| format!("{name} with {factor}={level} and {}: {}", beside(&contrast, state.with), said(metric, &state.effect)))
        .collect();
    (!found.is_empty()).then(|| found.join("; "))
}
