//! Where the processes of a tree stand: the Python stacks of those that run Python, and what the kernel says of every thread.
//!
//! Everything is read from outside, through `/proc` and the memory of the process. No process is stopped, no signal is sent, and no code runs in it. The
//! price is that a stack of a process that moves may be read while it changes: callers look at what stands still, and look twice.

mod python;
mod text;
mod waits;

use std::time::{Duration, Instant};

use crate::tree::ProcessInfo;

pub use waits::{Wait, WaitKind};

/// The stacks of a tree at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stacks {
    /// Each process, parents before their children.
    pub processes: Vec<ProcessStacks>,
    /// How long it took to read them.
    pub took: Duration,
}

/// Where one process stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessStacks {
    /// The process.
    pub pid: u32,
    /// When it started, in clock ticks since boot.
    pub start_time: u64,
    /// Its arguments, or its title, in one line; secrets of the command are still in it.
    pub title: String,
    /// Its main thread, as the kernel has it.
    pub main: Wait,
    /// Whether one of its threads runs, or is next to run.
    pub runs: bool,
    /// Whether it listens on a socket, as a server does that has nothing to do.
    pub listens: bool,
    /// The threads that a clock will wake, each with how often it has begun to wait: one that is the same at two looks is one long sleep.
    pub clocks: Vec<(u32, u64)>,
    /// What each of its threads waits for.
    pub waits: Vec<(u32, WaitKind)>,
    /// Its Python stacks.
    pub python: Python,
}

/// The Python side of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Python {
    /// It runs no Python.
    None,
    /// Its stacks, the main thread's first.
    Stacks {
        /// The version, such as `3.12.1`.
        version: String,
        /// Each thread.
        threads: Vec<ThreadStack>,
    },
    /// It runs Python, whose stacks could not be read.
    Unread {
        /// Why.
        why: String,
    },
}

/// The Python stack of one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadStack {
    /// Its name, where Python has one.
    pub name: Option<String>,
    /// Its number, where that is known.
    pub id: Option<u32>,
    /// Its entries, outermost first.
    pub frames: Vec<StackFrame>,
}

/// One entry of a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackFrame {
    /// The file, as Python has it.
    pub file: String,
    /// The line, from 1; 0 where it is not known.
    pub line: u32,
    /// The function.
    pub function: String,
}

impl ProcessStacks {
    /// The Python stack of the main thread.
    #[must_use]
    pub fn main_stack(&self) -> Option<&ThreadStack> {
        match &self.python {
            Python::Stacks { threads, .. } => threads.first(),
            Python::None | Python::Unread { .. } => None,
        }
    }

    /// Whether it stands where it stood at an earlier look: the same entries in every stack, and the main thread in the same sort of wait.
    #[must_use]
    pub fn stands_as(&self, before: &Self) -> bool {
        (self.pid, self.start_time) == (before.pid, before.start_time) && self.python == before.python && self.main.kind == before.main.kind
    }
}

/// Takes the stacks of processes. What cannot be read within `limit` is said to be unread.
#[must_use]
pub fn take(processes: &[ProcessInfo], limit: Duration) -> Stacks {
    let began = Instant::now();
    let pids: Vec<u32> = processes.iter().map(|process| process.pid).collect();
    let pythons = python::read(&pids, limit);
    let listening = waits::listening();
    let of = |(process, python): (&ProcessInfo, Python)| {
        let waits::Threads { main, runs, clocks, waits } = waits::of(process.pid);
        ProcessStacks {
            pid: process.pid,
            start_time: process.start_time,
            title: if process.cmdline.is_empty() { process.comm.clone() } else { process.title() },
            main,
            runs,
            clocks,
            waits,
            listens: waits::holds_one(process.pid, &listening),
            python,
        }
    };
    Stacks { processes: processes.iter().zip(pythons).map(of).collect(), took: began.elapsed() }
}

/// Whether a process runs Python now: by the name of its executable, or of a library that it has loaded.
#[must_use]
pub fn runs_python(pid: u32) -> bool {
    python::runs_python(pid)
}

/// Bytes that a process has read and written so far, files, pipes and devices together; `None` where that may not be known.
#[must_use]
pub fn io_bytes(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.trim().parse::<u64>().ok());
    Some(value("rchar")?.saturating_add(value("wchar")?))
}

#[cfg(test)]
mod tests;
