//! Logs of earlier runs as evidence: read as a trial's output is, and shown as what they are.
//!
//! Of an earlier run nothing is known but what its log says. So its outcome is told by positive evidence alone, it enters no test, it never serves as
//! the control of a cell from which it differs, and a claim it may only refute where its configuration is the cell's in everything that is known.

mod compare;
mod lines;

use std::io::{self, BufRead};
use std::path::Path;

use bystander_model::evidence::{Evidence, EvidenceKind, Stream};
use bystander_model::ids::{TimeNs, TrialId};
use bystander_model::old_log::OldLog;
use bystander_model::outcome::Outcome;
use bystander_model::plain;
use bystander_model::reading::{LogLine, Reading};
use regex::Regex;

pub use self::compare::{against, report};
use self::lines::Lines;
use crate::cause::{CauseReader, Classification, Place, Scanner, TrialFacts, classify, ends_it, first_cause};
use crate::plan::{OldLogFile, Plan};

/// Stands for the run of which nothing is known; no trial has this number.
const NO_TRIAL: TrialId = TrialId(0);
/// The stream that its lines are read as.
const STREAM: Stream = Stream::Stderr;

/// Reads a log with new readers of engines; memory does not grow with its length, nor with that of its lines.
///
/// # Errors
/// What reading it said.
pub fn read(file: &OldLogFile, plan: &Plan, input: impl BufRead, mut readers: Vec<Box<dyn CauseReader>>) -> io::Result<OldLog> {
    let mut scanner = Scanner::default();
    let mut ready = Readiness::of(plan);
    let mut lines = Lines::new(input);
    while let Some((number, text)) = lines.next()? {
        // The order of lines stands for their times.
        let line = LogLine { stream: STREAM, number, time: TimeNs(number), text: &text };
        scanner.line(&line);
        readers.iter_mut().for_each(|reader| reader.line(&line));
        ready.line(&line);
    }
    let folder = file.log.parent().unwrap_or(Path::new("/")).to_path_buf();
    let mut facts = TrialFacts::new(NO_TRIAL, scanner.finish(), Place::here(folder));
    let count = facts.scan.lines;
    let (sha256, bytes) = lines.into_digest();
    // A traceback that nothing follows is how a Python program ends with exit code 1; only where there is one may that be assumed.
    facts.exit = Some(1);
    let fatal =
        first_cause(&facts).filter(|first| ends_it(&facts, first) && ready.seen_at().is_none_or(|at| at <= first.end_line)).is_some();
    facts.exit = facts.exit.filter(|_| fatal);
    let engines: Vec<&dyn CauseReader> = readers.iter().map(|reader| &**reader).collect();
    let found = classify(&facts, &engines);
    let known =
        engines.iter().map(|reader| (reader.name().to_owned(), reader.finish(NO_TRIAL, None))).find(|(_, reading)| is_known(reading));
    let mut log = told(file, found, fatal, ready);
    log.engine = known.map(|(name, _)| name);
    (log.sha256, log.bytes, log.lines) = (sha256, bytes, count);
    Ok(log)
}

fn is_known(reading: &Reading) -> bool {
    reading.configuration.is_some() || reading.budget.is_some()
}

/// Puts what was classified into the words of a log.
fn told(file: &OldLogFile, found: Classification, fatal: bool, ready: Readiness) -> OldLog {
    let name = &file.name;
    let outcome = match (fatal, &ready) {
        (true, _) => Outcome::Failed,
        (false, ready) if ready.is_whole() => Outcome::Completed,
        _ => Outcome::Undetermined,
    };
    let mut cause = found.cause.filter(|_| outcome == Outcome::Failed);
    let mut budget = found.budget;
    if let Some(cause) = &mut cause {
        // The exit status was assumed, not seen.
        cause.evidence.retain(|evidence| evidence.kind != EvidenceKind::Exit);
        cause.evidence.iter_mut().for_each(|evidence| rename(evidence, name));
    }
    if let Some(budget) = &mut budget {
        budget.evidence.iter_mut().for_each(|evidence| rename(evidence, name));
        budget.version.from.iter_mut().for_each(|from| *from = renamed(from, name));
    }
    let mut version = found.version.or_else(|| budget.as_ref().map(|budget| budget.version.clone()));
    version.iter_mut().flat_map(|version| &mut version.from).for_each(|from| *from = renamed(from, name));
    let mut configuration = found.configuration;
    configuration.iter_mut().for_each(|evidence| rename(evidence, name));
    let mut evidence = ready.evidence;
    evidence.iter_mut().for_each(|evidence| rename(evidence, name));
    OldLog {
        name: name.clone(),
        file: file.log.clone(),
        sha256: String::new(),
        bytes: 0,
        lines: 0,
        engine: None,
        version,
        configuration,
        outcome,
        cause,
        evidence,
        budget,
    }
}

/// Takes every text of the program through a filter, such as one that hides secrets.
pub fn hide_texts(log: &mut OldLog, hide: impl Fn(&str) -> String) {
    let all = log.cause.iter_mut().flat_map(|cause| cause.evidence.iter_mut()).chain(&mut log.evidence).chain(&mut log.configuration);
    all.for_each(|evidence| evidence.text = hide(&evidence.text));
    if let Some(cause) = &mut log.cause {
        cause.text = hide(&cause.text);
        cause.signature = hide(&cause.signature);
    }
    if let Some(budget) = &mut log.budget {
        budget.evidence.iter_mut().for_each(|evidence| evidence.text = hide(&evidence.text));
    }
}

/// Makes evidence of the log's own: no trial, and the log's name for the stream.
fn rename(evidence: &mut Evidence, name: &str) {
    evidence.trial = None;
    evidence.place = renamed(&evidence.place, name);
}

fn renamed(place: &str, name: &str) -> String {
    place.strip_prefix(STREAM.name()).filter(|rest| rest.starts_with(':')).map_or_else(|| place.to_owned(), |rest| format!("{name}{rest}"))
}

/// What of the program's readiness a log can show: the lines that it asks for.
struct Readiness {
    patterns: Vec<(Regex, bool)>,
    /// Whether lines alone make it ready, and being ready is all that it has to do.
    lines_are_all: bool,
    at: Option<u64>,
    evidence: Vec<Evidence>,
}

impl Readiness {
    fn of(plan: &Plan) -> Self {
        let ready = plan.program.ready.as_ref();
        let texts = ready.map(|ready| ready.log.as_slice()).unwrap_or_default();
        let patterns: Vec<(Regex, bool)> = texts.iter().filter_map(|text| Regex::new(text).ok()).map(|pattern| (pattern, false)).collect();
        let others = ready.is_some_and(|ready| ready.words().len() > texts.len());
        Self { lines_are_all: !patterns.is_empty() && !others && plan.workload.is_none(), patterns, at: None, evidence: Vec::new() }
    }

    fn line(&mut self, line: &LogLine<'_>) {
        for (pattern, seen) in self.patterns.iter_mut().filter(|(_, seen)| !seen) {
            if plain::find(line.text, |text| pattern.is_match(text).then_some(())).is_some() {
                *seen = true;
                self.at = Some(line.number);
                let text: String = line.text.trim().chars().take(300).collect();
                self.evidence.push(Evidence::log(NO_TRIAL, line.stream, line.number, text));
            }
        }
    }

    /// The line with which every line that is asked for was there.
    fn seen_at(&self) -> Option<u64> {
        self.at.filter(|_| self.patterns.iter().all(|(_, seen)| *seen))
    }

    fn is_whole(&self) -> bool {
        self.lines_are_all && self.seen_at().is_some()
    }
}
