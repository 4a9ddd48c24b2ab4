//! Hypotheses: refuted by one counterexample, supported only when every prediction held as often as the level asks.

use bystander_model::report::{Answer, Means, Needs, Strength, Verdict};

use super::arm::{Arm, evidence_of, strength_of};
use super::look::{Look, against_level};
use super::sentence::{launches, p_value};
use super::{contaminated, prediction, settling};
use crate::carry::Baselines;
use crate::cold::{ColdStart, WARM_UP};
use crate::contrast::ALPHA;
use crate::ledger::{Ledger, TrialRecord};
use crate::looks;
use crate::old_log;
use crate::plan::{Hypothesis, Prediction};

/// Judges one claim.
pub(super) fn judge(ledger: &Ledger, hypothesis: &Hypothesis) -> Answer {
    let mut answer = Answer::new(format!("hypothesis:{}", hypothesis.claim), "outcome", Verdict::Open);
    answer.trials = ledger
        .trials
        .values()
        .filter(|trial| trial.counts() && hypothesis.predicts.iter().any(|p| prediction::is_about(ledger, p, &trial.slot.cell)))
        .map(|trial| trial.id)
        .collect();
    let (sound, unsound) = contaminated::told_apart(ledger, hypothesis);
    if refute(&mut answer, ledger, &sound)
        || carried_over(&mut answer, ledger, &sound)
        || cold_started(&mut answer, ledger, &sound)
        || refute_by_old_log(&mut answer, ledger, &sound)
    {
        return answer;
    }
    if let Some(why) = unsound {
        contaminated::of_hypothesis(&mut answer, why);
        return answer;
    }
    let unseen: Vec<(Means, String)> = hypothesis.predicts.iter().filter_map(|p| prediction::unseen(ledger, p)).collect();
    if !unseen.is_empty() {
        let needs = Needs::of(unseen);
        answer.text = format!("Nothing is known without {}.", needs.missing.join(" and "));
        answer.needs = Some(needs);
        return answer;
    }
    if let Some((text, evidence)) = hypothesis.predicts.iter().find_map(|p| prediction::of_unknown_cause(ledger, p)) {
        answer.text = text;
        answer.evidence = evidence;
        answer.needs = Some(Needs::of([(Means::Probe, "what tells the cause: a line of its output, or a probe where it ends".to_owned())]));
        return answer;
    }
    weigh(&mut answer, ledger, hypothesis);
    answer
}

/// A trial that did what the claim says it cannot, or an effect that is shown to go another way.
fn refute(answer: &mut Answer, ledger: &Ledger, hypothesis: &Hypothesis) -> bool {
    let (baselines, cold) = (Baselines::of(ledger), ColdStart::of(ledger));
    let counts = |trial: &TrialRecord| !baselines.may_be_carried_over(trial) && !cold.holds(trial);
    for predicted in &hypothesis.predicts {
        let counterexample = prediction::against(ledger, predicted).find(|counter| counts(counter.trial));
        if let Some(counter) = counterexample {
            refuted(answer, &format!("{} One counterexample is enough.", counter.text), "one counterexample");
            answer.evidence = counter.evidence;
            return true;
        }
        if let Some(effect) = prediction::effect(ledger, predicted).filter(|effect| effect.against.is_some()) {
            refuted(answer, effect.against.as_deref().unwrap_or_default(), &effect.rule);
            answer.p = effect.p;
            answer.numbers.push(effect.said);
            answer.evidence = effect.evidence;
            return true;
        }
    }
    false
}

fn refuted(answer: &mut Answer, text: &str, rule: &str) {
    answer.verdict = Verdict::Refuted;
    answer.strength = Some(Strength::Shown);
    answer.rule = Some(format!("a claim is refuted by {rule}"));
    text.clone_into(&mut answer.text);
}

/// Every counterexample may be what an edit left behind: then none is one.
fn carried_over(answer: &mut Answer, ledger: &Ledger, hypothesis: &Hypothesis) -> bool {
    let Some((before, after)) = Baselines::of(ledger).carried_over() else { return false };
    let Some(counter) = hypothesis.predicts.iter().find_map(|predicted| prediction::against(ledger, predicted).next()) else {
        return false;
    };
    answer.text = format!(
        "Contaminated: trial {} speaks against it, but the bare baseline completed before the first edit (trial {before}) and never after it (from trial {after}), so that failure may be what an edit left behind.",
        counter.trial.id
    );
    answer.evidence = evidence_of(counter.trial);
    answer.needs =
        Some(Needs::of([(Means::Edit, "launches that clean up what the edited program leaves, such as built files".to_owned())]));
    true
}

/// Every counterexample is among the failures with which the run began, and its cell never failed again: then none is one.
fn cold_started(answer: &mut Answer, ledger: &Ledger, hypothesis: &Hypothesis) -> bool {
    let Some(counter) = hypothesis.predicts.iter().find_map(|predicted| prediction::against(ledger, predicted).next()) else {
        return false;
    };
    let Some(seen) = ColdStart::of(ledger).said() else { return false };
    answer.text = format!(
        "Trial {} speaks against it, but {seen}: a cold start does that, such as an empty cache or a first compile, and chance does too.",
        counter.trial.id
    );
    answer.evidence = evidence_of(counter.trial);
    answer.needs = Some(Needs::of([(Means::File, WARM_UP.to_owned())]));
    true
}

/// A log of an earlier run whose configuration is the cell's in everything that is known of both. What else it differed in nobody knows, so it is no
/// more than an anecdote.
fn refute_by_old_log(answer: &mut Answer, ledger: &Ledger, hypothesis: &Hypothesis) -> bool {
    for log in &ledger.old_logs {
        for predicted in &hypothesis.predicts {
            let Some(cell) = predicted.cell().filter(|cell| cell.is_bare()) else { continue };
            if !old_log::against(ledger, log, cell).same {
                continue;
            }
            let Some(text) = prediction::old_log_against(log, predicted) else { continue };
            answer.verdict = Verdict::Refuted;
            answer.strength = Some(Strength::Anecdotal);
            answer.rule = Some("a claim is refuted by one counterexample; this one is a log of an earlier run".to_owned());
            answer.text = format!(
                "{text} Its configuration is that of {cell} in everything that is known of both; what was put in then, and what else differed, is not known."
            );
            answer.evidence = log.cause.iter().flat_map(|cause| cause.evidence.iter()).chain(&log.evidence).take(1).cloned().collect();
            answer.evidence.extend(log.configuration.clone());
            answer.needs = Some(Needs::of([settling::launch_of(&ledger.plan, cell)]));
            return true;
        }
    }
    false
}

/// Every prediction held so far: whether that is enough.
fn weigh(answer: &mut Answer, ledger: &Ledger, hypothesis: &Hypothesis) {
    let predicts = &hypothesis.predicts;
    let arms: Vec<Arm<'_>> = predicts.iter().filter_map(|p| Some(Arm::of(ledger, p.cell()?))).collect();
    let least = arms.iter().map(Arm::n).min().unwrap_or_else(|| prediction::least_pairs(ledger, predicts));
    answer.strength = Some(strength_of(least));
    answer.evidence = arms.iter().flat_map(Arm::evidence).collect();
    let held = format!("Every prediction held in {} per cell", launches(least));
    let mut open: Vec<String> = Vec::new();
    let (mut not_so_far, mut elsewhere): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let (mut measured, mut decides) = (0_usize, None);
    for predicted in predicts {
        let Some(shown) = prediction::measured(ledger, predicted) else { continue };
        measured += 1;
        answer.numbers.push(shown.said.clone());
        answer.evidence.extend(shown.evidence);
        not_so_far.extend(shown.not_so_far.map(|what| format!("it predicts {what}, and that is not what was seen: {}", shown.said)));
        elsewhere.extend(shown.elsewhere);
        if !shown.is_shown {
            open.push(shown.said);
            decides = farther(decides, shown.needs);
        }
    }
    if !not_so_far.is_empty() {
        answer.strength = None;
        answer.text = format!("Not every prediction holds so far: {}. That does not refute it.", not_so_far.join("; "));
        decided_by(answer, decides);
        return;
    }
    if !elsewhere.is_empty() {
        answer.strength = None;
        answer.text =
            format!("It does not hold everywhere, and it names no cell: {}; {}.", elsewhere.join("; "), answer.numbers.join("; "));
        answer.needs = Some(Needs::of([(Means::File, PER_CELL.to_owned())]));
        return;
    }
    let outcomes = outcomes(answer, ledger, predicts);
    let one_sided = matches!(outcomes, Outcomes::OneSided) && (measured == 0 || !open.is_empty());
    if let Outcomes::Chance(_) | Outcomes::TooFew = outcomes {
        answer.text = match outcomes {
            Outcomes::Chance(p) => format!("{held}, which chance explains too ({}).", p_value(p)),
            _ => format!("{held}, and that is too little for a test."),
        };
        let needs = pair_needs(ledger, predicts);
        answer.needs = Some(Needs { rule: needs.rule, launches_per_cell: needs.launches_per_cell, ..more() });
    } else if !open.is_empty() {
        answer.text = format!("{held}, but that is not shown of all launches: {}.", open.join("; "));
        decided_by(answer, decides);
    } else if one_sided {
        answer.text =
            format!("{held}, but the claim predicts the same outcome everywhere, so chance and other causes are not told apart from it.");
        answer.needs =
            Some(Needs::of([(Means::File, "a prediction of the opposite outcome where the claim's cause is absent".to_owned())]));
    } else {
        answer.verdict = Verdict::Supported;
        answer.strength = Some(Strength::Shown);
        answer.text = match outcomes {
            Outcomes::Shown(p) => format!("{held}, and that is beyond chance ({}).", p_value(p)),
            _ => format!("{held}, and that is shown: {}.", answer.numbers.join("; ")),
        };
    }
}

/// A claim that holds beside one level and not beside another.
const PER_CELL: &str = "a claim for each cell: predictions of the metric with `cell` and `above`, `below` or `within`";

/// The needs that take more launches.
fn farther(one: Option<Needs>, other: Option<Needs>) -> Option<Needs> {
    let per_cell = |needs: &Option<Needs>| needs.as_ref().and_then(|needs| needs.launches_per_cell);
    if per_cell(&other) > per_cell(&one) { other } else { one.or(other) }
}

/// Says how many launches decide a prediction of a metric, where that can be planned.
fn decided_by(answer: &mut Answer, decides: Option<Needs>) {
    let Some(needs) = decides.filter(|needs| needs.launches_per_cell.is_some()) else {
        answer.needs = Some(more());
        return;
    };
    answer.needs = Some(Needs { launches_per_cell: needs.launches_per_cell, rule: needs.rule, ..more() });
    super::factor::say_needs(answer);
}

fn more() -> Needs {
    Needs::of([(Means::Launches, "more launches of the cells it predicts".to_owned())])
}

/// What the predictions of outcomes and causes come to, all of which held.
enum Outcomes {
    /// There is none.
    None,
    /// All predict one outcome.
    OneSided,
    /// The cells are shown to differ as predicted.
    Shown(f64),
    /// They are not.
    Chance(f64),
    /// No block was looked at yet.
    TooFew,
}

fn outcomes(answer: &mut Answer, ledger: &Ledger, predicts: &[Prediction]) -> Outcomes {
    if !predicts.iter().any(|p| prediction::fails(p).is_some()) {
        return Outcomes::None;
    }
    let pairs = opposite(predicts);
    if pairs.is_empty() {
        return Outcomes::OneSided;
    }
    answer.rule = Some(format!("every two cells of opposite predictions differ by {}", settling::rule_said(&ledger.plan, ALPHA)));
    let mut all = (0.0_f64, true);
    for (fails, completes) in pairs {
        let Some(followed) = looks::follow_cells(ledger, fails, completes, ALPHA, ledger.plan.blocks.max) else {
            return Outcomes::Chance(1.0);
        };
        let Some(look) = Look::of(&followed, Arm::of(ledger, fails).tally(), Arm::of(ledger, completes).tally()) else {
            return Outcomes::TooFew;
        };
        answer.numbers.push(format!("{fails} against {completes}: {} ({})", look.said(), against_level(&followed, ALPHA)));
        all = (all.0.max(followed.decision.p()), all.1 && followed.is_shown());
    }
    answer.p = Some(all.0);
    if all.1 { Outcomes::Shown(all.0) } else { Outcomes::Chance(all.0) }
}

/// Every pair of cells of which the one is predicted to fail and the other to complete.
fn opposite(predicts: &[Prediction]) -> Vec<(&bystander_model::cell::Cell, &bystander_model::cell::Cell)> {
    let of = |wanted: bool| predicts.iter().filter(move |p| prediction::fails(p) == Some(wanted)).filter_map(Prediction::cell);
    of(true).flat_map(|fails| of(false).map(move |completes| (fails, completes))).collect()
}

/// What would show the pair that is farthest from it.
fn pair_needs(ledger: &Ledger, predicts: &[Prediction]) -> Needs {
    let needs = opposite(predicts).into_iter().map(|(fails, completes)| {
        let (fails, completes) = (Arm::of(ledger, fails), Arm::of(ledger, completes));
        settling::needs(&ledger.plan, fails.tally(), completes.tally(), ALPHA)
    });
    needs.max_by_key(|needs| needs.launches_per_cell).unwrap_or_default()
}
