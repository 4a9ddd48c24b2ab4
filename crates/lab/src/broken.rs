//! When a baseline is broken: it fails by itself, in the same way, in as many launches as it takes to say so. One failure is an anecdote: the first launch of
//! a cold machine fails so, and a flaky program now and then.

use std::collections::BTreeSet;

use bystander_model::event::Purpose;
use bystander_model::outcome::Outcome;

use crate::ledger::{Ledger, TrialRecord};

/// Launches of a baseline, all failed, that show it to be broken: they exclude at 95 % that it completes in more than 53 % of launches, as four launches
/// without failure exclude the opposite, and as four blocks of complete separation show a difference. A baseline that fails in three launches of ten
/// fails four times in a row in one run of 120.
pub const SHOWN: u32 = 4;

/// The one signature with which every cell of the first block failed, time-outs being failures; `None` where not all did, or in several ways.
pub(crate) fn first_block(ledger: &Ledger) -> Option<&str> {
    let first: Vec<&TrialRecord> = ledger.trials.values().filter(|trial| trial.slot.block == 1 && trial.counts()).collect();
    let signatures: BTreeSet<&str> = first.iter().map(|trial| trial.signature()).collect();
    let every_cell = ledger.plan.cells.iter().all(|cell| first.iter().any(|trial| trial.slot.cell == *cell));
    let signature = signatures.first().copied().filter(|signature| signatures.len() == 1 && !signature.is_empty())?;
    (first.iter().all(|trial| has_failed(trial)) && every_cell && first.len() > 1).then_some(signature)
}

/// How many launches of the baseline alone it takes after a first block that failed in the same way: as many in all as the plan has blocks at the least,
/// and as show it, but no more than it has blocks at the most. Those of the gate count.
pub(crate) fn launches_left(ledger: &Ledger) -> u32 {
    let blocks = ledger.plan.blocks;
    let made = ledger.trials.values().filter(|trial| trial.slot.cell == ledger.plan.baseline && has_failed(trial));
    let made = made.filter(|trial| trial.slot.purpose == Purpose::Gate || trial.slot.purpose == Purpose::Measure && trial.slot.block == 1);
    blocks.min.max(SHOWN).min(blocks.max).saturating_sub(u32::try_from(made.count()).unwrap_or(u32::MAX))
}

/// Whether a launch failed with a signature.
pub(crate) fn fails_as(trial: &TrialRecord, signature: &str) -> bool {
    has_failed(trial) && trial.signature() == signature
}

/// Whether a launch failed, or timed out.
pub(crate) fn has_failed(trial: &TrialRecord) -> bool {
    matches!(trial.outcome(), Some(Outcome::Failed | Outcome::TimedOut))
}
