//! Levels that left no trace in the configuration that the program printed.

use std::collections::BTreeSet;

use crate::contrast::{self, Subject};
use crate::ledger::Ledger;
use crate::verdict::applied::{Printed, unapplied};

/// Says of which levels the printed configuration is that of the baseline, where the program prints one and no level declares how it is seen. Where it is
/// shown that such a level was not applied, its answers say so.
pub(super) fn alike(ledger: &Ledger) -> Vec<String> {
    let plan = &ledger.plan;
    let contrasts = contrast::contrasts(plan);
    let factors = contrasts.iter().filter_map(|contrast| match &contrast.subject {
        Subject::Factor { factor, level } => Some((factor, level, contrast)),
        Subject::Combination | Subject::Instrument { .. } => None,
    });
    let unseen = factors.filter(|(factor, level, contrast)| {
        let declared = plan.factors.get(*factor).and_then(|levels| levels.get(*level));
        declared.is_some_and(|level| level.treatment.is_none()) && unapplied(ledger, contrast).is_none()
    });
    let told = unseen.filter_map(|(factor, level, contrast)| {
        let treated = Printed::of(ledger, &contrast.treated, &BTreeSet::new())?;
        let control = Printed::of(ledger, &contrast.control, &BTreeSet::new())?;
        let (first, other) = (treated.trials.first()?, control.trials.first()?);
        treated.lasting_differences(&control).is_empty().then(|| {
            format!(
                "{factor}={level} leaves no trace in the configuration that the program prints: trial {} states the same as trial {}. `treatment` in the level says how it is seen.",
                first.id, other.id
            )
        })
    });
    told.collect()
}
