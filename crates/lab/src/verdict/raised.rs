//! What exceptions on an instrument's own lines say of it, where the launch did not fail by them.
//!
//! An exit code does not tell that a thread, a child or a handler has died of an edit. An exception that left the function which the line was added to
//! shows that the program did not do there what it does without it; one that may have been caught beside the line shows no more than that the edit
//! was not seen to work.

use std::collections::BTreeSet;

use bystander_model::outcome::RaisedByInstrument;
use bystander_model::report::{Answer, Means, Needs, Strength, Verdict};

use super::arm::Arm;
use crate::ledger::{Ledger, TrialRecord};

/// Puts what the instrument's own lines raised into the answer on outcomes.
pub(super) fn on_outcome(answer: &mut Answer, ledger: &Ledger, name: &str, with: &Arm<'_>, without: &Arm<'_>) {
    let Some((trial, raised)) = of(ledger, name) else { return };
    let went_on = format!("in trial {}: {}", trial.id, raised.text);
    match answer.verdict {
        Verdict::Perturbs | Verdict::NotNeeded => answer.text.push_str(&format!(" It also breaks a part of its program {went_on}.")),
        _ if raised.cut_short => {
            answer.verdict = Verdict::Perturbs;
            answer.strength = Some(Strength::Shown);
            answer.rule = Some("an exception on a line that the instrument inserted, and no such exception without it".to_owned());
            answer.p = None;
            answer.needs = None;
            answer.text = format!(
                "It breaks a part of its program {went_on}. No launch without it printed that; whether the program ended well does not show it: {}; {}.",
                with.said(),
                without.said()
            );
        }
        _ => unsure(answer, &went_on),
    }
    answer.evidence.splice(0..0, raised.evidence.iter().cloned());
}

/// An instrument that raised has not done what it was put in for, so that a metric beside it says nothing of what it does to the program.
pub(super) fn on_metric(answer: &mut Answer, ledger: &Ledger, name: &str) {
    let Some((trial, raised)) = of(ledger, name) else { return };
    if matches!(answer.verdict, Verdict::Inert | Verdict::NoEffectSeen) {
        unsure(answer, &format!("in trial {}: {}", trial.id, raised.text));
        answer.evidence.splice(0..0, raised.evidence.iter().cloned());
    }
}

fn unsure(answer: &mut Answer, went_on: &str) {
    if matches!(answer.verdict, Verdict::Inert | Verdict::NoEffectSeen) {
        answer.verdict = Verdict::Undetermined;
        answer.strength = None;
        answer.text = format!("It raised an exception {went_on}. What it does to the program where it works is not known.");
        answer.needs = Some(Needs::of([(Means::Edit, "an edit that raises nothing".to_owned())]));
    } else {
        answer.text.push_str(&format!(" It raised an exception {went_on}."));
    }
}

/// The first exception on a line of the instrument that no launch without it has printed; one that cut the program short before others.
fn of<'a>(ledger: &'a Ledger, name: &str) -> Option<(&'a TrialRecord, &'a RaisedByInstrument)> {
    let ends = || ledger.trials.values().filter_map(|trial| Some((trial, trial.end.as_ref()?)));
    let without = ends().filter(|(trial, _)| trial.slot.cell.instrument != name).flat_map(|(_, end)| &end.printed);
    let known: BTreeSet<&str> = without.map(String::as_str).collect();
    let with = || ends().filter(|(trial, _)| trial.counts() && trial.slot.cell.instrument == name);
    let raised = || with().flat_map(|(trial, end)| end.raised.iter().map(move |raised| (trial, raised)));
    let own = || raised().filter(|(_, raised)| !known.contains(raised.signature.as_str()));
    own().find(|(_, raised)| raised.cut_short).or_else(|| own().next())
}
