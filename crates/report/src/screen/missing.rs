//! Metrics that no cell shows and of which no answer speaks: without a line of their own they would vanish, as if nobody had asked for them.

use bystander_model::outcome::Outcome;
use bystander_model::report::{Report, TrialReport};
use indexmap::IndexMap;

use crate::page::Page;
use crate::prose::{clean, count, shorten};

/// More reasons than this are left to `why`.
pub(crate) const REASONS: usize = 8;
/// A reason takes at most about two lines.
const LINES: usize = 2;

/// Writes a line for each reason, with the metrics that have no value for it.
pub(crate) fn write(page: &mut Page<'_>, report: &Report, most: usize) {
    let reasons = reasons(report);
    let columns = page.style().width.saturating_mul(LINES);
    for (reason, names) in reasons.iter().take(most) {
        let text = if columns == 0 { clean(reason) } else { shorten(&clean(reason), columns) };
        page.led(&format!("  {}: \u{2013} ", names.join(", ")), None, 4, &text);
    }
    if reasons.len() > most {
        page.indented(&format!("\u{2026} {} (show --why)", count(reasons.len() - most, "more reason", "more reasons")));
    }
}

/// The metrics without any value, by why the first launch that completed has none.
fn reasons(report: &Report) -> IndexMap<String, Vec<String>> {
    let mut reasons: IndexMap<String, Vec<String>> = IndexMap::new();
    let completed = |trial: &&TrialReport| trial.purpose == "measure" && trial.outcome == Some(Outcome::Completed);
    // Where no launch completed there was nothing to measure, and the causes say so.
    let Some(trial) = report.trials.iter().find(completed) else { return reasons };
    let is_seen = |name: &str| report.cells.iter().filter_map(|cell| cell.metrics.get(name)).any(|summary| summary.n > 0);
    let is_answered = |name: &str| report.answers.iter().any(|answer| answer.metric == name);
    for name in report.cells.first().into_iter().flat_map(|cell| cell.metrics.keys()).filter(|name| !is_seen(name) && !is_answered(name)) {
        let why = trial.metric_evidence.get(name).map_or("not seen", |evidence| evidence.text.as_str());
        reasons.entry(format!("(no value in trial {}: {why})", trial.id)).or_default().push(clean(name));
    }
    reasons
}
