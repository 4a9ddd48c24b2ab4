//! What sets a log of an earlier run apart from the cells of a run.

use std::collections::{BTreeMap, BTreeSet};

use bystander_model::budget::VersionRange;
use bystander_model::cell::Cell;
use bystander_model::event::TrialEnd;
use bystander_model::old_log::{AgainstCell, OldLog, OldLogReport};
use bystander_model::outcome::Outcome;

use crate::ledger::{Ledger, TrialRecord};
use crate::printed::settings;
use crate::provenance::{configuration, unfill};

/// Differences that a sentence names.
const NAMED: usize = 3;
/// The longest value that is shown.
const LONGEST: usize = 60;

/// Compares a log with the launches of a cell.
#[must_use]
pub fn against(ledger: &Ledger, log: &OldLog, cell: &Cell) -> AgainstCell {
    let mut found = AgainstCell { cell: cell.to_string(), engines: None, differs: Vec::new(), unknown: Vec::new(), same: false };
    // What an instrument in the program would have changed, no line states; the levels are what a configuration is made of.
    let alike = |trial: &&TrialRecord| trial.slot.cell.levels == cell.levels && trial.end.is_some();
    let trials: Vec<&TrialRecord> = ledger.trials.values().filter(alike).collect();
    let printed: Vec<BTreeMap<String, String>> =
        trials.iter().map(|trial| filled_back(trial)).filter(|settings| !settings.is_empty()).collect();
    let ours = log.configuration.as_ref().map(settings).unwrap_or_default();
    match printed.first() {
        _ if ours.is_empty() => found.unknown.push(format!("the configuration of {}: none of its lines is known to state one", log.name)),
        None if trials.is_empty() => found.unknown.push(format!("the configuration of {cell}, which was not launched")),
        None => found.unknown.push(format!("the configuration of {cell}: it prints none that is known")),
        Some(theirs) => found.differs = differing(&ours, theirs, &varying(&printed)),
    }
    found.engines = engines(log, &trials);
    // Versions of two engines are no versions of one.
    if found.engines.is_none() {
        let version = versions(log, &trials, &mut found);
        found.differs.extend(version);
    }
    if !cell.is_bare() {
        found.unknown.push(format!("whether {} was put in", cell.instrument));
    }
    found.same = found.differs.is_empty() && found.engines.is_none() && !ours.is_empty() && !printed.is_empty() && cell.is_bare();
    found
}

/// Describes a log with what sets it apart from every cell, and says what it is good for.
#[must_use]
pub fn report(ledger: &Ledger, log: &OldLog) -> OldLogReport {
    let against: Vec<AgainstCell> = ledger.plan.cells.iter().map(|cell| against(ledger, log, cell)).collect();
    let text = format!("{} {}", use_said(ledger, &against), outcome_said(log));
    OldLogReport { log: log.clone(), against, text }
}

fn outcome_said(log: &OldLog) -> String {
    match (&log.cause, log.outcome) {
        (Some(cause), Outcome::Failed) => format!("It failed: {}.", cause.text.trim_end_matches('.')),
        (_, Outcome::Completed) => "It became ready, and no failure is seen in it.".to_owned(),
        _ if !log.evidence.is_empty() => {
            "Its ready line is there; whether it was ready in all that is asked for, a log cannot show, so its outcome is undetermined."
                .to_owned()
        }
        _ => "Its outcome is undetermined: no line of it shows that it was ready, and none how it ended. A missing line shows nothing."
            .to_owned(),
    }
}

fn use_said(ledger: &Ledger, against: &[AgainstCell]) -> String {
    let baseline = ledger.plan.baseline.to_string();
    let Some(base) = against.iter().find(|cell| cell.cell == baseline) else { return String::new() };
    let same: Vec<&str> = against.iter().filter(|cell| cell.same).map(|cell| cell.cell.as_str()).collect();
    if !same.is_empty() {
        return format!(
            "Its configuration is that of {} in everything that is known of both. It is no launch of this run and enters no test; it can only speak against a claim.",
            same.join(", ")
        );
    }
    let why = match &base.engines {
        Some(engines) => Some(format!("it is of another engine, {engines}{}", count_said(base.differs.len()))),
        None if base.differs.is_empty() => base.unknown.first().map(|what| format!("not known is {what}")),
        None => Some(differs_said(&base.differs)),
    };
    let why = why.unwrap_or_else(|| "nothing of it can be compared".to_owned());
    format!("It cannot serve as the baseline {baseline}: {why}.")
}

fn differs_said(differs: &[String]) -> String {
    let more = if differs.len() > NAMED { format!(" and {} more", differs.len() - NAMED) } else { String::new() };
    let named: Vec<&str> = differs.iter().take(NAMED).map(String::as_str).collect();
    format!("it differs in {}{more}", named.join(", "))
}

/// Which settings two engines have says little of either: how many differ is told, and all of them where everything is.
fn count_said(differs: usize) -> String {
    match differs {
        0 => String::new(),
        1 => ", and 1 setting differs".to_owned(),
        more => format!(", and {more} settings differ"),
    }
}

/// What a trial printed, with its own port and folders taken out again.
fn filled_back(trial: &TrialRecord) -> BTreeMap<String, String> {
    let printed = configuration(trial);
    let Some(provenance) = &trial.provenance() else { return printed };
    printed.into_iter().map(|(name, value)| (name, unfill(provenance, &value))).collect()
}

/// Settings that differ between launches of the same levels, as seeds do, and so say nothing.
fn varying(printed: &[BTreeMap<String, String>]) -> BTreeSet<&String> {
    let Some((first, rest)) = printed.split_first() else { return BTreeSet::new() };
    let names = printed.iter().flat_map(BTreeMap::keys);
    names.filter(|name| rest.iter().any(|other| other.get(*name) != first.get(*name))).collect()
}

fn differing(ours: &BTreeMap<String, String>, theirs: &BTreeMap<String, String>, varying: &BTreeSet<&String>) -> Vec<String> {
    let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let said = |value: Option<&String>| value.map_or_else(|| "absent".to_owned(), |value| shortened(value));
    let of_trial = |value: &String| ["{port}", "{trial}", "{cache}", "{seed}"].iter().any(|placeholder| value.contains(placeholder));
    names
        .into_iter()
        .filter(|name| !varying.contains(name) && !theirs.get(*name).is_some_and(of_trial) && ours.get(*name) != theirs.get(*name))
        .map(|name| format!("{name}: {} \u{2192} {}", said(ours.get(name)), said(theirs.get(name))))
        .collect()
}

fn shortened(value: &str) -> String {
    if value.chars().count() <= LONGEST {
        return value.to_owned();
    }
    format!("{}\u{2026}", value.chars().take(LONGEST).collect::<String>())
}

/// The engine of the log and that of the cell, each with its version where that is known; `None` unless they are known to be two.
fn engines(log: &OldLog, trials: &[&TrialRecord]) -> Option<String> {
    let ends = || trials.iter().filter_map(|trial| trial.end.as_ref());
    let by_budget = |end: &TrialEnd| end.budget.as_ref().map(|budget| budget.engine.clone());
    let (ours, theirs) = (log.engine.as_deref()?, ends().find_map(|end| end.printed_by.clone().or_else(|| by_budget(end)))?);
    let named = |engine: &str, version: Option<&VersionRange>| match version.filter(|range| is_bounded(range)) {
        Some(range) => format!("{engine} {}", range_said(range)),
        None => engine.to_owned(),
    };
    let theirs_said = named(&theirs, installed(&theirs, trials).or_else(|| ends().find_map(|end| version_of(end))).as_ref());
    (ours != theirs).then(|| format!("{} \u{2192} {theirs_said}", named(ours, log.version.as_ref())))
}

/// The version of an engine that is installed where the launches ran.
fn installed(engine: &str, trials: &[&TrialRecord]) -> Option<VersionRange> {
    let version = trials.iter().find_map(|trial| trial.provenance()?.python?.packages.get(engine).cloned())?;
    Some(VersionRange { low: Some(version.clone()), high: Some(version), from: Vec::new() })
}

/// A version that the cell cannot have, where both are known; what is not known is said.
fn versions(log: &OldLog, trials: &[&TrialRecord], found: &mut AgainstCell) -> Option<String> {
    let engine = log.engine.as_deref()?;
    let exact = installed(engine, trials);
    let printed = || trials.iter().find_map(|trial| version_of(trial.end.as_ref()?));
    let (Some(ours), Some(theirs)) = (log.version.as_ref().filter(|range| is_bounded(range)), exact.or_else(printed).filter(is_bounded))
    else {
        found.unknown.push(format!("the version of {engine} on both sides"));
        return None;
    };
    let apart = is_below(ours.high.as_deref(), theirs.low.as_deref()) || is_below(theirs.high.as_deref(), ours.low.as_deref());
    apart.then(|| format!("{engine} version: {} \u{2192} {}", range_said(ours), range_said(&theirs)))
}

/// What a launch printed of its version, by itself or through its memory.
fn version_of(end: &TrialEnd) -> Option<VersionRange> {
    end.version.clone().or_else(|| Some(end.budget.as_ref()?.version.clone()))
}

fn is_bounded(range: &VersionRange) -> bool {
    range.low.is_some() || range.high.is_some()
}

fn is_below(one: Option<&str>, other: Option<&str>) -> bool {
    let numbers = |version: &str| version.split('.').map_while(|part| part.parse::<u32>().ok()).collect::<Vec<u32>>();
    matches!((one, other), (Some(one), Some(other)) if numbers(one) < numbers(other))
}

fn range_said(range: &VersionRange) -> String {
    match (&range.low, &range.high) {
        (Some(low), Some(high)) if low == high => low.clone(),
        (Some(low), Some(high)) => format!("{low} to {high}"),
        (Some(low), None) => format!("{low} or newer"),
        (None, Some(high)) => format!("{high} or older"),
        (None, None) => "unknown".to_owned(),
    }
}
