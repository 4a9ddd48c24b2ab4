//! What this place knows of its own trials: which of them run, who on the machine was looked into, and which GPU memory they have not given back.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bystander_model::ids::TrialId;
use bystander_supervise::census::{Census, Suspect};

/// GPU memory that a trial has not given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::local) struct Owed {
    /// The trial.
    pub(in crate::local) trial: TrialId,
    /// What was held on the GPU before it, in bytes.
    pub(in crate::local) before: u64,
}

/// The knowledge of one place, shared by its lanes.
#[derive(Debug, Default)]
pub(in crate::local) struct Grounds {
    /// Each with whether another one ran at the same time.
    running: Mutex<Vec<(TrialId, bool)>>,
    census: Mutex<Census>,
    /// By the UUID of the GPU.
    owed: Mutex<BTreeMap<String, Owed>>,
}

/// A trial is there until this is dropped.
#[derive(Debug)]
pub(in crate::local) struct Entered<'a> {
    grounds: &'a Grounds,
    trial: TrialId,
}

impl Grounds {
    /// A trial begins.
    pub(in crate::local) fn enter(&self, trial: TrialId) -> Entered<'_> {
        let mut running = lock(&self.running);
        running.iter_mut().for_each(|(_, met)| *met = true);
        let meets = !running.is_empty();
        running.push((trial, meets));
        drop(running);
        Entered { grounds: self, trial }
    }

    /// The processes of this user that may be leftovers.
    pub(super) fn suspects(&self, titles: &[String]) -> Vec<Suspect> {
        lock(&self.census).take(titles)
    }

    /// A trial has not given back what it had of a GPU. What an earlier one owes already stays on its account.
    pub(in crate::local) fn owes(&self, gpu: &str, owed: Owed) {
        lock(&self.owed).entry(gpu.to_owned()).or_insert(owed);
    }

    /// What is owed on a GPU.
    pub(super) fn owed(&self, gpu: &str) -> Option<Owed> {
        lock(&self.owed).get(gpu).cloned()
    }

    /// Everything on a GPU was given back.
    pub(in crate::local) fn paid(&self, gpu: &str) {
        lock(&self.owed).remove(gpu);
    }
}

impl Entered<'_> {
    /// Whether a trial runs in one of the lanes now, this one included.
    pub(super) fn is_running(&self, trial: TrialId) -> bool {
        lock(&self.grounds.running).iter().any(|(running, _)| *running == trial)
    }

    /// Whether another trial ran at any time that this one did.
    pub(in crate::local) fn has_met(&self) -> bool {
        lock(&self.grounds.running).iter().any(|(running, met)| *running == self.trial && *met)
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        lock(&self.grounds.running).retain(|(trial, _)| *trial != self.trial);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use bystander_model::ids::TrialId;

    use super::{Grounds, Owed};

    #[test]
    fn a_trial_is_there_until_it_leaves() {
        let grounds = Grounds::default();
        let one = grounds.enter(TrialId(1));
        {
            let two = grounds.enter(TrialId(2));
            assert!(two.is_running(TrialId(1)) && one.is_running(TrialId(2)) && two.has_met());
        }
        assert!(one.is_running(TrialId(1)) && !one.is_running(TrialId(2)));
        assert!(one.has_met(), "also when the other one is gone");
        drop(one);
        assert!(!grounds.enter(TrialId(3)).has_met());
    }

    #[test]
    fn the_first_who_owes_is_the_one_who_is_named_until_it_is_paid() {
        let grounds = Grounds::default();
        let owed = |trial, before| Owed { trial: TrialId(trial), before };
        grounds.owes("GPU-1", owed(3, 10));
        grounds.owes("GPU-1", owed(4, 500));
        assert_eq!(grounds.owed("GPU-1"), Some(owed(3, 10)));
        grounds.paid("GPU-1");
        assert_eq!((grounds.owed("GPU-1"), grounds.owed("GPU-2")), (None, None));
    }
}
