//! The facts of one trial that its outcome and cause are told from. Times are wall-clock instants.

use std::path::{Path, PathBuf};

use bystander_model::edit::AppliedEdit;
use bystander_model::evidence::{Evidence, Stream};
use bystander_model::ids::{TimeNs, TrialId};

use super::kept::KeptLine;
use super::scan::Scan;
use super::standstill::Standstill;
use crate::requests::Judged;

/// Everything that is known of a trial that is over. What does not apply is left as [`TrialFacts::new`] has it.
#[derive(Debug, Clone)]
pub struct TrialFacts {
    /// The trial.
    pub trial: TrialId,
    /// What its output told.
    pub scan: Scan,
    /// Where it ran.
    pub place: Place,
    /// Whether the program has to become ready; without that it completes by exit 0.
    pub expects_ready: bool,
    /// When it was ready and what showed it.
    pub ready: Option<ReadySeen>,
    /// Why it does not count as ready, as far as was last seen.
    pub unready: Option<String>,
    /// When every condition held last where it never counted as ready, because that did not last.
    pub held: Option<TimeNs>,
    /// What shows that a program that was ready was not ready for work yet: its conditions held no more, or its first requests were refused.
    pub too_early: Option<Evidence>,
    /// What shows that a part of a program was dead that was still waited for to be ready, or whose workload was not done.
    pub part_died: Option<PartDied>,
    /// What shows that a program that was ready has stopped answering, looked at when its workload had failed.
    pub unanswering: Option<Unanswering>,
    /// What shows that it answers, asked by itself when its workload had failed.
    pub answers: Option<Evidence>,
    /// What was seen of the trial's own level and instruments: its treatment, the accounts of its probes.
    pub shown: Vec<Evidence>,
    /// What was left of its tree when it had ended, or was asked to end, and what that took.
    pub left: Option<String>,
    /// Whether something is done to the program once it is ready.
    pub expects_workload: bool,
    /// How that ended; `None` where it never started or had not ended.
    pub workload: Option<WorkloadEnd>,
    /// How many of its requests failed, where the file says which numbers tell that.
    pub requests: Option<Judged>,
    /// How long the workload may take, in seconds; `None` where there is none, or that is not known.
    pub workload_limit_s: Option<f64>,
    /// The exit code of the main process.
    pub exit: Option<i32>,
    /// The signal that ended the main process.
    pub signal: Option<i32>,
    /// When the main process ended.
    pub ended: Option<TimeNs>,
    /// When and why Bystander began to end it; `None` where it ended by itself.
    pub stopped: Option<Stopped>,
    /// Whether anything moved before the time limit; `None` where that was not measured.
    pub progress: Option<Progress>,
    /// Where its processes stood, where nothing moved for long.
    pub standstill: Option<Standstill>,
    /// Whether its workload was running when the program ended by itself.
    pub under_load: bool,
    /// The processes that were seen in its tree, by number; empty where that is not known.
    pub pids: Vec<u32>,
    /// Why the program could not be spawned.
    pub spawn_error: Option<String>,
    /// Who holds the port that the program was given.
    pub port_holder: Option<PortHolder>,
    /// Who holds the port that the program said it could not have, where that is not of this trial.
    pub port_clash: Option<PortHolder>,
    /// What else makes the trial no data point.
    pub contamination: Vec<Contamination>,
    /// What was not as before when everything was over, such as GPU memory that was not given back: said beside the outcome.
    pub owed: Vec<Evidence>,
    /// What the kernel counted at the memory limit.
    pub memory: Option<MemoryEvents>,
    /// The edits that were on disk.
    pub edits: Vec<AppliedEdit>,
    /// Instruments that could not go in.
    pub refusals: Vec<Refusal>,
    /// What Bystander itself failed in.
    pub harness_error: Option<String>,
}

impl TrialFacts {
    /// The facts of a trial of which nothing is known but its output.
    #[must_use]
    pub fn new(trial: TrialId, scan: Scan, place: Place) -> Self {
        Self {
            trial,
            scan,
            place,
            expects_ready: false,
            ready: None,
            unready: None,
            held: None,
            too_early: None,
            part_died: None,
            unanswering: None,
            answers: None,
            shown: Vec::new(),
            left: None,
            expects_workload: false,
            workload: None,
            requests: None,
            workload_limit_s: None,
            exit: None,
            signal: None,
            ended: None,
            stopped: None,
            progress: None,
            standstill: None,
            under_load: false,
            pids: Vec::new(),
            spawn_error: None,
            port_holder: None,
            port_clash: None,
            contamination: Vec::new(),
            owed: Vec::new(),
            memory: None,
            edits: Vec::new(),
            refusals: Vec::new(),
            harness_error: None,
        }
    }

    /// Whether the workload ended well, by its exit code and by the requests that failed.
    #[must_use]
    pub fn worked(&self) -> bool {
        self.workload.as_ref().is_some_and(WorkloadEnd::succeeded) && self.requests.as_ref().is_none_or(|judged| judged.requests.passed())
    }

    /// How the workload failed; `None` where it did not, or where nobody can tell.
    #[must_use]
    pub fn failed_workload(&self) -> Option<&WorkloadEnd> {
        let refused = self.requests.as_ref().is_some_and(|judged| judged.requests.failure.is_some());
        self.workload.as_ref().filter(|end| !end.succeeded() || refused)
    }

    /// Why Bystander ended it.
    #[must_use]
    pub fn stop_why(&self) -> Option<&StopWhy> {
        self.stopped.as_ref().map(|stopped| &stopped.why)
    }
}

/// Where a trial ran, to tell which file a stack names.
#[derive(Debug, Clone)]
pub struct Place {
    /// The working directory, absolute.
    pub cwd: PathBuf,
    /// Finds the real path of a file, `None` where there is no such file.
    pub real: fn(&Path) -> Option<PathBuf>,
}

impl Place {
    /// A place on this machine.
    #[must_use]
    pub fn here(cwd: PathBuf) -> Self {
        Self { cwd, real: |path| std::fs::canonicalize(path).ok() }
    }

    /// The file that a stack names, real where it exists.
    #[must_use]
    pub fn file(&self, printed: &str) -> Option<PathBuf> {
        (self.real)(&self.cwd.join(printed))
    }
}

/// The program was ready.
#[derive(Debug, Clone)]
pub struct ReadySeen {
    /// When.
    pub at: TimeNs,
    /// What showed it.
    pub evidence: Vec<Evidence>,
}

/// A process of the program had ended by an exception that nobody caught, or an engine says itself that it is dead.
#[derive(Debug, Clone, PartialEq)]
pub struct PartDied {
    /// How that is known, such as `process 17 (python3 engine.py) ended with exit code 1`.
    pub how: String,
    /// The traceback that ended the process: its stream and its first line.
    pub traceback: Option<(Stream, u64)>,
    /// Where the engine says it.
    pub said: Option<KeptLine>,
}

/// The program was ready, and answers no more as it did.
#[derive(Debug, Clone)]
pub struct Unanswering {
    /// What shows it.
    pub shown: Evidence,
    /// Whether it takes questions and gives no answer in time, rather than to refuse them.
    pub silent: bool,
}

/// Bystander began to end the program.
#[derive(Debug, Clone)]
pub struct Stopped {
    /// When the first signal was sent.
    pub at: TimeNs,
    /// Why.
    pub why: StopWhy,
}

/// Why Bystander ends a program.
#[derive(Debug, Clone, PartialEq)]
pub enum StopWhy {
    /// Everything asked of it was done, or had failed.
    Done,
    /// It reached its time limit, in seconds.
    TimeLimit {
        /// The limit.
        limit_s: f64,
    },
    /// Nothing of it moved, or nobody was served, for so long that it is taken for dead; in seconds.
    Stalled {
        /// For how long.
        span_s: f64,
    },
    /// A part of it had died before it was ready, and it went on without it for so long, in seconds.
    PartDied {
        /// For how long.
        span_s: f64,
    },
    /// The user stopped the run.
    Interrupted,
}

/// Whether anything moved before the time limit.
#[derive(Debug, Clone)]
pub struct Progress {
    /// True where output, processor time, input or output still grew.
    pub moving: bool,
    /// What was measured, such as `no output and no processor time for 60 s`.
    pub text: String,
}

/// Who listens on a port.
#[derive(Debug, Clone)]
pub struct PortHolder {
    /// The port.
    pub port: u16,
    /// The process, where it could be told.
    pub pid: Option<u32>,
    /// Its command.
    pub command: Option<String>,
    /// Whether it belongs to this trial's processes.
    pub of_this_trial: bool,
    /// Of which other trial it is, and what to do about that, where it is of one.
    pub whose: Option<String>,
}

/// Something that makes a trial no data point.
#[derive(Debug, Clone)]
pub struct Contamination {
    /// The cause's class, such as `leftover`, `memory_held` or `treatment_not_visible`.
    pub class: String,
    /// What it was, naming the holder.
    pub text: String,
    /// Where it was seen.
    pub evidence: Vec<Evidence>,
}

/// What the kernel counted at the memory limit of the trial's group while it ran.
#[derive(Debug, Clone)]
pub struct MemoryEvents {
    /// Processes that it killed.
    pub oom_kills: u64,
    /// The limit in bytes, where it could be read.
    pub limit_bytes: Option<u64>,
    /// The file that counts, such as `/sys/fs/cgroup/user.slice/memory.events`.
    pub source: String,
}

/// How the workload ended.
#[derive(Debug, Clone)]
pub struct WorkloadEnd {
    /// Its exit code.
    pub exit: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether it reached its time limit.
    pub timed_out: bool,
    /// The last line that it wrote: on standard error, or else on standard output.
    pub last_line: Option<Evidence>,
}

impl WorkloadEnd {
    /// Whether it did what it was asked.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        self.exit == Some(0) && self.signal.is_none() && !self.timed_out
    }
}

/// An instrument that could not go in.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// The instrument.
    pub instrument: String,
    /// Why.
    pub reason: String,
}
