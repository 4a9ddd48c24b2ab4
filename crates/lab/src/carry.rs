//! What an edit leaves behind although its file is as before: a built program, a cache, a file that the edited program wrote.
//!
//! The bare baselines tell: those before the first edit against those after it. Undoing an edit cannot undo what ran with it.

use bystander_model::ids::TrialId;
use bystander_model::outcome::Outcome;

use crate::ledger::{Ledger, TrialRecord};

/// The bare baselines around the edits of a run, gate and clean trials among them.
#[derive(Debug, Default)]
pub struct Baselines<'a> {
    /// The first trial with an edit.
    pub first_edited: Option<TrialId>,
    /// Those before the first edit.
    pub before: Vec<&'a TrialRecord>,
    /// Those after the first edit.
    pub after: Vec<&'a TrialRecord>,
    /// The first of them after the last undo.
    pub last: Option<&'a TrialRecord>,
}

impl<'a> Baselines<'a> {
    /// Sorts the bare baselines of a run; all are `before` where nothing was edited.
    #[must_use]
    pub fn of(ledger: &'a Ledger) -> Self {
        let edited = || ledger.trials.values().filter(|trial| !trial.edited.is_empty()).map(|trial| trial.id);
        let (first, last) = (edited().next(), edited().next_back());
        let bare = |trial: &&TrialRecord| trial.slot.cell == ledger.plan.baseline && trial.outcome().is_some_and(Outcome::counts);
        let after_first = |trial: &&TrialRecord| first.is_some_and(|first| trial.id > first);
        let (after, before): (Vec<_>, Vec<_>) = ledger.trials.values().filter(bare).partition(after_first);
        let last = after.iter().copied().find(|trial| last.is_some_and(|last| trial.id > last));
        Self { first_edited: first, before, after, last }
    }

    /// A baseline that completed before the first edit and one that failed after it, where every one did so: something was carried over.
    #[must_use]
    pub fn carried_over(&self) -> Option<(TrialId, TrialId)> {
        let completed = |trial: &&&TrialRecord| trial.outcome() == Some(Outcome::Completed);
        let all_before = self.before.iter().all(|trial| completed(&trial));
        let none_after = !self.after.iter().any(|trial| completed(&trial));
        (all_before && none_after).then_some(())?;
        Some((self.before.first()?.id, self.after.first()?.id))
    }

    /// Whether a trial may show what an edit before it left behind, rather than what its own cell does.
    #[must_use]
    pub fn may_be_carried_over(&self, trial: &TrialRecord) -> bool {
        self.carried_over().is_some()
            && trial.outcome() != Some(Outcome::Completed)
            && self.first_edited.is_some_and(|first| trial.id > first)
    }

    /// The baseline after the last undo, where it ended as one before the first edit did.
    #[must_use]
    pub fn clean(&self) -> Option<TrialId> {
        let last = self.last?;
        let alike = |other: &&TrialRecord| other.outcome() == last.outcome() && other.signature() == last.signature() && !is_echo(last);
        self.before.iter().any(alike).then_some(last.id)
    }

    /// Why "restored" is not shown by behaviour, if it is not.
    #[must_use]
    pub fn not_shown(&self) -> Option<String> {
        if self.clean().is_some() {
            return None;
        }
        let word = |trial: &TrialRecord| trial.outcome().map_or("", Outcome::word);
        Some(match (self.last, self.before.first()) {
            (Some(last), Some(before)) => {
                let why = if is_echo(last) { ", and of what is not known" } else { "" };
                format!(
                    "the bare baseline after the last undo (trial {}) {}, before the first edit (trial {}) it {}{why}",
                    last.id,
                    word(last),
                    before.id,
                    word(before)
                )
            }
            (Some(last), None) => {
                format!(
                    "a bare baseline ran after the last undo (trial {}), but none before the first edit that it could be compared with",
                    last.id
                )
            }
            (None, _) => "no bare baseline ran after the last undo".to_owned(),
        })
    }
}

/// Whether of a failure is known only that something else failed.
fn is_echo(trial: &TrialRecord) -> bool {
    trial.end.as_ref().and_then(|end| end.cause.as_ref()).is_some_and(|cause| cause.is_echo)
}
