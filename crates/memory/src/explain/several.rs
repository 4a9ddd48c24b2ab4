//! What only several starts together show: no value between two that failed in opposite ways, weights that lie in memory twice.

use bystander_model::memory::{Advice, Cause, CauseClass, Certainty, Direction, Server, State, TermName};

use super::Facts;
use crate::figures::{decimal, fraction};

/// A step of the fraction below which nobody finds a value that works.
const STEP: f64 = 0.021;

/// Corrects what was said of each start by what the others show.
pub(super) fn judge(facts: &[Facts], servers: &mut [Server]) {
    for second in 0..servers.len() {
        for first in 0..servers.len() {
            if first != second {
                nothing_between(first, second, facts, servers);
                loaded_twice(first, second, facts, servers);
            }
        }
    }
}

/// The same model at two fractions: too small a pool at the lower one, out of memory after the pool at the higher one.
fn nothing_between(low: usize, high: usize, facts: &[Facts], servers: &mut [Server]) {
    let fraction_of = |at: usize| facts[at].settings.number("mem_fraction_static");
    let (Some(least), Some(most)) = (fraction_of(low), fraction_of(high)) else { return };
    let class = |at: usize| servers[at].cause.as_ref().map(|cause| cause.class);
    let fits = class(low) == Some(CauseClass::FractionBelowWeights)
        && matches!(
            class(high),
            Some(
                CauseClass::DraftNotAccounted
                    | CauseClass::GraphCaptureHeadroom
                    | CauseClass::HeadroomOutsideStatic
                    | CauseClass::RuntimeActivation
            )
        )
        && facts[low].settings.get("model_path") == facts[high].settings.get("model_path");
    if !fits || most <= least || most - least > STEP {
        return;
    }
    let text = format!(
        "At {} the weights leave no pool ({}), at {} what follows the pool does not fit: no value between works",
        fraction(least),
        servers[low].source,
        fraction(most)
    );
    let draft = facts[high].settings.get("speculative_algorithm").is_some();
    let Some(cause) = servers[high].cause.as_mut() else { return };
    if draft {
        cause.class = CauseClass::DraftNotAccounted;
    }
    cause.text.clone_from(&text);
    servers[high].answer = format!("{text}.");
    let advice = Advice {
        knob: "mem_fraction_static".into(),
        direction: Direction::None,
        break_even: None,
        recommended: None,
        gives: None,
        text: "Do not search for a fraction. Shrink something: the context, --cuda-graph-max-bs, the draft model, the weights; or do without speculative decoding.".into(),
    };
    servers[low].advice = vec![advice.clone()];
    servers[high].advice = vec![advice];
}

/// The same class of model, half as much again: the checkpoint's weights and those that were quantised while they were loaded.
fn loaded_twice(plain: usize, quantised: usize, facts: &[Facts], servers: &mut [Server]) {
    let weights = |at: usize| {
        let terms = servers[at].ranks.iter().flat_map(|rank| &rank.terms);
        terms.filter(|term| term.name == TermName::Weights).map(|term| term.gib.value).reduce(f64::max)
    };
    let class = |at: usize| facts[at].settings.get("(model class)");
    let (Some(first), Some(second)) = (weights(plain), weights(quantised)) else { return };
    let ratio = second / first;
    let same = class(plain).is_some() && class(plain) == class(quantised) && facts[plain].engine == facts[quantised].engine;
    // A cut-out may hold no arguments.
    let quantises = facts[quantised].settings.setting("model_path").is_none() || facts[quantised].settings.get("quantization").is_some();
    let judged = servers[quantised].cause.as_ref().is_some_and(|cause| !matches!(cause.class, CauseClass::Healthy | CauseClass::Unknown));
    if !same || !quantises || judged || !(1.4..1.6).contains(&ratio) || first < 1.0 {
        return;
    }
    let text = format!(
        "The weights take {} GiB where the same model takes {} without quantisation: about one and a half times as much, as where the weights of the checkpoint and the quantised ones are both in memory",
        decimal(second, 2),
        decimal(first, 2)
    );
    let evidence = vec![facts[quantised].begun.to_string(), facts[plain].begun.to_string()];
    servers[quantised].answer = format!("{text}.");
    servers[quantised].cause = Some(Cause { class: CauseClass::QuantizationWeightSize, certainty: Certainty::Likely, text, evidence });
    servers[quantised].advice = vec![Advice {
        knob: "quantization".into(),
        direction: Direction::None,
        break_even: None,
        recommended: None,
        gives: None,
        text: "Use a checkpoint that was quantised before. The type on the line after the weights stays that of the model; judge by what the weights take.".into(),
    }];
    if servers[quantised].state == State::Ready {
        servers[quantised].state = State::Unknown;
    }
}
