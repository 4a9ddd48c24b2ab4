//! What a failure starts with where the first exception only tells that something else failed.
//!
//! The processes that a launcher or a pool starts may die without a Python exception. Then the wrapper's is the only traceback, and it reads the same
//! whatever they died of: alone it never shows that two launches failed in the same way.

use std::sync::LazyLock;

use bystander_model::ids::TimeNs;
use bystander_model::outcome::{Cause, CauseGroup};
use regex::Regex;

use super::clip::clip;
use super::crash::Crash;
use super::ended::{cause, ended_by_itself, exit_evidence};
use super::facts::TrialFacts;
use super::first::{is_sure, since};
use super::kept::KeptLine;
use super::memory::{DEVICE_OOM, says_device_oom};
use super::prefix;
use super::severity::{Severity, severity};
use super::signals::signal_name;
use super::signature::short_mask;
use super::traceback::Traceback;

/// The longest text of another cause, in bytes.
const HEADLINE: usize = 300;

/// The type of an exception at the beginning of a message.
static TYPE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(?:[A-Za-z_]\w*\.)*([A-Z]\w*(?:Error|Exception))(?:: |$)").expect("a literal pattern"));

/// Crashes that can have to do with the failure: after the program was ready, where it was, and before Bystander ended it.
fn crashes(facts: &TrialFacts) -> impl DoubleEndedIterator<Item = &Crash> {
    let (from, until) = (since(facts), facts.stopped.as_ref().map_or(TimeNs(u64::MAX), |stopped| stopped.at));
    facts.scan.crashes.iter().filter(move |crash| crash.time >= from && crash.time <= until)
}

/// How the main process ended, with what it said when it died, where that goes with its signal or code. Otherwise what is given, after the death of another
/// process that may have led to it; true where the crash is its own.
pub(super) fn told_by_crash(facts: &TrialFacts, made: Cause, signal: Option<i32>) -> (Cause, bool) {
    let Some(crash) = own_crash(facts, signal) else {
        let made = match first_crash(facts) {
            Some(crash) => after_crash(facts, crash, made),
            None => made,
        };
        return (made, false);
    };
    let class = if says_device_oom(&crash.said) { DEVICE_OOM.to_owned() } else { made.class };
    let text = format!("{}; it said: {}", made.text, crash.text(&facts.place));
    let signature = format!("{}: {}", made.signature, crash.signature(&facts.place));
    let evidence = made.evidence.into_iter().chain(exit_evidence(facts)).chain([crash.evidence(facts.trial)]).collect();
    let told = Cause { class, text, signature, evidence, ..made };
    let told = match first_crash(facts).filter(|first| *first != crash) {
        Some(first) => after_crash(facts, first, told),
        None => told,
    };
    (told, true)
}

/// The crash by which the main process ended: the last that goes with the signal or the code.
fn own_crash(facts: &TrialFacts, signal: Option<i32>) -> Option<&Crash> {
    ended_by_itself(facts).then(|| crashes(facts).rfind(|crash| crash.signal == signal)).flatten()
}

/// The first crash of a process of the program.
pub(super) fn first_crash(facts: &TrialFacts) -> Option<&Crash> {
    crashes(facts).next()
}

/// Puts what a failure starts with before the exception that was raised over it.
pub(super) fn over_wrapper(facts: &TrialFacts, traceback: &Traceback, raised: Cause) -> Cause {
    if raised.blames.is_some() {
        return raised;
    }
    if is_sure(traceback) || raised.class.starts_with("timeout.") {
        let earlier =
            |crash: &&Crash| crash.time <= traceback.time && (crash.stream != traceback.stream || crash.line < traceback.first_line);
        return match first_crash(facts).filter(earlier) {
            Some(crash) => after_crash(facts, crash, raised),
            None => raised,
        };
    }
    if let Some(crash) = first_crash(facts) {
        return then(of_crash(facts, crash), raised);
    }
    match first_error(facts, traceback) {
        Some((kind, line)) => then(of_line(facts, &kind, line), raised),
        None => {
            let text = format!("{}; it only tells that something else failed, and of what is not known", raised.text);
            Cause { text, is_echo: true, ..raised }
        }
    }
}

/// A cause with the crash that came before it: it may have led to it, and launches with other crashes have not failed in the same way.
pub(super) fn after_crash(facts: &TrialFacts, crash: &Crash, mut cause: Cause) -> Cause {
    let evidence = crash.evidence(facts.trial);
    cause.text =
        format!("{}; before that a process had said, {}: {}", cause.text, evidence.place, clip(&crash.text(&facts.place), HEADLINE));
    cause.signature = format!("{}, after {}", cause.signature, crash.signature(&facts.place));
    cause.evidence.push(evidence);
    cause
}

fn then(first: Cause, raised: Cause) -> Cause {
    let text = format!("{}; then {}", first.text, clip(&raised.text, HEADLINE));
    let evidence = first.evidence.into_iter().chain(raised.evidence).collect();
    Cause { text, evidence, ..first }
}

/// The cause that a crash tells.
pub(super) fn of_crash(facts: &TrialFacts, crash: &Crash) -> Cause {
    let class = match crash.signal {
        _ if says_device_oom(&crash.said) => DEVICE_OOM.to_owned(),
        Some(signal) => format!("signal.{}", signal_name(signal)),
        None => "exit.code".to_owned(),
    };
    let mut found = cause(&class, CauseGroup::Target, crash.signature(&facts.place), clip(&crash.text(&facts.place), HEADLINE));
    found.evidence.push(crash.evidence(facts.trial));
    found
}

/// The first line before a wrapper's exception that names the type of an exception and is of no traceback.
fn first_error<'a>(facts: &'a TrialFacts, wrapper: &Traceback) -> Option<(String, &'a KeptLine)> {
    let from = since(facts);
    let of_traceback = |line: &KeptLine| {
        let mut all = facts.scan.tracebacks.iter().filter(|traceback| traceback.stream == line.stream);
        all.any(|traceback| (traceback.first_line..=traceback.end_line).contains(&line.number))
    };
    let before = |line: &&KeptLine| line.time >= from && line.time <= wrapper.time;
    facts.scan.errors.iter().filter(before).filter(|line| !of_traceback(line)).find_map(|line| {
        let prefixed = prefix::split(&line.text);
        let kind = TYPE.captures(prefixed.rest)?.get(1)?.as_str().to_owned();
        (!prefixed.is_mild() && severity(&line.text) == Severity::Fatal).then_some((kind, line))
    })
}

/// An error that was only printed may have been harmless: it is shown as what came first, and shows no more.
fn of_line(facts: &TrialFacts, kind: &str, line: &KeptLine) -> Cause {
    let said = prefix::split(&line.text).rest.trim();
    let class = if says_device_oom(said) { DEVICE_OOM.to_owned() } else { format!("python.{kind}") };
    let evidence = line.evidence(facts.trial);
    let text = format!("{}; that it ended the process is not shown", clip(said, HEADLINE));
    let mut found = cause(&class, CauseGroup::Target, short_mask(said), text);
    found.is_echo = true;
    found.evidence.push(evidence);
    found
}
