//! Forked children that left no account of themselves, and processes whose record is empty: their hits are lost, and somebody must say so.
//!
//! A parent counts its forks where it writes already; a child says whose it is. What is missing between the two may have hit anything.

use std::collections::BTreeMap;

use bystander_model::hit::Receipt;

use crate::process::Process;

/// What stands for the pid of a process that nobody knows.
const NOBODY: u32 = 0;

/// How many children each process has forked, by the name of its record.
pub(crate) fn forks<'a>(processes: impl Iterator<Item = &'a Process>) -> BTreeMap<String, u64> {
    processes.filter_map(|process| Some((process.name()?.to_owned(), process.forks()))).collect()
}

/// The processes that said nothing.
#[derive(Debug)]
pub(crate) struct Silent {
    /// Those that could make a record and write nothing into it.
    pids: Vec<u32>,
    /// Forked children that nothing else is known of.
    children: u64,
}

/// Compares forks with the children that are known; `forks` was taken before the children were looked for.
pub(crate) fn silent<'a>(forks: &BTreeMap<String, u64>, processes: impl Iterator<Item = &'a Process>) -> Silent {
    let mut missing = forks.clone();
    let mut pids = Vec::new();
    for process in processes {
        if !process.has_spoken {
            pids.push(process.pid);
        }
        if let Some(count) = process.forked_from.as_ref().and_then(|parent| missing.get_mut(parent)) {
            *count = count.saturating_sub(1);
        }
    }
    let missing = missing.values().fold(0_u64, |sum, count| sum.saturating_add(*count));
    let children = missing.saturating_sub(pids.len() as u64);
    Silent { pids, children }
}

/// Adds their receipts; a pid that has another life with an account keeps that.
pub(crate) fn account(silent: Silent, probes: &[&str], receipts: &mut BTreeMap<(u32, usize), Receipt>) {
    let empty = silent.pids.into_iter().map(|pid| (pid, "the process could not write its record".to_owned()));
    let noun = if silent.children == 1 { "child" } else { "children" };
    let unknown = (silent.children > 0).then(|| {
        let reason = "no right to, or no room for, a record; killed at once; or the fork failed";
        (NOBODY, format!("{} forked {noun} left no account ({reason})", silent.children))
    });
    for (pid, detail) in empty.chain(unknown) {
        for (index, probe) in probes.iter().enumerate() {
            receipts.entry((pid, index)).or_insert_with(|| Receipt::uncovered(pid, *probe, detail.as_str()));
        }
    }
}
