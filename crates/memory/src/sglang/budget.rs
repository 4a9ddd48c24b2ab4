//! The budget report of one server: the equation, what it means, and what other fractions would give.

use bystander_model::budget::{BudgetReport, Figure};
use bystander_model::evidence::{Evidence, EvidenceKind};
use bystander_model::ids::TrialId;

use super::inputs::Inputs;
use super::seen::Seen;
use crate::figures::{decimal, fraction, is_exact, whole};
use crate::formula::{Cell, Sizing};
use crate::version::{Release, Versions};

/// The releases whose sizing the formula is, from the first to the last.
pub(crate) const FORMULA: (Release, Release) = (Release(0, 4, 3), Release(0, 5, 23));

/// From here on the draft model is loaded before the pools are sized.
const DRAFT_COUNTED: Release = Release(0, 5, 14);

/// Makes the report.
pub(crate) fn report(inputs: Inputs, seen: &Seen, version: &Versions, trial: TrialId) -> BudgetReport {
    let sizing = inputs.sizing;
    let equation = sizing.equation();
    let tokens = inputs.cell.map(|cell| tokens(&sizing, cell, inputs.printed));
    let mut alternatives = sizing.alternatives(inputs.cell);
    alternatives.iter_mut().filter(|other| (other.fraction - sizing.fraction).abs() < 5e-7).for_each(|asked| asked.tokens = tokens);
    let mut evidence = inputs.evidence;
    let text = format!("SGLang 0.4.3 to 0.5.23: rest = available \u{2212} total \u{d7} (1 \u{2212} fraction); here {equation}");
    evidence.push(Evidence { trial: Some(trial), kind: EvidenceKind::Formula, place: "profile_max_num_token".into(), text });
    BudgetReport {
        engine: "sglang".into(),
        version: version.range(),
        rank: inputs.rank,
        total_gib: sizing.total,
        available_gib: sizing.available,
        fraction: sizing.fraction,
        rest_gib: sizing.rest(),
        cell_bytes: inputs.cell_bytes,
        tokens,
        break_even: sizing.break_even(),
        alternatives,
        text: sentences(&sizing, inputs.cell.zip(tokens), inputs.has_reserve, seen).into_iter().chain(inputs.notes).collect(),
        equation,
        evidence,
        not_modelled: not_modelled(seen, version),
        of_little_use: None,
    }
}

/// What is said where reserves take all that is left.
pub(crate) const NO_FRACTION: &str = "no fraction can start it: what comes before the KV cache takes all that there is";

/// The sentence that names the least fraction, such as `only a fraction above 0.769179 can start it`.
pub(crate) fn only_above(sizing: &Sizing) -> String {
    let even = sizing.break_even();
    if even.value >= 1.0 {
        return NO_FRACTION.to_owned();
    }
    if is_exact(&even) {
        return format!("only a fraction above {:.6} can start it", even.value);
    }
    format!("only a fraction above {:.6} can start it ({:.6} to {:.6} by the log's rounding)", even.value, even.low, even.high)
}

fn gib(figure: &Figure) -> String {
    decimal(figure.value, if is_exact(figure) { 3 } else { 2 })
}

fn sentences(sizing: &Sizing, tokens: Option<(Cell, Figure)>, has_reserve: bool, seen: &Seen) -> Vec<String> {
    let (weights, rest) = (sizing.weights(), sizing.rest());
    let share = decimal(sizing.total.value * sizing.fraction, if is_exact(&sizing.total) { 3 } else { 2 });
    let mut text = vec!["The static fraction covers weights and KV cache; what is left over is for everything else.".to_owned()];
    let weights_take = if has_reserve { "Weights, states and reserves take" } else { "The weights take" };
    text.push(format!(
        "{weights_take} {} of {} GiB; a fraction of {} allows weights and KV cache {} GiB, which leaves {} GiB for the KV cache{}.",
        gib(&weights),
        gib(&sizing.total),
        fraction(sizing.fraction),
        share,
        gib(&rest),
        if rest.value <= 0.0 { ": less than nothing" } else { "" },
    ));
    if rest.low <= 0.0 {
        let only = only_above(sizing);
        text.push(format!("{}{}.", only[..1].to_uppercase(), &only[1..]));
    }
    text.extend(tokens.map(|(cell, tokens)| tokens_sentence(cell, tokens)));
    if rest.value > 0.0 {
        text.push(format!("{} GiB are left over for graphs, activations and the request table.", gib(&sizing.headroom())));
    }
    text.extend(cap_sentence(seen));
    text
}

/// Tokens of the KV cache: as the engine printed them, where the formula explains it.
fn tokens(sizing: &Sizing, cell: Cell, printed: Option<f64>) -> Figure {
    let computed = sizing.tokens(cell);
    printed.filter(|printed| computed.low - 1.0 <= *printed && *printed <= computed.high + 1.0).map_or(computed, Figure::exact)
}

fn tokens_sentence(cell: Cell, tokens: Figure) -> String {
    if is_exact(&tokens) && !cell.is_exact() {
        let [value, low, high] = [cell.value, cell.low, cell.high].map(whole);
        return format!(
            "At about {value} bytes per token and rank ({low} to {high}) that is the {} tokens that it printed.",
            whole(tokens.value)
        );
    }
    if cell.is_exact() && is_exact(&tokens) {
        return format!("At {} bytes per token and rank that is {} tokens.", whole(cell.value), whole(tokens.value));
    }
    format!(
        "At about {} bytes per token and rank ({} to {}) that is about {} tokens ({} to {}).",
        whole(cell.value),
        whole(cell.low),
        whole(cell.high),
        whole(tokens.value),
        whole(tokens.low),
        whole(tokens.high)
    )
}

fn cap_sentence(seen: &Seen) -> Option<String> {
    let cap = seen.arguments.as_ref()?.value.cap?;
    let tokens = seen.tokens.as_ref().map(|read| read.value).or_else(|| seen.pool.as_ref().map(|read| read.value.tokens));
    let binds = tokens.is_some_and(|tokens| tokens <= cap);
    binds.then(|| format!("max_total_tokens caps the pool at {} tokens, whatever the memory would allow.", whole(cap)))
}

fn not_modelled(seen: &Seen, version: &Versions) -> Vec<String> {
    let mut all = Vec::new();
    if !version.is_possible() {
        all.push("The lines fit no published release of SGLang; the formula is that of 0.4.3 to 0.5.23.".to_owned());
    } else if version.excludes(FORMULA.0, FORMULA.1) {
        all.push("The release is not one of 0.4.3 to 0.5.23, whose formula this is.".to_owned());
    }
    if seen.hybrid.is_some() {
        all.push("State caches and pools of sliding windows have a part of their own in it; tokens are not derived here.".to_owned());
    }
    let arguments = seen.arguments.as_ref().map(|read| &read.value);
    if arguments.is_some_and(|arguments| arguments.speculative) && !version.is_from(DRAFT_COUNTED) {
        let draft = "Weights and KV cache of the draft model come out of what is left over";
        all.push(if version.is_within(Release(0, 5, 7), Release(0, 5, 13)) {
            format!("{draft}.")
        } else if version.is_up_to(Release(0, 5, 13)) {
            format!("{draft}; up to 0.5.6 the pool also grows by draft tokens.")
        } else {
            format!("Up to 0.5.13 weights and KV cache of the draft model come out of what is left over; from {DRAFT_COUNTED} on they are counted.")
        });
    }
    if let Some(device) = arguments.and_then(|arguments| arguments.device.as_deref()).filter(|device| *device != "cuda") {
        all.push(format!("On device {device} free memory is not the GPU's own, and moves with everything else on the machine."));
    }
    all
}
