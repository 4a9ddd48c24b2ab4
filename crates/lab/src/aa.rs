//! What comes of comparing a cell with itself: every difference that is found is one that the pipeline makes up.

use bystander_model::report::{AaReport, Answer, Verdict};

use crate::contrast::{Contrast, contrasts};
use crate::design::aa::factor;
use crate::ledger::Ledger;
use crate::looks;
use crate::verdict::sentence::{comparisons, percent};

/// More differences than are to be expected count as beyond chance where as many or more come by chance in no more than this share of runs.
const CHANCE: f64 = 0.05;

/// Counts the differences between the two labels of an A/A plan; `None` for any other plan.
///
/// Each comparison is made at the level of its contrast, so that many false differences are to be expected at most. That as many or more come by chance is
/// computed as if comparisons were independent (a binomial tail); metrics of the same launches are not quite.
#[must_use]
pub fn judge(ledger: &Ledger, answers: &[Answer]) -> Option<AaReport> {
    factor(&ledger.plan)?;
    let contrast = contrasts(&ledger.plan).into_iter().next()?;
    let about = contrast.about(&ledger.plan);
    let mut differing = Vec::new();
    let mut tests = 0;
    for answer in answers.iter().filter(|answer| answer.about == about) {
        let (is_tested, differs) = match answer.metric.as_str() {
            "outcome" => outcome(ledger, &contrast),
            _ => (answer.estimate.is_some(), answer.verdict == Verdict::Effect),
        };
        tests += u32::from(is_tested);
        if differs {
            differing.push(answer.metric.clone());
        }
    }
    let differences = u32::try_from(differing.len()).unwrap_or(u32::MAX);
    let chance = tail(tests, differences, contrast.alpha);
    let beyond_chance = differences > 0 && chance <= CHANCE + 1e-12;
    let expected = f64::from(tests) * contrast.alpha;
    let mut report =
        AaReport { tests, differences, differing, level: contrast.alpha, expected, chance, beyond_chance, text: String::new() };
    report.text = said(&report);
    Some(report)
}

/// Whether outcomes were compared at all, and whether they differ.
fn outcome(ledger: &Ledger, contrast: &Contrast) -> (bool, bool) {
    let followed = looks::follow(ledger, contrast, ledger.plan.blocks.max);
    followed.map_or((false, false), |followed| (followed.blocks > 1, followed.is_shown()))
}

fn said(report: &AaReport) -> String {
    let AaReport { tests, differences, level, expected, .. } = report;
    if *tests == 0 {
        return "nothing was compared yet: no metric has two launches of each label".to_owned();
    }
    let what = if report.differing.is_empty() { String::new() } else { format!(" ({})", report.differing.join(", ")) };
    let found = format!(
        "{differences} of {} of the baseline with itself found a difference{what}; at a level of {level} each, at most {expected:.2} are to be expected",
        comparisons(*tests as usize)
    );
    let chance = percent(report.chance);
    match (differences, report.beyond_chance) {
        (0, _) => found,
        (_, false) => format!("{found}, and as many or more come by chance in {chance} of such runs"),
        (_, true) => format!(
            "{found}, and as many or more come by chance in only {chance} of such runs: the pipeline finds differences where there are none, \
and none that it finds in this experiment is to be believed"
        ),
    }
}

/// The chance of `least` or more successes in `tests` independent tries at `level` each.
fn tail(tests: u32, least: u32, level: f64) -> f64 {
    let mut term = (1.0 - level).powi(i32::try_from(tests).unwrap_or(i32::MAX));
    let mut below = 0.0;
    for successes in 0..least.min(tests + 1) {
        below += term;
        term *= f64::from(tests - successes) / f64::from(successes + 1) * level / (1.0 - level);
    }
    (1.0 - below).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::tail;

    #[test]
    fn the_chance_of_false_differences_is_the_binomial_tail() {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(close(tail(4, 0, 0.05), 1.0) && close(tail(1, 1, 0.05), 0.05));
        assert!(close(tail(4, 1, 0.05), 1.0 - 0.95_f64.powi(4)));
        assert!(close(tail(2, 2, 0.05), 0.0025) && close(tail(3, 2, 0.1), 3.0 * 0.01 * 0.9 + 0.001));
    }
}
