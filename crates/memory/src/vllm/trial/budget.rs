//! The budget of a trial's server in the form that experiments keep: what is available beside all that is no KV cache, and what other shares would give.

use bystander_model::budget::{Alternative, BudgetReport, Figure};
use bystander_model::evidence::{Evidence, EvidenceKind};
use bystander_model::ids::TrialId;

use crate::explain::Facts;
use crate::figures::{decimal, fraction, up_at_sixth};
use crate::line::Place;
use crate::vllm::advice::Scale;
use crate::vllm::amount::{minus, times};
use crate::vllm::names::amount;
use crate::vllm::{formula, inputs, semantics, unsure};

/// Shares whose outcome is told beside the one in use.
const OTHERS: [f64; 4] = [0.8, 0.85, 0.9, 0.95];

/// The budget of the rank that sets the size; `None` where one of the formula's inputs is not in the log.
pub(super) fn report(facts: &Facts, trial: TrialId, evidence: &dyn Fn(&Place) -> Option<Evidence>) -> Option<BudgetReport> {
    let formula = formula::of(facts)?;
    let (rank, _, _) = inputs::least_kv(facts)?;
    let share = inputs::share(facts, Some(rank))?.figure.value;
    let (total, not_kv) = (inputs::total(facts, Some(rank))?.figure, inputs::not_kv(facts, rank)?.figure);
    let scale = Scale::of(facts)?;
    let even = inputs::as_share(not_kv, total)?;
    let mut sources: Vec<Evidence> = [amount::REQUESTED, amount::TOTAL, amount::ACTIVATION, amount::NOT_KV, amount::KV]
        .into_iter()
        .filter_map(|name| evidence(&rank.last(name)?.place))
        .collect();
    sources.dedup_by(|a, b| a.place == b.place);
    let text = format!("{}; here {}", formula.source, formula.text);
    sources.push(Evidence { trial: Some(trial), kind: EvidenceKind::Formula, place: "determine_available_memory".into(), text });
    Some(BudgetReport {
        engine: "vllm".into(),
        version: facts.versions.range(),
        rank: rank.rank,
        total_gib: total,
        available_gib: minus(total, not_kv),
        fraction: share,
        rest_gib: formula.rest_gib,
        cell_bytes: formula.cell_bytes.map(|bytes| bytes as u64),
        tokens: formula.tokens,
        equation: formula.text,
        break_even: Figure { value: up_at_sixth(even.value), low: up_at_sixth(even.low), high: up_at_sixth(even.high) },
        alternatives: alternatives(facts, &scale),
        text: sentences(facts, share, total, not_kv),
        evidence: sources,
        not_modelled: unsure::not_modelled(facts),
        of_little_use: None,
    })
}

fn alternatives(facts: &Facts, scale: &Scale) -> Vec<Alternative> {
    let most = scale.most(facts);
    let at = |share: f64| {
        let kv = formula::kv_at(scale.kv?, scale.share, scale.total.figure, share);
        let gives = scale.gives(facts, share);
        Some(Alternative { fraction: share, rest_gib: kv, tokens: gives.tokens, headroom_gib: gives.headroom_gib? })
    };
    let others = OTHERS.into_iter().filter(|share| *share <= most && (share - scale.share).abs() > 1e-9);
    let mut all: Vec<Alternative> = others.chain([scale.share]).filter_map(at).collect();
    all.sort_by(|a, b| a.fraction.total_cmp(&b.fraction));
    all
}

fn sentences(facts: &Facts, share: f64, total: Figure, not_kv: Figure) -> Vec<String> {
    let mut text = Vec::new();
    if let Some(covers) = semantics::covers(facts) {
        text.push(format!("The share covers {}.", covers.words()));
    }
    text.push(format!(
        "A share of {} of {} GiB is {} GiB, of which {} GiB are taken beside the KV cache.",
        fraction(share),
        decimal(total.value, 2),
        decimal(times(total, share).value, 2),
        decimal(not_kv.value, 2)
    ));
    text
}
