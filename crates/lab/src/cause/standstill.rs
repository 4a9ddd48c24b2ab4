//! A program that stands still: where its processes stand, and what follows from it.
//!
//! That it hangs is said only where something shows it: at least two looks at its stacks that are the same, with nothing that moved between them and
//! no clock that would wake it. Anything less is a standstill, whose stacks are quoted and decide nothing.

use std::collections::BTreeSet;

use bystander_model::evidence::{Evidence, Stream};
use bystander_model::outcome::{Cause, CauseGroup};

use super::clip::clip;
use super::ended::{cause, exit_evidence};
use super::facts::TrialFacts;
use super::program::{depth, program_entry, short_file};
use super::traceback::Frame;

/// Processes that are named in a cause's text.
const NAMED: usize = 4;
/// The longest text of one process, in bytes.
const LONGEST: usize = 200;

/// A program that stood still.
#[derive(Debug, Clone)]
pub struct Standstill {
    /// For how long nothing had moved, in seconds.
    pub still_s: f64,
    /// What was measured, such as `in 60 s no output, 0.0 s of processor time, no input or output`.
    pub measured: String,
    /// Why it is sure that it would not have gone on, such as `two looks 30 s apart are the same`; `None` where that is not known.
    pub shown_by: Option<String>,
    /// Where each process stood, parents before their children.
    pub processes: Vec<Standing>,
}

/// Where one process stood.
#[derive(Debug, Clone)]
pub struct Standing {
    /// The process.
    pub pid: u32,
    /// Its title, without secrets.
    pub title: String,
    /// What its main thread did, such as `waits for a lock, with no limit of time`.
    pub wait: String,
    /// The Python stack of its main thread, outermost entry first; empty where it has none or it could not be read.
    pub frames: Vec<Frame>,
    /// The Python stacks of its other threads.
    pub threads: Vec<StandingThread>,
    /// Its first line in the file of stacks, from 1.
    pub line: u64,
}

/// Where a thread beside the main one stood.
#[derive(Debug, Clone)]
pub struct StandingThread {
    /// Its name, where Python has one.
    pub name: Option<String>,
    /// What it did, where that is known.
    pub wait: Option<String>,
    /// Its Python stack, outermost entry first.
    pub frames: Vec<Frame>,
}

/// The place that tells most of a process: of its thread that is farthest inside the program.
struct Telling<'a> {
    frame: &'a Frame,
    /// The thread, where it is not the main one.
    thread: Option<&'a StandingThread>,
}

impl Standing {
    /// The place that tells most: threads in the program's own code come before those that wait to be given something to do, the main thread first.
    fn telling(&self, facts: &TrialFacts) -> Option<Telling<'_>> {
        let main = std::iter::once((&self.frames, None));
        let all = main.chain(self.threads.iter().map(|thread| (&thread.frames, Some(thread))));
        let placed = all.filter_map(|(frames, thread)| {
            Some((depth(frames, &facts.place), Telling { frame: program_entry(frames, &facts.place)?, thread }))
        });
        // Of equals the first.
        placed.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, telling)| telling)
    }

    /// The innermost entry that is the program's own, or what the process waits for.
    fn words(&self, facts: &TrialFacts) -> String {
        let text = match self.telling(facts) {
            Some(Telling { frame, thread }) => {
                let function = frame.function.as_deref().unwrap_or("?");
                let (who, wait) = match thread {
                    None => (String::new(), Some(&self.wait)),
                    Some(thread) => (format!(", thread {},", thread.name.as_deref().unwrap_or("without a name")), thread.wait.as_ref()),
                };
                let wait = wait.map_or_else(String::new, |wait| format!(", {wait}"));
                format!("pid {}{who} in {function}, {}:{}{wait}", self.pid, short_file(&frame.file), frame.line)
            }
            None => format!("pid {} ({}) {}", self.pid, self.title, self.wait),
        };
        clip(&text, LONGEST).to_owned()
    }

    /// What is the same wherever the same hang happens.
    fn mark(&self, facts: &TrialFacts) -> Option<String> {
        let frame = self.telling(facts)?.frame;
        Some(format!("{}:{}", short_file(&frame.file), frame.function.as_deref().unwrap_or("?").rsplit('.').next().unwrap_or("?")))
    }

    fn evidence(&self, facts: &TrialFacts) -> Evidence {
        let line = self.telling(facts).map_or(self.line, |telling| telling.frame.at);
        Evidence::log(facts.trial, Stream::Stacks, line, self.words(facts))
    }
}

/// The program hung.
pub(super) fn hang(facts: &TrialFacts, found: &Standstill) -> Cause {
    let sure = found.shown_by.as_deref().map_or_else(String::new, |why| format!(", {why}"));
    let when = if facts.ready.is_some() {
        " after it was ready"
    } else if facts.expects_ready {
        " before it was ready"
    } else {
        ""
    };
    let text = format!("it hung{when}: {}{sure}; {}", found.measured, places(facts, found));
    let mut cause = cause("hang", CauseGroup::Target, signature(facts, found), text);
    cause.evidence = evidence(facts, found);
    cause.evidence.extend(facts.scan.last_line().map(|line| line.evidence(facts.trial)));
    cause.evidence.extend(exit_evidence(facts));
    cause
}

/// What is the same wherever the same hang happens: the places of all processes.
pub(super) fn signature(facts: &TrialFacts, found: &Standstill) -> String {
    let marks: BTreeSet<String> = found.processes.iter().filter_map(|process| process.mark(facts)).collect();
    let marks = if marks.is_empty() { "no Python stack".to_owned() } else { marks.into_iter().collect::<Vec<_>>().join(", ") };
    format!("hang in {marks}")
}

/// Where its processes stood, in words.
pub(super) fn places(facts: &TrialFacts, found: &Standstill) -> String {
    if found.processes.is_empty() {
        return "where its processes stood is not known".into();
    }
    // Processes with a place in the program say more than their launchers.
    let (told, others): (Vec<&Standing>, Vec<&Standing>) = found.processes.iter().partition(|process| process.telling(facts).is_some());
    let words: Vec<String> = told.iter().chain(&others).take(NAMED).map(|process| process.words(facts)).collect();
    let more = found.processes.len().saturating_sub(NAMED);
    let more = if more > 0 { format!("; {more} more processes") } else { String::new() };
    format!("{}{more}", words.join("; "))
}

/// The stacks and what was measured, as evidence.
pub(super) fn evidence(facts: &TrialFacts, found: &Standstill) -> Vec<Evidence> {
    let measured = Evidence::sample(facts.trial, "processes", &found.measured);
    found.processes.iter().take(NAMED).map(|process| process.evidence(facts)).chain([measured]).collect()
}
