//! Where the memory of each rank went: every drop of free memory between two lines of the start has a name, and what no line explains stays over.

use bystander_model::budget::Figure;
use bystander_model::memory::{Rank, Term, TermName};

use super::names;
use super::sizing::table_gib;
use crate::explain::facts::{Amount, RankFacts};
use crate::explain::{Facts, spoken};

/// What contexts and a driver's own reserve take of a card at most, in GiB.
const CONTEXT: f64 = 2.0;

/// The ledger of each rank that printed free memory.
pub(crate) fn ledger(facts: &Facts) -> Vec<Rank> {
    let mut all: Vec<Rank> = facts.ranks.iter().filter_map(|rank| of_rank(facts, rank)).collect();
    all.sort_by(|a, b| (a.rank, &a.label).cmp(&(b.rank, &b.label)));
    all
}

/// Lines that say how much memory is free, and what took the memory since the one before.
fn taken_by(name: &str) -> Option<TermName> {
    Some(match name {
        names::LOAD_END | names::LORA_END => TermName::Weights,
        names::DRAFT_LOAD_END | names::DRAFT_POOL_END => TermName::Draft,
        names::GRAPH_END | names::CAPTURING => TermName::Graphs,
        names::DRAFT_LOAD_BEGIN | names::GRAPH_BEGIN | names::LORA_BEGIN | names::FINAL => TermName::Workspace,
        // The pools are named one by one; what they do not account for stays over.
        _ => return None,
    })
}

fn is_free(name: &str) -> bool {
    matches!(name, names::LOAD_BEGIN | names::POOL_END) || taken_by(name).is_some()
}

fn minus(a: Figure, b: Figure) -> Figure {
    Figure { value: a.value - b.value, low: a.low - b.high, high: a.high - b.low }
}

fn plus(a: Figure, b: Figure) -> Figure {
    Figure { value: a.value + b.value, low: a.low + b.low, high: a.high + b.high }
}

const NOTHING: Figure = Figure::exact(0.0);

/// Terms as they come together.
#[derive(Default)]
struct Terms(Vec<Term>);

impl Terms {
    fn add(&mut self, name: TermName, gib: Figure, from: String) {
        match self.0.iter_mut().find(|term| term.name == name) {
            Some(term) => {
                term.gib = plus(term.gib, gib);
                // A term of many lines names the first few.
                if term.from.len() < 120 && !term.from.contains(&from) {
                    term.from = format!("{}, {from}", term.from);
                }
            }
            None => self.0.push(Term { name, gib, from }),
        }
    }
}

fn of_rank(facts: &Facts, rank: &RankFacts) -> Option<Rank> {
    let points: Vec<&Amount> = rank.amounts.iter().filter(|amount| is_free(amount.name)).collect();
    let first = points.first().filter(|first| first.name != names::CAPTURING)?;
    let mut terms = Terms::default();
    let context = rank.first(names::INIT_USED).filter(|_| first.name == names::LOAD_BEGIN);
    // Where the line before the weights is missing, the one after them says what they took.
    let weights = rank.first(names::LOAD_USED).filter(|_| first.name == names::LOAD_END);
    let (total, from) = match (context, weights) {
        (Some(used), _) => (plus(first.figure, used.figure), format!("free before process groups: {} + {}", first.place, used.place)),
        (None, Some(used)) => (plus(first.figure, used.figure), format!("free after the weights and what they took: {}", first.place)),
        (None, None) => (first.figure, format!("free at the first line that says it: {}", first.place)),
    };
    card(facts, total, from, &mut terms);
    if let Some(used) = weights {
        terms.add(TermName::Weights, used.figure, used.place.to_string());
    }
    if let Some(used) = context {
        terms.add(TermName::Communication, used.figure, used.place.to_string());
    }
    let mut unexplained = NOTHING;
    for pair in points.windows(2) {
        let (before, after) = (pair[0], pair[1]);
        let drop = minus(before.figure, after.figure);
        match taken_by(after.name) {
            Some(name) => terms.add(name, drop, format!("{} \u{2192} {}", before.place, after.place)),
            None if after.name == names::POOL_END => unexplained = plus(unexplained, pools(facts, rank, before, after, &mut terms)),
            None => unexplained = plus(unexplained, drop),
        }
    }
    let last = points.last()?;
    terms.add(TermName::Headroom, last.figure, last.place.to_string());
    terms.0.sort_by_key(|term| term.name);
    terms.0.iter_mut().for_each(|term| term.gib = term.gib.without_noise());
    let label = (!rank.label.is_empty()).then(|| rank.label.clone());
    Some(Rank { label, rank: rank.rank, terms: terms.0, unexplained_gib: Some(unexplained.without_noise()) })
}

/// The total: the card where its size is known, with what was not free on it before; else what was free.
fn card(facts: &Facts, free: Figure, from: String, terms: &mut Terms) {
    let Some((card, places)) = spoken::card(facts).filter(|(card, _)| *card >= free.value) else {
        return terms.add(TermName::Total, free, from);
    };
    let places = places.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let said = if places.is_empty() { "the size of the card as given".to_owned() } else { places };
    terms.add(TermName::Total, Figure::exact(card), said);
    let before = minus(Figure::exact(card), free);
    // A context takes less than that; more is somebody else's.
    let name = if before.low > CONTEXT { TermName::OtherProcess } else { TermName::Context };
    terms.add(name, before, format!("what was not free before: the card less {from}"));
}

/// The terms of the pools; gives what they leave unexplained of the drop.
fn pools(facts: &Facts, rank: &RankFacts, before: &Amount, after: &Amount, terms: &mut Terms) -> Figure {
    let mut rest = minus(before.figure, after.figure);
    let pools: Vec<&Amount> = rank.all(names::POOL_GIB).collect();
    let kv: Vec<&Amount> = if pools.is_empty() { rank.first(names::SWA_GIB).into_iter().collect() } else { pools };
    for pool in kv {
        terms.add(TermName::Kv, pool.figure, pool.place.to_string());
        rest = minus(rest, pool.figure);
    }
    for state in rank.all(names::STATE_GIB) {
        terms.add(TermName::StateCache, state.figure, state.place.to_string());
        rest = minus(rest, state.figure);
    }
    if let Some((gib, from)) = table_gib(facts) {
        terms.add(TermName::RequestTable, Figure::exact(gib), from);
        rest = minus(rest, Figure::exact(gib));
    }
    rest
}
