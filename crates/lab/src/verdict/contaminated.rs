//! Answers that are none, since what was compared is not what the plan says: a level that never reached the program, times that a warm cache made, a
//! level that turned more than it asks for.

use bystander_model::cell::Cell;
use bystander_model::evidence::Evidence;
use bystander_model::report::{Answer, Means, Needs, Verdict};

use super::applied::{Unapplied, unapplied};
use super::cached::{Cached, cached};
use super::survivors::{Survivors, survivors};
use super::take_back;
use super::unequal::{Unequal, unequal};
use crate::contrast::{self, Contrast, Subject, contrasts};
use crate::ledger::Ledger;
use crate::plan::{Hypothesis, Prediction};

const APPLIED: &str = "two cells whose printed configuration is the same, settings of the level included, are one cell";
const RANDOM: &str = "prompts that are random come from no cache";
const ANSWERED: &str = "what is measured of answered requests is compared where alike shares of them failed: less than one in a hundred apart, and not apart by Fisher's test at 0.05";
const ALIKE: &str = "cells whose program prints other settings that differ, and that no level names, are not compared by the level";

/// Takes back the answers about a level that was not applied, and those about times that a cache made.
pub(super) fn of_factor(ledger: &Ledger, contrast: &Contrast, answers: &mut [Answer]) {
    if let Some(found) = unapplied(ledger, contrast) {
        answers.iter_mut().for_each(|answer| not_applied(answer, &found));
        return;
    }
    if let Some(found) = unequal(ledger, contrast).filter(Unequal::decides) {
        answers.iter_mut().for_each(|answer| not_alone(answer, &found));
    }
    of_survivors(ledger, answers, &[(&contrast.treated, &contrast.control)]);
    of_times(ledger, answers, &[&contrast.treated, &contrast.control]);
}

/// Leaves what was measured of the requests that were answered, and names no winner: which of them failed may be all of the difference.
fn of_survivors(ledger: &Ledger, answers: &mut [Answer], pairs: &[(&Cell, &Cell)]) {
    for answer in answers {
        let verdict = match answer.verdict {
            Verdict::Effect | Verdict::NoEffectWithin => Verdict::Insufficient,
            Verdict::Perturbs | Verdict::Inert | Verdict::NoEffectSeen => Verdict::Undetermined,
            other => other,
        };
        let Some(found) = pairs.iter().find_map(|(with, without)| survivors(ledger, &answer.metric, with, without)) else { continue };
        let why = format!("{}, so this is of different requests. Of those that were answered", found.text);
        let rule = if verdict == answer.verdict { answer.rule.take() } else { Some(ANSWERED.to_owned()) };
        answer.verdict = verdict;
        no_winner(answer, &why, rule, alike_in_failures());
        answer.evidence.insert(0, found.evidence);
    }
}

/// Leaves the figure of an answer behind the reason why it names no winner.
fn no_winner(answer: &mut Answer, why: &str, rule: Option<String>, needs: (Means, String)) {
    let said = answer.text.strip_prefix("An effect: ").unwrap_or(&answer.text);
    answer.text = format!("No winner is named: {why}: {said}");
    answer.strength = None;
    answer.rule = rule;
    answer.needs = Some(Needs::of([needs]));
}

fn alike_in_failures() -> (Means, String) {
    let text = "a load that both cells answer, or cells in which as many requests fail; which cell fails more is a question of its own, \
                answered by a metric of the share that failed";
    (Means::File, text.to_owned())
}

/// Leaves what was measured, and names no winner: which of the settings it is of, the data do not tell.
fn not_alone(answer: &mut Answer, found: &Unequal) {
    if !matches!(answer.verdict, Verdict::Effect | Verdict::NoEffectWithin) {
        return;
    }
    let Unequal { levels, evidence, .. } = found;
    if answer.metric == "outcome" {
        // What a level does to a program, it does; what breaks it may be another setting.
        answer.text.push_str(&format!(" The level turns more than it asks for: {}. What is found is of all of it together.", found.list()));
    } else {
        let why = format!("with {levels} the program prints {} too, which no level asks for. Of all of it together", found.list());
        answer.verdict = Verdict::Insufficient;
        no_winner(answer, &why, Some(ALIKE.to_owned()), (Means::File, found.remedy()));
    }
    answer.evidence.splice(0..0, evidence.iter().cloned());
}

/// Takes back the answers about what an instrument does to times that a cache made, on the baseline or beside another level.
pub(super) fn of_instrument(ledger: &Ledger, contrast: &Contrast, answers: &mut [Answer]) {
    let Subject::Instrument { instrument } = &contrast.subject else { return };
    let cells: Vec<&Cell> =
        contrast::states_of_instrument(&ledger.plan, instrument).into_iter().flat_map(|(with, without)| [with, without]).collect();
    of_survivors(ledger, answers, &contrast::states_of_instrument(&ledger.plan, instrument));
    of_times(ledger, answers, &cells);
}

/// That a baseline fails by itself stays true, whatever the other cell really was.
fn not_applied(answer: &mut Answer, found: &Unapplied) {
    if answer.verdict == Verdict::BaselineBroken {
        answer.text.push_str(&format!(" Besides, {}.", found.text));
    } else {
        take_back(answer, &format!("Nothing was compared: {}.", found.text), APPLIED, arguments(found));
    }
    answer.evidence.clone_from(&found.evidence);
}

fn arguments(found: &Unapplied) -> (Means, String) {
    let text = format!(
        "arguments of {} that the program takes over, where an argument, a variable or the program itself now overrides them, and a new run",
        found.level
    );
    (Means::File, text)
}

fn of_times(ledger: &Ledger, answers: &mut [Answer], cells: &[&Cell]) {
    for answer in answers {
        let Some(found) = cached(ledger, &answer.metric, cells.iter().copied()) else { continue };
        take_back(answer, &format!("Not comparable: {}.", found.text), RANDOM, cold());
        answer.evidence.insert(0, found.evidence);
    }
}

fn cold() -> (Means, String) {
    let text = "launches whose cache holds nothing of their prompts: a cache of its own or none in every launch, longer prompts where they all begin \
                alike (`endpoint = \"completions\"` adds nothing to them), and a new run";
    (Means::File, text.to_owned())
}

/// Why a prediction cannot be held against what was measured.
pub(super) enum Unsound {
    /// A level that it speaks of was not applied.
    Level(Unapplied),
    /// Its metric was measured with a warm cache.
    Times(Cached),
    /// The level that it speaks of turned more than it asks for.
    Settings(Unequal),
    /// Different shares of the requests failed in the cells that it compares.
    Requests(Survivors),
}

/// A claim with those predictions alone that speak of what was really run, and why another is left out, where one is.
pub(super) fn told_apart(ledger: &Ledger, hypothesis: &Hypothesis) -> (Hypothesis, Option<Unsound>) {
    let levels: Vec<(Contrast, Unapplied)> =
        contrasts(&ledger.plan).into_iter().filter_map(|one| unapplied(ledger, &one).map(|found| (one, found))).collect();
    let mut why = None;
    let mut sound = hypothesis.clone();
    sound.predicts.retain(|predicted| match unsound(ledger, predicted, &levels) {
        Some(found) => {
            why.get_or_insert(found);
            false
        }
        None => true,
    });
    (sound, why)
}

fn unsound(ledger: &Ledger, predicted: &Prediction, levels: &[(Contrast, Unapplied)]) -> Option<Unsound> {
    let speaks_of = |contrast: &Contrast| {
        let Subject::Factor { factor, level } = &contrast.subject else { return false };
        match predicted {
            Prediction::Effect { factor: of, level: at, .. } => of == factor && at == level,
            other => other.cell().and_then(|cell| cell.levels.get(factor)).is_some_and(|at| at == level),
        }
    };
    if let Some((_, found)) = levels.iter().find(|(contrast, _)| speaks_of(contrast)) {
        return Some(Unsound::Level(found.clone()));
    }
    match predicted {
        Prediction::Value { cell, metric, .. } => cached(ledger, metric, [cell]).map(Unsound::Times),
        Prediction::Effect { factor, level, metric, .. } => {
            let (treated, control) = super::prediction::compared(ledger, factor, level);
            let warm = cached(ledger, metric, [&treated, &control]).map(Unsound::Times);
            let of_failed = || survivors(ledger, metric, &treated, &control).map(Unsound::Requests);
            warm.or_else(of_failed).or_else(|| {
                let is_it = |one: &Contrast| one.treated == treated && one.control == control;
                let contrast = contrasts(&ledger.plan).into_iter().find(is_it)?;
                unequal(ledger, &contrast).filter(Unequal::decides).map(Unsound::Settings)
            })
        }
        Prediction::Outcome { .. } | Prediction::Cause { .. } => None,
    }
}

/// Leaves a claim open that nothing sound refutes.
pub(super) fn of_hypothesis(answer: &mut Answer, why: Unsound) {
    let evidence: Vec<Evidence> = match why {
        Unsound::Level(found) => {
            take_back(answer, &format!("Nothing is known of it: {}.", found.text), APPLIED, arguments(&found));
            found.evidence
        }
        Unsound::Times(found) => {
            take_back(answer, &format!("Nothing is known of it: {}.", found.text), RANDOM, cold());
            vec![found.evidence]
        }
        Unsound::Requests(found) => {
            let text = format!("Nothing is known of it: {}, so it is of different requests.", found.text);
            take_back(answer, &text, ANSWERED, alike_in_failures());
            vec![found.evidence]
        }
        Unsound::Settings(found) => {
            let text =
                format!("Nothing is known of it: with {} the program prints {} too, which no level asks for.", found.levels, found.list());
            take_back(answer, &text, ALIKE, (Means::File, found.remedy()));
            found.evidence
        }
    };
    answer.evidence = evidence;
}
