//! One command, run once in the caller's surroundings with probes in it, and its hits as they come.
//!
//! Nothing is judged here and nothing is shown: each thing that happens is handed to the caller, hits first, in batches. The program keeps the
//! streams that it is given. What fails on our side (the record, a ring) never ends the program: it runs on, unseen.

mod check;
mod reader;

use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bystander_model::hit::{Hit, Receipt};
use bystander_model::ids::{RunId, TimeNs, TrialId};
use bystander_model::watch::WatchEnd;
use bystander_probe::{DrainError, OverlayError, TextError};
use bystander_store::{StateDir, StateError};
use bystander_supervise::command::{Command, KeeperProgram};
use bystander_supervise::trial::event::{Finished, TrialEvent};
use bystander_supervise::trial::{Inherited, InheritingSpec, StartError, Trial};
use bystander_supervise::{Canceller, Exit};

use crate::local::deliver::{Cast, Private, PrivateError};
use crate::local::{Probes, ring_folder};
use crate::owner::Owner;
use crate::secrets;

pub use check::{CheckError, Checked, Request, check};
use reader::Reader;

/// A watched command is the only trial of its run.
pub const TRIAL: TrialId = TrialId(1);
/// How long what a program leaves behind may take to end by itself: what its libraries started for it goes with it.
const LINGER: Duration = Duration::from_millis(500);
/// How long the tree may take to end after the signal that asked it to.
const GRACE: Duration = Duration::from_secs(10);
/// How much longer it is waited for after SIGKILL.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks at private mounts.
const MOUNTS: Duration = Duration::from_secs(1);
/// How long hits are gathered before they are handed on.
const GATHER: Duration = Duration::from_millis(10);
/// More hits than this are handed on at once.
const BATCH: usize = 4096;

/// Where a command is watched from.
#[derive(Debug)]
pub struct Launch<'a> {
    /// The state directory.
    pub state: &'a StateDir,
    /// The run in its record.
    pub run: &'a RunId,
    /// The program's streams.
    pub streams: Inherited,
    /// Raised when the user asks to stop.
    pub canceller: &'a Canceller,
}

/// What happens.
#[derive(Debug)]
pub enum Happened {
    /// The program runs.
    Launched {
        /// Its process.
        pid: u32,
        /// When it was started.
        at: TimeNs,
    },
    /// Hits came.
    Hits(Vec<Hit>),
    /// What a process says of a probe; after the end of all processes.
    Receipt(Receipt),
    /// Nothing of the program is left; last.
    Ended(WatchEnd),
}

/// Why the record took something not.
pub type Refused = Box<dyn Error + Send + Sync>;

/// Takes what happens into the record.
pub type Tell<'a> = dyn FnMut(Happened) -> Result<(), Refused> + 'a;

/// Why a command could not be watched. Where the program ran, it has ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The process of Bystander cannot be named.
    #[error("name this process")]
    Owner(#[source] io::Error),
    /// There is no place for the overlay.
    #[error(transparent)]
    State(#[from] StateError),
    /// There is no probe.
    #[error("find a probe")]
    NoProbe,
    /// The overlay cannot be written.
    #[error(transparent)]
    Overlay(#[from] OverlayError),
    /// A statement cannot be put into a private copy of a file.
    #[error(transparent)]
    Text(#[from] TextError),
    /// The private mounts cannot be prepared.
    #[error(transparent)]
    Private(#[from] PrivateError),
    /// The program was not started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The reader of the rings cannot be started.
    #[error("start the reader of hits")]
    Reader(#[source] io::Error),
    /// The record does not take what happened; the program was let run to its end.
    #[error("record what happened; the program was let run to its end")]
    Record(#[source] Refused),
}

/// Runs the command to its end and tells everything that happens.
///
/// # Errors
/// [`WatchError`] where the program could not be launched, or the record refused; nothing of it is left running then.
pub fn run(checked: &Checked, launch: Launch<'_>, tell: &mut Tell<'_>) -> Result<(), WatchError> {
    let owner = Owner::current().map_err(WatchError::Owner)?;
    let rings = ring_folder(&owner, launch.run, TRIAL);
    let folder = launch.state.create_trial_dir(launch.run, TRIAL)?;
    let cast = Cast::of_choices(checked.probes.iter().zip(&checked.choices), &folder)?;
    let probes = Probes::lay(&cast, &folder, &rings)?.ok_or(WatchError::NoProbe)?;
    let pth = probes.overlay().filter(|_| cast.pth).map(|overlay| (overlay, checked.interpreter.as_path()));
    let private = if cast.is_mounted() { Some(Private::lay(&folder.join("mount"), &cast.mounted, pth)?) } else { None };
    let mut env = checked.request.env.clone();
    let python_path = env.get(OsStr::new("PYTHONPATH")).cloned();
    env.extend(probes.overlay().map(|overlay| overlay.env(python_path.as_deref())).unwrap_or_default());
    env.extend(private.as_ref().and_then(Private::env).map(|(name, folder)| (name.into(), folder.into())));
    let spec = InheritingSpec {
        command: command(checked, env, format!("{owner}/{}/{TRIAL}", launch.run), rings.clone()),
        keeper: KeeperProgram::this_executable(),
        streams: launch.streams,
        canceller: launch.canceller.clone(),
        namespace: private.as_ref().map(|private| private.namespace().clone()),
    };
    let trial = match Trial::start_inheriting(spec) {
        Ok(trial) => trial,
        Err(error) => {
            // The keeper removes them where there was one; what is left is found by the next start.
            let _ = std::fs::remove_dir_all(&rings);
            return Err(error.into());
        }
    };
    let reader = Reader::start(probes, checked.hidden.clone()).map_err(WatchError::Reader)?;
    let private = private.as_ref();
    let watching = Watching {
        checked,
        trial,
        private,
        tell,
        refused: None,
        exit: None,
        interrupted: false,
        canceller: launch.canceller,
        asked: None,
        ending_what_is_left: false,
        left: None,
        lost: None,
    };
    watching.follow(reader)
}

fn command(checked: &Checked, env: BTreeMap<OsString, OsString>, marker: String, rings: PathBuf) -> Command {
    Command { argv: checked.request.command.clone(), env, cwd: checked.request.cwd.clone(), marker, remove_on_exit: vec![rings] }
}

/// A command that is being watched.
struct Watching<'a, 't> {
    checked: &'a Checked,
    trial: Trial,
    private: Option<&'a Private>,
    tell: &'a mut Tell<'t>,
    /// The first refusal of the record; no hit is told after it.
    refused: Option<Refused>,
    exit: Option<Exit>,
    interrupted: bool,
    /// Tells which signal it was that interrupted.
    canceller: &'a Canceller,
    /// When the tree was asked to end.
    asked: Option<Instant>,
    /// The program has ended, and what it left behind was asked to end.
    ending_what_is_left: bool,
    left: Option<String>,
    lost: Option<String>,
}

impl Watching<'_, '_> {
    fn follow(mut self, reader: Reader) -> Result<(), WatchError> {
        self.tell(Happened::Launched { pid: self.trial.pid(), at: self.trial.started_ns() });
        let mut ended_at = None;
        let mut looked = Instant::now();
        while !self.trial.is_over() {
            let hits = reader.gather(GATHER, BATCH);
            self.tell_hits(hits);
            while let Some(event) = self.trial.next(Duration::ZERO) {
                self.take(&event);
            }
            if looked.elapsed() > MOUNTS {
                looked = Instant::now();
                self.look_at_mounts(Some(self.trial.pid()));
            }
            if self.exit.is_some() && !self.trial.is_over() {
                let ended_at = *ended_at.get_or_insert_with(Instant::now);
                if !self.ending_what_is_left && ended_at.elapsed() > LINGER {
                    self.end_what_is_left();
                }
            }
            if self.asked.is_some_and(|asked| asked.elapsed() > GRACE + PATIENCE) {
                break;
            }
        }
        let finished = self.trial.finish(Duration::ZERO, |_| {});
        self.look_at_mounts(None);
        self.account(reader, &finished);
        if let Some(private) = self.private {
            private.forget_bytecode();
        }
        let end = self.end(&finished);
        self.tell(Happened::Ended(end));
        self.trial.close();
        self.refused.map_or(Ok(()), |refused| Err(WatchError::Record(refused)))
    }

    /// Whether a private mount was taken away by others: from then on its probes saw nothing.
    fn look_at_mounts(&mut self, pid: Option<u32>) {
        let pid = pid.filter(|_| self.exit.is_none());
        let lost = self.private.and_then(|private| private.detached(pid));
        if let Some(lost) = lost {
            self.lost.get_or_insert(lost.text);
        }
    }

    /// Hands on what happened: hits as long as the record takes them, and always the little that says what is missing.
    fn tell(&mut self, happened: Happened) {
        if self.refused.is_some() && matches!(happened, Happened::Hits(_)) {
            return;
        }
        let told = (self.tell)(happened);
        if self.refused.is_none() {
            self.refused = told.err();
        }
    }

    fn take(&mut self, event: &TrialEvent) {
        match event {
            TrialEvent::Exited(exit) => self.exit = Some(*exit),
            TrialEvent::Cancelled => {
                self.interrupted = true;
                if self.asked.is_some() {
                    // The second time nobody wants to wait.
                    self.trial.terminate(Duration::ZERO);
                } else if let Some(signal) = self.canceller.signal() {
                    self.trial.pass_on(signal, GRACE);
                } else {
                    self.trial.terminate(GRACE);
                }
                self.asked.get_or_insert_with(Instant::now);
            }
            TrialEvent::KeeperLost(lost) => {
                self.lost = Some(format!("the keeper of the program was killed; {} of its processes were ended", lost.orphans));
            }
            TrialEvent::Line(_)
            | TrialEvent::Lines(_)
            | TrialEvent::Ready(_)
            | TrialEvent::ForeignListener(_)
            | TrialEvent::StreamEnded(_)
            | TrialEvent::TreeEmpty(_)
            | TrialEvent::OutputFailed(_) => {}
        }
    }

    fn end_what_is_left(&mut self) {
        let left = self.trial.processes();
        let titles: Vec<String> = left.iter().take(3).map(|process| secrets::masked_title(&process.title())).collect();
        let more = if left.len() > titles.len() { ", …" } else { "" };
        if !left.is_empty() && !self.interrupted {
            let word = if left.len() == 1 { "process" } else { "processes" };
            let text = format!("{} {word} that the program left behind had to be ended ({}{more})", left.len(), titles.join(", "));
            self.left = Some(secrets::blot(&text, &self.checked.hidden).into_owned());
        }
        // Of an interrupted program, what is in other process groups has not heard of it yet; the grace that runs already is not prolonged.
        self.trial.terminate(GRACE);
        self.ending_what_is_left = true;
        self.asked.get_or_insert_with(Instant::now);
    }

    /// Tells hits in events of so many at most: whoever reads the record holds one event, however many came at once.
    fn tell_hits(&mut self, hits: Vec<Hit>) {
        let mut hits = hits.into_iter();
        loop {
            let batch: Vec<Hit> = hits.by_ref().take(BATCH).collect();
            if batch.is_empty() {
                return;
            }
            self.tell(Happened::Hits(batch));
        }
    }

    /// The last hits and each process's account.
    fn account(&mut self, reader: Reader, finished: &Finished) {
        let (hits, told) = reader.finish(&finished.processes, &self.checked.request.cwd);
        self.tell_hits(hits);
        let mut receipts = match told {
            Ok(receipts) => receipts,
            Err(error) => {
                self.lost.get_or_insert_with(|| unread(&error));
                return;
            }
        };
        let names: Vec<String> = self.checked.probes.iter().map(|probe| probe.name.clone()).collect();
        receipts.extend(self.uncovered_itself(&receipts, &names));
        for mut receipt in receipts {
            receipt.detail = receipt.detail.map(|detail| secrets::blot(&secrets::masked_title(&detail), &self.checked.hidden).into_owned());
            self.tell(Happened::Receipt(receipt));
        }
    }

    /// Receipts for the program itself where it is a Python that never loaded the probes, and ended before a sample saw it.
    fn uncovered_itself(&self, receipts: &[Receipt], names: &[String]) -> Vec<Receipt> {
        let pid = self.trial.pid();
        if self.checked.request.python.is_some() || receipts.iter().any(|receipt| receipt.pid == pid) {
            return Vec::new();
        }
        let words: Vec<String> = self.checked.request.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let receipt = |name: &String| Receipt::uncovered(pid, name.as_str(), words.join(" "));
        names.iter().map(receipt).collect()
    }

    fn end(&self, finished: &Finished) -> WatchEnd {
        let over = finished.tree.map_or_else(|| self.trial.now_ns(), |tree| tree.time_ns);
        let stuck = finished.tree.is_none() && finished.keeper_lost.is_none();
        let stuck = stuck.then(|| "some processes of the program hang in the kernel".to_owned());
        let status = finished.exit.map(|exit| exit.status);
        WatchEnd {
            exit: status.and_then(|status| status.code()),
            signal: status.and_then(|status| status.signal()),
            interrupted: self.interrupted,
            why: self.canceller.why().filter(|_| self.interrupted).map(str::to_owned),
            wall_s: over.seconds_since(self.trial.started_ns()),
            left: self.left.clone(),
            trouble: self
                .refused
                .as_ref()
                .map(|error| format!("later hits were not recorded: failed to {error}"))
                .or(self.lost.clone())
                .or(stuck),
        }
    }
}

fn unread(error: &DrainError) -> String {
    format!("failed to {error}: {}; later hits were not seen", error.source)
}
