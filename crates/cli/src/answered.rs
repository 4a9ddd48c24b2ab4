//! Whether a run answered its question, as an exit code: it follows the primary answer.

use bystander_lab::ledger::Ledger;
use bystander_lab::plan::Expect;
use bystander_model::event::RunEnd;
use bystander_model::outcome::Outcome;
use bystander_model::report::{Report, Verdict};

use crate::failure::exit;

/// The exit code of a run.
pub(crate) fn exit_code(ledger: &Ledger, report: &Report) -> u8 {
    match &ledger.end {
        // Somebody is at work on it: what will be answered is open.
        None if report.status == "running" => return exit::UNDETERMINED,
        None | Some(RunEnd::Interrupted) => return exit::INTERRUPTED,
        Some(RunEnd::Broken { .. }) => return exit::HARNESS,
        Some(RunEnd::Gated { .. }) if ledger.plan.expect == Expect::Completed => return exit::FAILED,
        Some(RunEnd::Gated { .. }) => return exit::UNDETERMINED,
        Some(RunEnd::Invalid { .. }) => return exit::UNDETERMINED,
        Some(RunEnd::Finished { .. }) => {}
    }
    let declared_to_work = ledger.plan.expect == Expect::Completed;
    if declared_to_work && ledger.data(&ledger.plan.baseline).any(|trial| trial.outcome() != Some(Outcome::Completed)) {
        return exit::FAILED;
    }
    let primary = report.answers.iter().find(|answer| answer.metric == ledger.plan.primary && !answer.about.starts_with("hypothesis:"));
    match primary.map(|answer| answer.verdict) {
        Some(Verdict::Insufficient | Verdict::Invalid | Verdict::Undetermined | Verdict::Open) => exit::UNDETERMINED,
        Some(_) => exit::ANSWERED,
        // A description compares nothing: it is answered by its table, if there is a data point in it.
        None if report.cells.iter().any(|cell| cell.trials > 0) => exit::ANSWERED,
        None => exit::UNDETERMINED,
    }
}
