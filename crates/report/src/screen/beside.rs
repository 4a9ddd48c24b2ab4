//! What stands beside the answers: claims that the data cannot tell apart, conclusions that no longer hold, logs of earlier runs.

use bystander_model::old_log::{AgainstCell, OldLogReport};
use bystander_model::report::Report;

use crate::page::Page;
use crate::place::bracketed;
use crate::prose::{clean, count, sentences};
use crate::style::Role;

/// Entries of each kind on the screen.
const MOST: usize = 3;
/// A log takes about this many lines of the screen.
const LINES: usize = 3;
const PLACES: usize = 3;

pub(crate) fn write(page: &mut Page<'_>, report: &Report) {
    superseded(page, report, MOST);
    alternatives(page, report, MOST);
    old_logs(page, report, Some(LINES));
}

/// Writes all of it, with what sets each log apart from each cell.
pub(crate) fn write_all(page: &mut Page<'_>, report: &Report) {
    superseded(page, report, usize::MAX);
    alternatives(page, report, usize::MAX);
    old_logs(page, report, None);
}

/// Writes the logs of earlier runs alone, in full; nothing where there is none.
pub(crate) fn write_logs(page: &mut Page<'_>, report: &Report) {
    old_logs(page, report, None);
}

fn superseded(page: &mut Page<'_>, report: &Report, most: usize) {
    if report.superseded.is_empty() {
        return;
    }
    page.heading("Superseded conclusions");
    for one in report.superseded.iter().take(most) {
        page.led("  - ", Some(Role::Open), 4, &format!("{}{}", clean(&one.text), bracketed(&one.evidence, PLACES)));
    }
    more(page, report.superseded.len(), most);
}

fn alternatives(page: &mut Page<'_>, report: &Report, most: usize) {
    if report.alternatives.is_empty() {
        return;
    }
    page.heading("Claims that the data cannot tell apart");
    for one in report.alternatives.iter().take(most) {
        page.led("  - ", None, 4, &clean(&one.text));
    }
    more(page, report.alternatives.len(), most);
}

fn more(page: &mut Page<'_>, all: usize, most: usize) {
    if all > most {
        page.indented(&format!("\u{2026} {} more (show --why)", all - most));
    }
}

fn old_logs(page: &mut Page<'_>, report: &Report, lines: Option<usize>) {
    if report.old_logs.is_empty() {
        return;
    }
    page.heading("Logs of earlier runs, which enter no test");
    for one in report.old_logs.iter().take(lines.map_or(usize::MAX, |_| MOST)) {
        let log = &one.log;
        let evidence = [log.cause.iter().flat_map(|cause| cause.evidence.iter()).take(1).cloned().collect(), log.evidence.clone()].concat();
        let room = lines.map_or(usize::MAX, |lines| page.style().width.saturating_mul(lines));
        let text = format!("{}{}", sentences(&clean(&one.text), room), bracketed(&evidence, PLACES));
        page.led(&format!("  {}: ", clean(&log.name)), None, 4, &text);
        if lines.is_none() {
            in_full(page, one);
        }
    }
    if lines.is_some() {
        more(page, report.old_logs.len(), MOST);
    }
}

fn in_full(page: &mut Page<'_>, one: &OldLogReport) {
    let log = &one.log;
    let mut line = |name: &str, text: &str| page.led(&format!("    {name}: "), None, 6, text);
    let size = count(usize::try_from(log.lines).unwrap_or(usize::MAX), "line", "lines");
    line("file", &format!("{}, {size}, sha256 {}", clean(&log.file.to_string_lossy()), clean(&log.sha256)));
    line("engine", log.engine.as_deref().map_or("none that is known", |engine| engine));
    if let Some(version) = log.version.as_ref().filter(|version| version.low.is_some() || version.high.is_some()) {
        let (low, high) = (version.low.as_deref().unwrap_or("?"), version.high.as_deref().unwrap_or("?"));
        line("version", &format!("{} to {} by {}", clean(low), clean(high), clean(&version.from.join(", "))));
    }
    for evidence in log.cause.iter().flat_map(|cause| cause.evidence.iter()).chain(&log.evidence).chain(&log.configuration) {
        line(&clean(&evidence.place), &clean(&evidence.text));
    }
    if let Some(budget) = &log.budget {
        line("memory", &format!("{}{}", clean(&budget.equation), bracketed(&budget.evidence, PLACES)));
    }
    for cell in &one.against {
        line(&format!("against {}", clean(&cell.cell)), &against(cell));
    }
}

fn against(cell: &AgainstCell) -> String {
    let engines = cell.engines.as_ref().map(|engines| format!("another engine, {}", clean(engines)));
    let differs = (!cell.differs.is_empty()).then(|| format!("differs in {}", clean(&cell.differs.join(", "))));
    let same = cell.same.then(|| "the same in everything that is known of both".to_owned());
    let unknown = (!cell.unknown.is_empty()).then(|| format!("not known: {}", clean(&cell.unknown.join(", "))));
    engines.into_iter().chain(differs).chain(same).chain(unknown).collect::<Vec<_>>().join("; ")
}
