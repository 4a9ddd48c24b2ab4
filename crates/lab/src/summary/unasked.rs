//! Levels that turn settings which nobody asked them to turn: what is found of such a level is of all of them together.

use crate::contrast::{self, Subject};
use crate::ledger::Ledger;
use crate::verdict::unequal::unequal;

/// Says of which levels the printed configuration differs from the baseline's in settings that neither of the two names.
pub(super) fn settings(ledger: &Ledger) -> Vec<String> {
    let contrasts = contrast::contrasts(&ledger.plan);
    let of_levels = contrasts.iter().filter(|contrast| matches!(contrast.subject, Subject::Factor { .. }));
    let told = of_levels.filter_map(|contrast| unequal(ledger, contrast)).map(|found| {
        let (levels, list) = (&found.levels, found.list());
        format!(
            "{levels} and {} differ in more than what they ask for: {list}. What is found of {levels} is of all of it together.",
            found.usual
        )
    });
    told.collect()
}
