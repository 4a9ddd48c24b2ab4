//! What a process prints that dies without a Python exception: an exception of C++ that nobody caught, an assertion of C, an allocator that finds its
//! memory broken, a panic of Rust or Go, and the stacks that Python prints when a signal ends it (`PYTHONFAULTHANDLER`).

use std::sync::LazyLock;

use bystander_model::evidence::{Evidence, Stream};
use bystander_model::ids::{TimeNs, TrialId};
use bystander_model::reading::LogLine;
use regex::Regex;

use super::clip::{KEPT, clip};
use super::facts::Place;
use super::kept::Ends;
use super::prefix::Prefixed;
use super::program::{program_entry, short_file};
use super::signature::short_mask;
use super::traceback::Frame;

/// Crashes kept at each end of a log.
const CRASHES: usize = 8;
/// Entries of a stack that are kept, the innermost ones.
const FRAMES: usize = 40;
/// Lines between what a runtime says of its end and the stacks that Python prints of it.
const TOGETHER: u64 = 12;

const SIGILL: i32 = 4;
const SIGABRT: i32 = 6;
const SIGBUS: i32 = 7;
const SIGFPE: i32 = 8;
const SIGSEGV: i32 = 11;

/// Every line with which a crash begins.
static BEGINS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"^(?:(?P<cpp>(?:libc\+\+abi: )?terminat(?:e called|ing (?:due to|with) uncaught exception)\b)",
        r"|(?P<glibc>(?:free|malloc|calloc|realloc|memalign|munmap_chunk|malloc_consolidate|_int_free|_int_malloc)\(\): [a-z]",
        r"|(?:\*\*\* Error in `[^']*': )?(?:double free or corruption|corrupted (?:size|double-linked|unsorted))|\*\*\* stack smashing detected \*\*\*)",
        r"|(?P<python>Fatal Python error: )|(?P<panic>thread '[^']*' (?:\(\d+\) )?panicked at |panic: |fatal error: ))",
        r"|(?P<assert>: Assertion [`'].*' failed\.?$)"
    ))
});
/// What every line of a crash holds, to pass others by.
pub(super) static HINTS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"terminate called|terminating |(?:free|alloc|_chunk|consolidate|align)\(\): |double free|smashing|corrupted |Fatal Python error|panicked at |panic: |fatal error: |Assertion |what\(\): |most recent call first|  File ""#,
    )
});
/// An entry of a stack that Python prints when a signal ends it: its innermost entry comes first.
static ENTRY: LazyLock<Regex> = LazyLock::new(|| pattern(r#"^  File "([^"]+)", line (\d+) in (.+)$"#));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a literal pattern")
}

/// How a process ended that raised no Python exception, in its own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crash {
    /// The stream.
    pub stream: Stream,
    /// When its first line was read.
    pub time: TimeNs,
    /// Its first line, from 1.
    pub line: u64,
    /// What it said.
    pub said: String,
    /// The signal that follows; `None` for a panic, which ends by an exit code.
    pub signal: Option<i32>,
    /// The process or rank that printed it, where it is told.
    pub rank: Option<String>,
    /// Where Python stood, outermost entry first, where that was printed.
    pub frames: Vec<Frame>,
}

impl Crash {
    /// What it said, as evidence.
    pub(super) fn evidence(&self, trial: TrialId) -> Evidence {
        Evidence::log(trial, self.stream, self.line, self.said.clone())
    }

    /// What it said without numbers, paths and addresses, and the program's innermost function.
    pub(super) fn signature(&self, place: &Place) -> String {
        let at = program_entry(&self.frames, place).map_or_else(String::new, |frame| {
            let function = frame.function.as_deref().map_or_else(String::new, |function| format!(":{function}"));
            format!(" in {}{function}", short_file(&frame.file))
        });
        format!("{}{at}", short_mask(&self.said))
    }

    /// What it said and where Python stood, for people.
    pub(super) fn text(&self, place: &Place) -> String {
        let at = program_entry(&self.frames, place).map_or_else(String::new, |frame| {
            let function = frame.function.as_deref().map_or_else(String::new, |function| format!("{function}, "));
            format!(" (in {function}{}:{})", short_file(&frame.file), frame.line)
        });
        let rank = self.rank.as_deref().map_or_else(String::new, |rank| format!("; first on {rank}"));
        format!("{}{at}{rank}", self.said)
    }
}

/// Reads the lines that may belong to a crash.
#[derive(Debug)]
pub(super) struct Crashes {
    kept: Ends<Crash>,
    open: Option<Open>,
}

/// A crash whose stacks may follow.
#[derive(Debug)]
struct Open {
    crash: Crash,
    /// The line of the last word of it.
    last: u64,
    /// Whether Python has begun to print its stacks.
    dumps: bool,
    /// Whether the entries that come are of the thread that ended it.
    is_current: bool,
}

impl Crashes {
    pub(super) fn new() -> Self {
        Self { kept: Ends::new(CRASHES), open: None }
    }

    /// Takes a line in which a word of a crash stands.
    pub(super) fn line(&mut self, line: &LogLine<'_>, prefixed: &Prefixed<'_>) {
        let rest = prefixed.rest.trim_end();
        if let Some(signal) = begins(rest) {
            self.begin(line, prefixed, rest, signal);
        } else if let Some(open) = self.open.as_mut().filter(|open| open.crash.stream == line.stream) {
            open.goes_on(rest, line.number);
        }
    }

    fn begin(&mut self, line: &LogLine<'_>, prefixed: &Prefixed<'_>, rest: &str, signal: Option<i32>) {
        let rank = prefixed.rank().map(str::to_owned);
        let dumps = rest.starts_with("Fatal Python error: ");
        if let Some(open) = &mut self.open {
            // The stacks of the process that has just said why it aborts.
            let same = open.crash.stream == line.stream && open.crash.rank == rank && line.number.saturating_sub(open.last) <= TOGETHER;
            if dumps && !open.dumps && same && signal == Some(SIGABRT) && open.crash.signal == signal {
                open.dumps = true;
                return;
            }
        }
        self.close();
        let said = clip(rest.trim_start_matches(": "), KEPT).to_owned();
        let crash = Crash { stream: line.stream, time: line.time, line: line.number, said, signal, rank, frames: Vec::new() };
        self.open = Some(Open { crash, last: line.number, dumps, is_current: false });
    }

    fn close(&mut self) {
        if let Some(mut open) = self.open.take() {
            open.crash.frames.reverse();
            self.kept.push(open.crash);
        }
    }

    /// Whether a process has died so.
    pub(super) fn has_any(&self) -> bool {
        self.open.is_some() || self.kept.iter().next().is_some()
    }

    /// The crashes, in the order of their lines in each stream.
    pub(super) fn into_all(mut self) -> Vec<Crash> {
        self.close();
        self.kept.into_parts().0
    }
}

impl Open {
    fn goes_on(&mut self, rest: &str, number: u64) {
        if let Some(what) = rest.trim_start().strip_prefix("what(): ") {
            if !self.crash.said.contains(" what(): ") && self.crash.said.starts_with("terminate") {
                self.crash.said = clip(&format!("{}, what(): {}", self.crash.said, what.trim()), KEPT).to_owned();
                self.last = number;
            }
        } else if rest.contains("(most recent call first):") {
            self.is_current = self.dumps && rest.starts_with("Current thread 0x") && self.crash.frames.is_empty();
        } else if let Some(found) = ENTRY.captures(rest).filter(|_| self.is_current && self.crash.frames.len() < FRAMES) {
            let function = Some(clip(&found[3], KEPT).to_owned());
            let line = found[2].parse().unwrap_or(0);
            self.crash.frames.push(Frame { file: clip(&found[1], KEPT).to_owned(), line, function, source: None, at: number });
        }
    }
}

/// Whether a crash begins with a line, and which signal follows; an inner `None` where none does.
fn begins(rest: &str) -> Option<Option<i32>> {
    let found = BEGINS.captures(rest)?;
    if found.name("panic").is_some() {
        return Some(None);
    }
    let named = found.name("python").map(|_| match rest.trim_start_matches("Fatal Python error: ") {
        said if said.starts_with("Segmentation fault") => SIGSEGV,
        said if said.starts_with("Bus error") => SIGBUS,
        said if said.starts_with("Floating point exception") || said.starts_with("Floating-point exception") => SIGFPE,
        said if said.starts_with("Illegal instruction") => SIGILL,
        _ => SIGABRT,
    });
    Some(Some(named.unwrap_or(SIGABRT)))
}
