//! Whether cells differ in more than their levels, and what two trials differ in.

use std::collections::{BTreeMap, BTreeSet};

use bystander_model::provenance::Provenance;

use crate::design::nuisance::PADDING_VARIABLE;
use crate::ledger::{Ledger, TrialRecord};
use crate::printed::settings;

/// The shortest value of a placeholder that is looked for in a text, in bytes.
const SHORTEST: usize = 3;

/// Placeholders that stand for another text from trial to trial.
const OF_TRIALS: [&str; 7] = ["port", "trial", "number", "cache", "seed", "gpus", "lane"];

/// One thing that two trials differ in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What differs, such as `env FORCE_CUSTOM_AR` or `file engine/sizing.py`.
    pub what: String,
    /// How it was in the first trial; `None` where it was absent.
    pub first: Option<String>,
    /// How it was in the second.
    pub second: Option<String>,
    /// Whether the plan asks for it: a level, an instrument, or a value that every trial has of its own.
    pub planned: bool,
}

/// What two trials differ in.
#[must_use]
pub fn differences(ledger: &Ledger, first: &TrialRecord, second: &TrialRecord) -> Vec<Difference> {
    let (Some(a), Some(b)) = (&first.provenance(), &second.provenance()) else { return Vec::new() };
    let planned = Planned::of(ledger, first, second);
    let mut found = Vec::new();
    let mut push = |what: String, x: Option<String>, y: Option<String>, planned: bool| {
        if x != y {
            found.push(Difference { what, first: x, second: y, planned });
        }
    };
    let commands = (unfilled(a), unfilled(b));
    push("command".into(), Some(commands.0.join(" ")), Some(commands.1.join(" ")), planned.command(&commands.0, &commands.1));
    let cwd = |p: &Provenance| Some(unfill(p, &p.cwd.display().to_string()));
    push("working directory".into(), cwd(a), cwd(b), false);
    for name in keys(a.env.keys(), b.env.keys()) {
        let value = |p: &Provenance| p.env.get(&name).map(|value| unfill(p, value));
        push(format!("env {name}"), value(a), value(b), planned.variable(&name));
    }
    for file in keys(a.files.keys(), b.files.keys()) {
        push(format!("file {}", file.display()), a.files.get(&file).cloned(), b.files.get(&file).cloned(), planned.file(&file));
    }
    push("git state".into(), a.git.as_ref().map(git), b.git.as_ref().map(git), planned.any_edit());
    let python = |p: &Provenance| p.python.as_ref().map(|python| format!("{} {}", python.executable.display(), python.version));
    push("python".into(), python(a), python(b), false);
    let packages = |p: &Provenance| p.python.as_ref().map(|python| format!("{:?}", python.packages));
    push("python packages".into(), packages(a), packages(b), false);
    push("kernel".into(), Some(a.kernel.clone()), Some(b.kernel.clone()), false);
    push("gpus".into(), Some(a.gpus.join(", ")), Some(b.gpus.join(", ")), false);
    let (first_config, second_config) = (configuration(first), configuration(second));
    for name in keys(first_config.keys(), second_config.keys()) {
        let value = |config: &BTreeMap<String, String>, p: &Provenance| config.get(&name).map(|value| unfill(p, value));
        let told =
            first_config.get(&name).zip(second_config.get(&name)).is_some_and(|(x, y)| is_own_of_each((a, x.as_str()), (b, y.as_str())));
        push(format!("printed configuration {name}"), value(&first_config, a), value(&second_config, b), planned.levels_differ() || told);
    }
    found
}

/// Differences between a trial and the first bare baseline that no level and no instrument asks for, each once.
#[must_use]
pub fn unplanned_differences(ledger: &Ledger) -> Vec<String> {
    let Some(base) = ledger.trials.values().find(|trial| trial.slot.cell == ledger.plan.baseline && trial.launched.is_some()) else {
        return Vec::new();
    };
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for trial in ledger.trials.values() {
        for difference in differences(ledger, base, trial).into_iter().filter(|difference| !difference.planned) {
            let cell = trial.slot.cell.to_string();
            if seen.insert((cell.clone(), difference.what.clone())) {
                let (was, is) = (difference.first.as_deref().unwrap_or("absent"), difference.second.as_deref().unwrap_or("absent"));
                found.push(format!(
                    "{cell} (trial {}) differs from {} (trial {}) in {}: {was} → {is}",
                    trial.id, base.slot.cell, base.id, difference.what
                ));
            }
        }
    }
    found
}

/// The configuration that a trial printed, setting by setting.
pub(crate) fn configuration(trial: &TrialRecord) -> BTreeMap<String, String> {
    trial.end.as_ref().and_then(|end| end.configuration.as_ref()).map(settings).unwrap_or_default()
}

/// The command with its placeholders back in: what differs in every trial by design is no difference.
fn unfilled(provenance: &Provenance) -> Vec<String> {
    provenance.command.iter().map(|word| unfill(provenance, word)).collect()
}

pub(crate) fn unfill(provenance: &Provenance, text: &str) -> String {
    // Numbers of GPUs and lanes are too short to be found again in a text.
    let values = provenance.placeholders.iter().filter(|(_, value)| value.len() >= SHORTEST);
    values.fold(text.to_owned(), |text, (name, value)| text.replace(value.as_str(), &format!("{{{name}}}")))
}

/// Whether two values are the same placeholder of each trial: they are too short to be found again in a text, but not to be one.
fn is_own_of_each((a, x): (&Provenance, &str), (b, y): (&Provenance, &str)) -> bool {
    let bare = |text: &str| text.trim_matches(['\'', '"']).to_owned();
    let (x, y) = (bare(x), bare(y));
    a.placeholders.iter().any(|(name, value)| *value == x && b.placeholders.get(name) == Some(&y))
}

fn git(git: &bystander_model::provenance::Git) -> String {
    format!("{}{}", git.commit, if git.dirty { " with changes" } else { "" })
}

fn keys<'a, T: Clone + Ord + 'a>(first: impl Iterator<Item = &'a T>, second: impl Iterator<Item = &'a T>) -> BTreeSet<T> {
    first.chain(second).cloned().collect()
}

/// What the plan lets two trials differ in.
struct Planned<'a> {
    ledger: &'a Ledger,
    first: &'a TrialRecord,
    second: &'a TrialRecord,
}

impl<'a> Planned<'a> {
    const fn of(ledger: &'a Ledger, first: &'a TrialRecord, second: &'a TrialRecord) -> Self {
        Self { ledger, first, second }
    }

    /// Arguments may differ by what the levels append; ports and private paths differ in every trial and are masked before.
    fn command(&self, first: &[String], second: &[String]) -> bool {
        let own = |trial: &TrialRecord, command: &[String]| {
            let appended: usize = self.levels(trial).map(|level| level.args.len()).sum();
            command[..command.len().saturating_sub(appended)].to_vec()
        };
        own(self.first, first) == own(self.second, second)
            || self.lanes_differ()
            || (self.is_as_planned(self.first) && self.is_as_planned(self.second))
    }

    /// Whether a trial's command is what the plan writes, with nothing but the trial's own values put in.
    fn is_as_planned(&self, trial: &TrialRecord) -> bool {
        let Some(provenance) = trial.provenance() else { return false };
        let values: Vec<(&str, &str)> = provenance.placeholders.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let words = self.ledger.plan.program.command.iter().chain(self.levels(trial).flat_map(|level| &level.args));
        words.map(|word| word.fill(&values)).eq(provenance.command.iter().cloned())
    }

    /// Lanes have GPUs of their own, and a program may be told their number.
    fn lanes_differ(&self) -> bool {
        self.first.slot.lane != self.second.slot.lane
    }

    fn levels(&self, trial: &'a TrialRecord) -> impl Iterator<Item = &'a crate::plan::Level> {
        trial.slot.cell.levels.iter().filter_map(|(factor, level)| self.ledger.plan.factors.get(factor)?.get(level))
    }

    fn variable(&self, name: &str) -> bool {
        let by_level = [self.first, self.second]
            .into_iter()
            .any(|trial| self.levels(trial).any(|level| level.env.contains_key(name) || level.unset.iter().any(|n| n == name)));
        let by_probe = self.any_probe() && (name == "PYTHONPATH" || name.starts_with("BYSTANDER_"));
        let by_lane = self.lanes_differ() && crate::spec::LANE_VARIABLES.contains(&name);
        by_level || by_probe || by_lane || self.tells_own(name) || name == "BYSTANDER_TRIAL" || name == PADDING_VARIABLE
    }

    /// Whether the plan writes a variable with something that is a trial's own. What it holds is the plan's text in every trial, secret or not.
    fn tells_own(&self, name: &str) -> bool {
        self.ledger.plan.program.env.get(name).is_some_and(|value| OF_TRIALS.iter().any(|word| value.mentions(word)))
    }

    /// The levels are what a program is configured by, directly or through what it derives from them.
    fn levels_differ(&self) -> bool {
        self.first.slot.cell.levels != self.second.slot.cell.levels
    }

    fn any_probe(&self) -> bool {
        [self.first, self.second].into_iter().any(|trial| self.ledger.plan.probes_of(&trial.slot.cell).next().is_some())
    }

    fn any_edit(&self) -> bool {
        [self.first, self.second].into_iter().any(|trial| self.ledger.plan.edits_of(&trial.slot.cell).next().is_some())
    }

    fn file(&self, file: &std::path::Path) -> bool {
        [self.first, self.second].into_iter().any(|trial| trial.edited.iter().any(|edit| edit.file == file))
    }
}

#[cfg(test)]
mod tests {
    use bystander_model::provenance::Provenance;

    use super::is_own_of_each;

    #[test]
    fn a_value_that_is_the_same_placeholder_of_each_trial_is_its_own() {
        let trial = |number: &str, lane: &str| Provenance {
            placeholders: [("number", number), ("lane", lane)].map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            ..Provenance::default()
        };
        let (a, b) = (trial("1", "2"), trial("4", "1"));
        assert!(is_own_of_each((&a, "1"), (&b, "'4'")) && is_own_of_each((&a, "2"), (&b, "1")));
        assert!(!is_own_of_each((&a, "1"), (&b, "1")), "the number of one, the lane of the other");
        assert!(!is_own_of_each((&a, "1"), (&b, "5")) && !is_own_of_each((&a, "x"), (&b, "x")));
    }
}
