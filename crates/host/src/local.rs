//! Trials on this machine: the parts put together for the lab.

mod after;
mod before;
mod check;
pub mod deliver;
mod fresh;
mod hooks;
mod instruments;
pub(crate) mod left;
mod openings;
mod outputs;
mod parts;
mod program_files;
mod ready;
mod seen;
mod stall;
mod trial;
mod turns;
mod watch;
mod workload;

use std::error::Error;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use bystander_edit::{Journal, recover_everywhere, registry_status};
use bystander_lab::cause::{CauseReader, PortHolder};
use bystander_lab::live::Live;
use bystander_lab::place::{Checkup, Emit, Place, TrialOrder};
use bystander_lab::plan::Plan;
use bystander_model::diagnostic::Diagnostic;
use bystander_model::edit::RevertedEdit;
use bystander_model::event::{FileProof, TrialEnd};
use bystander_model::ids::{RunId, TrialId};
use bystander_model::patch::EditState;
use bystander_model::provenance::PythonInfo;
use bystander_model::typed;
use bystander_probe::{CheckedProbe, OVERLAY_VARIABLE};
use bystander_store::StateDir;
use bystander_supervise::command::Command;
use bystander_supervise::{Availability, Canceller, Holder, namespaces_available, user};

use crate::environment::MARKER;
use crate::folder_times::FolderTimes;
use crate::machine;
use crate::owner::Owner;
use crate::proof::Baseline;
use crate::secrets::{self, Masker};

use turns::{Turn, Wanted};

pub(crate) use before::{gpus, words};
pub use check::check;
pub(crate) use instruments::Probes;

/// Makes the readers of one trial's output: those who know an engine.
pub type Readers = Box<dyn Fn() -> Vec<Box<dyn CauseReader>> + Send + Sync>;

/// How long a look at a plan waits for another run to take back its edits.
const PATIENCE: Duration = Duration::from_secs(30);

/// This machine as a place for trials.
pub struct LocalPlace {
    state: StateDir,
    journal: Journal,
    /// The registry of this user's live edits.
    registry: PathBuf,
    /// The folder of the turns at instrumented files; the same for all runs of a user.
    turns: PathBuf,
    canceller: Canceller,
    readers: Readers,
    masker: Masker,
    owner: Owner,
    probes: Vec<CheckedProbe>,
    /// The program that the run started with.
    program: program_files::ProgramFiles,
    baseline: Baseline,
    /// Interpreters that were asked already: packages do not change within a run, and asking takes a third of a second.
    pythons: Mutex<Vec<(PathBuf, Option<PythonInfo>)>>,
    /// Held while files are edited or given back: the times of their folders are looked at before and set after.
    editing: Mutex<()>,
    /// How private mounts can be made here; tried out once, and only where it matters.
    mounts: OnceLock<Availability>,
    /// Where the screen reads what goes on.
    live: Live,
    /// What is known of this place's own trials.
    grounds: before::grounds::Grounds,
}

impl std::fmt::Debug for LocalPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalPlace").field("state", &self.state.path()).finish_non_exhaustive()
    }
}

impl LocalPlace {
    /// Takes a state directory, the registry of this user's live edits and the journal of edits. `canceller` is raised when the user asks to stop.
    ///
    /// # Errors
    /// When the key that masks secrets can be neither read nor made, or this process cannot be identified.
    pub fn open(state: &StateDir, registry: &Path, journal: Journal, canceller: Canceller, readers: Readers) -> std::io::Result<Self> {
        let masker = Masker::open(state.path())?;
        let owner = Owner::current()?;
        Ok(Self {
            state: state.clone(),
            journal,
            turns: registry.with_file_name("turns"),
            registry: registry.to_owned(),
            canceller,
            readers,
            masker,
            owner,
            probes: Vec::new(),
            program: program_files::ProgramFiles::default(),
            baseline: Baseline::default(),
            pythons: Mutex::default(),
            editing: Mutex::default(),
            mounts: OnceLock::new(),
            live: Live::default(),
            grounds: before::grounds::Grounds::default(),
        })
    }

    /// Tells the screen what goes on while it goes on.
    #[must_use]
    pub fn told_to(self, live: &Live) -> Self {
        Self { live: live.clone(), ..self }
    }

    /// How private mounts can be made here.
    fn mounts(&self) -> &Availability {
        self.mounts.get_or_init(namespaces_available)
    }

    /// What masks the secrets of this state directory.
    #[must_use]
    pub fn masker(&self) -> &Masker {
        &self.masker
    }

    /// The mark of every process of a trial: whose it is can be told from it after a crash.
    fn marker(&self, order: &TrialOrder) -> String {
        format!("{}/{}/{}", self.owner, order.run, order.trial)
    }

    /// Waits until no other lane is editing.
    fn editing(&self) -> MutexGuard<'_, ()> {
        self.editing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes back edits whose makers are gone.
    fn recover(&self) -> Result<Vec<RevertedEdit>, Box<dyn Error + Send + Sync>> {
        // A registry that cannot be read is told by the check.
        let known = [self.journal.status()?, registry_status(&self.registry).unwrap_or_default()].concat();
        let _alone = self.editing();
        let live = known.iter().filter(|edit| edit.state != EditState::Reverted).map(|edit| edit.file.as_path());
        let times = FolderTimes::of(live);
        let (own, everywhere) = (self.journal.recover(), recover_everywhere(&self.registry));
        // What counts is that the files are as before; a folder's time is a courtesy.
        let _ = times.give_back();
        let own = own?;
        match own.failed.into_iter().next() {
            Some(error) => Err(error.into()),
            // What others have left and cannot be taken back matters where this program loads it: the check says so.
            None => Ok([own.reverted, everywhere.unwrap_or_default().reverted].concat()),
        }
    }

    /// The interpreter that a program runs under, asked once.
    fn python_of(&self, plan: &Plan, program: &Path, command: &Command) -> Option<PythonInfo> {
        let interpreter = machine::interpreter(plan, program, &command.env)?;
        // Who asks for the same at the same time waits for the answer.
        let mut pythons = self.pythons.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = pythons.iter().find(|(path, _)| *path == interpreter) {
            return known.clone();
        }
        let mut env = command.env.clone();
        // Asked without the overlay: the question must not be a hit, and must leave no receipt.
        if let Some(overlay) = env.remove(OsStr::new(OVERLAY_VARIABLE)) {
            let path = env.remove(OsStr::new("PYTHONPATH")).unwrap_or_default();
            let rest: Vec<PathBuf> = std::env::split_paths(&path).filter(|folder| folder.as_os_str() != overlay).collect();
            // Paths that came out of one variable can be put into one again.
            env.extend(std::env::join_paths(rest).ok().filter(|path| !path.is_empty()).map(|path| ("PYTHONPATH".into(), path)));
        }
        env.remove(OsStr::new(MARKER));
        let info = machine::python(&interpreter, &env, &command.cwd);
        pythons.push((interpreter, info.clone()));
        info
    }

    /// The folder of a trial's rings.
    fn rings(&self, order: &TrialOrder) -> PathBuf {
        ring_folder(&self.owner, &order.run, order.trial)
    }
}

/// The folder of a trial's rings; the sweep knows it by its name.
pub(crate) fn ring_folder(owner: &Owner, run: &RunId, trial: TrialId) -> PathBuf {
    PathBuf::from(left::RINGS).join(format!("{}{owner}@{run}@{trial}", left::RING_PREFIX))
}

/// Who holds a port, as far as it may be known.
fn told(holder: &Holder) -> String {
    match (holder.pid, &holder.command) {
        (Some(pid), Some(command)) => format!("process {pid} ({})", secrets::masked_title(command)),
        (Some(pid), None) => format!("process {pid}"),
        (None, _) => format!("a process of user {}", user(holder.uid)),
    }
}

/// A holder that is not of the trial.
fn foreign(holder: &Holder) -> PortHolder {
    let command = holder.command.as_deref().map(secrets::masked_title);
    PortHolder { port: holder.port, pid: holder.pid, command, of_this_trial: false, whose: None }
}

/// The problem of files that another run holds.
fn not_ours(turn: &std::io::Result<Turn>) -> Option<Diagnostic> {
    match turn {
        Ok(Turn::Held(_)) => None,
        Ok(Turn::Waited(file)) => Some(
            Diagnostic::error("edit.held", format!("another run has an edit on {}", file.display()))
                .help(format!("wait until it ends, or stop it; `{}` shows its edits", typed::there("patch status"))),
        ),
        Err(error) => {
            Some(Diagnostic::error("edit.held", format!("it cannot be told whether another run has edits on the files: {error}")))
        }
    }
}

impl Place for LocalPlace {
    fn check(&mut self, plan: &Plan) -> Checkup {
        // Files are looked at while no other run has an edit on them.
        let until = Instant::now() + PATIENCE;
        let turn = Wanted::of_plan(plan).take(&self.turns, Some(until), &self.canceller, |_| {});
        let mut findings = check::examine(plan, &self.registry);
        // Who asked to stop while it waited gets no complaint about the wait.
        findings.checkup.problems.extend(not_ours(&turn).filter(|_| !self.interrupted()));
        self.program = program_files::ProgramFiles::of(plan, &findings.checkup.fingerprint);
        self.probes = findings.probes;
        self.baseline = findings.baseline;
        findings.checkup
    }

    fn sweep(&mut self) -> Result<Vec<RevertedEdit>, Box<dyn Error + Send + Sync>> {
        left::end_programs()?;
        self.recover()
    }

    fn setup(&self, plan: &Plan, run: &RunId, emit: &mut Emit<'_>) -> Result<(), Box<dyn Error + Send + Sync>> {
        hooks::setup(self, plan, run, emit)
    }

    fn cleanup(&self, plan: &Plan, run: &RunId, emit: &mut Emit<'_>) {
        hooks::cleanup(self, plan, run, emit);
    }

    fn run(&self, plan: &Plan, order: &TrialOrder, emit: &mut Emit<'_>) -> Result<TrialEnd, Box<dyn Error + Send + Sync>> {
        trial::run(self, plan, order, emit)
    }

    fn compare(&self, files: &[FileProof]) -> Vec<FileProof> {
        // An edit that another run has on a file now is no trace of this one. Where it stays, the comparison says what it sees.
        let until = Instant::now() + PATIENCE;
        let _turn =
            Wanted::of_files(files.iter().map(|proof| proof.file.as_path())).take(&self.turns, Some(until), &Canceller::new(), |_| {});
        files.iter().map(|file| self.baseline.compare(file)).collect()
    }

    fn interrupted(&self) -> bool {
        self.canceller.is_cancelled()
    }

    fn why_interrupted(&self) -> Option<String> {
        self.canceller.why().map(str::to_owned)
    }

    fn abandon(&self) {
        self.canceller.cancel();
    }
}
