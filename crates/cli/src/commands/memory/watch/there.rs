//! Watching what is there: a process with everything below it, or all GPUs with whoever is on them.

use std::sync::mpsc::RecvTimeoutError;
use std::time::Instant;

use bystander_model::memory::{WatchEnding, WatchedMemory, WatchedSubject};
use bystander_model::typed;
use bystander_supervise::memory_watch::Prepared;
use bystander_supervise::tree::{self, Life};
use bystander_supervise::{ProcessInfo, Subject};

use super::Asks;
use super::account::{Account, account};
use super::session::Session;
use super::words::Hidden;
use crate::args::MemoryWatchArgs;
use crate::failure::Failure;
use crate::output::{Output, SamplesFile};

/// Finds the process that was named.
pub(super) fn process(pid: u32) -> Result<ProcessInfo, Failure> {
    let found = tree::process(pid).filter(|process| tree::life(process) == Life::Lives);
    found.ok_or_else(|| {
        Failure::user(format!("failed to watch process {pid}: there is no living process of this number")).hint(format!(
            "`{}` without a number shows who is on the GPUs; a container has numbers of its own",
            typed::there("memory watch")
        ))
    })
}

/// Watches until the process ends, the time is over, or the user stops it.
pub(super) fn watch(
    process: Option<&ProcessInfo>,
    prepared: Prepared,
    args: &MemoryWatchArgs,
    file: Option<SamplesFile>,
    asks: &Asks,
    output: &mut Output,
) -> Result<WatchedMemory, Failure> {
    let subject = process.map_or(Subject::Machine, |process| Subject::Process(process.pid));
    let hidden = Hidden::default();
    let what = match process {
        Some(process) => WatchedSubject::Process { pid: process.pid, title: hidden.title(&title(process)) },
        None => WatchedSubject::Machine,
    };
    let live = output.memory_live(prepared.gpus_here());
    let mut session = Session::begin(prepared, subject, Instant::now(), args, file, live, hidden);
    let ending = loop {
        let wait = session.step();
        if process.is_some_and(|process| tree::life(process) != Life::Lives) {
            break WatchEnding::ProcessEnded;
        }
        if session.is_over() {
            break WatchEnding::TimeOver;
        }
        match asks.asked.recv_timeout(wait) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => break WatchEnding::Interrupted,
        }
    };
    let here = session.watch.gpus_here().clone();
    let of = Account {
        what,
        ending,
        why: asks.canceller.why().map(str::to_owned),
        exit: None,
        signal: None,
        notes: Vec::new(),
        interval: args.interval,
    };
    Ok(account(of, &here, session.end(), output))
}

fn title(process: &ProcessInfo) -> String {
    let title = process.title();
    if title.is_empty() { process.comm.clone() } else { title }
}
