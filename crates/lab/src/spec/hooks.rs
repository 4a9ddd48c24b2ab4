//! `[hooks]`: commands before the run, before and after every trial, and after the run.

use std::time::Duration;

use super::command::argv;
use super::item::Item;
use super::problems::Problems;
use super::table::Table;
use super::{duration, schema};
use crate::plan::{HookCommand, Hooks, Template};

/// How long one command may take, where the file does not say.
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// Reads every hook.
pub(super) fn read(root: &Table<'_>, problems: &mut Problems<'_>) -> Hooks {
    let mut hooks = Hooks { timeout: DEFAULT_TIMEOUT, ..Hooks::default() };
    let Some(table) = root.get("hooks").and_then(|item| item.table(schema::HOOKS, problems)) else { return hooks };
    let of_run: [(&str, &mut Vec<HookCommand>); 2] = [("setup", &mut hooks.setup), ("cleanup", &mut hooks.cleanup)];
    for (name, commands) in of_run {
        *commands = table.get(name).map(|item| commands_of(&item, problems)).unwrap_or_default();
        refuse_words_of_trials(&table, name, commands, problems);
    }
    hooks.prepare = table.get("prepare").map(|item| commands_of(&item, problems)).unwrap_or_default();
    hooks.conclude = table.get("conclude").map(|item| commands_of(&item, problems)).unwrap_or_default();
    hooks.timeout = table.get("timeout").and_then(|item| duration::read(&item, false, problems)).unwrap_or(DEFAULT_TIMEOUT);
    hooks.strict = table.get("strict").and_then(|item| item.flag(problems)).unwrap_or(false);
    hooks
}

/// Reads one command, or a list of commands.
fn commands_of(item: &Item<'_>, problems: &mut Problems<'_>) -> Vec<HookCommand> {
    let of = |item: &Item<'_>, problems: &mut Problems<'_>| HookCommand { argv: argv(item, problems), span: Some(item.span.clone()) };
    match item.elements() {
        Some(elements) if elements.first().is_some_and(|first| first.value.is_array()) => {
            elements.iter().map(|element| of(element, problems)).filter(|command| !command.argv.is_empty()).collect()
        }
        _ => vec![of(item, problems)].into_iter().filter(|command| !command.argv.is_empty()).collect(),
    }
}

/// Refuses placeholders of a trial in commands that belong to none.
fn refuse_words_of_trials(table: &Table<'_>, name: &str, commands: &[HookCommand], problems: &mut Problems<'_>) {
    const OF_TRIALS: [&str; 5] = ["trial", "port", "seed", "gpus", "lane"];
    let mentions = |word: &&str| commands.iter().flat_map(|command| &command.argv).any(|text: &Template| text.mentions(word));
    if let (Some(word), Some(item)) = (OF_TRIALS.into_iter().find(|word| mentions(word)), table.get(name)) {
        let problem = item.invalid(&format!("holds `{{{word}}}`, and it is run for no trial"));
        problems.push(&item.span, problem.help("`prepare` and `conclude` are run for every trial"));
    }
}
