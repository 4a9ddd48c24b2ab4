//! What the first launches of a run do whatever is launched: a cold cache, a first compile, a file that the first one downloads.
//!
//! The random order within blocks keeps such launches from being taken for an effect: each cell has as many of them as another, or one more. But one of them
//! alone is no counterexample, and no failure that happens without an instrument.

use bystander_model::cell::Cell;
use bystander_model::ids::TrialId;
use bystander_model::outcome::Outcome;

use crate::broken::has_failed;
use crate::ledger::{Ledger, TrialRecord};

/// Launches of a cell that all complete after its last failure: fewer are soon seen of a program that fails now and then.
const AFTER: usize = 3;

/// The failures with which a run began, and the cells that never failed after them.
#[derive(Debug, Default)]
pub(crate) struct ColdStart<'a> {
    first: Vec<&'a TrialRecord>,
    warm: Vec<(&'a Cell, usize)>,
}

impl<'a> ColdStart<'a> {
    /// Looks whether a run began with failures, and which of their cells completed in every launch after; it is empty where there is none.
    pub(crate) fn of(ledger: &'a Ledger) -> Self {
        let ended = || ledger.trials.values().filter(|trial| trial.outcome().is_some_and(Outcome::counts));
        let first: Vec<&TrialRecord> = ended().take_while(|trial| has_failed(trial)).collect();
        let mut warm: Vec<(&Cell, usize)> = Vec::new();
        for cell in first.iter().map(|trial| &trial.slot.cell) {
            let after: Vec<bool> = ended().skip(first.len()).filter(|trial| trial.slot.cell == *cell).map(has_failed).collect();
            if after.len() >= AFTER && !after.contains(&true) && !warm.iter().any(|(known, _)| *known == cell) {
                warm.push((cell, after.len()));
            }
        }
        Self { first: if warm.is_empty() { Vec::new() } else { first }, warm }
    }

    /// Whether a failure may be of the cold start rather than of its cell.
    pub(crate) fn holds(&self, trial: &TrialRecord) -> bool {
        self.warm.iter().any(|(cell, _)| **cell == trial.slot.cell) && self.first.iter().any(|one| one.id == trial.id)
    }

    /// What was seen, without a full stop; `None` where there was no cold start.
    pub(crate) fn said(&self) -> Option<String> {
        let (first, last): (TrialId, TrialId) = (self.first.first()?.id, self.first.last()?.id);
        let began = if first == last {
            format!("trial {first}, the first of the run, failed")
        } else {
            format!("trials {first} to {last}, the first of the run, failed, whatever was launched")
        };
        let after: Vec<String> = self.warm.iter().map(|(cell, n)| format!("{cell} in none of its {n} launches after")).collect();
        Some(format!("{began}, and {}", after.join(" and ")))
    }
}

/// What keeps a cold start out of a run.
pub(crate) const WARM_UP: &str =
    "a launch before the first block that warms up what is cold (`setup` in [hooks]), or one by hand, and a new run";
