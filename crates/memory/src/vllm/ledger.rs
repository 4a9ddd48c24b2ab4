//! Where the memory of each rank went: terms that add up to the card, with what no line accounts for.

use bystander_model::budget::Figure;
use bystander_model::memory::{Rank, Term, TermName};

use super::amount::{minus, plus};
use super::inputs::{self, Input};
use super::names::{amount, setting};
use super::prefix::PROCESS;
use super::semantics::{self, Covers};
use crate::explain::Facts;
use crate::explain::facts::RankFacts;

/// Above this, what is held before the start is no context of the own process any more, in GiB.
const CONTEXT: f64 = 2.0;
/// The same where communication is set up by then: in GiB, and as a part of the card.
const WITH_COMMUNICATION: (f64, f64) = (3.0, 0.04);

/// The ledger of every rank that printed a number of it.
pub(super) fn ranks(facts: &Facts) -> Vec<Rank> {
    let covers = semantics::covers(facts);
    inputs::ranks(facts)
        .filter_map(|rank| {
            let terms = Terms { facts, rank, covers };
            let terms = if facts.settings.get(setting::DEVICE) == Some("cpu") { terms.host() } else { terms.card() };
            (!terms.is_empty()).then(|| closed(rank, terms))
        })
        .collect()
}

/// A rank whose terms are in order, with the remainder.
fn closed(rank: &RankFacts, mut terms: Vec<Term>) -> Rank {
    terms.sort_by_key(|term| term.name);
    let total = terms.iter().find(|term| term.name == TermName::Total).map(|term| term.gib);
    let others = terms.iter().filter(|term| term.name != TermName::Total).map(|term| term.gib).reduce(plus);
    let label = Some(rank.label.clone()).filter(|label| !label.is_empty() && !label.starts_with(PROCESS));
    terms.iter_mut().for_each(|term| term.gib = term.gib.without_noise());
    Rank { label, rank: rank.rank, terms, unexplained_gib: total.zip(others).map(|(total, others)| minus(total, others).without_noise()) }
}

struct Terms<'a> {
    facts: &'a Facts,
    rank: &'a RankFacts,
    covers: Option<Covers>,
}

impl Terms<'_> {
    fn read(&self, name: TermName, amount: &str) -> Option<Term> {
        inputs::of(self.rank, amount).map(|input| term(name, input))
    }

    /// A node of the CPU backend: the cache is a share of its memory.
    fn host(&self) -> Vec<Term> {
        let mut terms: Vec<Term> = Vec::new();
        let node = inputs::of(self.rank, amount::NODE);
        let kv = inputs::of(self.rank, amount::KV);
        let consumed = inputs::of(self.rank, amount::CONSUMED);
        if let (Some(node), Some(kv)) = (&node, &kv) {
            let taken = consumed.as_ref().map_or(kv.figure, |consumed| plus(kv.figure, consumed.figure));
            terms.push(computed(TermName::Headroom, minus(node.figure, taken), "what the node has beside this process"));
        }
        terms.extend(node.map(|input| term(TermName::Total, input)));
        terms.extend(kv.map(|input| term(TermName::Kv, input)));
        terms.extend(consumed.map(|input| term(TermName::Workspace, input)));
        terms
    }

    fn card(&self) -> Vec<Term> {
        let mut terms: Vec<Term> = Vec::new();
        let total = inputs::total_or_told(self.facts, Some(self.rank));
        terms.extend(total.clone().map(|input| term(TermName::Total, input)));
        terms.extend(self.read(TermName::Weights, amount::WEIGHTS));
        if let Some(kv) = inputs::kv(self.facts, self.rank).filter(|kv| kv.figure.value > 0.0) {
            terms.push(term(TermName::Kv, kv));
        }
        if self.rank.first(amount::PEAK_TORCH).is_some() {
            self.oldest(total.as_ref(), &mut terms);
            return terms;
        }
        // Up to 0.5 free memory is that after the profile run, and what is used has no owner.
        if self.rank.first(amount::PEAK).is_some() {
            terms.extend(self.read(TermName::Headroom, amount::FREE));
            return terms;
        }
        terms.extend(self.activations());
        self.before(total.as_ref(), &mut terms);
        self.not_torch(&mut terms);
        let graphs = inputs::of(self.rank, amount::GRAPHS).or_else(|| self.graphs_of_others());
        terms.extend(graphs.clone().map(|input| term(TermName::Graphs, input)));
        terms.extend(self.headroom(total.as_ref(), graphs.as_ref()));
        terms
    }

    /// Ranks capture the same graphs; up to the end of the capture their estimate stands for them.
    fn graphs_of_others(&self) -> Option<Input> {
        let captured = inputs::of_any(self.facts, None, amount::GRAPHS)
            .map(|other| Input { from: format!("{} (of another rank)", other.from), ..other });
        captured.or_else(|| {
            inputs::graphs_estimate(self.facts, self.rank).map(|input| Input { from: format!("{} (estimated)", input.from), ..input })
        })
    }

    /// The peak of activations, without the estimate of graphs that some releases print in it.
    fn activations(&self) -> Option<Term> {
        let activation = inputs::of(self.rank, amount::ACTIVATION)?;
        let estimate = inputs::graphs_estimate(self.facts, self.rank).filter(|_| inputs::graphs_in_activation(self.facts, self.rank));
        Some(match estimate {
            Some(estimate) => {
                let from = format!("{} less the estimate of graphs, which it includes", activation.from);
                computed(TermName::Activations, minus(activation.figure, estimate.figure), &from)
            }
            None => term(TermName::Activations, activation),
        })
    }

    /// What was held on the card when the engine looked at it first.
    fn before(&self, total: Option<&Input>, terms: &mut Vec<Term>) {
        let Some((total, free)) = total.zip(inputs::of(self.rank, amount::FREE)) else { return };
        let held = minus(total.figure, free.figure);
        let beside = self.covers.is_some_and(|covers| covers >= Covers::OwnBesideContext);
        let own = if beside { WITH_COMMUNICATION.0.max(WITH_COMMUNICATION.1 * total.figure.value) } else { CONTEXT };
        let name = if held.value > own || !beside { TermName::OtherProcess } else { TermName::Context };
        let what = match (name, beside) {
            (TermName::Context, _) => "context and communication of this process, and whatever else was on the card before",
            (_, true) => "other processes, and context and communication of this one",
            _ => "before this process took anything: other processes and the driver",
        };
        terms.push(computed(name, held, &format!("{} ({what})", free.from)));
    }

    /// What this process took beside torch's memory.
    fn not_torch(&self, terms: &mut Vec<Term>) {
        let name = match self.covers {
            Some(Covers::Own | Covers::OwnWithContext) => TermName::Communication,
            _ => TermName::Workspace,
        };
        if let Some((consumed, weights)) = inputs::of(self.rank, amount::CONSUMED).zip(inputs::of(self.rank, amount::WEIGHTS)) {
            let rest = minus(consumed.figure, weights.figure);
            terms.push(computed(name, rest, &format!("{} less the weights", consumed.from)));
        } else if let Some(consumed) = inputs::of(self.rank, amount::CONSUMED) {
            terms.push(computed(TermName::Weights, consumed.figure, &format!("{} (weights and all that is not torch's)", consumed.from)));
        } else {
            terms.extend(self.read(name, amount::NON_TORCH));
        }
    }

    /// What the share leaves: what is outside of it, and what an estimate of graphs was above them.
    fn headroom(&self, total: Option<&Input>, graphs: Option<&Input>) -> Option<Term> {
        let requested = inputs::requested(self.facts, Some(self.rank))?;
        let measured = self.rank.first(amount::ACTIVATION).is_some() || self.rank.first(amount::NOT_KV).is_some();
        let base = inputs::of(self.rank, amount::FREE).or_else(|| total.cloned())?;
        // Without what was measured, the share's rest would be counted as free.
        if !measured {
            return None;
        }
        let mut left = minus(base.figure, requested.figure);
        // Graphs outside of the share take from what it leaves; inside, only what they took beyond their estimate does.
        let estimate = inputs::graphs_estimate(self.facts, self.rank).map_or(Figure::exact(0.0), |graphs| graphs.figure);
        if let Some(graphs) = graphs {
            left = minus(plus(left, estimate), graphs.figure);
        }
        let kv = inputs::kv(self.facts, self.rank);
        if let Some(kv) = kv.filter(|kv| kv.figure.value <= 0.0) {
            left = plus(left, kv.figure);
        }
        Some(computed(TermName::Headroom, left, "what is left free by the share"))
    }

    /// Up to 0.6.4: what is used on the card and is not torch's has no owner.
    fn oldest(&self, total: Option<&Input>, terms: &mut Vec<Term>) {
        let peak = inputs::of(self.rank, amount::PEAK_TORCH);
        let weights = inputs::of(self.rank, amount::WEIGHTS);
        match (&peak, &weights) {
            (Some(peak), Some(weights)) => {
                terms.push(computed(TermName::Activations, minus(peak.figure, weights.figure), &format!("{} less the weights", peak.from)));
            }
            (Some(peak), None) => {
                terms.push(computed(TermName::Weights, peak.figure, &format!("{} (peak of torch: weights and activations)", peak.from)))
            }
            _ => {}
        }
        if let Some(other) = inputs::of(self.rank, amount::NON_TORCH) {
            let name = if other.figure.value > CONTEXT { TermName::OtherProcess } else { TermName::Context };
            terms.push(computed(name, other.figure, &format!("{} (all that is not torch's, whoever holds it)", other.from)));
        }
        if let Some((total, requested)) = total.zip(inputs::requested(self.facts, Some(self.rank))) {
            let left = minus(total.figure, requested.figure);
            let missing = inputs::kv(self.facts, self.rank).map(|kv| kv.figure).filter(|kv| kv.value <= 0.0);
            terms.push(computed(TermName::Headroom, missing.map_or(left, |kv| plus(left, kv)), "what is left free by the share"));
        }
    }
}

fn term(name: TermName, input: Input) -> Term {
    Term { name, gib: input.figure, from: input.from }
}

fn computed(name: TermName, gib: Figure, from: &str) -> Term {
    Term { name, gib, from: from.to_owned() }
}
