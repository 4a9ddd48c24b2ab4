//! The thread that stands between a keeper with its program's pipes and the owner of the trial.
//!
//! One thread for all three keeps the order of things: what the program wrote before it ended is in the files before its end
//! is told.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use bystander_model::evidence::Stream;
use bystander_model::ids::TimeNs;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::note::Note;
use crate::clock::Clock;
use crate::exit::{Exit, TreeEnd};
use crate::output::capture::{CHUNK, Capture, Taken};
use crate::protocol::{Inbox, Report};

/// The streams in the order of the captures.
pub(super) const STREAMS: [Stream; 2] = [Stream::Stdout, Stream::Stderr];

/// What the threads of one trial share.
#[derive(Debug, Default)]
pub(crate) struct Flags {
    /// The owner has been nudged about new output and has not looked yet.
    pub(super) nudged: AtomicBool,
    /// The program has ended, or nobody waits for it any more.
    pub(crate) over: AtomicBool,
}

pub(super) struct Pump {
    pub(super) control: UnixStream,
    pub(super) captures: [Capture; 2],
    pub(super) flags: Arc<Flags>,
    pub(super) notes: Sender<Note>,
    pub(super) clock: Clock,
}

impl Pump {
    /// Works until the keeper is gone.
    pub(super) fn run(mut self) {
        let mut buffer = vec![0; CHUNK];
        let mut inbox = Inbox::default();
        // An error of poll or of the socket leaves nothing to work with: it is told as the loss of the keeper.
        while let Ok(ready) = self.wait() {
            for (stream, is_ready) in ready.streams.into_iter().enumerate() {
                if is_ready {
                    self.take(stream, &mut buffer, self.clock.now());
                }
            }
            if ready.control && (self.listen(&mut inbox, &mut buffer).is_err() || inbox.ended) {
                break;
            }
        }
        self.flags.over.store(true, Ordering::SeqCst);
        self.end_streams(&mut buffer, self.clock.now());
        self.tell(Note::KeeperGone);
    }

    fn wait(&self) -> io::Result<Ready> {
        let mut sources = vec![PollFd::new(&self.control, PollFlags::IN)];
        let mut polled = [None; 2];
        for (stream, capture) in self.captures.iter().enumerate() {
            if let Some(pipe) = capture.pipe() {
                polled[stream] = Some(sources.len());
                sources.push(PollFd::from_borrowed_fd(pipe, PollFlags::IN));
            }
        }
        match poll(&mut sources, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_ready = |at: usize| sources.get(at).is_some_and(|source| !source.revents().is_empty());
        Ok(Ready { control: is_ready(0), streams: polled.map(|at| at.is_some_and(is_ready)) })
    }

    /// Moves one chunk, and returns how long it was.
    fn take(&mut self, stream: usize, buffer: &mut [u8], now: TimeNs) -> usize {
        let taken = self.captures[stream].take(buffer, now);
        if let Some(error) = self.captures[stream].error() {
            self.tell(Note::OutputFailed(error));
        }
        match taken {
            Taken::Bytes(count) => {
                self.captures[1 - stream].interrupt();
                if !self.flags.nudged.swap(true, Ordering::SeqCst) {
                    self.tell(Note::Nudge);
                }
                count
            }
            Taken::Nothing => 0,
            Taken::End => {
                self.tell(Note::StreamEnded(STREAMS[stream]));
                0
            }
        }
    }

    fn listen(&mut self, inbox: &mut Inbox, buffer: &mut [u8]) -> io::Result<()> {
        inbox.fill(&self.control)?;
        while let Some(report) = inbox.take()? {
            match report {
                Report::Started { pid, start_time, at_ns } => self.tell(Note::Started { pid, start_time, at_ns }),
                Report::NotStarted { errno, step } => {
                    let step = step.map(|(step, path)| (step, path.map(PathBuf::from)));
                    self.tell(Note::NotStarted { errno, step });
                }
                Report::Exited { status, usage, at_ns } => {
                    self.flags.over.store(true, Ordering::SeqCst);
                    self.catch_up(buffer, self.clock.at(at_ns));
                    let written = [self.captures[0].written(), self.captures[1].written()];
                    self.tell(Note::Exited { exit: Exit { status, time_ns: self.no_earlier(at_ns), usage }, written });
                }
                Report::TreeEmpty { usage, kills, at_ns } => {
                    self.end_streams(buffer, self.clock.at(at_ns));
                    self.tell(Note::TreeEmpty { end: TreeEnd { time_ns: self.no_earlier(at_ns), usage, kills } });
                }
            }
        }
        Ok(())
    }

    /// Moves what is in the pipes now; descendants may be writing on, so it does not wait for silence.
    ///
    /// It came no later than `by`, when its writers were seen to have ended.
    fn catch_up(&mut self, buffer: &mut [u8], by: TimeNs) {
        for stream in 0..self.captures.len() {
            let mut waiting = self.captures[stream].waiting();
            while waiting > 0 {
                let moved = self.take(stream, buffer, by);
                waiting = if moved == 0 { 0 } else { waiting.saturating_sub(moved) };
            }
        }
    }

    /// Moves the rest and closes the pipes: the tree is gone, and whoever else holds them is not of this trial.
    fn end_streams(&mut self, buffer: &mut [u8], by: TimeNs) {
        self.catch_up(buffer, by);
        for (stream, name) in STREAMS.into_iter().enumerate() {
            if self.captures[stream].pipe().is_some() {
                self.take(stream, buffer, by);
            }
            if self.captures[stream].pipe().is_some() {
                self.captures[stream].end(false);
                self.tell(Note::StreamEnded(name));
            }
        }
    }

    /// The stamp of an end: no earlier than the output that came before it, which may have been read after it.
    fn no_earlier(&self, at_ns: u64) -> TimeNs {
        let last = self.captures.iter().filter_map(Capture::last).max();
        self.clock.at(at_ns).max(last.unwrap_or(TimeNs(0)))
    }

    fn tell(&self, note: Note) {
        // An owner that is gone has closed the trial: the keeper will follow.
        let _ = self.notes.send(note);
    }
}

struct Ready {
    control: bool,
    streams: [bool; 2],
}
