//! What engines said of themselves by cell: the medians over its launches, beside the share of requests that failed.

use bystander_model::engine::{EngineReading, NAMES};
use bystander_model::report::{CellReport, Report, TrialReport};

use super::cells::share;
use super::traffic::digits;
use crate::page::Page;
use crate::prose::clean;

/// More cells than this are left to `why`.
const ROWS: usize = 16;

pub(crate) fn write(page: &mut Page<'_>, report: &Report) {
    let known: Vec<&str> = NAMES.iter().map(|name| name.name).filter(|name| report.trials.iter().any(|trial| has(trial, name))).collect();
    let Some(first) = report.cells.first().filter(|_| !known.is_empty()) else { return };
    page.heading("Engine (its own figures, medians over launches; states as after the workload)");
    let mut header: Vec<String> = first.levels.keys().map(|factor| clean(factor)).collect();
    header.extend(["instrument", "failed requests"].map(str::to_owned));
    header.extend(known.iter().map(|name| name.replace('_', " ")));
    let rows: Vec<Vec<String>> = report.cells.iter().take(ROWS).filter_map(|cell| row(report, cell, &known)).collect();
    page.table(first.levels.len() + 1, &header, &rows);
}

fn has(trial: &TrialReport, name: &str) -> bool {
    trial.purpose == "measure"
        && trial.engine.as_ref().and_then(|engine| engine.figures.get(name)).is_some_and(|figure| figure.value.is_some())
}

/// How many requests failed, as far as anybody counted them.
fn failed(report: &Report, trials: &[&TrialReport]) -> String {
    let of_traffic = trials.iter().filter_map(|trial| trial.traffic.as_ref()).map(|one| (one.sent, one.sent.saturating_sub(one.completed)));
    let told = || trials.iter().filter_map(|trial| trial.requests.as_ref());
    let counted = told().filter_map(|one| Some((one.sent?, one.failed?)));
    let (sent, failed) = of_traffic.chain(counted).fold((0, 0), |all: (u64, u64), one| (all.0 + one.0, all.1 + one.1));
    if sent > 0 {
        return format!("{failed} of {sent}");
    }
    let shares: Vec<f64> = told().filter_map(|one| one.error_rate).collect();
    if !shares.is_empty() {
        return share(shares.iter().sum::<f64>() / shares.len() as f64);
    }
    if report.unrated.is_some() { "not known".to_owned() } else { "\u{2013}".to_owned() }
}

fn row(report: &Report, cell: &CellReport, known: &[&str]) -> Option<Vec<String>> {
    let is_of_cell =
        |trial: &&TrialReport| trial.purpose == "measure" && trial.levels == cell.levels && trial.instrument == cell.instrument;
    let of_cell: Vec<&TrialReport> = report.trials.iter().filter(is_of_cell).collect();
    let readings: Vec<&EngineReading> = of_cell.iter().filter_map(|trial| trial.engine.as_ref()).collect();
    if readings.is_empty() {
        return None;
    }
    let none = || "\u{2013}".to_owned();
    let failed = failed(report, &of_cell);
    let median = |name: &str| {
        let mut values: Vec<f64> = readings.iter().filter_map(|reading| reading.figures.get(name)?.value).collect();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        values.get(middle).map(|upper| if values.len() % 2 == 1 { *upper } else { f64::midpoint(values[middle - 1], *upper) })
    };
    let mut row: Vec<String> = cell.levels.values().map(|level| clean(level)).collect();
    row.extend([clean(&cell.instrument), failed]);
    row.extend(known.iter().map(|name| median(name).map_or_else(none, digits)));
    Some(row)
}
