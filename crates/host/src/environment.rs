//! The environment of a program under test: the caller's, with what the experiment sets, what every trial needs, and nothing else.

use std::collections::BTreeMap;
use std::ffi::OsString;

use bystander_lab::design::nuisance::PADDING_VARIABLE;
use bystander_lab::plan::{Lane, Level, Plan};
use bystander_model::cell::Cell;

/// The variable that marks every process of a trial, so that leftovers can be found.
pub const MARKER: &str = "BYSTANDER_TRIAL";

/// Variables of the caller's environment that say nothing about the program and differ from shell to shell.
const DROPPED: [&str; 3] = ["OLDPWD", "SHLVL", "_"];

/// What a launch is given beside what the file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Given {
    /// Variables that name its cache directories; none where it shares those of the caller.
    pub caches: Vec<(&'static str, OsString)>,
    /// The length of its padding, in bytes.
    pub padding: Option<u32>,
    /// The lane whose GPUs it sees; `None` sees what the caller sees.
    pub lane: Option<Lane>,
}

/// The environment of one trial that is given nothing of its own; see [`of_launch`].
#[must_use]
pub fn of_trial(plan: &Plan, cell: &Cell, fill: &[(&str, &str)], marker: &str) -> BTreeMap<OsString, OsString> {
    of_launch(plan, cell, fill, marker, &Given::default())
}

/// The environment of one launch. Later rules win: caller, `PYTHONUNBUFFERED=1` (so that a killed program loses no line) and
/// `PYTHONFAULTHANDLER=1` (so that a process that a signal ends says where it stood; a caller's own value stays), caches of its own, the program's `env`, the levels' `unset` and `env`, the lane, the padding, the marker.
#[must_use]
pub fn of_launch(plan: &Plan, cell: &Cell, fill: &[(&str, &str)], marker: &str, given: &Given) -> BTreeMap<OsString, OsString> {
    let mut env = of_caller();
    env.extend(given.caches.iter().map(|(name, folder)| ((*name).into(), folder.clone())));
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
    if let Some(lane) = &given.lane {
        let gpus = gpu_list(lane);
        set("CUDA_VISIBLE_DEVICES", &gpus);
        set("HIP_VISIBLE_DEVICES", &gpus);
        // So that numbers are those that `nvidia-smi` shows, whatever the speed of the devices.
        set("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    }
    if let Some(padding) = given.padding {
        set(PADDING_VARIABLE, &"x".repeat(padding as usize));
    }
    set(MARKER, marker);
    for level in levels(plan, cell) {
        for name in &level.unset {
            env.remove(&OsString::from(name.as_str()));
        }
    }
    env
}

/// What every program of a run is given of the caller's environment.
#[must_use]
pub fn of_caller() -> BTreeMap<OsString, OsString> {
    let mut env: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    for name in DROPPED {
        env.remove(&OsString::from(name));
    }
    env.insert("PYTHONUNBUFFERED".into(), "1".into());
    env.entry("PYTHONFAULTHANDLER".into()).or_insert_with(|| "1".into());
    env
}

/// The GPUs of a lane as `CUDA_VISIBLE_DEVICES` has them; empty for none.
#[must_use]
pub fn gpu_list(lane: &Lane) -> String {
    lane.gpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

/// What stands for placeholders in checks before the first launch, where those that differ from trial to trial do not matter.
#[must_use]
pub fn checked_fill(plan: &Plan) -> Vec<(&'static str, String)> {
    vec![("port", "65535".to_owned()), ("folder", plan.folder().display().to_string())]
}

/// Pairs of placeholders with their values.
#[must_use]
pub fn pairs<'a>(values: &'a [(&'static str, String)]) -> Vec<(&'a str, &'a str)> {
    values.iter().map(|(name, value)| (*name, value.as_str())).collect()
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
