//! What the probes saw, one line per probe, cell and process, of the newest trial that shows it.

use bystander_model::report::Capture;

use crate::ledger::Ledger;

pub(super) fn newest(ledger: &Ledger) -> Vec<Capture> {
    let mut captures = Vec::new();
    for cell in &ledger.plan.cells {
        let newest = ledger.trials.values().rev().find(|trial| trial.slot.cell == *cell && !trial.hits.is_empty());
        let Some(trial) = newest else { continue };
        let mut here: Vec<Capture> = trial
            .hits
            .values()
            .map(|(hit, hits)| Capture { cell: cell.to_string(), trial: trial.id, hit: hit.clone(), hits: *hits })
            .collect();
        here.sort_by(|a, b| (&a.hit.probe, a.hit.rank, a.hit.pid).cmp(&(&b.hit.probe, b.hit.rank, b.hit.pid)));
        captures.extend(here);
    }
    captures
}
