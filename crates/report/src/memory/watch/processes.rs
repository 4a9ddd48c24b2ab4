//! Who held how much: processes on GPUs, and those that held most memory of the host.

use bystander_model::memory::{WatchedMemory, WatchedSubject};
use bystander_model::samples::{GpuProcess, GpuSamples, KnownBy, Moment, ProcessPeak};

use super::words;
use crate::number::{self, size};
use crate::page::Page;

/// Processes on GPUs that are shown.
const ON_GPUS: usize = 12;
/// Processes of the host that are shown.
const ON_HOST: usize = 4;
/// What holds less than this share of the largest is not worth a line.
const WORTH: u64 = 50;
/// Columns of everything but a title.
const OTHERS: usize = 62;
/// Columns of a title, at least.
const TITLE: usize = 16;

pub(super) fn write(page: &mut Page<'_>, watched: &WatchedMemory) {
    let samples = &watched.samples;
    let mut all: Vec<(&GpuSamples, &GpuProcess)> =
        samples.gpus.iter().flat_map(|gpu| gpu.processes.iter().map(move |process| (gpu, process))).collect();
    all.sort_by_key(|(gpu, process)| (gpu.index, std::cmp::Reverse(process.peak_bytes), process.pid));
    let whole = watched.what == WatchedSubject::Machine;
    let columns = page.style().width.saturating_sub(OTHERS).max(TITLE);
    let rows: Vec<Vec<String>> = all.iter().take(ON_GPUS).map(|(gpu, process)| on_gpu(gpu, process, whole, columns)).collect();
    if !rows.is_empty() {
        page.line("");
        page.table(2, &["on GPU", "pid", "at most", "when", "at the end", "process"].map(str::to_owned), &rows);
    }
    if all.len() > ON_GPUS {
        page.indented(&format!("and {} more (--json has them all)", all.len() - ON_GPUS));
    }
    let largest = samples.processes.first().map_or(0, |process| process.peak_rss_bytes);
    let worth = samples.processes.iter().take(ON_HOST).filter(|process| process.peak_rss_bytes >= largest / WORTH);
    let rows: Vec<Vec<String>> = worth.map(|process| on_host(process, columns)).collect();
    let shown = rows.len();
    if shown > 0 {
        page.line("");
        page.table(2, &["resident", "pid", "when", "at the end", "process"].map(str::to_owned), &rows);
    }
    let more = samples.processes.len() - shown;
    if more > 0 {
        page.indented(&format!("and {more} more (--json has them)"));
    }
}

fn on_gpu(gpu: &GpuSamples, process: &GpuProcess, whole: bool, columns: usize) -> Vec<String> {
    let pid = process.pid_here.map_or_else(|| process.pid.to_string(), |here| format!("{here} (host {})", process.pid));
    let untold = || "not told".to_owned();
    let by = match process.known_by {
        KnownBy::Appearance => " (came while this was watched)",
        KnownBy::Other if !whole => " (not of it)",
        KnownBy::Tree | KnownBy::NsPid | KnownBy::Other => "",
    };
    let title = process.title.as_ref().map_or_else(|| "not visible here".to_owned(), |title| words::title(title, columns));
    vec![
        gpu.index.to_string(),
        pid,
        process.peak_bytes.map_or_else(untold, size),
        when(process.peak_at.as_ref()),
        process.last_bytes.map_or_else(untold, size),
        format!("{title}{by}"),
    ]
}

fn on_host(process: &ProcessPeak, columns: usize) -> Vec<String> {
    vec![
        size(process.peak_rss_bytes),
        process.pid.to_string(),
        when(process.peak_at.as_ref()),
        process.last_bytes.map_or_else(String::new, size),
        words::title(&process.title, columns),
    ]
}

fn when(moment: Option<&Moment>) -> String {
    let Some(moment) = moment else { return String::new() };
    let phase = moment.phase.as_ref().map_or_else(String::new, |name| format!(" {}", words::phase(name)));
    format!("{}{phase}", number::seconds(moment.at_s))
}
