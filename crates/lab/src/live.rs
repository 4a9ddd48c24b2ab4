//! What goes on right now, for the screen alone: phase, last line and memory of every running trial. Nothing of it is recorded.
//!
//! Places write to a [`Live`], the screen reads it as often as it draws. Nobody waits for the other: a place says what it knows when it knows it, a few
//! times a second at most, and what the screen missed is gone. What is said of a trial that never began, or that is over, is dropped.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bystander_model::ids::TrialId;

/// Longer lines are cut: no terminal shows more of them.
const LINE_CHARS: usize = 400;

/// What a trial is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// It waits for its turn: at files, at a GPU, at memory.
    Waiting,
    /// Edits and probes are put in, `prepare` runs.
    Preparing,
    /// Its program was spawned and has said nothing yet.
    Spawned,
    /// Its program has begun to write, and is not ready.
    Loading,
    /// Its program is ready.
    Ready,
    /// Its workload runs.
    Working,
    /// Its processes are being ended.
    Stopping,
    /// Its processes are gone: what they held comes back, edits are undone.
    Settling,
}

impl Phase {
    /// Whether a program in this phase is not ready yet.
    #[must_use]
    pub const fn is_before_ready(self) -> bool {
        matches!(self, Phase::Spawned | Phase::Loading)
    }

    /// The word on the screen.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Phase::Waiting => "waiting",
            Phase::Preparing => "preparing",
            Phase::Spawned => "spawned",
            Phase::Loading => "loading",
            Phase::Ready => "ready",
            Phase::Working => "working",
            Phase::Stopping => "stopping",
            Phase::Settling => "settling",
        }
    }
}

/// What is known of a running trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// What it is doing.
    pub phase: Phase,
    /// Since when.
    pub since: Instant,
    /// When what is left of it gets SIGKILL.
    pub killed_at: Option<Instant>,
    /// What it waits for, or another word on the phase.
    pub detail: Option<String>,
    /// The last line that its program wrote, without secrets, as it came: control characters may be in it.
    pub line: Option<String>,
    /// Resident memory of its processes, in bytes.
    pub rss_bytes: Option<u64>,
    /// GPU memory of its processes, in bytes.
    pub gpu_bytes: Option<u64>,
    began: Instant,
}

impl Status {
    fn new() -> Self {
        let now = Instant::now();
        Self {
            phase: Phase::Preparing,
            since: now,
            killed_at: None,
            detail: None,
            line: None,
            rss_bytes: None,
            gpu_bytes: None,
            began: now,
        }
    }

    /// How long the trial has been there.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }
}

/// The board that places write on and the screen reads; clones are the same board.
#[derive(Debug, Clone, Default)]
pub struct Live(Arc<Mutex<BTreeMap<TrialId, Status>>>);

impl Live {
    fn board(&self) -> MutexGuard<'_, BTreeMap<TrialId, Status>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A trial begins. Whoever shows events says so, before the place does anything.
    pub fn begin(&self, trial: TrialId) {
        self.board().insert(trial, Status::new());
    }

    /// A trial is over.
    pub fn end(&self, trial: TrialId) {
        self.board().remove(&trial);
    }

    /// A trial is in a phase now; the same phase again changes nothing, and a program that writes is loading only until it is ready.
    pub fn phase(&self, trial: TrialId, phase: Phase) {
        self.set(trial, phase, None);
    }

    /// A trial's processes are asked to end now, and killed when `grace` is over.
    pub fn stops(&self, trial: TrialId, grace: Duration) {
        self.set(trial, Phase::Stopping, None);
        if let Some(status) = self.board().get_mut(&trial) {
            status.killed_at = Instant::now().checked_add(grace);
        }
    }

    /// A trial waits for something, such as `GPU 0, held by process 17`.
    pub fn waits(&self, trial: TrialId, what: &str) {
        self.set(trial, Phase::Waiting, Some(what.chars().take(LINE_CHARS).collect()));
    }

    fn set(&self, trial: TrialId, phase: Phase, detail: Option<String>) {
        if let Some(status) = self.board().get_mut(&trial) {
            if status.phase != phase {
                (status.phase, status.since) = (phase, Instant::now());
            }
            status.detail = detail;
        }
    }

    /// The last line that a trial's program wrote, without secrets. A program that writes is no longer only spawned.
    pub fn line(&self, trial: TrialId, text: &str) {
        if let Some(status) = self.board().get_mut(&trial) {
            status.line = Some(text.chars().take(LINE_CHARS).collect());
            if status.phase == Phase::Spawned {
                (status.phase, status.since) = (Phase::Loading, Instant::now());
            }
        }
    }

    /// Memory that a trial's processes hold, in bytes; `None` leaves what was known.
    pub fn memory(&self, trial: TrialId, rss: Option<u64>, gpu: Option<u64>) {
        if let Some(status) = self.board().get_mut(&trial) {
            status.rss_bytes = rss.or(status.rss_bytes);
            status.gpu_bytes = gpu.or(status.gpu_bytes);
        }
    }

    /// Every running trial, in the order of their numbers.
    #[must_use]
    pub fn now(&self) -> Vec<(TrialId, Status)> {
        self.board().iter().map(|(trial, status)| (*trial, status.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use bystander_model::ids::TrialId;

    use super::{LINE_CHARS, Live, Phase};

    #[test]
    fn what_is_said_of_a_running_trial_is_there_and_of_any_other_is_not() {
        let (screen, one) = (Live::default(), TrialId(1));
        let place = screen.clone();
        place.phase(one, Phase::Ready);
        assert!(screen.now().is_empty(), "it has not begun");
        screen.begin(one);
        place.waits(one, "GPU 0");
        assert_eq!(screen.now()[0].1.detail.as_deref(), Some("GPU 0"));
        place.phase(one, Phase::Spawned);
        let spawned = screen.now()[0].1.clone();
        assert_eq!((spawned.phase, spawned.detail), (Phase::Spawned, None));
        place.line(one, &"long ".repeat(1000));
        place.memory(one, Some(7), None);
        place.memory(one, None, Some(8));
        let loading = screen.now()[0].1.clone();
        assert_eq!((loading.phase, loading.rss_bytes, loading.gpu_bytes), (Phase::Loading, Some(7), Some(8)));
        assert_eq!(loading.line.map(|line| line.len()), Some(LINE_CHARS));
        place.stops(one, Duration::from_secs(9));
        let stopping = screen.now()[0].1.clone();
        assert_eq!(stopping.phase, Phase::Stopping);
        assert!(stopping.killed_at.is_some_and(|at| at > Instant::now()));
        place.phase(one, Phase::Working);
        place.line(one, "still");
        assert_eq!(screen.now()[0].1.phase, Phase::Working, "a line does not take a phase back");
        screen.end(one);
        place.line(one, "late");
        assert!(screen.now().is_empty());
    }
}
