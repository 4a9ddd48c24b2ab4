//! Metrics of the requests that were answered, where not as many failed in one cell as in the other.

use bystander_lab::plan::{Blocks, Direction, Hypothesis, MetricSource, Plan, Prediction, Scale};
use bystander_model::cell::Cell;
use bystander_model::event::TrialEnd;
use bystander_model::outcome::Outcome;
use bystander_model::report::{Answer, Strength, Verdict};
use bystander_model::traffic::Summary;
use indexmap::IndexMap;

use crate::scripted::{Ends, Scripted, answer, plan, run};

/// A plan of a time, a rate and the share that failed, and a claim that b is faster.
fn of_traffic() -> Plan {
    let mut plan = Plan { blocks: Blocks { min: 4, max: 4 }, primary: "mean".into(), ..plan(&["a", "b"], &[]) };
    let tokens = plan.metrics["tokens"].clone();
    let of = |name: &str, scale| bystander_lab::plan::Metric {
        source: MetricSource::Traffic { name: name.into() },
        scale,
        margin: Some(0.05),
        unit: None,
    };
    plan.metrics = IndexMap::from([
        ("mean".to_owned(), of("e2e_mean", Scale::Ratio)),
        ("errors".to_owned(), of("error_rate", Scale::Difference)),
        ("own".to_owned(), bystander_lab::plan::Metric { margin: None, ..tokens }),
    ]);
    let faster = Prediction::Effect { factor: "arm".into(), level: "b".into(), metric: "mean".into(), effect: Direction::Down };
    let own = Prediction::Effect { factor: "arm".into(), level: "b".into(), metric: "own".into(), effect: Direction::Down };
    plan.hypotheses =
        vec![Hypothesis { claim: "b is faster".into(), predicts: vec![faster] }, Hypothesis { claim: "own".into(), predicts: vec![own] }];
    plan
}

/// Launches of which the two cells' shares of failed requests are these, of so many each; b takes a third of the time.
fn told(sent: u64, failed: [u64; 2]) -> (Answer, Answer, Answer, Answer) {
    let script = move |cell: &Cell, n: u32| {
        let b = cell.levels["arm"] == "b";
        let failed = failed[usize::from(b)];
        let summary =
            Summary { sent, completed: sent - failed, error_rate: failed as f64 / sent as f64, tolerated: 0.5, ..Summary::default() };
        let time = (if b { 0.03 } else { 0.1 }) * (1.0 + 0.01 * f64::from(n % 3) * if b { 1.0 } else { -1.0 });
        let metrics = [("mean", time), ("errors", summary.error_rate), ("own", 1000.0 * time)];
        let metrics = metrics.into_iter().map(|(name, value)| (name.to_owned(), Some(value))).collect();
        Ends::As(Box::new(TrialEnd { traffic: Some(Box::new(summary)), metrics, ..TrialEnd::new(Outcome::Completed) }))
    };
    let (ledger, _) = run(&of_traffic(), &mut Scripted::new(script));
    let of = |metric: &str| answer(&ledger, "factor:arm", metric);
    (of("mean"), of("errors"), of("own"), answer(&ledger, "hypothesis:b is faster", "outcome"))
}

#[test]
fn times_of_those_that_survived_name_no_winner() {
    let (mean, errors, own, claim) = told(20, [0, 4]);
    assert_eq!((mean.verdict, mean.strength), (Verdict::Insufficient, None), "{}", mean.text);
    assert!(
        mean.text.starts_with("No winner is named: 16 of 80 requests of b/none failed and 0 of 80 requests of a/none (p < 0.001)"),
        "{}",
        mean.text
    );
    assert!(mean.text.contains("Of those that were answered: \u{2212}6"), "the figure stays: {}", mean.text);
    assert!(mean.needs.is_some_and(|needs| needs.missing[0].starts_with("a load that both cells answer")));
    assert_eq!((errors.verdict, errors.strength), (Verdict::Effect, Some(Strength::Shown)), "which fails more is shown: {}", errors.text);
    assert_eq!(own.verdict, Verdict::Effect, "what the program prints is of no requests: {}", own.text);
    assert_eq!(claim.verdict, Verdict::Open, "{}", claim.text);
    assert!(claim.text.contains("is of different requests"), "{}", claim.text);
}

#[test]
fn shares_that_are_alike_leave_the_answer() {
    for (sent, failed) in [(20, [0, 0]), (20, [4, 4]), (1000, [8, 9]), (100_000, [120, 121])] {
        let (mean, .., claim) = told(sent, failed);
        assert_eq!((mean.verdict, mean.strength), (Verdict::Effect, Some(Strength::Shown)), "{failed:?} of {sent}: {}", mean.text);
        assert_eq!(claim.verdict, Verdict::Supported, "{failed:?} of {sent}: {}", claim.text);
    }
}

/// A hundredth more takes an answer back whatever the test says; less of it does where it is no chance.
#[test]
fn shares_differ_by_size_or_by_test() {
    for (sent, failed) in [(20, [0, 1]), (10_000, [10, 60])] {
        let (mean, ..) = told(sent, failed);
        assert_eq!(mean.verdict, Verdict::Insufficient, "{failed:?} of {sent}: {}", mean.text);
    }
}
