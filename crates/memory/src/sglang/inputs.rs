//! Chooses the inputs of the formula among what was read, and says where sources contradict each other.
//!
//! Hits are preferred, since they hold the engine's own numbers at full precision; the log is used to check them.

use bystander_model::budget::Figure;
use bystander_model::evidence::{Evidence, Stream};
use bystander_model::ids::TrialId;

use super::hits::{Hits, Quantity};
use super::lines::tp_rank;
use super::seen::{Rank, Read, Seen};
use super::sizing::{self, Sized};
use crate::explain::Facts;
use crate::figures::{decimal, fraction as printed, whole};
use crate::formula::{Cell, Sizing};
use crate::line::Place;

/// What the formula is fed with.
#[derive(Debug, Clone)]
pub(crate) struct Inputs {
    pub(crate) sizing: Sizing,
    pub(crate) cell: Option<Cell>,
    pub(crate) cell_bytes: Option<u64>,
    pub(crate) rank: Option<u32>,
    pub(crate) evidence: Vec<Evidence>,
    /// Tokens that the engine printed for these inputs.
    pub(crate) printed: Option<f64>,
    /// Whether states or reserves are taken out of what is available.
    pub(crate) has_reserve: bool,
    /// Sentences about sources that disagree or are missing.
    pub(crate) notes: Vec<String>,
}

/// An input with its source.
struct Input {
    figure: Figure,
    rank: Option<u32>,
    evidence: Evidence,
}

/// Chooses the inputs; `None` where one of the three is not known.
pub(crate) fn choose(seen: &Seen, hits: &Hits, facts: Option<&Facts>, trial: TrialId) -> Option<Inputs> {
    let mut notes = Vec::new();
    let counted = facts.and_then(sizing::sized);
    let total = memory(seen, hits, Quantity::Total, |rank| rank.total.as_ref(), trial, &mut notes)?;
    let available = memory(seen, hits, Quantity::Available, |rank| rank.available.as_ref(), trial, &mut notes)?;
    let without = notes.len();
    let available = less_what_comes_first(available, hits, counted.as_ref(), trial, &mut notes);
    let has_reserve = notes.len() > without;
    let (fraction, fraction_evidence) = fraction(seen, hits, trial, &mut notes)?;
    let sizing = Sizing { total: total.figure, available: available.figure, fraction };
    if !(sizing.total.low > 0.0 && (0.0..=1.0).contains(&fraction)) {
        return None;
    }
    let mut evidence = vec![total.evidence, available.evidence, fraction_evidence];
    check_rest(&sizing, hits, trial, &mut notes, &mut evidence);
    let drafted = counted.as_ref().filter(|counted| counted.has_draft).map(|counted| counted.cell);
    let (cell, cell_bytes) = cell(seen, hits, &sizing, drafted, trial, &mut notes, &mut evidence);
    evidence.dedup();
    Some(Inputs {
        sizing,
        cell,
        cell_bytes,
        rank: available.rank.or(total.rank),
        evidence,
        printed: counted.and_then(|counted| counted.printed),
        has_reserve,
        notes,
    })
}

fn memory(
    seen: &Seen,
    hits: &Hits,
    quantity: Quantity,
    pick: impl Fn(&Rank) -> Option<&Read<Figure>>,
    trial: TrialId,
    notes: &mut Vec<String>,
) -> Option<Input> {
    let name = if quantity == Quantity::Total { "before the weights" } else { "after the weights" };
    let logged = seen.least(pick);
    let expected = seen.arguments.as_ref().and_then(|read| read.value.ranks_here);
    let all_printed = logged.as_ref().is_some_and(|(_, _, ranks)| expected.is_none_or(|expected| *ranks >= expected));
    let Some(hit) = hits.get(quantity) else {
        let (labels, read, ranks) = logged?;
        if let Some(expected) = expected.filter(|expected| ranks < *expected) {
            notes.push(format!("Free memory {name} was printed by {ranks} of {expected} ranks; the minimum over all may be lower."));
        }
        return Some(Input { figure: read.value, rank: tp_rank(labels), evidence: read.source.evidence(trial) });
    };
    if hits.differ(quantity) {
        notes.push(format!(
            "Contradiction: the ranks' hits show different free memory {name}; the engine uses the least, {} GiB.",
            decimal(hit.value, 3)
        ));
    }
    if let Some((_, read, _)) = logged.filter(|_| all_printed)
        && !(read.value.low - 1e-3..=read.value.high + 1e-3).contains(&hit.value)
    {
        let (measured, line) = (decimal(hit.value, 3), decimal(read.value.value, 2));
        notes.push(format!("Contradiction: free memory {name} is {measured} GiB in the hit and {line} GiB in the log."));
    }
    Some(Input { figure: Figure::exact(hit.value), rank: hit.rank, evidence: hit.evidence(trial) })
}

/// What is available to the KV cache of that which was free after the weights: less the weights that were loaded later and counted all the same, a draft's
/// and those of adapters, and less what is taken before the KV cache.
fn less_what_comes_first(available: Input, hits: &Hits, counted: Option<&Sized>, trial: TrialId, notes: &mut Vec<String>) -> Input {
    let is_measured = hits.get(Quantity::Available).is_some();
    let reserved = hits.get(Quantity::Reserved).map(|hit| Figure::exact(hit.value));
    let Some(before_kv) = reserved.or_else(|| counted.map(|counted| counted.before_kv)) else { return available };
    // A hit holds what was free when the engine looked, the log what each line says.
    let counted = counted.filter(|_| !is_measured);
    let free = counted.map_or(available.figure, |counted| counted.after_weights.figure);
    if before_kv.high > 0.0 {
        notes.push(format!(
            "{} GiB of what was free after the weights are taken for states and reserves, before the KV cache.",
            decimal(before_kv.value, 2)
        ));
    }
    let figure = Figure { value: free.value - before_kv.value, low: free.low - before_kv.high, high: free.high - before_kv.low };
    let is_as_printed = (figure.value - available.figure.value).abs() < 1e-9;
    let evidence = match counted.filter(|_| !is_as_printed).and_then(|counted| stream(&counted.after_weights.place)) {
        Some((stream, line)) => {
            let text = format!("{} GiB free after all weights that are counted", decimal(free.value, 2));
            Evidence::log(trial, stream, line, text)
        }
        None => available.evidence,
    };
    Input { figure, rank: available.rank, evidence }
}

/// The stream that a place of a trial is in, and the line.
fn stream(place: &Place) -> Option<(Stream, u64)> {
    Stream::ALL.into_iter().find(|stream| stream.name() == &*place.source).map(|stream| (stream, place.line))
}

/// The effective fraction: what the sizing itself used, else what the error or the printed arguments say.
fn fraction(seen: &Seen, hits: &Hits, trial: TrialId, notes: &mut Vec<String>) -> Option<(f64, Evidence)> {
    let argument = seen.arguments.as_ref().and_then(|read| Some((read.value.fraction?, read.source.evidence(trial))));
    let current = seen.current_fraction.as_ref().map(|read| (read.value, read.source.evidence(trial)));
    let hit = hits.get(Quantity::Fraction).map(|hit| (hit.value, hit.evidence(trial)));
    let chosen = hit.or(current).or_else(|| argument.clone())?;
    if let Some((argument, _)) = argument.filter(|(argument, _)| (argument - chosen.0).abs() > 1e-9) {
        let (used, said) = (printed(chosen.0), printed(argument));
        notes.push(format!(
            "Contradiction: the sizing uses a fraction of {used}, the printed arguments say {said}; what the sizing uses counts."
        ));
    }
    Some(chosen)
}

fn check_rest(sizing: &Sizing, hits: &Hits, trial: TrialId, notes: &mut Vec<String>, evidence: &mut Vec<Evidence>) {
    let Some(hit) = hits.get(Quantity::Rest) else { return };
    let rest = sizing.rest();
    evidence.push(hit.evidence(trial));
    if !(rest.low - 1e-3..=rest.high + 1e-3).contains(&hit.value) {
        let (captured, computed) = (decimal(hit.value, 3), decimal(rest.value, 3));
        notes.push(format!(
            "Contradiction: the engine's rest is {captured} GiB and the formula gives {computed} GiB; the inputs are of another moment or version."
        ));
    }
}

/// Bytes per token: captured, else from the pool's tokens and size.
fn cell(
    seen: &Seen,
    hits: &Hits,
    sizing: &Sizing,
    drafted: Option<Option<Cell>>,
    trial: TrialId,
    notes: &mut Vec<String>,
    evidence: &mut Vec<Evidence>,
) -> (Option<Cell>, Option<u64>) {
    if let Some(hit) = hits.get(Quantity::Cell).filter(|hit| hit.value >= 1.0 && hit.value.fract() == 0.0 && hit.value < 1e15) {
        evidence.push(hit.evidence(trial));
        let bytes = hit.value as u64;
        let cell = Cell::exact(bytes);
        check_tokens(sizing, cell, hits, trial, notes, evidence);
        return (cell, Some(bytes));
    }
    // A draft that is counted has a part of each token's bytes, which its own pool shows.
    if let Some(cell) = drafted.filter(|_| seen.hybrid.is_none()) {
        evidence.extend(seen.pool.as_ref().filter(|_| cell.is_some()).map(|pool| pool.source.evidence(trial)));
        return (cell, None);
    }
    let Some(pool) = seen.pool.as_ref().filter(|_| seen.hybrid.is_none()) else { return (None, None) };
    let page = seen.arguments.as_ref().and_then(|read| read.value.page).unwrap_or(1.0);
    let Some(cell) = Cell::of_pool(pool.value.tokens, page, pool.value.size) else { return (None, None) };
    evidence.push(pool.source.evidence(trial));
    let cap = seen.arguments.as_ref().and_then(|read| read.value.cap);
    // A capped pool says nothing about what the formula gave.
    if cap.is_some_and(|cap| pool.value.tokens <= cap) {
        return (Some(cell), None);
    }
    let narrowed = cell.within_rest(pool.value.tokens, page, sizing.rest());
    if narrowed.is_none() {
        let expected = whole(sizing.tokens(cell).value);
        notes.push(format!(
            "Contradiction: the pool has {} tokens, the formula gives about {expected}; something else took a part, or free memory moved in between.",
            whole(pool.value.tokens)
        ));
    }
    (Some(narrowed.unwrap_or(cell)), None)
}

fn check_tokens(sizing: &Sizing, cell: Option<Cell>, hits: &Hits, trial: TrialId, notes: &mut Vec<String>, evidence: &mut Vec<Evidence>) {
    let (Some(cell), Some(hit)) = (cell, hits.get(Quantity::Tokens)) else { return };
    evidence.push(hit.evidence(trial));
    let tokens = sizing.tokens(cell);
    if !(tokens.low - 1.0..=tokens.high + 1.0).contains(&hit.value) {
        let (captured, computed) = (whole(hit.value), whole(tokens.value));
        notes.push(format!("Contradiction: the engine counts {captured} tokens and the formula gives {computed}."));
    }
}
