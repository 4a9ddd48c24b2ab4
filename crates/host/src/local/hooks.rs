//! Commands around a run and around its trials: `setup`, `prepare`, `conclude`, `cleanup`.
//!
//! The commands of a hook run one after the other, each in a tree of its own that is gone before the next begins, so that no hook leaves a process behind. The
//! first that fails ends its hook. What that means is up to the hook: a run without its setup launches nothing, a trial without its preparation is
//! no data point, and what comes after a trial changes nothing of what was measured unless the file says so.

mod command;

use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use bystander_lab::cause::Contamination;
use bystander_lab::place::{Emit, TrialOrder};
use bystander_lab::plan::{HookCommand, Plan};
use bystander_model::event::EventBody;
use bystander_model::evidence::{Evidence, EvidenceKind};
use bystander_model::hook::HookRun;
use bystander_model::ids::{RunId, TrialId};

use super::LocalPlace;
use super::trial::filled::{self, Fill};
use crate::{environment, secrets};

type Failed = Box<dyn Error + Send + Sync>;

/// How a hook came out.
#[derive(Debug)]
pub(super) enum Ran {
    /// Every command ended with 0, or there was none.
    Through,
    /// The user asked to stop.
    Interrupted,
    /// A command failed; the rest was not run.
    Failed(HookRun),
}

/// What the commands of one hook have in common.
struct Hook<'a> {
    place: &'a LocalPlace,
    name: &'static str,
    timeout: Duration,
    env: BTreeMap<OsString, OsString>,
    cwd: PathBuf,
    fill: Vec<(&'static str, String)>,
    /// Where their output is kept.
    folder: PathBuf,
    marker: String,
    hidden: Vec<String>,
    /// Whether it is run although the user asked to stop: only who asks once more ends it.
    is_last: bool,
}

impl Hook<'_> {
    fn run(&self, commands: &[HookCommand], emit: &mut Emit<'_>) -> Result<Ran, Failed> {
        for (number, command) in (1..).zip(commands) {
            let argv: Vec<String> = command.argv.iter().map(|word| word.fill(&environment::pairs(&self.fill))).collect();
            let done = self.run_one(number, argv)?;
            emit(EventBody::Hook(done.run.clone()))?;
            if done.was_interrupted {
                return Ok(Ran::Interrupted);
            }
            if done.run.failure.is_some() {
                return Ok(Ran::Failed(done.run));
            }
        }
        Ok(Ran::Through)
    }
}

/// Runs what comes before the first launch.
pub(super) fn setup(place: &LocalPlace, plan: &Plan, run: &RunId, emit: &mut Emit<'_>) -> Result<(), Failed> {
    match of_run(place, plan, run, "setup").run(&plan.hooks.setup, emit)? {
        Ran::Through => Ok(()),
        Ran::Interrupted => Err("setup was interrupted".into()),
        Ran::Failed(hook) => Err(told(&hook).into()),
    }
}

/// Runs what comes after the last launch; what fails is told by its events.
pub(super) fn cleanup(place: &LocalPlace, plan: &Plan, run: &RunId, emit: &mut Emit<'_>) {
    let hook = Hook { is_last: true, ..of_run(place, plan, run, "cleanup") };
    let ran = hook.run(&plan.hooks.cleanup, emit);
    if let Err(error) = ran {
        // Where the record refuses it too, the run ends with that.
        let _ = emit(EventBody::Note { text: format!("cleanup could not be run: {error}") });
    }
}

/// Runs what comes before a trial.
pub(super) fn prepare(place: &LocalPlace, plan: &Plan, order: &TrialOrder, fill: &Fill, emit: &mut Emit<'_>) -> Result<Ran, Failed> {
    of_trial(place, plan, order, fill, "prepare").run(&plan.hooks.prepare, emit)
}

/// Runs what comes after a trial, also when the user asked to stop.
pub(super) fn conclude(place: &LocalPlace, plan: &Plan, order: &TrialOrder, fill: &Fill, emit: &mut Emit<'_>) -> Result<Ran, Failed> {
    let hook = Hook { is_last: true, ..of_trial(place, plan, order, fill, "conclude") };
    hook.run(&plan.hooks.conclude, emit)
}

/// What a hook that failed makes of its trial.
pub(super) fn contamination(trial: TrialId, hook: &HookRun) -> Contamination {
    let place = hook.outputs.last().map_or_else(|| hook.hook.clone(), |output| output.path.display().to_string());
    let text = hook.failure.clone().unwrap_or_default();
    let evidence = Evidence { trial: Some(trial), kind: EvidenceKind::Exit, place, text };
    Contamination { class: format!("hook.{}", hook.hook), text: told(hook), evidence: vec![evidence] }
}

/// A failed command in a sentence.
fn told(hook: &HookRun) -> String {
    let output = hook.outputs.iter().rev().find(|output| output.bytes > 0);
    let kept = output.map_or_else(String::new, |output| format!("; its output is kept in {}", output.path.display()));
    let launched = if hook.hook == "prepare" { ", and nothing was launched" } else { "" };
    format!("{} failed{launched}: {}{kept}", hook.hook, hook.failure.as_deref().unwrap_or_default())
}

fn of_run<'a>(place: &'a LocalPlace, plan: &Plan, run: &RunId, name: &'static str) -> Hook<'a> {
    let folder = place.state.run_dir(run);
    let fill = vec![("folder", plan.folder().display().to_string()), ("cache", folder.join("cache").display().to_string())];
    let mut env = environment::of_caller();
    let pairs = environment::pairs(&fill);
    env.extend(plan.program.env.iter().map(|(name, value)| (name.into(), value.fill(&pairs).into())));
    let marker = format!("{}/{run}/{name}", place.owner);
    env.insert(environment::MARKER.into(), marker.clone().into());
    let hidden = hidden(&env);
    let cwd = plan.program.cwd.clone();
    Hook { place, name, timeout: plan.hooks.timeout, env, cwd, fill, folder, marker, hidden, is_last: false }
}

fn of_trial<'a>(place: &'a LocalPlace, plan: &Plan, order: &TrialOrder, fill: &Fill, name: &'static str) -> Hook<'a> {
    let command = filled::command(place, plan, order, fill, None, None);
    let hidden = hidden(&command.env);
    Hook {
        place,
        name,
        timeout: plan.hooks.timeout,
        env: command.env,
        cwd: command.cwd,
        fill: fill.values.clone(),
        folder: place.state.trial_dir(&order.run, order.trial),
        marker: command.marker,
        hidden,
        is_last: false,
    }
}

/// The secrets that a command is given in its environment.
fn hidden(env: &BTreeMap<OsString, OsString>) -> Vec<String> {
    let text: Vec<(String, String)> =
        env.iter().map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned())).collect();
    secrets::values(&[], text.iter().map(|(name, value)| (name.as_str(), value.as_str())))
}
