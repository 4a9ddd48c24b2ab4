//! The memory that samples of a trial have seen: of its processes, of the machine, of each GPU and of the processes on it; and in which phase.

use bystander_model::samples::{GpuProcess, KnownBy, PhaseSamples, Samples};

use crate::memory::words;
use crate::number::{self, size};
use crate::page::Page;
use crate::prose::clean;

/// Moments that are shown.
const MARKS: usize = 8;

pub(super) fn write(page: &mut Page<'_>, samples: &Samples) {
    if let Some(peak) = samples.peak_rss_bytes {
        let least =
            samples.least_available_bytes.map_or_else(String::new, |least| format!(", at least {} were left to the machine", size(least)));
        page.led("  memory: ", None, 4, &format!("at most {} resident at a sample{least}", size(peak)));
    }
    if let Some(load) = samples.load_before {
        page.led("  load: ", None, 4, &format!("{load:.2} at its launch"));
    }
    for gpu in &samples.gpus {
        let Some(peak) = gpu.peak_bytes else { continue };
        let before = gpu.before_bytes.map_or_else(String::new, |before| format!(", {} before", size(before)));
        let after = gpu.after_bytes.map_or_else(String::new, |after| format!(", {} after", size(after)));
        let by: String = gpu.processes.iter().map(by).collect();
        page.led(&format!("  GPU {}: ", gpu.index), None, 4, &format!("at most {} held{before}{after}{by}", size(peak)));
        for said in words::strays(gpu).into_iter().chain(words::untold(gpu)) {
            page.led("    ", None, 6, &said);
        }
    }
    if samples.phases.len() > 1 {
        let phases: Vec<String> = samples.phases.iter().map(phase).collect();
        page.led("  memory by phase: ", None, 4, &phases.join("; "));
    }
    for mark in samples.marks.iter().take(MARKS) {
        let gpus = mark.gpus.iter().map(|held| format!("GPU {} {}", held.index, size(held.bytes)));
        let held: Vec<String> = gpus.chain(mark.rss_bytes.map(|bytes| format!("{} resident", size(bytes)))).collect();
        if !held.is_empty() {
            page.led(&format!("  at {}, {}: ", number::seconds(mark.at_s), clean(&mark.text)), None, 4, &held.join(", "));
        }
    }
}

/// What was held in a phase: on GPUs where there is one, else by processes.
fn phase(phase: &PhaseSamples) -> String {
    let gpus: Vec<String> = phase.gpus.iter().map(|held| format!("GPU {} {}", held.index, size(held.bytes))).collect();
    let held = match (gpus.is_empty(), phase.peak_rss_bytes) {
        (false, _) => gpus.join(", "),
        (true, Some(peak)) => format!("{} resident", size(peak)),
        (true, None) => "no sample".to_owned(),
    };
    format!("{} from {} {held}", words::phase(&phase.name), number::seconds(phase.at_s))
}

fn by(process: &GpuProcess) -> String {
    let title = process.title.as_ref().map_or_else(String::new, |title| format!(" ({})", clean(title)));
    let other = if process.known_by == KnownBy::Other { ", which is not of the trial" } else { "" };
    format!("; {} by pid {}{title}{other}", process.peak_bytes.map_or_else(|| "an unknown part".to_owned(), size), process.pid)
}
