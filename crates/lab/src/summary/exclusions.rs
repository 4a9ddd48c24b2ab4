//! Launches that were void, cell by cell: why, and whether they are shared out so unevenly that leaving them out may itself bias the comparison.
//!
//! Void launches are left out by rules that were fixed before. Where what makes a launch void does not depend on its cell, every launch is void with the
//! same chance, and the counts of a cell against those of all others are a 2x2 table with exact probabilities (Fisher). The smallest of these p-values
//! times the number of cells bounds the chance of any of them (Bonferroni). It is the check that experiments with users make for unequal groups.

use bystander_model::cell::Cell;
use bystander_model::event::Purpose;
use bystander_model::outcome::Outcome;
use bystander_model::report::CauseCount;
use indexmap::IndexMap;

use crate::ledger::{Ledger, TrialRecord};
use crate::stats::Tally;
use crate::stats::fisher::{fisher, reaches};

/// P-values this near to each other are one and the same, computed in another order.
const TIE: f64 = 1.0 + 1e-9;
/// The level at which an uneven share is told.
const LEVEL: f64 = 0.05;

/// Why launches of a cell were void, by class, in the order in which the classes came up.
pub(super) fn reasons<'a>(trials: impl Iterator<Item = &'a TrialRecord>) -> Vec<CauseCount> {
    let mut counts: IndexMap<&str, CauseCount> = IndexMap::new();
    for cause in trials.filter(|trial| trial.outcome() == Some(Outcome::Void)).filter_map(|trial| trial.end.as_ref()?.cause.as_ref()) {
        let first = || CauseCount { class: cause.class.clone(), signature: cause.signature.clone(), text: cause.text.clone(), count: 0 };
        counts.entry(&cause.class).or_insert_with(first).count += 1;
    }
    counts.into_values().collect()
}

/// One cell's launches.
struct Share<'a> {
    cell: &'a Cell,
    void: u32,
    kept: u32,
}

/// Says where launches were left out unevenly, in a sentence with the counts; nothing where that could be chance.
pub(super) fn finding(ledger: &Ledger) -> Option<String> {
    let shares: Vec<Share<'_>> = ledger.plan.cells.iter().map(|cell| share(ledger, cell)).collect();
    let (void, kept) = shares.iter().fold((0, 0), |(void, kept), share| (void + share.void, kept + share.kept));
    if shares.len() < 2 || void == 0 {
        return None;
    }
    let p_of = |share: &Share<'_>| Some(fisher(tally(share.void, share.kept)?, tally(void - share.void, kept - share.kept)?).two_sided);
    let tested: Vec<(&Share<'_>, f64)> = shares.iter().filter_map(|share| Some((share, p_of(share)?))).collect();
    let least = tested.iter().map(|(_, p)| *p).min_by(f64::total_cmp)?;
    // Of cells that tell the same, as two do that are all there are, the one that lost more is named.
    let alike = tested.iter().filter(|(_, p)| *p <= least * TIE).map(|(share, _)| *share);
    let odd = alike.max_by(|one, other| rate(one).total_cmp(&rate(other)))?;
    // Two cells make the same table twice.
    let tables = if shares.len() == 2 { 1.0 } else { shares.len() as f64 };
    let p = (least * tables).min(1.0);
    if !reaches(p, LEVEL) {
        return None;
    }
    let launches = odd.void + odd.kept;
    let others = void + kept - launches;
    let why: Vec<String> = reasons(of(ledger, odd.cell)).iter().map(|cause| format!("{} \u{d7}{}", cause.class, cause.count)).collect();
    let why = if why.is_empty() { String::new() } else { format!(" ({})", why.join(", ")) };
    Some(format!(
        "launches were not left out evenly: {} of {launches} of {} were void{why}, and {} of {others} of the other cells (Fisher, exact, {}): \
         what voids a launch may depend on the cell, and then the launches that are left are not comparable.",
        odd.void,
        odd.cell,
        void - odd.void,
        rounded(p)
    ))
}

fn of<'a>(ledger: &'a Ledger, cell: &'a Cell) -> impl Iterator<Item = &'a TrialRecord> {
    ledger.trials.values().filter(move |trial| trial.slot.purpose == Purpose::Measure && trial.slot.cell == *cell)
}

fn share<'a>(ledger: &'a Ledger, cell: &'a Cell) -> Share<'a> {
    let count = |is: fn(Outcome) -> bool| {
        u32::try_from(of(ledger, cell).filter(|trial| trial.outcome().is_some_and(is)).count()).unwrap_or(u32::MAX)
    };
    Share { cell, void: count(|outcome| outcome == Outcome::Void), kept: count(Outcome::counts) }
}

fn rate(share: &Share<'_>) -> f64 {
    f64::from(share.void) / f64::from((share.void + share.kept).max(1))
}

fn tally(void: u32, kept: u32) -> Option<Tally> {
    Tally::new(void, void.checked_add(kept)?).ok()
}

/// A p-value as people read it.
fn rounded(p: f64) -> String {
    if p < 0.0001 { "p < 0.0001".to_owned() } else { format!("p = {p:.4}") }
}
