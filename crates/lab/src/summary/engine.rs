//! What engines said of themselves that makes trials incomparable.

use indexmap::IndexMap;

use crate::ledger::Ledger;

/// Each note once, with the trials that it is about.
pub(super) fn notes(ledger: &Ledger) -> Vec<String> {
    let mut found: IndexMap<String, Vec<String>> = IndexMap::new();
    for trial in ledger.trials.values().filter(|trial| trial.counts()) {
        for note in trial.end.iter().filter_map(|end| end.engine.as_deref()).flat_map(|engine| &engine.notes) {
            found.entry(note.clone()).or_default().push(trial.id.0.to_string());
        }
    }
    found.into_iter().map(|(note, trials)| format!("engine of trial {}: {note}", trials.join(", "))).collect()
}
