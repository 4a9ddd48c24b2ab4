//! Whether a traceback is how the program ended.
//!
//! A traceback whose lines name a rank, a process or a thread is taken as it stands: its server may end by any exit code, or kill itself. A bare
//! one is the main process's own, and Python ends with exit code 1 after an exception that nobody caught, with nothing after it but the noise of
//! a shutdown. Which of several tracebacks comes first is told elsewhere.

use std::sync::LazyLock;

use bystander_model::evidence::Stream;
use regex::Regex;

use super::echo::{is_echo, only_reports};
use super::ended::ended_by_itself;
use super::facts::{StopWhy, TrialFacts};
use super::first::was_before_ready;
use super::kept::KeptLine;
use super::prefix;
use super::traceback::Traceback;

const SIGINT: i32 = 2;
/// Lines between the end of a process and its launcher's word of it; more of its message may come between.
const TOGETHER: u64 = 6;

/// What Python, its libraries and launchers print while a process shuts down.
static NOISE: LazyLock<Regex> = LazyLock::new(|| {
    let texts = r"resource_tracker|\b[A-Za-z]*Warning: |^Exception ignored |^--- Logging error ---$|^(?:Call stack|Message|Arguments):|^Error in atexit";
    Regex::new(texts).expect("a literal pattern")
});

static ERROR: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\bERROR\b").expect("a literal pattern"));

/// What a traceback has to do with the end of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fate<'a> {
    /// It ended it, or is of a rank, process or thread whose end may end the program in any way.
    Ended,
    /// It may have; the line is the last of those that were printed after it.
    Open(Option<&'a KeptLine>),
    /// The program ended in a way in which no uncaught exception ends Python.
    Survived,
}

/// Tells what a traceback has to do with the end of the program.
pub(super) fn fate<'a>(facts: &'a TrialFacts, traceback: &Traceback) -> Fate<'a> {
    let of_the_dead = facts.part_died.as_ref().and_then(|died| died.traceback);
    if of_the_dead == Some((traceback.stream, traceback.first_line)) {
        return Fate::Ended;
    }
    if !traceback.bare || traceback.interleaved || traceback.rank.is_some() {
        return Fate::Ended;
    }
    if !ended_by_itself(facts) {
        let after = last_after(facts, traceback);
        // Nothing at all moved after it: whoever waits for the thread that died of it waits for ever.
        return if after.is_none() && stood_still(facts) { Fate::Ended } else { Fate::Open(after) };
    }
    if is_reported(facts, traceback) {
        return Fate::Ended;
    }
    let interrupted = traceback.raised.last().is_some_and(|last| last.short_kind() == "KeyboardInterrupt");
    match (facts.signal, facts.exit) {
        (Some(SIGINT), _) | (None, Some(130)) if interrupted => {}
        (None, Some(1)) => {}
        // Python says so after an exception that was caught.
        (None, Some(0)) => return Fate::Open(last_after(facts, traceback)),
        _ => return Fate::Survived,
    }
    last_after(facts, traceback).map_or(Fate::Ended, |line| Fate::Open(Some(line)))
}

/// Whether the next that was said after a traceback is a launcher's word that its process had ended, and is the last that was said: then it is that
/// process's own, and how it ended. Several processes may have ended one after another.
fn is_reported(facts: &TrialFacts, traceback: &Traceback) -> bool {
    if facts.exit == Some(0) || only_reports(traceback.root()) {
        return false;
    }
    let follows = |end: u64, line: u64| line > end && line - end <= TOGETHER;
    let is_later =
        |other: &&Traceback| other.stream == traceback.stream && other.first_line > traceback.end_line && other.complete && !other.harmless;
    let mut end = traceback.end_line;
    for next in facts.scan.tracebacks.iter().filter(is_later) {
        if !follows(end, next.first_line) {
            break;
        }
        end = next.end_line;
        if only_reports(next.root()) {
            return last_after(facts, next).is_none();
        }
    }
    last_after(facts, traceback).is_some_and(|line| follows(end, line.number) && is_echo(prefix::split(&line.text).rest))
}

/// Whether Bystander ended it because nothing moved any more.
fn stood_still(facts: &TrialFacts) -> bool {
    match facts.stop_why() {
        Some(StopWhy::Stalled { .. }) => true,
        Some(StopWhy::TimeLimit { .. }) => facts.progress.as_ref().is_some_and(|progress| !progress.moving),
        Some(StopWhy::Done | StopWhy::PartDied { .. } | StopWhy::Interrupted) | None => false,
    }
}

/// A line that is both an error and a warning is an error.
fn is_noise(text: &str) -> bool {
    NOISE.is_match(text) && !ERROR.is_match(text)
}

/// Whether a traceback is how the program ended, and not one that it may have gone on from.
#[must_use]
pub fn ends_it(facts: &TrialFacts, traceback: &Traceback) -> bool {
    fate(facts, traceback) == Fate::Ended
}

/// The first traceback that the program survived, where nothing says that it was harmless: by how it ended later, or since it got ready after it.
pub(super) fn survived(facts: &TrialFacts) -> Option<&Traceback> {
    let until = facts.stopped.as_ref().map(|stopped| stopped.at);
    let in_time = |traceback: &&Traceback| until.is_none_or(|until| traceback.time <= until);
    let mut all = facts.scan.tracebacks.iter().filter(|traceback| !traceback.harmless).filter(in_time);
    all.find(|traceback| was_before_ready(facts, traceback) || fate(facts, traceback) == Fate::Survived)
}

/// The last line that the main process printed into a traceback's stream after it, other than the noise of a shutdown.
fn last_after<'a>(facts: &'a TrialFacts, traceback: &Traceback) -> Option<&'a KeptLine> {
    // The lines that directly follow may be more of the message; only those that are set in, as notes and hints are, can be told to be.
    meant(facts, traceback.stream).rfind(|line| line.number > traceback.end_line)
}

/// The last lines of a stream without the noise of a shutdown, empty lines and what other processes printed.
pub(super) fn meant(facts: &TrialFacts, stream: Stream) -> impl DoubleEndedIterator<Item = &KeptLine> {
    let harmless = move |number: u64| {
        let mut all = facts.scan.tracebacks.iter().filter(|traceback| traceback.harmless && traceback.stream == stream);
        all.any(|traceback| (traceback.first_line..=traceback.end_line).contains(&number))
    };
    let is_meant = move |line: &&KeptLine| {
        let set_in = line.text.starts_with([' ', '\t']);
        line.stream == stream
            && !(line.text.trim().is_empty() || set_in || is_noise(&line.text) || harmless(line.number))
            && prefix::split(&line.text).rank().is_none()
    };
    facts.scan.last.iter().filter(is_meant)
}
