//! SGLang: what its log and its sizing's variables say about the memory of one rank.
//!
//! The formula is that of 0.4.3 to 0.5.23; of other releases the report says that they are not modelled.

mod advice;
mod beside;
mod budget;
mod error;
mod hits;
mod inputs;
mod ledger;
mod lines;
mod log;
mod names;
mod notes;
mod rules;
mod seen;
mod shapes;
mod sizing;
mod version;

use std::cell::Cell;
use std::sync::LazyLock;

use bystander_model::hit::Hit;
use bystander_model::ids::TrialId;
use bystander_model::reading::{ErrorSeen, LogBlock, LogLine, Reading};
use regex::Regex;

use crate::explain::{Engine, spoken};
use crate::line::strip::plainly;

use self::beside::Beside;
use self::hits::Hits;
use self::seen::{Seen, Source};
use self::version::Fingerprint;

/// The engine's name in documents.
pub(crate) const NAME: &str = "sglang";

/// What `explain` has to know of SGLang.
pub static ENGINE: Engine = Engine {
    name: NAME,
    texts: log::texts,
    reader: || Box::new(log::Log::default()),
    ledger: ledger::ledger,
    formula: sizing::formula,
    tokens: sizing::pool_tokens,
    rules: rules::RULES,
    not_modelled: notes::not_modelled,
    contradictions: notes::contradictions,
};

/// The longest part of a line that is read, in bytes; the arguments of a server take about 8 KiB.
const LOOKED_AT: usize = 64 << 10;

/// Reads one trial's lines and hits as they come, in bounded memory.
#[derive(Debug, Clone, Default)]
pub struct SglangReader {
    seen: Seen,
    hits: Hits,
    configuration: Option<Source>,
    version: Fingerprint,
    beside: Beside,
}

impl SglangReader {
    /// Starts with nothing read.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The name of what it reads.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        "sglang"
    }

    /// Takes the next line.
    pub fn line(&mut self, line: &LogLine<'_>) {
        plainly(&LogBlock::of_line(line), |block| block.lines().take(1).for_each(|line| self.plain_line(&line)));
    }

    fn plain_line(&mut self, line: &LogLine<'_>) {
        let line = LogLine { text: clip(line.text), ..*line };
        self.version.line(line.text, || format!("{}:{}", line.stream.name(), line.number));
        self.seen.line(&line);
        self.beside.line(&line);
        if self.configuration.is_none() && line.text.contains("server_args=") {
            self.configuration = Some(Source::whole(&line));
        }
    }

    /// Takes the next lines of a stream; those without any of the texts that are read cost one search through all of them.
    pub fn block(&mut self, block: &LogBlock<'_>) {
        plainly(block, |block| self.plain_block(block));
    }

    fn plain_block(&mut self, block: &LogBlock<'_>) {
        static SIEVE: LazyLock<Regex> = LazyLock::new(|| {
            let texts = log::texts().into_iter().chain(spoken::TEXTS.iter().copied()).chain(["Current value: "]);
            let texts = texts.map(regex::escape).collect::<Vec<_>>().join("|");
            Regex::new(&format!("{texts}|{}", lines::TEXTS)).expect("escaped literals")
        });
        // Inside of a traceback each line counts.
        let follows = Cell::new(self.beside.wants_next());
        let found = block.candidates(|text, from| if follows.get() { Some(from) } else { SIEVE.shortest_match_at(text, from) });
        for line in found {
            self.plain_line(&line);
            follows.set(self.beside.wants_next());
        }
    }

    /// Takes the next hit.
    pub fn hit(&mut self, hit: &Hit) {
        self.hits.hit(hit);
    }

    /// Says what was read; `error` is what the failure started with, where there is one.
    #[must_use]
    pub fn finish(&self, trial: TrialId, error: Option<&ErrorSeen<'_>>) -> Reading {
        let start = self.beside.last_start();
        let inputs = inputs::choose(&self.seen, &self.hits, start.as_ref(), trial);
        let (sizing, cell) = (inputs.as_ref().map(|inputs| inputs.sizing), inputs.as_ref().and_then(|inputs| inputs.cell));
        let explained = error.and_then(|error| {
            let by_numbers = error::explain(error, &self.seen, sizing.as_ref(), cell);
            by_numbers.or_else(|| self.beside.explain(error))
        });
        let mut budget = inputs.map(|inputs| budget::report(inputs, &self.seen, self.version.versions(), trial));
        if let Some(budget) = budget.as_mut().filter(|_| error.is_none()) {
            budget.of_little_use = self.beside.starved();
        }
        let about_sizing = explained.as_ref().is_some_and(|explained| explained.class != "memory.device_oom");
        let evidence = budget.as_ref().filter(|_| about_sizing).map_or_else(Vec::new, |budget| budget.evidence.clone());
        // Of an error of the device the phase and the numbers tell what to turn; the sizing says it by itself.
        let advice = self.beside.advice().filter(|_| !about_sizing).map_or_else(String::new, |advice| format!("; {advice}"));
        let (class, text) = explained.map(|explained| (explained.class, format!("{}{advice}", explained.text))).unzip();
        let configuration = self.configuration.as_ref().map(|source| source.evidence(trial));
        let version = configuration.as_ref().map(|_| self.version.versions().range());
        Reading { class, text, evidence, budget, configuration, version }
    }
}

/// Cuts a line to what is read of it, at a character border.
fn clip(text: &str) -> &str {
    if text.len() <= LOOKED_AT {
        return text;
    }
    let end = (0..=LOOKED_AT).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    &text[..end]
}
