//! What readers of a program's output are given, line by line, and what they make of it.
//!
//! The experiment owns the trait of a reader, engines own the readers, and neither knows the other: they meet in these types.

use crate::budget::BudgetReport;
use crate::evidence::{Evidence, Stream};
use crate::ids::TimeNs;

/// One line of captured output, without its line end; bytes that are not UTF-8 were replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogLine<'a> {
    /// The stream it came from.
    pub stream: Stream,
    /// Its number in the stream, from 1.
    pub number: u64,
    /// When it was read.
    pub time: TimeNs,
    /// What stands there.
    pub text: &'a str,
}

/// The error that a failure starts with, as the output shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorSeen<'a> {
    /// The stream it stands in.
    pub stream: Stream,
    /// The line of the stream, from 1.
    pub line: u64,
    /// The exception's type as printed, such as `torch.OutOfMemoryError`; empty for a bare line.
    pub kind: &'a str,
    /// The message, all of its lines that were kept.
    pub message: &'a str,
}

/// What a reader makes of one trial's output.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// A class that says more than the exception's type, such as `memory.fraction_below_weights`; `None` where the error is not one it knows.
    pub class: Option<String>,
    /// One line for people that says why.
    pub text: Option<String>,
    /// Where that was read.
    pub evidence: Vec<Evidence>,
    /// The memory budget, also of a server that runs.
    pub budget: Option<BudgetReport>,
    /// The line in which the program says with which configuration it runs, whole: it beats the command line.
    pub configuration: Option<Evidence>,
}
