//! The caller's way to interrupt the wait for a trial from another thread, such as the one that handles Ctrl-C.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::trial::note::Note;

/// A flag that wakes every trial it was given to; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Canceller(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    cancelled: AtomicBool,
    /// The signal that raised it first; 0 where none did.
    signal: AtomicI32,
    /// Why it was raised, where not because the user wanted it.
    why: OnceLock<String>,
    trials: Mutex<Vec<Sender<Note>>>,
}

impl Canceller {
    /// A flag that is not raised.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Raises the flag; every trial that has it says so, once for each call, and leaves it to its owner to end it.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::SeqCst);
        self.wake(|| Note::Cancelled);
    }

    /// Raises the flag because of a signal, by its number.
    pub fn cancel_by(&self, signal: i32) {
        // Only the first counts; that there was one before is no failure.
        let _ = self.0.signal.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
        self.cancel();
    }

    /// Says why the flag is about to be raised, where the user has not asked for it.
    pub fn because(&self, why: String) {
        // The first reason holds.
        let _known = self.0.why.set(why);
    }

    /// Why the flag was raised, where the user has not asked for it.
    #[must_use]
    pub fn why(&self) -> Option<&str> {
        self.0.why.get().map(String::as_str).filter(|_| self.is_cancelled())
    }

    /// The signal that raised the flag first, by its number.
    #[must_use]
    pub fn signal(&self) -> Option<i32> {
        Some(self.0.signal.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
    }

    /// Whether the flag is raised.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::SeqCst)
    }

    /// Adds a trial to be woken; where the flag is raised already it is woken at once.
    pub(crate) fn enlist(&self, trial: &Sender<Note>) {
        // Trials that are over would pile up in a long run; the living just look at their output once more.
        self.wake(|| Note::Nudge);
        self.0.trials.lock().unwrap_or_else(PoisonError::into_inner).push(trial.clone());
        if self.is_cancelled() {
            let _ = trial.send(Note::Cancelled);
        }
    }

    /// Sends a note to all trials, and forgets those that are over.
    fn wake(&self, note: impl Fn() -> Note) {
        self.0.trials.lock().unwrap_or_else(PoisonError::into_inner).retain(|trial| trial.send(note()).is_ok());
    }
}
