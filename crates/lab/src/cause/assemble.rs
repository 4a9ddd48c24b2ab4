//! Puts tracebacks together from the lines of one lane: one stream, and one process of it where every line names its process.
//!
//! Several processes that share a stream without prefixes may print at once. Their lines are then dealt out by a best guess, and the
//! tracebacks say so.

mod open;
mod pending;

use std::collections::VecDeque;

use bystander_model::reading::LogLine;

use self::open::{Fed, Open};
use self::pending::Pending;
use super::clip::{KEPT, clip};
use super::prefix::Prefixed;
use super::shape::{self, HEADER, Shape};
use super::traceback::{Frame, Traceback};

/// Tracebacks that may be open at once in one lane; more is noise.
const OPEN_AT_ONCE: usize = 64;
/// Lines between an announcement and its traceback.
const ANNOUNCED_FOR: u64 = 64;

/// What a line said about the traceback that comes next.
#[derive(Debug)]
struct Announcement {
    at: u64,
    name: Option<String>,
    harmless: bool,
}

/// The lines of one lane.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    open: Vec<Open>,
    /// The longest stack of those that are open at once; the others are expected to repeat it.
    reference: Vec<Frame>,
    last_fed: usize,
    pending: Option<Pending>,
    announced: VecDeque<Announcement>,
}

impl Lane {
    /// Whether the next line matters whatever it says.
    pub(crate) fn is_awake(&self) -> bool {
        !self.open.is_empty() || self.pending.is_some()
    }

    /// The traceback whose last line was read, and which may go on in a chain.
    pub(crate) fn latest(&self) -> Option<&Traceback> {
        self.pending.as_ref().map(|pending| &pending.traceback)
    }

    /// Takes a line; what is complete goes to `done`.
    pub(crate) fn line(&mut self, line: &LogLine<'_>, text: &str, prefixed: &Prefixed<'_>, done: &mut Vec<Traceback>) {
        if self.feed_group(line, text, prefixed, done) {
            return;
        }
        if let Some(at) = text.find(HEADER) {
            self.begin(line, text, at, prefixed, done);
        } else if let Some(announcement) = announcement(prefixed.rest, line.number) {
            self.announce(announcement);
        } else if !self.open.is_empty() {
            self.feed(line, text, prefixed, done);
        } else if let Some(frame) = shape::frame(prefixed.rest, line.number).filter(|frame| frame.function.is_none()) {
            // A script that does not parse is reported without a header.
            self.flush_pending(done);
            self.open.push(Open::headless(line, prefixed, text, frame));
        } else if let Some(pending) = &mut self.pending
            && !pending.take(line, text, prefixed)
        {
            self.flush_pending(done);
        }
    }

    /// Ends the lane: what is open was cut off.
    pub(crate) fn finish(&mut self, done: &mut Vec<Traceback>) {
        self.flush_pending(done);
        for open in self.open.drain(..) {
            done.extend(open.cut_off());
        }
    }

    fn announce(&mut self, announcement: Announcement) {
        if self.announced.len() == OPEN_AT_ONCE {
            self.announced.pop_front();
        }
        self.announced.push_back(announcement);
    }

    fn flush_pending(&mut self, done: &mut Vec<Traceback>) {
        done.extend(self.pending.take().map(|pending| pending.traceback));
    }

    /// Opens a traceback at its header, or several where headers ran together.
    fn begin(&mut self, line: &LogLine<'_>, text: &str, at: usize, prefixed: &Prefixed<'_>, done: &mut Vec<Traceback>) {
        while self.announced.front().is_some_and(|first| line.number.saturating_sub(first.at) > ANNOUNCED_FOR) {
            self.announced.pop_front();
        }
        let headers = text.matches(HEADER).count().min(OPEN_AT_ONCE);
        for _ in 0..headers {
            let chained = self.pending.take_if(|pending| pending.link.is_some());
            let open = if let Some(pending) = chained {
                Open::continued(pending, line)
            } else {
                self.flush_pending(done);
                let announced = self.announced.pop_front();
                Open::new(line, prefixed, &text[..at], announced.as_ref())
            };
            if self.open.len() == OPEN_AT_ONCE {
                done.extend(self.open.remove(0).cut_off());
            }
            self.open.push(open);
        }
        if self.open.len() > 1 {
            self.open.iter_mut().for_each(|open| open.interleaved = true);
        }
        self.last_fed = self.open.len() - 1;
    }

    /// Gives a line to an open exception group, which has margins of its own.
    fn feed_group(&mut self, line: &LogLine<'_>, text: &str, prefixed: &Prefixed<'_>, done: &mut Vec<Traceback>) -> bool {
        let Some(at) = self.open.iter().position(Open::is_group) else { return false };
        let Some(body) = self.open[at].body(text, prefixed) else { return false };
        match self.open[at].feed_group(body, line.number) {
            Fed::Foreign => false,
            Fed::Taken => true,
            Fed::Closed => {
                self.close(at, line, text, prefixed, done);
                true
            }
        }
    }

    /// Gives a line to the open traceback that it belongs to.
    fn feed(&mut self, line: &LogLine<'_>, text: &str, prefixed: &Prefixed<'_>, done: &mut Vec<Traceback>) {
        // Every one is asked, since each learns from its first entry how its lines begin.
        let bodies: Vec<Option<&str>> =
            self.open.iter_mut().map(|open| if open.is_group() { None } else { open.body(text, prefixed) }).collect();
        let (Some(body), Some(leader)) = (bodies.into_iter().flatten().next(), self.leader()) else {
            self.pass_by(done);
            return;
        };
        match shape::shape(body, line.number) {
            Shape::Frame(frame) => {
                let owner = self.laggard(&frame).unwrap_or(leader);
                if self.open[owner].frames().len() >= self.reference.len() {
                    self.reference.push(frame.clone());
                }
                self.open[owner].push_frame(frame);
                self.last_fed = owner;
            }
            Shape::Source(source) => {
                if let Some(open) = self.open.get_mut(self.last_fed) {
                    open.push_source(source);
                }
            }
            Shape::Raised { kind, message } if self.open[leader].accepts(kind) => {
                self.open[leader].raise(kind, message, line.number);
                self.close(leader, line, text, prefixed, done);
            }
            Shape::Mark | Shape::Blank => {}
            Shape::Raised { .. } | Shape::Link(_) | Shape::Other => self.pass_by(done),
        }
    }

    /// A line of somebody else came between; a traceback that never goes on is given up.
    fn pass_by(&mut self, done: &mut Vec<Traceback>) {
        let mut at = 0;
        while at < self.open.len() {
            if self.open[at].is_given_up() {
                done.extend(self.open.remove(at).cut_off());
            } else {
                at += 1;
            }
        }
        self.after_removal();
    }

    fn close(&mut self, at: usize, line: &LogLine<'_>, text: &str, prefixed: &Prefixed<'_>, done: &mut Vec<Traceback>) {
        let open = self.open.remove(at);
        self.after_removal();
        self.flush_pending(done);
        let before = clip(&text[..text.len() - prefixed.rest.len()], KEPT).to_owned();
        self.pending = open.finish(line.number).map(|traceback| Pending::new(traceback, before));
    }

    fn after_removal(&mut self) {
        self.last_fed = self.leader().unwrap_or(0);
        if self.open.is_empty() {
            self.reference.clear();
        }
    }

    /// The open traceback that has come farthest.
    fn leader(&self) -> Option<usize> {
        let stacks = || self.open.iter().enumerate().filter(|(_, open)| !open.is_group());
        let longest = stacks().map(|(_, open)| open.frames().len()).max()?;
        stacks().find(|(_, open)| open.frames().len() == longest).map(|(at, _)| at)
    }

    /// The open traceback that lags behind and is expected to repeat this entry next.
    fn laggard(&self, frame: &Frame) -> Option<usize> {
        let repeats =
            |open: &Open| self.reference.get(open.frames().len()).is_some_and(|next| next.file == frame.file && next.line == frame.line);
        let open = self.open.iter().enumerate().filter(|(_, open)| !open.is_group() && repeats(open));
        open.filter(|_| self.open.len() > 1).max_by_key(|(at, open)| (open.frames().len(), std::cmp::Reverse(*at))).map(|(at, _)| at)
    }
}

/// Lines that say whose traceback comes next, or that it ends nothing.
fn announcement(rest: &str, at: u64) -> Option<Announcement> {
    let named = |name: &str| Some(Announcement { at, name: Some(clip(name, 200).to_owned()), harmless: false });
    let line = rest.trim_end();
    if let Some(name) = line.strip_prefix("Process ").and_then(|name| name.strip_suffix(':')).filter(|name| !name.is_empty()) {
        return named(name);
    }
    if let Some(name) = line.strip_prefix("Exception in thread ").and_then(|name| name.strip_suffix(':')) {
        return named(&format!("thread {name}"));
    }
    let harmless = line.starts_with("Exception ignored in") || line.starts_with("--- Logging error ---");
    harmless.then_some(Announcement { at, name: None, harmless: true })
}
