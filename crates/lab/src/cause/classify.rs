//! From the facts of a trial to its outcome, its cause, and what shows them.

mod raised;
mod readers;

use bystander_model::budget::{BudgetReport, VersionRange};
use bystander_model::evidence::Evidence;
use bystander_model::outcome::{Cause, CauseGroup, Outcome, RaisedByInstrument};

use super::added::{printed, raised_on_added};
use super::clip::clip;
use super::early::{died_unasked, never_ready, stopped_answering, too_early, with_answer, with_places};
use super::ended::{
    cause, ended_by_itself, exit_evidence, exited, foreign_listener, host_oom, is_of_machine, memory_limit, outside, own_port, signal_of,
    signalled, starved, telling_line, timed_out,
};
use super::facts::{StopWhy, TrialFacts};
use super::fate::{Fate, fate, survived};
use super::first::{first_cause, was_before_ready};
use super::hang_up::hung_up;
use super::part::{under_load, went_on};
use super::reader::CauseReader;
use super::requests;
use super::root::{after_crash, first_crash, of_crash, over_wrapper};
use super::scheduler;
use super::standstill;
use super::traceback::Traceback;
use super::work::{then_workload, workload, workload_evidence};
use raised::from_traceback;
use readers::{read, refine};

const SIGKILL: i32 = 9;
/// The longest headline in a cause's text, in bytes.
const HEADLINE: usize = 300;

/// What a trial comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Classification {
    /// How it ended.
    pub outcome: Outcome,
    /// Why, for every outcome but `completed`.
    pub cause: Option<Cause>,
    /// What shows that the outcome is so.
    pub evidence: Vec<Evidence>,
    /// Exceptions on lines that instruments added, whatever came of them.
    pub raised: Vec<RaisedByInstrument>,
    /// Signatures of the tracebacks that were printed, whatever came of them.
    pub printed: Vec<String>,
    /// The engine's memory budget, where a reader found one.
    pub budget: Option<BudgetReport>,
    /// The effective configuration that the program printed, where a reader knows the line.
    pub configuration: Option<Evidence>,
    /// The versions of the engine that the lines allow, where a reader knows the engine.
    pub version: Option<VersionRange>,
    /// The engine whose lines these are, where a reader knows it.
    pub printed_by: Option<String>,
}

/// Tells how and why a trial ended. `readers` have seen its lines and hits.
#[must_use]
pub fn classify(facts: &TrialFacts, readers: &[&dyn CauseReader]) -> Classification {
    let first = first_cause(facts);
    let (outcome, mut cause) = clashed(facts, decide(facts, first));
    let error_line = telling_line(facts).filter(|_| first.is_none());
    let readings = read(facts, readers, first, error_line);
    let budget = readings.iter().find_map(|reading| reading.budget.clone());
    let configuration = readings.iter().find_map(|reading| reading.configuration.clone());
    let version = readings.iter().find_map(|reading| reading.version.clone());
    let mut known = readers.iter().zip(&readings).filter(|(_, reading)| reading.configuration.is_some() || reading.budget.is_some());
    let printed_by = known.next().map(|(reader, _)| reader.name().to_owned());
    if let Some(cause) = &mut cause
        && outcome.counts()
    {
        refine(cause, &readings);
    }
    let raised = raised_on_added(facts);
    let mut evidence = outcome_evidence(facts);
    let told = cause.as_ref().map_or(&[][..], |cause| &cause.evidence);
    let quoted = raised.iter().filter(|raised| !told.iter().any(|evidence| evidence.place == raised.evidence[0].place));
    evidence.extend(quoted.flat_map(|raised| raised.evidence.first().cloned()));
    Classification { outcome, cause, evidence, raised, printed: printed(facts), budget, configuration, version, printed_by }
}

fn decide(facts: &TrialFacts, first: Option<&Traceback>) -> (Outcome, Option<Cause>) {
    if let Some(cause) = outside(facts) {
        return (outcome_outside(&cause), Some(cause));
    }
    if is_completed(facts) {
        return (Outcome::Completed, None);
    }
    // Who had ended by then was not ended for it, whenever that was heard of.
    match facts.stop_why().filter(|_| !ended_by_itself(facts)) {
        Some(StopWhy::TimeLimit { limit_s }) => return (Outcome::TimedOut, Some(at_limit(facts, first, *limit_s))),
        Some(StopWhy::Stalled { span_s }) => return stalled(facts, first, *span_s),
        Some(StopWhy::PartDied { span_s }) => {
            let died = went_on(facts, first.map(|first| told_by(facts, first)), *span_s);
            return (Outcome::Failed, Some(complete(facts, died)));
        }
        _ => {}
    }
    if let Some(died) = facts.part_died.as_ref().filter(|_| facts.ready.is_some() && !ended_by_itself(facts)) {
        // An exception that was caught meanwhile is not what the part died of, unless somebody says that something did.
        let known = first.filter(|first| died.said.is_some() || fate(facts, first) == Fate::Ended);
        let raised = known.map(|first| told_by(facts, first)).or_else(|| first_crash(facts).map(|crash| of_crash(facts, crash)));
        return (Outcome::Failed, Some(complete(facts, under_load(facts, raised))));
    }
    if let Some(cause) = failure(facts, first) {
        let late = facts.workload.as_ref().is_some_and(|end| end.timed_out) && !ended_by_itself(facts);
        let late = late || cause.class.starts_with("timeout.") || cause.class == "hang";
        let outcome = match cause.group {
            CauseGroup::Infrastructure => Outcome::Void,
            _ if late => Outcome::TimedOut,
            _ => Outcome::Failed,
        };
        return (outcome, Some(cause));
    }
    (Outcome::Undetermined, Some(unknown(facts)))
}

/// The cause that a traceback tells, and what came before it where it is only a wrapper.
fn told_by(facts: &TrialFacts, first: &Traceback) -> Cause {
    over_wrapper(facts, first, from_traceback(facts, first))
}

/// A hang or a time-out with the death of a process that may be why.
fn with_crash(facts: &TrialFacts, cause: Cause) -> Cause {
    match first_crash(facts) {
        Some(crash) => after_crash(facts, crash, cause),
        None => cause,
    }
}

/// A program that could not have its port, because somebody else of this machine holds it, is no data point.
fn clashed(facts: &TrialFacts, decided: (Outcome, Option<Cause>)) -> (Outcome, Option<Cause>) {
    let (outcome, Some(cause)) = &decided else { return decided };
    let waited_for_it = *outcome == Outcome::TimedOut && facts.expects_ready && facts.ready.is_none();
    let is_of_port = cause.blames.is_none() && (cause.class == "port_in_use" || waited_for_it);
    match facts.port_clash.as_ref().filter(|_| outcome.counts() && is_of_port) {
        Some(holder) => (Outcome::Void, Some(with_evidence_of(foreign_listener(facts, holder), decided.1))),
        None => decided,
    }
}

fn outcome_outside(cause: &Cause) -> Outcome {
    match (cause.group, cause.class.as_str()) {
        (_, "interrupted") => Outcome::Interrupted,
        (CauseGroup::Harness, _) => Outcome::Undetermined,
        _ => Outcome::Void,
    }
}

fn is_completed(facts: &TrialFacts) -> bool {
    if !facts.expects_ready {
        return facts.exit == Some(0) && ended_by_itself(facts);
    }
    facts.ready.is_some() && !died_unasked(facts) && facts.part_died.is_none() && (!facts.expects_workload || facts.worked())
}

/// Bystander ended it because nothing of it moved, or nobody was served: what raised an exception before has failed by it, anything else hangs.
fn stalled(facts: &TrialFacts, first: Option<&Traceback>, span_s: f64) -> (Outcome, Option<Cause>) {
    let Some(first) = first.filter(|first| first.complete) else {
        return (Outcome::TimedOut, Some(with_crash(facts, hung(facts, span_s))));
    };
    let raised = told_by(facts, first);
    let still = facts.standstill.as_ref().map_or_else(|| format!("nothing moved for {span_s:.0} s"), |found| found.measured.clone());
    let places = facts.standstill.as_ref().map_or_else(String::new, |found| format!("; {}", standstill::places(facts, found)));
    let text = format!("{}; its processes stayed, and stood still: {still}{places}", raised.text);
    let evidence =
        raised.evidence.into_iter().chain(facts.standstill.iter().flat_map(|found| standstill::evidence(facts, found))).collect();
    (Outcome::Failed, Some(complete(facts, Cause { text, evidence, ..raised })))
}

fn hung(facts: &TrialFacts, span_s: f64) -> Cause {
    match (&facts.scan.starved, &facts.standstill) {
        (Some(row), _) => starved(facts, row),
        (None, Some(found)) => standstill::hang(facts, found),
        (None, None) => timed_out(facts, span_s),
    }
}

/// A program that stands still because one of its processes died has that as its cause; one that is seen to hang, its hang.
fn at_limit(facts: &TrialFacts, first: Option<&Traceback>, limit_s: f64) -> Cause {
    let sure = facts.standstill.as_ref().filter(|found| found.shown_by.is_some());
    let mut late = match (&facts.scan.starved, sure) {
        (Some(row), _) => starved(facts, row),
        (None, Some(found)) => standstill::hang(facts, found),
        (None, None) => timed_out(facts, limit_s),
    };
    let Some(first) = first else { return with_crash(facts, late) };
    let raised = told_by(facts, first);
    if raised.blames.is_some() || matches!(late.class.as_str(), "timeout.stalled" | "hang") {
        let text = format!("{}; then {}", raised.text, late.text);
        let evidence = raised.evidence.into_iter().chain(late.evidence).collect();
        return Cause { text, evidence, ..raised };
    }
    late.text = format!("{}; before that: {}", late.text, raised.text);
    late.evidence.extend(raised.evidence);
    late
}

/// Why it failed; nothing where nothing shows that it did.
fn failure(facts: &TrialFacts, first: Option<&Traceback>) -> Option<Cause> {
    let itself = ended_by_itself(facts);
    let work = facts.failed_workload();
    if !itself && work.is_none() {
        return None;
    }
    if let Some(cause) = scheduler::told(facts) {
        return Some(with_evidence_of(cause, first.map(|first| told_by(facts, first))));
    }
    let raised = first.map(|first| told_by(facts, first));
    let killed = facts.memory.as_ref().filter(|events| events.oom_kills > 0 && !is_of_machine(events));
    // Somebody was killed somewhere: that is this program only where one of its own was.
    let machine = facts.memory.as_ref().filter(|events| events.oom_kills > 0 && is_of_machine(events) && signal_of(facts) == Some(SIGKILL));
    let starved_row = facts.scan.starved.as_ref().filter(|_| !itself && work.is_some_and(|end| end.timed_out));
    let cause = match (raised, killed) {
        (Some(raised), _) if raised.blames.is_some() => raised,
        (raised, Some(events)) => with_evidence_of(memory_limit(facts, events), raised),
        (None, None) if itself && machine.is_some() => host_oom(facts, machine?),
        (None, None) if starved_row.is_some() => starved(facts, starved_row?),
        (Some(raised), None) if !crashed(facts) => match work.filter(|_| !itself) {
            Some(end) => then_workload(facts, raised, end),
            None => raised,
        },
        (raised, None) if itself => with_evidence_of(without_traceback(facts), raised),
        (_, None) => match (&facts.too_early, &facts.unanswering) {
            (Some(shown), _) => too_early(facts, work?, shown),
            (None, Some(found)) => with_places(facts, stopped_answering(facts, work?, found)),
            (None, None) => with_places(facts, with_answer(facts, workload(facts, work?))),
        },
    };
    let cause = if first.is_none() { with_hang_up(facts, with_survived(facts, cause)) } else { cause };
    Some(complete(facts, cause))
}

/// Whether the machine itself stopped the main process, which no exception does.
fn crashed(facts: &TrialFacts) -> bool {
    ended_by_itself(facts) && signal_of(facts).is_some_and(|signal| matches!(signal, 4 | 7 | 8 | 11))
}

fn without_traceback(facts: &TrialFacts) -> Cause {
    let port = facts.scan.ports.last().filter(|line| facts.ready.as_ref().is_none_or(|ready| line.time >= ready.at));
    // A code that stands for a signal is that signal, so that a failure is the same through a shell.
    match (port, signal_of(facts), facts.exit) {
        (Some(line), None, _) => own_port(facts, line),
        (_, Some(signal), _) => signalled(facts, signal),
        (_, None, code) => exited(facts, code.unwrap_or(0)),
    }
}

/// Mentions a traceback that looks like the cause and is not.
fn with_survived(facts: &TrialFacts, mut cause: Cause) -> Cause {
    let Some(earlier) = survived(facts) else { return cause };
    let evidence = quoted(facts, earlier);
    let why = if was_before_ready(facts, earlier) { ": it was ready after it" } else { "" };
    let said = clip(&evidence.text, HEADLINE);
    cause.text = format!("{}; an earlier traceback at {} was not what ended it{why}: {said}", cause.text, evidence.place);
    cause.evidence.push(evidence);
    cause
}

/// Mentions that the server noticed a client of it to be gone, which comes of what that client got.
fn with_hang_up(facts: &TrialFacts, mut cause: Cause) -> Cause {
    let Some(noticed) = hung_up(facts).filter(|_| cause.class == "workload") else { return cause };
    let evidence = quoted(facts, noticed);
    let said = clip(&evidence.text, HEADLINE);
    cause.text = format!("{}; at {} the server noticed that a client had hung up: {said}", cause.text, evidence.place);
    cause.evidence.push(evidence);
    cause
}

fn quoted(facts: &TrialFacts, traceback: &Traceback) -> Evidence {
    let root = traceback.root();
    let said = if root.kind.is_empty() { "its last line never came".to_owned() } else { root.headline() };
    Evidence::log(facts.trial, traceback.stream, root.at, said)
}

fn with_evidence_of(mut cause: Cause, other: Option<Cause>) -> Cause {
    cause.evidence.extend(other.into_iter().flat_map(|other| other.evidence));
    cause
}

/// Adds how the process and its workload ended, where the cause does not say so yet.
fn complete(facts: &TrialFacts, mut cause: Cause) -> Cause {
    for evidence in exit_evidence(facts).into_iter().chain(workload_evidence(facts)).chain(never_ready(facts)) {
        if !cause.evidence.contains(&evidence) {
            cause.evidence.push(evidence);
        }
    }
    cause
}

fn unknown(facts: &TrialFacts) -> Cause {
    if let Some(cause) = requests::untold(facts) {
        return complete(facts, cause);
    }
    let text = if facts.stopped.is_some() {
        "Bystander ended it before it had shown anything; a ready condition or a longer time limit would decide"
    } else {
        "no exit status of its main process is known, and a missing line shows nothing; its exit status would decide"
    };
    complete(facts, cause("unknown", CauseGroup::Harness, "unknown", text))
}

/// What shows the outcome: ready, the workload's end, the exit status; and what had to be ended after it.
fn outcome_evidence(facts: &TrialFacts) -> Vec<Evidence> {
    let ready = facts.ready.iter().flat_map(|ready| ready.evidence.clone());
    let left = facts.left.iter().map(|text| Evidence::sample(facts.trial, "processes", text));
    let crash = crash_before_exit_zero(facts);
    ready
        .chain(workload_evidence(facts))
        .chain(requests::evidence(facts))
        .chain(exit_evidence(facts))
        .chain(crash)
        .chain(left)
        .chain(facts.owed.iter().cloned())
        .chain(facts.shown.iter().cloned())
        .collect()
}

/// A traceback after which a program that has no ready condition said nothing more, and ended with exit code 0 all the same. A pipe or a wrapper
/// that loses the code looks so, and so does an error that was caught and printed: it is shown, and decides nothing.
fn crash_before_exit_zero(facts: &TrialFacts) -> Option<Evidence> {
    if facts.expects_ready || facts.exit != Some(0) {
        return None;
    }
    let last = facts.scan.tracebacks.iter().rev().find(|traceback| !traceback.harmless && traceback.complete)?;
    let silent = fate(facts, last) == Fate::Open(None);
    let said = format!("{}; nothing was printed after it, and the exit code is 0 all the same", clip(&last.root().headline(), HEADLINE));
    silent.then(|| Evidence::log(facts.trial, last.stream, last.root().at, said))
}
