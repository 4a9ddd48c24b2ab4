//! From measurements to what a trial records: figures, whether the traffic passed, and what is worth knowing of them.

use std::path::PathBuf;

use bystander_model::traffic::{Arrival, Client, Load, Summary};

use crate::clock::{Ns, SECOND, seconds};
use crate::measure::Measure;

/// A client that starts requests later than this, by its 99th percentile, did not make the load that was asked for.
const LATE: Ns = SECOND / 1000;
/// More of the prompts than this from a prefix cache, and random prompts were not what the server had to work on.
const CACHED: f64 = 0.01;
/// A span without any output is one of a server that was not warm yet where it is at least this long, and so many times the median time to first output.
const SILENCE: Ns = SECOND;
const SILENT_TIMES: f64 = 10.0;
/// Prompts that the server counts as so much longer or shorter are worth a note.
const OFF: f64 = 0.1;

/// What is known beside the measurements.
pub(crate) struct Circumstances<'a> {
    pub(crate) load: &'a Load,
    pub(crate) model: String,
    /// Processor time of the measured part.
    pub(crate) processor: Ns,
    /// The words of a random prompt.
    pub(crate) words: Option<u32>,
    pub(crate) asked_usage: bool,
    pub(crate) repeats: Option<f64>,
    pub(crate) folder: PathBuf,
}

pub(crate) fn summarise(measure: &Measure, warmup: &Measure, around: &Circumstances<'_>) -> Summary {
    let load = around.load;
    let wall_s = seconds(measure.last_end.saturating_sub(measure.first_start.unwrap_or(measure.last_end)));
    let a_second = |count: u64| if wall_s > 0.0 { count as f64 / wall_s } else { 0.0 };
    let sent = measure.over();
    let failed = sent.saturating_sub(measure.completed);
    let error_rate = if sent == 0 { 0.0 } else { failed as f64 / sent as f64 };
    let tokens = &measure.tokens;
    let cpu_s = seconds(around.processor);
    let client_lag = measure.lag.spread();
    // In a closed loop nothing was promised about when requests start, and latencies count from when they did.
    let is_open = !matches!(load.arrival, Arrival::Closed { .. });
    let mut summary = Summary {
        arrival: load.arrival.to_string(),
        sent,
        unfinished: measure.unfinished,
        stopped: warmup.cut || measure.cut,
        completed: measure.completed,
        errors: measure.errors(),
        error_texts: measure.error_texts.clone().into_iter().collect(),
        error_rate,
        tolerated: load.errors,
        failure: None,
        warmup: warmup.counts(),
        retried: measure.retried + warmup.retried,
        wall_s,
        requests_per_s: a_second(measure.completed),
        tokens_per_s: a_second(tokens.output),
        output_tokens: tokens.output,
        tokens_from: match tokens.counted {
            0 => "chunks",
            counted if counted == measure.completed => "usage",
            _ => "both",
        }
        .into(),
        chunks: tokens.chunks,
        tokens_per_chunk: (tokens.counted_chunks > 0).then(|| tokens.counted_tokens as f64 / tokens.counted_chunks as f64),
        input_tokens: (tokens.input_known > 0 && tokens.input_known == measure.completed).then_some(tokens.input),
        cached_tokens: tokens.cached,
        ttft: measure.ttft.spread(),
        itl: measure.itl.spread(),
        tpot: measure.tpot.spread(),
        e2e: measure.e2e.spread(),
        connect: measure.connect.spread(),
        client_lag,
        client: Client {
            cpu_s,
            cpu_us_per_token: (tokens.output > 0).then(|| cpu_s * 1e6 / tokens.output as f64),
            clock_error: measure.round.spread(),
            late: is_open && client_lag.is_some_and(|lag| lag.p99 > seconds(LATE)),
        },
        courses: Vec::new(),
        notes: Vec::new(),
        model: around.model.clone(),
        folder: Some(around.folder.clone()),
    };
    summary.failure = failure(&summary);
    summary.notes = notes(&summary, measure, around);
    summary
}

/// Why the traffic as a whole failed: nothing was sent, nothing came, or more failed than is tolerated.
fn failure(summary: &Summary) -> Option<String> {
    if summary.stopped {
        return Some(cut_off(summary));
    }
    if summary.sent == 0 {
        return Some("no request was due in the time that was given".into());
    }
    if summary.completed > 0 && summary.output_tokens > 0 && summary.error_rate <= summary.tolerated {
        return None;
    }
    let first = first_error(summary);
    Some(format!("{}, more than the {} % that are tolerated{first}", failed(summary), summary.tolerated * 100.0))
}

/// `3 of 40 requests failed (reset 3)`.
fn failed(summary: &Summary) -> String {
    let kinds: Vec<String> = summary.errors.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    format!("{} of {} requests failed{kinds}", summary.sent.saturating_sub(summary.completed), summary.sent)
}

fn first_error(summary: &Summary) -> String {
    let told = summary.errors.keys().next().and_then(|kind| summary.error_texts.get(kind));
    told.map_or_else(String::new, |text| format!("; the first failed to {text}"))
}

/// What there is of traffic that was stopped before its end: a part of a load measures no state that the server was in.
fn cut_off(summary: &Summary) -> String {
    let under_way = match summary.unfinished {
        0 => String::new(),
        unfinished => format!(", and {unfinished} were under way"),
    };
    if summary.sent == 0 {
        return format!("it was stopped before a measured request had ended{under_way}");
    }
    format!("it was stopped before its end: {}{under_way}{}", failed(summary), first_error(summary))
}

fn notes(summary: &Summary, measure: &Measure, around: &Circumstances<'_>) -> Vec<String> {
    let tokens = &measure.tokens;
    let mut notes = Vec::new();
    if let (true, Some(lag)) = (summary.client.late, summary.client_lag) {
        let ms = |s: f64| s * 1000.0;
        notes.push(format!(
            "The client was late: requests started up to {:.1} ms after they were meant to, {:.1} ms at the 99th percentile. Latencies count \
             from the intended start, so that they are not too short, but the load was not quite the one that was asked for.",
            ms(lag.max),
            ms(lag.p99)
        ));
    }
    notes.extend(silence(summary, measure));
    if !around.asked_usage {
        notes.push("The server refuses stream_options, so it does not count tokens: a chunk with output counts as one token.".into());
    } else if measure.completed > 0 && tokens.counted < measure.completed {
        notes.push(format!(
            "The server did not count the tokens of {} of {} answers: there, a chunk with output counts as one token.",
            measure.completed - tokens.counted,
            measure.completed
        ));
    }
    if let Some(ratio) = summary.tokens_per_chunk.filter(|ratio| *ratio > 1.05) {
        notes.push(format!("A chunk held {ratio:.2} tokens on average: inter-token times are those between chunks; tpot is per token."));
    }
    let asked = u64::from(around.load.output_tokens);
    if around.load.ignore_eos && tokens.counted > 0 && tokens.counted_tokens < tokens.counted * asked {
        notes.push(format!(
            "Answers were shorter than was asked for: {:.1} tokens on average where {asked} were asked for with ignore_eos. Latencies of shorter answers are shorter.",
            tokens.counted_tokens as f64 / tokens.counted as f64
        ));
    }
    if tokens.undercounted > 0 {
        notes.push(format!("In {} answers the server counted fewer tokens than it sent chunks with output.", tokens.undercounted));
    }
    if tokens.whole > 0 {
        notes.push(format!("{} answers of several tokens came in one piece: they have no inter-token times.", tokens.whole));
    }
    notes.extend(prompt_notes(summary, around));
    notes
}

/// Says that nothing was served for a while after the first request: that time is no property of the server that came after it.
fn silence(summary: &Summary, measure: &Measure) -> Option<String> {
    let span = measure.first_output?.saturating_sub(measure.first_start?);
    let times = seconds(span) / summary.ttft?.p50;
    (span >= SILENCE && times >= SILENT_TIMES).then(|| {
        format!(
            "Nothing was served in the first {:.1} s, {times:.0} times the median time to first output: the server was not warm, and every rate counts that \
             time. `generates` in `ready` waits for a completion, `warmup` leaves the first requests out.",
            seconds(span)
        )
    })
}

fn prompt_notes(summary: &Summary, around: &Circumstances<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let each = summary.input_tokens.filter(|_| summary.completed > 0).map(|tokens| tokens as f64 / summary.completed as f64);
    if let (Some(words), Some(each)) = (around.words, each)
        && (each / f64::from(words.max(1)) - 1.0).abs() > OFF
    {
        notes.push(format!("A prompt of {words} words was {each:.0} tokens as the server counts, what it adds included."));
    }
    if let (Some(cached), Some(input)) = (summary.cached_tokens, summary.input_tokens)
        && around.words.is_some()
        && cached as f64 > input as f64 * CACHED
    {
        let share = 100.0 * cached as f64 / input as f64;
        notes.push(format!(
            "The server took {share:.0} % of the random prompts' tokens from its prefix cache: it was warm, or all begin alike."
        ));
    }
    if let Some(repeats) = around.repeats.filter(|repeats| *repeats > 1.0) {
        notes.push(format!("Each prompt of the file was asked {repeats:.1} times: a prefix cache may have helped."));
    }
    if let Arrival::Closed { concurrency } = around.load.arrival
        && summary.sent < u64::from(concurrency)
    {
        notes.push(format!("{} requests are fewer than {concurrency} at a time: that concurrency was never reached.", summary.sent));
    }
    notes
}
