//! The table of cells: what came out, why, and the metrics; below it each distinct failure once, with where it was seen.

use bystander_model::report::{CauseCount, CellReport, MetricSummary, Report, TrialReport};

use super::missing;
use crate::number;
use crate::page::Page;
use crate::place::{bracketed, trials};
use crate::prose::{clean, count, shorten};

/// More cells than this are left to `why`.
const ROWS: usize = 16;
const SIGNATURES: usize = 4;
const PLACES: usize = 2;
/// A cause takes at most about two lines.
const LINES: usize = 2;

pub(crate) fn write(page: &mut Page<'_>, report: &Report) {
    write_up_to(page, report, ROWS, SIGNATURES, missing::REASONS);
}

/// Writes the table without leaving anything out.
pub(crate) fn write_all(page: &mut Page<'_>, report: &Report) {
    write_up_to(page, report, usize::MAX, usize::MAX, usize::MAX);
}

fn write_up_to(page: &mut Page<'_>, report: &Report, most_rows: usize, most_signatures: usize, most_reasons: usize) {
    let Some(first) = report.cells.first() else { return };
    page.heading("Cells");
    let signatures = Signatures::of(&report.cells);
    let metrics = metric_names(&report.cells);
    let mut header: Vec<String> = first.levels.keys().map(|factor| clean(factor)).collect();
    header.extend(["instrument".to_owned(), "outcome".to_owned()]);
    if !signatures.0.is_empty() {
        header.push("cause".to_owned());
    }
    header.extend(metrics.iter().map(|(metric, unit)| format!("{} (median{})", clean(metric), unit_said(*unit))));
    let rows: Vec<Vec<String>> = report.cells.iter().take(most_rows).map(|cell| row(report, cell, &signatures, &metrics)).collect();
    page.table(first.levels.len() + 1, &header, &rows);
    if report.cells.len() > most_rows {
        page.indented(&format!("\u{2026} {} (show --why)", count(report.cells.len() - most_rows, "more cell", "more cells")));
    }
    legend(page, report, &signatures, most_signatures);
    missing::write(page, report, most_reasons);
    if let Some(unrated) = report.unrated.as_ref().filter(|_| !metrics.is_empty()) {
        page.indented(&clean(unrated));
    }
}

/// `, tokens/s`, or nothing.
fn unit_said(unit: Option<&str>) -> String {
    unit.map_or_else(String::new, |unit| format!(", {}", clean(unit)))
}

fn row(report: &Report, cell: &CellReport, signatures: &Signatures<'_>, metrics: &[(&str, Option<&str>)]) -> Vec<String> {
    let mut row: Vec<String> = cell.levels.values().map(|level| clean(level)).collect();
    row.push(clean(&cell.instrument));
    row.push(format!("{}{}", outcome(cell), little_use(report, cell)));
    if !signatures.0.is_empty() {
        let causes: Vec<String> = cell.causes.iter().map(|cause| signatures.named(cause)).collect();
        row.push(causes.join("\n"));
    }
    row.extend(
        metrics.iter().map(|(metric, _)| cell.metrics.get(*metric).map_or_else(|| "\u{2013}".to_owned(), |summary| median(summary, cell))),
    );
    row
}

/// `failed 3 of 3`, or each outcome with its count; launches that are no data points are named as such.
fn outcome(cell: &CellReport) -> String {
    let counts = [(cell.completed, "completed"), (cell.failed, "failed"), (cell.timed_out, "timed out")];
    let seen: Vec<_> = counts.into_iter().filter(|(n, _)| *n > 0).collect();
    let mut text = match seen.as_slice() {
        [] => "no data".to_owned(),
        [(n, word)] => format!("{word} {n} of {}", cell.trials),
        several => several.iter().map(|(n, word)| format!("{word} {n}")).collect::<Vec<_>>().join(", "),
    };
    for (n, word, why) in [(cell.void, "void", voids(cell)), (cell.undetermined, "undetermined", String::new())] {
        if n > 0 {
            text.push_str(&format!(", {word} {n}{why}"));
        }
    }
    text
}

/// How many launches of a cell served with next to nothing, such as `, 2 of little use`: they completed, and yet are no success.
fn little_use(report: &Report, cell: &CellReport) -> String {
    let of_no_use: Vec<_> =
        report.budgets.iter().filter(|finding| finding.budget.of_little_use.is_some()).flat_map(|finding| &finding.trials).collect();
    let here = |trial: &&TrialReport| trial.levels == cell.levels && trial.instrument == cell.instrument && of_no_use.contains(&&trial.id);
    match report.trials.iter().filter(here).count() {
        0 => String::new(),
        n => format!(", {n} of little use"),
    }
}

/// Why launches were void, such as ` (leftover, gpu_memory_held \u{d7}2)`.
fn voids(cell: &CellReport) -> String {
    let one = |cause: &CauseCount| {
        let times = if cause.count > 1 { format!(" \u{d7}{}", cause.count) } else { String::new() };
        format!("{}{times}", clean(&cause.class))
    };
    let causes: Vec<String> = cell.void_causes.iter().map(one).collect();
    if causes.is_empty() { String::new() } else { format!(" ({})", causes.join(", ")) }
}

fn median(summary: &MetricSummary, cell: &CellReport) -> String {
    let Some(median) = summary.median else { return "\u{2013}".to_owned() };
    let n = if summary.n == cell.completed { String::new() } else { format!(" (n = {})", summary.n) };
    // A figure of traffic says nothing without the share of requests that failed.
    let failed = summary.error_rate.map_or_else(String::new, |rate| format!(", {} failed", share(rate)));
    format!("{}{n}{failed}", number::figure(median))
}

/// A share in percent, to a tenth.
pub(crate) fn share(share: f64) -> String {
    if share == 0.0 { "0 %".to_owned() } else { format!("{:.1} %", share * 100.0) }
}

/// The metrics that some cell shows, each with its unit.
fn metric_names(cells: &[CellReport]) -> Vec<(&str, Option<&str>)> {
    let mut names: Vec<(&str, Option<&str>)> = Vec::new();
    for (name, summary) in cells.iter().flat_map(|cell| &cell.metrics) {
        if summary.n > 0 && !names.iter().any(|(known, _)| known == name) {
            names.push((name, summary.unit.as_deref()));
        }
    }
    names
}

/// The distinct failures, in the order of the table.
struct Signatures<'a>(Vec<&'a CauseCount>);

impl<'a> Signatures<'a> {
    fn of(cells: &'a [CellReport]) -> Self {
        let mut distinct: Vec<&CauseCount> = Vec::new();
        for cause in cells.iter().flat_map(|cell| &cell.causes) {
            if !distinct.iter().any(|known| known.signature == cause.signature) {
                distinct.push(cause);
            }
        }
        Self(distinct)
    }

    /// The class with its count, and a letter where there are several failures to tell apart.
    fn named(&self, cause: &CauseCount) -> String {
        let mark = match self.0.iter().position(|known| known.signature == cause.signature) {
            Some(index) if self.0.len() > 1 => format!("({}) ", letter(index)),
            _ => String::new(),
        };
        format!("{mark}{} \u{d7}{}", clean(&cause.class), cause.count)
    }
}

/// `a` to `z`, then numbers.
fn letter(index: usize) -> String {
    u8::try_from(index)
        .ok()
        .filter(|index| *index < 26)
        .map_or_else(|| (index + 1).to_string(), |index| char::from(b'a' + index).to_string())
}

fn legend(page: &mut Page<'_>, report: &Report, signatures: &Signatures<'_>, most: usize) {
    let columns = page.style().width.saturating_mul(LINES);
    for (index, cause) in signatures.0.iter().take(most).enumerate() {
        let here: Vec<_> = report
            .trials
            .iter()
            .filter(|trial| trial.cause_detail.as_ref().is_some_and(|detail| detail.signature == cause.signature))
            .collect();
        let evidence = here.first().and_then(|trial| trial.cause_detail.as_ref()).map(|detail| bracketed(&detail.evidence, PLACES));
        let ids: Vec<_> = here.iter().map(|trial| trial.id).collect();
        // The same failure with other numbers: those that are shown must not pass for those of all.
        let is_shown = |trial: &&&TrialReport| trial.cause_detail.as_ref().is_some_and(|detail| detail.text == cause.text);
        let of = here.iter().find(is_shown).filter(|_| !here.iter().all(|trial| is_shown(&trial)));
        let of = of.map_or_else(String::new, |trial| format!(", with the numbers of trial {}", trial.id));
        let lead = match (signatures.0.len(), ids.len()) {
            (1, 0 | 1) => "  The failure: ".to_owned(),
            (1, n) => format!("  One signature in all {n} failures{of}: "),
            _ => format!("  ({}) {}{of}: ", letter(index), trials(&ids)),
        };
        let text = if columns == 0 { clean(&cause.text) } else { shorten(&clean(&cause.text), columns) };
        page.led(&lead, None, 4, &format!("{text}{}", evidence.unwrap_or_default()));
    }
    if signatures.0.len() > most {
        page.indented(&format!("\u{2026} {} (show --why)", count(signatures.0.len() - most, "more signature", "more signatures")));
    }
}
