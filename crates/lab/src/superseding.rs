//! Conclusions that later evidence contradicts: they stay in the record, and the report says what became of them.
//!
//! At each end of a run, an interruption too, its answers are recorded as they are given. A run that is taken up again, or another run of the same
//! experiment file, may say otherwise. An answer that was open and is settled now contradicts nothing; one that was settled and is not what is said
//! now, does.

use bystander_model::evidence::Evidence;
use bystander_model::ids::{RunId, TimeNs, TrialId};
use bystander_model::report::{Answer, Conclusion, Superseded, Verdict};

use crate::ledger::Ledger;
use crate::verdict;

/// What another run of the same experiment file concluded, last.
#[derive(Debug, Clone, PartialEq)]
pub struct OtherRun {
    /// The run.
    pub run: RunId,
    /// When it concluded.
    pub time: TimeNs,
    /// What it concluded.
    pub answers: Vec<Conclusion>,
}

/// The answers of a run, to be recorded as they are given.
#[must_use]
pub fn conclusions(ledger: &Ledger) -> Vec<Conclusion> {
    verdict::answers(ledger).iter().map(of_answer).collect()
}

fn of_answer(answer: &Answer) -> Conclusion {
    Conclusion {
        about: answer.about.clone(),
        metric: answer.metric.clone(),
        verdict: answer.verdict,
        strength: answer.strength,
        estimate: answer.estimate,
        trial: answer.evidence.iter().find_map(|evidence| evidence.trial),
        text: answer.text.clone(),
    }
}

/// Every conclusion of this run and of other runs that no longer holds, oldest first, each once.
#[must_use]
pub fn superseded(ledger: &Ledger, answers: &[Answer], others: &[OtherRun]) -> Vec<Superseded> {
    let mut found: Vec<Superseded> = Vec::new();
    let mut push = |one: Superseded| {
        let known = found.iter().any(|other| {
            other.run == one.run
                && other.by_run == one.by_run
                && other.conclusion.about == one.conclusion.about
                && other.conclusion.metric == one.conclusion.metric
                && other.conclusion.verdict == one.conclusion.verdict
        });
        if !known {
            found.push(one);
        }
    };
    for (time, then) in &ledger.concluded {
        pairs(then, answers)
            .filter(|(then, now)| no_longer_holds(then, now))
            .for_each(|(then, now)| push(within(ledger, *time, then, now)));
    }
    for other in others.iter().filter(|other| other.run != ledger.run) {
        for (theirs, ours) in pairs(&other.answers, answers).filter(|(theirs, ours)| contradict(theirs, ours)) {
            push(between(ledger, other, theirs, ours));
        }
    }
    found.sort_by_key(|one| one.time_ns);
    found
}

fn pairs<'a>(then: &'a [Conclusion], now: &'a [Answer]) -> impl Iterator<Item = (&'a Conclusion, &'a Answer)> {
    then.iter().filter_map(|then| Some((then, now.iter().find(|now| now.about == then.about && now.metric == then.metric)?)))
}

/// Whether a verdict settles something.
const fn settles(verdict: Verdict) -> bool {
    matches!(
        verdict,
        Verdict::Effect
            | Verdict::NoEffectWithin
            | Verdict::InstrumentPerturbs
            | Verdict::BaselineBroken
            | Verdict::MaskedByInstrument
            | Verdict::Inert
            | Verdict::Perturbs
            | Verdict::NotNeeded
            | Verdict::Supported
            | Verdict::Refuted
    )
}

/// Verdicts that go together: the one says more than the other, or speaks of something else.
const fn go_together(one: Verdict, other: Verdict) -> bool {
    matches!(
        (one, other),
        (Verdict::Effect, Verdict::MaskedByInstrument)
            | (Verdict::MaskedByInstrument, Verdict::Effect)
            | (Verdict::NotNeeded, Verdict::Perturbs | Verdict::Inert)
            | (Verdict::Perturbs | Verdict::Inert, Verdict::NotNeeded)
    )
}

/// Whether both are settled, and not the same way.
fn contradict(then: &Conclusion, now: &Answer) -> bool {
    if !settles(then.verdict) || !settles(now.verdict) {
        return false;
    }
    let turned =
        matches!((then.estimate, now.estimate), (Some(then), Some(now)) if then != 0.0 && now != 0.0 && (then > 0.0) != (now > 0.0));
    let other_way = then.verdict == Verdict::Effect && now.verdict == Verdict::Effect && now.metric == "outcome" && turned;
    other_way || (then.verdict != now.verdict && !go_together(then.verdict, now.verdict))
}

/// Within one run a settled answer that is open again does not hold any more either.
fn no_longer_holds(then: &Conclusion, now: &Answer) -> bool {
    contradict(then, now) || (settles(then.verdict) && !settles(now.verdict))
}

fn within(ledger: &Ledger, time: TimeNs, then: &Conclusion, now: &Answer) -> Superseded {
    let later = |id: TrialId| ledger.trials.get(&id).is_some_and(|trial| trial.started > time);
    let trial = speaking(ledger, now, later);
    let by = trial.map_or_else(|| "by what was seen after it".to_owned(), |trial| format!("by trial {trial}"));
    Superseded {
        run: ledger.run.0.clone(),
        time_ns: time.0,
        conclusion: then.clone(),
        by_run: ledger.run.0.clone(),
        now: now.verdict,
        by_trial: trial,
        text: format!(
            "On {} it said of {}: {}. Contradicted {by}: now {}.",
            date(time),
            said_about(then),
            said(then.verdict),
            said(now.verdict)
        ),
        evidence: evidence_of(now, trial),
    }
}

fn between(ledger: &Ledger, other: &OtherRun, theirs: &Conclusion, ours: &Answer) -> Superseded {
    // The conclusion that a run recorded is what another one can contradict; one that never came to an end has none yet.
    let at = ledger.concluded.last().map_or(ledger.started, |(time, _)| *time);
    let theirs_is_older = other.time < at;
    if theirs_is_older {
        let trial = speaking(ledger, ours, |_| true);
        let by = trial.map_or_else(String::new, |trial| format!(", trial {trial}"));
        return Superseded {
            run: other.run.0.clone(),
            time_ns: other.time.0,
            conclusion: theirs.clone(),
            by_run: ledger.run.0.clone(),
            now: ours.verdict,
            by_trial: trial,
            text: format!(
                "On {} run {} said of {}: {}. Contradicted by this run{by}: {}.",
                date(other.time),
                other.run,
                said_about(theirs),
                said(theirs.verdict),
                said(ours.verdict)
            ),
            evidence: evidence_of(ours, trial),
        };
    }
    let by = theirs.trial.map_or_else(String::new, |trial| format!(", trial {trial}"));
    Superseded {
        run: ledger.run.0.clone(),
        time_ns: at.0,
        conclusion: of_answer(ours),
        by_run: other.run.0.clone(),
        now: theirs.verdict,
        by_trial: theirs.trial,
        text: format!(
            "On {} this run said of {}: {}. Contradicted by the later run {} on {}{by}: {}.",
            date(at),
            said_about(theirs),
            said(ours.verdict),
            other.run,
            date(other.time),
            said(theirs.verdict)
        ),
        evidence: Vec::new(),
    }
}

/// The trial that an answer rests on: one that it names as evidence, of another cell than the baseline, where there is such a one.
fn speaking(ledger: &Ledger, answer: &Answer, holds: impl Fn(TrialId) -> bool) -> Option<TrialId> {
    let named = answer.evidence.iter().filter_map(|evidence| evidence.trial).chain(answer.trials.iter().copied());
    let all: Vec<TrialId> = named.filter(|id| holds(*id)).collect();
    let of_another = |id: &TrialId| ledger.trials.get(id).is_some_and(|trial| trial.slot.cell != ledger.plan.baseline);
    all.iter().copied().find(of_another).or_else(|| all.first().copied())
}

fn evidence_of(answer: &Answer, trial: Option<TrialId>) -> Vec<Evidence> {
    answer.evidence.iter().filter(|evidence| evidence.trial == trial).take(2).cloned().collect()
}

fn said(verdict: Verdict) -> String {
    verdict.word().replace('_', " ")
}

/// `allreduce`, `allreduce on kv_tokens`, `“the print broke it”`.
fn said_about(conclusion: &Conclusion) -> String {
    let about = match conclusion.about.split_once(':') {
        Some(("hypothesis", claim)) => format!("\u{201c}{claim}\u{201d}"),
        Some((_, name)) => name.to_owned(),
        None => conclusion.about.clone(),
    };
    if conclusion.metric == "outcome" { about } else { format!("{about} on {}", conclusion.metric) }
}

/// A date and time of day in UTC, such as `2026-11-29 18:53 UTC`; days to civil dates as in H. Hinnant, *chrono-Compatible Low-Level Date Algorithms*.
fn date(time: TimeNs) -> String {
    let minutes = time.0 / 60_000_000_000;
    let (days, minute) = (minutes / 1440, minutes % 1440);
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", minute / 60, minute % 60)
}

#[cfg(test)]
mod tests {
    use bystander_model::ids::TimeNs;

    use super::date;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let at = |seconds: u64| date(TimeNs(seconds * 1_000_000_000));
        assert_eq!(at(0), "1970-01-01 00:00 UTC");
        assert_eq!(at(951_782_399), "2000-02-28 23:59 UTC");
        assert_eq!(at(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(at(1_796_000_000), "2026-11-30 00:53 UTC");
    }
}
