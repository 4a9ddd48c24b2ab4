//! The keeper: a hidden process, one per trial, that owns the program's tree and outlives whoever started it.
//!
//! It is a subreaper in a session of its own: every descendant of the program ends up as its child, whatever it did to
//! detach. When its near side is gone, for whatever reason, it kills the tree, removes what it was told to and exits.
//! It knows nothing of output or readiness. It is single-threaded: the program's parent-death signal depends on that.

mod kill;
mod reap;
mod setup;
mod start;

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::Signal;

use crate::clock::{after, monotonic_ns};
use crate::protocol::{Inbox, Order, Report, post};
use reap::Reaped;
use setup::Inherited;
use start::NotStarted;

/// Between two rounds of SIGKILL, at first; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(1);
/// Between two rounds of SIGKILL, at most.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
/// What has a SIGKILL pending and is still there after this long hangs in the kernel; nobody waits for it for ever.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs as a keeper: takes orders from the socket on standard input until its near side is gone and the tree is empty.
///
/// Call it before anything else in `main`, when [`crate::command::KeeperProgram::ARGUMENT`] is the first argument.
#[must_use]
pub fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        // There is no one left to tell: the near side sees that the keeper ended before its time.
        Err(_unheard) => ExitCode::FAILURE,
    }
}

fn run() -> io::Result<()> {
    let Inherited { control, child_ended, stdout, stderr } = setup::become_keeper()?;
    let mut keeper = Keeper {
        control,
        child_ended,
        streams: Some((stdout, stderr)),
        inbox: Inbox::default(),
        program: None,
        tree: Tree::Empty,
        kills: 0,
        remove: Vec::new(),
    };
    keeper.serve()
}

/// What is being done about the tree.
#[derive(Debug, Clone, Copy)]
enum Tree {
    /// No process is there: none yet, or none any more.
    Empty,
    /// It is left alone.
    Running,
    /// It was asked to end, by a signal.
    Asked { until: Instant, by: Signal },
    /// It is killed, round after round.
    Killing { since: Instant, pause: Duration },
}

struct Keeper {
    control: OwnedFd,
    child_ended: OwnedFd,
    streams: Option<(OwnedFd, OwnedFd)>,
    inbox: Inbox,
    program: Option<u32>,
    tree: Tree,
    kills: u32,
    remove: Vec<PathBuf>,
}

impl Keeper {
    fn serve(&mut self) -> io::Result<()> {
        loop {
            self.wait()?;
            // An unreadable order is treated as the end of the near side: nothing that runs may be left behind.
            if self.take_orders().is_err() {
                self.inbox.ended = true;
            }
            self.reap();
            self.act();
            if self.inbox.ended && self.is_done() {
                for path in &self.remove {
                    remove(path);
                }
                return Ok(());
            }
        }
    }

    /// Sleeps until there is an order, a dead child or something due.
    fn wait(&self) -> io::Result<()> {
        let due = match self.tree {
            Tree::Empty | Tree::Running => None,
            Tree::Asked { until, .. } => Some(until.saturating_duration_since(Instant::now())),
            Tree::Killing { pause, .. } => Some(pause),
        };
        let due =
            due.map(|due| Timespec { tv_sec: i64::try_from(due.as_secs()).unwrap_or(i64::MAX), tv_nsec: i64::from(due.subsec_nanos()) });
        let mut sources = vec![PollFd::new(&self.child_ended, PollFlags::IN)];
        // A closed socket is always readable: it would keep the loop from sleeping.
        if !self.inbox.ended {
            sources.push(PollFd::new(&self.control, PollFlags::IN));
        }
        match poll(&mut sources, due.as_ref()) {
            Ok(_) | Err(Errno::INTR) => setup::drain(&self.child_ended),
            Err(error) => Err(error.into()),
        }
    }

    fn take_orders(&mut self) -> io::Result<()> {
        self.inbox.fill(&self.control)?;
        while let Some(order) = self.inbox.take()? {
            match order {
                Order::Start(start) => self.start(*start),
                Order::Terminate { grace, signal } => self.terminate(grace, Signal::from_named_raw(signal).unwrap_or(Signal::TERM)),
            }
        }
        Ok(())
    }

    fn start(&mut self, start: crate::protocol::Start) {
        // The streams are taken: their writing ends must be held by the program's tree alone, or they never end.
        let Some((stdout, stderr)) = self.streams.take() else { return };
        self.remove = start.remove_on_exit.iter().cloned().map(PathBuf::from).collect();
        let stdin = self.inbox.descriptors.pop();
        if self.inbox.ended {
            return;
        }
        // Before the fork: what the program does comes after it.
        let at_ns = monotonic_ns();
        match start::start(start, stdin, stdout, stderr) {
            Ok(pid) => {
                self.program = Some(pid);
                self.tree = Tree::Running;
                let start_time = crate::procfs::stat(pid).map_or(0, |stat| stat.start_time);
                self.tell(&Report::Started { pid, start_time, at_ns });
            }
            // Without a number it was refused before any system call: a zero byte in an argument or in the environment.
            Err(NotStarted { error, step }) => {
                self.tell(&Report::NotStarted { errno: error.raw_os_error().unwrap_or(libc::EINVAL), step });
            }
        }
    }

    fn terminate(&mut self, grace: Duration, signal: Signal) {
        let asked = match self.tree {
            Tree::Empty | Tree::Killing { .. } => return,
            Tree::Asked { until, by } => Some((until, by)),
            Tree::Running => None,
        };
        if !grace.is_zero() && asked.is_none_or(|(_, by)| by != signal) {
            kill::ask(self.program, signal);
        }
        // Asking again only moves the end of the grace, so that a second Ctrl-C can shorten it.
        let until = asked.map_or_else(|| after(grace), |(until, _)| until.min(after(grace)));
        self.tree = Tree::Asked { until, by: signal };
    }

    fn reap(&mut self) {
        while let Reaped::Child { pid, status, usage } = reap::next() {
            if Some(pid) == self.program {
                self.tell(&Report::Exited { status, usage, at_ns: monotonic_ns() });
            }
        }
        if !matches!(self.tree, Tree::Empty) && reap::nothing_left() {
            self.tree = Tree::Empty;
            self.tell(&Report::TreeEmpty { usage: reap::usage_of_all(), kills: self.kills, at_ns: monotonic_ns() });
        }
    }

    fn act(&mut self) {
        let now = Instant::now();
        match self.tree {
            Tree::Empty => return,
            Tree::Running | Tree::Asked { .. } if self.inbox.ended => self.tree = Tree::Killing { since: now, pause: FIRST_PAUSE },
            Tree::Asked { until, .. } if until <= now => self.tree = Tree::Killing { since: now, pause: FIRST_PAUSE },
            Tree::Running | Tree::Asked { .. } => return,
            Tree::Killing { since, pause } => self.tree = Tree::Killing { since, pause: (pause * 2).min(LONGEST_PAUSE) },
        }
        self.kills = self.kills.saturating_add(kill::kill_all());
    }

    fn is_done(&self) -> bool {
        match self.tree {
            Tree::Empty => true,
            Tree::Killing { since, .. } => since.elapsed() > PATIENCE,
            Tree::Running | Tree::Asked { .. } => false,
        }
    }

    /// Reports to the near side; where that fails it is gone, which the next reading of the socket shows.
    fn tell(&self, report: &Report) {
        let _ = post(&self.control, report);
    }
}

/// Removes a file or a directory with all that is in it; links are removed, not followed.
pub(crate) fn remove(path: &Path) {
    let is_directory = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
    let _ = if is_directory { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}
