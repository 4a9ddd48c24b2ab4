//! Cells whose programs print different settings that no level asks for: what is found of such a level is of all of them together, and names no winner.
//!
//! A switch of an engine turns others too, and two engines have different defaults. What a level names, in its arguments, its variables or by what its
//! `treatment` is seen, is meant. Structures (lists of sizes, tables of compilation) are worked out from other settings: they are told, and decide nothing.

use std::collections::BTreeMap;

use bystander_model::cell::Cell;
use bystander_model::evidence::Evidence;

use crate::contrast::Contrast;
use crate::ledger::{Ledger, TrialRecord};
use crate::plan::Level;
use crate::provenance::{configuration, unfill};

/// More settings than this are counted.
const LISTED: usize = 8;
/// A value that is shorter than this stands in other words by chance.
const SOUGHT: usize = 3;
/// So many launches of a cell must have printed a setting alike before it says anything of the cell.
const LAUNCHES: usize = 2;

/// One setting that two cells print differently.
struct Turned {
    name: String,
    control: String,
    treated: String,
}

/// What two cells print differently and no level asks for.
pub(crate) struct Unequal {
    /// `drafts=on`.
    pub(crate) levels: String,
    /// `drafts=off`.
    pub(crate) usual: String,
    turned: Vec<Turned>,
    /// Whether what the levels ask for is printed too, so that none of these is what was asked for under another name.
    asked_is_seen: bool,
    /// Whether the levels give the program anything different at all.
    asks: bool,
    /// How many launches of the cell that has fewer print a configuration.
    launches: usize,
    /// The lines that state the configuration, of one launch of each cell.
    pub(crate) evidence: Vec<Evidence>,
}

impl Unequal {
    /// The settings, each with both values.
    pub(crate) fn list(&self) -> String {
        let all = self.turned.iter().map(|one| format!("{} {} → {}", one.name, one.control, one.treated));
        let more = self.turned.len().saturating_sub(LISTED);
        let list = all.take(LISTED).collect::<Vec<_>>().join(", ");
        if more > 0 { format!("{list} and {more} more") } else { list }
    }

    /// Whether the cells are held apart by more than what was asked for: plain settings, printed so by every one of several launches. A single one may be
    /// what was asked for, under the program's own name for it.
    pub(crate) fn decides(&self) -> bool {
        let plain = self.turned.iter().filter(|one| is_plain(&one.control) && is_plain(&one.treated)).count();
        self.asks && self.launches >= LAUNCHES && plain > usize::from(!self.asked_is_seen)
    }

    /// What would make the comparison one of the level alone.
    pub(crate) fn remedy(&self) -> String {
        let names = self.turned.iter().take(LISTED).map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ");
        format!(
            "{names} alike in both cells, or as factors of their own; or, where they are meant to be part of {}, named in its `treatment = {{ configuration = '…' }}`; and a new run",
            self.levels
        )
    }
}

/// What the two cells of a comparison print differently, in every launch of each, and none of the levels in which they differ asks for.
pub(crate) fn unequal(ledger: &Ledger, contrast: &Contrast) -> Option<Unequal> {
    let (mut with, mut without, mut levels, mut usual, mut asks) = (String::new(), String::new(), Vec::new(), Vec::new(), false);
    for (factor, level) in &contrast.treated.levels {
        let other = contrast.control.levels.get(factor)?;
        if other == level {
            continue;
        }
        let all = ledger.plan.factors.get(factor)?;
        let (level_of, other_of) = (all.get(level)?, all.get(other)?);
        with.push_str(&words(level_of));
        without.push_str(&words(other_of));
        asks |= !level_of.changes_the_same(other_of);
        levels.push(format!("{factor}={level}"));
        usual.push(format!("{factor}={other}"));
    }
    let (treated, control) = (Steady::of(ledger, &contrast.treated)?, Steady::of(ledger, &contrast.control)?);
    let named = format!("{with} {without}");
    let differing = treated.settings.iter().filter_map(|(name, value)| Some((name, control.settings.get(name)?, value)));
    let (asked, turned): (Vec<_>, Vec<_>) = differing
        .filter(|(_, before, after)| before != after)
        .partition(|(name, before, after)| names(&named, &plain(name)) || echoes(&with, after) || echoes(&without, before));
    (!turned.is_empty()).then(|| Unequal {
        levels: levels.join(","),
        usual: usual.join(","),
        turned: turned
            .into_iter()
            .map(|(name, before, after)| Turned { name: name.clone(), control: before.clone(), treated: after.clone() })
            .collect(),
        asked_is_seen: !asked.is_empty(),
        asks,
        launches: treated.launches.min(control.launches),
        evidence: [control.first, treated.first].iter().filter_map(|trial| trial.end.as_ref()?.configuration.clone()).collect(),
    })
}

/// What a level asks for and by what it is seen, in letters that names of settings and of arguments have in common.
fn words(level: &Level) -> String {
    let args = level.args.iter().map(|arg| arg.0.as_str());
    let variables = level.env.iter().flat_map(|(name, value)| [name.as_str(), value.0.as_str()]);
    let treatment = level.treatment.iter().flat_map(|treatment| [&treatment.log, &treatment.configuration]).flatten();
    let all = args.chain(variables).chain(level.unset.iter().chain(treatment).map(String::as_str));
    all.map(|text| plain(text) + " ").collect()
}

/// Whether words hold the name of a setting: whole (`tp` is not in `http`), or as the argument that stands for it (`__tp` for `tp_size` and
/// `tensor_parallel_size`).
fn names(words: &str, setting: &str) -> bool {
    let arguments = words.split_whitespace().filter_map(|word| word.strip_prefix('_'));
    holds(words, setting)
        || arguments.map(|word| word.trim_start_matches('_')).any(|word| is_short_for(word.split('=').next().unwrap_or(word), setting))
}

fn is_short_for(argument: &str, setting: &str) -> bool {
    let parts = || setting.split('_');
    let begins = setting.strip_prefix(argument).is_some_and(|rest| rest.starts_with('_'));
    let initials: String = parts().filter_map(|part| part.chars().next()).collect();
    argument.len() >= 2 && (begins || parts().count() > argument.len() && initials.starts_with(argument))
}

/// Whether a value is one that the words of its own level hold: a tokenizer at the path of the model, a length under a second name.
fn echoes(words: &str, value: &str) -> bool {
    let value = plain(value.trim_matches(['\'', '"']));
    value.len() >= SOUGHT && !matches!(value.as_str(), "none" | "null" | "true" | "false" | "auto") && holds(words, &value)
}

/// Whether a text holds a word, whole.
fn holds(text: &str, word: &str) -> bool {
    let is_end = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
    let whole = |at: usize| is_end(text[..at].chars().next_back()) && is_end(text[at + word.len()..].chars().next());
    text.match_indices(word).any(|(at, _)| whole(at))
}

fn plain(text: &str) -> String {
    text.to_lowercase().replace('-', "_")
}

fn is_plain(value: &str) -> bool {
    !value.contains(['[', '{', '(', '<'])
}

/// The settings that every launch of a cell printed alike: a port or a seed is a launch's own.
struct Steady<'a> {
    settings: BTreeMap<String, String>,
    launches: usize,
    first: &'a TrialRecord,
}

impl<'a> Steady<'a> {
    fn of(ledger: &'a Ledger, cell: &'a Cell) -> Option<Self> {
        let mut printed = ledger.data(cell).map(|trial| (trial, printed(trial))).filter(|(_, settings)| !settings.is_empty());
        let (first, mut settings) = printed.next()?;
        settings.retain(|name, _| !["port", "seed"].iter().any(|word| name.contains(word)));
        let mut launches = 1;
        for (_, others) in printed {
            settings.retain(|name, value| others.get(name) == Some(value));
            launches += 1;
        }
        Some(Self { settings, launches, first })
    }
}

/// What one launch prints, with its placeholders back in.
fn printed(trial: &TrialRecord) -> BTreeMap<String, String> {
    let provenance = trial.provenance();
    let unfilled = |value: String| provenance.as_ref().map_or_else(|| value.clone(), |provenance| unfill(provenance, &value));
    configuration(trial).into_iter().map(|(name, value)| (name, unfilled(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::{echoes, is_plain, names, plain, words};
    use crate::plan::{Level, Template};

    fn of(args: &[&str]) -> String {
        words(&Level { args: args.iter().map(|word| Template((*word).to_owned())).collect(), ..Level::default() })
    }

    #[test]
    fn an_argument_names_its_setting_in_whole_by_its_start_or_by_its_initials() {
        for (args, setting) in [
            (&["--mem-fraction-static", "0.8"][..], "mem_fraction_static"),
            (&["--tp=2"], "tp_size"),
            (&["-tp", "2"], "tensor_parallel_size"),
            (&["--speculative"], "speculative_algorithm"),
        ] {
            assert!(names(&of(args), &plain(setting)), "{args:?} {setting}");
        }
        for (args, setting) in [
            (&["--http", "tp.example"][..], "tp_size"),
            (&["--drafts"], "disable_cuda_graph"),
            (&["-t", "2"], "tensor_parallel_size"),
            (&["--drafts"], "draft"),
            (&["tp"], "tp_size"),
        ] {
            assert!(!names(&of(args), &plain(setting)), "{args:?} {setting}");
        }
    }

    #[test]
    fn a_value_that_was_asked_for_under_another_name_is_meant() {
        let asked = of(&["--model", "/m/Tiny-1B", "--max-model-len", "4096", "-x", "8", "--flag", "true"]);
        assert!(echoes(&asked, "'/m/Tiny-1B'") && echoes(&asked, "4096"));
        assert!(!echoes(&asked, "8") && !echoes(&asked, "True") && !echoes(&asked, "409") && !echoes(&asked, "''"));
    }

    #[test]
    fn structures_are_not_plain() {
        assert!(is_plain("0.88") && is_plain("'EAGLE'") && is_plain("None"));
        assert!(!is_plain("[1, 2]") && !is_plain("{'a': 1}") && !is_plain("<Mode.NONE: 0>") && !is_plain("Config(a=1)"));
    }
}
