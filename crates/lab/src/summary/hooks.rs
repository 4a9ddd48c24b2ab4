//! Commands around the run that failed. One that comes before a trial is the cause of that trial, and is told there.

use bystander_model::hook::HookRun;

use crate::ledger::Ledger;

/// Each failure in a sentence, those of trials after those of the run.
pub(super) fn failed(ledger: &Ledger) -> Vec<String> {
    let said = |hook: &HookRun, of: String| {
        let failure = hook.failure.as_ref().filter(|_| hook.hook != "prepare")?;
        Some(format!("{}{of} failed: {failure}", hook.hook))
    };
    let of_run = ledger.hooks.iter().filter_map(|hook| said(hook, String::new()));
    let of_trials = ledger.trials.values().flat_map(|trial| trial.hooks.iter().map(move |hook| (trial.id, hook)));
    of_run.chain(of_trials.filter_map(|(trial, hook)| said(hook, format!(" of trial {trial}")))).collect()
}
