//! The words of a command: passed on as they come, and read for phases on the way.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bystander_memory::phases::Phases;
use bystander_model::evidence::Stream;
use bystander_model::ids::TimeNs;
use bystander_model::reading::LogBlock;

use crate::output::ProgramWords;

/// Bytes that are passed on at once.
const CHUNK: usize = 64 << 10;
/// The longest start of a line that is kept until its end comes; what says that a phase begins is short.
const LINE: usize = 16 << 10;

/// A phase that the log shows to have begun.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Began {
    pub(super) name: &'static str,
    /// Seconds since the start.
    pub(super) at_s: f64,
    /// The line that shows it.
    pub(super) from: String,
}

/// Phases as both streams show them.
pub(super) type SharedPhases = Arc<Mutex<Phases>>;

/// No phase yet.
pub(super) fn shared() -> SharedPhases {
    Arc::default()
}

/// One stream.
pub(super) struct Reading {
    pub(super) stream: Stream,
    pub(super) started: Instant,
    pub(super) phases: SharedPhases,
    pub(super) tell: Sender<Began>,
    pub(super) to: ProgramWords,
}

impl Reading {
    /// Reads to the end.
    pub(super) fn run(mut self, pipe: OwnedFd) {
        let mut pipe = File::from(pipe);
        let mut buffer = vec![0; CHUNK];
        let mut lines = Lines { first: 1, open: Vec::new() };
        loop {
            let read = match pipe.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            // Read before it is passed on: whoever has seen a line can rely on it that its time was taken.
            lines.take(&buffer[..read], |first, text| self.read(first, text));
            self.to.write(&buffer[..read]);
        }
        lines.end(|first, text| self.read(first, text));
        self.to.end();
    }

    fn read(&self, first: u64, text: &[u8]) {
        let nanoseconds = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let text = String::from_utf8_lossy(text);
        let mut phases = self.phases.lock().unwrap_or_else(PoisonError::into_inner);
        let known = phases.begun().len();
        phases.block(&LogBlock { stream: self.stream, first, time: TimeNs(nanoseconds), text: &text });
        for began in &phases.begun()[known..] {
            let from = format!("{}:{}", began.stream.name(), began.line);
            // Nobody listens any more where the watch is over.
            let _ = self.tell.send(Began { name: began.name, at_s: began.time.0 as f64 / 1e9, from });
        }
    }
}

/// Cuts a stream into whole lines; what a progress bar has drawn so far is one as well, since its line ends when all is done.
struct Lines {
    /// The number of the line that is open.
    first: u64,
    open: Vec<u8>,
}

impl Lines {
    fn take(&mut self, bytes: &[u8], mut read: impl FnMut(u64, &[u8])) {
        let Some(end) = bytes.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')) else { return self.keep(bytes) };
        let is_bar = bytes[end] == b'\r';
        let (whole, rest) = bytes.split_at(if is_bar { bytes.len() } else { end + 1 });
        if self.open.is_empty() {
            read(self.first, whole);
        } else {
            let mut text = std::mem::take(&mut self.open);
            text.extend_from_slice(whole);
            read(self.first, &text);
        }
        self.first += whole.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.keep(rest);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = LINE.saturating_sub(self.open.len());
        self.open.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn end(self, mut read: impl FnMut(u64, &[u8])) {
        if !self.open.is_empty() {
            read(self.first, &self.open);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LINE, Lines};

    fn cut(chunks: &[&[u8]]) -> Vec<(u64, String)> {
        let mut lines = Lines { first: 1, open: Vec::new() };
        let mut found = Vec::new();
        let mut take = |first: u64, text: &[u8]| found.push((first, String::from_utf8_lossy(text).into_owned()));
        for chunk in chunks {
            lines.take(chunk, &mut take);
        }
        lines.end(&mut take);
        found
    }

    #[test]
    fn lines_are_whole_wherever_the_stream_was_cut() {
        assert_eq!(cut(&[b"a\nb", b"c", b"d\ne\n", b"f"]), [(1, "a\n".into()), (2, "bcd\ne\n".into()), (4, "f".into())]);
        assert_eq!(cut(&[b"", b"\n"]), [(1, "\n".into())]);
    }

    #[test]
    fn a_bar_is_read_while_it_is_drawn() {
        let found = cut(&[b"a\n", b"\rCapturing 0%", b"\rCapturing 50%", b"\rCapturing 100%\n", b"next\r\n", b"x\r", b"\ny"]);
        let wanted = [
            (1, "a\n"),
            (2, "\rCapturing 0%"),
            (2, "\rCapturing 50%"),
            (2, "\rCapturing 100%\n"),
            (3, "next\r\n"),
            (4, "x\r"),
            (4, "\n"),
            (5, "y"),
        ];
        assert_eq!(found, wanted.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn a_line_without_end_is_kept_in_part() {
        let long = vec![b'x'; LINE * 3];
        let found = cut(&[&long, &long, b"\nnext\n"]);
        assert_eq!((found.len(), found[0].0, found[0].1.len()), (1, 1, LINE + "\nnext\n".len()));
    }
}
