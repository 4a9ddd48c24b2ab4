//! The near end of one connection: OpenSSH, and the agent that it reaches.
//!
//! The user's own SSH does the connecting, so that configuration, agents, jump hosts and known hosts hold. A host whose key is not known, or is another one
//! than before, is never talked to.

mod refusal;
mod shell;
mod start;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use bystander_model::address::Address;
use bystander_model::chain::with_causes;
use openssh::{ControlPersist, KnownHosts, Session, SessionBuilder};
use thiserror::Error;
use tokio::runtime::Runtime;

use super::agent::now_ns;
use super::clock::Offset;
use super::frame;
use super::message::{Ask, Told};
use super::{scratch, upload};
use refusal::unconnected;
pub use shell::{Shell, shell};
pub(super) use start::script;
use start::{LastWords, Started, start};

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(15);
/// Between two questions for the time.
const PING: Duration = Duration::from_secs(2);
/// A far end that has not answered for so long is not there.
const SILENCE: Duration = Duration::from_secs(12);
/// Between two looks whether this process is to end.
const LOOK: Duration = Duration::from_millis(50);
/// Questions by which the offset of the clock is first measured.
const CLOCK_QUESTIONS: u64 = 8;
/// SSH's own connection stays for so long where this process is killed.
const LINGER: NonZeroUsize = NonZeroUsize::new(5).expect("it is not zero");

/// How to connect.
#[derive(Debug, Clone)]
pub struct Options {
    /// A configuration of SSH other than the user's.
    pub config: Option<PathBuf>,
    /// Whether this executable may be copied there.
    pub upload: bool,
    /// The name of the near state directory.
    pub near: String,
    /// Whether nothing will be left there: then no state directory is made, and one that cannot be is no reason not to connect.
    pub visits: bool,
    /// Set once this process is to end: no connection is waited for any longer.
    pub halt: Arc<AtomicBool>,
}

/// Why there is no connection, or none any more.
#[derive(Debug, Error)]
pub enum LinkError {
    /// SSH is not there, or the system starts nothing.
    #[error("start ssh")]
    Local(#[source] io::Error),
    /// SSH could not connect, and another time it may.
    #[error("{said}")]
    Unreachable {
        /// What SSH says.
        said: String,
    },
    /// The host's key is not the known one.
    #[error("{said}")]
    HostKey {
        /// What SSH says.
        said: String,
        /// How the known one is removed, where the host has another one now.
        remove: Option<String>,
    },
    /// The host lets nobody in who comes so.
    #[error("{said}")]
    Refused {
        /// What SSH says.
        said: String,
    },
    /// There is no executable of this version there, and none can be brought.
    #[error("{why}")]
    NoAgent {
        /// Why.
        why: String,
    },
    /// The connection broke.
    #[error("{0}")]
    Broken(String),
    /// What was started there says nothing.
    #[error("ssh has connected, and what it started there has not answered for {seconds} s")]
    Silent {
        /// So long was waited, in seconds.
        seconds: u64,
    },
    /// There is no folder for the socket of SSH's own connection.
    #[error("{0}")]
    Scratch(io::Error),
    /// The far end could not do what was asked.
    #[error("{what}: {why}")]
    Failed {
        /// What.
        what: String,
        /// Why.
        why: String,
    },
    /// A message is longer than any may be: another connection does no better.
    #[error("{0}")]
    TooLong(io::Error),
    /// The far end said something that nobody asked for.
    #[error("the far end answered something else than was asked")]
    Confused,
    /// This process is to end.
    #[error("interrupted")]
    Halted,
}

impl LinkError {
    /// Whether another connection may do better.
    #[must_use]
    pub const fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Broken(_) | Self::Silent { .. })
    }
}

/// What is known of the far end.
#[derive(Debug, Clone)]
pub struct Opened {
    /// The name of the machine.
    pub machine: String,
    /// The state directory there.
    pub state: PathBuf,
    /// The home directory there.
    pub home: PathBuf,
    /// Bytes that are free where the state directory is.
    pub free_bytes: Option<u64>,
    /// What tells the machine and that state directory from all others, whatever the address; `None` where the system there does not say.
    pub identity: Option<String>,
    /// What tells that machine and its user's state from all others, also after it was started anew; `None` where nothing may be kept there.
    pub state_id: Option<String>,
}

enum Heard {
    Told(Told, Vec<u8>),
    End(String),
}

/// A connection with an agent at its end.
pub struct Link {
    to: File,
    heard: Receiver<Heard>,
    opened: Opened,
    offset: Offset,
    pinged: Instant,
    heard_at: Instant,
    /// The question for the time that was asked last, when, and the last one whose answer was heard.
    token: u64,
    asked_ns: u64,
    answered: u64,
    /// What was said of commands that are followed, while something else was waited for.
    unheard: VecDeque<(Told, Vec<u8>)>,
    /// Whether an answer is waited for no longer.
    halt: Option<Arc<AtomicBool>>,
    // Dropped last, and in this order: the agent's channel, SSH's connection, what runs them, the folder of their socket.
    _agent: openssh::Child<Arc<Session>>,
    _session: Arc<Session>,
    _runtime: Runtime,
    _scratch: scratch::Scratch,
}

impl Link {
    /// Connects, and brings the executable there where it is missing; `note` is told what takes time.
    ///
    /// # Errors
    /// There is no way there, or no agent of this version.
    pub fn connect(address: &Address, options: &Options, note: &mut dyn FnMut(&str)) -> Result<Self, LinkError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(LinkError::Local)?;
        let scratch = scratch::Scratch::new().map_err(LinkError::Scratch)?;
        let doing = Doing { runtime: &runtime, halt: &options.halt };
        let session = Arc::new(doing.wait_for(session(address, options, scratch.path()))??);
        let started = match start(&doing, &session)? {
            Started::There(started) => started,
            Started::Not(found) => {
                if !options.upload {
                    return Err(LinkError::NoAgent { why: format!("{found}, and --no-upload forbids to copy this one there") });
                }
                note(&format!("copying this executable to {}: {found}", address.machine()));
                upload::bring(&doing, &session)?;
                match start(&doing, &session)? {
                    Started::There(started) => started,
                    Started::Not(found) => {
                        return Err(LinkError::NoAgent { why: format!("this executable was copied there and does not run: {found}") });
                    }
                }
            }
        };
        let (to, heard, agent) = (started.to, listen(started.from, started.last_words), started.agent);
        let now = Instant::now();
        let opened = Opened {
            machine: String::new(),
            state: PathBuf::new(),
            home: PathBuf::new(),
            free_bytes: None,
            identity: None,
            state_id: None,
        };
        let (pinged, heard_at, offset) = (now, now, Offset { ahead_ns: 0, error_ns: u64::MAX });
        let mut link = Self {
            to,
            heard,
            opened,
            offset,
            pinged,
            heard_at,
            token: 0,
            asked_ns: 0,
            answered: 0,
            unheard: VecDeque::new(),
            halt: Some(Arc::clone(&options.halt)),
            _agent: agent,
            _session: session,
            _runtime: runtime,
            _scratch: scratch,
        };
        link.open(&options.near, options.visits)?;
        link.halt = None;
        Ok(link)
    }

    fn open(&mut self, near: &str, visits: bool) -> Result<(), LinkError> {
        let near = near.to_owned();
        let (told, _) = self.ask(&if visits { Ask::Visit { near } } else { Ask::Open { near } }, &[])?;
        let Told::Opened { machine, state, home, free_bytes, identity, state_id } = told else { return Err(LinkError::Confused) };
        self.opened = Opened { machine, state, home, free_bytes, identity, state_id };
        for _ in 0..CLOCK_QUESTIONS {
            self.ping()?;
            while self.answered != self.token {
                if self.is_halted() {
                    return Err(LinkError::Halted);
                }
                self.heard_one(LOOK)?;
            }
        }
        Ok(())
    }

    /// From now on no answer to a question is waited for once this is set.
    pub fn halt_by(&mut self, halt: Arc<AtomicBool>) {
        self.halt = Some(halt);
    }

    /// From now on answers to questions are waited for again, whatever was set.
    pub fn halt_by_nothing(&mut self) {
        self.halt = None;
    }

    fn is_halted(&self) -> bool {
        self.halt.as_ref().is_some_and(|halt| halt.load(Ordering::SeqCst))
    }

    /// What is known of the far end.
    #[must_use]
    pub fn opened(&self) -> &Opened {
        &self.opened
    }

    /// How far the far clock is from the clock here, as well as it is known by now.
    #[must_use]
    pub fn offset(&self) -> Offset {
        self.offset
    }

    /// Says something.
    ///
    /// # Errors
    /// The connection broke.
    pub fn say(&mut self, ask: &Ask, body: &[u8]) -> Result<(), LinkError> {
        frame::write(&mut self.to, ask, body).map_err(|error| self.broken(error))
    }

    /// Says something, and waits for the one answer to it; what is said of commands meanwhile is heard later.
    ///
    /// # Errors
    /// The connection broke, or the far end could not do it.
    pub fn ask(&mut self, ask: &Ask, body: &[u8]) -> Result<(Told, Vec<u8>), LinkError> {
        if self.is_halted() {
            return Err(LinkError::Halted);
        }
        self.say(ask, body)?;
        loop {
            match self.heard_until(Instant::now() + if self.halt.is_some() { LOOK } else { PING })? {
                None if self.is_halted() => return Err(LinkError::Halted),
                Some(said @ (Told::Found { .. } | Told::Output { .. } | Told::Ended { .. } | Told::Signalled { .. }, _)) => {
                    self.unheard.push_back(said)
                }
                Some(answer) => return Ok(answer),
                None => {}
            }
        }
    }

    /// Waits for the next that the far end says; `None` where it says nothing for so long.
    ///
    /// # Errors
    /// The connection broke, the far end has been silent for too long, or could not do something.
    pub fn hear(&mut self, wait: Duration) -> Result<Option<(Told, Vec<u8>)>, LinkError> {
        match self.unheard.pop_front() {
            Some(said) => Ok(Some(said)),
            None => self.heard_until(Instant::now() + wait),
        }
    }

    /// Keeps the connection alive while something else is done here for long.
    ///
    /// # Errors
    /// The connection broke, or this process is to end.
    pub fn breathe(&mut self) -> Result<(), LinkError> {
        if self.is_halted() {
            return Err(LinkError::Halted);
        }
        if self.pinged.elapsed() < PING {
            return Ok(());
        }
        self.ping()?;
        let until = Instant::now() + LOOK;
        // The answer to the question of before, at the latest.
        while let Some(said) = self.heard_one(Duration::ZERO)? {
            self.unheard.push_back(said);
            if Instant::now() >= until {
                break;
            }
        }
        Ok(())
    }

    fn heard_until(&mut self, until: Instant) -> Result<Option<(Told, Vec<u8>)>, LinkError> {
        loop {
            if self.pinged.elapsed() >= PING {
                self.ping()?;
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.heard_one(left.min(PING))? {
                Some((Told::Failed { what, why }, _)) => return Err(LinkError::Failed { what, why }),
                Some(answer) => return Ok(Some(answer)),
                None if Instant::now() >= until => return Ok(None),
                None => {}
            }
        }
    }

    fn ping(&mut self) -> Result<(), LinkError> {
        self.pinged = Instant::now();
        self.asked_ns = now_ns();
        // An answer to an earlier question tells the time of that one.
        self.token += 1;
        self.say(&Ask::Ping { token: self.token }, &[])
    }

    /// The next message that is not about the time; `None` where there is none for so long, or it is about the time.
    fn heard_one(&mut self, wait: Duration) -> Result<Option<(Told, Vec<u8>)>, LinkError> {
        match self.heard.recv_timeout(wait) {
            Ok(Heard::Told(Told::Pong { token, now_ns: far_ns }, _)) => {
                self.heard_at = Instant::now();
                if token == self.token {
                    self.offset = self.offset.better(Offset::of(self.asked_ns, far_ns, now_ns()));
                    self.answered = token;
                }
                Ok(None)
            }
            Ok(Heard::Told(told, body)) => {
                self.heard_at = Instant::now();
                Ok(Some((told, body)))
            }
            Ok(Heard::End(why)) => Err(LinkError::Broken(why)),
            Err(RecvTimeoutError::Disconnected) => Err(LinkError::Broken("the connection ended".to_owned())),
            Err(RecvTimeoutError::Timeout) if self.heard_at.elapsed() >= SILENCE => {
                Err(LinkError::Broken(format!("no answer for {} s", SILENCE.as_secs())))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
        }
    }

    /// Why it broke: what was said last where there is something, else what the system says.
    fn broken(&self, error: io::Error) -> LinkError {
        if error.kind() == io::ErrorKind::InvalidInput {
            return LinkError::TooLong(error);
        }
        let last = self.heard.try_iter().find_map(|heard| if let Heard::End(why) = heard { Some(why) } else { None });
        LinkError::Broken(last.unwrap_or_else(|| error.to_string()))
    }
}

/// What connecting takes: it is given up once this process is to end.
pub(super) struct Doing<'a> {
    pub(super) runtime: &'a Runtime,
    halt: &'a AtomicBool,
}

impl Doing<'_> {
    /// Waits for something that SSH does.
    pub(super) fn wait_for<T>(&self, done: impl Future<Output = T>) -> Result<T, LinkError> {
        self.runtime.block_on(async {
            let mut done = pin!(done);
            loop {
                match tokio::time::timeout(LOOK, done.as_mut()).await {
                    Ok(done) => return Ok(done),
                    Err(_) if self.halt.load(Ordering::SeqCst) => return Err(LinkError::Halted),
                    Err(_) => {}
                }
            }
        })
    }

    /// Waits for something that a thread does; `None` where it takes longer than that, or the thread is gone.
    pub(super) fn receive<T>(&self, from: &Receiver<T>, most: Duration) -> Result<Option<T>, LinkError> {
        let end = Instant::now() + most;
        loop {
            match from.recv_timeout(LOOK) {
                Ok(received) => return Ok(Some(received)),
                Err(RecvTimeoutError::Timeout) if self.halt.load(Ordering::SeqCst) => return Err(LinkError::Halted),
                Err(RecvTimeoutError::Timeout) if Instant::now() < end => {}
                Err(_) => return Ok(None),
            }
        }
    }
}

/// Connects.
async fn session(address: &Address, options: &Options, scratch: &Path) -> Result<Session, LinkError> {
    let mut builder = SessionBuilder::default();
    builder
        .known_hosts_check(KnownHosts::Strict)
        .connect_timeout(CONNECT)
        .server_alive_interval(Duration::from_secs(5))
        .control_persist(ControlPersist::IdleFor(LINGER))
        .control_directory(scratch);
    if let Some(user) = &address.user {
        builder.user(user.clone());
    }
    if let Some(port) = address.port {
        builder.port(port);
    }
    if let Some(file) = &options.config {
        builder.config_file(file);
    }
    builder.connect(&address.host).await.map_err(|error| unconnected(&error))
}

/// Reads messages on a thread of its own.
fn listen(mut from: BufReader<File>, last_words: LastWords) -> Receiver<Heard> {
    let (told, heard) = mpsc::sync_channel(64);
    thread::spawn(move || {
        loop {
            let end = match frame::read::<Told>(&mut from) {
                Ok(Some((message, body))) => {
                    if told.send(Heard::Told(message, body)).is_err() {
                        return;
                    }
                    continue;
                }
                Ok(None) => last_words.when_ended().lines().last().unwrap_or("the connection ended").to_owned(),
                Err(error) => with_causes(&error),
            };
            let _nobody = told.send(Heard::End(end));
            return;
        }
    });
    heard
}
