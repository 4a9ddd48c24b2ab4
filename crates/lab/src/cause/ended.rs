//! Causes that are told from how processes ended, without a traceback.

use bystander_model::evidence::{Evidence, EvidenceKind, Stream};
use bystander_model::outcome::{Cause, CauseGroup};

use super::clip::clip;
use super::early::died_holding;
use super::echo::is_echo;
use super::facts::{MemoryEvents, PortHolder, StopWhy, TrialFacts};
use super::fate::meant;
use super::kept::KeptLine;
use super::mask::mask;
use super::memory::{DEVICE_OOM, says_device_oom};
use super::prefix;
use super::root::told_by_crash;
use super::severity::gravest;
use super::signals::signal_name;
use super::signature::short_mask;
use super::starved::Starved;

/// The longest part of a last line in a text, in bytes.
const LAST_WORDS: usize = 100;

/// What says that a port was taken, in any case of letters.
pub(super) const PORT_WORDS: &str = r"address already in use|EADDRINUSE|port is already allocated|errno 98\b|port \d+ is already in use|_port at \d+ is not available|port is used by a process already|\bAddress in use\b";

/// A cause with its evidence still to come.
pub(super) fn cause(class: &str, group: CauseGroup, signature: impl Into<String>, text: impl Into<String>) -> Cause {
    Cause {
        class: class.to_owned(),
        group,
        signature: signature.into(),
        text: text.into(),
        blames: None,
        is_echo: false,
        evidence: Vec::new(),
    }
}

/// How the main process ended, as evidence.
pub(super) fn exit_evidence(facts: &TrialFacts) -> Option<Evidence> {
    let text = match (facts.signal, facts.exit) {
        (Some(signal), _) => format!("ended by {} ({signal})", signal_name(signal)),
        (None, Some(code)) => format!("exit code {code}"),
        (None, None) => return None,
    };
    let by = match facts.stop_why() {
        Some(_) if !ended_by_itself(facts) => ", after Bystander began to end it",
        _ => "",
    };
    Some(Evidence { trial: Some(facts.trial), kind: EvidenceKind::Exit, place: "exit".into(), text: format!("{text}{by}") })
}

/// Whether the main process ended before Bystander had begun to end it.
pub(super) fn ended_by_itself(facts: &TrialFacts) -> bool {
    let over = facts.exit.is_some() || facts.signal.is_some();
    over && facts.stopped.as_ref().is_none_or(|stopped| facts.ended.is_some_and(|ended| ended < stopped.at))
}

/// Whether the kernel's count is that of the whole machine, whose victim may be anybody.
pub(super) fn is_of_machine(events: &MemoryEvents) -> bool {
    events.source == "/proc/vmstat"
}

/// The kernel killed a process somewhere on the machine for want of memory, and one of this program's processes was killed.
pub(super) fn host_oom(facts: &TrialFacts, events: &MemoryEvents) -> Cause {
    let text = format!(
        "ended by SIGKILL while the kernel killed {} process(es) of this machine for want of memory; the count is the machine's, and does not name them",
        events.oom_kills
    );
    let mut cause = cause("host_oom", CauseGroup::Target, "killed while the machine had no memory left", text);
    cause.evidence.push(Evidence {
        trial: Some(facts.trial),
        kind: EvidenceKind::Sample,
        place: events.source.clone(),
        text: format!("oom_kill +{}", events.oom_kills),
    });
    cause
}

/// The kernel killed a process at the memory limit.
pub(super) fn memory_limit(facts: &TrialFacts, events: &MemoryEvents) -> Cause {
    let limit = events.limit_bytes.map_or_else(String::new, |bytes| format!(" of {bytes} bytes"));
    let text = format!("the kernel killed {} of its processes at the memory limit{limit}", count(events.oom_kills));
    let mut cause = cause("memory_limit", CauseGroup::Target, "killed at the memory limit", text);
    cause.evidence.push(Evidence {
        trial: Some(facts.trial),
        kind: EvidenceKind::Sample,
        place: events.source.clone(),
        text: format!("oom_kill +{}", events.oom_kills),
    });
    cause
}

fn count(number: u64) -> String {
    if number == 1 { "one".into() } else { number.to_string() }
}

/// The port belongs to someone else: the trial is no data point.
pub(super) fn foreign_listener(facts: &TrialFacts, holder: &PortHolder) -> Cause {
    let who = match (holder.pid, &holder.command) {
        (Some(pid), Some(command)) => format!("pid {pid} ({command})"),
        (Some(pid), None) => format!("pid {pid}"),
        (None, Some(command)) => command.clone(),
        (None, None) => "a process that could not be told".into(),
    };
    let whose = holder.whose.as_ref().map_or_else(String::new, |whose| format!(": {whose}"));
    let text = format!("port {} is held by {who}, which is not of this trial{whose}", holder.port);
    let mut cause = cause("port_in_use", CauseGroup::Infrastructure, "port held by another process", text.clone());
    let kind = EvidenceKind::Sample;
    cause.evidence.push(Evidence { trial: Some(facts.trial), kind, place: format!("port {}", holder.port), text });
    cause.evidence.extend(facts.scan.ports.first().map(|line| line.evidence(facts.trial)));
    cause
}

/// The program says that its port is taken, and nobody else is known to hold it.
pub(super) fn own_port(facts: &TrialFacts, line: &KeptLine) -> Cause {
    let who = match &facts.port_holder {
        Some(holder) => format!("port {} is held by the trial's own pid {}", holder.port, holder.pid.unwrap_or(0)),
        None => "who holds it is not known".into(),
    };
    let mut cause = cause("port_in_use", CauseGroup::Target, "port in use", format!("{}; {who}", line.text.trim()));
    cause.evidence.push(line.evidence(facts.trial));
    cause
}

/// A signal ended it that Bystander did not send.
pub(super) fn signalled(facts: &TrialFacts, signal: i32) -> Cause {
    let name = signal_name(signal);
    let shell = match (facts.signal, facts.exit) {
        (None, Some(code)) => format!(" (exit code {code}, as a shell says it)"),
        _ => String::new(),
    };
    let who =
        if matches!(name.as_str(), "SIGKILL" | "SIGTERM" | "SIGINT" | "SIGQUIT" | "SIGHUP") { "; who sent it is not known" } else { "" };
    let load = if facts.under_load { " while its workload ran" } else { "" };
    let text = format!("ended by {name}{shell}{}{load}{who}", after_ready(facts));
    let made = if facts.ready.is_some() {
        let class = if facts.under_load { "died_under_load" } else { "ready_then_died" };
        cause(class, CauseGroup::Target, format!("ended by {name} after ready"), text)
    } else if let Some(held) = facts.held {
        died_holding(facts, held, &format!("was ended by {name}{shell}"), &format!("ended by {name}"))
    } else {
        cause(&format!("signal.{name}"), CauseGroup::Target, format!("ended by {name}"), text)
    };
    let (made, is_told) = told_by_crash(facts, made, Some(signal));
    if is_told { made } else { told_by_lines(facts, made) }
}

/// The signal that ended the main process, or the one that its exit code stands for: a shell adds 128 to the signal that ended its command.
///
/// Only the signals by which programs really end are told from a code, since a program may give itself any.
pub(super) fn signal_of(facts: &TrialFacts) -> Option<i32> {
    let told = |code: i32| matches!(code - 128, 4 | 6 | 7 | 8 | 9 | 11 | 15).then_some(code - 128);
    facts.signal.or_else(|| facts.exit.and_then(told))
}

/// The signal that a negative code of a child stands for, once a process has passed it on as its own and lost the sign.
fn python_signal(code: i32) -> Option<i32> {
    let signal = 256 - code;
    matches!(signal, 6 | 9 | 11 | 15).then_some(signal)
}

/// It ended by itself with an exit code.
pub(super) fn exited(facts: &TrialFacts, code: i32) -> Cause {
    let shell = if (129..=192).contains(&code) {
        format!(" (a shell says so when {} ends a command)", signal_name(code - 128))
    } else if let Some(signal) = python_signal(code) {
        format!(" (Python says so when it passes on that {} ended a child)", signal_name(signal))
    } else {
        String::new()
    };
    let made = if facts.ready.is_some() {
        let load = if facts.under_load { " while its workload ran" } else { "" };
        let class = if facts.under_load { "died_under_load" } else { "ready_then_died" };
        let text = format!("it was ready, and then ended with exit code {code}{shell}{load} before it was asked to");
        cause(class, CauseGroup::Target, format!("exit code {code} after ready"), text)
    } else if let Some(held) = facts.held {
        died_holding(facts, held, &format!("ended with exit code {code}{shell}"), &format!("exit code {code}"))
    } else if code == 0 {
        cause("exited_early", CauseGroup::Target, "exit code 0 before ready", "it ended with exit code 0 without having been ready")
    } else {
        let before = if facts.expects_ready { " before it was ready" } else { "" };
        cause("exit.code", CauseGroup::Target, format!("exit code {code}"), format!("exit code {code}{shell}{before}"))
    };
    let signal = signal_of(facts).or_else(|| python_signal(code));
    let (made, is_told) = told_by_crash(facts, made, signal);
    if is_told {
        return made;
    }
    let signature = with_last_words(facts, &made.signature);
    let echoes = last_words(facts).is_some_and(|line| is_echo(prefix::split(&line.text).rest));
    let mut told = told_by_lines(facts, made);
    // A number alone says nothing to anybody; where no line looks like an error, the last one is what there is.
    if let (None, Some(line)) = (telling_line(facts), last_words(facts)) {
        told.text = format!("{}; its last line: {}", told.text, clip(line.text.trim(), LAST_WORDS).trim_end());
    }
    Cause { signature, is_echo: echoes || told.is_echo, ..told }
}

/// The last thing that was said before the end, errors before output.
fn last_words(facts: &TrialFacts) -> Option<&KeptLine> {
    let until = facts.stopped.as_ref().map(|stopped| stopped.at);
    let in_time = |line: &&KeptLine| until.is_none_or(|until| line.time <= until);
    let last_meant = |stream| meant(facts, stream).rfind(in_time);
    let last_of = |stream| facts.scan.last.iter().filter(in_time).rfind(|line| line.stream == stream && !line.text.trim().is_empty());
    let order = [Stream::Stderr, Stream::Stdout];
    order.into_iter().find_map(last_meant).or_else(|| order.into_iter().find_map(last_of))
}

/// A signature with the last thing that was said, since a number alone is the same for failures that have nothing to do with each other.
pub(super) fn with_last_words(facts: &TrialFacts, signature: &str) -> String {
    let Some(line) = last_words(facts) else { return format!("{signature} without a word") };
    format!("{signature}: {}", short_mask(prefix::split(&line.text).rest))
}

fn after_ready(facts: &TrialFacts) -> &'static str {
    match (&facts.ready, facts.expects_ready) {
        (Some(_), _) => " after it was ready",
        (None, true) => " before it was ready",
        (None, false) => "",
    }
}

/// The gravest line that looks like an error among the last lines, which explains an end without a traceback.
pub(super) fn telling_line(facts: &TrialFacts) -> Option<&KeptLine> {
    let until = facts.stopped.as_ref().map(|stopped| stopped.at);
    let in_time = |line: &&KeptLine| until.is_none_or(|until| line.time <= until);
    let is_last = |line: &&KeptLine| facts.scan.last.iter().any(|last| last.stream == line.stream && last.number == line.number);
    gravest(facts.scan.errors.iter().filter(in_time).filter(is_last))
}

fn told_by_lines(facts: &TrialFacts, mut cause: Cause) -> Cause {
    cause.evidence.extend(exit_evidence(facts));
    if let Some(line) = telling_line(facts) {
        let said = line.text.trim();
        if says_device_oom(said) {
            DEVICE_OOM.clone_into(&mut cause.class);
        }
        cause.text = format!("{}; it said: {said}", cause.text);
        cause.signature = format!("{}: {}", cause.signature, short_mask(said));
        cause.is_echo = is_echo(said);
        cause.evidence.push(line.evidence(facts.trial));
    } else if let Some(line) = facts.scan.last_line() {
        cause.evidence.push(line.evidence(facts.trial));
    }
    cause
}

/// It reached its time limit.
pub(super) fn timed_out(facts: &TrialFacts, limit_s: f64) -> Cause {
    let moved = facts.progress.as_ref().map(|progress| progress.moving);
    let state = match (moved, facts.expects_ready && facts.ready.is_none()) {
        (Some(false), _) => "stalled",
        (_, true) => "starting",
        (_, false) => "running",
    };
    // A program that is ready reaches its limit only while its workload runs.
    let worked = facts.ready.is_some() && facts.expects_workload;
    let what = match (state, worked) {
        ("stalled", false) => "it stood still",
        ("stalled", true) => "it was ready, and it stood still while its workload had not ended",
        (_, true) => "it was ready, and its workload had not ended",
        ("starting", false) => "it was still starting",
        (_, false) => "it was still running",
    };
    let measured = facts.progress.as_ref().map_or_else(String::new, |progress| format!(" ({})", progress.text));
    let unready = facts.unready.as_ref().filter(|_| facts.ready.is_none());
    // Why it was not ready says most, so it stands first.
    let not_ready = unready.map_or_else(String::new, |why| format!("never ready: {why}; "));
    let mut text = format!("{not_ready}{what} at the time limit of {limit_s} s{measured}");
    let mut signature = format!("timeout, {state}");
    let last = facts.scan.last_line();
    if let Some(line) = last {
        let at = facts.stopped.as_ref().map(|stopped| stopped.at.seconds_since(line.time).max(0.0));
        let when = at.map_or_else(String::new, |s| format!(", {s:.1} s before"));
        text = format!("{text}; its last line{when}: {}", line.text.trim());
        signature = format!("{signature} after: {}", short_mask(&line.text));
    } else {
        text = format!("{text}; it had printed nothing");
    }
    let of_workload = facts.workload.as_ref().filter(|_| worked).and_then(|end| end.last_line.as_ref());
    if let Some(line) = of_workload {
        text = format!("{text}; its workload's last line: {}", clip(line.text.trim(), LAST_WORDS).trim_end());
    }
    if let Some(found) = &facts.standstill {
        text = format!("{text}; {}", super::standstill::places(facts, found));
    }
    if let Some(why) = unready {
        signature = format!("{signature}; not ready: {}", mask(why));
    }
    let mut cause = cause(&format!("timeout.{state}"), CauseGroup::Target, signature, text);
    cause.evidence.extend(last.map(|line| line.evidence(facts.trial)));
    cause.evidence.extend(of_workload.cloned());
    cause.evidence.extend(unready.map(|why| Evidence::sample(facts.trial, "readiness", why)));
    cause.evidence.extend(facts.progress.as_ref().map(|progress| Evidence::sample(facts.trial, "processes", &progress.text)));
    cause.evidence.extend(facts.standstill.iter().flat_map(|found| super::standstill::evidence(facts, found)));
    cause
}

/// Requests wait and none runs, line after line.
pub(super) fn starved(facts: &TrialFacts, row: &Starved) -> Cause {
    let text = format!(
        "it serves nobody: {} lines of its statistics in a row, over {:.0} s, have requests that wait and none that runs; the latest: {}",
        row.lines,
        row.span_s(),
        row.last.text.trim()
    );
    let mut cause = cause("hang", CauseGroup::Target, "hang: requests wait and none runs", text);
    cause.evidence.extend([&row.first, &row.last].map(|line| line.evidence(facts.trial)));
    cause.evidence.extend(facts.standstill.iter().flat_map(|found| super::standstill::evidence(facts, found)));
    cause.evidence.extend(exit_evidence(facts));
    cause
}

/// The user, Bystander, an instrument, the machine: what takes a trial out of the comparison before its own end is looked at.
pub(super) fn outside(facts: &TrialFacts) -> Option<Cause> {
    if matches!(facts.stop_why(), Some(StopWhy::Interrupted)) {
        return Some(cause("interrupted", CauseGroup::Harness, "interrupted", "stopped before it could answer"));
    }
    if let Some(error) = &facts.harness_error {
        return Some(cause(
            "harness",
            CauseGroup::Harness,
            format!("harness: {}", short_mask(error)),
            format!("Bystander failed to {error}"),
        ));
    }
    if let Some(refusal) = facts.refusals.first() {
        let text = format!("{} could not go in: {}", refusal.instrument, refusal.reason);
        let signature = format!("refused: {}: {}", refusal.instrument, short_mask(&refusal.reason));
        let mut cause = cause("instrument.refused", CauseGroup::Instrument, signature, text);
        cause.blames = Some(refusal.instrument.clone());
        return Some(cause);
    }
    if let Some(error) = &facts.spawn_error {
        let text = format!("the program could not be started: {error}");
        return Some(cause("spawn", CauseGroup::Infrastructure, format!("spawn: {}", short_mask(error)), text));
    }
    if let Some(holder) = facts.port_holder.as_ref().filter(|holder| !holder.of_this_trial) {
        return Some(foreign_listener(facts, holder));
    }
    facts.contamination.first().map(|found| {
        let mut cause = cause(&found.class, CauseGroup::Infrastructure, short_mask(&found.text), found.text.clone());
        cause.evidence.clone_from(&found.evidence);
        cause
    })
}
