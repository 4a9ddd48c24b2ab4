//! The numbers of one rank, each with its source, picked from all that the log says.

use bystander_model::budget::Figure;

use super::amount::{both, minus, plus, ratio};
use super::names::{amount, setting};
use super::reader::SERVER;
use super::semantics;
use crate::explain::Facts;
use crate::explain::causes::device::OutOfMemory;
use crate::explain::facts::RankFacts;

/// A number and where it was read or how it was computed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Input {
    pub(crate) figure: Figure,
    pub(crate) from: String,
}

impl Input {
    fn new(figure: Figure, from: impl Into<String>) -> Self {
        Self { figure, from: from.into() }
    }
}

/// The ranks of a server, those that printed of the whole server left out.
pub(crate) fn ranks(facts: &Facts) -> impl Iterator<Item = &RankFacts> {
    facts.ranks.iter().filter(|rank| !semantics::is_server(&rank.label))
}

/// The last number of a name that a rank printed.
pub(crate) fn of(rank: &RankFacts, name: &str) -> Option<Input> {
    rank.last(name).map(|amount| Input::new(amount.figure, amount.place.to_string()))
}

/// The last number of a name of the whole server.
pub(crate) fn server(facts: &Facts, name: &str) -> Option<Input> {
    facts.ranks.iter().find(|rank| rank.label == SERVER).and_then(|rank| of(rank, name))
}

/// The first number of a name of the whole server.
pub(crate) fn server_first(facts: &Facts, name: &str) -> Option<Input> {
    let amount = facts.ranks.iter().find(|rank| rank.label == SERVER)?.first(name)?;
    Some(Input::new(amount.figure, amount.place.to_string()))
}

/// A number of the rank, or of the first rank that printed one: an equal share of the same work.
pub(crate) fn of_any(facts: &Facts, rank: Option<&RankFacts>, name: &str) -> Option<Input> {
    rank.and_then(|rank| of(rank, name)).or_else(|| ranks(facts).find_map(|rank| of(rank, name)))
}

/// By how much CUDA's size of a card may differ from the one that it is known by.
const NOMINAL: f64 = 0.005;

/// What a rank has of a card at least by its own lines, in GiB: weights and KV cache; of a host all counts.
pub(crate) fn taken(facts: &Facts, rank: Option<&RankFacts>) -> f64 {
    if facts.settings.get(setting::DEVICE) == Some("cpu") {
        return f64::INFINITY;
    }
    let all = rank.map_or_else(|| ranks(facts).collect(), |rank| vec![rank]);
    let of_rank = |rank: &RankFacts| -> f64 {
        let amounts = [of(rank, amount::WEIGHTS), kv(facts, rank)];
        amounts.into_iter().flatten().map(|input| input.figure.low.max(0.0)).sum()
    };
    all.into_iter().map(of_rank).fold(0.0, f64::max)
}

/// The size of the card of a rank.
pub(crate) fn total(facts: &Facts, rank: Option<&RankFacts>) -> Option<Input> {
    let from_rank = rank.and_then(|rank| of(rank, amount::TOTAL));
    let alone = ranks(facts).count() <= 1;
    // Cards of one server may differ, so that only a rank's own line tells of its card.
    let from_error = || {
        let failure = facts.failures.iter().filter(|failure| alone || rank.is_none_or(|rank| rank.label == failure.label));
        failure
            .filter_map(|failure| Some((OutOfMemory::of(failure)?.total?, failure)))
            .map(|(total, failure)| Input::new(total, failure.place.to_string()))
            .next()
    };
    let from_check = || share_not_free(facts).filter(|_| alone || rank.is_none()).and_then(|check| check.total);
    let from_list = || server_first(facts, amount::CARD_TOTAL).filter(|_| alone);
    let anywhere = || rank.is_none().then(|| of_any(facts, None, amount::TOTAL)).flatten();
    from_rank.or_else(from_error).or_else(from_check).or_else(anywhere).or_else(from_list).or_else(|| {
        // What a card is sold as is not quite what CUDA shows of it.
        let card = facts.asked.card_gib.filter(|card| taken(facts, rank) <= card * (1.0 + NOMINAL))?;
        Some(Input::new(Figure { value: card, low: card * (1.0 - NOMINAL), high: card * (1.0 + NOMINAL) }, "the card as asked"))
    })
}

/// The numbers of the check at the start, where it failed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ShareNotFree {
    pub(crate) device: Option<u32>,
    pub(crate) free: Option<Input>,
    pub(crate) total: Option<Input>,
    pub(crate) share: Option<f64>,
}

/// The first start check that failed.
pub(crate) fn share_not_free(facts: &Facts) -> Option<ShareNotFree> {
    facts.failures.iter().find_map(|failure| {
        let super::line::Failure::ShareNotFree { device, free, total, share, .. } = super::line::failure(&failure.message)? else {
            return None;
        };
        let input = |figure: Option<Figure>| figure.map(|figure| Input::new(figure, failure.place.to_string()));
        Some(ShareNotFree { device, free: input(free), total: input(total), share })
    })
}

/// The share in effect: as the sizing printed it, as the configuration shows it, as it was typed, the default.
pub(crate) fn share(facts: &Facts, rank: Option<&RankFacts>) -> Option<Input> {
    let printed = of_any(facts, rank, amount::SHARE);
    let check = || {
        share_not_free(facts)
            .and_then(|check| Some(Input::new(Figure::exact(check.share?), check.free.map_or_else(String::new, |free| free.from))))
    };
    let configured = || {
        let found = facts.settings.setting(setting::SHARE)?;
        Some(Input::new(Figure::exact(facts.settings.number(setting::SHARE)?), found.place.to_string()))
    };
    let typed = || {
        let found = facts.settings.setting(setting::TYPED_SHARE)?;
        Some(Input::new(Figure::exact(facts.settings.number(setting::TYPED_SHARE)?), format!("{} (as typed)", found.place)))
    };
    // What the configuration says is exact; the sizing may have rounded the same.
    let exact = configured().or_else(typed);
    match (printed.or_else(check), exact) {
        (Some(printed), Some(exact))
            if printed.figure.low <= exact.figure.value + 1e-9 && exact.figure.value <= printed.figure.high + 1e-9 =>
        {
            Some(exact)
        }
        (Some(printed), _) => Some(printed),
        (None, Some(exact)) => Some(exact),
        (None, None) => semantics::default_share(facts)
            .map(|share| Input::new(Figure::exact(share), format!("the default of {}", facts.versions.words()))),
    }
}

/// The share of the card in GiB.
pub(crate) fn requested(facts: &Facts, rank: Option<&RankFacts>) -> Option<Input> {
    let printed = rank.and_then(|rank| of(rank, amount::REQUESTED));
    let computed = total(facts, rank).zip(share(facts, rank)).map(|(total, share)| {
        let product = |total: f64, share: f64| total * share;
        let figure = Figure {
            value: product(total.figure.value, share.figure.value),
            low: product(total.figure.low, share.figure.low),
            high: product(total.figure.high, share.figure.high),
        };
        Input::new(figure, format!("{} × {}", share.from, total.from))
    });
    match (printed, computed) {
        (Some(printed), Some(computed)) => Some(Input::new(both(computed.figure, printed.figure), printed.from)),
        (printed, computed) => printed.or(computed),
    }
}

/// What is left for the KV cache, as printed; of an account, which repeats it, the last.
pub(crate) fn kv(facts: &Facts, rank: &RankFacts) -> Option<Input> {
    let _ = facts;
    of(rank, amount::KV).or_else(|| of(rank, amount::KV_GIVEN))
}

/// The least KV cache over the ranks that printed one, which is the one that counts, and how many did.
pub(crate) fn least_kv(facts: &Facts) -> Option<(&RankFacts, Input, usize)> {
    let all = || ranks(facts).filter_map(|rank| Some((rank, kv(facts, rank)?)));
    let (rank, least) = all().min_by(|a, b| a.1.figure.value.total_cmp(&b.1.figure.value))?;
    Some((rank, least, all().count()))
}

/// What a rank holds of the share beside activations, graphs and KV cache.
fn loaded(rank: &RankFacts) -> Option<Input> {
    of(rank, amount::CONSUMED).or_else(|| {
        let (weights, other) = (of(rank, amount::WEIGHTS)?, of(rank, amount::NON_TORCH)?);
        Some(Input::new(plus(weights.figure, other.figure), other.from))
    })
}

/// All that is subtracted from the share, where the log says it.
pub(crate) fn not_kv(facts: &Facts, rank: &RankFacts) -> Option<Input> {
    // Up to 0.6.4: the peak of torch, and all else that is used on the card.
    if let (Some(peak), Some(other)) = (of(rank, amount::PEAK_TORCH), of(rank, amount::NON_TORCH)) {
        return Some(Input::new(plus(peak.figure, other.figure), peak.from));
    }
    let graphs =
        graphs_estimate(facts, rank).filter(|_| !graphs_in_activation(facts, rank)).map_or(Figure::exact(0.0), |graphs| graphs.figure);
    if let Some((loaded, activation)) = loaded(rank).zip(of(rank, amount::ACTIVATION)) {
        return Some(Input::new(plus(plus(loaded.figure, activation.figure), graphs), activation.from));
    }
    if let Some(all) = of(rank, amount::NOT_KV) {
        return Some(Input::new(plus(all.figure, graphs), all.from));
    }
    of(rank, amount::PEAK).or_else(|| {
        let (total, free) = (of(rank, amount::TOTAL)?, of(rank, amount::FREE)?);
        let is_oldest = of(rank, amount::BLOCK_BYTES).is_some() || facts.versions.is_up_to(crate::version::Release(0, 5, 99));
        is_oldest.then(|| Input::new(minus(total.figure, free.figure), free.from))
    })
}

/// What was subtracted for graphs, where they are inside of the share.
pub(crate) fn graphs_estimate(facts: &Facts, rank: &RankFacts) -> Option<Input> {
    if !semantics::covers(facts).is_some_and(semantics::Covers::has_graphs) || facts.settings.flag(setting::EAGER) == Some(true) {
        return None;
    }
    // Only the first rank of a machine prints it; all capture the same graphs.
    of_any(facts, Some(rank), amount::GRAPHS_ESTIMATED).or_else(|| {
        let (share, without) = (of_any(facts, Some(rank), amount::SHARE)?, of_any(facts, Some(rank), amount::WITHOUT_GRAPHS)?);
        let total = total(facts, Some(rank))?;
        let part = minus(share.figure, without.figure);
        (part.value >= 0.0).then_some(())?;
        let figure = Figure {
            value: part.value * total.figure.value,
            low: (part.low * total.figure.low).max(0.0),
            high: part.high * total.figure.high,
        };
        Some(Input::new(figure, without.from))
    })
}

/// Whether the peak of activations that an account prints has the estimate of graphs in it, as some releases from 0.19 on have; told by which of the two
/// gives the KV cache that was printed.
pub(crate) fn graphs_in_activation(facts: &Facts, rank: &RankFacts) -> bool {
    let parts = || {
        let estimate = graphs_estimate(facts, rank)?.figure;
        let (loaded, activation) = (loaded(rank)?.figure, of(rank, amount::ACTIVATION)?.figure);
        Some((estimate, minus(requested(facts, Some(rank))?.figure, plus(loaded, activation))))
    };
    let Some((estimate, left)) = parts() else { return false };
    match of(rank, amount::KV) {
        Some(kv) if estimate.value > 0.03 => (kv.figure.value - left.value).abs() < (kv.figure.value - (left.value - estimate.value)).abs(),
        _ => rank.first(amount::CONSUMED).is_some(),
    }
}

/// The size of the card from what the engine says of graphs: their estimate, and by how much of the share it counts.
pub(crate) fn total_by_graphs(facts: &Facts, rank: Option<&RankFacts>) -> Option<Input> {
    let graphs = of_any(facts, rank, amount::GRAPHS_ESTIMATED)?;
    let (share, without) = (of_any(facts, rank, amount::SHARE)?, of_any(facts, rank, amount::WITHOUT_GRAPHS)?);
    let figure = ratio(graphs.figure, minus(share.figure, without.figure))?;
    // A few hundredths of a percent of a card leave too much open to be of use.
    (figure.high - figure.low < 0.1 * figure.value).then(|| Input::new(figure, format!("{} / {}", graphs.from, without.from)))
}

/// The card, read or told from graphs.
pub(crate) fn total_or_told(facts: &Facts, rank: Option<&RankFacts>) -> Option<Input> {
    total(facts, rank).or_else(|| total_by_graphs(facts, rank))
}

/// Free memory at the start: printed, or in the check that failed.
pub(crate) fn free(facts: &Facts, rank: Option<&RankFacts>) -> Option<Input> {
    of_any(facts, rank, amount::FREE).or_else(|| share_not_free(facts).and_then(|check| check.free))
}

/// The share that an amount in GiB is of a card.
pub(crate) fn as_share(gib: Figure, total: Figure) -> Option<Figure> {
    (total.low > 0.0).then(|| {
        let value = gib.value / total.value;
        let all = [gib.low / total.low, gib.low / total.high, gib.high / total.low, gib.high / total.high];
        Figure {
            value,
            low: all.iter().copied().fold(f64::INFINITY, f64::min),
            high: all.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    })
}
