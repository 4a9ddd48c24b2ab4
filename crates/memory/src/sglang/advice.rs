//! Which way to turn the static fraction, how far at least, and what the value that is recommended would give.

use bystander_model::budget::Figure;
use bystander_model::memory::{Advice, Direction, Gives};

use super::sizing::{Sized, table_gib};
use crate::explain::Facts;
use crate::figures::{decimal, fraction, is_exact, up_at_sixth, whole};
use crate::formula::{Sizing, decimals_of};

/// The knob's name in the engine's configuration.
pub(crate) const FRACTION: &str = "mem_fraction_static";

/// What SGLang itself keeps back outside of the fraction where none is given, in GiB.
///
/// Source: SGLang 0.5.3 to 0.5.23 `server_args.py`, `_handle_gpu_memory_settings`, without what it adds for speculative decoding and data parallelism.
pub(crate) fn kept_back(facts: &Facts, total_gib: f64) -> f64 {
    let settings = &facts.settings;
    // Chunks and graphs by the size of the card, where the arguments do not show them.
    let (chunk, graphs) = match total_gib {
        gib if gib < 20.0 => (2048.0, 8.0),
        gib if gib < 35.0 => (2048.0, 24.0),
        gib if gib < 60.0 => (4096.0, 32.0),
        gib if gib < 160.0 => (8192.0, 256.0),
        _ => (16384.0, 512.0),
    };
    let chunk = settings.number("chunked_prefill_size").filter(|chunk| *chunk > 0.0).unwrap_or(chunk).max(2048.0);
    let graphs = settings.number("cuda_graph_max_bs").unwrap_or(graphs);
    let ranks = settings.number("tp_size").unwrap_or(1.0) * settings.number("pp_size").unwrap_or(1.0);
    let mib = 512.0 + 1.5 * chunk + 2.0 * graphs + ranks / 8.0 * 1024.0;
    let gib = mib / 1024.0;
    if total_gib > 60.0 { gib.max(10.0) } else { gib }
}

/// A fraction that starts and leaves room: what the engine would keep back, or half of what the weights leave where that is less; where that is less than
/// half of what the engine would keep back, one midway to it. `None` where even half of what the engine would keep back does not fit.
pub(crate) fn recommended(facts: &Facts, sizing: &Sizing) -> Option<f64> {
    let (total, even) = (sizing.total.value, sizing.break_even().high);
    let kept = kept_back(facts, total);
    let usual = 1.0 - kept / total;
    let middle = f64::midpoint(1.0, even);
    let most = 1.0 - kept / 2.0 / total;
    let value = if middle <= most { usual.max(middle) } else { f64::midpoint(even, most).max(usual.min(most)) };
    let value = (value * 100.0 + 1e-9).floor() / 100.0;
    (value > even && value < 1.0).then_some(value)
}

/// What a fraction would give.
pub(crate) fn gives(sized: &Sized, value: f64) -> Gives {
    let other = sized.sizing.at(value);
    Gives { tokens: sized.cell.map(|cell| other.tokens(cell)), headroom_gib: Some(other.headroom()) }
}

/// Raise the fraction: the KV cache got too little of it.
pub(crate) fn up(facts: &Facts, sized: &Sized) -> Advice {
    let even = sized.sizing.break_even();
    let in_use = sized.sizing.fraction;
    let value = recommended(facts, &sized.sizing).filter(|value| *value > in_use);
    let text = match value {
        Some(value) if in_use > even.value => format!("Raise it: {}", what_it_gives(facts, sized, value)),
        Some(value) => format!("Raise it above {}; {}", fraction(even.value), what_it_gives(facts, sized, value)),
        None if in_use > even.value => format!(
            "A value above {} leaves too little: SGLang keeps back some {} GiB outside of the fraction for graphs and activations.",
            fraction(in_use),
            decimal(kept_back(facts, sized.sizing.total.value), 1)
        ),
        None if even.value >= 1.0 => {
            "No value works: what comes before the KV cache takes all that there is. Spread the weights over more GPUs, or make them smaller."
                .to_owned()
        }
        None => format!(
            "No value works: above {} the weights leave {} GiB in all, and SGLang keeps back some {} GiB outside of the fraction for graphs and activations. Spread the weights over more GPUs, or make them smaller.",
            fraction(even.value),
            gib(&sized.sizing.available),
            decimal(kept_back(facts, sized.sizing.total.value), 1)
        ),
    };
    Advice {
        knob: FRACTION.into(),
        direction: if value.is_some() { Direction::Up } else { Direction::None },
        break_even: Some(even),
        recommended: value,
        gives: value.map(|value| gives(sized, value)),
        text,
    }
}

/// What a fraction gives, in words.
pub(crate) fn what_it_gives(facts: &Facts, sized: &Sized, value: f64) -> String {
    let gives = gives(sized, value);
    let tokens = gives.tokens.map_or_else(String::new, |tokens| format!("{} tokens and ", about(&tokens)));
    let room = gives.headroom_gib.map_or_else(String::new, |room| format!("{} GiB for everything else", gib(&room)));
    let table = table_gib(facts).filter(|(gib, _)| *gib >= 0.5);
    let table = table.map_or_else(String::new, |(gib, _)| format!(", of which the request table takes {}", decimal(gib, 2)));
    format!("{} gives {tokens}{room}{table}.", fraction(value))
}

/// The fraction that gives a KV cache of the size that the user wants: `1 - (available - want) / total`.
pub(crate) fn wanted(facts: &Facts, sized: &Sized) -> Option<Advice> {
    let want = facts.asked.want_gib?;
    let (sizing, kept) = (&sized.sizing, kept_back(facts, sized.sizing.total.value));
    let at = |available: f64, total: f64| up_at_sixth(1.0 - (available - want) / total);
    let even = Figure {
        value: at(sizing.available.value, sizing.total.value),
        low: at(sizing.available.high, sizing.total.low),
        high: at(sizing.available.low, sizing.total.high),
    };
    let leaves = sizing.total.value * (1.0 - even.value);
    let works = leaves >= kept / 2.0;
    let value = works.then(|| (even.high * 100.0).ceil() / 100.0).filter(|value| *value > 0.0 && *value < 1.0);
    let text = if works {
        format!(
            "{} GiB of KV cache need a fraction above {}, which leaves {} GiB for everything else.",
            decimal(want, 3),
            fraction(even.value),
            decimal(leaves, 2)
        )
    } else {
        format!(
            "{} GiB of KV cache would need a fraction above {}, which leaves too little for everything else: {} GiB.",
            decimal(want, 3),
            fraction(even.value),
            decimal(leaves, 2)
        )
    };
    let direction = if !works {
        Direction::None
    } else if even.value > sizing.fraction {
        Direction::Up
    } else {
        Direction::Down
    };
    Some(Advice {
        knob: FRACTION.into(),
        direction,
        break_even: Some(even),
        recommended: value,
        gives: value.map(|value| gives(sized, value)),
        text,
    })
}

/// Lower the fraction: what is allocated outside of it did not fit, and `short` GiB at least were missing of a base of `base` GiB.
pub(crate) fn down(used: f64, base: f64, short: Figure, sized: Option<&Sized>) -> Advice {
    let at = |short: f64| ((used - short / base) * 1e6).floor() / 1e6;
    let most = Figure { value: at(short.value), low: at(short.high), high: at(short.low) };
    // Short by so much at least: whatever comes after the allocation that failed needs room, too.
    let value = ((most.low - 0.01) * 100.0 + 1e-9).floor() / 100.0;
    let least = sized.map(|sized| sized.sizing.break_even().high);
    let works = value > 0.0 && least.is_none_or(|least| value > least);
    let text = if works {
        let tokens = sized.and_then(|sized| gives(sized, value).tokens);
        let tokens = tokens.map_or_else(String::new, |tokens| format!(" and leaves {} tokens", about(&tokens)));
        format!(
            "Lower it below {}, since at least {} GiB were missing; {} gives {} GiB back{tokens}.",
            fraction(most.value),
            decimal(short.value, 2),
            fraction(value),
            decimal((used - value) * base, 2)
        )
    } else {
        format!(
            "No value works: it would have to be below {}, and the weights alone need more than {}. Shrink something else: the draft model, graphs (--cuda-graph-max-bs), the context, the weights; or use more GPUs.",
            fraction(most.value),
            least.map_or_else(|| "that".to_owned(), fraction)
        )
    };
    Advice {
        knob: FRACTION.into(),
        direction: if works { Direction::Down } else { Direction::None },
        break_even: Some(most),
        recommended: works.then_some(value),
        gives: sized.filter(|_| works).map(|sized| gives(sized, value)),
        text,
    }
}

/// Lower the fraction, by how much no line tells.
pub(crate) fn down_somewhat(text: impl Into<String>) -> Advice {
    Advice { knob: FRACTION.into(), direction: Direction::Down, break_even: None, recommended: None, gives: None, text: text.into() }
}

/// The fraction is not the knob.
pub(crate) fn not_the_fraction(text: impl Into<String>) -> Advice {
    Advice { knob: FRACTION.into(), direction: Direction::None, break_even: None, recommended: None, gives: None, text: text.into() }
}

/// Another knob.
pub(crate) fn knob(name: &str, direction: Direction, text: impl Into<String>) -> Advice {
    Advice { knob: name.into(), direction, break_even: None, recommended: None, gives: None, text: text.into() }
}

/// The break-even that the engine printed as "minimum viable", or rounded up as its advice.
pub(crate) fn printed_break_even(message: &str) -> Option<Figure> {
    let after = |name: &str| super::log::text::after(message, name);
    let viable = after("minimum viable = 1 - available/pre = ").or_else(|| after("available/pre = "));
    // Rounded up: it lies within one unit of the last digit below what is printed.
    let above = after("Raise --mem-fraction-static above ");
    let above = above.map(|figure| Figure { value: figure.value, low: figure.value - (figure.high - figure.low), high: figure.value });
    viable.or(above).map(|figure| Figure { value: up_at_sixth(figure.value), ..figure })
}

/// GiB as closely as it is known.
pub(crate) fn gib(figure: &Figure) -> String {
    decimal(figure.value, decimals_of(figure))
}

/// A count, with the word "about" where it is not exact.
pub(crate) fn about(figure: &Figure) -> String {
    if is_exact(figure) { whole(figure.value) } else { format!("about {}", whole(figure.value)) }
}
