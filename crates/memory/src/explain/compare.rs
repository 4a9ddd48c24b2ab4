//! Two starts side by side: which terms of their memory, and which settings, differ by more than the rounding of their logs.

use bystander_model::budget::Figure;
use bystander_model::memory::{Compared, Rank, Server, Term, TermName};
use serde::Serialize;

use super::{ENGINES, Facts, vllm_pairs};
use crate::figures::{decimal, whole};

/// Settings that differ between any two starts and mean nothing for memory.
const INCIDENTAL: &[&str] =
    &["port", "nccl_port", "random_seed", "dist_init_addr", "host", "served_model_name", "log_level", "tokenizer_path"];
/// Settings that are listed at most.
const SETTINGS: usize = 40;

/// What differs.
pub(super) fn compare(first: (&Facts, &Server), second: (&Facts, &Server)) -> Vec<Compared> {
    let mut all = outcome(first.1, second.1);
    all.extend(tokens(first, second));
    all.extend(terms(first.1, second.1));
    all.extend(vllm_pairs::compared(first.1, second.1));
    all.extend(settings(first.0, second.0));
    all
}

/// Engine, version, state, phase.
fn outcome(first: &Server, second: &Server) -> Vec<Compared> {
    let version = |server: &Server| match (&server.version.low, &server.version.high) {
        (Some(low), Some(high)) if low == high => low.clone(),
        (low, high) => format!("{} to {}", low.as_deref().unwrap_or("any"), high.as_deref().unwrap_or("any")),
    };
    let pairs = [
        ("engine", first.engine.clone(), second.engine.clone()),
        ("version", version(first), version(second)),
        ("state", word(&first.state), word(&second.state)),
        ("phase", word(&first.phase), word(&second.phase)),
    ];
    let differing = pairs.into_iter().filter(|(_, first, second)| first != second);
    differing.map(|(name, first, second)| words(name, first, second)).collect()
}

/// Something that is no amount.
fn words(name: &str, first: String, second: String) -> Compared {
    Compared { name: name.to_owned(), first, second, difference_gib: None, difference_tokens: None }
}

/// Tokens of KV cache: those that the log has, else those that the formula gives.
fn tokens(first: (&Facts, &Server), second: (&Facts, &Server)) -> Option<Compared> {
    let told = |facts: &Facts| {
        let engine = ENGINES.iter().find(|engine| engine.name == facts.engine && facts.entangled.is_none())?;
        (engine.tokens)(facts).map(Figure::exact)
    };
    let computed = |server: &Server| server.formula.as_ref()?.tokens;
    let known = |(facts, server): (&Facts, &Server)| {
        told(facts).map(|tokens| (tokens, whole(tokens.value))).or_else(|| {
            let tokens = computed(server)?;
            Some((tokens, format!("{} by the formula", whole(tokens.value))))
        })
    };
    let (first, second) = (known(first), known(second));
    let difference = first.as_ref().zip(second.as_ref()).map(|((a, _), (b, _))| minus(*b, *a));
    let is_the_same = difference.map_or(first.is_none() && second.is_none(), |by| by.low <= 0.0 && by.high >= 0.0);
    let shown = |known: Option<(Figure, String)>| known.map_or_else(|| "unknown".to_owned(), |(_, text)| text);
    (!is_the_same).then(|| Compared { difference_tokens: difference, ..words("tokens", shown(first), shown(second)) })
}

fn minus(a: Figure, b: Figure) -> Figure {
    Figure { value: a.value - b.value, low: a.low - b.high, high: a.high - b.low }
}

/// A word as documents have it, such as `pool_sizing`.
fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Terms of the rank that has the least left, which decides.
fn terms(first: &Server, second: &Server) -> Vec<Compared> {
    let (Some(first), Some(second)) = (tightest(first), tightest(second)) else { return Vec::new() };
    let mut names: Vec<TermName> = first.terms.iter().chain(&second.terms).map(|term| term.name).collect();
    names.sort_unstable();
    names.dedup();
    let mut all: Vec<Compared> = names.into_iter().filter_map(|name| term(name, first, second)).collect();
    if let Some((a, b)) = first.unexplained_gib.zip(second.unexplained_gib) {
        all.extend(amount("unexplained", Some(a), Some(b)));
    }
    all
}

/// The rank with the least free memory.
fn tightest(server: &Server) -> Option<&Rank> {
    let left = |rank: &Rank| find(rank, TermName::Headroom).map_or(f64::INFINITY, |term| term.gib.value);
    server.ranks.iter().min_by(|a, b| left(a).total_cmp(&left(b)))
}

fn find(rank: &Rank, name: TermName) -> Option<&Term> {
    rank.terms.iter().find(|term| term.name == name)
}

fn term(name: TermName, first: &Rank, second: &Rank) -> Option<Compared> {
    // A card has a size, also where no line says it.
    let (a, b) = (find(first, name), find(second, name));
    if name == TermName::Total && a.is_some() != b.is_some() {
        let shown = |term: Option<&Term>| term.map_or_else(|| "unknown".to_owned(), |term| format!("{} GiB", decimal(term.gib.value, 2)));
        return Some(words(&word(&name), shown(a), shown(b)));
    }
    amount(&word(&name), a.map(|term| term.gib), b.map(|term| term.gib))
}

/// An amount that differs by more than its rounding; one that only one of the two has is a difference as soon as it is more than rounding.
fn amount(name: &str, first: Option<Figure>, second: Option<Figure>) -> Option<Compared> {
    let zero = Figure { value: 0.0, low: -0.005, high: 0.005 };
    let (a, b) = (first.unwrap_or(zero), second.unwrap_or(zero));
    if a.low <= b.high && b.low <= a.high {
        return None;
    }
    let shown = |figure: Option<Figure>| figure.map_or_else(|| "none".to_owned(), |figure| format!("{} GiB", decimal(figure.value, 2)));
    Some(Compared { difference_gib: Some(minus(b, a)), ..words(name, shown(first), shown(second)) })
}

/// Settings of the same engine that differ.
fn settings(first: &Facts, second: &Facts) -> Vec<Compared> {
    if first.engine != second.engine || first.settings.is_empty() || second.settings.is_empty() {
        return Vec::new();
    }
    let differing = first.settings.iter().filter_map(|(name, value)| {
        let other = second.settings.setting(name)?;
        let differs = value.value != other.value && !INCIDENTAL.contains(&name);
        differs.then(|| words(name, value.value.clone(), other.value.clone()))
    });
    differing.take(SETTINGS).collect()
}
