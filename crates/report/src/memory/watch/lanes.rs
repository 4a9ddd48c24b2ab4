//! The chart: a lane for each GPU, one for the processes, one for what is left to the machine, above one time axis with the phases.

use bystander_model::memory::WatchedMemory;
use bystander_model::samples::{Samples, Series};
use unicode_width::UnicodeWidthStr as _;

use super::super::chart::Drawn;
use crate::number::{self, size};
use crate::page::Page;

/// Columns of the names.
const NAMES: usize = 17;
/// More GPUs than these get no lane; the table of phases and the JSON have them all.
const MOST: usize = 16;
/// A chart is not drawn in fewer columns.
const NARROWEST: usize = 20;
/// It says no more in more columns.
const WIDEST: usize = 128;

/// One quantity.
struct Lane<'a> {
    name: String,
    series: &'a Series,
    full: u64,
    /// What the top of the lane is.
    scale: String,
    least: bool,
    rows: usize,
}

pub(super) fn write(page: &mut Page<'_>, watched: &WatchedMemory) {
    let lanes = lanes(&watched.samples, watched.machine_bytes);
    let columns = page.style().width.saturating_sub(NAMES + 2).min(WIDEST);
    if lanes.is_empty() || columns < NARROWEST || watched.wall_s <= 0.0 {
        return;
    }
    let unicode = page.style().unicode;
    page.line("");
    for lane in &lanes {
        let drawn = Drawn { columns, rows: lane.rows, full: lane.full, end_s: watched.wall_s, least: lane.least, unicode };
        for (number, row) in drawn.rows(lane.series).into_iter().enumerate() {
            let name = match number {
                0 if lane.rows == 1 => format!("{} {}", lane.name, lane.scale),
                0 => lane.name.clone(),
                1 => lane.scale.clone(),
                _ => String::new(),
            };
            page.line(&format!("{}{}{row}", padded(&name), edge(unicode)));
        }
    }
    let axis = Drawn { columns, rows: 1, full: 1, end_s: watched.wall_s, least: false, unicode };
    if let Some(letters) = letters(&watched.samples, &axis) {
        page.line(&format!("{} {letters}", padded("phases")));
    }
    let end = number::seconds(watched.wall_s);
    let start = "0 s";
    page.line(&format!("{} {start}{}", " ".repeat(NAMES), format_args!("{end:>room$}", room = columns.saturating_sub(start.width()))));
}

fn lanes(samples: &Samples, machine: Option<u64>) -> Vec<Lane<'_>> {
    let rows = match samples.gpus.len() {
        0 | 1 => 5,
        2 => 3,
        3..=4 => 2,
        _ => 1,
    };
    let of = |bytes: u64| format!("of {}", size(bytes));
    let mut lanes: Vec<Lane<'_>> = Vec::new();
    for gpu in samples.gpus.iter().take(MOST).filter(|gpu| !gpu.series.is_empty()) {
        lanes.push(Lane {
            name: format!("GPU {}", gpu.index),
            series: &gpu.series,
            full: gpu.total_bytes,
            scale: of(gpu.total_bytes),
            least: false,
            rows,
        });
    }
    let host = if lanes.is_empty() { 4 } else { 1 };
    if let Some(peak) = samples.peak_rss_bytes {
        let scale = if host == 1 { size(peak) } else { format!("up to {}", size(peak)) };
        lanes.push(Lane { name: "resident".to_owned(), series: &samples.rss, full: peak, scale, least: false, rows: host });
    }
    if let Some(machine) = machine.filter(|_| !samples.available.is_empty()) {
        let scale = if host == 1 { size(machine) } else { of(machine) };
        lanes.push(Lane { name: "left".to_owned(), series: &samples.available, full: machine, scale, least: true, rows: host.min(2) });
    }
    lanes
}

/// The phases as letters, each where it begins.
fn letters(samples: &Samples, axis: &Drawn) -> Option<String> {
    if samples.phases.len() < 2 {
        return None;
    }
    let mut row = vec![' '; axis.columns];
    for (letter, phase) in ('a'..='z').zip(&samples.phases) {
        if let Some(slot) = row.get_mut(axis.column(phase.at_s)) {
            *slot = letter;
        }
    }
    Some(row.into_iter().collect())
}

fn padded(name: &str) -> String {
    let name = crate::prose::shorten(name, NAMES);
    format!("{name}{}", " ".repeat(NAMES.saturating_sub(name.width())))
}

fn edge(unicode: bool) -> char {
    if unicode { '\u{2502}' } else { '|' }
}
