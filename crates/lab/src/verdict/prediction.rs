//! What one prediction says, and what the data say of it: what speaks against it, whether it is shown, what is missing to tell.

use bystander_model::cell::Cell;
use bystander_model::evidence::Evidence;
use bystander_model::old_log::OldLog;
use bystander_model::outcome::Outcome;
use bystander_model::report::{Means, Needs};

use super::arm::evidence_of;
use super::effect::{EXACT, Effect};
use super::elsewhere;
use super::found::Found;
use super::metric::{evidence as metric_evidence, margin, said};
use super::sentence::{figure, launches};
use super::settling;
use crate::contrast::{ALPHA, Contrast, Subject, contrasts};
use crate::ledger::{Ledger, TrialRecord};
use crate::plan::{Bounds, Direction, Metric, Prediction};
use crate::stats::student;

/// A trial that did not do what was predicted.
pub(super) struct Counterexample<'a> {
    pub(super) trial: &'a TrialRecord,
    pub(super) text: String,
    pub(super) evidence: Vec<Evidence>,
}

/// What was measured of a prediction about a metric.
pub(super) struct Measured {
    pub(super) is_shown: bool,
    /// What it predicts where the data so far go another way; `None` where they go as predicted.
    pub(super) not_so_far: Option<String>,
    /// In which other cells the opposite is seen, where they are compared.
    pub(super) elsewhere: Option<String>,
    /// What would show it, or the opposite.
    pub(super) needs: Option<Needs>,
    /// Why the opposite is shown, if it is.
    pub(super) against: Option<String>,
    pub(super) said: String,
    pub(super) rule: String,
    pub(super) p: Option<f64>,
    pub(super) evidence: Vec<Evidence>,
}

/// Whether it predicts a failure; `None` for predictions about metrics.
pub(super) fn fails(prediction: &Prediction) -> Option<bool> {
    match prediction {
        Prediction::Outcome { outcome, .. } => Some(*outcome != Outcome::Completed),
        Prediction::Cause { .. } => Some(true),
        Prediction::Value { .. } | Prediction::Effect { .. } => None,
    }
}

/// Whether a prediction speaks of a cell.
pub(super) fn is_about(ledger: &Ledger, prediction: &Prediction, cell: &Cell) -> bool {
    match prediction {
        Prediction::Effect { factor, level, .. } => {
            let (treated, control) = compared(ledger, factor, level);
            *cell == treated || *cell == control
        }
        other => other.cell() == Some(cell),
    }
}

/// The two cells that the plan compares for a level of a factor; where it compares none, the baseline and the baseline with that level.
pub(super) fn compared(ledger: &Ledger, factor: &str, level: &str) -> (Cell, Cell) {
    if let Some(contrast) = contrast_of(ledger, factor, level) {
        return (contrast.treated, contrast.control);
    }
    let mut treated = ledger.plan.baseline.clone();
    treated.levels.insert(factor.to_owned(), level.to_owned());
    (treated, ledger.plan.baseline.clone())
}

/// The comparison that the plan makes for a level of a factor.
pub(super) fn contrast_of(ledger: &Ledger, factor: &str, level: &str) -> Option<Contrast> {
    let of_level = |contrast: &Contrast| matches!(&contrast.subject, Subject::Factor { factor: f, level: l } if f == factor && l == level);
    contrasts(&ledger.plan).into_iter().find(of_level)
}

/// Whether a class of causes is the predicted one, or a part of it.
fn is_of_class(class: &str, predicted: &str) -> bool {
    class == predicted || class.strip_prefix(predicted).is_some_and(|rest| rest.starts_with('.'))
}

/// Classes that say how a program ended and not why.
const HOW: [&str; 8] = ["exit", "exited_early", "signal", "timeout", "ready_then_died", "died_under_load", "workload", "unknown"];

/// Whether a class leaves open if the predicted cause was it: a program that only says its exit code may have run out of memory.
fn leaves_open(class: &str, predicted: &str) -> bool {
    let kind = |class: &str| class.split('.').next().is_some_and(|first| HOW.contains(&first));
    kind(class) && !kind(predicted)
}

/// A failure of which it is not known whether its cause is the predicted one.
pub(super) fn of_unknown_cause(ledger: &Ledger, prediction: &Prediction) -> Option<(String, Vec<Evidence>)> {
    let Prediction::Cause { cell, cause: predicted } = prediction else { return None };
    ledger.data(cell).find_map(|trial| {
        let class = trial.end.as_ref()?.cause.as_ref()?.class.as_str();
        leaves_open(class, predicted).then(|| {
            let text = format!(
                "It predicts that {cell} fails with {predicted}, and of trial {} is known how it ended ({class}) and not why.",
                trial.id
            );
            (text, evidence_of(trial))
        })
    })
}

/// What a cell does of which an outcome is predicted.
fn verb(predicted: Outcome) -> String {
    match predicted {
        Outcome::Completed => "completes".to_owned(),
        Outcome::Failed => "fails".to_owned(),
        Outcome::TimedOut => "times out".to_owned(),
        other => format!("is {}", other.word()),
    }
}

/// Whether an outcome is the predicted one. A time-out is a failure, as in every comparison of outcomes.
fn is_outcome(seen: Option<Outcome>, predicted: Outcome) -> bool {
    seen == Some(predicted) || (predicted == Outcome::Failed && seen == Some(Outcome::TimedOut))
}

/// The trials that did not do what was predicted of their cell.
pub(super) fn against<'a>(ledger: &'a Ledger, prediction: &'a Prediction) -> Box<dyn Iterator<Item = Counterexample<'a>> + 'a> {
    let Some(cell) = prediction.cell() else { return Box::new(std::iter::empty()) };
    Box::new(ledger.data(cell).filter_map(move |trial| {
        let outcome = trial.outcome().map_or("", Outcome::word);
        let (text, evidence) = match prediction {
            Prediction::Outcome { outcome: predicted, .. } => {
                (!is_outcome(trial.outcome(), *predicted)).then_some(())?;
                (format!("It predicts that {cell} {}, and trial {} {outcome}.", verb(*predicted), trial.id), evidence_of(trial))
            }
            Prediction::Cause { cause: predicted, .. } => {
                let class = trial.end.as_ref().and_then(|end| end.cause.as_ref()).map(|cause| cause.class.as_str());
                let seen = match class.filter(|_| trial.outcome() != Some(Outcome::Completed)) {
                    Some(class) if is_of_class(class, predicted) || leaves_open(class, predicted) => return None,
                    Some(class) => format!("{outcome} with {class}"),
                    None => outcome.to_owned(),
                };
                (format!("It predicts that {cell} fails with {predicted}, and trial {} {seen}.", trial.id), evidence_of(trial))
            }
            Prediction::Value { metric, range, .. } => {
                let value = value(trial, metric).filter(|value| !range.holds(*value))?;
                let text = format!(
                    "It predicts that {metric} of {cell} is {}, and in trial {} it is {}.",
                    range_said(range),
                    trial.id,
                    figure(value)
                );
                (text, trial.end.iter().filter_map(|end| end.metric_evidence.get(metric).cloned()).collect())
            }
            Prediction::Effect { .. } => return None,
        };
        Some(Counterexample { trial, text, evidence })
    }))
}

/// What has to be seen before anything can be said of a prediction.
pub(super) fn unseen(ledger: &Ledger, prediction: &Prediction) -> Option<(Means, String)> {
    let measured = |cell: &Cell, metric: &str| {
        let (means, launch) = settling::launch_of(&ledger.plan, cell);
        (means, format!("{launch} that completes and shows {metric}"))
    };
    match prediction {
        Prediction::Effect { factor, level, metric, .. } => {
            let (treated, control) = compared(ledger, factor, level);
            let lacks = [&control, &treated].into_iter().find(|cell| values(ledger, cell, metric).next().is_none());
            lacks.map(|cell| measured(cell, metric))
        }
        Prediction::Value { cell, metric, .. } if ledger.data(cell).next().is_some() => {
            values(ledger, cell, metric).next().is_none().then(|| measured(cell, metric))
        }
        other => other.cell().filter(|cell| ledger.data(cell).next().is_none()).map(|cell| settling::launch_of(&ledger.plan, cell)),
    }
}

/// The fewest blocks behind any predicted effect.
pub(super) fn least_pairs(ledger: &Ledger, predicts: &[Prediction]) -> u32 {
    predicts.iter().filter_map(|p| effect_of(ledger, p).map(|found| found.1.n())).min().unwrap_or(0)
}

/// What was measured, of a prediction about a metric; `None` for others.
pub(super) fn measured(ledger: &Ledger, prediction: &Prediction) -> Option<Measured> {
    match prediction {
        Prediction::Value { cell, metric, range } => Some(value_measured(ledger, cell, metric, range)),
        Prediction::Effect { .. } => effect(ledger, prediction),
        Prediction::Outcome { .. } | Prediction::Cause { .. } => None,
    }
}

/// Whether the values of a cell are shown to lie where they are predicted.
fn value_measured(ledger: &Ledger, cell: &Cell, metric: &str, range: &Bounds) -> Measured {
    let values: Vec<f64> = values(ledger, cell, metric).collect();
    let n = launches(u32::try_from(values.len()).unwrap_or(u32::MAX));
    let interval = student::mean_difference(&values, 1.0 - ALPHA).ok().map(|found| found.interval);
    let identical = values.len() >= EXACT as usize && values.windows(2).all(|two| two[0].to_bits() == two[1].to_bits());
    let (is_shown, seen) = match interval {
        Some(found) => {
            let within = range.holds(found.low) && range.holds(found.high);
            (within, format!("mean {} to {} (95 %, t) in {n}", figure(found.low), figure(found.high)))
        }
        None => (identical, format!("the same in {n}")),
    };
    let evidence = ledger.data(cell).find_map(|trial| trial.end.as_ref()?.metric_evidence.get(metric).cloned());
    Measured {
        is_shown,
        not_so_far: None,
        elsewhere: None,
        needs: None,
        against: None,
        said: format!("{metric} of {cell} {}: {seen}", range_said(range)),
        rule: "the 95 % interval of the mean lies in the predicted range".to_owned(),
        p: None,
        evidence: evidence.into_iter().collect(),
    }
}

fn effect_of<'a>(ledger: &'a Ledger, prediction: &Prediction) -> Option<((Cell, Cell), Effect, &'a Metric)> {
    let Prediction::Effect { factor, level, metric: name, .. } = prediction else { return None };
    let metric = ledger.plan.metrics.get(name)?;
    let (treated, control) = compared(ledger, factor, level);
    let effect = Effect::of(ledger, name, metric, &treated, &control, 1.0 - ALPHA);
    Some(((treated, control), effect, metric))
}

/// Whether an effect is shown to go as predicted, or shown not to.
pub(super) fn effect(ledger: &Ledger, prediction: &Prediction) -> Option<Measured> {
    let Prediction::Effect { factor, level, metric: name, effect: direction } = prediction else { return None };
    let ((treated, control), effect, metric) = effect_of(ledger, prediction)?;
    let found = Found::of(metric, &effect)?;
    let is_within = found.is_within;
    let against = found.is_against(*direction);
    let predicted = verb_of(*direction);
    let seen = said(metric, &effect);
    let within = if is_within { format!(", which is within {}", margin(metric)) } else { String::new() };
    let elsewhere = elsewhere::against(ledger, prediction, *direction);
    Some(Measured {
        is_shown: found.is_for(*direction) && elsewhere.is_none(),
        not_so_far: (!found.goes(*direction)).then(|| format!("that {name} {predicted}")),
        elsewhere,
        needs: found.needs(*direction, metric, &effect),
        against: against.then(|| {
            let not = if is_within && *direction != Direction::None {
                format!("it is shown that it does not by more than {}", margin(metric))
            } else {
                "it is shown that it does not".to_owned()
            };
            format!("It predicts that {name} {predicted} with {factor}={level}, and {not}: {seen}{within}.")
        }),
        said: format!("{name} with {factor}={level} against {control}: {seen}{within}"),
        rule: "a shown effect that goes another way".to_owned(),
        p: effect.p,
        evidence: metric_evidence(ledger, name, metric, &treated, &control, &effect),
    })
}

/// What a metric does by a prediction.
const fn verb_of(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "grows",
        Direction::Down => "shrinks",
        Direction::None => "stays the same",
    }
}

/// What a log of an earlier run did against a prediction; only what it shows positively counts.
pub(super) fn old_log_against(log: &OldLog, prediction: &Prediction) -> Option<String> {
    let name = &log.name;
    let cell = prediction.cell()?;
    match (prediction, log.outcome) {
        (Prediction::Outcome { outcome, .. }, seen @ (Outcome::Completed | Outcome::Failed)) if !is_outcome(Some(seen), *outcome) => {
            Some(format!("It predicts that {cell} {}, and {name} {}.", verb(*outcome), seen.word()))
        }
        (Prediction::Cause { cause, .. }, Outcome::Completed) => {
            Some(format!("It predicts that {cell} fails with {cause}, and {name} completed."))
        }
        (Prediction::Cause { cause: predicted, .. }, Outcome::Failed) => {
            let class = &log.cause.as_ref()?.class;
            (!is_of_class(class, predicted) && !leaves_open(class, predicted))
                .then(|| format!("It predicts that {cell} fails with {predicted}, and {name} failed with {class}."))
        }
        _ => None,
    }
}

/// A metric of the launches of a cell that completed.
fn values<'a>(ledger: &'a Ledger, cell: &'a Cell, metric: &'a str) -> impl Iterator<Item = f64> + 'a {
    ledger.data(cell).filter_map(move |trial| value(trial, metric))
}

/// A metric of a launch that completed.
pub(super) fn value(trial: &TrialRecord, metric: &str) -> Option<f64> {
    let end = trial.end.as_ref().filter(|end| end.outcome == Outcome::Completed)?;
    end.metrics.get(metric).copied().flatten().filter(|value| value.is_finite())
}

/// `above 100`, `below 100`, `within 90 to 110`.
pub(super) fn range_said(range: &Bounds) -> String {
    match (range.low, range.high) {
        (Some(low), Some(high)) => format!("within {} to {}", figure(low), figure(high)),
        (Some(low), None) => format!("above {}", figure(low)),
        (None, Some(high)) => format!("below {}", figure(high)),
        (None, None) => "anything".to_owned(),
    }
}
