//! What can be asked of a trial while it runs: whose it is, what it has done, and whether it still is what it was.

use std::time::Duration;

use bystander_model::ids::TimeNs;

use super::Trial;
use super::conditions::Conditions;
use super::event::Activity;
use crate::ask::{Answer, AskError};
use crate::exit::Exit;
use crate::listener::Holder;
use crate::output::lines::LineReader;
use crate::ready::owner::{self, Look};
use crate::ready::{GenerateCheck, Lapse, Reply};
use crate::tree::{ProcessInfo, snapshot, unreaped};

impl Trial {
    /// Why the program does not count as ready, as far as was last seen: each condition that does not hold. `None` once it was ready.
    #[must_use]
    pub fn unready(&self) -> Option<String> {
        self.conditions.as_ref()?.unready(self.exit.as_ref())
    }

    /// When every condition held last where the program never came to count as ready, because that did not last.
    #[must_use]
    pub fn held_ns(&self) -> Option<TimeNs> {
        self.conditions.as_ref()?.held_ns()
    }

    /// Since when every condition holds, where they do and it is not known yet whether that lasts.
    #[must_use]
    pub fn holding(&self) -> Option<TimeNs> {
        self.conditions.as_ref()?.holding()
    }

    /// Looks again at the conditions that cost little: whether a program that was ready still is. Takes as long as the program takes to answer.
    ///
    /// # Errors
    /// The conditions that do not hold now.
    pub fn still_ready(&self) -> Result<(), Lapse> {
        self.conditions.as_ref().map_or(Ok(()), Conditions::still_hold)
    }

    /// Asks for one completion: at `check`, or where that is not said, as readiness asked. Takes at most a little longer than `limit`, and is given up
    /// when `is_over` says so.
    #[must_use]
    pub fn still_completes(&self, check: Option<&GenerateCheck>, limit: Duration, is_over: &dyn Fn() -> bool) -> Reply {
        match &self.conditions {
            Some(conditions) => conditions.still_completes(check, limit, is_over),
            None => Reply::Unasked("it has no condition of readiness".to_owned()),
        }
    }

    /// The program's process, which also leads its session and its process group.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// When the program's process started, in clock ticks since boot: with the pid, its identity.
    #[must_use]
    pub fn start_time(&self) -> u64 {
        self.start_time
    }

    /// When the program was started.
    #[must_use]
    pub fn started_ns(&self) -> TimeNs {
        self.started_ns
    }

    /// This instant, on the clock that stamps the trial's events.
    #[must_use]
    pub fn now_ns(&self) -> TimeNs {
        self.clock.now()
    }

    /// The end of the program, once it was told.
    #[must_use]
    pub fn exit(&self) -> Option<&Exit> {
        self.exit.as_ref()
    }

    /// Whether nothing of the trial is left, or nothing more can be known of it; no event follows then.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.tree_end.is_some() || self.lost.is_some()
    }

    /// The processes of the tree now, the program and all its descendants.
    #[must_use]
    pub fn processes(&self) -> Vec<ProcessInfo> {
        snapshot(self.keeper.id())
    }

    /// The processes of the tree that have ended and whose parents have not asked how.
    #[must_use]
    pub fn unreaped(&self) -> Vec<ProcessInfo> {
        unreaped(self.keeper.id())
    }

    /// Whether a process belongs to the tree now.
    #[must_use]
    pub fn contains(&self, pid: u32) -> bool {
        pid != self.keeper.id() && crate::tree::contains(self.keeper.id(), pid)
    }

    /// Bytes written on both streams so far.
    #[must_use]
    pub fn output_bytes(&self) -> u64 {
        self.written().iter().sum()
    }

    /// Asks the trial's own server once; blocks for a few seconds at most.
    ///
    /// # Errors
    /// [`AskError`], where nobody of the tree listens there, somebody else does, or the answer does not come whole.
    pub fn ask(&self, url: &str) -> Result<Answer, AskError> {
        crate::ask::ask(url, self.keeper.id())
    }

    /// The process of the tree that takes connections to an address, where nobody else can.
    ///
    /// # Errors
    /// [`AskError`]: nobody listens there, somebody else does, or it is no address of this machine.
    pub fn listener(&self, url: &str) -> Result<Holder, AskError> {
        crate::ask::listener(url, self.keeper.id())
    }

    /// Who listens on a port, where that is nobody of the tree.
    #[must_use]
    pub fn stranger_at(&self, port: u16) -> Option<Holder> {
        match owner::look(port, &[], self.keeper.id()) {
            Look::Foreign { socket, .. } => owner::stranger(socket, self.keeper.id()),
            Look::Own(_) | Look::Elsewhere(_) | Look::Nobody => None,
        }
    }

    /// What has been going on in the last `span`: the facts that tell a slow start from a standstill.
    pub fn activity(&mut self, span: Duration) -> Activity {
        let (span, output_bytes, cpu) = self.samples.over(span, self.keeper.id(), self.written());
        let [last_stdout, last_stderr] = self.last_lines.clone();
        let last_output = self.readers.iter().filter_map(LineReader::last_output).max();
        Activity { last_stdout, last_stderr, last_output, span, output_bytes, cpu }
    }

    /// Every process that a sample has seen; the program itself is among them however short it lived.
    #[must_use]
    pub fn seen(&self) -> Vec<ProcessInfo> {
        let mut seen: Vec<ProcessInfo> = self.samples.seen().processes().cloned().collect();
        if seen.iter().all(|process| process.pid != self.pid) {
            seen.push(self.program.clone());
            seen.sort_by_key(|process| process.pid);
        }
        seen
    }
}
