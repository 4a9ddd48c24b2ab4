//! What the probes saw, one line per probe, cell and process, of the newest trial that shows it.

use bystander_model::hit::Hit;
use bystander_model::report::Capture;

use crate::ledger::{Ledger, TrialRecord};
use crate::verdict::sentence::{count, launches};

pub(super) fn newest(ledger: &Ledger) -> Vec<Capture> {
    let mut captures = Vec::new();
    for cell in &ledger.plan.cells {
        let newest = ledger.trials.values().rev().find(|trial| trial.slot.cell == *cell && !trial.hits.is_empty());
        let Some(trial) = newest else { continue };
        let mut here: Vec<Capture> = trial
            .hits
            .values()
            .map(|(hit, recorded)| Capture {
                cell: cell.to_string(),
                trial: trial.id,
                hit: hit.clone(),
                hits: fired(trial, hit).unwrap_or(*recorded),
                unsafe_capture: ledger.plan.probes.iter().any(|probe| probe.spec.name == hit.probe && probe.spec.unsafe_capture),
            })
            .collect();
        here.sort_by(|a, b| (&a.hit.probe, a.hit.rank, a.hit.pid).cmp(&(&b.hit.probe, b.hit.rank, b.hit.pid)));
        captures.extend(here);
    }
    captures
}

/// How often a probe fired in the process of a hit, records or not, by its receipt.
fn fired(trial: &TrialRecord, hit: &Hit) -> Option<u64> {
    trial.receipts.iter().find(|receipt| receipt.probe == hit.probe && receipt.pid == hit.pid)?.hits
}

/// One sentence for every probe that never fired though its trials ended: what became of it in their processes.
pub(super) fn silent(ledger: &Ledger) -> Vec<String> {
    ledger.plan.probes.iter().filter_map(|probe| silence(ledger, &probe.spec.name)).map(|said| format!("{said}.")).collect()
}

/// One sentence for every probe that plain Python recorded: there the interpreter may switch threads where it would not without the probe.
pub(super) fn switching(ledger: &Ledger) -> Vec<String> {
    let of_probe = |name: &str| {
        let receipts = ledger.trials.values().flat_map(|trial| &trial.receipts);
        let switching = receipts.filter(|receipt| receipt.probe == name && receipt.adds_switch_point).count();
        let processes = count(u32::try_from(switching).unwrap_or(u32::MAX), "process", "processes");
        (switching > 0).then(|| {
            format!("{name} was recorded by plain Python in {processes}: it adds a point where threads may switch, so a race may come or go with it.")
        })
    };
    ledger.plan.probes.iter().filter_map(|probe| of_probe(&probe.spec.name)).collect()
}

/// What became of a probe that fired in no process of any trial it was in; `None` where it fired or was in no trial that ended.
pub(crate) fn silence(ledger: &Ledger, probe: &str) -> Option<String> {
    let with: Vec<&TrialRecord> = ledger
        .trials
        .values()
        .filter(|trial| trial.counts() && ledger.plan.instruments_of(&trial.slot.cell).iter().any(|name| name == probe))
        .collect();
    let fired = with.iter().any(|trial| {
        trial.hits.values().any(|(hit, _)| hit.probe == probe)
            || trial.receipts.iter().any(|r| r.probe == probe && r.hits.is_some_and(|hits| hits > 0))
    });
    if with.is_empty() || fired {
        return None;
    }
    let mut states: std::collections::BTreeMap<String, usize> = std::collections::BTreeMap::new();
    for receipt in with.iter().flat_map(|trial| &trial.receipts).filter(|receipt| receipt.probe == probe) {
        let word = serde_json::to_value(receipt.state).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default();
        *states.entry(word.replace('_', " ")).or_default() += 1;
    }
    let processes = match states.len() {
        0 => "no process left a receipt".to_owned(),
        _ => states.iter().map(|(state, n)| format!("{state} in {n}")).collect::<Vec<_>>().join(", ") + " processes",
    };
    Some(format!("{probe} never fired in {} ({processes})", launches(u32::try_from(with.len()).unwrap_or(u32::MAX))))
}
