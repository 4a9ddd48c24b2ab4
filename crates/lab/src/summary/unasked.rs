//! Levels that turn settings which nobody asked them to turn: what is found of such a level is of all of them together.

use std::collections::BTreeMap;

use bystander_model::cell::Cell;

use crate::contrast::{self, Subject};
use crate::ledger::Ledger;
use crate::plan::Level;
use crate::provenance::{configuration, unfill};

/// More settings than this are counted.
const LISTED: usize = 8;

/// Says of which levels the printed configuration differs from the baseline's in settings that neither of the two names.
pub(super) fn settings(ledger: &Ledger) -> Vec<String> {
    let contrasts = contrast::contrasts(&ledger.plan);
    let told = contrasts.iter().filter_map(|contrast| {
        let Subject::Factor { factor, level } = &contrast.subject else { return None };
        let levels = ledger.plan.factors.get(factor)?;
        let usual = contrast.control.levels.get(factor)?;
        let named = words(levels.get(level)?) + &words(levels.get(usual)?);
        let (treated, control) = (steady(ledger, &contrast.treated), steady(ledger, &contrast.control));
        let turned: Vec<String> = treated
            .iter()
            .filter_map(|(name, value)| Some((name, control.get(name)?, value)))
            .filter(|(name, before, after)| before != after && !names(&named, &plain(name)))
            .map(|(name, before, after)| format!("{name} {before} → {after}"))
            .collect();
        (!turned.is_empty()).then(|| {
            let more = turned.len().saturating_sub(LISTED);
            let list = turned.into_iter().take(LISTED).collect::<Vec<_>>().join(", ");
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{factor}={level} and {factor}={usual} differ in more than what they ask for: {list}{more}. What is found of {factor}={level} is of all of it together.")
        })
    });
    told.collect()
}

/// What a level asks for and by what it is seen, in letters that names of settings and of arguments have in common.
fn words(level: &Level) -> String {
    let args = level.args.iter().map(|arg| arg.0.as_str());
    let variables = level.env.iter().flat_map(|(name, value)| [name.as_str(), value.0.as_str()]);
    let treatment = level.treatment.iter().flat_map(|treatment| [&treatment.log, &treatment.configuration]).flatten();
    let all = args.chain(variables).chain(level.unset.iter().chain(treatment).map(String::as_str));
    all.map(|text| plain(text) + " ").collect()
}

/// Whether words hold the name of a setting, whole: `tp` is not in `http`.
fn names(words: &str, setting: &str) -> bool {
    let is_end = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
    words
        .match_indices(setting)
        .any(|(at, _)| is_end(words[..at].chars().next_back()) && is_end(words[at + setting.len()..].chars().next()))
}

fn plain(text: &str) -> String {
    text.to_lowercase().replace('-', "_")
}

/// The settings that every launch of a cell printed alike: a port or a seed is a launch's own.
fn steady(ledger: &Ledger, cell: &Cell) -> BTreeMap<String, String> {
    let printed = ledger.data(cell).map(|trial| {
        let provenance = trial.provenance();
        let unfilled = |value: String| provenance.as_ref().map_or(value.clone(), |provenance| unfill(provenance, &value));
        configuration(trial).into_iter().map(|(name, value)| (name, unfilled(value))).collect::<BTreeMap<_, _>>()
    });
    let mut printed = printed.filter(|settings| !settings.is_empty());
    let mut steady = printed.next().unwrap_or_default();
    steady.retain(|name, _| !["port", "seed"].iter().any(|word| name.contains(word)));
    for settings in printed {
        steady.retain(|name, value| settings.get(name) == Some(value));
    }
    steady
}
