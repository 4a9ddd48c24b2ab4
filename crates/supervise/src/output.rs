//! What the program writes, kept byte for byte in files (but for secrets that are named: stars stand for them), and read back from there line
//! by line.
//!
//! The writing side (`capture`) never waits for the reading side (`lines`): memory stays bounded whatever the program writes
//! and however slow the reader is. What a line means is for callers.

pub(crate) mod blot;
pub(crate) mod capture;
pub(crate) mod lines;
pub mod times;

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

use bystander_model::evidence::Stream;
use bystander_model::ids::TimeNs;

/// Longer lines are cut to this many bytes for scanning; the file has them whole.
pub const LONGEST_TEXT: usize = 64 << 10;

/// Where the output goes: two files that are made anew, and beside each a `.times` index ([`times`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputPaths {
    /// The program's standard output.
    pub stdout: PathBuf,
    /// The program's standard error.
    pub stderr: PathBuf,
}

/// One line of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The stream.
    pub stream: Stream,
    /// Its number in the stream, from 1.
    pub number: u64,
    /// Where it begins in the file.
    pub offset: u64,
    /// When its end was read.
    pub time_ns: TimeNs,
    /// Its bytes without the newline, at most [`LONGEST_TEXT`] of them.
    pub text: Vec<u8>,
    /// Its whole length in bytes, without the newline.
    pub length: u64,
    /// Whether it ended in a newline; the last one of a stream need not.
    pub terminated: bool,
}

impl Line {
    /// The text with a replacement character for what is not UTF-8.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        shown(&self.text)
    }

    /// Whether the text is only the beginning of the line.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.length > self.text.len() as u64
    }
}

/// Several whole lines of one stream, one after another, that were read at the same time. None of them is cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    /// The stream.
    pub stream: Stream,
    /// The number of the first one in the stream, from 1.
    pub first: u64,
    /// How many there are.
    pub count: u64,
    /// Where the first one begins in the file.
    pub offset: u64,
    /// When they were read.
    pub time_ns: TimeNs,
    /// Their bytes; each ends in a newline.
    pub text: Vec<u8>,
}

impl Lines {
    /// The text with a replacement character for what is not UTF-8.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        shown(&self.text)
    }

    /// The last of them.
    #[must_use]
    pub fn last(&self) -> Line {
        let body = self.text.strip_suffix(b"\n").unwrap_or(&self.text);
        let start = memchr::memrchr(b'\n', body).map_or(0, |end| end + 1);
        self.line(self.count.saturating_sub(1), start, &body[start..])
    }

    /// The first one of which something holds, told by its bytes without the newline.
    pub(crate) fn find(&self, mut holds: impl FnMut(&[u8]) -> bool) -> Option<Line> {
        let mut start = 0;
        (0..).zip(memchr::memchr_iter(b'\n', &self.text)).find_map(|(at, end)| {
            let text = &self.text[start..end];
            let found = holds(text).then(|| self.line(at, start, text));
            start = end + 1;
            found
        })
    }

    fn line(&self, at: u64, start: usize, text: &[u8]) -> Line {
        Line {
            stream: self.stream,
            number: self.first + at,
            offset: self.offset + start as u64,
            time_ns: self.time_ns,
            text: text.to_vec(),
            length: text.len() as u64,
            terminated: true,
        }
    }
}

/// The text of bytes, with a replacement character for what is not UTF-8. Checking alone is many times faster than looking for what to replace.
fn shown(bytes: &[u8]) -> Cow<'_, str> {
    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// One line, or several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Read {
    /// One, which may be cut.
    Line(Line),
    /// Several.
    Lines(Lines),
}

/// Output that could not be kept; the program is not told, its output is read on and dropped.
#[derive(Debug, thiserror::Error)]
#[error("write {} (offset {offset})", file.display())]
pub struct OutputError {
    /// The file.
    pub file: PathBuf,
    /// How many bytes it holds.
    pub offset: u64,
    /// The cause.
    #[source]
    pub source: io::Error,
}

/// How much one stream gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamSummary {
    /// Bytes in the file.
    pub bytes: u64,
    /// Lines, an unfinished last one among them.
    pub lines: u64,
    /// Whether all of it is in the file: its end was seen, and everything could be written.
    pub complete: bool,
}
