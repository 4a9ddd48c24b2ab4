//! What levels of several factors do together: the cells that put them together against the baseline, and what that says of each level alone.
//!
//! A level that does nothing on the baseline may break the program beside another. So a level is acquitted only where no other combination speaks against
//! it, and is found to have an effect where its combination is shown to differ from the baseline and from the same combination without it.

use bystander_model::cell::Cell;
use bystander_model::report::{Answer, Strength, Verdict};

use super::arm::Arm;
use super::look::{Look, against_level};
use super::{factor, metric};
use crate::contrast::{self, Contrast, Subject};
use crate::ledger::Ledger;
use crate::looks;
use crate::looks::Followed;

/// Answers for one cell that puts levels together: always where none of its levels was compared without the others, else where it does something that no
/// part of it does.
pub(super) fn answers(ledger: &Ledger, contrast: &Contrast) -> Vec<Answer> {
    let parts: Vec<Arm<'_>> = contrast::parts(&ledger.plan, &contrast.treated).map(|cell| Arm::of(ledger, cell)).collect();
    if parts.is_empty() {
        let mut answers = vec![factor::on_outcome(ledger, contrast)];
        answers.extend(metric::of_factor(ledger, contrast));
        return answers;
    }
    let (whole, control) = (Arm::of(ledger, &contrast.treated), Arm::of(ledger, &contrast.control));
    let reaches =
        |part: &Arm<'_>| (part.rate() - control.rate()) * (whole.rate() - control.rate()).signum() >= (whole.rate() - control.rate()).abs();
    if whole.is_empty() || control.is_empty() || !apart(&whole, &control) || parts.iter().any(reaches) {
        return Vec::new();
    }
    let mut answer = factor::on_outcome(ledger, contrast);
    let alone: Vec<String> = parts.iter().filter(|part| !part.is_empty()).map(Arm::said).collect();
    if answer.verdict != Verdict::BaselineBroken && !alone.is_empty() {
        answer.text.push_str(&format!(" Less of it does not: {}.", alone.join(", ")));
        answer.trials.extend(parts.iter().flat_map(Arm::ids));
    }
    vec![answer]
}

/// Looks at a level beside the other levels: nothing that speaks against it there is passed over.
pub(super) fn beside(answer: &mut Answer, ledger: &Ledger, contrast: &Contrast) {
    for (with, without) in contrast::states_of_level(&ledger.plan, contrast) {
        let (arm, other) = (Arm::of(ledger, with), Arm::of(ledger, without));
        if arm.is_empty() || other.is_empty() || !apart(&arm, &other) {
            continue;
        }
        if let Some((followed, alpha)) = shown(ledger, with, without).filter(|_| answer.verdict != Verdict::Effect) {
            together(answer, &arm, &other, &followed, alpha);
        } else if is_acquitted(answer, &Arm::of(ledger, &contrast.treated), &Arm::of(ledger, &contrast.control)) {
            answer.verdict = Verdict::Insufficient;
            answer.strength = None;
            answer.text.push_str(&format!(" Beside other levels the data differ, and nothing is shown: {}, {}.", arm.said(), other.said()));
        }
    }
}

/// Whether nothing failed in what an answer compares.
fn is_acquitted(answer: &Answer, treated: &Arm<'_>, control: &Arm<'_>) -> bool {
    matches!(answer.verdict, Verdict::NoEffectWithin | Verdict::Insufficient) && treated.all_completed() && control.all_completed()
}

/// Whether a combination is shown to differ from the baseline and from itself without one level; where it has no comparison of its own, that is not asked.
fn shown(ledger: &Ledger, with: &Cell, without: &Cell) -> Option<(Followed, f64)> {
    let all = contrast::contrasts(&ledger.plan);
    let own = all.iter().find(|one| one.subject == Subject::Combination && one.treated == *with)?;
    let last = ledger.plan.blocks.max;
    looks::follow(ledger, own, last).filter(Followed::is_shown)?;
    let followed = looks::follow_cells(ledger, with, without, own.alpha, last).filter(Followed::is_shown)?;
    Some((followed, own.alpha))
}

/// The level is shown to do something beside another one, whatever it does on the baseline.
fn together(answer: &mut Answer, with: &Arm<'_>, without: &Arm<'_>, followed: &Followed, alpha: f64) {
    let does = if with.rate() > without.rate() { "It breaks" } else { "It makes a failing program work:" };
    let look = Look::of(followed, with.tally(), without.tally()).map_or_else(String::new, |look| look.said());
    let level = against_level(followed, alpha);
    answer.text =
        format!("{does} {}: {}; {}: {look} ({level}). On the baseline: {}", without.cell, with.said(), without.said(), answer.text);
    answer.verdict = Verdict::Effect;
    answer.strength = Some(Strength::Shown);
    answer.p = Some(followed.decision.p());
    answer.needs = None;
    answer.trials.extend([without.ids(), with.ids()].concat());
    answer.evidence.extend(with.evidence());
}

/// Whether two cells fail at different rates.
fn apart(one: &Arm<'_>, other: &Arm<'_>) -> bool {
    one.failed() * other.n() != other.failed() * one.n()
}
