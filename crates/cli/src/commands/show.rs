//! `bystander show`: the results of a run again, from its record or its archive alone; or the runs there are.

mod list;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bystander_lab::ledger::Ledger;
use bystander_lab::verdict::unanswered;
use bystander_lab::{provenance, summary};
use bystander_model::ids::TrialId;
use bystander_model::report::Report;

use super::found::{Found, Place};
use super::watch;
use crate::args::ShowArgs;
use crate::failure::Failure;
use crate::output::{Output, on_machine};
use crate::{answered, other_runs};

/// Prints a run, or all of them.
pub(crate) fn run(args: &ShowArgs, named: Option<&Path>, output: &mut Output) -> Result<ExitCode, Failure> {
    if args.list {
        return list::run(named, output);
    }
    let (found, why) = meant(args, named)?;
    if let Some(ran) = &found.ran_on {
        output.ran_on(ran);
    }
    if watch::is_watched(&found.store, &found.record.id)? {
        if args.diff.is_some() {
            return Err(Failure::user(format!("failed to compare: {} is a watched command, of one launch", found.record.id)));
        }
        return watch::show(&found, output);
    }
    let ledger = found.ledger()?;
    if let Some(pair) = &args.diff {
        return diff(&ledger, pair, output);
    }
    let report = report(&found, &ledger)?;
    if let Some(Some(name)) = why {
        return one_answer(&report, &name, output, &ledger);
    }
    output.report(&report, why.as_ref().map(Option::as_deref), &found.place);
    Ok(ExitCode::from(answered::exit_code(&ledger, &report)))
}

/// The run and the answer that are meant: in `show --why RUN` the only word is the run's.
fn meant(args: &ShowArgs, named: Option<&Path>) -> Result<(Found, Option<Option<String>>), Failure> {
    if let (None, Some(Some(word))) = (&args.run, &args.why)
        && !word.contains(':')
        && let Ok(found) = Found::named(Some(&OsString::from(word)), named)
    {
        return Ok((found, Some(None)));
    }
    Ok((Found::named(args.run.as_deref().map(OsStr::new), named)?, args.why.clone()))
}

/// The report of a run that was found.
pub(super) fn report(found: &Found, ledger: &Ledger) -> Result<Report, Failure> {
    let mut report = summary::report_beside(ledger, &other_runs::of(&found.store, &found.record.id)?);
    report.on = found.ran_on.as_ref().map(on_machine);
    // The record of a run that ended without a last word is that of one that goes on; only the lock tells them apart.
    if ledger.end.is_none() && !found.is_alive()? {
        "interrupted".clone_into(&mut report.status);
        report.why = Some("it was killed, or could not write to its record, such as on a full disk".to_owned());
    }
    if let Place::Archive(_) = found.place {
        let folder = PathBuf::from("runs").join(&found.record.id.0);
        for path in report.trials.iter_mut().flat_map(|trial| trial.output.values_mut()) {
            if let Ok(rest) = path.strip_prefix(&folder) {
                *path = Path::new(super::export::LOGS).join(rest);
            }
        }
    }
    Ok(report)
}

fn one_answer(report: &Report, name: &str, output: &mut Output, ledger: &Ledger) -> Result<ExitCode, Failure> {
    if output.answer(report, name) {
        return Ok(ExitCode::from(answered::exit_code(ledger, report)));
    }
    if let Some(none) = unanswered(ledger, name) {
        let failure =
            format!("failed to find an answer about the metric `{name}` in run {}: there is none, since {}", report.run, none.why);
        return Err(Failure::user(failure).hint(format!("needed is {}", none.step)));
    }
    let known = unique(report.answers.iter().map(|answer| answer.about.as_str()));
    let metrics = unique(report.answers.iter().map(|answer| answer.metric.as_str()));
    let failure = Failure::user(format!("failed to find an answer about `{name}` in run {}", report.run));
    Err(if known.is_empty() {
        failure.hint("it has none yet")
    } else {
        let example = report.answers.iter().find(|answer| !answer.about.starts_with("hypothesis:"));
        let both =
            example.map_or_else(String::new, |answer| format!("; both together is a name too: \"{} on {}\"", answer.about, answer.metric));
        let on = format!(
            "its answers are about {}; its metrics are {}: each of these is a name for `--why`{both}",
            known.join(", "),
            metrics.join(", ")
        );
        let logs = report.old_logs.iter().map(|one| one.log.name.as_str()).collect::<Vec<_>>();
        failure.hint(if logs.is_empty() { on } else { format!("{on}; logs of earlier runs are {}", logs.join(", ")) })
    })
}

/// Each text once, in order.
fn unique<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    texts.fold(Vec::new(), |mut known, text| {
        if !known.contains(&text) {
            known.push(text);
        }
        known
    })
}

fn diff(ledger: &Ledger, pair: &[u32], output: &mut Output) -> Result<ExitCode, Failure> {
    let trial = |number: u32| {
        ledger.trials.get(&TrialId(number)).ok_or_else(|| {
            let last = ledger.trials.len();
            Failure::user(format!("failed to find trial {number} in run {}", ledger.run)).hint(format!("its trials are 1 to {last}"))
        })
    };
    let (first, second) = (trial(pair[0])?, trial(pair[1])?);
    for trial in [first, second] {
        if trial.launched.is_none() {
            return Err(Failure::user(format!("failed to compare: trial {} was never launched", trial.id)));
        }
    }
    output.differences(first, second, &provenance::differences(ledger, first, second));
    Ok(ExitCode::SUCCESS)
}
