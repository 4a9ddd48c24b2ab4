//! A plan as text: one answer an engine, the columns side by side, what other fractions give, and how each figure came to be.

use bystander_model::budget::Figure;
use bystander_model::memory::{CAP, Column, FractionRange, NONE_STARTS, Planned, Row};

use crate::number;
use crate::page::Page;
use crate::prose::clean;
use crate::style::{Role, Style};

const UNKNOWN: &str = "unknown";

/// Renders what `memory plan` found.
#[must_use]
pub fn memory_plan_text(planned: &Planned, style: &Style) -> String {
    let mut page = Page::new(style);
    page.heading(&clean(&planned.model));
    for column in engines(planned) {
        answer(&mut page, column);
    }
    page.heading("side by side");
    beside(&mut page, planned);
    for column in engines(planned).filter(|column| !column.table.is_empty()) {
        page.heading(&format!("{} by fraction", title(column)));
        fractions(&mut page, &column.table);
    }
    page.heading("why");
    for line in &planned.read {
        page.led("  read: ", None, 4, &clean(line));
    }
    for column in &planned.columns {
        for line in &column.derivation {
            page.led(&format!("  {}: ", column.name), None, 4, &clean(line));
        }
    }
    let missing: Vec<(&str, &String)> =
        planned.columns.iter().flat_map(|column| column.not_modelled.iter().map(|line| (column.name.as_str(), line))).collect();
    if !missing.is_empty() {
        page.heading("not in these figures");
        for (name, line) in missing {
            page.led(&format!("  {name}: "), None, 4, &clean(line));
        }
    }
    page.finish()
}

fn engines(planned: &Planned) -> impl Iterator<Item = &Column> {
    planned.columns.iter().filter(|column| !column.version.is_empty())
}

fn title(column: &Column) -> String {
    if column.version.is_empty() { column.name.clone() } else { format!("{} {}", column.name, column.version) }
}

/// What an engine would do, in a line or two.
fn answer(page: &mut Page<'_>, column: &Column) {
    let lead = format!("  {}: ", title(column));
    if let Some(refused) = &column.refused {
        return page.led(&lead, Some(Role::Bad), 4, &format!("does not start: {}", clean(refused)));
    }
    let Some(tokens) = column.tokens else {
        return page.led(
            &lead,
            Some(Role::Open),
            4,
            if column.kv_bytes_per_token_per_rank.is_none() {
                "tokens unknown: what one takes is not known, as said at the end"
            } else if column.weights_gib_per_rank.is_some() {
                "tokens unknown: name the card with --gpu"
            } else {
                "tokens unknown: the weights are not known; give a folder with its *.safetensors, and name the card with --gpu"
            },
        );
    };
    let at =
        column.derivation.iter().find(|line| line.starts_with("fraction ")).map_or_else(String::new, |line| format!(" at {}", clean(line)));
    if tokens.high <= 0.0 {
        page.led(
            &lead,
            Some(Role::Bad),
            4,
            &format!("does not start{at}: what is left for the KV cache does not hold what the engine asks for. {}", usable(column)),
        );
        return;
    }
    let requests = column
        .concurrency
        .map_or_else(String::new, |requests| format!(", {} requests of full length at once", number::ranged(hundredths(requests))));
    let role = if tokens.low > 0.0 { Role::Good } else { Role::Open };
    page.led(&lead, Some(role), 4, &format!("{} tokens{at}{requests}. {}", number::tokens_ranged(tokens), usable(column)));
}

/// Which fractions work, in a sentence.
fn usable(column: &Column) -> String {
    let Some(fraction) = column.fraction else { return none_starts(column).map_or_else(String::new, sentence) };
    let least = number::figure(fraction.least.value);
    match (fraction.works, fraction.recommended) {
        (Some((low, high)), Some(recommended)) => {
            format!(
                "Starts above {least}; works from {} to {}; {} leaves room on both sides.",
                number::figure(low),
                number::figure(high),
                number::figure(recommended)
            )
        }
        (Some((low, high)), None) => format!("Starts above {least}; works from {} to {}.", number::figure(low), number::figure(high)),
        (None, _) if said(column, CAP).is_some() => {
            format!("Starts above {least}; one full request does not fit, since {}.", said(column, CAP).unwrap_or_default())
        }
        (None, _) => format!(
            "Starts above {least}, and no fraction leaves room for one full request and for graphs and activations: fewer tokens (--context), more cards, smaller KV numbers."
        ),
    }
}

/// The line of a derivation that begins like this.
fn said<'a>(column: &'a Column, begin: &str) -> Option<&'a str> {
    column.derivation.iter().find(|line| line.starts_with(begin)).map(String::as_str)
}

fn none_starts(column: &Column) -> Option<&str> {
    said(column, NONE_STARTS)
}

fn sentence(line: &str) -> String {
    let mut letters = clean(line);
    if let Some(first) = letters.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    format!("{letters}.")
}

/// A row on fractions: that none starts is known, where it is.
fn of_fraction(column: &Column, text: impl Fn(&FractionRange) -> Option<String>) -> Option<String> {
    match &column.fraction {
        _ if column.version.is_empty() => Some(String::new()),
        Some(fraction) => Some(text(fraction).unwrap_or_else(|| "none".to_owned())),
        None => none_starts(column).map(|_| "none".to_owned()),
    }
}

fn hundredths(x: Figure) -> Figure {
    let cut = |x: f64| (x * 100.0).round() / 100.0;
    Figure { value: cut(x.value), low: cut(x.low), high: cut(x.high) }
}

fn beside(page: &mut Page<'_>, planned: &Planned) {
    let mut header = vec![String::new()];
    header.extend(planned.columns.iter().map(title));
    let row = |name: &str, of: &dyn Fn(&Column) -> Option<String>| {
        let mut row = vec![name.to_owned()];
        row.extend(planned.columns.iter().map(|column| of(column).unwrap_or_else(|| UNKNOWN.to_owned())));
        row
    };
    let rows = [
        row("KV bytes per token and rank", &|column| column.kv_bytes_per_token_per_rank.map(number::figure)),
        row("fixed bytes per request and rank", &|column| column.fixed_bytes_per_request.map(|bytes| number::figure(bytes as f64))),
        row("weights, GiB per rank", &|column| column.weights_gib_per_rank.map(|gib| number::ranged(thousandths(gib)))),
        row("KV of one full request, GiB", &|column| column.kv_gib_full_request.map(number::gib)),
        row("tokens", &|column| column.tokens.map(number::tokens_ranged)),
        row("full requests at once", &|column| column.concurrency.map(|requests| number::ranged(hundredths(requests)))),
        row("least fraction that starts", &|column| of_fraction(column, |fraction| Some(number::ranged(fraction.least)))),
        row("fractions that work", &|column| {
            of_fraction(column, |fraction| {
                let (low, high) = fraction.works?;
                Some(format!("{} to {}", number::figure(low), number::figure(high)))
            })
        }),
        row("recommended", &|column| of_fraction(column, |fraction| fraction.recommended.map(number::figure))),
    ];
    page.table(1, &header, &rows);
}

fn thousandths(x: Figure) -> Figure {
    let cut = |x: f64| (x * 1000.0).round() / 1000.0;
    Figure { value: cut(x.value), low: cut(x.low), high: cut(x.high) }
}

fn fractions(page: &mut Page<'_>, table: &[Row]) {
    let header = ["fraction", "tokens", "full requests at once", "left for the rest, GiB"].map(str::to_owned);
    let rows: Vec<Vec<String>> = table
        .iter()
        .map(|row| {
            let tokens = if row.tokens.high <= 0.0 { "does not start".to_owned() } else { number::tokens_ranged(row.tokens) };
            let requests = if row.tokens.high <= 0.0 { String::new() } else { number::ranged(hundredths(row.concurrency)) };
            vec![number::figure(row.fraction), tokens, requests, number::ranged(hundredths(row.headroom_gib))]
        })
        .collect();
    page.table(1, &header, &rows);
}
