//! Whether a run answered its question, as an exit code: it follows the primary answer.

use bystander_lab::ledger::Ledger;
use bystander_lab::plan::Expect;
use bystander_model::event::RunEnd;
use bystander_model::outcome::Outcome;
use bystander_model::report::{Answer, Report, Strength, Verdict};

use crate::failure::exit;

/// The exit code of a run.
pub(crate) fn exit_code(ledger: &Ledger, report: &Report) -> u8 {
    match &ledger.end {
        // Somebody is at work on it: what will be answered is open.
        None if report.status == "running" => return exit::UNDETERMINED,
        None | Some(RunEnd::Interrupted | RunEnd::Abandoned { .. }) => return exit::INTERRUPTED,
        Some(RunEnd::Broken { .. }) => return exit::HARNESS,
        Some(RunEnd::Gated { .. }) if ledger.plan.expect == Expect::Completed => return exit::FAILED,
        Some(RunEnd::Gated { .. }) => return exit::UNDETERMINED,
        Some(RunEnd::Invalid { .. }) => return exit::UNDETERMINED,
        Some(RunEnd::Finished { .. }) => {}
    }
    if let Some(aa) = &report.aa {
        return if aa.tests == 0 || aa.beyond_chance { exit::UNDETERMINED } else { exit::ANSWERED };
    }
    let declared_to_work = ledger.plan.expect == Expect::Completed;
    if declared_to_work && ledger.data(&ledger.plan.baseline).any(|trial| trial.outcome() != Some(Outcome::Completed)) {
        return exit::FAILED;
    }
    let open = |answer: &Answer| match answer.verdict {
        Verdict::Insufficient | Verdict::Invalid | Verdict::Undetermined | Verdict::Open => true,
        // A failure or two of the baseline are what a cold start does, or chance.
        Verdict::BaselineBroken => answer.strength != Some(Strength::Shown),
        _ => false,
    };
    let primary = primary(ledger, report);
    // A description compares nothing: it is answered by its table, if there is a data point in it.
    let described = !primary.is_empty() || report.cells.iter().any(|cell| cell.trials > 0);
    if described && !primary.iter().copied().any(open) { exit::ANSWERED } else { exit::UNDETERMINED }
}

/// The answers on the primary metric that the question is about: of every level of every factor and of those that are put together, or, where nothing is varied, of the instruments.
fn primary<'a>(ledger: &Ledger, report: &'a Report) -> Vec<&'a Answer> {
    let of = |kind: &str| -> Vec<&'a Answer> {
        let answers = report.answers.iter().filter(|answer| answer.metric == ledger.plan.primary);
        // Of what was left out before the first launch nothing was asked.
        let asked = |name: &str| ledger.plan.left_out.iter().all(|(left, _)| left != name);
        answers.filter(|answer| answer.about.split_once(':').is_some_and(|(of, name)| of == kind && asked(name))).collect()
    };
    let levels = [of("factor"), of("combination")].concat();
    if levels.is_empty() { of("instrument") } else { levels }
}
