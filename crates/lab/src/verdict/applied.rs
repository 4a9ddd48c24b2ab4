//! Whether a level reached the program, by the configuration that the program itself prints.
//!
//! Only a launch argument can be told: a variable, an edit and anything else that the program does not print may act without a trace. So this speaks of
//! levels that differ in arguments alone, each of which the program prints under its own name.

use std::collections::{BTreeMap, BTreeSet};

use bystander_model::cell::Cell;
use bystander_model::evidence::Evidence;

use crate::contrast::{Contrast, Subject};
use crate::ledger::{Ledger, TrialRecord};
use crate::plan::Level;
use crate::provenance::{configuration, unfill};

/// A level whose arguments changed nothing in what the program prints.
#[derive(Clone)]
pub(crate) struct Unapplied {
    /// `arm=b`.
    pub(crate) level: String,
    /// The same in a sentence, without its full stop.
    pub(crate) text: String,
    /// The lines that state the configuration, of one launch of each cell.
    pub(crate) evidence: Vec<Evidence>,
}

/// Finds out whether a level of a factor was not applied: its arguments are settings that the program prints, every launch of both cells prints the same
/// of them, and no other setting differs between the cells. Says nothing where the level declares by what it is seen, since that is checked in each launch.
pub(crate) fn unapplied(ledger: &Ledger, contrast: &Contrast) -> Option<Unapplied> {
    let Subject::Factor { factor, level: name } = &contrast.subject else { return None };
    let levels = ledger.plan.factors.get(factor)?;
    let (level, other) = (levels.get(name)?, levels.get(contrast.control.levels.get(factor)?)?);
    if level.treatment.is_some() || level.env != other.env || level.unset != other.unset {
        return None;
    }
    let declared = declared(level, other)?;
    let treated = Printed::of(ledger, &contrast.treated, &declared)?;
    let control = Printed::of(ledger, &contrast.control, &declared)?;
    if !treated.lasting_differences(&control).is_empty() {
        return None;
    }
    let settings: Option<Vec<String>> = declared.iter().map(|flag| treated.same_in_both(&control, flag)).collect();
    let (first, second) = (treated.trials.first()?, control.trials.first()?);
    let level = format!("{factor}={name}");
    Some(Unapplied {
        text: format!(
            "the treatment was not applied: the program prints {} whether it gets the arguments of {level} (trial {}) or not (trial {}), and no other setting differs",
            settings?.join(", "),
            first.id,
            second.id
        ),
        level,
        evidence: [first, second].iter().filter_map(|trial| trial.end.as_ref()?.configuration.clone()).collect(),
    })
}

/// The settings by name in which two levels differ; `None` where they differ in something without a name, or in nothing.
fn declared(level: &Level, other: &Level) -> Option<BTreeSet<String>> {
    let (ours, theirs) = (arguments(level), arguments(other));
    let names: BTreeSet<String> = ours.symmetric_difference(&theirs).map(|(name, _)| name.clone()).collect();
    (!names.is_empty() && !names.contains("")).then_some(names)
}

/// The arguments of a level as names and values: `--max-len=4` and `--max-len 4` are `("max_len", "4")`. A word that belongs to no name has an empty one.
fn arguments(level: &Level) -> BTreeSet<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for word in level.args.iter().map(|word| word.0.as_str()) {
        let name = word.trim_start_matches('-');
        if name.len() < word.len() && name.starts_with(char::is_alphabetic) {
            let (name, value) = name.split_once('=').unwrap_or((name, ""));
            found.push((normal(name), value.to_owned()));
        } else if let Some((_, value)) = found.last_mut() {
            let gap = if value.is_empty() { "" } else { " " };
            value.push_str(&format!("{gap}{word}"));
        } else {
            found.push((String::new(), word.to_owned()));
        }
    }
    found.into_iter().collect()
}

/// A name as both a command line and a printed configuration may spell it.
fn normal(name: &str) -> String {
    name.to_lowercase().replace('-', "_")
}

/// What the launches of one cell print of their configuration.
pub(crate) struct Printed<'a> {
    /// The launches that print one, the first first.
    pub(crate) trials: Vec<&'a TrialRecord>,
    settings: Vec<BTreeMap<String, String>>,
}

impl<'a> Printed<'a> {
    /// Reads the launches of a cell; `None` where none prints a configuration. What is a launch's own, such as its port, is left out, unless it is `wanted`.
    pub(crate) fn of(ledger: &'a Ledger, cell: &'a Cell, wanted: &BTreeSet<String>) -> Option<Self> {
        let (trials, settings): (Vec<_>, Vec<_>) =
            ledger.data(cell).map(|trial| (trial, settings(trial, wanted))).filter(|(_, settings)| !settings.is_empty()).unzip();
        (!trials.is_empty()).then_some(Self { trials, settings })
    }

    /// The value of a setting where every launch prints the same: `Some(None)` where none prints it.
    fn lasting(&self, name: &str) -> Option<Option<&String>> {
        let mut values = self.settings.iter().map(|settings| settings.get(name));
        let first = values.next()?;
        values.all(|value| value == first).then_some(first)
    }

    /// The settings that are the same in every launch of each cell, and not the same in both cells.
    pub(crate) fn lasting_differences(&self, other: &Self) -> Vec<String> {
        let names: BTreeSet<&String> = self.settings.iter().chain(&other.settings).flat_map(BTreeMap::keys).collect();
        let differs = |name: &str| matches!((self.lasting(name), other.lasting(name)), (Some(ours), Some(theirs)) if ours != theirs);
        names.into_iter().filter(|name| differs(name)).cloned().collect()
    }

    /// `NAME=VALUE` of a flag where every launch of both cells prints that; `--no-x` is printed as `x`.
    fn same_in_both(&self, other: &Self, flag: &str) -> Option<String> {
        let spelled = |printed: &str| normal(printed) == flag || flag.strip_prefix("no_") == Some(normal(printed).as_str());
        let name = self.settings.first()?.keys().find(|name| spelled(name))?;
        let (ours, theirs) = (self.lasting(name)??, other.lasting(name)??);
        (ours == theirs).then(|| format!("{name}={ours}"))
    }
}

/// What one launch prints, with its placeholders back in.
fn settings(trial: &TrialRecord, wanted: &BTreeSet<String>) -> BTreeMap<String, String> {
    let provenance = trial.provenance();
    let unfilled = |value: String| provenance.as_ref().map_or_else(|| value.clone(), |provenance| unfill(provenance, &value));
    let own = |name: &str| name.split('_').any(|word| matches!(word, "port" | "seed")) && !wanted.contains(&normal(name));
    configuration(trial).into_iter().filter(|(name, _)| !own(name)).map(|(name, value)| (name, unfilled(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::{arguments, declared};
    use crate::plan::{Level, Template};

    fn level(args: &[&str]) -> Level {
        Level { args: args.iter().map(|word| Template((*word).to_owned())).collect(), ..Level::default() }
    }

    #[test]
    fn arguments_are_the_same_however_they_are_spelled() {
        let one = arguments(&level(&["--max-len=4", "--bias", "-1.5", "--flag"]));
        assert_eq!(one, arguments(&level(&["--flag", "--max_len", "4", "--bias", "-1.5"])));
        let of = |ours: &[&str], theirs: &[&str]| declared(&level(ours), &level(theirs)).map(|names| names.into_iter().collect::<Vec<_>>());
        assert_eq!(of(&["--a", "1", "--b", "2"], &["--a", "1", "--b", "3"]), Some(vec!["b".to_owned()]));
        assert_eq!(of(&["--a", "1"], &[]), Some(vec!["a".to_owned()]));
        assert_eq!(of(&["--a", "1"], &["--a=1"]), None, "they differ in nothing");
        assert_eq!(of(&["model-b", "--a", "1"], &[]), None, "a word without a name");
    }
}
