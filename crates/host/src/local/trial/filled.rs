//! What one trial is given: its placeholders, and the command that they make.

use std::ffi::OsString;
use std::path::PathBuf;

use bystander_lab::place::TrialOrder;
use bystander_lab::plan::{Plan, Template, Workload};
use bystander_supervise::command::Command;
use bystander_supervise::resolve::resolve;
use indexmap::IndexMap;

use super::super::LocalPlace;
use super::super::deliver::Private;
use super::super::fresh::Own;
use super::super::instruments::Probes;
use super::super::ready;
use crate::{environment, machine, secrets};

/// What one trial is given: values for its placeholders, directories, and what is set in its environment.
pub(in super::super) struct Fill {
    pub(in super::super) values: Vec<(&'static str, String)>,
    /// Its directories.
    pub(super) own: Own,
    given: environment::Given,
}

impl Fill {
    pub(super) fn new(place: &LocalPlace, plan: &Plan, order: &TrialOrder, port: Option<u16>) -> Self {
        let folder = place.state.trial_dir(&order.run, order.trial);
        let own = Own::of(plan, &folder, &place.state.run_dir(&order.run));
        let lane = plan.lane(order.slot.lane).cloned();
        let python = environment::of_trial(plan, &plan.baseline, &[], "").get(&OsString::from("PATH")).and_then(|path| {
            let name = std::ffi::OsStr::new("python3");
            resolve(name, Some(path.as_os_str()), &plan.program.cwd).ok()
        });
        let gpus = lane.as_ref().map(environment::gpu_list).or_else(|| std::env::var("CUDA_VISIBLE_DEVICES").ok()).unwrap_or_default();
        let mut values = vec![("trial", folder.display().to_string()), ("number", order.trial.to_string())];
        values.extend(port.map(|port| ("port", port.to_string())));
        values.extend(python.map(|python| ("python", python.display().to_string())));
        values.extend([
            ("folder", plan.folder().display().to_string()),
            ("cache", own.cache.display().to_string()),
            ("seed", order.seed.to_string()),
            ("gpus", gpus),
            ("lane", order.slot.lane.to_string()),
        ]);
        let given = environment::Given { caches: own.variables(), padding: order.padding, lane };
        Self { values, own, given }
    }

    pub(super) fn pairs(&self) -> Vec<(&str, &str)> {
        environment::pairs(&self.values)
    }

    /// Makes the trial's own directories.
    pub(super) fn make(&self, plan: &Plan) -> std::io::Result<()> {
        self.own.make(texts(plan).any(|text| text.mentions("cache")))
    }
}

/// Whether any text of the plan needs a port of the trial's own.
pub(super) fn uses_port(plan: &Plan) -> bool {
    texts(plan).any(|text| text.mentions("port")) || plan.workload.iter().flat_map(Workload::texts).any(|text| text.mentions("port"))
}

/// Every text of the plan that is filled for a trial.
fn texts(plan: &Plan) -> impl Iterator<Item = &Template> {
    let program = &plan.program;
    let levels = plan.factors.values().flat_map(IndexMap::values);
    let ready = program.ready.iter().flat_map(bystander_lab::plan::Ready::texts);
    let workload = plan.workload.iter().flat_map(|workload| &workload.command);
    let hooks = plan.hooks.all().flat_map(|(_, commands)| commands).flat_map(|command| &command.argv);
    let texts = program.command.iter().chain(program.env.values()).chain(ready).chain(workload).chain(hooks);
    texts.chain(levels.flat_map(|level| level.args.iter().chain(level.env.values())))
}

/// What is launched.
pub(in super::super) fn command(
    place: &LocalPlace,
    plan: &Plan,
    order: &TrialOrder,
    fill: &Fill,
    probes: Option<&Probes>,
    private: Option<&Private>,
) -> Command {
    let cell = &order.slot.cell;
    let marker = place.marker(order);
    let pairs = fill.pairs();
    let mut env = environment::of_launch(plan, cell, &pairs, &marker, &fill.given);
    if let Some(overlay) = probes.and_then(Probes::overlay) {
        let python_path = env.get(std::ffi::OsStr::new("PYTHONPATH")).cloned();
        env.extend(overlay.env(python_path.as_deref()));
    }
    env.extend(private.and_then(Private::env).map(|(name, folder)| (name.into(), folder.into())));
    Command {
        argv: environment::command(plan, cell, &pairs).into_iter().map(OsString::from).collect(),
        env,
        cwd: fill.own.cwd.clone(),
        marker,
        remove_on_exit: probes.map(|probes| probes.rings().to_owned()).into_iter().chain(fill.own.removed()).collect(),
    }
}

/// The file that a command runs, where it is found.
pub(super) fn program(command: &Command) -> Option<PathBuf> {
    command.argv.first().and_then(|name| machine::find(name, &command.env, &command.cwd).ok())
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
    let keys = plan.workload.iter().filter_map(|workload| workload.traffic.as_ref()?.api_key_env.as_ref());
    let values = keys.filter_map(|name| command.env.get(&OsString::from(name))).map(|value| value.to_string_lossy().into_owned());
    found.extend(values.filter(|value| !value.is_empty()));
    found.extend(ready::hidden(plan.program.ready.as_ref(), fill));
    found
}
