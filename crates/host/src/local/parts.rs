//! Parts of a program that die while the rest goes on: before it is ready, when it would be waited for, and under its workload, when what is measured
//! counts for nothing.
//!
//! A traceback alone says nothing: a program may have caught it. Only together with the end of a Python process of the tree, by a code or a signal that is
//! no success, or where an engine says itself that it is dead, is it taken for an end; and only where nobody is started in its place.

mod serving;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use bystander_lab::cause::{PartDied, Scanner, Traceback, signal_name};
use bystander_model::evidence::Stream;
use bystander_supervise::stacks::runs_python;
use bystander_supervise::tree::{Life, ProcessInfo, life};
use bystander_supervise::trial::Trial;

use self::serving::Serving;
use crate::secrets;

/// How long the rest may go on: what has its own words for it says them, and ends, sooner.
const GRACE: Duration = Duration::from_secs(5);
/// How long after its traceback a process may take to end.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// Watches for parts that die.
#[derive(Debug)]
pub(super) struct Parts {
    grace: Duration,
    hidden: Vec<String>,
    /// The traceback that was looked into last.
    latest: Option<(Stream, u64)>,
    watched: Option<Watched>,
    dead: Option<Dead>,
    /// Words of an engine that was started again after them.
    outlived: Option<u64>,
    /// Who was there when it was ready; `None` before that.
    serving: Option<Serving>,
}

/// Processes of which one may end by a traceback.
#[derive(Debug)]
struct Watched {
    traceback: (Stream, u64),
    /// The rank, process or thread that printed it, where it is told.
    by: Option<String>,
    until: Instant,
    suspects: Vec<ProcessInfo>,
}

/// A part that is dead.
#[derive(Debug)]
struct Dead {
    since: Instant,
    found: PartDied,
    /// Its short name, where it is known which process it was.
    comm: Option<String>,
    /// Everybody who was there.
    before: BTreeSet<(u32, u64)>,
}

impl Parts {
    pub(super) fn new(stall: Duration, hidden: &[String]) -> Self {
        Self { grace: stall.min(GRACE), hidden: hidden.to_vec(), latest: None, watched: None, dead: None, outlived: None, serving: None }
    }

    /// Whether an end may come at any moment, so that turns are to be short.
    pub(super) fn is_watchful(&self) -> bool {
        self.watched.is_some() && self.dead.is_none()
    }

    /// Looks at a program that is not ready; what has died where it has gone on without it for long enough.
    pub(super) fn turn(&mut self, trial: &Trial, scanner: &Scanner) -> Option<(PartDied, Duration)> {
        self.look_into(trial, scanner.latest_traceback());
        if self.dead.is_none() {
            self.dead = self.ended(trial).or_else(|| self.said(trial, scanner));
        }
        let dead = self.dead.as_ref()?;
        if dead.since.elapsed() < self.grace {
            return None;
        }
        if is_replaced(dead, trial) {
            self.outlived = scanner.says_dead().map(|line| line.number);
            self.dead = None;
            self.watched = None;
            return None;
        }
        Some((dead.found.clone(), dead.since.elapsed()))
    }

    /// The program is ready: from now on those who are there are looked after.
    pub(super) fn serves(&mut self, trial: &Trial, scanner: &Scanner) {
        self.watched = None;
        self.dead = None;
        self.outlived = scanner.says_dead().map(|line| line.number);
        self.serving = Some(Serving::of(trial, scanner));
    }

    /// Looks at a program whose workload runs.
    pub(super) fn under_load(&mut self, trial: &Trial, scanner: &Scanner) {
        if self.dead.is_some() {
            return;
        }
        let lost = self.serving.as_mut().and_then(|serving| serving.lost(scanner));
        let found = lost.map(|lost| {
            let title = secrets::blot(&secrets::masked_title(&lost.process.title()), &self.hidden).into_owned();
            let how = format!("process {} ({title}) {}", lost.process.pid, lost.how);
            Dead::new(trial, PartDied { how, traceback: lost.traceback, said: None }, Some(lost.process.comm))
        });
        self.dead = found.or_else(|| self.said(trial, scanner));
    }

    /// What has died under the workload, now that it is done, and was not started again.
    pub(super) fn died_under_load(&mut self, trial: &Trial, scanner: &Scanner) -> Option<PartDied> {
        self.serving.as_ref()?;
        self.under_load(trial, scanner);
        self.dead.as_ref().filter(|dead| !is_replaced(dead, trial)).map(|dead| dead.found.clone())
    }

    /// A traceback that was not looked into yet: who of the tree may end by it.
    fn look_into(&mut self, trial: &Trial, latest: Option<&Traceback>) {
        let Some(traceback) = latest.filter(|latest| self.latest != Some((latest.stream, latest.first_line))) else { return };
        let key = (traceback.stream, traceback.first_line);
        self.latest = Some(key);
        if let Some(name) = announced(traceback) {
            let how = format!("process `{name}` ended by it, as Python's multiprocessing says");
            self.dead.get_or_insert_with(|| Dead::new(trial, PartDied { how, traceback: Some(key), said: None }, None));
            return;
        }
        let main = trial.pid();
        let mut suspects: Vec<ProcessInfo> = trial.processes().into_iter().filter(|process| runs_python(process.pid)).collect();
        // One that has been faster is still there until its parent asks how it ended.
        suspects.extend(trial.unreaped().into_iter().filter(|process| ran_python(process, trial)));
        suspects.retain(|process| process.pid != main);
        self.watched = Some(Watched { traceback: key, by: traceback.rank.clone(), until: Instant::now() + ENDS_WITHIN, suspects });
    }

    /// One of those who may end by a traceback has.
    fn ended(&mut self, trial: &Trial) -> Option<Dead> {
        let watched = self.watched.as_mut()?;
        let mut found = None;
        let by = watched.by.clone();
        watched.suspects.retain(|process| match life(process) {
            Life::Lives => true,
            Life::Ended { code: 0, signal: 0 } => false,
            Life::Ended { code, signal } => {
                let how =
                    if signal == 0 { format!("ended with exit code {code}") } else { format!("was ended by {}", signal_name(signal)) };
                found.get_or_insert_with(|| (process.clone(), how));
                false
            }
            Life::Gone => {
                if by.as_deref().is_some_and(|by| is_by(by, process.pid)) {
                    found.get_or_insert_with(|| (process.clone(), "was gone after it".to_owned()));
                }
                false
            }
        });
        let traceback = watched.traceback;
        if watched.suspects.is_empty() || Instant::now() >= watched.until {
            self.watched = None;
        }
        let (process, how) = found?;
        let title = secrets::blot(&secrets::masked_title(&process.title()), &self.hidden).into_owned();
        let how = format!("process {} ({title}) {how}", process.pid);
        Some(Dead::new(trial, PartDied { how, traceback: Some(traceback), said: None }, Some(process.comm)))
    }

    /// An engine has said that it is dead.
    fn said(&self, trial: &Trial, scanner: &Scanner) -> Option<Dead> {
        let line = scanner.says_dead().filter(|line| self.outlived != Some(line.number))?;
        Some(Dead::new(
            trial,
            PartDied { how: "the engine said that it was dead".to_owned(), traceback: None, said: Some(line.clone()) },
            None,
        ))
    }
}

impl Dead {
    fn new(trial: &Trial, found: PartDied, comm: Option<String>) -> Self {
        let before = trial.seen().iter().chain(&trial.processes()).map(|process| (process.pid, process.start_time)).collect();
        Self { since: Instant::now(), found, comm, before }
    }
}

/// Whether a process of the same sort was started after the end, and lives.
fn is_replaced(dead: &Dead, trial: &Trial) -> bool {
    let is_new = |process: &ProcessInfo| !dead.before.contains(&(process.pid, process.start_time));
    let is_alike = |process: &ProcessInfo| dead.comm.as_ref().map_or_else(|| runs_python(process.pid), |comm| *comm == process.comm);
    trial.processes().iter().any(|process| is_new(process) && is_alike(process))
}

/// The process that Python's `multiprocessing` says has ended by a traceback: it stands before it, in a line of its own.
fn announced(traceback: &Traceback) -> Option<&str> {
    traceback.rank.as_deref().filter(|name| traceback.bare && !name.starts_with("thread "))
}

/// Whether the words before a traceback name a process: the prefix of an engine.
fn is_by(by: &str, pid: u32) -> bool {
    let words = || by.split(|c: char| !c.is_ascii_alphanumeric());
    words().zip(words().skip(1)).any(|(word, number)| word == "pid" && number.parse() == Ok(pid))
}

/// Whether a process that is dead ran Python, by its name or by what a sample has seen of it.
fn ran_python(process: &ProcessInfo, trial: &Trial) -> bool {
    let is_python = |process: &ProcessInfo| {
        process.exe.as_ref().and_then(|exe| exe.file_name()).is_some_and(|name| name.to_string_lossy().contains("python"))
    };
    let was = |seen: &ProcessInfo| (seen.pid, seen.start_time) == (process.pid, process.start_time) && is_python(seen);
    process.comm.contains("python") || trial.seen().iter().any(was)
}

#[cfg(test)]
mod tests {
    use super::is_by;

    #[test]
    fn a_prefix_names_its_process() {
        for by in ["EngineCore_DP0 pid=77", "Worker_TP0 pid=77"] {
            assert!(is_by(by, 77), "{by}");
        }
        for by in ["EngineCore_DP0 pid=78", "thread Thread-1", "TP0", "pid=770", "Process-77"] {
            assert!(!is_by(by, 77), "{by}");
        }
    }
}
