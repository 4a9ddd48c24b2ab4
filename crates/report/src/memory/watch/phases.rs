//! The phases as a table: when each began, and what was held in it at most; and the moments that were marked.

use bystander_model::samples::{GpuHeld, PhaseSamples, Samples};

use crate::number::{self, size};
use crate::page::Page;
use crate::prose::clean;

/// GPUs that have a column of their own.
const OWN: usize = 4;
/// Moments that are shown.
const MARKS: usize = 8;

pub(super) fn write(page: &mut Page<'_>, samples: &Samples) {
    if samples.phases.len() > 1 {
        page.line("");
        table(page, samples);
    }
    if !samples.marks.is_empty() {
        moments(page, samples);
    }
}

fn table(page: &mut Page<'_>, samples: &Samples) {
    let own = samples.gpus.len() <= OWN;
    let gpus: Vec<String> = match (samples.gpus.is_empty(), own) {
        (true, _) => Vec::new(),
        (false, true) => samples.gpus.iter().map(|gpu| format!("GPU {}", gpu.index)).collect(),
        (false, false) => vec!["fullest GPU".to_owned()],
    };
    let header: Vec<String> =
        ["phase".to_owned(), "from".to_owned()].into_iter().chain(gpus).chain(["resident".to_owned(), "left".to_owned()]).collect();
    let row = |(letter, phase): (char, &PhaseSamples)| {
        let held: Vec<String> = match (samples.gpus.is_empty(), own) {
            (true, _) => Vec::new(),
            (false, true) => samples.gpus.iter().map(|gpu| known(of(phase, gpu.index))).collect(),
            (false, false) => vec![fullest(phase)],
        };
        let began = [format!("{letter} {}", super::words::phase(&phase.name)), number::seconds(phase.at_s)];
        began.into_iter().chain(held).chain([known(phase.peak_rss_bytes), known(phase.least_available_bytes)]).collect()
    };
    let rows: Vec<Vec<String>> = ('a'..='z').zip(&samples.phases).map(row).collect();
    page.table(1, &header, &rows);
}

fn of(phase: &PhaseSamples, index: u32) -> Option<u64> {
    phase.gpus.iter().find(|held| held.index == index).map(|held| held.bytes)
}

fn fullest(phase: &PhaseSamples) -> String {
    let fullest = phase.gpus.iter().max_by_key(|held| (held.bytes, std::cmp::Reverse(held.index)));
    fullest.map_or_else(|| known(None), |held| format!("{} ({})", size(held.bytes), held.index))
}

/// A size; a phase into which no sample fell has none.
fn known(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "no sample".to_owned(), size)
}

fn moments(page: &mut Page<'_>, samples: &Samples) {
    page.line("");
    for mark in samples.marks.iter().take(MARKS) {
        let gpu = |held: &GpuHeld| format!("GPU {} {}", held.index, size(held.bytes));
        let rss = mark.rss_bytes.map(|bytes| format!("{} resident", size(bytes)));
        let held: Vec<String> = mark.gpus.iter().take(OWN).map(gpu).chain(rss).collect();
        let held = if held.is_empty() { String::new() } else { format!(": {}", held.join(", ")) };
        page.led(&format!("  at {}: ", number::seconds(mark.at_s)), None, 4, &format!("{}{held}", clean(&mark.text)));
    }
    let more = (samples.marks.len().saturating_sub(MARKS) as u64).saturating_add(samples.unmarked);
    if more > 0 {
        page.indented(&format!("and {} more", crate::prose::count(usize::try_from(more).unwrap_or(usize::MAX), "moment", "moments")));
    }
}
