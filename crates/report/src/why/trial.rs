//! One trial in full: how it ended, what shows it, what its probes say, where its output is.

use bystander_model::hit::{Receipt, ReceiptState};
use bystander_model::report::TrialReport;

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
        let why =
            || trial.metric_evidence.get(name).map_or_else(|| "not seen".to_owned(), |found| format!("no value: {}", clean(&found.text)));
        page.led(&format!("  {} = ", clean(name)), None, 4, &value.map_or_else(why, number::figure));
    }
    if let Some(samples) = &trial.samples {
        super::memory::write(page, samples);
    }
    if let Some(summary) = &trial.traffic {
        super::traffic::write(page, summary);
    }
    if let Some(requests) = &trial.requests {
        let tolerated = format!("{}; {:.1} % tolerated", requests.words(), requests.tolerated * 100.0);
        let tokens = requests.tokens.map_or_else(String::new, |tokens| format!("; {}", counted(tokens, "output token", "output tokens")));
        page.led("  requests of the workload: ", None, 4, &format!("{tolerated}{tokens}"));
        for why in requests.failure.iter().chain(&requests.unknown) {
            page.led("    its metrics do not count: ", None, 6, &clean(why));
        }
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

fn heading(trial: &TrialReport) -> String {
    let purpose = match trial.purpose.as_str() {
        "measure" => format!("block {}", trial.block),
        "gate" => "gate, enters no test".to_owned(),
        "clean" => "clean baseline, enters no test".to_owned(),
        "confirm" => "baseline again, enters no test".to_owned(),
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
