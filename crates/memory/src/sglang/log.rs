//! Reads the lines of SGLang's log into facts: one start of a server after another, in bounded memory.

mod lines;
mod settings;
pub(crate) mod text;

use std::collections::BTreeMap;

use bystander_model::memory::Phase;

use super::names;
use super::version::Fingerprint;
use crate::explain::failure::{Raised, Tracebacks};
use crate::explain::{Facts, Reader, frames, spoken};
use crate::line::{Line, Place};

/// Starts that are kept: the first ones and the last ones of a log of many.
const STARTS: usize = 32;

/// Texts of which each line that matters holds at least one.
pub(crate) fn texts() -> Vec<&'static str> {
    let errors =
        ["hit an exception", "KeyboardInterrupt", "sglang.launch_server", "sglang serve", "sglang==", "GLang version", "glang version"];
    // Other marks of a release stand in lines that are read anyway, or in tracebacks, which are followed.
    let marks = ["Load weight end", "Custom allreduce v2 initialized"];
    lines::TEXTS.iter().copied().chain(marks).chain(errors).collect()
}

/// Errors that only report that another process failed, or that somebody stopped the server.
const WRAPPERS: &[&str] = &[
    "Received sigquit",
    "Initialization failed. warmup error",
    "could finish the model loading, but there are other ranks",
    "Please check if there are relevant logs",
    "Connection closed by peer",
    "Connection reset by peer",
    "Broken pipe",
    "watchdog got stuck at work sequence",
];
/// Types of errors that do the same.
const WRAPPER_KINDS: &[&str] =
    &["EOFError", "BrokenPipeError", "ConnectionResetError", "ConnectionRefusedError", "CancelledError", "KeyboardInterrupt"];
/// Words of errors that are about memory, whoever caught them.
const MEMORY: &[&str] = &["mem-fraction-static", "memory", "KV cache", "KV pool", "SWA pool", "state cache", "peer access", "NCCL"];

/// Parts of errors that can only be raised in one phase.
const PHASES: &[(&str, Phase)] = &[
    ("Not enough memory. Please try to increase --mem-fraction-static", Phase::PoolSizing),
    ("Loaded weights leave no GPU memory for the KV cache", Phase::PoolSizing),
    ("hybrid (mamba", Phase::PoolSizing),
    ("Hybrid (mamba", Phase::PoolSizing),
    ("SWA pool", Phase::PoolSizing),
    ("max_running_request is zero", Phase::PoolSizing),
    ("The memory capacity is unbalanced", Phase::ParallelInit),
    ("raph failed", Phase::GraphCapture),
];
/// Parts of a traceback that goes through the draft model's worker.
pub(crate) const DRAFT_WORKERS: [&str; 5] = ["EAGLEWorker", "eagle_worker", "draft_worker", "draft_model_runner", "StandaloneWorker"];

/// The reader.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log {
    done: Vec<Facts>,
    open: Option<Start>,
}

/// One start of a server.
#[derive(Debug, Clone)]
struct Start {
    facts: Facts,
    fingerprint: Fingerprint,
    tracebacks: Tracebacks,
    /// The labels of the line with which the open traceback began.
    traced: String,
    /// Whether the open traceback is one that ends the server.
    is_fatal: bool,
    /// How far each rank has come.
    phases: BTreeMap<String, Phase>,
    wrappers: Vec<crate::explain::facts::Failure>,
    fatal: Vec<bool>,
    /// Whether the line being read has no end.
    is_cut: bool,
    /// Whether any line was SGLang's own.
    is_ours: bool,
    /// Whether the arguments were printed.
    has_arguments: bool,
    /// Whether the start before it had not ended when it began, so that both may go on in the same log.
    may_be_mixed: bool,
}

impl Start {
    fn new(place: &Place) -> Self {
        Self {
            facts: Facts::new(super::NAME, place),
            fingerprint: Fingerprint::default(),
            tracebacks: Tracebacks::default(),
            traced: String::new(),
            is_fatal: false,
            phases: BTreeMap::new(),
            wrappers: Vec::new(),
            fatal: Vec::new(),
            is_cut: false,
            is_ours: false,
            has_arguments: false,
            may_be_mixed: false,
        }
    }

    /// Whether it got beyond its arguments.
    fn has_begun(&self) -> bool {
        !self.facts.ranks.is_empty() || !self.facts.failures.is_empty() || self.facts.served.is_some()
    }

    /// Whether it ended, or came to serve: a start that follows is the next one.
    fn has_ended(&self) -> bool {
        let killed = self.facts.message(spoken::KILLED).or_else(|| self.facts.message(spoken::OOM_KILLED)).is_some();
        !self.facts.failures.is_empty() || !self.wrappers.is_empty() || self.facts.served.is_some() || killed
    }

    fn error(&mut self, raised: Raised, place: &Place) {
        let is_memory = raised.kind.ends_with("OutOfMemoryError") || MEMORY.iter().any(|word| raised.message.contains(word));
        let is_fatal = self.is_fatal || is_memory;
        // A server that serves reports errors of requests, which do not end it.
        if self.facts.served.is_some() && !is_fatal {
            return;
        }
        let is_wrapper =
            WRAPPERS.iter().any(|text| raised.message.contains(text)) || WRAPPER_KINDS.iter().any(|kind| raised.kind.ends_with(kind));
        let before = self.facts.failures.len();
        let label = self.traced.clone();
        spoken::fail(&mut self.facts, raised, &label, place);
        let Some(failure) = self.facts.failures.get_mut(before) else { return };
        // Ranks go at their own pace up to where the parent process answers, which is after all of them.
        let of_rank = self.phases.get(&label).filter(|_| !label.is_empty() && failure.phase < Phase::WarmUp);
        failure.phase = phase_of(&failure.message, &failure.through, of_rank.copied().unwrap_or(failure.phase));
        if is_wrapper {
            self.wrappers.extend(self.facts.failures.pop());
        } else {
            self.fatal.push(is_fatal);
        }
        self.is_fatal = false;
    }

    fn finish(mut self) -> Option<Facts> {
        // An error that ended the server counts above one that was caught; among equals the first in time.
        let mut failures: Vec<_> = self.fatal.iter().copied().zip(self.facts.failures.drain(..)).collect();
        failures.sort_by_key(|(is_fatal, _)| !is_fatal);
        self.facts.failures = failures.into_iter().map(|(_, failure)| failure).collect();
        self.facts.failures.extend(self.wrappers);
        self.facts.versions = self.fingerprint.versions().clone();
        self.is_ours.then_some(self.facts)
    }
}

/// The phase of an error: by its words, where they are of one phase alone, else the last that was seen.
fn phase_of(message: &str, through: &str, seen: Phase) -> Phase {
    let in_draft = DRAFT_WORKERS.iter().any(|name| through.contains(name));
    let said = PHASES.iter().find(|(text, _)| message.contains(text)).map(|(_, phase)| *phase);
    match said {
        Some(Phase::ParallelInit) if in_draft => Phase::DraftLoad,
        Some(Phase::GraphCapture) if seen == Phase::DraftLoad => seen,
        Some(phase) => phase,
        None => frames::phase(through, seen),
    }
}

impl Log {
    fn close(&mut self) {
        if let Some(facts) = self.open.take().and_then(Start::finish) {
            if self.done.len() >= STARTS {
                self.done.remove(STARTS / 2);
            }
            self.done.push(facts);
        }
    }

    /// The start that a line belongs to.
    fn start(&mut self, place: &Place) -> &mut Start {
        self.open.get_or_insert_with(|| Start::new(place))
    }

    /// A line with the arguments begins a server.
    fn arguments(&mut self, text: &str, place: &Place) {
        let goes_on = self.open.as_ref().is_some_and(|start| start.has_arguments && !start.has_ended());
        let follows = self.open.as_ref().is_some_and(|start| start.has_arguments || (start.is_ours && start.has_begun()));
        if follows {
            self.close();
        }
        let start = self.start(place);
        if !start.is_ours {
            start.facts.begun = place.clone();
        }
        start.is_ours = true;
        start.has_arguments = true;
        start.may_be_mixed = goes_on;
        settings::read(text, &mut start.facts.settings, place);
        start.facts.begin(Phase::ParallelInit, place);
    }
}

impl Log {
    /// A line that one start prints once came a second time: it is that of another server that goes on beside it, or of the next start.
    fn double(&mut self, place: &Place) {
        let Some(start) = self.open.as_mut() else { return };
        if !start.may_be_mixed {
            return self.close();
        }
        let text = |other: &Place| {
            format!(
                "Two servers write into {}, the other one begins at {other}, and nothing tells their lines apart ({place} is not of the server before it): no number of either is certain",
                place.source
            )
        };
        if let Some(other) = self.done.last_mut() {
            start.facts.entangled.get_or_insert_with(|| text(&other.begun));
            other.entangled.get_or_insert_with(|| text(&start.facts.begun));
        }
    }
}

impl Reader for Log {
    fn line(&mut self, line: &Line<'_>) {
        let (label, text) = text::split(line.text);
        if text.contains("server_args=ServerArgs(") || text.contains("server_args={") {
            self.arguments(text, line.place);
        } else if self.open.as_ref().is_some_and(|start| lines::is_double(start, label, text) || lines::is_of_others(start, label, text)) {
            self.double(line.place);
        }
        let start = self.start(line.place);
        start.is_cut = line.is_cut;
        start.fingerprint.line(line.text, || line.place.to_string());
        let is_quoted = text.starts_with([' ', '\t']);
        if !is_quoted && lines::take(start, label, text, line.place) && !start.is_ours {
            start.is_ours = true;
            start.facts.begun = line.place.clone();
        }
        spoken::note(&mut start.facts, text, label, line.place);
        if text.contains("Traceback (most recent call last)") || text.contains("hit an exception") {
            start.traced = label.to_owned();
            start.is_fatal |= text.contains("hit an exception");
        } else if !start.tracebacks.is_open() {
            start.traced = label.to_owned();
        }
        if let Some(raised) = start.tracebacks.line(text) {
            start.is_ours |= lines::is_ours(&raised.message);
            start.error(raised, line.place);
        }
    }

    fn wants_next(&self) -> bool {
        self.open.as_ref().is_some_and(|start| start.tracebacks.is_open())
    }

    fn finish(&mut self) -> Vec<Facts> {
        self.close();
        std::mem::take(&mut self.done)
    }
}
