//! Claims that the data cannot tell apart: they speak of the same cells, and nothing that was run goes against one of them alone. Two that predict the same
//! of all that was run are such whatever their verdicts: the one that says more is only open where the other one is supported.

use std::collections::BTreeMap;

use bystander_model::cell::Cell;
use bystander_model::report::{Alternatives, Answer, Verdict};

use super::prediction;
use crate::ledger::Ledger;
use crate::plan::{Direction, Hypothesis, Prediction};

/// Every group of claims that the data cannot tell apart, with where they differ and nothing was seen, and the cells whose launch would tell.
pub(crate) fn alternatives<'a>(ledger: &'a Ledger, answers: &[Answer]) -> Vec<(Alternatives, Vec<&'a Cell>)> {
    let standing = |claim: &Hypothesis| {
        let about = format!("hypothesis:{}", claim.claim);
        answers.iter().find(|answer| answer.about == about).map(|answer| answer.verdict)
    };
    let mut groups: Vec<(Verdict, Vec<&Hypothesis>)> = Vec::new();
    for claim in &ledger.plan.hypotheses {
        let Some(verdict) = standing(claim).filter(|verdict| *verdict != Verdict::Refuted) else { continue };
        let alike = |group: &&mut (Verdict, Vec<&Hypothesis>)| {
            let same = group.0 == verdict;
            group.1.iter().any(|other| share_a_question(ledger, claim, other) && (same || agree_on_what_was_seen(ledger, claim, other)))
        };
        match groups.iter_mut().find(alike) {
            Some(group) => group.1.push(claim),
            None => groups.push((verdict, vec![claim])),
        }
    }
    groups
        .into_iter()
        .filter(|(_, claims)| claims.len() > 1)
        .map(|(_, claims)| (describe(ledger, &claims), deciding(ledger, &claims)))
        .collect()
}

/// Whether both speak of something that was seen, and so of the same data.
fn share_a_question(ledger: &Ledger, one: &Hypothesis, other: &Hypothesis) -> bool {
    let (one, other) = (questions(one), questions(other));
    one.iter().any(|(question, prediction)| other.contains_key(question) && is_seen(ledger, prediction))
}

/// Whether both say the same of everything that either of them says and that was seen.
fn agree_on_what_was_seen(ledger: &Ledger, one: &Hypothesis, other: &Hypothesis) -> bool {
    let seen = |claim: &Hypothesis| -> BTreeMap<String, String> {
        let asked = questions(claim).into_iter().filter(|(_, prediction)| is_seen(ledger, prediction));
        asked.map(|(question, prediction)| (question, said(prediction))).collect()
    };
    seen(one) == seen(other)
}

fn is_seen(ledger: &Ledger, prediction: &Prediction) -> bool {
    prediction::unseen(ledger, prediction).is_none()
}

/// What a claim says, by what it is about.
fn questions(claim: &Hypothesis) -> BTreeMap<String, &Prediction> {
    claim.predicts.iter().map(|prediction| (question(prediction), prediction)).collect()
}

fn question(prediction: &Prediction) -> String {
    match prediction {
        Prediction::Outcome { cell, .. } | Prediction::Cause { cell, .. } => cell.to_string(),
        Prediction::Value { cell, metric, .. } => format!("{metric} of {cell}"),
        Prediction::Effect { factor, level, metric, .. } => format!("{metric} with {factor}={level}"),
    }
}

fn said(prediction: &Prediction) -> String {
    match prediction {
        Prediction::Outcome { outcome, .. } => outcome.word().replace('_', " "),
        Prediction::Cause { cause, .. } => format!("failed with {cause}"),
        Prediction::Value { range, .. } => prediction::range_said(range),
        Prediction::Effect { effect, .. } => match effect {
            Direction::Up => "up".to_owned(),
            Direction::Down => "down".to_owned(),
            Direction::None => "none".to_owned(),
        },
    }
}

fn quoted(claim: &Hypothesis) -> String {
    format!("\u{201c}{}\u{201d}", claim.claim)
}

/// Texts without those that were there before, in their order.
fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for text in texts {
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

/// What was measured of an effect of which claims predict different directions: at most one of them is true, whatever is open. With which of them the data go
/// so far, and how many launches decide.
fn contradiction(ledger: &Ledger, question: &str, claims: &[&Hypothesis]) -> Option<String> {
    let told: Vec<(&Hypothesis, &Prediction)> = claims
        .iter()
        .filter_map(|claim| Some((*claim, *questions(claim).get(question)?)))
        .filter(|(_, prediction)| matches!(prediction, Prediction::Effect { .. }))
        .collect();
    let directions = distinct(told.iter().map(|(_, prediction)| said(prediction)));
    if directions.len() < 2 {
        return None;
    }
    let measured: Vec<_> = told.iter().filter_map(|(claim, prediction)| Some((claim, prediction::measured(ledger, prediction)?))).collect();
    let seen = &measured.first()?.1.said;
    let fit: Vec<String> = measured.iter().filter(|(_, found)| found.not_so_far.is_none()).map(|(claim, _)| quoted(claim)).collect();
    let fit = if fit.is_empty() { "as none of them predicts".to_owned() } else { format!("as {} predicts", fit.join(" and ")) };
    let launches = measured.iter().filter_map(|(_, found)| found.needs.as_ref()?.launches_per_cell).max();
    let decides = launches.map_or_else(String::new, |n| format!("; {n} launches of each cell would decide"));
    Some(format!("{question} ({}), which is so far {fit} ({seen}), and not shown{decides}", directions.join(" or ")))
}

fn describe(ledger: &Ledger, claims: &[&Hypothesis]) -> Alternatives {
    let asked: Vec<BTreeMap<String, &Prediction>> = claims.iter().map(|claim| questions(claim)).collect();
    let mut all: Vec<&String> = asked.iter().flat_map(BTreeMap::keys).collect();
    all.sort_unstable();
    all.dedup();
    let mut differ = Vec::new();
    let mut silent = Vec::new();
    let mut opposed = Vec::new();
    for question in all {
        let told: Vec<&&Prediction> = asked.iter().filter_map(|claim| claim.get(question)).collect();
        let words = distinct(told.iter().map(|prediction| said(prediction)));
        if let Some(contradiction) = contradiction(ledger, question, claims) {
            opposed.push(contradiction);
            continue;
        }
        if told.first().is_none_or(|prediction| is_seen(ledger, prediction)) {
            continue;
        }
        if words.len() > 1 {
            differ.push(format!("{question}: {}", words.join(" or ")));
        } else if told.len() < claims.len() {
            silent.push(question.clone());
        }
    }
    let names = claims.iter().map(|claim| quoted(claim)).collect::<Vec<_>>().join(" and ");
    let text = match (differ.is_empty(), silent.is_empty()) {
        _ if !opposed.is_empty() => {
            format!("The data do not tell {names} apart yet: they contradict each other on {}.", opposed.join("; "))
        }
        (false, _) => format!(
            "The data cannot tell {names} apart: nothing that was run goes against one of them alone; they differ on {}.",
            differ.join(", ")
        ),
        (true, false) => format!(
            "The data cannot tell {names} apart, and they contradict each other nowhere; not all of them say what {} does.",
            silent.join(", ")
        ),
        (true, true) => {
            format!(
                "The data cannot tell {names} apart, and no launch can: they contradict each other nowhere. They need a prediction in which they differ."
            )
        }
    };
    Alternatives { claims: claims.iter().map(|claim| claim.claim.clone()).collect(), differ, text }
}

/// The cells that would tell two claims apart and were not run.
fn deciding<'a>(ledger: &Ledger, claims: &[&'a Hypothesis]) -> Vec<&'a Cell> {
    let asked: Vec<BTreeMap<String, &'a Prediction>> = claims.iter().map(|claim| questions(claim)).collect();
    let mut cells: Vec<&Cell> = Vec::new();
    for (question, prediction) in asked.iter().flatten() {
        let differs = asked.iter().filter_map(|claim| claim.get(question)).any(|other| said(other) != said(prediction));
        if let Some(cell) = prediction.cell().filter(|_| differs && !is_seen(ledger, prediction))
            && !cells.contains(&cell)
        {
            cells.push(cell);
        }
    }
    cells
}
