//! `bystander memory watch`: the memory of GPUs, processes and the machine over time, of a command, of a process, or of all GPUs.

mod account;
mod program;
mod session;
mod there;
mod words;

use std::process::ExitCode;
use std::sync::mpsc::{Receiver, channel};

use bystander_model::memory::{WatchEnding, WatchedMemory};
use bystander_supervise::Canceller;
use bystander_supervise::memory_watch::MemoryWatch;

use crate::args::MemoryWatchArgs;
use crate::failure::{Failure, exit};
use crate::interrupt;
use crate::output::{Output, SamplesFile};

/// Watches.
pub(crate) fn run(args: &MemoryWatchArgs, output: &mut Output) -> Result<ExitCode, Failure> {
    // What cannot be watched is refused before anything is made.
    let process = args.pid.map(there::process).transpose()?;
    let command = (!args.command.is_empty()).then(|| program::command(&args.command)).transpose()?;
    let file = args.output.as_deref().map(SamplesFile::make).transpose()?;
    let asks = Asks::listen()?;
    let prepared = MemoryWatch::prepare();
    let watched = match (command, process) {
        (Some(command), _) => program::watch(command, prepared, args, file, &asks, output)?,
        (None, process) => there::watch(process.as_ref(), prepared, args, file, &asks, output)?,
    };
    output.memory_watched(&watched);
    Ok(ExitCode::from(code(&watched)))
}

/// Requests to stop.
struct Asks {
    canceller: Canceller,
    /// Told at each of them.
    asked: Receiver<()>,
}

impl Asks {
    fn listen() -> Result<Self, Failure> {
        let (tell, asked) = channel();
        let canceller = interrupt::canceller(move |_| {
            // Nobody waits any more where the watch is over.
            let _ = tell.send(());
        })?;
        Ok(Self { canceller, asked })
    }
}

/// The exit code, as the help says it.
fn code(watched: &WatchedMemory) -> u8 {
    match watched.ending {
        WatchEnding::Interrupted => exit::INTERRUPTED,
        WatchEnding::CommandEnded if watched.exit != Some(0) => exit::FAILED,
        WatchEnding::CommandEnded | WatchEnding::ProcessEnded | WatchEnding::TimeOver => exit::ANSWERED,
    }
}
