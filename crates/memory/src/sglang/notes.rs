//! What is not modelled, and which sources contradict each other.

use bystander_model::budget::Figure;

use super::log::text::after;
use super::names;
use super::sizing::{cap, fraction, is_hybrid, sized};
use crate::explain::Facts;
use crate::figures::{decimal, fraction as printed, rounded, whole};
use crate::line::Place;
use crate::version::Release;

/// The releases whose lines and formula are known, from the first to the last.
const KNOWN: (Release, Release) = (Release(0, 4, 3), Release(0, 5, 23));

/// The fraction of a command line that somebody echoed into the log.
pub(crate) fn commanded_fraction(facts: &Facts) -> Option<(f64, Place)> {
    let command = facts.message(names::COMMAND)?;
    let rest = command.text.split_once("--mem-fraction-static")?.1;
    let value = rounded(rest.trim_start_matches(['=', ' ', '\'', '"', ',']))?.value;
    Some((value, command.place.clone()))
}

/// What no formula here covers.
pub(super) fn not_modelled(facts: &Facts) -> Vec<String> {
    let mut all = Vec::new();
    let versions = &facts.versions;
    if !versions.is_possible() {
        all.push(
            "The lines fit no published release of SGLang: a fork, or a build between releases. The formula is that of the published ones."
                .to_owned(),
        );
    } else if versions.excludes(KNOWN.0, KNOWN.1) {
        all.push(format!(
            "The release is none of {} to {}, whose lines and formula are known here; what still holds was read.",
            KNOWN.0, KNOWN.1
        ));
    }
    if is_hybrid(facts) {
        all.push("Pools of sliding windows share the rest by a ratio and a geometry that the log does not show; tokens of other fractions are not derived.".to_owned());
    }
    if facts.ranks.iter().any(|rank| rank.first(names::STATE_GIB).is_some()) {
        all.push(
            "How the state cache grows with the fraction is not modelled: numbers for other fractions hold its size as it is.".to_owned(),
        );
    }
    if facts.message(names::OVERLAPPED).is_some() {
        all.push(
            "The weights were put in place after the capture of graphs; what the lines call free is of another moment than the formula's."
                .to_owned(),
        );
    }
    if let Some(unknown) = facts.message(names::UNKNOWN) {
        let count = facts.messages_of(names::UNKNOWN).count();
        all.push(format!(
            "{count} lines about memory are of a kind that is not known here, the first at {}; their amounts are in none of the terms.",
            unknown.place
        ));
    }
    if facts.message(names::RESIZED).is_some() {
        all.push("The pool was resized after the capture of graphs; the formula is that of its first size.".to_owned());
    }
    if facts.settings.get("speculative_algorithm").is_some() && versions.is_up_to(Release(0, 5, 6)) {
        all.push("Up to 0.5.6 the pool also grows by draft tokens.".to_owned());
    }
    if let Some(device) = facts.settings.get("device").filter(|device| *device != "cuda") {
        all.push(format!(
            "On device {device} free memory is not that of an NVIDIA GPU, and on a CPU moves with everything else on the machine."
        ));
    }
    all
}

/// Sources that contradict each other.
pub(super) fn contradictions(facts: &Facts) -> Vec<String> {
    let mut all = Vec::new();
    if let (Some((used, _)), Some(argument)) = (fraction(facts), facts.settings.number("mem_fraction_static"))
        && (used - argument).abs() > 1e-9
    {
        all.push(format!(
            "The sizing used a fraction of {}, the printed arguments say {}; what the sizing used counts.",
            printed(used),
            printed(argument)
        ));
    }
    if let (Some((used, _)), Some((commanded, place))) = (fraction(facts), commanded_fraction(facts))
        && (used - commanded).abs() > 1e-9
    {
        all.push(format!(
            "The command line at {place} asks for a fraction of {}, in effect is {}; what is in effect counts.",
            printed(commanded),
            printed(used)
        ));
    }
    if let (Some(card), Some(sized)) = (facts.asked.card_gib, sized(facts))
        && sized.sizing.total.low > card
    {
        all.push(format!(
            "A card of {} GiB was asked for, and {} GiB were free before the weights: it is none of this log, and counts for nothing.",
            decimal(card, 2),
            decimal(sized.sizing.total.value, 2)
        ));
    }
    all.extend(base_of_the_share(facts));
    all.extend(tokens_against_formula(facts));
    all.extend(missing_ranks(facts));
    all
}

/// What the engine takes the fraction of is not what was free before the weights.
fn base_of_the_share(facts: &Facts) -> Option<String> {
    let (solved, free) = solved_base(facts)?;
    let differs = solved.low > free.high * 1.01 || solved.high < free.low * 0.99;
    differs.then(|| {
        format!(
            "The engine's own least fraction makes the base of the share {} GiB; {} GiB were free before the weights.",
            decimal(solved.value, 2),
            decimal(free.value, 2)
        )
    })
}

/// The base that the printed least fraction comes from, solved from what was left after the weights; and what was free before them.
pub(super) fn solved_base(facts: &Facts) -> Option<(Figure, Figure)> {
    let viable = facts.failures.iter().find_map(|failure| after(&failure.message, "1 - available/pre = "))?;
    let sizing = sized(facts)?.sizing;
    let base = |available: f64, viable: f64| available / (1.0 - viable);
    if viable.high >= 1.0 {
        return None;
    }
    let solved = Figure {
        value: base(sizing.available.value, viable.value),
        low: base(sizing.available.low, viable.low),
        high: base(sizing.available.high, viable.high),
    };
    Some((solved, sizing.total))
}

/// The pool is not what the formula gives.
fn tokens_against_formula(facts: &Facts) -> Option<String> {
    if is_hybrid(facts) || facts.settings.get("device").is_some_and(|device| device != "cuda") {
        return None;
    }
    let sized = sized(facts)?;
    let (tokens, cell) = (sized.printed?, sized.cell?);
    let computed = sized.sizing.tokens(cell);
    let page = facts.settings.number("page_size").unwrap_or(1.0).max(1.0);
    if (computed.low - page..=computed.high + page).contains(&tokens) || cap(facts).is_some_and(|cap| tokens >= cap) {
        return None;
    }
    let used = 1.0 - (sized.sizing.available.value - tokens * cell.value / crate::formula::GIB) / sized.sizing.total.value;
    Some(format!(
        "The pool has {} tokens, the formula gives about {}: it comes out at a fraction of {}, or something else took a part, or free memory moved in between.",
        whole(tokens),
        whole(computed.value),
        decimal(used, 3)
    ))
}

/// Ranks that should have printed free memory, and did not.
fn missing_ranks(facts: &Facts) -> Option<String> {
    let (counted, expected) = sized(facts)?.ranks;
    let expected = expected.filter(|expected| counted < *expected)?;
    Some(format!(
        "Free memory before the weights was printed by {counted} of {expected} ranks; the least over all, which counts, may be lower."
    ))
}
