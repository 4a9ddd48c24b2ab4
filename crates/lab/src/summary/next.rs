//! What would be needed to know more.

use bystander_model::report::{Answer, Verdict};

use crate::ledger::Ledger;
use crate::plan::Stop;

pub(super) fn steps(ledger: &Ledger, answers: &[Answer]) -> Vec<String> {
    let mut steps: Vec<String> = Vec::new();
    for answer in answers.iter().filter(|answer| answer.metric == "outcome" || answer.verdict == Verdict::Insufficient) {
        let Some(needs) = &answer.needs else { continue };
        let about = if answer.metric == "outcome" { answer.about.clone() } else { format!("{} on {}", answer.about, answer.metric) };
        for missing in &needs.missing {
            push(&mut steps, format!("{about}: {missing}"));
        }
        if needs.missing.is_empty()
            && let Some(n) = needs.launches_per_cell
        {
            push(&mut steps, format!("{about}: {n} launches per cell in all"));
        }
    }
    if ledger.plan.stop == Stop::Same
        && stopped_after_the_first_block(ledger)
        && answers.iter().any(|answer| answer.verdict == Verdict::BaselineBroken)
    {
        push(&mut steps, "`stop = \"all\"` in [plan] runs every block all the same".to_owned());
    }
    steps
}

fn stopped_after_the_first_block(ledger: &Ledger) -> bool {
    ledger.plan.blocks.max > 1 && ledger.end.is_some() && ledger.trials.values().all(|trial| trial.slot.block <= 1)
}

fn push(steps: &mut Vec<String>, step: String) {
    if !steps.contains(&step) {
        steps.push(step);
    }
}
