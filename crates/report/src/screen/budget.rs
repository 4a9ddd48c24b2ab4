//! Why the KV cache is as large as it is, or not there: the equation with its numbers, and what other fractions would give.

use bystander_model::budget::{Alternative, BudgetReport, Figure};
use bystander_model::report::{BudgetFinding, Report};

use crate::number;
use crate::page::Page;
use crate::place::{bracketed, trials};
use crate::prose::{clean, count, sentences};

const FINDINGS: usize = 2;
const ALTERNATIVES: usize = 6;
const PLACES: usize = 4;
const LINES: usize = 3;

pub(crate) fn write(page: &mut Page<'_>, report: &Report) {
    // What is of little use is told in any case.
    let told = report.budgets.iter().enumerate().filter(|(at, finding)| *at < FINDINGS || finding.budget.of_little_use.is_some());
    for (at, finding) in told {
        if at == 0 {
            write_short(page, finding, report.cells.len());
        } else {
            write_beside(page, finding, report.cells.len());
        }
    }
    let untold = report.budgets.iter().skip(FINDINGS).filter(|finding| finding.budget.of_little_use.is_none()).count();
    if untold > 0 {
        page.indented(&format!("\u{2026} {untold} more budgets (show --why)"));
    }
}

fn write_short(page: &mut Page<'_>, finding: &BudgetFinding, cells: usize) {
    let budget = &finding.budget;
    page.heading(&format!("{}: {}", title(budget), number::equation(&budget.equation)));
    write_use(page, finding, cells);
    let text = format!("{} {}", break_even(budget), clean(&budget.text.join(" ")));
    page.led("  ", None, 4, &sentences(text.trim_end(), page.style().width.saturating_mul(LINES)));
    let others = alternatives(budget, ALTERNATIVES).map_or_else(String::new, |text| format!("{text} "));
    page.led("  ", None, 4, &format!("{others}{}{}", where_seen(finding, cells), bracketed(&budget.evidence, PLACES)));
}

/// Writes that a server is of little use, where it is.
fn write_use(page: &mut Page<'_>, finding: &BudgetFinding, cells: usize) {
    if let Some(why) = &finding.budget.of_little_use {
        page.led("  ", None, 4, &format!("{} {}", clean(why), where_seen(finding, cells)));
    }
}

/// Writes a finding that differs from the first, in a line or two: what the first one explains is not said again.
fn write_beside(page: &mut Page<'_>, finding: &BudgetFinding, cells: usize) {
    let budget = &finding.budget;
    write_use(page, finding, cells);
    let text = format!(
        "{}. {} {}{}",
        number::equation(&budget.equation),
        break_even(budget),
        where_seen(finding, cells),
        bracketed(&budget.evidence, 1)
    );
    page.led("  ", None, 4, &text);
}

/// Writes one finding with everything that is known of it.
pub(crate) fn write_long(page: &mut Page<'_>, finding: &BudgetFinding, cells: usize) {
    let budget = &finding.budget;
    page.heading(title(budget));
    write_use(page, finding, cells);
    page.led("  ", None, 4, &number::equation(&budget.equation));
    page.led("  ", None, 4, &break_even(budget));
    let tokens = budget.tokens.map_or_else(|| "unknown".to_owned(), number::tokens_ranged);
    let cell_bytes = budget.cell_bytes.map_or_else(|| "unknown".to_owned(), |bytes| number::figure(bytes as f64));
    page.indented(&format!("total {} GiB", number::ranged(budget.total_gib)));
    page.indented(&format!("available {} GiB", number::ranged(budget.available_gib)));
    page.indented(&format!("rest {} GiB", number::ranged(budget.rest_gib)));
    page.indented(&format!("bytes per token and rank {cell_bytes}, tokens {tokens}"));
    for text in &budget.text {
        page.led("  ", None, 4, &clean(text));
    }
    for alternative in &budget.alternatives {
        page.led("  ", None, 4, &at_fraction(alternative));
    }
    for evidence in &budget.evidence {
        page.led(&format!("  {}: ", crate::place::place(evidence)), None, 4, &clean(&evidence.text));
    }
    for version in &budget.version.from {
        page.led("  version from: ", None, 4, &clean(version));
    }
    for text in &budget.not_modelled {
        page.led("  not modelled: ", None, 4, &clean(text));
    }
    page.led("  ", None, 4, &where_seen(finding, cells));
}

fn title(budget: &BudgetReport) -> &'static str {
    let none = budget.tokens.is_some_and(|tokens| tokens.value < 1.0) || budget.rest_gib.value <= 0.0;
    if none { "Why there is no KV cache" } else { "Where the KV cache comes from" }
}

fn break_even(budget: &BudgetReport) -> String {
    let fraction = number::figure(budget.fraction);
    let least = least(budget.break_even);
    if budget.fraction <= budget.break_even.value {
        format!("Only a fraction above {least} leaves room for a KV cache; it is {fraction}.")
    } else {
        format!("The fraction is {fraction}; at {least} or below there would be no KV cache.")
    }
}

/// Six decimals, rounded up: the fraction that is named must not be one that does not work.
fn least(break_even: Figure) -> String {
    let up = |x: f64| (x * 1e6 - 1e-6).ceil() / 1e6;
    number::ranged(Figure { value: up(break_even.value), low: up(break_even.low), high: up(break_even.high) })
}

fn alternatives(budget: &BudgetReport, most: usize) -> Option<String> {
    let known: Vec<String> = budget
        .alternatives
        .iter()
        .filter_map(|alternative| {
            let tokens = alternative.tokens?;
            let given = if tokens.value < 1.0 { "none".to_owned() } else { number::tokens(tokens.value) };
            Some((alternative.fraction, given))
        })
        // The fraction at which nothing is left is named by the sentence before.
        .filter(|(fraction, given)| given != "none" || (fraction - budget.fraction).abs() < 1e-9)
        .map(|(fraction, given)| format!("{} \u{2192} {given}", number::figure(fraction)))
        .take(most)
        .collect();
    (!known.is_empty()).then(|| format!("Tokens at other fractions: {}.", known.join(", ")))
}

fn at_fraction(alternative: &Alternative) -> String {
    let tokens = alternative.tokens.map_or_else(String::new, |tokens| format!(", {} tokens", number::tokens_ranged(tokens)));
    format!(
        "at {}: rest {} GiB{tokens}, {} GiB left for everything else",
        number::figure(alternative.fraction),
        number::gib(alternative.rest_gib.value),
        number::gib(alternative.headroom_gib.value)
    )
}

/// The cells it was seen in, the engine, and the rank it was read from.
fn where_seen(finding: &BudgetFinding, cells: usize) -> String {
    let budget = &finding.budget;
    let place = if finding.cells.len() == cells && cells > 1 {
        format!("in every cell ({})", trials(&finding.trials))
    } else if finding.cells.len() > 3 {
        format!("in {} ({})", count(finding.cells.len(), "cell", "cells"), trials(&finding.trials))
    } else {
        let names: Vec<String> = finding.cells.iter().map(|cell| clean(cell)).collect();
        format!("in {} ({})", names.join(", "), trials(&finding.trials))
    };
    let version = match (&budget.version.low, &budget.version.high) {
        (Some(low), Some(high)) if low == high => format!(" {}", clean(low)),
        (Some(low), Some(high)) => format!(" {}\u{2013}{}", clean(low), clean(high)),
        (Some(low), None) => format!(" {} or newer", clean(low)),
        (None, Some(high)) => format!(" {} or older", clean(high)),
        (None, None) => String::new(),
    };
    let rank = budget.rank.map_or_else(String::new, |rank| format!(", read from rank {rank}"));
    format!("Seen {place}; formula of {}{version}{rank}.", clean(&budget.engine))
}
