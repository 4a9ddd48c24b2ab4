//! The environment of a program under test: the caller's, with what the experiment sets, what every trial needs, and nothing else.

use std::collections::BTreeMap;
use std::ffi::OsString;

use bystander_lab::plan::{Level, Plan};
use bystander_model::cell::Cell;

/// The variable that marks every process of a trial, so that leftovers can be found.
pub const MARKER: &str = "BYSTANDER_TRIAL";

/// Variables of the caller's environment that say nothing about the program and differ from shell to shell.
const DROPPED: [&str; 3] = ["OLDPWD", "SHLVL", "_"];

/// The environment of one trial. Later rules win: caller, `PYTHONUNBUFFERED=1` (so that a killed program loses no line), the program's `env`, the
/// levels' `unset` and `env`, the marker.
#[must_use]
pub fn of_trial(plan: &Plan, cell: &Cell, fill: &[(&str, &str)], marker: &str) -> BTreeMap<OsString, OsString> {
    let mut env: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    for name in DROPPED {
        env.remove(&OsString::from(name));
    }
    env.insert("PYTHONUNBUFFERED".into(), "1".into());
    let mut set = |name: &str, value: &str| {
        env.insert(name.into(), value.into());
    };
    for (name, value) in &plan.program.env {
        set(name, &value.fill(fill));
    }
    for level in levels(plan, cell) {
        for (name, value) in &level.env {
            set(name, &value.fill(fill));
        }
    }
    set(MARKER, marker);
    for level in levels(plan, cell) {
        for name in &level.unset {
            env.remove(&OsString::from(name.as_str()));
        }
    }
    env
}

/// The levels of a cell, in the order of the factors.
pub fn levels<'a>(plan: &'a Plan, cell: &'a Cell) -> impl Iterator<Item = &'a Level> {
    cell.levels.iter().filter_map(|(factor, level)| plan.factors.get(factor)?.get(level))
}

/// The command of a cell: the program's, with the levels' arguments appended.
#[must_use]
pub fn command(plan: &Plan, cell: &Cell, fill: &[(&str, &str)]) -> Vec<String> {
    let own = plan.program.command.iter();
    own.chain(levels(plan, cell).flat_map(|level| &level.args)).map(|word| word.fill(fill)).collect()
}
