//! One trial: a program under its keeper, with its output, its readiness and its end as one ordered series of events.
//!
//! What the events mean for an experiment is for callers. A trial that is dropped, or whose process is killed, takes its whole
//! tree with it. Times are wall-clock stamps that do not go backwards within a trial.

mod asked;
mod conditions;
pub mod event;
mod gpus;
mod launch;
mod limit;
mod near;
pub(crate) mod note;
mod orphans;
pub(crate) mod pump;
mod samples;
mod streams;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bystander_model::evidence::Stream;
use bystander_model::ids::TimeNs;
use rustix::process::Signal;

use crate::clock::{Clock, after};
use crate::exit::{Exit, TreeEnd};
use crate::gpu::GpuWatch;
use crate::keeper;
use crate::output::lines::LineReader;
use crate::output::{Line, Lines, OutputError, Read};
use crate::protocol::Order;
use crate::tree::ProcessInfo;
use conditions::Conditions;
use event::{Finished, KeeperLost, TrialEvent};
pub use gpus::Holding;
pub use launch::{StartError, TrialSpec};
pub use limit::AtLimit;
use limit::Limit;
use near::KeeperProcess;
use note::Note;
use pump::{Flags, STREAMS};
use samples::Samples;
pub use streams::{Inherited, InheritingSpec};

/// How much longer than its grace a tree may take before it is given up: what has SIGKILL pending then hangs in the kernel.
const PATIENCE: Duration = Duration::from_secs(10);

/// A line that its writer has left unfinished for so long is taken for one by readiness: a prompt has no line end, and nobody waits for one.
const LEFT_UNFINISHED: Duration = Duration::from_millis(300);

/// A running trial.
#[derive(Debug)]
pub struct Trial {
    keeper: KeeperProcess,
    notes: Receiver<Note>,
    /// Held so that the channel outlives the threads: a wait is a wait also when all is over.
    _sender: Sender<Note>,
    flags: Arc<Flags>,
    clock: Clock,
    threads: Vec<JoinHandle<()>>,
    readers: [LineReader; 2],
    marker: String,
    remove_on_exit: Vec<PathBuf>,

    pid: u32,
    start_time: u64,
    started_ns: TimeNs,
    /// The program as it was started.
    program: ProcessInfo,

    /// Notes that came before the program was known to run.
    early: VecDeque<Note>,
    /// Events that are due now.
    due: VecDeque<TrialEvent>,
    /// An event that waits until the output before it has been told.
    held: Option<Held>,
    /// `None` for a program that is never to be ready.
    conditions: Option<Conditions>,
    last_lines: [Option<Line>; 2],
    /// How far each stream's unfinished line had come when readiness was shown it.
    shown_unfinished: [u64; 2],
    /// Whether lines are told by the block.
    in_blocks: bool,
    /// The time limit, once it was reached.
    limit: Option<Limit>,
    /// Whether lines are not told any more, and whether there were any.
    passes_over: bool,
    passed_over: bool,
    samples: Samples,
    gpus: Option<GpuWatch>,

    exit: Option<Exit>,
    tree_end: Option<TreeEnd>,
    lost: Option<KeeperLost>,
}

/// An event and how much of each stream comes before it.
#[derive(Debug)]
struct Held {
    event: TrialEvent,
    limit: [u64; 2],
}

impl Trial {
    /// Asks the whole tree to end: SIGTERM now, and SIGKILL to what is left when the grace is over. Does not wait.
    ///
    /// A second call can only shorten the grace.
    pub fn terminate(&mut self, grace: Duration) {
        self.pass_on(Signal::TERM.as_raw(), grace);
    }

    /// Does as [`Trial::terminate`] does, with another signal (by its number) before the grace. What is not SIGTERM goes to the program's process
    /// group alone, as from a terminal.
    pub fn pass_on(&mut self, signal: i32, grace: Duration) {
        // A keeper that is gone is told as an event of its own.
        let _ = self.keeper.order(&Order::Terminate { grace, signal });
    }

    /// Waits for the next event, at most for `timeout`.
    pub fn next(&mut self, timeout: Duration) -> Option<TrialEvent> {
        let deadline = after(timeout);
        loop {
            if let Some(event) = self.due.pop_front() {
                return Some(event);
            }
            self.samples.take_if_due(self.keeper.id(), self.written());
            self.flags.nudged.store(false, Ordering::SeqCst);
            if self.held.is_some() {
                self.advance_to_held();
                continue;
            }
            // Notes go first: a program that writes without end must not keep its owner from hearing of anything else.
            if let Some(note) = self.early.pop_front().or_else(|| self.notes.try_recv().ok()) {
                self.on_note(note);
            } else if self.advance([u64::MAX; 2]) {
                continue;
            } else {
                self.show_unfinished();
                let wait = deadline.min(self.samples.due()).saturating_duration_since(Instant::now());
                match self.notes.recv_timeout(wait) {
                    Ok(note) => self.on_note(note),
                    Err(_) if Instant::now() >= deadline => return None,
                    Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
                }
            }
        }
    }

    /// Ends the trial and waits until the tree is gone and all output was told; a [`crate::Canceller`] that is raised meanwhile
    /// ends the grace. What was to be removed is still there afterwards, until the trial is closed.
    pub fn finish(&mut self, grace: Duration, mut on_event: impl FnMut(TrialEvent)) -> Finished {
        self.terminate(grace);
        let deadline = after(grace.saturating_add(PATIENCE));
        while !self.is_over() {
            let Some(event) = self.next(deadline.saturating_duration_since(Instant::now())) else { break };
            if matches!(event, TrialEvent::Cancelled) {
                self.pass_over();
                self.terminate(Duration::ZERO);
            }
            on_event(event);
        }
        self.due.drain(..).for_each(on_event);
        let [stdout, stderr] = [self.readers[0].summary(), self.readers[1].summary()];
        // A launch that is over before it is sampled often enough would seem to need less than one that lasts: the kernel's own account has no such gap.
        let accounts = [self.exit.map(|exit| exit.usage), self.tree_end.map(|tree| tree.usage)];
        let accounted = accounts.into_iter().flatten().map(|usage| usage.max_rss_bytes).max();
        Finished {
            exit: self.exit,
            tree: self.tree_end,
            keeper_lost: self.lost,
            stdout,
            stderr,
            processes: self.seen(),
            peak_rss_bytes: self.samples.seen().peak_rss_bytes().max(accounted.unwrap_or_default()),
            samples: self.samples.summary(self.gpus.take().as_ref()),
        }
    }

    /// Kills what is left of the tree, removes what was to be removed, and waits until that is done.
    pub fn close(mut self) {
        self.shut();
    }

    fn shut(&mut self) {
        self.flags.over.store(true, Ordering::SeqCst);
        self.keeper.close();
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            // A thread that panicked has nothing left to give.
            let _ = thread.join();
        }
        // The keeper has done it, unless it was lost.
        self.remove_on_exit.drain(..).for_each(|path| keeper::remove(&path));
    }

    fn written(&self) -> [u64; 2] {
        [self.readers[0].written(), self.readers[1].written()]
    }

    /// Tells one more line from before the held event, or the event itself.
    fn advance_to_held(&mut self) {
        let Some(held) = self.held.take() else { return };
        if self.advance(held.limit) {
            self.held = Some(held);
            return;
        }
        match &held.event {
            TrialEvent::Exited(exit) => {
                self.exit = Some(*exit);
                self.conditions.iter_mut().for_each(Conditions::ended);
                self.samples.take(self.keeper.id(), self.written());
            }
            TrialEvent::StreamEnded(stream) => {
                if let Some(line) = STREAMS.iter().position(|at| at == stream).and_then(|at| self.readers[at].last()) {
                    self.on_line(line);
                }
            }
            TrialEvent::TreeEmpty(end) => self.tree_end = Some(*end),
            TrialEvent::KeeperLost(lost) => self.lost = Some(*lost),
            _ => {}
        }
        self.due.push_back(held.event);
    }

    /// From here on tells no lines any more: they are in their file, and reading a lot of them keeps nobody waiting who wants to stop.
    pub fn pass_over(&mut self) {
        self.passes_over = true;
    }

    /// Whether lines were not told.
    #[must_use]
    pub fn has_passed_over(&self) -> bool {
        self.passed_over
    }

    /// Makes one more line due, of what came before the time limit first; `false` when there is none up to the given places.
    fn advance(&mut self, places: [u64; 2]) -> bool {
        let before = self.limit.map(|limit| limit.come()).map(|come| [places[0].min(come[0]), places[1].min(come[1])]);
        before.is_some_and(|before| self.advance_to(before)) || self.advance_to(places)
    }

    /// Makes one more line due, from the stream whose bytes came first; `false` when there is none up to the limit.
    fn advance_to(&mut self, limit: [u64; 2]) -> bool {
        loop {
            let next = (0..2).filter_map(|at| Some((self.readers[at].next_time(limit[at])?, at))).min();
            let Some((_, at)) = next else { return false };
            if self.passes_over {
                match self.readers[at].pass_over(limit[at]) {
                    Ok(any) => self.passed_over |= any,
                    Err(error) => {
                        self.due.push_back(TrialEvent::OutputFailed(error));
                        return true;
                    }
                }
                continue;
            }
            match self.read(at, limit[at]) {
                Ok(Some(Read::Line(line))) => self.on_line(line),
                Ok(Some(Read::Lines(lines))) => self.on_lines(lines),
                // The rest of that stream is no whole line yet; the other may have one.
                Ok(None) => continue,
                Err(error) => self.due.push_back(TrialEvent::OutputFailed(error)),
            }
            return true;
        }
    }

    /// From here on tells lines by the block where several were read at once, which costs much less for a program that writes a lot.
    pub fn in_blocks(&mut self) {
        self.in_blocks = true;
    }

    /// Reads on in a stream: one line, or several.
    fn read(&mut self, at: usize, limit: u64) -> Result<Option<Read>, OutputError> {
        let reader = &mut self.readers[at];
        if self.in_blocks { reader.next_lines(limit) } else { Ok(reader.next(limit)?.map(Read::Line)) }
    }

    /// Shows readiness the lines that were begun and left: what stands there was said, whether its line end comes or not.
    fn show_unfinished(&mut self) {
        let (Some(conditions), now) = (&self.conditions, self.clock.now()) else { return };
        for (reader, shown) in self.readers.iter().zip(&mut self.shown_unfinished) {
            let rests = reader.last_output().is_some_and(|last| now.seconds_since(last) >= LEFT_UNFINISHED.as_secs_f64());
            let unfinished = if rests { reader.unfinished() } else { None };
            if let Some(line) = unfinished.filter(|line| line.offset + line.length != *shown) {
                *shown = line.offset + line.length;
                conditions.line(&line);
            }
        }
    }

    fn on_lines(&mut self, mut lines: Lines) {
        let slot = usize::from(lines.stream != Stream::Stdout);
        self.limit.iter().for_each(|limit| limit.date_all(slot, &mut lines));
        self.last_lines[slot] = Some(lines.last());
        if let Some(conditions) = &self.conditions {
            conditions.lines(&lines);
        }
        self.due.push_back(TrialEvent::Lines(lines));
    }

    fn on_line(&mut self, mut line: Line) {
        let slot = usize::from(line.stream != Stream::Stdout);
        self.limit.iter().for_each(|limit| limit.date(slot, &mut line));
        self.last_lines[slot] = Some(line.clone());
        if let Some(conditions) = &self.conditions {
            conditions.line(&line);
        }
        self.due.push_back(TrialEvent::Line(line));
    }

    fn on_note(&mut self, note: Note) {
        match note {
            Note::Nudge | Note::Started { .. } | Note::NotStarted { .. } => {}
            Note::Exited { exit, written } => self.held = Some(Held { event: TrialEvent::Exited(exit), limit: written }),
            Note::TreeEmpty { end } => self.hold(TrialEvent::TreeEmpty(end)),
            Note::StreamEnded(stream) => self.hold(TrialEvent::StreamEnded(stream)),
            Note::OutputFailed(error) => self.due.push_back(TrialEvent::OutputFailed(error)),
            Note::Ready(readiness) => {
                let is_news = self.exit.is_none() && self.conditions.as_mut().is_some_and(Conditions::tell);
                self.due.extend(is_news.then_some(TrialEvent::Ready(readiness)));
            }
            Note::Held(since) => self.conditions.iter_mut().for_each(|conditions| conditions.held(since)),
            Note::Unready(why) => self.conditions.iter_mut().for_each(|conditions| conditions.missing(why.clone())),
            Note::Foreign(holder) => self.due.push_back(TrialEvent::ForeignListener(holder)),
            Note::KeeperGone => self.on_keeper_lost(),
            Note::Cancelled => self.due.push_back(TrialEvent::Cancelled),
        }
    }

    fn hold(&mut self, event: TrialEvent) {
        self.held = Some(Held { event, limit: self.written() });
    }

    fn on_keeper_lost(&mut self) {
        self.keeper.reap();
        let lost = orphans::clear(&self.marker, Some(self.pid), self.samples.seen().processes());
        self.hold(TrialEvent::KeeperLost(lost));
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        self.shut();
    }
}
