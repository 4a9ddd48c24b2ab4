//! What is not covered here, and where sources contradict each other.

use super::formula;
use super::inputs;
use super::names::{amount, message, setting};
use super::rules;
use super::semantics::{self, NEWEST_READ};
use crate::explain::Facts;
use crate::figures::{decimal, fraction};
use crate::version::Release;

/// Sentences on what no formula here covers.
pub(super) fn not_modelled(facts: &Facts) -> Vec<String> {
    let mut all = Vec::new();
    let (low, _) = facts.versions.bounds();
    if facts.versions.is_stated() && low > NEWEST_READ && low < Release(1, 0, 0) {
        all.push(format!(
            "Releases after 0.33, such as {}, were not read: lines count as they did, and the formula may have changed.",
            facts.versions.words()
        ));
    }
    if facts.versions.is_stated() && low >= Release(1, 0, 0) {
        all.push(format!("{} is no release of vLLM but of a fork: lines count, the formula is not known.", facts.versions.words()));
    }
    if facts.settings.get(setting::DEVICE) == Some("cpu") {
        all.push(
            "The CPU backend sizes its cache by the memory of a NUMA node; what graphs and contexts take on a GPU does not exist."
                .to_owned(),
        );
    }
    if facts.message(message::HYBRID).is_some() {
        all.push(
            "Layers of several kinds share the KV cache: tokens do not follow from bytes, and one pair of both gives no bytes per token."
                .to_owned(),
        );
    } else if inputs::server(facts, amount::TOKENS).is_some()
        && formula::cell(facts).is_none()
        && facts.settings.get(setting::DEVICE) != Some("cpu")
    {
        all.push(
            "Bytes per token are not derived: the log does not show that all layers keep the same and what each rank has; tokens follow the rank with the least."
                .to_owned(),
        );
    }
    if semantics::covers(facts).is_none() && facts.settings.get(setting::DEVICE) != Some("cpu") {
        all.push("Which generation's share this is cannot be told: the releases that the log allows differ in what it covers.".to_owned());
    } else if facts.versions.is_within(Release(0, 10, 0), Release(0, 10, 99)) {
        all.push("0.10 was not read; it is taken to count as 0.9.2 does.".to_owned());
    }
    all.extend(least_card(facts));
    if facts.settings.flag(setting::SPECULATIVE) == Some(true) {
        all.push("Weights of the draft model are part of \"Model loading took\", and its layers part of the KV cache; the log does not tell them apart.".to_owned());
    }
    all
}

/// The card, where no line says its size: it has as much at least as makes weights and KV cache the share of it.
fn least_card(facts: &Facts) -> Option<String> {
    let (rank, kv, _) = inputs::least_kv(facts)?;
    let is_sized = rank.first(amount::KV_GIVEN).is_none() && facts.settings.get(setting::KV_BYTES).is_none();
    if !is_sized || facts.settings.get(setting::DEVICE) == Some("cpu") || inputs::total_or_told(facts, Some(rank)).is_some() {
        return None;
    }
    let (share, weights) = (inputs::share(facts, Some(rank))?, inputs::of(rank, amount::WEIGHTS)?);
    let graphs = inputs::graphs_estimate(facts, rank).map_or(0.0, |graphs| graphs.figure.low);
    let least = (weights.figure.low + graphs + kv.figure.low) / share.figure.high;
    (least.is_finite() && least > 0.0).then(|| {
        let (least, kv, weights) = (decimal(least, 2), decimal(kv.figure.value, 2), decimal(weights.figure.value, 2));
        format!(
            "No line says how large the card is (--gpu does), so what is neither weights, KV cache nor graphs is unknown: it has {least} GiB at least, since {} of it is the KV cache ({kv} GiB) and what comes off before, the weights ({weights} GiB) among it.",
            fraction(share.figure.value)
        )
    })
}

/// Sentences on sources that contradict each other.
pub(super) fn contradictions(facts: &Facts) -> Vec<String> {
    let mut all = Vec::new();
    all.extend(typed(facts));
    all.extend(small_card(facts));
    all.extend(formula::contradiction(facts));
    all.extend(rules::suggested_share(facts));
    all.extend(rules::suggested_size(facts));
    all.extend(ranks_differ(facts));
    all.extend(graphs_differ(facts));
    all
}

/// The command line says another share than is in effect.
fn typed(facts: &Facts) -> Option<String> {
    let typed = facts.settings.setting(setting::TYPED_SHARE)?;
    let asked = facts.settings.number(setting::TYPED_SHARE)?;
    let effective = inputs::share(facts, None)?;
    ((asked - effective.figure.value).abs() > 0.006).then(|| {
        format!(
            "The command line asks for a share of {} ({}), and {} is in effect ({}), which counts",
            fraction(asked),
            typed.place,
            fraction(effective.figure.value),
            effective.from
        )
    })
}

/// The card that was asked for holds less than stands on it.
fn small_card(facts: &Facts) -> Option<String> {
    let card = facts.asked.card_gib?;
    let taken = inputs::taken(facts, None);
    (taken.is_finite() && taken > card * 1.005).then(|| {
        format!(
            "A card of {} GiB was asked for, and weights and KV cache take {} GiB: it is none of this log, and counts for nothing",
            decimal(card, 2),
            decimal(taken, 2)
        )
    })
}

/// Graphs that took another amount than was kept for them.
fn graphs_differ(facts: &Facts) -> Option<String> {
    let (rank, graphs) = inputs::ranks(facts).find_map(|rank| Some((rank, inputs::of(rank, amount::GRAPHS)?)))?;
    let kept = inputs::graphs_estimate(facts, rank)?;
    let spare = kept.figure.value - graphs.figure.value;
    if spare.abs() < 0.25 {
        return None;
    }
    let (kept, took, apart) = (decimal(kept.figure.value, 2), decimal(graphs.figure.value, 2), decimal(spare.abs(), 2));
    Some(if spare > 0.0 {
        format!(
            "{kept} GiB were kept for CUDA graphs and they took {took} GiB ({}): {apart} GiB of the share stay unused, and a share that is higher by as much costs nothing",
            graphs.from
        )
    } else {
        format!(
            "{kept} GiB were kept for CUDA graphs and they took {took} GiB ({}): {apart} GiB come out of what the share leaves",
            graphs.from
        )
    })
}

/// Ranks whose KV cache differs by more than rounding: the least counts for all.
fn ranks_differ(facts: &Facts) -> Option<String> {
    let all: Vec<f64> = inputs::ranks(facts).filter_map(|rank| inputs::kv(facts, rank)).map(|kv| kv.figure.value).collect();
    let (low, high) = (all.iter().copied().fold(f64::INFINITY, f64::min), all.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    (all.len() > 1 && high - low > 0.1 + 0.02 * high.abs()).then(|| {
        format!("Ranks have between {} and {} GiB for the KV cache; each takes blocks for the least of them, and the rest of the others stays unused", decimal(low, 2), decimal(high, 2))
    })
}
