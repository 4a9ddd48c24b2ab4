//! What one trial is given: its placeholders, and the command that they make.

use std::ffi::OsString;
use std::path::PathBuf;

use bystander_lab::place::TrialOrder;
use bystander_lab::plan::Plan;
use bystander_supervise::command::Command;
use bystander_supervise::resolve::resolve;
use indexmap::IndexMap;

use super::super::LocalPlace;
use super::super::deliver::Private;
use super::super::instruments::Probes;
use crate::{environment, secrets};

/// What stands for the placeholders in one trial.
pub(super) struct Fill {
    pub(super) values: Vec<(&'static str, String)>,
}

impl Fill {
    pub(super) fn new(plan: &Plan, port: Option<u16>, folder: &std::path::Path) -> Self {
        let python = environment::of_trial(plan, &plan.baseline, &[], "").get(&OsString::from("PATH")).and_then(|path| {
            let name = std::ffi::OsStr::new("python3");
            resolve(name, Some(path.as_os_str()), &plan.program.cwd).ok()
        });
        let mut values = vec![("trial", folder.display().to_string())];
        values.extend(port.map(|port| ("port", port.to_string())));
        values.extend(python.map(|python| ("python", python.display().to_string())));
        Self { values }
    }

    pub(super) fn pairs(&self) -> Vec<(&str, &str)> {
        self.values.iter().map(|(name, value)| (*name, value.as_str())).collect()
    }
}

/// Whether any text of the plan needs a port of the trial's own.
pub(super) fn uses_port(plan: &Plan) -> bool {
    let program = &plan.program;
    let levels = plan.factors.values().flat_map(IndexMap::values);
    let ready = program.ready.iter().flat_map(|ready| [&ready.http, &ready.port]).flatten();
    let workload = plan.workload.iter().flat_map(|workload| &workload.command);
    let texts = program.command.iter().chain(program.env.values()).chain(ready).chain(workload);
    texts.chain(levels.flat_map(|level| level.args.iter().chain(level.env.values()))).any(|text| text.mentions("port"))
}

/// What is launched.
pub(super) fn command(
    place: &LocalPlace,
    plan: &Plan,
    order: &TrialOrder,
    fill: &[(&str, &str)],
    probes: Option<&Probes>,
    private: Option<&Private>,
) -> Command {
    let cell = &order.slot.cell;
    let marker = place.marker(order);
    let mut env = environment::of_trial(plan, cell, fill, &marker);
    if let Some(overlay) = probes.and_then(Probes::overlay) {
        let python_path = env.get(std::ffi::OsStr::new("PYTHONPATH")).cloned();
        env.extend(overlay.env(python_path.as_deref()));
    }
    env.extend(private.and_then(Private::env).map(|(name, folder)| (name.into(), folder.into())));
    Command {
        argv: environment::command(plan, cell, fill).into_iter().map(OsString::from).collect(),
        env,
        cwd: plan.program.cwd.clone(),
        marker,
        remove_on_exit: probes.map(|probes| probes.rings().to_owned()).into_iter().collect(),
    }
}

/// The file that a command runs, where it is found.
pub(super) fn program(command: &Command) -> Option<PathBuf> {
    let path = command.env.get(&OsString::from("PATH")).map(OsString::as_os_str);
    command.argv.first().and_then(|name| resolve(name, path, &command.cwd).ok())
}

/// The words of a command as text.
pub(super) fn words(command: &Command) -> Vec<String> {
    command.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// The secrets that the program and its workload are given.
pub(super) fn hidden(plan: &Plan, command: &Command, fill: &[(&str, &str)]) -> Vec<String> {
    let env: Vec<(String, String)> =
        command.env.iter().map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned())).collect();
    let workload: Vec<String> = plan.workload.iter().flat_map(|workload| &workload.command).map(|word| word.fill(fill)).collect();
    // Apart, or the last word of one would be taken for the name of the first of the other.
    let mut found = secrets::values(&words(command), env.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    found.extend(secrets::values(&workload, std::iter::empty()));
    found
}
