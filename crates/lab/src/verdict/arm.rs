//! One side of a comparison: the data points of a cell, by outcome and by signature.

use std::collections::BTreeMap;

use bystander_model::cell::Cell;
use bystander_model::evidence::{Evidence, EvidenceKind};
use bystander_model::ids::TrialId;
use bystander_model::outcome::Outcome;
use bystander_model::report::Strength;

use super::sentence::launches;
use crate::ledger::{Ledger, TrialRecord};
use crate::stats::Tally;

/// The data points of one cell.
pub(super) struct Arm<'a> {
    pub(super) cell: &'a Cell,
    pub(super) trials: Vec<&'a TrialRecord>,
}

impl<'a> Arm<'a> {
    pub(super) fn of(ledger: &'a Ledger, cell: &'a Cell) -> Self {
        Self { cell, trials: ledger.data(cell).collect() }
    }

    pub(super) fn n(&self) -> u32 {
        u32::try_from(self.trials.len()).unwrap_or(u32::MAX)
    }

    /// Failures and time-outs.
    pub(super) fn failed(&self) -> u32 {
        u32::try_from(self.failures().count()).unwrap_or(u32::MAX)
    }

    /// The share of launches that fail; 0 without one.
    pub(super) fn rate(&self) -> f64 {
        self.tally().proportion().unwrap_or(0.0)
    }

    pub(super) fn failures(&self) -> impl Iterator<Item = &'a TrialRecord> {
        self.trials.iter().copied().filter(|trial| trial.outcome() != Some(Outcome::Completed))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.trials.is_empty()
    }

    pub(super) fn all_failed(&self) -> bool {
        !self.is_empty() && self.failed() == self.n()
    }

    pub(super) fn all_completed(&self) -> bool {
        !self.is_empty() && self.failed() == 0
    }

    /// The first failing trial of each signature.
    pub(super) fn signatures(&self) -> BTreeMap<&'a str, &'a TrialRecord> {
        let mut first = BTreeMap::new();
        for trial in self.failures().filter(|trial| !trial.signature().is_empty()) {
            first.entry(trial.signature()).or_insert(trial);
        }
        first
    }

    /// A failure of this arm and one of the other with the same signature.
    pub(super) fn shares_failure_with(&self, other: &Arm<'a>) -> Option<(&'a TrialRecord, &'a TrialRecord)> {
        let theirs = other.signatures();
        self.signatures().into_iter().find_map(|(signature, mine)| Some((mine, *theirs.get(signature)?)))
    }

    /// Failures of this arm whose signature the other does not show.
    pub(super) fn failures_not_in(&self, other: &Arm<'a>) -> Vec<&'a TrialRecord> {
        let theirs = other.signatures();
        self.signatures().into_iter().filter(|(signature, _)| !theirs.contains_key(signature)).map(|(_, trial)| trial).collect()
    }

    /// Failures and launches.
    pub(super) fn tally(&self) -> Tally {
        Tally::new(self.failed(), self.n()).unwrap_or_default()
    }

    /// `nccl/none fails in 3 of 4 launches`.
    pub(super) fn said(&self) -> String {
        let n = self.n();
        match self.failed() {
            0 => format!("{} completes in {n} of {}", self.cell, launches(n)),
            failed => format!("{} fails in {failed} of {}", self.cell, launches(n)),
        }
    }

    /// The numbers of its data points.
    pub(super) fn ids(&self) -> Vec<TrialId> {
        self.trials.iter().map(|trial| trial.id).collect()
    }

    pub(super) fn evidence(&self) -> Vec<Evidence> {
        self.trials.first().map(|trial| evidence_of(trial)).unwrap_or_default()
    }
}

/// What shows the outcome of a trial: the first evidence of its cause, or of its success.
pub(super) fn evidence_of(trial: &TrialRecord) -> Vec<Evidence> {
    let Some(end) = &trial.end else { return Vec::new() };
    let of_cause = end.cause.as_ref().and_then(|cause| cause.evidence.first());
    let shown = of_cause.or_else(|| end.evidence.first()).cloned();
    shown.into_iter().collect()
}

/// How far launches that are all alike go: one is an anecdote, more are consistent. Only a declared rule shows.
pub(super) fn strength_of(n: u32) -> Strength {
    if n <= 1 { Strength::Anecdotal } else { Strength::Consistent }
}

/// A formula as evidence.
pub(super) fn formula(place: &str, text: String) -> Evidence {
    Evidence { trial: None, kind: EvidenceKind::Formula, place: place.to_owned(), text }
}
