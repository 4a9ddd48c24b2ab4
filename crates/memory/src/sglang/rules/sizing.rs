//! The sizing of the KV cache came out at nothing.

use bystander_model::memory::{CauseClass, Certainty, Direction};

use crate::explain::facts::Failure;
use crate::explain::{Case, Found};
use crate::figures::{decimal, fraction};
use crate::sglang::advice::{self, gib, knob, not_the_fraction};
use crate::sglang::budget::NO_FRACTION;
use crate::sglang::names;
use crate::sglang::notes::solved_base;
use crate::sglang::shapes::cells_by_element;
use crate::sglang::sizing::{Sized, cap, fraction as used, sized};

/// The first failure whose message holds a text.
pub(super) fn failure_with<'a>(case: &Case<'a>, text: &str) -> Option<&'a Failure> {
    case.facts.failures.iter().find(|failure| failure.message.contains(text))
}

/// The memory of the GPU could not be read at all.
pub(super) fn detection(case: &Case<'_>) -> Option<Found> {
    let failure = failure_with(case, "No GPU memory values found")?;
    let text = "SGLang could not read how much memory the GPU has: nvidia-smi gives no number, as on a MIG slice; this is not about how much there is";
    let advice = not_the_fraction(
        "Give the size of the slice where the release has a switch for it (SGLANG_GPU_MEMORY_TOTAL_FALLBACK in some builds), or set --mem-fraction-static yourself on a release that then asks the CUDA runtime.",
    );
    Some(Found::new(CauseClass::PlatformMisreports, Certainty::Shown, text, [failure.place.clone()]).advise(advice))
}

/// The engine's least fraction is one of another base than what was free before the weights.
pub(super) fn another_base(case: &Case<'_>) -> Option<Found> {
    let failure = failure_with(case, "Loaded weights leave no GPU memory for the KV cache")?;
    let (solved, free) = solved_base(case.facts)?;
    if solved.low <= free.high * 1.02 && solved.high >= free.low * 0.98 {
        return None;
    }
    let even = advice::printed_break_even(&failure.message);
    let text = format!(
        "The fraction is one of {} GiB here, as the engine's own numbers make it, and not of the {} GiB that were free before the weights; measured by that, the weights leave nothing for the KV cache",
        decimal(solved.value, 2),
        decimal(free.value, 2)
    );
    let mut found = Found::new(CauseClass::FractionSemantics, Certainty::Likely, text, [failure.place.clone()]);
    found.advice.push(up_from_message(case, even));
    Some(found)
}

/// From 0.5.14 on: the weights, those of a draft included, leave nothing.
pub(super) fn weights_leave_nothing(case: &Case<'_>) -> Option<Found> {
    let failure = failure_with(case, "Loaded weights leave no GPU memory for the KV cache")?;
    if let Some(sized) = sized(case.facts).filter(|sized| sized.sizing.rest().low <= 0.0) {
        return Some(below(case, failure, &sized));
    }
    let even = advice::printed_break_even(&failure.message);
    let asked = used(case.facts).map_or_else(|| "the fraction".to_owned(), |(value, _)| format!("a fraction of {}", fraction(value)));
    let text = match even {
        Some(even) => {
            format!("The weights take {} of what was free before them, and {asked} leaves nothing for the KV cache", percent(even.value))
        }
        None => format!("The weights leave nothing for the KV cache under {asked}"),
    };
    let mut found = Found::new(CauseClass::FractionBelowWeights, Certainty::Shown, text, [failure.place.clone()]);
    found.advice.push(up_from_message(case, even));
    Some(found)
}

fn percent(value: f64) -> String {
    format!("{} %", decimal(value * 100.0, 2))
}

/// Advice from the break-even that the engine printed.
fn up_from_message(case: &Case<'_>, even: Option<bystander_model::budget::Figure>) -> bystander_model::memory::Advice {
    let mut advice = knob(
        advice::FRACTION,
        Direction::Up,
        "Raise it, after a look at what else holds memory of the card: free memory before the weights that is far below the card's size is another process's, and no fraction helps then.",
    );
    if let Some(even) = even {
        advice.text = format!("Raise it above {}. {}", fraction(even.value), advice.text.replacen("Raise it, after", "First take", 1));
        advice.break_even = Some(even);
        let total = case.facts.ranks.iter().find_map(|rank| rank.first(crate::sglang::names::LOAD_BEGIN)).map(|amount| amount.figure);
        // How much the rest is, and so what a value leaves, is known where free memory before the weights is.
        advice.recommended = total.and_then(|total| {
            let available = bystander_model::budget::Figure::exact(total.value * (1.0 - even.value));
            advice::recommended(case.facts, &crate::formula::Sizing { total, available, fraction: 0.0 })
        });
    }
    advice
}

/// Up to 0.5.13: tokens came out at nothing.
pub(super) fn not_enough(case: &Case<'_>) -> Option<Found> {
    let failure = failure_with(case, "Not enough memory. Please try to increase --mem-fraction-static")?;
    let Some(sized) = sized(case.facts) else {
        let asked = used(case.facts)
            .map_or_else(|| "the static fraction".to_owned(), |(value, _)| format!("a static fraction of {}", fraction(value)));
        let text = format!(
            "At the sizing of the KV cache {asked} leaves nothing beside the weights; the lines with the numbers are not in this log"
        );
        let advice = knob(
            advice::FRACTION,
            Direction::Up,
            "Raise it, or make the weights smaller: at this point of the start the pool wants more. Lower it only for errors during the capture of graphs or later.",
        );
        return Some(Found::new(CauseClass::FractionBelowWeights, Certainty::Likely, text, [failure.place.clone()]).advise(advice));
    };
    if sized.sizing.rest().low <= 0.0 {
        return Some(below(case, failure, &sized));
    }
    Some(other_inputs(case, failure, &sized))
}

/// The numbers say it, too.
fn below(case: &Case<'_>, failure: &Failure, sized: &Sized) -> Found {
    let sizing = &sized.sizing;
    let text = format!(
        "The weights take {} of {} GiB, a static fraction of {} allows weights and KV cache {} GiB together, and {} GiB are left for the KV cache: less than nothing; {}",
        gib(&sizing.weights()),
        gib(&sizing.total),
        fraction(sizing.fraction),
        decimal(sizing.total.value * sizing.fraction, 2),
        gib(&sizing.rest()),
        match sizing.break_even().value {
            even if even < 1.0 => format!("only a fraction above {} can start it", decimal(even, 6)),
            _ => NO_FRACTION.to_owned(),
        },
    );
    let mut places = vec![failure.place.clone()];
    places.extend(sized.places.iter().cloned());
    places.dedup();
    let mut found = Found::new(CauseClass::FractionBelowWeights, Certainty::Shown, text, places).advise(advice::up(case.facts, sized));
    found.advice.extend(advice::wanted(case.facts, sized));
    if cap(case.facts).is_some() {
        found.advice.push(knob("max_total_tokens", Direction::None, "It can only lower the number of tokens; it does not help here."));
    }
    found
}

/// The engine stopped although these inputs leave something: they are not the ones it used.
fn other_inputs(case: &Case<'_>, failure: &Failure, sized: &Sized) -> Found {
    let sizing = &sized.sizing;
    let used = sized.printed.and_then(|tokens| {
        let at = |cell: f64| 1.0 - (sizing.available.value - tokens * cell / crate::formula::GIB) / sizing.total.value;
        let words = match (cells_by_element(case.facts), sized.cell) {
            (Some([two, one]), _) => {
                format!("{} (two bytes an element of the KV cache) or {} (one)", decimal(at(two), 3), decimal(at(one), 3))
            }
            (None, Some(cell)) => decimal(at(cell.value), 3),
            (None, None) => return None,
        };
        Some(format!("; its {} tokens come out at a fraction of {words}", crate::figures::whole(tokens)))
    });
    let text = format!(
        "SGLang says that the static fraction leaves nothing, but its printed numbers leave {} GiB: the sizing used another fraction, or memory of another moment, than it printed{}",
        gib(&sizing.rest()),
        used.unwrap_or_default()
    );
    let advice = not_the_fraction(
        "Find what changes the fraction after it is printed (a multimodal model or a backend lowers it in some releases), and whether the rank that failed had less memory than those whose lines are here.",
    );
    let places = [failure.place.clone()].into_iter().chain(sized.places.iter().cloned());
    let mut found = Found::new(CauseClass::EffectiveConfigDiffers, Certainty::Likely, text, places).advise(advice);
    found.contradictions.push(format!(
        "The error says that nothing is left; {} says otherwise.",
        case.formula.map_or("the formula", |formula| formula.text.as_str())
    ));
    found
}

/// The log ends before the sizing says anything, and its numbers leave nothing.
pub(super) fn will_not_fit(case: &Case<'_>) -> Option<Found> {
    let facts = case.facts;
    let is_sized = facts.ranks.iter().any(|rank| rank.first(names::POOL_GIB).is_some() || rank.first(names::POOL_END).is_some());
    let on_card = facts.settings.get("device").is_none_or(|device| device == "cuda");
    if facts.failure().is_some() || facts.served.is_some() || is_sized || !on_card || facts.message(names::OVERLAPPED).is_some() {
        return None;
    }
    let sized = sized(facts).filter(|sized| sized.sizing.rest().high < 0.0)?;
    let sizing = &sized.sizing;
    let text = format!(
        "The log ends before the sizing of the KV cache, and the sizing cannot succeed with its numbers: the weights take {} of {} GiB, a static fraction of {} allows weights and KV cache {} GiB together",
        gib(&sizing.weights()),
        gib(&sizing.total),
        fraction(sizing.fraction),
        decimal(sizing.total.value * sizing.fraction, 2),
    );
    let mut found = Found::new(CauseClass::FractionBelowWeights, Certainty::Likely, text, sized.places.iter().cloned());
    found.advice.push(advice::up(facts, &sized));
    found.advice.extend(advice::wanted(facts, &sized));
    Some(found)
}

/// The pool is so small that not one request is admitted.
pub(super) fn no_request(case: &Case<'_>) -> Option<Found> {
    let failure = failure_with(case, "max_running_request is zero")?;
    let text = "The KV cache came out so small that no request can run in it";
    let mut found = Found::new(CauseClass::PoolUndersized, Certainty::Shown, text, [failure.place.clone()]);
    if let Some(sized) = sized(case.facts) {
        found.advice.push(advice::up(case.facts, &sized));
    }
    Some(found)
}
