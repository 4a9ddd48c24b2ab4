//! Lines to facts: one [`Facts`] for each start of a server in the lines of one container.

mod keep;

use std::collections::BTreeMap;

use bystander_model::memory::Phase;

use super::line::{self, Failure, Step};
use super::prefix::{self, PROCESS};
use super::semantics;
use crate::explain::failure::{Raised, Tracebacks};
use crate::explain::{Facts, Reader, frames, spoken};
use crate::line::{Line, Place};

/// Starts that are kept of one container.
const STARTS: usize = 64;
/// Processes whose tracebacks are followed at the same time.
const PROCESSES: usize = 64;
/// Lines of the log, whoever wrote them, in which a traceback has to come to its error.
const FOLLOWED: usize = 2000;
/// The label of amounts of the whole server.
pub(crate) const SERVER: &str = "server";

/// Reads the lines of one container, in bounded memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct LogReader {
    done: Vec<Facts>,
    current: Option<Facts>,
    /// What stood before the first line of the engine: a command, a list of processes.
    is_ours: bool,
    tracebacks: BTreeMap<Option<u32>, Tracebacks>,
    /// Lines of any process that are still followed for the errors of open tracebacks.
    followed: usize,
    /// The process that printed numbers under each label.
    writers: BTreeMap<String, u32>,
}

impl Reader for LogReader {
    fn line(&mut self, line: &Line<'_>) {
        let (level, text) = prefix::split(line.text);
        self.followed = if text.contains("Traceback (most recent call last)") { FOLLOWED } else { self.followed.saturating_sub(1) };
        let label = prefix::label(line.process, line.pid);
        let found = line::read(level, text);
        if found.iter().any(|found| self.begins(found, text, line.pid)) {
            self.close();
        }
        self.is_ours |= is_ours(&found, line, text);
        let facts = self.current.get_or_insert_with(|| Facts::new("vllm", line.place));
        semantics::fingerprint(&mut facts.versions, line, text);
        spoken::note(facts, text, &label, line.place);
        // A library that is missing may be warned of with a whole traceback.
        let raised = if matches!(level, "" | "ERROR" | "CRITICAL") { self.raised(line.pid, text) } else { None };
        if found.iter().any(is_number) {
            self.written(&label, line.pid);
        }
        let facts = self.current.as_mut().expect("just made");
        fail(facts, raised, &found, text, &label, line.place);
        for found in found {
            keep::take(facts, found, &label, line.place);
        }
    }

    fn wants_next(&self) -> bool {
        self.followed > 0 && self.tracebacks.values().any(Tracebacks::is_open)
    }

    fn finish(&mut self) -> Vec<Facts> {
        self.close();
        std::mem::take(&mut self.done)
    }
}

impl LogReader {
    /// Whether a line begins another start than the one being read.
    fn begins(&self, found: &line::Line, text: &str, pid: Option<u32>) -> bool {
        let Some(facts) = &self.current else { return false };
        let has_begun = facts.phase() > Phase::ParallelInit || !facts.failures.is_empty() || facts.served.is_some();
        match found {
            // Several API servers of one start print the line while nothing has begun yet.
            line::Line::Begins => has_begun && text.contains("version"),
            // Engines of the same start print it too, but none that comes after a failure or after the server serves.
            line::Line::EngineBegins if facts.message(SEEN_API).is_none() => {
                // A script may make one engine after the other.
                let ended = facts.phase() >= Phase::WarmUp || !facts.failures.is_empty();
                let another = pid.is_some() && self.writers.get("").is_some_and(|writer| Some(*writer) != pid);
                facts.served.is_some() || ended && another
            }
            _ => false,
        }
    }

    /// Notes which process printed numbers under a label; two of them are of two servers that cannot be told apart.
    fn written(&mut self, label: &str, pid: Option<u32>) {
        let Some(pid) = pid.filter(|_| self.writers.len() < PROCESSES || self.writers.contains_key(label)) else { return };
        let writer = *self.writers.entry(label.to_owned()).or_insert(pid);
        if let Some(facts) = self.current.as_mut().filter(|_| writer != pid) {
            let who = if label.is_empty() { "the engine" } else { label };
            facts.entangled.get_or_insert_with(|| {
                format!("Two servers write into this log and nothing tells their lines apart ({who} is process {writer} and process {pid}); their numbers are left out")
            });
        }
    }

    fn close(&mut self) {
        self.tracebacks.clear();
        self.writers.clear();
        let Some(mut facts) = self.current.take().filter(|_| self.is_ours) else { return };
        if facts.entangled.is_some() {
            facts.ranks.clear();
        }
        if let [only] = &mut facts.ranks.iter_mut().filter(|rank| rank.label != SERVER).collect::<Vec<_>>()[..]
            && only.label.starts_with(PROCESS)
        {
            only.label.clear();
        }
        facts.messages.retain(|message| message.name != SEEN_API);
        if self.done.len() < STARTS {
            self.done.push(facts);
        }
    }

    fn raised(&mut self, pid: Option<u32>, text: &str) -> Option<Raised> {
        if self.tracebacks.len() >= PROCESSES && !self.tracebacks.contains_key(&pid) {
            self.tracebacks.retain(|_, traceback| traceback.is_open());
        }
        if self.tracebacks.len() >= PROCESSES && !self.tracebacks.contains_key(&pid) {
            return None;
        }
        self.tracebacks.entry(pid).or_default().line(text)
    }
}

/// A server's first line was seen, so that engines alone begin nothing.
const SEEN_API: &str = "api server";

/// Whether a line holds a number of one rank's memory.
fn is_number(found: &line::Line) -> bool {
    use line::Line as L;
    matches!(
        found,
        L::Weights(_) | L::Available(_) | L::Account(_) | L::FirstAccount(_) | L::FirstProfile(_) | L::Profile(_) | L::Host { .. }
    )
}

/// Whether a line is one that no other engine prints.
fn is_ours(found: &[line::Line], line: &Line<'_>, text: &str) -> bool {
    use line::Line as L;
    let process = line.process.is_some_and(|name| name.starts_with("EngineCore") || name.starts_with("VllmWorker"));
    let known = |found: &L| match found {
        L::Version(_)
        | L::Weights(_)
        | L::Available(_)
        | L::Account(_)
        | L::FirstAccount(_)
        | L::FirstProfile(_)
        | L::Concurrency { .. }
        | L::Blocks { .. }
        | L::Host { .. } => true,
        L::Equivalent { .. } | L::Reserved { .. } | L::Waiting | L::Wrapped | L::Profile(_) | L::GraphsEstimated(_) => true,
        L::Tokens(_) => text.contains("KV cache size"),
        L::GraphsTook(_) => text.contains("Graph capturing finished") || text.contains("pool memory"),
        L::Process { title, .. } => title.starts_with("VLLM::"),
        L::Command(typed) => text.contains("vllm") || typed.share.is_some(),
        L::Begun(step) => matches!(step, Step::Warm | Step::Captured),
        L::SecondRunner => true,
        L::Card { eager, .. } => *eager,
        L::Failed(failure) => matches!(
            failure,
            Failure::NoBlocks
                | Failure::BelowContext { .. }
                | Failure::FewTokens { .. }
                | Failure::ShareNotFree { .. }
                | Failure::Grew { .. }
                | Failure::Sampler { .. }
                | Failure::Load
                | Failure::NoLength
                | Failure::States { .. }
                | Failure::MediaReserve { .. }
        ),
        _ => false,
    };
    process || found.iter().any(known) || text.contains("/vllm/")
}

/// Keeps the error of a line.
fn fail(facts: &mut Facts, raised: Option<Raised>, found: &[line::Line], text: &str, label: &str, place: &Place) {
    let known = found.iter().find_map(|line| if let line::Line::Failed(failure) = line { Some(failure) } else { None });
    let is_wrapper = line::is_wrapper(text);
    let raised = match (raised, known) {
        _ if is_wrapper => None,
        (Some(raised), _) => Some(raised),
        // What is no error by its form, but by its words.
        (None, Some(_)) => Some(Raised { kind: String::new(), message: text.to_owned(), through: String::new() }),
        _ => None,
    };
    let Some(raised) = raised else { return };
    // Each process that passes an error on prints it again.
    let is_new = facts.failures.iter().all(|failure| {
        failure.message != raised.message || failure.kind != raised.kind || failure.label != label && label.starts_with("TP")
    });
    if !is_new {
        return;
    }
    let said = known.cloned().or_else(|| line::failure(&format!("{}: {}", raised.kind, raised.message)));
    let before = facts.failures.len();
    spoken::fail(facts, raised, label, place);
    if let Some(failure) = facts.failures.get_mut(before) {
        failure.phase = said.and_then(|said| phase(&said)).unwrap_or_else(|| frames::phase(&failure.through, failure.phase));
    }
}

/// The phase of a failure whose words are of one phase alone, whatever lines are missing before it.
fn phase(failure: &Failure) -> Option<Phase> {
    match failure {
        Failure::ShareNotFree { .. } => Some(Phase::ParallelInit),
        Failure::Load => Some(Phase::WeightLoad),
        Failure::NoBlocks
        | Failure::BelowContext { .. }
        | Failure::FewTokens { .. }
        | Failure::Grew { .. }
        | Failure::NoLength
        | Failure::States { .. } => Some(Phase::PoolSizing),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{FOLLOWED, LogReader};
    use crate::explain::Reader;
    use crate::line::{Line, Place};

    #[test]
    fn a_traceback_of_a_process_that_is_silent_from_then_on_is_not_followed_for_ever() {
        let place = Place { source: "x".into(), line: 1 };
        let mut reader = LogReader::default();
        let line = |reader: &mut LogReader, pid, text| {
            reader.line(&Line { place: &place, text, container: None, process: Some("Worker"), pid: Some(pid), is_cut: false })
        };
        line(&mut reader, 1, "Traceback (most recent call last):");
        assert!(reader.wants_next());
        for _ in 0..FOLLOWED {
            line(&mut reader, 2, "POST /v1/completions 200");
        }
        assert!(!reader.wants_next());
    }
}
