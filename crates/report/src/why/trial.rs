//! One trial in full: how it ended, what shows it, what its probes say, where its output is.

use bystander_model::hit::{Receipt, ReceiptState};
use bystander_model::report::TrialReport;
use bystander_model::samples::{GpuProcess, Samples};

use crate::number;
use crate::page::Page;
use crate::place::{bracketed, cell_of, place};
use crate::prose::{clean, count};

pub(crate) fn write(page: &mut Page<'_>, trial: &TrialReport) {
    page.heading(&heading(trial));
    if let Some(cause) = &trial.cause_detail {
        let blames = cause
            .blames
            .as_ref()
            .map_or_else(String::new, |name| format!(" (the failing frame lies on a line that {} added)", clean(name)));
        page.led(&format!("  {}: ", clean(&cause.class)), None, 4, &format!("{}{blames}", clean(&cause.text)));
        page.led("    signature: ", None, 6, &clean(&cause.signature));
        for evidence in &cause.evidence {
            page.led(&format!("    {}: ", place(evidence)), None, 6, &clean(&evidence.text));
        }
    }
    for evidence in &trial.evidence {
        page.led(&format!("  {}: ", place(evidence)), None, 4, &clean(&evidence.text));
    }
    for (name, value) in &trial.metrics {
        page.led(&format!("  {} = ", clean(name)), None, 4, &value.map_or_else(|| "not seen".to_owned(), number::figure));
    }
    if let Some(samples) = &trial.samples {
        memory(page, samples);
    }
    if let Some(summary) = &trial.traffic {
        super::traffic::write(page, summary);
    }
    for receipt in &trial.receipts {
        page.led("  ", None, 4, &said(receipt));
    }
    for (stream, path) in &trial.output {
        page.led(&format!("  {}: ", clean(stream)), None, 4, &clean(&path.to_string_lossy()));
    }
    if trial.evidence.is_empty() && trial.cause_detail.is_none() && trial.outcome.is_some() {
        page.indented(&format!("no evidence was recorded{}", bracketed(&trial.evidence, 1)));
    }
}

/// The memory that was seen: of the processes, of the machine, of each GPU and of the processes on it.
fn memory(page: &mut Page<'_>, samples: &Samples) {
    if let Some(peak) = samples.peak_rss_bytes {
        let least =
            samples.least_available_bytes.map_or_else(String::new, |least| format!(", at least {} were left to the machine", size(least)));
        page.led("  memory: ", None, 4, &format!("at most {} resident at a sample{least}", size(peak)));
    }
    for gpu in &samples.gpus {
        let Some(peak) = gpu.peak_bytes else { continue };
        let before = gpu.before_bytes.map_or_else(String::new, |before| format!(", {} before", size(before)));
        let after = gpu.after_bytes.map_or_else(String::new, |after| format!(", {} after", size(after)));
        let by = |process: &GpuProcess| {
            let title = process.title.as_ref().map_or_else(String::new, |title| format!(" ({})", clean(title)));
            format!("; {} by pid {}{title}", process.peak_bytes.map_or_else(|| "an unknown part".to_owned(), size), process.pid)
        };
        let by: String = gpu.processes.iter().map(by).collect();
        page.led(&format!("  GPU {}: ", gpu.index), None, 4, &format!("at most {} held{before}{after}{by}", size(peak)));
    }
}

/// A size of memory, such as `812 MiB` or `21.4 GiB`.
fn size(bytes: u64) -> String {
    let mib = bytes >> 20;
    if mib < 1024 { format!("{mib} MiB") } else { format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)) }
}

fn heading(trial: &TrialReport) -> String {
    let purpose = match trial.purpose.as_str() {
        "measure" => format!("block {}", trial.block),
        "gate" => "gate, enters no test".to_owned(),
        "clean" => "clean baseline, enters no test".to_owned(),
        other => clean(other),
    };
    let outcome = trial.outcome.map_or("still running", |outcome| outcome.word()).replace('_', " ");
    let ready = trial.ready_s.map_or_else(String::new, |s| format!(", ready after {}", number::seconds(s)));
    let wall = trial.wall_s.map_or_else(String::new, |s| format!(" in {}", number::seconds(s)));
    format!("Trial {} ({purpose}): {} {outcome}{wall}{ready}", trial.id, cell_of(trial))
}

fn said(receipt: &Receipt) -> String {
    let rank = receipt.rank.map_or_else(String::new, |rank| format!(" rank {rank}"));
    let state = match receipt.state {
        ReceiptState::Armed => "armed",
        ReceiptState::Refused => "refused",
        ReceiptState::NotImported => "no module was loaded from the file",
        ReceiptState::NotReached => "place never reached",
        ReceiptState::CompiledAway => "compiled away",
        ReceiptState::Uncovered => "not covered by the overlay",
        ReceiptState::Paused => "paused over its budget",
        ReceiptState::Expired => "expired",
    };
    let hits = receipt.hits.map_or_else(|| "hits not known".to_owned(), |hits| counted(hits, "hit", "hits"));
    let passes = receipt.passes.filter(|passes| receipt.hits.is_some_and(|hits| hits < *passes));
    let passes = passes.map_or_else(String::new, |passes| format!(" of {}", counted(passes, "pass", "passes")));
    let dropped = receipt.dropped.filter(|dropped| *dropped > 0).map_or_else(String::new, |dropped| format!(", {dropped} dropped"));
    let throttled = receipt.throttled.filter(|n| *n > 0).map_or_else(String::new, |n| format!(", {n} turned away by its rate"));
    let detail = receipt.detail.as_ref().map_or_else(String::new, |detail| format!("; {}", clean(detail)));
    let python = receipt.python.as_ref().map_or_else(String::new, |version| format!("; Python {}", clean(version)));
    let switch = if receipt.adds_switch_point { "; adds a point where threads may switch" } else { "" };
    format!("{} in pid {}{rank}: {state}, {hits}{passes}{dropped}{throttled}{detail}{python}{switch}", clean(&receipt.probe), receipt.pid)
}

fn counted(number: u64, one: &str, many: &str) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), one, many)
}
