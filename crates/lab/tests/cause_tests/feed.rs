//! Feeds a scanner with lines, and makes facts.

use bystander_lab::cause::{Place, ReadySeen, Scan, Scanner, StopWhy, Stopped, TrialFacts};
use bystander_model::edit::AppliedEdit;
use bystander_model::evidence::{Evidence, Stream};
use bystander_model::ids::{TimeNs, TrialId};
use bystander_model::reading::LogLine;

pub(crate) const TRIAL: TrialId = TrialId(7);
/// A second in nanoseconds; line n of a log comes at second n.
pub(crate) const S: u64 = 1_000_000_000;

/// Scans a log that comes on stderr, a line a second.
pub(crate) fn scan(log: &str) -> Scan {
    let mut scanner = Scanner::new();
    for (text, number) in log.lines().zip(1..) {
        scanner.line(&LogLine { stream: Stream::Stderr, number, time: TimeNs(number * S), text });
    }
    scanner.finish()
}

/// The edit `print`, which added those lines to a file.
pub(crate) fn edit(file: &str, added_lines: std::ops::Range<u32>) -> AppliedEdit {
    AppliedEdit {
        id: "e1".into(),
        name: "print".into(),
        file: file.into(),
        before_sha256: String::new(),
        after_sha256: String::new(),
        added_lines,
    }
}

/// A place where no printed file can be looked up.
pub(crate) fn nowhere() -> Place {
    Place { cwd: "/app".into(), real: |_| None }
}

/// Facts of a program that has to become ready, with a log that comes a line a second.
pub(crate) fn server(log: &str) -> TrialFacts {
    TrialFacts { expects_ready: true, ..TrialFacts::new(TRIAL, scan(log), nowhere()) }
}

/// The same, ended by itself at second `at` with an exit code.
pub(crate) fn died(log: &str, exit: i32, at: u64) -> TrialFacts {
    TrialFacts { exit: Some(exit), ended: Some(TimeNs(at * S)), ..server(log) }
}

/// Ready at second `at`.
pub(crate) fn ready(at: u64) -> Option<ReadySeen> {
    Some(ReadySeen { at: TimeNs(at * S), evidence: vec![Evidence::log(TRIAL, Stream::Stderr, at, "ready to roll")] })
}

/// Stopped by Bystander at second `at`.
pub(crate) fn stopped(at: u64, why: StopWhy) -> Option<Stopped> {
    Some(Stopped { at: TimeNs(at * S), why })
}
