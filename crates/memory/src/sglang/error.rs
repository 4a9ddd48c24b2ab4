//! Errors about memory: which of them an error text is, and what the numbers say to it.
//!
//! The same words have opposite cures in different phases: too small a pool wants a higher fraction, too little room for graphs a lower one.
//! So the phase is said before any direction.

use bystander_model::budget::Figure;
use bystander_model::reading::ErrorSeen;

use super::budget::only_above;
use super::lines::after;
use super::seen::{Phase, Seen};
use crate::figures::{decimal, fraction, whole};
use crate::formula::{Cell, GIB, Sizing};

/// A class and a line for people.
pub(crate) struct Explained {
    pub(crate) class: String,
    pub(crate) text: String,
}

/// What an error is; `None` for errors that are not about memory.
pub(crate) fn explain(error: &ErrorSeen<'_>, seen: &Seen, sizing: Option<&Sizing>, cell: Option<Cell>) -> Option<Explained> {
    let message = error.message;
    if message.contains("Not enough memory. Please try to increase --mem-fraction-static") {
        return Some(not_enough(seen, sizing, cell));
    }
    if message.contains("Loaded weights leave no GPU memory for the KV cache") {
        return Some(weights_leave_nothing(message, sizing));
    }
    if message.contains("The memory capacity is unbalanced") {
        return Some(unbalanced(message, seen));
    }
    // Any program can print the words; the type is PyTorch's own.
    let said = message.contains("CUDA out of memory") || message.contains("HIP out of memory");
    let is_oom = error.kind.ends_with("OutOfMemoryError") || (said && seen.is_sglang());
    is_oom.then(|| device_oom(message, seen))
}

fn not_enough(seen: &Seen, sizing: Option<&Sizing>, cell: Option<Cell>) -> Explained {
    let class = "memory.fraction_below_weights";
    let Some(sizing) = sizing else {
        let text = "the engine says that the static fraction leaves nothing for the KV cache; the numbers it computed with were not seen";
        return Explained { class: class.into(), text: text.into() };
    };
    let rest = sizing.rest();
    if rest.low <= 0.0 {
        return Explained {
            class: class.into(),
            text: format!("no memory is left for the KV cache: {}; {}", sizing.equation(), only_above(sizing)),
        };
    }
    // The engine stopped although these inputs leave something: they are not the ones it used.
    let used = seen.profiled.as_ref().zip(cell).map(|(profiled, cell)| effective(sizing, profiled.value, cell)).unwrap_or_default();
    let text = format!(
        "the engine says that the static fraction leaves nothing, but its numbers leave something: {}; the inputs it used were others{used}",
        sizing.equation()
    );
    Explained { class: "memory.effective_config_differs".into(), text }
}

/// The fraction with which a count of tokens comes out.
fn effective(sizing: &Sizing, tokens: f64, cell: Cell) -> String {
    let used = 1.0 - (sizing.available.value - tokens * cell.value / GIB) / sizing.total.value;
    format!(": {} tokens come out at a fraction of {:.3}", whole(tokens), used)
}

fn weights_leave_nothing(message: &str, sizing: Option<&Sizing>) -> Explained {
    let asked = after(message, "--mem-fraction-static=").map(|figure| figure.value);
    let least = after(message, "Raise --mem-fraction-static above ").map(|figure| figure.value);
    if let (Some(asked), Some(least)) = (asked, least)
        && least <= asked
    {
        let text = format!(
            "the engine asks for a fraction above {}, but it has {}: something else than the weights takes the rest, such as a state cache or a reserve",
            fraction(least),
            fraction(asked)
        );
        return Explained { class: "memory.engine_advice_misleading".into(), text };
    }
    let numbers = sizing.filter(|sizing| sizing.rest().low <= 0.0).map_or_else(
        || least.map_or_else(String::new, |least| format!("; it asks for a fraction above {}", fraction(least))),
        |sizing| format!(": {}; {}", sizing.equation(), only_above(sizing)),
    );
    Explained { class: "memory.fraction_below_weights".into(), text: format!("no memory is left for the KV cache{numbers}") }
}

fn unbalanced(message: &str, seen: &Seen) -> Explained {
    let least = after(message, "min_per_gpu_memory=").or_else(|| after(message, "pre_model_load_memory="));
    let local = after(message, "local_gpu_memory=");
    let mut text = match (least, local) {
        (Some(least), Some(local)) => format!(
            "one GPU has {} GiB free where this rank's has {} GiB: look at the GPU with less, not at the rank that stopped",
            decimal(least.value, 3),
            decimal(local.value, 3)
        ),
        _ => "the GPUs have unequal free memory: look at the GPU with less, not at the rank that stopped".to_owned(),
    };
    if seen.pool_end.is_some() || seen.graphs_ended {
        text.push_str(
            "; it was checked again after this server's own pools and graphs had made the ranks unequal, so no other process need be there",
        );
    }
    Explained { class: "memory.unbalanced".into(), text }
}

fn device_oom(message: &str, seen: &Seen) -> Explained {
    let mut text = "the device ran out of memory".to_owned();
    if seen.is_sglang() {
        text.push_str(&format!(" during {}", seen.phase.words()));
    }
    if matches!(seen.phase, Phase::AfterPools | Phase::Graphs | Phase::Serving) {
        text.push_str(", which has to fit into what the static fraction leaves over");
    }
    let amount = |name: &str| amount_after(message, name);
    let (total, free, own) = (amount("total capacity of "), amount(" of which "), amount("this process has "));
    if let (Some(total), Some(free), Some(own)) = (total, free, own) {
        let others = total.value - free.value - own.value;
        if others > 1.0 {
            let (others, own) = (decimal(others, 2), decimal(own.value, 2));
            text.push_str(&format!("; {others} GiB of it are held by others, {own} GiB by the process that stopped"));
        }
    }
    Explained { class: "memory.device_oom".into(), text }
}

/// An amount with its unit, in GiB.
fn amount_after(message: &str, name: &str) -> Option<Figure> {
    let at = message.find(name)? + name.len();
    let figure = after(&message[at..], "")?;
    let unit = message[at..].trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').trim_start();
    let scale = if unit.starts_with("GiB") { 1.0 } else { unit.starts_with("MiB").then_some(1.0 / 1024.0)? };
    Some(Figure { value: figure.value * scale, low: figure.low * scale, high: figure.high * scale })
}
