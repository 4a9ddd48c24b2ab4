//! What became of each probe in the processes of a trial, as evidence of the trial: without a process that armed it, the trial says nothing about it.

use std::collections::BTreeMap;

use bystander_model::evidence::Evidence;
use bystander_model::hit::{Receipt, ReceiptState};
use bystander_model::ids::TrialId;

/// One piece of evidence for each of the trial's probes.
pub(in super::super) fn evidence(trial: TrialId, probes: &[&str], receipts: &[Receipt]) -> Vec<Evidence> {
    let one = |probe: &&str| {
        let own: Vec<&Receipt> = receipts.iter().filter(|receipt| receipt.probe == **probe).collect();
        Evidence::sample(trial, &format!("receipts of {probe}"), &told(&own))
    };
    probes.iter().map(one).collect()
}

fn told(receipts: &[&Receipt]) -> String {
    if receipts.is_empty() {
        return "no process left an account of it: this trial says nothing about the probe".to_owned();
    }
    let mut states: BTreeMap<&str, usize> = BTreeMap::new();
    for receipt in receipts {
        *states.entry(word(receipt.state)).or_default() += 1;
    }
    let counted: Vec<String> = states.iter().map(|(state, count)| format!("{state} in {}", processes(*count))).collect();
    let hits: u64 = receipts.iter().filter_map(|receipt| receipt.hits).sum();
    let ready = receipts.iter().any(|receipt| was_in_place(receipt.state));
    let but = if ready { "" } else { ": it was in place in no process, so this trial says nothing about the probe" };
    format!("{}; {hits} hits{but}", counted.join(", "))
}

/// Whether the probe was there to be passed.
const fn was_in_place(state: ReceiptState) -> bool {
    matches!(state, ReceiptState::Armed | ReceiptState::NotReached | ReceiptState::Paused | ReceiptState::Expired)
}

const fn word(state: ReceiptState) -> &'static str {
    match state {
        ReceiptState::Armed => "armed",
        ReceiptState::Refused => "refused",
        ReceiptState::NotImported => "not imported",
        ReceiptState::NotReached => "in place and not reached",
        ReceiptState::CompiledAway => "compiled away",
        ReceiptState::Uncovered => "uncovered",
        ReceiptState::Paused => "paused",
        ReceiptState::Expired => "expired",
    }
}

fn processes(count: usize) -> String {
    if count == 1 { "1 process".to_owned() } else { format!("{count} processes") }
}

#[cfg(test)]
mod tests {
    use bystander_model::hit::{Receipt, ReceiptState};
    use bystander_model::ids::TrialId;

    use super::evidence;

    #[test]
    fn a_probe_that_no_process_had_is_said_to_show_nothing() {
        let receipt = |pid, state, hits| Receipt { state, hits: Some(hits), ..Receipt::uncovered(pid, "kv", "") };
        let receipts = [receipt(1, ReceiptState::Armed, 3), receipt(2, ReceiptState::NotImported, 0)];
        let told = |probes: &[&str], receipts: &[Receipt]| evidence(TrialId(1), probes, receipts).remove(0).text;
        assert_eq!(told(&["kv"], &receipts), "armed in 1 process, not imported in 1 process; 3 hits");
        assert!(told(&["kv"], &receipts[1..]).ends_with("in place in no process, so this trial says nothing about the probe"));
        assert!(told(&["other"], &receipts).starts_with("no process left an account"));
    }
}
