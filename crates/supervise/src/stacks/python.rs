//! Python stacks, read from the memory of a process without stopping it.

use std::panic::AssertUnwindSafe;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use py_spy::config::LockingStrategy;
use py_spy::{Config, PythonSpy, StackTrace};

use super::{Python, StackFrame, ThreadStack};

/// Entries of one stack that are kept, from the innermost on.
const FRAMES: usize = 200;
/// Threads of one process that are kept.
const THREADS: usize = 256;

/// Reads the stacks of each process; what does not come within the limit is unread.
pub(super) fn read(pids: &[u32], limit: Duration) -> Vec<Python> {
    let mut found: Vec<Option<Python>> = pids.iter().map(|&pid| (!runs_python(pid)).then_some(Python::None)).collect();
    let wanted: Vec<(usize, u32)> = (0..pids.len()).filter(|&at| found[at].is_none()).map(|at| (at, pids[at])).collect();
    if !wanted.is_empty() {
        let until = Instant::now() + limit;
        let (told, tell) = mpsc::channel();
        // On a thread of its own: a reader that follows a broken pointer for ever must not hold up the trial.
        let reader = std::thread::Builder::new().name("stacks".into()).spawn(move || {
            for (at, pid) in wanted {
                let python = std::panic::catch_unwind(AssertUnwindSafe(|| of_process(pid)));
                let python = python.unwrap_or_else(|_| Python::Unread { why: "the reader of Python's memory failed".into() });
                if told.send((at, python)).is_err() {
                    return;
                }
            }
        });
        while reader.is_ok() && found.iter().any(Option::is_none) {
            let Ok((at, python)) = tell.recv_timeout(until.saturating_duration_since(Instant::now())) else { break };
            found[at] = Some(python);
        }
    }
    let late = || Python::Unread { why: format!("they were not read within {:.0} s", limit.as_secs_f64()) };
    found.into_iter().map(|python| python.unwrap_or_else(late)).collect()
}

/// Whether an interpreter is loaded: by the name of the executable, or of a library.
pub(super) fn runs_python(pid: u32) -> bool {
    let named = crate::procfs::exe(pid).and_then(|exe| Some(exe.file_name()?.to_string_lossy().contains("python")));
    if named == Some(true) {
        return true;
    }
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    maps.lines().any(|line| line.rsplit('/').next().is_some_and(|name| name.starts_with("libpython")))
}

fn of_process(pid: u32) -> Python {
    let Ok(id) = i32::try_from(pid) else { return Python::Unread { why: "its number is too large".into() } };
    // `Config` has no builder; what is not named here is for py-spy as a command.
    let config = Config { blocking: LockingStrategy::NonBlocking, ..Config::default() };
    // Told without the reader's own stack, which an error may carry.
    let unread = |error: &dyn std::fmt::Display| Python::Unread { why: error.to_string() };
    let mut spy = match PythonSpy::new(id, &config) {
        Ok(spy) => spy,
        Err(error) => return unread(&format_args!("{error:#}")),
    };
    match spy.get_stack_traces() {
        Ok(traces) => Python::Stacks { version: spy.version.to_string(), threads: threads(&traces, pid) },
        Err(error) => unread(&format_args!("{error:#}")),
    }
}

/// The main thread first, then the others by name, so that two looks list them alike.
fn threads(traces: &[StackTrace], pid: u32) -> Vec<ThreadStack> {
    let is_main = |trace: &StackTrace| {
        trace.os_thread_id.map_or_else(|| trace.thread_name.as_deref() == Some("MainThread"), |thread| thread == u64::from(pid))
    };
    let mut sorted: Vec<&StackTrace> = traces.iter().collect();
    sorted.sort_by(|a, b| (!is_main(a), &a.thread_name, a.thread_id).cmp(&(!is_main(b), &b.thread_name, b.thread_id)));
    sorted.into_iter().take(THREADS).map(thread).collect()
}

fn thread(trace: &StackTrace) -> ThreadStack {
    let frame = |frame: &py_spy::Frame| StackFrame {
        file: frame.filename.clone(),
        line: u32::try_from(frame.line).unwrap_or(0),
        function: frame.name.clone(),
    };
    let mut frames: Vec<StackFrame> = trace.frames.iter().take(FRAMES).map(frame).collect();
    frames.reverse();
    ThreadStack { name: trace.thread_name.clone(), id: trace.os_thread_id.and_then(|id| u32::try_from(id).ok()), frames }
}
