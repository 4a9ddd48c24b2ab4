//! The inputs of the sizing as the log shows them, by release, and the formula with its numbers.
//!
//! Source: SGLang up to 0.5.6 `model_executor/model_runner.py`, 0.5.7 to 0.5.10 `model_executor/model_runner_kv_cache_mixin.py`, 0.5.11 to 0.5.15
//! `model_executor/pool_configurator.py`, from 0.5.16 on `mem_cache/kv_cache_configurator.py`.

use bystander_model::budget::Figure;
use bystander_model::memory::Formula;

use super::names;
use super::shapes::cell_of_class;
use crate::explain::Facts;
use crate::explain::facts::{Amount, RankFacts};
use crate::figures::{decimal, is_exact, rounded};
use crate::formula::{Cell, GIB, Sizing};
use crate::line::Place;
use crate::version::Release;

/// What the sizing was computed with.
#[derive(Debug, Clone)]
pub(crate) struct Sized {
    /// The formula's inputs; what is kept back for other things is taken out of `available`.
    pub(crate) sizing: Sizing,
    /// Free memory after all weights that are counted, as printed.
    pub(crate) after_weights: Amount,
    /// Whether a draft model is counted.
    pub(crate) has_draft: bool,
    /// Bytes per token and rank.
    pub(crate) cell: Option<Cell>,
    /// Tokens that the engine printed, before any cap where it says so.
    pub(crate) printed: Option<f64>,
    /// What is kept back for multimodal models or taken by state caches, before the KV cache.
    pub(crate) before_kv: Figure,
    /// The lines that it was read from.
    pub(crate) places: Vec<Place>,
    /// How many ranks printed free memory, of how many in the log's reach.
    pub(crate) ranks: (usize, Option<usize>),
}

/// By how much free memory may grow while weights are loaded, as it does on a host that is not quiet.
const MOVES: f64 = 1.02;

/// Free memory after all weights that the sizing counts: with those of adapters, and from 0.5.14 on those of a draft model too, since it is loaded before the pools.
fn after_weights(rank: &RankFacts) -> Option<&Amount> {
    let pools =
        rank.amounts.iter().position(|amount| matches!(amount.name, names::POOL_END | names::POOL_GIB)).unwrap_or(rank.amounts.len());
    let later = |amount: &&Amount| matches!(amount.name, names::DRAFT_LOAD_END | names::LORA_END);
    rank.amounts[..pools].iter().rev().find(later).or_else(|| rank.first(names::LOAD_END))
}

/// Whether the weights of a draft model were loaded before the pools, so that the sizing counts its cache as well.
fn is_draft_counted(rank: &RankFacts) -> bool {
    let at = |sought: &[&str]| rank.amounts.iter().position(|amount| sought.contains(&amount.name));
    let draft = at(&[names::DRAFT_LOAD_END]);
    draft.is_some_and(|draft| at(&[names::POOL_END, names::POOL_GIB]).is_none_or(|pool| draft < pool))
}

/// The fraction that the sizing used: what the error says, else the printed arguments.
pub(crate) fn fraction(facts: &Facts) -> Option<(f64, Place)> {
    let said = facts.failures.iter().find_map(|failure| {
        let at = failure.message.find("Current value: ")?;
        let figure = super::log::text::after(&failure.message[at..], "mem_fraction_static=")?;
        Some((figure.value, failure.place.clone()))
    });
    said.or_else(|| {
        let asked = facts.failures.iter().find_map(|failure| {
            let rest = failure.message.split_once("under --mem-fraction-static=")?.1;
            Some((rounded(rest)?.value, failure.place.clone()))
        });
        asked
            .or_else(|| Some((facts.settings.number("mem_fraction_static")?, facts.settings.setting("mem_fraction_static")?.place.clone())))
    })
    .filter(|(value, _)| (0.0..=1.0).contains(value))
}

/// Reads the inputs; `None` where one of the three is not known.
pub(crate) fn sized(facts: &Facts) -> Option<Sized> {
    let (total, total_place, counted) = total(facts)?;
    let (_, available, _) = facts.least(|rank| rank.first(names::SEEN_AVAILABLE).or_else(|| after_weights(rank)))?;
    let (fraction, said) = fraction(facts)?;
    if total.low <= 0.0 {
        return None;
    }
    let before_kv = before_kv(facts);
    let available_figure = Figure {
        value: available.figure.value - before_kv.value,
        low: available.figure.low - before_kv.high,
        high: available.figure.high - before_kv.low,
    };
    let sizing = Sizing { total, available: available_figure, fraction };
    // More is free after the weights than before them: somebody else left meanwhile, or the two are not of one start.
    if available.figure.low > total.high * MOVES + 0.1 {
        return None;
    }
    let printed = facts.ranks.iter().find_map(|rank| rank.first(names::PROFILED)).map(|amount| amount.figure.value);
    let printed = printed.or_else(|| pool_tokens(facts).filter(|tokens| cap(facts).is_none_or(|cap| *tokens < cap)));
    let cell = cell(facts, &sizing, printed);
    let places = vec![total_place, available.place.clone(), said];
    let has_draft = facts.ranks.iter().any(is_draft_counted);
    Some(Sized {
        sizing,
        after_weights: available.clone(),
        has_draft,
        cell,
        printed,
        before_kv,
        places,
        ranks: (counted, ranks_here(facts)),
    })
}

/// Free memory before the weights, the least over ranks: as printed, else what was left after them and what they took.
fn total(facts: &Facts) -> Option<(Figure, Place, usize)> {
    // A print in the sizing itself shows what it computed with, and more decimals.
    let seen = facts.least(|rank| rank.first(names::SEEN_TOTAL));
    if let Some((_, total, counted)) = seen.or_else(|| facts.least(|rank| rank.first(names::LOAD_BEGIN))) {
        return Some((total.figure, total.place.clone(), counted));
    }
    let (rank, left, counted) = facts.least(|rank| rank.first(names::LOAD_END))?;
    let used = rank.first(names::LOAD_USED)?;
    Some((super::log::text::add(left.figure, used.figure), used.place.clone(), counted))
}

/// Ranks whose lines this log should hold.
fn ranks_here(facts: &Facts) -> Option<usize> {
    let tp = facts.settings.count("tp_size")?;
    let (pp, nodes) = (facts.settings.count("pp_size").unwrap_or(1), facts.settings.count("nnodes").unwrap_or(1));
    usize::try_from(tp.saturating_mul(pp).div_ceil(nodes)).ok()
}

/// What is taken before the KV cache: a reserve for multimodal models, and state caches.
fn before_kv(facts: &Facts) -> Figure {
    let all = facts.ranks.iter().find(|rank| rank.first(names::POOL_GIB).is_some()).or_else(|| facts.ranks.first());
    let amounts = all.into_iter().flat_map(|rank| rank.first(names::MM_RESERVED).into_iter().chain(rank.first(names::STATE_GIB)));
    amounts.map(|amount| amount.figure).fold(Figure::exact(0.0), super::log::text::add)
}

/// The user's cap on tokens.
pub(crate) fn cap(facts: &Facts) -> Option<f64> {
    facts.settings.number("max_total_tokens").filter(|cap| *cap > 0.0)
}

/// Tokens of the target's pool as printed; of a sliding-window hybrid those of its full layers.
pub(crate) fn pool_tokens(facts: &Facts) -> Option<f64> {
    let first = |name: &str| facts.ranks.iter().find_map(|rank| rank.first(name)).map(|amount| amount.figure.value);
    first(names::TOKENS).or_else(|| first(names::FULL_TOKENS)).or_else(|| first(names::POOL_TOKENS))
}

/// Whether the pools are of a kind whose bytes per token do not follow from one pool.
pub(crate) fn is_hybrid(facts: &Facts) -> bool {
    let has = |name: &str| facts.ranks.iter().any(|rank| rank.first(name).is_some());
    has(names::SWA_GIB) || has(names::FULL_TOKENS) || facts.message(names::OTHER_POOL).is_some()
}

fn cell(facts: &Facts, sizing: &Sizing, printed: Option<f64>) -> Option<Cell> {
    if is_hybrid(facts) {
        return None;
    }
    let page = facts.settings.number("page_size").filter(|page| *page >= 1.0).unwrap_or(1.0);
    // Stages hold different layers; the largest pool is that of the stage that has room for the fewest tokens.
    let pools = facts.ranks.iter().filter_map(|rank| Some((rank.first(names::POOL_TOKENS)?.figure.value, pool_gib(rank)?)));
    let largest = pools.max_by(|a, b| a.1.value.total_cmp(&b.1.value));
    let rest = sizing.rest();
    if let Some(cell) = largest.and_then(|(tokens, size)| Cell::of_pool(tokens, page, size)) {
        let narrowed = printed.and_then(|tokens| cell.within_rest(tokens, page, rest));
        return Some(narrowed.unwrap_or(cell));
    }
    if let Some(tokens) = printed.filter(|tokens| *tokens != 0.0 && tokens.signum() == rest.value.signum() && rest.low * rest.high > 0.0) {
        let bytes = |gib: f64| gib * GIB / tokens;
        let (a, b) = (bytes(rest.low), bytes(rest.high));
        return Some(Cell { value: bytes(rest.value), low: a.min(b), high: a.max(b) });
    }
    cell_of_class(facts)
}

/// The pools whose bytes the sizing counts for each token: that of the target, and that of a draft model whose weights were loaded before the pools.
/// `None` where such a draft's pool is not printed.
fn pool_gib(rank: &RankFacts) -> Option<Figure> {
    let target = rank.first(names::POOL_GIB)?.figure;
    if !is_draft_counted(rank) {
        return Some(target);
    }
    let beside: Vec<Figure> = rank.all(names::POOL_GIB).skip(1).chain(rank.all(names::DRAFT_POOL_GIB)).map(|pool| pool.figure).collect();
    (!beside.is_empty()).then(|| beside.into_iter().fold(target, super::log::text::add))
}

/// The request table, in GiB, and how it was computed: a row of tokens for each request, four bytes each.
pub(crate) fn table_gib(facts: &Facts) -> Option<(f64, String)> {
    let first = |name: &str| facts.ranks.iter().find_map(|rank| rank.first(name));
    let (rows, context) = (first(names::MAX_RUNNING)?, first(names::CONTEXT)?);
    let (rows_value, width) = (rows.figure.value, context.figure.value + 4.0);
    let from = format!("{rows_value} requests \u{d7} ({} + 4) \u{d7} 4 B, {}", context.figure.value, rows.place);
    Some((rows_value * width * 4.0 / GIB, from))
}

/// The file that holds the formula, by release.
fn source(facts: &Facts) -> String {
    const FILES: [(Release, Release, &str); 4] = [
        (Release(0, 4, 3), Release(0, 5, 6), "model_executor/model_runner.py: profile_max_num_token"),
        (Release(0, 5, 7), Release(0, 5, 10), "model_executor/model_runner_kv_cache_mixin.py: profile_max_num_token"),
        (
            Release(0, 5, 11),
            Release(0, 5, 15),
            "model_executor/model_runner_kv_cache_mixin.py and pool_configurator.py: _profile_available_bytes",
        ),
        (Release(0, 5, 16), Release(0, 5, 23), "mem_cache/kv_cache_configurator.py: _profile_available_bytes"),
    ];
    let (low, high) = facts.versions.bounds();
    let possible = FILES.iter().filter(|(first, last, _)| facts.versions.is_possible() && *first <= high && *last >= low);
    let all: Vec<String> = possible.map(|(first, last, file)| format!("SGLang {first} to {last} {file}")).collect();
    if all.is_empty() { "SGLang 0.4.3 to 0.5.23, of which this release is none".to_owned() } else { all.join("; ") }
}

/// The formula with its numbers.
pub(crate) fn formula(facts: &Facts) -> Option<Formula> {
    let sized = sized(facts)?;
    let rest = sized.sizing.rest();
    let computed = sized.cell.map(|cell| sized.sizing.tokens(cell));
    // What the engine printed is exact where the formula explains it.
    let tokens = match (computed, sized.printed) {
        (Some(computed), Some(printed)) if computed.low - 1.0 <= printed && printed <= computed.high + 1.0 => Some(Figure::exact(printed)),
        (None, Some(printed)) => Some(Figure::exact(printed)),
        (computed, _) => computed,
    };
    Some(Formula { text: equation(&sized), source: source(facts), rest_gib: rest, tokens, cell_bytes: sized.cell.and_then(told) })
}

/// A cell that is known to the byte, or so closely that only one whole number fits.
fn told(cell: Cell) -> Option<f64> {
    let (low, high) = (cell.low.ceil(), cell.high.floor());
    if cell.is_exact() { Some(cell.value) } else { (low.total_cmp(&high).is_eq()).then_some(low) }
}

/// The equation, with what is taken before the KV cache where there is any.
fn equation(sized: &Sized) -> String {
    if is_exact(&sized.before_kv) && sized.before_kv.value == 0.0 {
        return sized.sizing.equation();
    }
    let kept = decimal(sized.before_kv.value, 2);
    format!("{}, after {kept} GiB for states and reserves were taken out of what is available", sized.sizing.equation())
}
