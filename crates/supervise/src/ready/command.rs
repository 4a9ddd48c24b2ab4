//! A command that finds out whether the program is ready: exit code 0, in a tree of its own that is killed at its limit.

use std::time::{Duration, Instant};

use bystander_model::chain::with_causes;
use bystander_model::evidence::Stream;

use super::CommandCheck;
use super::http::shown;
use crate::cancel::Canceller;
use crate::trial::event::TrialEvent;
use crate::trial::{Trial, TrialSpec};

/// Between two looks whether anybody still waits for it.
const TURN: Duration = Duration::from_millis(20);

/// Runs it once; `is_over` says that nobody waits for it any more. Otherwise: why it did not end well.
pub(crate) fn run(check: &CommandCheck, is_over: impl Fn() -> bool) -> Result<(), String> {
    let name = check.command.argv.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let spec = TrialSpec {
        command: check.command.clone(),
        keeper: check.keeper.clone(),
        output: check.output.clone(),
        hidden: check.hidden.clone(),
        ready: None,
        canceller: Canceller::new(),
        namespace: None,
    };
    let mut trial = Trial::start(spec).map_err(|error| format!("`{name}` could not be started: {}", with_causes(&error)))?;
    let deadline = Instant::now() + check.limit;
    let mut last = [None, None];
    let mut take = |event: &TrialEvent| {
        if let TrialEvent::Line(line) = event
            && !line.text.trim_ascii().is_empty()
        {
            last[usize::from(line.stream == Stream::Stderr)] = Some(shown(&line.text));
        }
    };
    while trial.exit().is_none() && !trial.is_over() && Instant::now() < deadline && !is_over() {
        if let Some(event) = trial.next(TURN) {
            take(&event);
        }
    }
    let ended = trial.exit().is_some();
    let finished = trial.finish(Duration::ZERO, |event| take(&event));
    trial.close();
    let [stdout, stderr] = last;
    let said = stderr.or(stdout).map_or_else(String::new, |line| format!(": {line}"));
    match finished.exit.filter(|_| ended) {
        Some(exit) if exit.status.success() => Ok(()),
        Some(exit) => Err(format!("`{name}` ended with {}{said}", exit.status)),
        None => Err(format!("`{name}` had not ended at its limit of {} s and was killed{said}", check.limit.as_secs_f64())),
    }
}
