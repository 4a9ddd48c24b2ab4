//! What logs say of servers: lines → facts of each start of each server → where the memory of each rank went, what failed first, what to turn.
//!
//! # How a log is read
//!
//! [`Explainer`] takes the bytes of one log in blocks. One search through a block finds the lines that may matter (the texts of all engines, [`Engine::texts`]);
//! only these are cleaned ([`crate::line`]) and, told apart by container, handed to a [`Reader`] of each engine. A reader keeps bounded memory and gives
//! [`Facts`], one for each start of a server that it saw. A line that is not among the texts is only seen while [`Reader::wants_next`] says so: a reader
//! follows a traceback to its end that way ([`failure::Tracebacks`] does it).
//!
//! # How an engine takes part
//!
//! An engine is one [`Engine`] value in [`ENGINES`]: the texts it searches for, how to make its reader, and functions of [`Facts`] alone: the ledger of
//! each rank, the formula with its numbers, the tokens that were printed, and rules. A [`Rule`] looks at a [`Case`] and gives a [`Found`] (class, certainty, sentence, evidence, advice,
//! contradictions) or nothing. [`fn@judge`] tries the engine's rules in their order, then those that hold for every engine ([`causes::SHARED`]); the first one that
//! finds something is the cause, and later ones only add contradictions. Names of amounts and messages in [`Facts`] are each engine's own; what any
//! process may print (a kill, an error of NCCL, a device out of memory) is noted by [`spoken::note`] under names of its own.

pub mod causes;
mod compare;
mod document;
#[cfg(test)]
mod exact;
pub mod facts;
pub mod failure;
pub(crate) mod frames;
pub mod judge;
mod order;
mod several;
mod sieve;
pub mod spoken;
mod vllm_pairs;

use std::collections::BTreeMap;
use std::sync::Arc;

use bystander_model::memory::{Advice, CauseClass, Certainty, Formula, Rank};

pub use document::{Asked, document};
pub use facts::Facts;
pub use judge::judge;
pub use order::Disorder;
pub use sieve::Sieved;

use self::order::Order;
use crate::line::carrier::Carrier;
use crate::line::{self, LOOKED_AT, Line, Place};

/// Starts of servers that are kept of one log.
const SERVERS: usize = 64;
/// Containers that are told apart in one log.
const CONTAINERS: usize = 64;

/// What `explain` has to know of an engine.
pub struct Engine {
    /// Its name in documents.
    pub name: &'static str,
    /// Texts of which each line that matters holds at least one; few and long, since all logs are searched for all of them.
    pub texts: fn() -> Vec<&'static str>,
    /// Makes a reader of the lines of one container.
    pub reader: fn() -> Box<dyn Reader>,
    /// Where the memory of each rank went.
    pub ledger: fn(&Facts) -> Vec<Rank>,
    /// The formula with its numbers; `None` where one of them is not known.
    pub formula: fn(&Facts) -> Option<Formula>,
    /// Tokens of the whole KV cache, as the log has them; `None` where no line does.
    pub tokens: fn(&Facts) -> Option<f64>,
    /// What may be wrong, the surest first.
    pub rules: &'static [Rule],
    /// Sentences on what no formula here covers.
    pub not_modelled: fn(&Facts) -> Vec<String>,
    /// Sentences on sources that contradict each other.
    pub contradictions: fn(&Facts) -> Vec<String>,
}

/// Every engine that is known.
pub static ENGINES: &[&Engine] = &[&crate::sglang::ENGINE, &crate::vllm::ENGINE];

/// Reads the lines of one container for one engine, in bounded memory.
pub trait Reader: Send {
    /// Takes a line that holds one of the texts, or was asked for, in the order of the log.
    fn line(&mut self, line: &Line<'_>);

    /// Whether the next line matters, whatever it holds.
    fn wants_next(&self) -> bool {
        false
    }

    /// What was read: one for each start of a server; none where no line of this engine stood there.
    fn finish(&mut self) -> Vec<Facts>;
}

/// What a rule looks at.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// What was read.
    pub facts: &'a Facts,
    /// The ledger.
    pub ranks: &'a [Rank],
    /// The formula with its numbers.
    pub formula: Option<&'a Formula>,
}

/// Looks for one kind of cause.
pub type Rule = fn(&Case<'_>) -> Option<Found>;

/// What a rule found.
#[derive(Debug, Clone)]
pub struct Found {
    /// The class.
    pub class: CauseClass,
    /// How sure it is.
    pub certainty: Certainty,
    /// One sentence: the answer.
    pub text: String,
    /// The lines that say so.
    pub evidence: Vec<Place>,
    /// What to turn, the best first.
    pub advice: Vec<Advice>,
    /// Where the engine's own words and its numbers do not agree.
    pub contradictions: Vec<String>,
    /// Whether a server that serves is of use in spite of it.
    pub is_usable: bool,
}

impl Found {
    /// A cause without advice.
    #[must_use]
    pub fn new(class: CauseClass, certainty: Certainty, text: impl Into<String>, evidence: impl IntoIterator<Item = Place>) -> Self {
        let evidence = evidence.into_iter().collect();
        Self { class, certainty, text: text.into(), evidence, advice: Vec::new(), contradictions: Vec::new(), is_usable: false }
    }

    /// With advice.
    #[must_use]
    pub fn advise(mut self, advice: Advice) -> Self {
        self.advice.push(advice);
        self
    }

    /// With a contradiction.
    #[must_use]
    pub fn against(mut self, text: impl Into<String>) -> Self {
        self.contradictions.push(text.into());
        self
    }
}

/// Reads one log, block by block, in bounded memory.
pub struct Explainer {
    source: Arc<str>,
    carrier: Carrier,
    order: Order,
    containers: BTreeMap<Option<String>, Vec<Box<dyn Reader>>>,
    /// The start of a line whose end has not come yet.
    partial: Vec<u8>,
    lines: u64,
    bytes: u64,
    zeros: u64,
    hungry: bool,
    /// Whether the line being read has no end.
    is_cut: bool,
}

/// What one log held.
#[derive(Debug)]
pub struct Read {
    /// The log, as it is named in places.
    pub source: Arc<str>,
    /// Every start of every server, in the order in which they begin.
    pub servers: Vec<Facts>,
    /// Lines in the log.
    pub lines: u64,
    /// Bytes in the log.
    pub bytes: u64,
    /// Whether it is no text.
    pub is_binary: bool,
    /// The order of its lines, where it is not that in which they were written.
    pub disorder: Option<Disorder>,
}

impl Explainer {
    /// Starts with nothing read; `source` names the log in places.
    #[must_use]
    pub fn new(source: &str) -> Self {
        Self {
            source: source.into(),
            carrier: Carrier::default(),
            order: Order::default(),
            containers: BTreeMap::new(),
            partial: Vec::new(),
            lines: 0,
            bytes: 0,
            zeros: 0,
            hungry: false,
            is_cut: false,
        }
    }

    /// Takes the next bytes; lines may be cut anywhere between two calls.
    pub fn block(&mut self, bytes: &[u8]) {
        self.sieved(bytes, &Sieved::of(bytes));
    }

    /// Takes the next bytes with what [`Sieved::of`] found in them, which may be looked for on another thread.
    pub fn sieved(&mut self, bytes: &[u8], sieved: &Sieved) {
        self.bytes += bytes.len() as u64;
        let mut from = 0;
        if !self.partial.is_empty() {
            let end = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |end| end + 1);
            let room = LOOKED_AT.saturating_sub(self.partial.len());
            self.partial.extend_from_slice(&bytes[..end.min(room)]);
            if bytes[..end].last() != Some(&b'\n') {
                return;
            }
            let mut line = std::mem::take(&mut self.partial);
            if line.last() != Some(&b'\n') {
                line.push(b'\n');
            }
            self.lines(&line, 0, &Sieved::of(&line));
            from = end;
        }
        let whole = memchr::memrchr(b'\n', bytes).map_or(0, |end| end + 1);
        self.lines(&bytes[..whole], from, sieved);
        let tail = &bytes[whole..];
        self.partial.extend_from_slice(&tail[..tail.len().min(LOOKED_AT)]);
    }

    /// Whole lines, from a place on, where one of them begins: the first, or the second.
    fn lines(&mut self, text: &[u8], from: usize, sieved: &Sieved) {
        if self.lines == 0 {
            self.zeros = memchr::memchr_iter(0, &text[from..text.len().min(from + LOOKED_AT)]).count() as u64;
        }
        let before = self.lines - u64::from(from > 0);
        let mut at = from;
        let mut held = sieved.lines.iter();
        while at < text.len() {
            if self.hungry {
                let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |end| at + end + 1);
                self.lines += 1;
                self.line(&text[at..end]);
                at = end;
                continue;
            }
            let Some(next) = held.next() else { break };
            // Where it was wanted for what stands before it, it was read.
            if next.start >= at {
                self.lines = before + next.before + 1;
                self.line(&text[next.start..next.end]);
                at = next.end;
            }
        }
        self.lines = before + sieved.newlines;
    }

    fn line(&mut self, raw: &[u8]) {
        if sieve::is_of_a_request(raw) {
            return;
        }
        let place = Place { source: self.source.clone(), line: self.lines };
        for cleaned in line::clean(raw) {
            let cleaned = self.carrier.strip(cleaned);
            let full = self.containers.len() >= CONTAINERS && !self.containers.contains_key(&cleaned.container);
            if full {
                continue;
            }
            let make = || ENGINES.iter().map(|engine| (engine.reader)()).chain([spoken::reader()]).collect();
            let readers: &mut Vec<Box<dyn Reader>> = self.containers.entry(cleaned.container.clone()).or_insert_with(make);
            let line = Line { is_cut: self.is_cut, ..cleaned.at(&place) };
            self.order.line(&line);
            readers.iter_mut().for_each(|reader| reader.line(&line));
        }
        self.hungry = self.containers.values().flatten().any(|reader| reader.wants_next());
    }

    /// What was read.
    #[must_use]
    pub fn finish(mut self) -> Read {
        if !self.partial.is_empty() {
            let mut line = std::mem::take(&mut self.partial);
            line.push(b'\n');
            self.is_cut = true;
            self.lines(&line, 0, &Sieved::of(&line));
        }
        let mut servers: Vec<(Option<String>, Facts)> = Vec::new();
        for (container, readers) in &mut self.containers {
            let (spoken, engines) = readers.split_last_mut().expect("the reader of what any process says is always there");
            let mut found: Vec<Facts> = engines.iter_mut().flat_map(|reader| reader.finish()).collect();
            if found.is_empty() {
                found = spoken.finish();
            }
            servers.extend(found.into_iter().map(|facts| (container.clone(), facts)));
        }
        // Where an engine spoke anywhere in the log, lines of nobody in another container are no server.
        if servers.iter().any(|(_, facts)| facts.engine != spoken::NOBODY) {
            servers.retain(|(_, facts)| facts.engine != spoken::NOBODY);
        }
        servers.sort_by_key(|(_, facts)| facts.begun.line);
        servers.truncate(SERVERS);
        let several = servers.iter().any(|(container, _)| container != &servers[0].0);
        let servers = servers.into_iter().map(|(container, mut facts)| {
            facts.container = container.filter(|_| several);
            facts
        });
        Read {
            servers: servers.collect(),
            lines: self.lines,
            bytes: self.bytes,
            is_binary: self.zeros > 8,
            disorder: self.order.disorder(),
            source: self.source,
        }
    }
}
