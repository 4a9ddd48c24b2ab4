//! vLLM in a trial: the same reader and rules, fed with the lines of a program that runs under observation.

mod budget;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use bystander_model::evidence::{Evidence, Stream};
use bystander_model::hit::Hit;
use bystander_model::ids::TrialId;
use bystander_model::memory::CauseClass;
use bystander_model::reading::{ErrorSeen, LogBlock, LogLine, Reading};
use regex::Regex;

use super::line;
use super::reader::LogReader;
use super::stated::{self, Stated};
use crate::explain::judge::of_little_use;
use crate::explain::{Facts, Reader, judge, spoken};
use crate::line::strip::plainly;
use crate::line::{Place, clean};

/// Lines whose text is kept, so that it can be shown as evidence.
const LINES: usize = 512;
/// The longest text that is kept of a line, in characters.
const KEPT: usize = 600;

/// Reads one trial's lines as they come, in bounded memory.
#[derive(Debug, Clone, Default)]
pub struct VllmReader {
    log: LogReader,
    sources: BTreeMap<&'static str, Arc<str>>,
    texts: BTreeMap<(Arc<str>, u64), String>,
    stated: Stated,
}

impl VllmReader {
    /// Starts with nothing read.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The name of what it reads.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        "vllm"
    }

    /// Takes the next line.
    pub fn line(&mut self, line: &LogLine<'_>) {
        let source = self.sources.entry(line.stream.name()).or_insert_with(|| line.stream.name().into()).clone();
        let place = Place { source, line: line.number };
        for cleaned in clean(line.text.as_bytes()) {
            if self.texts.len() < LINES {
                self.texts.entry((place.source.clone(), place.line)).or_insert_with(|| cleaned.text.chars().take(KEPT).collect());
            }
            self.stated.line(&LogLine { text: &cleaned.text, ..*line });
            self.log.line(&cleaned.at(&place));
        }
    }

    /// Takes the next lines of a stream; those without any of the texts that are read cost one search through all of them.
    pub fn block(&mut self, block: &LogBlock<'_>) {
        plainly(block, |block| self.plain_block(block));
    }

    fn plain_block(&mut self, block: &LogBlock<'_>) {
        static SIEVE: LazyLock<Regex> = LazyLock::new(|| {
            let texts: Vec<String> = line::TEXTS.iter().chain(spoken::TEXTS).map(|text| regex::escape(text)).collect();
            Regex::new(&format!("{}|{}", texts.join("|"), stated::TEXTS)).expect("escaped literals, and a literal pattern")
        });
        // Inside of a traceback each line counts.
        let follows = Cell::new(self.log.wants_next());
        let found = block.candidates(|text, from| if follows.get() { Some(from) } else { SIEVE.shortest_match_at(text, from) });
        for line in found {
            self.line(&line);
            follows.set(self.log.wants_next());
        }
    }

    /// Takes the next hit; the engine's numbers are all in its log.
    pub fn hit(&mut self, _hit: &Hit) {}

    /// Says what was read; `error` is what the failure started with, where there is one.
    #[must_use]
    pub fn finish(&self, trial: TrialId, error: Option<&ErrorSeen<'_>>) -> Reading {
        let configuration = self.stated.configuration(trial);
        let version = self.stated.version().filter(|_| configuration.is_some());
        let starts = self.log.clone().finish();
        let Some(facts) = starts.last() else { return Reading { configuration, version, ..Reading::default() } };
        let evidence = |place: &Place| self.evidence(trial, place);
        let mut reading = Reading { configuration, version, budget: budget::report(facts, trial, &evidence), ..Reading::default() };
        if let Some(budget) = reading.budget.as_mut().filter(|_| error.is_none()) {
            budget.of_little_use = of_little_use(judge(facts));
        }
        if error.is_some_and(|error| is_known(error, facts)) {
            self.explain(facts, trial, &mut reading);
        }
        reading
    }

    /// Adds the cause and what to do about it.
    fn explain(&self, facts: &Facts, trial: TrialId, reading: &mut Reading) {
        let server = judge(facts);
        let Some(cause) = server.cause.filter(|cause| !matches!(cause.class, CauseClass::Healthy | CauseClass::Unknown)) else { return };
        let advice = server.advice.first().map_or_else(String::new, |advice| format!("; {}", advice.text.trim_end_matches('.')));
        reading.class = Some(format!("memory.{}", cause.class.name()));
        reading.text = Some(format!("{}{advice}", cause.text.trim_end_matches('.')));
        let places = cause.evidence.iter().filter_map(|place| {
            let (source, line) = place.rsplit_once(':')?;
            Some(Place { source: source.into(), line: line.parse().ok()? })
        });
        reading.evidence = places.filter_map(|place| self.evidence(trial, &place)).collect();
    }

    /// A line that was read, as evidence.
    fn evidence(&self, trial: TrialId, place: &Place) -> Option<Evidence> {
        let stream = Stream::ALL.into_iter().find(|stream| stream.name() == &*place.source)?;
        let text = self.texts.get(&(place.source.clone(), place.line)).cloned().unwrap_or_default();
        Some(Evidence::log(trial, stream, place.line, text))
    }
}

/// Whether an error is one that the rules know, or only passes such a one on.
fn is_known(error: &ErrorSeen<'_>, facts: &Facts) -> bool {
    let said = if error.kind.is_empty() { error.message.to_owned() } else { format!("{}: {}", error.kind, error.message) };
    let failed = |text: &str| line::failure(text).is_some();
    failed(&said)
        || line::is_wrapper(&said) && facts.failures.iter().any(|failure| failed(&format!("{}: {}", failure.kind, failure.message)))
}
