//! Levels that left no trace in the configuration that the program printed.

use std::collections::BTreeMap;

use bystander_model::cell::Cell;

use crate::contrast::{self, Subject};
use crate::ledger::{Ledger, TrialRecord};
use crate::provenance::{configuration, unfill};

/// Says of which levels the printed configuration is that of the baseline, where the program prints one and no level declares how it is seen.
pub(super) fn alike(ledger: &Ledger) -> Vec<String> {
    let plan = &ledger.plan;
    let contrasts = contrast::contrasts(plan);
    let factors = contrasts.iter().filter_map(|contrast| match &contrast.subject {
        Subject::Factor { factor, level } => Some((factor, level, contrast)),
        Subject::Instrument { .. } => None,
    });
    let unseen = factors.filter(|(factor, level, _)| {
        plan.factors.get(*factor).and_then(|levels| levels.get(*level)).is_some_and(|level| level.treatment.is_none())
    });
    let told = unseen.filter_map(|(factor, level, contrast)| {
        let (treated, of_treated) = printed(ledger, &contrast.treated)?;
        let (control, of_control) = printed(ledger, &contrast.control)?;
        (of_treated == of_control).then(|| {
            format!(
                "{factor}={level} leaves no trace in the configuration that the program prints: trial {} states the same as trial {}. `treatment` in the level says how it is seen.",
                treated.id, control.id
            )
        })
    });
    told.collect()
}

/// The first launch of a cell that printed its configuration, and what that says apart from what is a launch's own.
fn printed<'a>(ledger: &'a Ledger, cell: &'a Cell) -> Option<(&'a TrialRecord, BTreeMap<String, String>)> {
    ledger.data(cell).find_map(|trial| {
        let own = |name: &str| ["port", "seed"].iter().any(|word| name.contains(word));
        let unfilled = |value: String| trial.provenance.as_ref().map_or(value.clone(), |provenance| unfill(provenance, &value));
        let settings: BTreeMap<String, String> =
            configuration(trial).into_iter().filter(|(name, _)| !own(name)).map(|(name, value)| (name, unfilled(value))).collect();
        (!settings.is_empty()).then_some((trial, settings))
    })
}
