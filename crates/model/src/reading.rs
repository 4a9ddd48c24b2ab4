//! What readers of a program's output are given, line by line, and what they make of it.
//!
//! The experiment owns the trait of a reader, engines own the readers, and neither knows the other: they meet in these types.

use crate::budget::{BudgetReport, VersionRange};
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

/// Whole lines of one stream that were read together; bytes that are not UTF-8 were replaced.
///
/// Most lines of a log mean nothing to anybody. Whoever can tell by one search through the whole text which lines may matter asks for those alone
/// ([`LogBlock::candidates`]), and never looks at the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogBlock<'a> {
    /// The stream they came from.
    pub stream: Stream,
    /// The number of the first one in the stream, from 1.
    pub first: u64,
    /// When they were read.
    pub time: TimeNs,
    /// The lines, each with its line end but for the last, which may lack it.
    pub text: &'a str,
}

impl<'a> LogBlock<'a> {
    /// A line as a block of its own.
    #[must_use]
    pub const fn of_line(line: &LogLine<'a>) -> Self {
        Self { stream: line.stream, first: line.number, time: line.time, text: line.text }
    }

    /// How many lines there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        newlines(self.text) + u64::from(!self.text.is_empty() && !self.text.ends_with('\n'))
    }

    /// Every line, in order.
    pub fn lines(&self) -> impl Iterator<Item = LogLine<'a>> + use<'a> {
        let block = *self;
        (block.first..).zip(block.text.split_inclusive('\n')).map(move |(number, text)| block.line(number, text))
    }

    /// The lines that `find` points into, in order, each once. It is given the text and a byte to start at, and returns the place of any byte of the next
    /// line that may matter, its line end included.
    pub fn candidates<F: FnMut(&str, usize) -> Option<usize>>(&self, mut find: F) -> impl Iterator<Item = LogLine<'a>> + use<'a, F> {
        let block = *self;
        let (mut at, mut number) = (0, block.first);
        std::iter::from_fn(move || {
            let rest = block.text.get(at..).filter(|rest| !rest.is_empty())?;
            let found = find(block.text, at)?.clamp(at, block.text.len() - 1) - at;
            let start = memchr::memrchr(b'\n', &rest.as_bytes()[..found]).map_or(0, |end| end + 1);
            let length = memchr::memchr(b'\n', &rest.as_bytes()[start..]).map_or(rest.len() - start, |end| end + 1);
            number += newlines(&rest[..start]);
            let line = block.line(number, &rest[start..start + length]);
            at += start + length;
            number += 1;
            Some(line)
        })
    }

    /// The last lines, as many as there are up to `count`, in order.
    pub fn last(&self, count: usize) -> impl Iterator<Item = LogLine<'a>> + use<'a> {
        let body = self.text.strip_suffix('\n').unwrap_or(self.text);
        let start = match count {
            0 => self.text.len(),
            count => body.rmatch_indices('\n').nth(count - 1).map_or(0, |(end, _)| end + 1),
        };
        let first = self.first + newlines(&self.text[..start]);
        Self { first, text: &self.text[start..], ..*self }.lines()
    }

    fn line(&self, number: u64, text: &'a str) -> LogLine<'a> {
        LogLine { stream: self.stream, number, time: self.time, text: text.strip_suffix('\n').unwrap_or(text) }
    }
}

fn newlines(text: &str) -> u64 {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64
}

/// A phase of a program that began, as its output shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhaseBegan {
    /// The phase, such as `weight_load`.
    pub name: &'static str,
    /// The stream it stands in.
    pub stream: Stream,
    /// The line of the stream, from 1.
    pub line: u64,
    /// When that line was read.
    pub time: TimeNs,
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
    /// The line in which the program says with which configuration it runs, whole: it beats the command line. Where it takes two lines, both, one a line.
    pub configuration: Option<Evidence>,
    /// The versions of the engine that print such lines, where the engine is known.
    pub version: Option<VersionRange>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{LogBlock, LogLine};
    use crate::evidence::Stream;
    use crate::ids::TimeNs;

    fn block(text: &str) -> LogBlock<'_> {
        LogBlock { stream: Stream::Stdout, first: 10, time: TimeNs(1), text }
    }

    fn told<'a>(lines: impl Iterator<Item = LogLine<'a>>) -> Vec<(u64, &'a str)> {
        lines.map(|line| (line.number, line.text)).collect()
    }

    #[test]
    fn lines_keep_their_numbers_whoever_is_passed_over() {
        let block = block("a\n\nerror b\nc\nerror d");
        assert_eq!(told(block.lines()), [(10, "a"), (11, ""), (12, "error b"), (13, "c"), (14, "error d")]);
        let find = |text: &str, from: usize| text[from..].find("error").map(|at| from + at);
        assert_eq!(told(block.candidates(find)), [(12, "error b"), (14, "error d")]);
        assert_eq!(told(block.last(2)), [(13, "c"), (14, "error d")]);
        assert_eq!((block.count(), told(block.last(0)).len(), told(block.last(9)).len()), (5, 0, 5));
    }

    #[test]
    fn a_place_at_a_line_end_means_that_line() {
        let block = block("a\nb\n");
        assert_eq!(told(block.candidates(|_, from| Some(from + 1))), [(10, "a"), (11, "b")]);
        assert_eq!(told(block.candidates(|text, _| Some(text.len()))), [(11, "b")]);
    }

    proptest! {
        #[test]
        fn candidates_are_those_lines_that_hold_what_is_sought(text in "[ab\n\u{e9}]{0,40}") {
            let block = block(&text);
            let all: Vec<_> = told(block.lines());
            prop_assert_eq!(all.len() as u64, block.count());
            let wanted: Vec<_> = all.iter().copied().filter(|(_, line)| line.contains("ab")).collect();
            prop_assert_eq!(told(block.candidates(|text, from| text.get(from..)?.find("ab").map(|at| from + at))), wanted);
            let last: Vec<_> = all.iter().copied().skip(all.len().saturating_sub(3)).collect();
            prop_assert_eq!(told(block.last(3)), last);
        }
    }
}
