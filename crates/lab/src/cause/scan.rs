//! Reads a program's output line by line, and keeps what tells why it ended, in bounded memory.
//!
//! A line is looked at once: one search for all words that matter passes an ordinary line by. Of a log of any length no more is kept than
//! some dozens of tracebacks, of lines that look like errors, and the last lines of each stream.

mod patterns;
mod reader;

use std::cell::Cell;
use std::collections::VecDeque;

use bystander_model::evidence::Stream;
use bystander_model::ids::TimeNs;
use bystander_model::reading::{LogBlock, LogLine};

use super::clip::{LOOKED_AT, clip, without_colour};
use super::crash::{Crash, Crashes, HINTS};
use super::distinct::Distinct;
use super::kept::{Ends, KeptLine};
use super::part;
use super::prefix::{self, Prefixed};
use super::sieve::{Care, TELLS};
use super::starved::{Pulse, Starved};
use super::traceback::Traceback;
use patterns::{ERRS, OPENS, PORT, SCHEDULER};
use reader::{LAST, Reader};

/// Tracebacks kept at each end of the log.
const TRACEBACKS: usize = 24;
/// Lines that look like errors, kept at each end of the log.
const ERRORS: usize = 24;

/// What a log told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scan {
    /// Tracebacks in the order of time: the first and the last dozens.
    pub tracebacks: Vec<Traceback>,
    /// Tracebacks in between that were not kept.
    pub tracebacks_left_out: u64,
    /// Processes that ended without a Python exception, in the order of time: the first and the last few.
    pub crashes: Vec<Crash>,
    /// Lines that look like errors; they explain, and decide nothing.
    pub errors: Vec<KeptLine>,
    /// Lines that say that a port was taken.
    pub ports: Vec<KeptLine>,
    /// Lines of a scheduler about the end of the program.
    pub scheduler: Vec<KeptLine>,
    /// The latest row of statistics in which requests wait and none runs.
    pub starved: Option<Starved>,
    /// The last lines of both streams in the order of time.
    pub last: Vec<KeptLine>,
    /// Lines read.
    pub lines: u64,
}

impl Scan {
    /// The last line that was not empty.
    #[must_use]
    pub fn last_line(&self) -> Option<&KeptLine> {
        self.last.iter().rev().find(|line| !line.text.is_empty())
    }
}

/// Reads a log line by line.
#[derive(Debug)]
pub struct Scanner {
    readers: Vec<Reader>,
    done: Vec<Traceback>,
    tracebacks: Ends<Traceback>,
    distinct: Distinct,
    crashes: Crashes,
    errors: Ends<KeptLine>,
    ports: Ends<KeptLine>,
    scheduler: Ends<KeptLine>,
    pulse: Pulse,
    dead: Option<KeptLine>,
    lines: u64,
}

impl Default for Scanner {
    fn default() -> Self {
        Self::new()
    }
}

impl Scanner {
    /// Starts with nothing read.
    #[must_use]
    pub fn new() -> Self {
        Self {
            readers: Vec::new(),
            done: Vec::new(),
            tracebacks: Ends::new(TRACEBACKS),
            distinct: Distinct::default(),
            crashes: Crashes::new(),
            errors: Ends::new(ERRORS),
            ports: Ends::new(4),
            scheduler: Ends::new(4),
            pulse: Pulse::default(),
            dead: None,
            lines: 0,
        }
    }

    /// Takes the next line of a stream; the lines of one stream come in their order.
    pub fn line(&mut self, line: &LogLine<'_>) {
        self.lines += 1;
        self.look(line);
        self.remember(line);
    }

    /// Takes the next lines of a stream; those that mean nothing cost one search through all of them.
    pub fn block(&mut self, block: &LogBlock<'_>) {
        // Colours stand between words.
        match without_colour(block.text) {
            Some(plain) => self.plain_block(&LogBlock { text: &plain, ..*block }),
            None => self.plain_block(block),
        }
    }

    fn plain_block(&mut self, block: &LogBlock<'_>) {
        self.lines += block.count();
        let care = Cell::new(self.care(block.stream));
        for line in block.candidates(|text, from| care.get().find(text, from)) {
            self.look(&line);
            care.set(self.care(block.stream));
        }
        block.last(LAST).for_each(|line| self.remember(&line));
    }

    fn care(&mut self, stream: Stream) -> Care {
        match (self.reader(stream).is_awake(), self.pulse.may_starve()) {
            (true, _) => Care::EveryLine,
            (false, true) => Care::Statistics,
            (false, false) => Care::Usual,
        }
    }

    fn remember(&mut self, line: &LogLine<'_>) {
        let plain = clip(line.text, LOOKED_AT);
        let coloured = without_colour(plain);
        self.reader(line.stream).remember(line, coloured.as_deref().unwrap_or(plain));
    }

    fn look(&mut self, line: &LogLine<'_>) {
        let plain = clip(line.text, LOOKED_AT);
        let coloured = without_colour(plain);
        let text = coloured.as_deref().unwrap_or(plain);
        let tells = TELLS.is_match(text);
        if tells {
            self.note_errors(line, text);
        }
        if tells && HINTS.is_match(text) {
            self.crashes.line(line, &prefix::split(text));
        }
        let reader = self.reader(line.stream);
        if !(reader.is_awake() || (tells && OPENS.is_match(text))) {
            return;
        }
        let mut done = std::mem::take(&mut self.done);
        let prefixed: Prefixed<'_> = prefix::split(text);
        self.reader(line.stream).lane(prefixed.process).line(line, text, &prefixed, &mut done);
        done.drain(..).for_each(|traceback| self.keep(traceback));
        self.done = done;
    }

    fn keep(&mut self, traceback: Traceback) {
        self.distinct.see(&traceback);
        self.tracebacks.push(traceback);
    }

    fn note_errors(&mut self, line: &LogLine<'_>, text: &str) {
        // Statistics come without end, and say nothing else.
        if self.pulse.line(line, text) {
            return;
        }
        if PORT.is_match(text) {
            self.ports.push(KeptLine::of(line, text));
        }
        if ERRS.is_match(text) {
            self.errors.push(KeptLine::of(line, text));
        }
        if self.dead.is_none() && part::says_dead(text) {
            self.dead = Some(KeptLine::of(line, text));
        }
        if SCHEDULER.is_match(text) {
            self.scheduler.push(KeptLine::of(line, text));
        }
    }

    fn reader(&mut self, stream: Stream) -> &mut Reader {
        let at = self.readers.iter().position(|reader| reader.stream == stream);
        let at = at.unwrap_or_else(|| {
            self.readers.push(Reader { stream, lanes: Vec::new(), last: VecDeque::new() });
            self.readers.len() - 1
        });
        &mut self.readers[at]
    }

    /// The row of statistics in which requests wait and none runs, while it lasts.
    #[must_use]
    pub fn starved(&self) -> Option<&Starved> {
        self.pulse.starved()
    }

    /// The latest line that says that a port was taken.
    #[must_use]
    pub fn says_port_taken(&self) -> Option<&KeptLine> {
        self.ports.iter().last()
    }

    /// Whether a traceback was read whole that nothing says was harmless.
    #[must_use]
    pub fn has_traceback(&self) -> bool {
        let pending = self.readers.iter().flat_map(|reader| &reader.lanes).filter_map(|(_, lane)| lane.latest());
        self.tracebacks.iter().chain(pending).any(|traceback| traceback.complete && !traceback.harmless)
    }

    /// Whether a process has said that it ends without a Python exception.
    #[must_use]
    pub fn has_crash(&self) -> bool {
        self.crashes.has_any()
    }

    /// The latest traceback that was read whole and that nothing says was harmless.
    #[must_use]
    pub fn latest_traceback(&self) -> Option<&Traceback> {
        let pending = self.readers.iter().flat_map(|reader| &reader.lanes).filter_map(|(_, lane)| lane.latest());
        let whole = self.tracebacks.iter().chain(pending).filter(|traceback| traceback.complete && !traceback.harmless);
        whole.max_by_key(|traceback| (traceback.time, traceback.first_line))
    }

    /// The first line in which an engine says of itself that it is dead.
    #[must_use]
    pub fn says_dead(&self) -> Option<&KeptLine> {
        self.dead.as_ref()
    }

    /// Ends the log.
    #[must_use]
    pub fn finish(mut self) -> Scan {
        let mut done = Vec::new();
        for (_, lane) in self.readers.iter_mut().flat_map(|reader| &mut reader.lanes) {
            lane.finish(&mut done);
        }
        done.into_iter().for_each(|traceback| self.keep(traceback));
        let (mut tracebacks, mut tracebacks_left_out) = self.tracebacks.into_parts();
        for traceback in self.distinct.into_all() {
            if !tracebacks.iter().any(|kept| (kept.stream, kept.first_line) == (traceback.stream, traceback.first_line)) {
                tracebacks.push(traceback);
                tracebacks_left_out = tracebacks_left_out.saturating_sub(1);
            }
        }
        tracebacks.sort_by_key(|traceback| in_time(traceback.time, traceback.stream, traceback.first_line));
        let mut crashes = self.crashes.into_all();
        crashes.sort_by_key(|crash| in_time(crash.time, crash.stream, crash.line));
        let mut last: Vec<KeptLine> = self.readers.into_iter().flat_map(|reader| reader.last).collect();
        last.sort_by_key(|line| in_time(line.time, line.stream, line.number));
        let [errors, ports, scheduler] = [self.errors, self.ports, self.scheduler].map(|lines| lines.into_parts().0);
        Scan {
            tracebacks,
            tracebacks_left_out,
            crashes,
            errors,
            ports,
            scheduler,
            starved: self.pulse.starved().cloned(),
            last,
            lines: self.lines,
        }
    }
}

/// Orders by time; of what came in the same instant, errors first, then as printed.
fn in_time(time: TimeNs, stream: Stream, line: u64) -> (TimeNs, bool, u64) {
    (time, stream != Stream::Stderr, line)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};

    use super::{ERRS, OPENS, PORT, SCHEDULER, Scan, Scanner, TELLS};
    use bystander_model::evidence::Stream;
    use bystander_model::ids::TimeNs;
    use bystander_model::reading::{LogBlock, LogLine};

    /// Words of the patterns, in letters of any case, between anything.
    fn text() -> impl Strategy<Value = String> {
        let words = [
            "Traceback (most recent call last):",
            "File \"",
            "Process é-1:",
            "Exception in thread ",
            "Exception ignored in",
            "--- Logging error ---",
            "ValueError: x",
            "KeyError",
            "error",
            "critical:",
            "fatal",
            "panicked at",
            "panic:",
            "segmentation fault",
            "terminate called",
            "what(): ",
            "assertion x failed",
            "command not found",
            "no such file or directory",
            "permission denied",
            "cannot open shared object",
            "out of memory",
            "core dumped",
            "free(): invalid pointer",
            "double free or corruption (out)",
            "*** stack smashing detected ***: terminated",
            "terminating due to uncaught exception",
            "Current thread 0x00007f (most recent call first):",
            "address already in use",
            "EADDRINUSE",
            "port is already allocated",
            "errno 98",
            "port 3 is already in use",
            "rpc_port at 3 is not available",
            "port is used by a process already",
            "address in use",
            "slurmstepd: error",
            "srun: error: x: Out Of Memory",
            "OOMKilled",
            "OOM Killed",
            "reason: Evicted",
            "Running: 3 reqs",
            "#running-req: 3",
        ];
        let word = proptest::sample::select(words.to_vec());
        let cased = (word, any::<u8>()).prop_map(|(word, case)| match case % 3 {
            0 => word.to_owned(),
            1 => word.to_uppercase(),
            _ => word.to_lowercase(),
        });
        prop_oneof![4 => (any::<String>(), cased, prop_oneof![Just(String::new()), any::<String>()]).prop_map(|(a, b, c)| format!("{a}{b}{c}")), 1 => any::<String>()]
    }

    /// Lines of a log: words of the patterns, statistics of an engine that works and of one that stands still, colours, tracebacks.
    fn log_line() -> impl Strategy<Value = String> {
        let lines = [
            "",
            "Traceback (most recent call last):",
            "  File \"a.py\", line 3, in f",
            "    f()",
            "ValueError: x",
            "During handling of the above exception, another exception occurred:",
            "\x1b[1;31mEr\x1b[0mror: y\x1b[0m",
            "\x1b[1;36m(Worker pid=1)\x1b[0m Traceback (most recent call last):",
            "\x1b[1;36m(Worker pid=1)\x1b[0m KeyError: 1 \x1b[",
            "Running: 0 reqs, Waiting: 3 reqs, generation throughput: 0.0 tokens/s",
            "Running: 2 reqs, Waiting: 3 reqs, generation throughput: 9.0 tokens/s",
            "#running-req: 0, #queue-req: 3, gen throughput (token/s): 0.00",
            "#running-req: .0, #queue-req: 3, gen throughput (token/s): 0.00",
            "#running-req: 7, #queue-req: 3, gen throughput (token/s): 0.00",
            "all is well",
            "all is w\u{e9}ll",
        ];
        prop_oneof![6 => proptest::sample::select(lines.to_vec()).prop_map(str::to_owned), 1 => text().prop_map(|text| text.replace('\n', " "))]
    }

    fn by_line(lines: &[String]) -> Scan {
        let mut scanner = Scanner::new();
        for (text, number) in lines.iter().zip(1..) {
            scanner.line(&LogLine { stream: Stream::Stderr, number, time: TimeNs(7), text });
        }
        scanner.finish()
    }

    fn by_block(lines: &[String], size: usize) -> Scan {
        let (mut scanner, mut first) = (Scanner::new(), 1);
        for lines in lines.chunks(size) {
            let text = lines.join("\n") + "\n";
            scanner.block(&LogBlock { stream: Stream::Stderr, first, time: TimeNs(7), text: &text });
            first += lines.len() as u64;
        }
        scanner.finish()
    }

    proptest! {
        #[test]
        fn blocks_tell_what_their_lines_tell(lines in proptest::collection::vec(log_line(), 0..60), size in 1_usize..40) {
            assert_eq!(by_block(&lines, size), by_line(&lines));
        }

        #[test]
        fn a_line_that_is_passed_by_matches_no_pattern(text in text()) {
            if !TELLS.is_match(&text) {
                for pattern in [&OPENS, &ERRS, &PORT, &SCHEDULER] {
                    assert!(!pattern.is_match(&text), "{}: {text:?}", pattern.as_str());
                }
            }
        }
    }
}
