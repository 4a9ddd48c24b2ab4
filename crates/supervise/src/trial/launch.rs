//! Starting a trial: checks, files, pipes, keeper, program.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{self, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::Trial;
use super::conditions::Conditions;
use super::near::KeeperProcess;
use super::note::Note;
use super::pump::{Flags, Pump};
use super::samples::Samples;
use super::streams::{InheritingSpec, Streams};
use crate::cancel::Canceller;
use crate::clock::Clock;
use crate::command::{Command, KeeperProgram, MARKER};
use crate::namespace::{Namespace, NamespaceError};
use crate::output::{OutputError, OutputPaths};
use crate::protocol::{Bytes, Mounts, Order, Start};
use crate::ready::checks::{Checks, Subject};
use crate::ready::watch::Watch;
use crate::ready::{ReadySpec, ReadySpecError, notify};
use crate::resolve::{ResolveError, resolve};
use crate::tree::ProcessInfo;

/// How long a keeper may take to start a program; it needs milliseconds, but a disk may be asleep.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Everything that makes a trial.
#[derive(Debug, Clone)]
pub struct TrialSpec {
    /// What is run.
    pub command: Command,
    /// How to start the keeper.
    pub keeper: KeeperProgram,
    /// Where the output goes.
    pub output: OutputPaths,
    /// Secrets that the program knows; stars of the same length are kept in their place.
    pub hidden: Vec<Vec<u8>>,
    /// When the program counts as ready; `None` for one that just runs to its end.
    pub ready: Option<ReadySpec>,
    /// The flag that interrupts the wait for events.
    pub canceller: Canceller,
    /// What the program's processes see otherwise than everybody else.
    pub namespace: Option<Namespace>,
}

/// Why a trial could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The command names nothing that can be run.
    #[error(transparent)]
    Command(#[from] ResolveError),
    /// A condition of readiness cannot be checked.
    #[error(transparent)]
    Ready(#[from] ReadySpecError),
    /// The working directory is not there or is no directory.
    #[error("enter the directory {}", directory.display())]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The files for the output could not be made.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The system refused the program.
    #[error("start {}", file.display())]
    Refused {
        /// The executable.
        file: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The system refused the program's private mounts.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// The keeper could not be started or talked to: a fault of the harness.
    #[error("start the keeper {}", exe.display())]
    Keeper {
        /// The keeper's executable.
        exe: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

impl Trial {
    /// Starts a program under a keeper of its own, and returns once the program runs.
    ///
    /// This process becomes a subreaper, so that nothing is lost even if a keeper is killed.
    ///
    /// # Errors
    /// When the command, the files or the keeper do not allow it; nothing is left running then.
    pub fn start(spec: TrialSpec) -> Result<Self, StartError> {
        let TrialSpec { command, keeper, output, hidden, ready, canceller, namespace } = spec;
        let what = What { command, keeper, ready: ready.unwrap_or_default(), canceller, namespace };
        Self::launch(what, || Streams::kept(&output, &hidden))
    }

    /// Starts a program as [`Trial::start`] does, with streams of the caller: neither lines nor ends of streams are told of it.
    ///
    /// # Errors
    /// As [`Trial::start`].
    pub fn start_inheriting(spec: InheritingSpec) -> Result<Self, StartError> {
        let InheritingSpec { command, keeper, streams, canceller, namespace } = spec;
        let what = What { command, keeper, ready: ReadySpec::default(), canceller, namespace };
        Self::launch(what, || Streams::inherited(streams))
    }

    fn launch(what: What, streams: impl FnOnce() -> Result<Streams, OutputError>) -> Result<Self, StartError> {
        let What { mut command, keeper: program, ready, canceller, namespace } = what;
        let cwd = directory(&command.cwd)?;
        let path = command.env.get(OsStr::new("PATH")).map(OsString::as_os_str);
        let file = resolve(command.argv.first().map_or(OsStr::new(""), OsString::as_os_str), path, &cwd)?;
        let wants_ready = !ready.is_empty();
        let (checks, socket) = Checks::prepare(ready, &cwd)?;
        if let Some(socket) = &socket {
            command.env.insert(notify::VARIABLE.into(), socket.name.clone().into());
            command.remove_on_exit.extend(socket.path.clone());
        }
        let Streams { stdin, stdout, stderr, captures, readers } = streams()?;

        let failed = |source: io::Error| StartError::Keeper { exe: program.exe.clone(), source };
        let keeper = KeeperProcess::spawn(&program, stdout, stderr).map_err(failed)?;
        let (sender, notes) = channel();
        let (flags, clock) = (Arc::new(Flags::default()), Clock::start());
        let control = keeper.listener().map_err(failed)?;
        let pump = Pump { control, captures, flags: Arc::clone(&flags), notes: sender.clone(), clock };
        let mut threads = vec![spawn_thread("output", move || pump.run()).map_err(failed)?];
        keeper.order_start(&start_order(&command, &file, &cwd, namespace.as_ref()), stdin.as_ref()).map_err(failed)?;
        let mut early = VecDeque::new();
        let started = match wait_started(&notes, &mut early) {
            Ok(started) => started,
            Err(NotStarted::Namespace(error)) => return Err(error.into()),
            Err(NotStarted::Refused(source)) => return Err(StartError::Refused { file, source }),
            Err(NotStarted::Keeper(source)) => return Err(failed(source)),
        };

        let subject = Subject { keeper: keeper.id(), pid: started.pid, start_time: started.start_time, clock };
        let checks = Arc::new(checks);
        if let Some((socket, word)) = socket.zip(checks.word().cloned()) {
            let flags = Arc::clone(&flags);
            let listen = move || notify::listen(&socket, &word, subject.keeper, clock, || flags.over.load(Ordering::SeqCst));
            threads.push(spawn_thread("notify", listen).map_err(failed)?);
        }
        if wants_ready {
            let watch = Watch::new(Arc::clone(&checks), subject, Arc::clone(&flags), sender.clone());
            threads.push(spawn_thread("ready", move || watch.run()).map_err(failed)?);
        }
        canceller.enlist(&sender);
        let as_started = as_started(&command, &file, keeper.id(), &started);
        Ok(Self {
            keeper,
            notes,
            _sender: sender,
            flags,
            clock,
            threads,
            readers,
            program: as_started,
            marker: command.marker,
            remove_on_exit: command.remove_on_exit,
            pid: started.pid,
            start_time: started.start_time,
            started_ns: clock.at(started.at_ns),
            early,
            due: VecDeque::new(),
            held: None,
            conditions: wants_ready.then(|| Conditions::new(checks, subject)),
            last_lines: [None, None],
            shown_unfinished: [0, 0],
            in_blocks: false,
            limit: None,
            passes_over: false,
            passed_over: false,
            samples: Samples::start(Duration::from_nanos(clock.now().0.saturating_sub(clock.at(started.at_ns).0))),
            gpus: None,
            exit: None,
            tree_end: None,
            lost: None,
        })
    }
}

/// What is started, wherever its streams lead.
struct What {
    command: Command,
    keeper: KeeperProgram,
    ready: ReadySpec,
    canceller: Canceller,
    namespace: Option<Namespace>,
}

/// The working directory, absolute, if it is one.
fn directory(cwd: &Path) -> Result<PathBuf, StartError> {
    let checked = path::absolute(cwd)
        .and_then(|directory| if fs::metadata(&directory)?.is_dir() { Ok(directory) } else { Err(io::ErrorKind::NotADirectory.into()) });
    checked.map_err(|source| StartError::Directory { directory: cwd.to_owned(), source })
}

fn start_order(command: &Command, file: &Path, cwd: &Path, namespace: Option<&Namespace>) -> Order {
    let mut env: Vec<(Bytes, Bytes)> = command
        .env
        .iter()
        .filter(|(name, _)| *name != MARKER)
        .map(|(name, value)| (name.as_os_str().into(), value.as_os_str().into()))
        .collect();
    env.push((OsStr::new(MARKER).into(), OsStr::new(&command.marker).into()));
    Order::Start(Box::new(Start {
        file: file.as_os_str().into(),
        argv: command.argv.iter().map(|argument| argument.as_os_str().into()).collect(),
        env,
        cwd: cwd.as_os_str().into(),
        remove_on_exit: command
            .remove_on_exit
            .iter()
            .map(|path| path::absolute(path).as_deref().unwrap_or(path).as_os_str().into())
            .collect(),
        namespace: namespace.map(Mounts::from),
    }))
}

/// The program as a sample would have seen it right after its start.
fn as_started(command: &Command, file: &Path, keeper: u32, started: &Started) -> ProcessInfo {
    ProcessInfo {
        pid: started.pid,
        ppid: keeper,
        session: started.pid,
        start_time: started.start_time,
        comm: file.file_name().map(|name| name.to_string_lossy().chars().take(15).collect()).unwrap_or_default(),
        cmdline: command.argv.clone(),
        exe: fs::canonicalize(file).ok(),
        rss_bytes: 0,
        cpu: Duration::ZERO,
    }
}

/// The program as the keeper has started it.
struct Started {
    pid: u32,
    start_time: u64,
    at_ns: u64,
}

enum NotStarted {
    Namespace(NamespaceError),
    Refused(io::Error),
    Keeper(io::Error),
}

/// Waits for the keeper's word; a program may have written or even ended before it, and those notes are kept for later.
fn wait_started(notes: &Receiver<Note>, early: &mut VecDeque<Note>) -> Result<Started, NotStarted> {
    let deadline = Instant::now() + START_LIMIT;
    loop {
        match notes.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Note::Started { pid, start_time, at_ns }) => return Ok(Started { pid, start_time, at_ns }),
            Ok(Note::NotStarted { errno, step }) => {
                let source = io::Error::from_raw_os_error(errno);
                return Err(match step {
                    Some((step, path)) => NotStarted::Namespace(NamespaceError { step, path, source }),
                    None => NotStarted::Refused(source),
                });
            }
            Ok(Note::KeeperGone) | Err(RecvTimeoutError::Disconnected) => {
                let source = io::Error::new(io::ErrorKind::UnexpectedEof, "it ended before it had started the program");
                return Err(NotStarted::Keeper(source));
            }
            Ok(note) => early.push_back(note),
            Err(RecvTimeoutError::Timeout) => return Err(NotStarted::Keeper(io::ErrorKind::TimedOut.into())),
        }
    }
}

fn spawn_thread(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(work)
}
