//! Watching a command: run once in the caller's surroundings, its words passed on and read for the phases of an engine.

mod tee;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bystander_host::owner::Owner;
use bystander_host::secrets::Masker;
use bystander_model::evidence::Stream;
use bystander_model::memory::{WatchEnding, WatchedMemory, WatchedSubject};
use bystander_model::samples::MarkKind;
use bystander_supervise::command::{Command, KeeperProgram};
use bystander_supervise::memory_watch::Prepared;
use bystander_supervise::trial::event::TrialEvent;
use bystander_supervise::trial::{Inherited, InheritingSpec, Trial};
use bystander_supervise::{ExitStatus, handover};

use super::Asks;
use super::account::{Account, account};
use super::session::Session;
use super::words::Hidden;
use crate::args::MemoryWatchArgs;
use crate::failure::Failure;
use crate::output::{Output, SamplesFile};
use tee::{Began, Reading};

/// How long what a program leaves behind may take to end by itself.
const LINGER: Duration = Duration::from_millis(500);
/// How long the tree may take to end after the signal that asked it to.
const GRACE: Duration = Duration::from_secs(10);
/// How much longer it is waited for after SIGKILL.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the last words of a command may take to be read when it is gone, and the time between two looks whether they are.
const READ: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(2);
/// How long one wait for the program lasts at most.
const TURN: Duration = Duration::from_millis(50);
/// The phase before the log shows one, and the one after the program was asked to end.
const STARTING: &str = "starting";
const STOPPING: &str = "stopping";

/// A command as it is to be run.
pub(super) struct Asked {
    argv: Vec<OsString>,
    words: Vec<String>,
    cwd: PathBuf,
    env: BTreeMap<OsString, OsString>,
    hidden: Hidden,
}

/// Looks at a command before anything is made for it.
pub(super) fn command(argv: &[OsString]) -> Result<Asked, Failure> {
    let cwd = std::env::current_dir().map_err(|error| {
        Failure::environment("failed to find the working directory")
            .because(&error)
            .hint("it was removed or may not be entered; `cd` to one that is there")
    })?;
    let env: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    let words: Vec<String> = argv.iter().map(text).collect();
    let pairs: Vec<(String, String)> = env.iter().map(|(name, value)| (text(name), text(value))).collect();
    let hidden = Hidden::of(&words, &pairs);
    Ok(Asked { argv: argv.to_vec(), words, cwd, env, hidden })
}

/// Runs it to its end.
pub(super) fn watch(
    asked: Asked,
    prepared: Prepared,
    args: &MemoryWatchArgs,
    file: Option<SamplesFile>,
    asks: &Asks,
    output: &mut Output,
) -> Result<WatchedMemory, Failure> {
    let trouble = |what: &str, error: &(dyn std::error::Error + 'static)| Failure::environment(what.to_owned()).because(error);
    let owner = Owner::current().map_err(|error| trouble("failed to name this process", &error))?;
    let masker = Masker::forgotten().map_err(|error| trouble("failed to hide secrets", &error))?;
    let (streams, pipes) = streams().map_err(|error| trouble("failed to hand on the standard streams", &error))?;
    let notes: Vec<String> =
        handover(&asked.argv).map(|why| format!("what runs may not be below this command: {why}")).into_iter().collect();
    let spec = InheritingSpec {
        command: Command {
            argv: asked.argv,
            env: asked.env,
            cwd: asked.cwd,
            marker: format!("{owner}/memory-watch/1"),
            remove_on_exit: Vec::new(),
        },
        keeper: KeeperProgram::this_executable(),
        streams,
        canceller: asks.canceller.clone(),
        namespace: None,
    };
    let started = Instant::now();
    let trial = match Trial::start_inheriting(spec) {
        Ok(trial) => trial,
        Err(error) => {
            file.into_iter().for_each(SamplesFile::discard);
            let failure = Failure::user("failed to launch the command").because(&error);
            return Err(failure.hint("it must be a program that this user may run; write it after `--`"));
        }
    };
    let what = WatchedSubject::Command { pid: trial.pid(), command: masker.command(&asked.words) };
    let live = output.memory_live(prepared.gpus_here());
    let (tell, told) = channel();
    let readers = read(pipes, started, &tell, &live).map_err(|error| trouble("failed to read the words of the command", &error))?;
    let session = Session::begin(prepared, trial.subject(), started, args, file, live, asked.hidden);
    let mut running = Running { trial, session, told, ended: None, asked: None, interrupted: false, over: false, notes };
    running.follow(asks);
    let Running { mut trial, session, told, ended, interrupted, over, mut notes, .. } = running;
    let finished = trial.finish(Duration::ZERO, |_| {});
    if finished.keeper_lost.is_some() {
        notes.push("the keeper of the program was killed; what it had left was ended".to_owned());
    }
    // The keeper holds the streams as well: their end comes after its own.
    trial.close();
    notes.extend(
        (!all_read(&readers))
            .then(|| "somebody who is not below the command still holds its streams; what comes there is not read".to_owned()),
    );
    told.try_iter().for_each(|began| begin(&session, &began));
    let here = session.watch.gpus_here().clone();
    let ending = match (interrupted, over) {
        (true, _) => WatchEnding::Interrupted,
        (false, true) => WatchEnding::TimeOver,
        (false, false) => WatchEnding::CommandEnded,
    };
    let of = Account {
        what,
        ending,
        why: asks.canceller.why().map(str::to_owned),
        exit: ended.and_then(ExitStatus::code),
        signal: ended.and_then(ExitStatus::signal),
        notes,
        interval: args.interval,
    };
    Ok(account(of, &here, session.end(), output))
}

/// The program's streams: standard input is ours, the others are read here.
fn streams() -> std::io::Result<(Inherited, [OwnedFd; 2])> {
    let pipe = || rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC);
    let ((stdout, stdout_end), (stderr, stderr_end)) = (pipe()?, pipe()?);
    let stdin = std::io::stdin().as_fd().try_clone_to_owned()?;
    Ok((Inherited { stdin, stdout: stdout_end, stderr: stderr_end }, [stdout, stderr]))
}

/// Starts to read both streams.
fn read(
    pipes: [OwnedFd; 2],
    started: Instant,
    tell: &Sender<Began>,
    live: &crate::output::MemoryLive,
) -> std::io::Result<Vec<JoinHandle<()>>> {
    let phases = tee::shared();
    let start = |(stream, pipe): (Stream, OwnedFd)| {
        let reading = Reading { stream, started, phases: phases.clone(), tell: tell.clone(), to: live.words() };
        std::thread::Builder::new().name(stream.name().to_owned()).spawn(move || reading.run(pipe))
    };
    [Stream::Stdout, Stream::Stderr].into_iter().zip(pipes).map(start).collect()
}

/// Whether everything was read that the command has written; not waited for without limit, since a stream may have been given to somebody else.
fn all_read(readers: &[JoinHandle<()>]) -> bool {
    let until = Instant::now() + READ;
    while !readers.iter().all(JoinHandle::is_finished) {
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(PAUSE);
    }
    true
}

fn begin(session: &Session, began: &Began) {
    session.watch.course().phase(began.at_s, began.name, Some(&began.from));
}

/// A command that runs.
struct Running {
    trial: Trial,
    session: Session,
    told: Receiver<Began>,
    /// How the program itself ended.
    ended: Option<ExitStatus>,
    /// When the tree was asked to end.
    asked: Option<Instant>,
    interrupted: bool,
    /// The time that was asked for is over.
    over: bool,
    notes: Vec<String>,
}

impl Running {
    fn follow(&mut self, asks: &Asks) {
        self.session.watch.course().phase(0.0, STARTING, None);
        let mut ended_at = None;
        while !self.trial.is_over() {
            let wait = self.session.step();
            while let Ok(began) = self.told.try_recv() {
                begin(&self.session, &began);
            }
            if self.session.is_over() && !self.over {
                self.over = true;
                self.end_all();
            }
            let mut event = self.trial.next(wait.min(TURN));
            while let Some(next) = event {
                self.take(&next, asks);
                event = self.trial.next(Duration::ZERO);
            }
            if self.ended.is_some() && self.asked.is_none() && ended_at.get_or_insert_with(Instant::now).elapsed() > LINGER {
                self.end_what_is_left();
            }
            if self.asked.is_some_and(|asked| asked.elapsed() > GRACE + PATIENCE) {
                self.notes.push("some processes of the command hang in the kernel".to_owned());
                break;
            }
        }
    }

    fn take(&mut self, event: &TrialEvent, asks: &Asks) {
        match event {
            TrialEvent::Exited(exit) => {
                self.ended = Some(exit.status);
                let watch = &self.session.watch;
                watch.course().mark(watch.elapsed_s(), MarkKind::Ended, &exit.status.to_string(), None);
            }
            TrialEvent::Cancelled => {
                self.interrupted |= !self.over;
                match (self.asked.is_some(), asks.canceller.signal()) {
                    // The second time nobody wants to wait.
                    (true, _) => self.trial.terminate(Duration::ZERO),
                    (false, Some(signal)) => self.trial.pass_on(signal, GRACE),
                    (false, None) => self.trial.terminate(GRACE),
                }
                self.stopping();
            }
            TrialEvent::Line(_)
            | TrialEvent::Lines(_)
            | TrialEvent::Ready(_)
            | TrialEvent::ForeignListener(_)
            | TrialEvent::StreamEnded(_)
            | TrialEvent::TreeEmpty(_)
            | TrialEvent::KeeperLost(_)
            | TrialEvent::OutputFailed(_) => {}
        }
    }

    fn end_all(&mut self) {
        self.trial.terminate(GRACE);
        self.stopping();
    }

    /// What a program leaves behind goes with it.
    fn end_what_is_left(&mut self) {
        let left = self.trial.processes().len();
        if left > 0 {
            let word = if left == 1 { "process" } else { "processes" };
            self.notes.push(format!("{left} {word} that the command left behind had to be ended"));
        }
        self.end_all();
    }

    fn stopping(&mut self) {
        self.asked.get_or_insert_with(Instant::now);
        if self.ended.is_none() {
            self.session.watch.course().phase(self.session.watch.elapsed_s(), STOPPING, None);
        }
    }
}
