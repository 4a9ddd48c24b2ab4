//! What is measured: histograms of times, counts of requests, and one line a request.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use bystander_model::traffic::{Counts, Spread};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer as _, V2Serializer};
use indexmap::IndexMap;
use serde::Serialize;

use crate::answer::Seen;
use crate::clock::{Ns, SECOND, seconds};
use crate::fault::Fault;

/// The longest time that is told from longer ones: a day.
const LONGEST: Ns = 24 * 3600 * SECOND;

/// Times, in nanoseconds, exact to three digits.
#[derive(Debug)]
pub(crate) struct Times(Histogram<u64>);

impl Times {
    fn new() -> Self {
        // Grows with what it is given.
        let mut histogram = Histogram::new(3).unwrap_or_else(|_| unreachable!("three digits are valid"));
        histogram.auto(true);
        Self(histogram)
    }

    pub(crate) fn record(&mut self, time: Ns) {
        // It grows with what it is given, and a day is within what it can hold: there is nothing to fail.
        let _ = self.0.record(time.min(LONGEST));
    }

    pub(crate) fn spread(&self) -> Option<Spread> {
        let at = |quantile| seconds(self.0.value_at_quantile(quantile));
        (!self.0.is_empty()).then(|| Spread {
            n: self.0.len(),
            mean: self.0.mean() / SECOND as f64,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            max: seconds(self.0.max()),
        })
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        V2Serializer::new().serialize(&self.0, &mut file).map_err(io::Error::other)?;
        file.flush()
    }
}

/// One request that is over.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) number: u64,
    /// When it was meant to start, and when it did.
    pub(crate) intended: Ns,
    pub(crate) started: Ns,
    /// How long its connection took to be set up; `None` for one that was there.
    pub(crate) connect: Option<Ns>,
    pub(crate) end: Ns,
    pub(crate) seen: Seen,
    pub(crate) result: Result<(), Fault>,
}

/// A request in the file of requests; times in nanoseconds of the monotonic clock.
#[derive(Serialize)]
struct Row<'a> {
    request: u64,
    warmup: bool,
    intended_ns: Ns,
    started_ns: Ns,
    first_ns: Option<Ns>,
    last_ns: Option<Ns>,
    end_ns: Ns,
    chunks: u64,
    tokens: u64,
    prompt_tokens: Option<u64>,
    error: Option<&'a str>,
}

/// The measurements of one part of a load.
#[derive(Debug)]
pub(crate) struct Measure {
    pub(crate) ttft: Times,
    pub(crate) itl: Times,
    pub(crate) tpot: Times,
    pub(crate) e2e: Times,
    pub(crate) connect: Times,
    pub(crate) lag: Times,
    /// How long the rounds of the loop took.
    pub(crate) round: Times,
    pub(crate) sent: u64,
    /// Requests that were under way when it was stopped.
    pub(crate) unfinished: u64,
    /// Whether it was stopped before its end.
    pub(crate) cut: bool,
    pub(crate) completed: u64,
    pub(crate) errors: BTreeMap<String, u64>,
    pub(crate) error_texts: BTreeMap<String, String>,
    pub(crate) retried: u64,
    pub(crate) tokens: Tokens,
    pub(crate) first_start: Option<Ns>,
    /// When the first output of a completed request came.
    pub(crate) first_output: Option<Ns>,
    pub(crate) last_end: Ns,
    is_warmup: bool,
    /// Whether latencies count from the intended start: in an open loop, where a late start must not make an answer look fast.
    from_intended: bool,
}

/// Tokens of completed requests.
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    pub(crate) output: u64,
    pub(crate) chunks: u64,
    /// Of the requests that the server counted: how many, their tokens, their chunks.
    pub(crate) counted: u64,
    pub(crate) counted_tokens: u64,
    pub(crate) counted_chunks: u64,
    pub(crate) input: u64,
    pub(crate) input_known: u64,
    pub(crate) cached: Option<u64>,
    /// Requests whose chunks were more than the tokens that the server counted.
    pub(crate) undercounted: u64,
    /// Requests with more than one token whose whole answer came in one piece.
    pub(crate) whole: u64,
}

/// The file with one line a request.
#[derive(Debug)]
pub(crate) struct Rows {
    file: BufWriter<File>,
    lost: Option<io::Error>,
}

impl Rows {
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        Ok(Self { file: BufWriter::new(File::create(folder.join("requests.jsonl"))?), lost: None })
    }

    fn write(&mut self, row: &Row<'_>) {
        let written = serde_json::to_vec(row).map_err(io::Error::other).and_then(|mut line| {
            line.push(b'\n');
            self.file.write_all(&line)
        });
        if let Err(error) = written {
            self.lost.get_or_insert(error);
        }
    }

    /// Ends the file.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.lost.take().map_or(Ok(()), Err)?;
        self.file.flush()
    }
}

impl Measure {
    pub(crate) fn new(is_warmup: bool, from_intended: bool) -> Self {
        Self {
            ttft: Times::new(),
            itl: Times::new(),
            tpot: Times::new(),
            e2e: Times::new(),
            connect: Times::new(),
            lag: Times::new(),
            round: Times::new(),
            sent: 0,
            unfinished: 0,
            cut: false,
            completed: 0,
            errors: BTreeMap::new(),
            error_texts: BTreeMap::new(),
            retried: 0,
            tokens: Tokens::default(),
            first_start: None,
            first_output: None,
            last_end: 0,
            is_warmup,
            from_intended,
        }
    }

    /// Notes that a request was started.
    pub(crate) fn started(&mut self, intended: Ns, started: Ns) {
        self.sent += 1;
        self.lag.record(started.saturating_sub(intended));
        self.first_start = Some(self.first_start.map_or(intended, |first| first.min(intended)));
    }

    /// Notes how a request ended.
    pub(crate) fn ended(&mut self, outcome: Outcome, rows: &mut Rows) {
        let Outcome { number, intended, started, connect, end, mut seen, result } = outcome;
        let result = result.and_then(|()| seen.settle(started));
        let kind = result.as_ref().err().map(Fault::kind);
        rows.write(&Row {
            request: number,
            warmup: self.is_warmup,
            intended_ns: intended,
            started_ns: started,
            first_ns: seen.first,
            last_ns: seen.last,
            end_ns: seen.done.unwrap_or(end),
            chunks: seen.chunks,
            tokens: seen.tokens(),
            prompt_tokens: seen.usage.map(|usage| usage.prompt_tokens),
            error: kind.as_deref(),
        });
        let end = seen.done.unwrap_or(end);
        self.last_end = self.last_end.max(end);
        connect.into_iter().for_each(|time| self.connect.record(time));
        match result {
            Ok(()) => self.completed(if self.from_intended { intended } else { started }, end, &seen),
            Err(fault) => {
                let kind = kind.unwrap_or_default();
                self.error_texts.entry(kind.clone()).or_insert_with(|| fault.to_string());
                *self.errors.entry(kind).or_default() += 1;
            }
        }
    }

    fn completed(&mut self, start: Ns, end: Ns, seen: &Seen) {
        self.completed += 1;
        if let Some(first) = seen.first {
            self.ttft.record(first.saturating_sub(start));
            self.first_output = Some(self.first_output.map_or(first, |earlier| earlier.min(first)));
        }
        seen.time_per_token().into_iter().for_each(|time| self.tpot.record(time));
        self.e2e.record(end.saturating_sub(start));
        self.tokens.add(seen);
    }

    /// Requests that have ended one way or the other.
    pub(crate) const fn over(&self) -> u64 {
        self.sent.saturating_sub(self.unfinished)
    }

    /// The counts alone.
    pub(crate) fn counts(&self) -> Counts {
        Counts { sent: self.over(), completed: self.completed, errors: self.errors() }
    }

    /// Errors by kind, the most frequent first.
    pub(crate) fn errors(&self) -> IndexMap<String, u64> {
        let mut errors: IndexMap<String, u64> = self.errors.iter().map(|(kind, count)| (kind.clone(), *count)).collect();
        errors.sort_by(|_, one, _, other| other.cmp(one));
        errors
    }

    /// Writes every histogram, one file each.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        let all = [("ttft", &self.ttft), ("itl", &self.itl), ("tpot", &self.tpot), ("e2e", &self.e2e), ("connect", &self.connect)];
        for (name, times) in all.into_iter().chain([("client_lag", &self.lag), ("clock_error", &self.round)]) {
            times.write(&folder.join(format!("{name}.hdr")))?;
        }
        Ok(())
    }
}

impl Tokens {
    fn add(&mut self, seen: &Seen) {
        let tokens = seen.tokens();
        self.output += tokens;
        self.chunks += seen.chunks;
        if seen.is_counted() {
            self.counted += 1;
            self.counted_tokens += tokens;
            self.counted_chunks += seen.chunks;
            self.undercounted += u64::from(tokens < seen.chunks);
        }
        self.whole += u64::from(tokens > 1 && seen.first == seen.last);
        if let Some(usage) = seen.usage {
            self.input += usage.prompt_tokens;
            self.input_known += u64::from(usage.prompt_tokens > 0);
            if let Some(cached) = usage.cached() {
                *self.cached.get_or_insert(0) += cached;
            }
        }
    }
}
