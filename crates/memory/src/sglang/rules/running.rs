//! Servers that came up: whether their pool is of use, and what bounds it.

use bystander_model::budget::Figure;
use bystander_model::memory::{CauseClass, Certainty, Direction, Phase};

use super::device::graphs_knob;
use super::host::was_killed;
use super::state::smaller;
use crate::explain::{Case, Found};
use crate::figures::{decimal, fraction, up_at_sixth, whole};
use crate::sglang::advice::{self, knob, not_the_fraction};
use crate::sglang::names;
use crate::sglang::sizing::{Sized, cap, fraction as used, pool_tokens, sized, table_gib};

/// A pool of fewer tokens than that is next to nothing, whatever the model.
const NEXT_TO_NOTHING: f64 = 8192.0;

fn first(case: &Case<'_>, name: &str) -> Option<(f64, crate::line::Place)> {
    case.facts.ranks.iter().find_map(|rank| rank.first(name)).map(|amount| (amount.figure.value, amount.place.clone()))
}

/// Whether the server came so far that its pool can be judged, and nothing failed or killed it.
fn stands(case: &Case<'_>) -> bool {
    case.facts.failure().is_none() && !was_killed(case)
}

/// Batches did not fit into the pool: not the device, the pool is exhausted.
pub(super) fn exhausted(case: &Case<'_>) -> Option<Found> {
    let message = case.facts.message(names::POOL_EXHAUSTED)?;
    if case.facts.failure().is_some_and(|failure| failure.kind.ends_with("OutOfMemoryError")) {
        return None;
    }
    let text = "A batch did not fit into the KV cache: its pool is exhausted, the device itself is not";
    let advice = knob(
        advice::FRACTION,
        Direction::Up,
        "A larger pool holds more; fewer requests at once (--max-running-requests) or shorter ones need less.",
    );
    Some(Found::new(CauseClass::PoolUndersized, Certainty::Shown, text, [message.place.clone()]).advise(advice))
}

/// The pool holds next to nothing because states took the rest.
pub(super) fn hybrid_starved(case: &Case<'_>) -> Option<Found> {
    let (state, place) = first(case, names::STATE_GIB)?;
    let tokens = pool_tokens(case.facts)?;
    let context = first(case, names::CONTEXT).map_or(f64::INFINITY, |(context, _)| context);
    if !stands(case) || tokens >= NEXT_TO_NOTHING.min(context) || cap(case.facts).is_some_and(|cap| tokens >= cap) {
        return None;
    }
    let text = format!(
        "It started, but the state cache takes {} GiB and leaves the KV cache {} tokens: of no use for real requests",
        decimal(state, 2),
        whole(tokens)
    );
    let mut found = Found::new(CauseClass::HybridStateCache, Certainty::Likely, text, [place]);
    found.advice = smaller();
    Some(found)
}

/// Far more is left free than the fraction would leave: something else than memory bounds the pool.
pub(super) fn smaller_than_memory_allows(case: &Case<'_>) -> Option<Found> {
    // The stage with the most layers bounds the pools of all.
    let (_, left, _) = case.facts.least(|rank| rank.first(names::POOL_END))?;
    let (left, place) = (left.figure.value, left.place.clone());
    let value = used(case.facts).map(|(value, _)| value)?;
    let total = first(case, names::LOAD_BEGIN).map(|(total, _)| total);
    let cap = cap(case.facts);
    if !stands(case) || case.facts.settings.get("device").is_some_and(|device| device != "cuda") {
        return None;
    }
    let planned = total.map(|total| total * (1.0 - value));
    let is_much = match planned {
        Some(planned) => left > planned * 1.25 + 2.0,
        // Without the total: the share outside of the fraction would have to come from a card that does not exist.
        None => left > (1.0 - value) * 200.0,
    };
    if !is_much {
        return None;
    }
    let caps = caps(case);
    let binding = cap.filter(|cap| pool_tokens(case.facts).is_none_or(|tokens| tokens >= cap - 1.0 || tokens <= *cap));
    let text = match binding {
        Some(cap) => format!(
            "The pool is smaller than memory allows: {} GiB are still free after it; max_total_tokens={} caps it, not the fraction",
            decimal(left, 2),
            whole(cap)
        ),
        None if caps.is_empty() => format!(
            "The pool is smaller than the fraction allows: {} GiB are still free after it, and no cap in the arguments explains it",
            decimal(left, 2)
        ),
        None => format!(
            "The pool is smaller than memory allows: {} GiB are still free after it; what may bound it: {}",
            decimal(left, 2),
            caps.join(", ")
        ),
    };
    let mut found =
        Found::new(CauseClass::PoolUndersized, if binding.is_some() { Certainty::Likely } else { Certainty::Possible }, text, [place]);
    if let Some(cap) = binding {
        found.advice.push(knob(
            "max_total_tokens",
            Direction::Up,
            format!("Raise it, or leave it out, to use what is free; at {} it is the binding cap.", whole(cap)),
        ));
    }
    let full = first(case, names::CONTEXT).map(|(context, _)| context).zip(pool_tokens(case.facts));
    match full.filter(|(context, tokens)| tokens < context) {
        Some((context, tokens)) => found.text.push_str(&format!(
            "; one request of full length does not fit: the KV cache holds {} tokens, the context is {}",
            whole(tokens),
            whole(context)
        )),
        None => found.is_usable = full.is_some(),
    }
    let others = caps.iter().filter(|_| binding.is_none()).cloned().collect::<Vec<_>>().join(", ");
    let look = if others.is_empty() { String::new() } else { format!(" Look at: {others}.") };
    found.advice.push(not_the_fraction(format!("A higher fraction gives no larger pool as long as something else bounds it.{look}")));
    Some(found)
}

/// Everything in the arguments that can bound a pool, beside memory.
fn caps(case: &Case<'_>) -> Vec<String> {
    let settings = &case.facts.settings;
    let named = ["max_total_tokens", "max_running_requests", "max_mamba_cache_size"].iter();
    let mut all: Vec<String> = named.filter_map(|name| Some(format!("{name}={}", settings.get(name)?))).collect();
    if settings.get("speculative_algorithm").is_some() {
        all.push("the draft model, whose weights and KV cache are counted".to_owned());
    }
    if first(case, names::STATE_GIB).is_some() {
        all.push("the state cache".to_owned());
    }
    all
}

/// One full request does not fit.
pub(super) fn below_the_context(case: &Case<'_>) -> Option<Found> {
    let tokens = pool_tokens(case.facts)?;
    let (context, place) = first(case, names::CONTEXT).or_else(|| {
        let setting = case.facts.settings.setting("context_length")?;
        Some((setting.value.parse().ok()?, setting.place.clone()))
    })?;
    if !stands(case) || tokens >= context {
        return None;
    }
    let is_nothing = tokens < NEXT_TO_NOTHING.min(context / 4.0);
    let text = if is_nothing {
        format!(
            "It started, but with {} tokens of KV cache: next to nothing against the {} tokens of one full request",
            whole(tokens),
            whole(context)
        )
    } else {
        format!(
            "It started, and one request of full length does not fit: the KV cache holds {} tokens, the context is {}",
            whole(tokens),
            whole(context)
        )
    };
    let class = if is_nothing { CauseClass::PoolUndersized } else { CauseClass::KvBelowContext };
    let mut found = Found::new(class, Certainty::Shown, text, [place]);
    found.advice = larger(case, tokens, context);
    found.advice.extend(sized(case.facts).and_then(|sized| advice::wanted(case.facts, &sized)));
    Some(found)
}

/// A pool of next to nothing, where the context is not printed.
pub(super) fn next_to_nothing(case: &Case<'_>) -> Option<Found> {
    let tokens = pool_tokens(case.facts)?;
    let place = first(case, names::TOKENS).or_else(|| first(case, names::POOL_TOKENS)).map(|(_, place)| place);
    let capped = cap(case.facts).is_some_and(|cap| tokens >= cap - 64.0);
    if !stands(case) || capped || tokens >= NEXT_TO_NOTHING / 4.0 || first(case, names::CONTEXT).is_some() {
        return None;
    }
    let text = format!("The KV cache holds {} tokens: next to nothing, whatever the length of requests", whole(tokens));
    let mut found = Found::new(CauseClass::PoolUndersized, Certainty::Likely, text, place);
    found.advice.extend(sized(case.facts).map(|sized| advice::up(case.facts, &sized)));
    Some(found)
}

/// What makes the pool hold a full request.
fn larger(case: &Case<'_>, tokens: f64, context: f64) -> Vec<bystander_model::memory::Advice> {
    if let Some(cap) = cap(case.facts).filter(|cap| tokens >= cap - 64.0) {
        return vec![knob(
            "max_total_tokens",
            Direction::Up,
            format!("It caps the pool at {} tokens; the memory may allow more.", whole(cap)),
        )];
    }
    let shorter = knob(
        "context_length",
        Direction::Down,
        format!("Requests of up to {} tokens fit as it is; a context no longer than that says so to clients.", whole(tokens)),
    );
    let Some(sized) = sized(case.facts) else { return vec![shorter] };
    let full = full_request(case, &sized, context);
    // Where one full request cannot fit, a larger pool is still of use for shorter ones.
    let larger = (full.direction == Direction::None).then(|| advice::up(case.facts, &sized)).filter(|up| up.direction == Direction::Up);
    larger.into_iter().chain([full, shorter]).collect()
}

/// The fraction at which one full request fits.
fn full_request(case: &Case<'_>, sized: &Sized, context: f64) -> bystander_model::memory::Advice {
    let Some(cell) = sized.cell else { return advice::up(case.facts, sized) };
    let sizing = &sized.sizing;
    let need = context * cell.value / crate::formula::GIB;
    let at = |available: f64, total: f64, cell: f64| up_at_sixth(1.0 - (available - context * cell / crate::formula::GIB) / total);
    let even = Figure {
        value: at(sizing.available.value, sizing.total.value, cell.value),
        low: at(sizing.available.high, sizing.total.low, cell.low),
        high: at(sizing.available.low, sizing.total.high, cell.high),
    };
    let value = even.value;
    let kept = advice::kept_back(case.facts, sizing.total.value);
    if value >= 1.0 - kept / 2.0 / sizing.total.value {
        return not_the_fraction(format!(
            "One full request needs {} GiB of KV cache; no fraction leaves that and room for graphs and activations. A smaller element type (--kv-cache-dtype fp8_e4m3) halves it; more GPUs, or a shorter context, help.",
            decimal(need, 2)
        ));
    }
    let recommended = (even.high * 100.0).ceil() / 100.0;
    let mut advice = knob(
        advice::FRACTION,
        Direction::Up,
        format!("One full request fits above {}; {}", fraction(value), advice::what_it_gives(case.facts, sized, recommended)),
    );
    advice.break_even = Some(even);
    advice.recommended = Some(recommended);
    advice.gives = Some(advice::gives(sized, recommended));
    advice
}

/// Graphs take more than they leave.
pub(super) fn graphs_take_the_most(case: &Case<'_>) -> Option<Found> {
    let (taken, place) = first(case, names::GRAPH_USED)?;
    let left = case.facts.ranks.iter().find_map(|rank| rank.last(names::GRAPH_END)).map(|amount| amount.figure.value)?;
    if !stands(case) || taken < 3.0 || taken < left {
        return None;
    }
    let text = format!(
        "CUDA graphs take {} GiB, more than the {} GiB they leave: buffers of the attention backend for each captured size are the usual reason",
        decimal(taken, 2),
        decimal(left, 2)
    );
    let advice = knob(graphs_knob(case), Direction::Down, "Capture fewer and smaller sizes, and measure again.");
    Some(Found::new(CauseClass::GraphCaptureHeadroom, Certainty::Possible, text, [place]).advise(advice))
}

/// It serves, and nothing is wrong with its memory.
pub(super) fn healthy(case: &Case<'_>) -> Option<Found> {
    let served = case.facts.served.clone()?;
    if !stands(case) || case.facts.phase() < Phase::Serving {
        return None;
    }
    let tokens = pool_tokens(case.facts);
    let requests = tokens.zip(first(case, names::CONTEXT)).map(|(tokens, (context, _))| {
        format!(", room for {} requests of full length", decimal((tokens / context * 10.0).floor() / 10.0, 1))
    });
    let capped =
        cap(case.facts).filter(|cap| tokens.is_some_and(|tokens| tokens >= cap - 64.0)).map_or("", |_| " (max_total_tokens caps it)");
    let table = table_gib(case.facts)
        .filter(|(gib, _)| *gib >= 1.0)
        .map_or_else(String::new, |(gib, _)| format!("; the request table takes {} GiB", decimal(gib, 2)));
    let text = match tokens {
        Some(tokens) => format!("It serves with {} tokens of KV cache{capped}{}{table}", whole(tokens), requests.unwrap_or_default()),
        None => "It serves; the line with its tokens is not in this log".to_owned(),
    };
    let mut found = Found::new(CauseClass::Healthy, Certainty::Shown, text, [served]);
    found.advice.extend(sized(case.facts).and_then(|sized| advice::wanted(case.facts, &sized)));
    Some(found)
}
