//! Built-in traffic by cell: the medians over its launches, each with the share of requests that failed.

use bystander_model::report::{CellReport, Report};
use bystander_model::traffic::Summary;

use crate::page::Page;
use crate::prose::clean;

/// More cells than this are left to `why`.
const ROWS: usize = 16;

pub(crate) fn write(page: &mut Page<'_>, report: &Report) {
    let rows: Vec<Vec<String>> = report.cells.iter().take(ROWS).filter_map(|cell| row(report, cell)).collect();
    let Some(first) = report.cells.first().filter(|_| !rows.is_empty()) else { return };
    page.heading("Traffic (medians over launches)");
    let mut header: Vec<String> = first.levels.keys().map(|factor| clean(factor)).collect();
    header.extend(["instrument", "failed requests", "tokens/s", "TTFT p50, p99", "inter-token p50, p99"].map(str::to_owned));
    page.table(first.levels.len() + 1, &header, &rows);
}

fn row(report: &Report, cell: &CellReport) -> Option<Vec<String>> {
    let of_cell = report
        .trials
        .iter()
        .filter(|trial| trial.purpose == "measure" && trial.levels == cell.levels && trial.instrument == cell.instrument);
    let all: Vec<&Summary> = of_cell.filter_map(|trial| trial.traffic.as_ref()).collect();
    if all.is_empty() {
        return None;
    }
    let (sent, completed) = all.iter().fold((0, 0), |(sent, completed), one| (sent + one.sent, completed + one.completed));
    let median = |name: &str| {
        let mut values: Vec<f64> = all.iter().filter_map(|summary| summary.metric(name)).collect();
        values.sort_by(f64::total_cmp);
        values
            .get(values.len() / 2)
            .copied()
            .map(|upper| if values.len() % 2 == 1 { upper } else { f64::midpoint(values[values.len() / 2 - 1], upper) })
    };
    let none = || "\u{2013}".to_owned();
    let pair = |one: &str, other: &str| match (median(one), median(other)) {
        (Some(one), Some(other)) => format!("{}, {} ms", digits(one * 1000.0), digits(other * 1000.0)),
        _ => none(),
    };
    let mut row: Vec<String> = cell.levels.values().map(|level| clean(level)).collect();
    row.extend([
        clean(&cell.instrument),
        format!("{} of {sent}", sent.saturating_sub(completed)),
        median("tokens_per_s").map_or_else(none, digits),
        pair("ttft_p50", "ttft_p99"),
        pair("itl_p50", "itl_p99"),
    ]);
    Some(row)
}

/// A measured number to three digits: more would be noise.
pub(crate) fn digits(x: f64) -> String {
    let places = if x < 10.0 { 2 } else { usize::from(x < 100.0) };
    format!("{x:.places$}")
}
