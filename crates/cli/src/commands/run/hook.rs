//! Advice where a command of the experiment file's `[hooks]` kept a run from launching anything.

use bystander_lab::ledger::Ledger;
use bystander_model::hook::HookRun;
use bystander_store::StateDir;

use crate::failure::Failure;

/// The failure of a run whose setup failed; `None` where that was not why it broke off.
pub(super) fn setup_failed(ledger: &Ledger, state: &StateDir) -> Option<Failure> {
    // Every process that conducts the run sets it up first, and what fails ends that.
    let hook = ledger.hooks.iter().rev().find(|hook| hook.hook == "setup").filter(|hook| hook.failure.is_some())?;
    let what = if ledger.trials.is_empty() { "nothing was launched" } else { "nothing more was launched" };
    let failure = Failure::environment(format!("failed to set up the run: a command of `setup` in [hooks] failed, and {what}"));
    let lost = if ledger.trials.is_empty() { "nothing is lost by that" } else { "its launches are made anew" };
    let failure = told(failure, hook, state).hint(format!("mend the command in the experiment file and run that with `--new`: {lost}"));
    Some(failure.hint("where the file stays as it is, run the same command again: `setup` runs anew, and the run goes on"))
}

/// The failure of a run that ended because a command before its trials failed; `None` where that was not why.
pub(super) fn prepare_failed(ledger: &Ledger, state: &StateDir) -> Option<Failure> {
    let last = ledger.trials.values().next_back()?;
    let hook = last.hooks.iter().find(|hook| hook.hook == "prepare" && hook.failure.is_some())?;
    let failure = Failure::user(format!(
        "failed to prepare trial {}: a command of `prepare` in [hooks] failed, its program was not launched, and the run ended there",
        last.id
    ));
    Some(told(failure, hook, state).hint("mend the command and start the run again; the failed one stays in the record"))
}

/// Which command it was, how it ended, and what it wrote last.
fn told(mut failure: Failure, hook: &HookRun, state: &StateDir) -> Failure {
    failure.causes.extend(hook.failure.clone());
    // The last of them is in the sentence already.
    if hook.last.len() > 1 {
        failure.causes.push(format!("its last lines:{}", hook.last.iter().map(|line| format!("\n    | {line}")).collect::<String>()));
    }
    let written = hook.outputs.iter().filter(|output| output.bytes > 0).map(|output| state.path().join(&output.path).display().to_string());
    let files: Vec<String> = written.collect();
    if files.is_empty() { failure } else { failure.hint(format!("all of its output is in {}", files.join(" and "))) }
}
