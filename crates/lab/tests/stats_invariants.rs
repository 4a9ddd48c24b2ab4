//! What holds for every input: ranges, symmetries, order, permutation. Figures belong to `stats_vectors`.

use bystander_lab::stats::boschloo::boschloo;
use bystander_lab::stats::equivalence::{tost, tost_ratio, tost_sign_flip};
use bystander_lab::stats::evalue;
use bystander_lab::stats::fisher::{fisher, mid_p_greater};
use bystander_lab::stats::kalibera_jones::{mean_ratio, p_of_no_difference};
use bystander_lab::stats::location::{paired_shift, two_sample_shift};
use bystander_lab::stats::multiplicity::{benjamini_hochberg, holm};
use bystander_lab::stats::peeking::{plan_power, worst_case};
use bystander_lab::stats::permutation::{sign_flip, two_sample};
use bystander_lab::stats::proportion::{clopper_pearson, launches_to_bound, newcombe, wilson, zero_failure_upper};
use bystander_lab::stats::ranks::{mann_whitney, wilcoxon};
use bystander_lab::stats::sign::sign_test;
use bystander_lab::stats::strata::{Stratum, exact_cmh, zelen};
use bystander_lab::stats::student::{mean_difference, paired_ratio, welch};
use bystander_lab::stats::{ExactP, StatsError, Tally};
use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, prop_assume, proptest};
use proptest::test_runner::TestCaseError;

fn tallies(most: u32) -> impl Strategy<Value = Tally> {
    (0..=most).prop_flat_map(|trials| (0..=trials).prop_map(move |failures| Tally::new(failures, trials).unwrap()))
}

/// Values on a coarse grid, so that ties occur.
fn metric() -> impl Strategy<Value = f64> {
    (-400_i32..400).prop_map(|value| f64::from(value) / 8.0)
}

fn positive() -> impl Strategy<Value = f64> {
    (1_i32..4000).prop_map(|value| f64::from(value) / 16.0)
}

fn near(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * left.abs().max(right.abs()).max(1e-3)
}

fn check_range(p: ExactP) -> Result<(), TestCaseError> {
    for value in [p.greater, p.less, p.two_sided] {
        prop_assert!(value > 0.0 && value <= 1.0, "{p:?}");
    }
    Ok(())
}

fn check_mirror(p: ExactP, mirrored: ExactP) -> Result<(), TestCaseError> {
    prop_assert!(near(p.greater, mirrored.less) && near(p.less, mirrored.greater), "{p:?} {mirrored:?}");
    prop_assert!(near(p.two_sided, mirrored.two_sided), "{p:?} {mirrored:?}");
    Ok(())
}

proptest! {
    #[test]
    fn fisher_is_a_p_value_and_symmetric(arm in tallies(40), control in tallies(40)) {
        let p = fisher(arm, control);
        check_range(p)?;
        check_mirror(p, fisher(control, arm))?;
        // Calling failures successes turns the direction round.
        check_mirror(p, fisher(arm.complement(), control.complement()))?;
        prop_assert!(p.two_sided >= p.greater.min(p.less) - 1e-12);
        prop_assert!(p.greater + p.less >= 1.0 - 1e-12);
        prop_assert!(mid_p_greater(arm, control) <= p.greater);
    }

    #[test]
    fn fisher_sees_more_in_more_failures(arm in tallies(30), control in tallies(30)) {
        prop_assume!(arm.successes() > 0);
        let more = Tally::new(arm.failures() + 1, arm.trials()).unwrap();
        prop_assert!(fisher(more, control).greater <= fisher(arm, control).greater + 1e-12);
    }

    #[test]
    fn boschloo_never_exceeds_fisher_one_sided(arm in tallies(8), control in tallies(8)) {
        let (unconditional, conditional) = (boschloo(arm, control).unwrap(), fisher(arm, control));
        check_range(unconditional)?;
        prop_assert!(unconditional.greater <= conditional.greater + 1e-9);
        prop_assert!(unconditional.less <= conditional.less + 1e-9);
        check_mirror(unconditional, boschloo(control, arm).unwrap())?;
    }

    #[test]
    fn intervals_of_proportions_hold_the_estimate(arm in tallies(60), control in tallies(60), level in 0.5..0.999) {
        let exact = clopper_pearson(arm, level).unwrap();
        let score = wilson(arm, level).unwrap();
        let difference = newcombe(arm, control, level).unwrap();
        let mirrored = newcombe(control, arm, level).unwrap();
        prop_assert!(0.0 <= exact.low && exact.low <= exact.high && exact.high <= 1.0);
        prop_assert!(-1.0 <= difference.low && difference.high <= 1.0);
        prop_assert!(near(difference.low, -mirrored.high) && near(difference.high, -mirrored.low));
        if let (Some(first), Some(second)) = (arm.proportion(), control.proportion()) {
            prop_assert!(exact.contains(first) && score.contains(first));
            prop_assert!(difference.low <= first - second + 1e-12 && first - second <= difference.high + 1e-12);
        }
        let wider = clopper_pearson(arm, level + (1.0 - level) / 2.0).unwrap();
        prop_assert!(wider.low <= exact.low && exact.high <= wider.high);
    }

    #[test]
    fn the_bound_after_no_failure_and_the_launches_for_it_agree(delta in 0.005..0.9, alpha in 0.001..0.5) {
        let n = launches_to_bound(delta, alpha).unwrap();
        prop_assert!(zero_failure_upper(n, alpha).unwrap() <= delta + 1e-9);
        prop_assert!(n == 1 || zero_failure_upper(n - 1, alpha).unwrap() > delta - 1e-9);
    }

    #[test]
    fn one_stratum_is_fisher(arm in tallies(20), control in tallies(20)) {
        let single = [Stratum { arm, control }];
        let (pooled, alone) = (exact_cmh(&single).unwrap(), fisher(arm, control));
        prop_assert!(near(pooled.greater, alone.greater) && near(pooled.less, alone.less) && near(pooled.two_sided, alone.two_sided));
        prop_assert!(near(zelen(&single).unwrap(), 1.0));
    }

    #[test]
    fn strata_may_come_in_any_order(a in tallies(6), b in tallies(6), c in tallies(6), d in tallies(6)) {
        let forth = [Stratum { arm: a, control: b }, Stratum { arm: c, control: d }];
        let back = [forth[1], forth[0]];
        let p = exact_cmh(&forth).unwrap();
        check_range(p)?;
        prop_assert!(near(p.two_sided, exact_cmh(&back).unwrap().two_sided));
        let homogeneity = zelen(&forth).unwrap();
        prop_assert!(homogeneity > 0.0 && homogeneity <= 1.0 && near(homogeneity, zelen(&back).unwrap()));
    }

    #[test]
    fn the_sign_test_is_symmetric(positive in 0_u32..60, negative in 0_u32..60) {
        let p = sign_test(positive, negative).unwrap();
        check_range(p)?;
        check_mirror(p, sign_test(negative, positive).unwrap())?;
    }

    #[test]
    fn a_fair_next_sign_leaves_the_e_process_where_it_is(signs in proptest::collection::vec(any::<bool>(), 0..30), a in 0.1..3.0) {
        let last = |next: Option<bool>| {
            let all: Vec<bool> = signs.iter().copied().chain(next).collect();
            evalue::signs(&all, a).unwrap().last().copied().unwrap_or(1.0)
        };
        prop_assert!(near((last(Some(true)) + last(Some(false))) / 2.0, last(None)));
    }

    #[test]
    fn the_two_proportion_e_process_does_not_grow_under_the_null(
        outcomes in proptest::collection::vec((any::<bool>(), any::<bool>()), 0..8), p in 0.0..=1.0_f64,
    ) {
        let one = |failed: bool| Tally::new(u32::from(failed), 1).unwrap();
        let before: Vec<(Tally, Tally)> = outcomes.iter().map(|(arm, control)| (one(*arm), one(*control))).collect();
        let value = |blocks: &[(Tally, Tally)]| evalue::two_proportions(blocks, evalue::GAMMA).unwrap().last().copied().unwrap_or(1.0);
        let mut expected = 0.0;
        for (arm, control) in [(false, false), (false, true), (true, false), (true, true)] {
            let chance = |failed: bool| if failed { p } else { 1.0 - p };
            let next: Vec<_> = before.iter().copied().chain([(one(arm), one(control))]).collect();
            expected += chance(arm) * chance(control) * value(&next);
        }
        prop_assert!(expected <= value(&before) * (1.0 + 1e-9));
    }

    #[test]
    fn inference_on_blocks_does_not_depend_on_their_order_and_turns_with_the_sign(
        (d, shuffled) in proptest::collection::vec(metric(), 3..10)
            .prop_flat_map(|d| (proptest::strategy::Just(d.clone()), proptest::strategy::Just(d).prop_shuffle())),
    ) {
        let turned: Vec<f64> = d.iter().map(|value| -value).collect();
        let flips = sign_flip(&d).unwrap();
        check_range(flips)?;
        prop_assert_eq!(flips, sign_flip(&shuffled).unwrap());
        check_mirror(flips, sign_flip(&turned).unwrap())?;
        let shift = paired_shift(&d, 0.9).unwrap();
        prop_assert_eq!(shift, paired_shift(&shuffled, 0.9).unwrap());
        prop_assert!(shift.interval.contains(shift.estimate) && shift.achieved >= 0.9 - 1e-12);
        match mean_difference(&d, 0.95) {
            Ok(student) => {
                prop_assert!(student.interval.contains(student.estimate) && student.p > 0.0 && student.p <= 1.0);
                prop_assert_eq!(student.interval.contains(0.0), student.p >= 0.05);
                prop_assert!(near(student.p, mean_difference(&shuffled, 0.95).unwrap().p));
                let equivalent = tost(&d, -5.0, 5.0, 0.05).unwrap();
                prop_assert_eq!(equivalent.equivalent, equivalent.interval.lies_within(-5.0, 5.0));
            }
            Err(error) => prop_assert_eq!(error, StatsError::ZeroVariance { n: d.len() }),
        }
        match wilcoxon(&d) {
            Ok(ranks) => check_mirror(ranks.p, wilcoxon(&turned).unwrap().p)?,
            Err(error) => prop_assert_eq!(error, StatsError::Ties),
        }
        let nonparametric = tost_sign_flip(&d, -5.0, 5.0, 0.05).unwrap();
        prop_assert!(nonparametric.p >= 0.5_f64.powi(d.len() as i32));
    }

    #[test]
    fn two_samples_turn_with_their_exchange(x in proptest::collection::vec(metric(), 2..7), y in proptest::collection::vec(metric(), 2..7)) {
        let relabelled = two_sample(&x, &y).unwrap();
        check_range(relabelled)?;
        check_mirror(relabelled, two_sample(&y, &x).unwrap())?;
        match mann_whitney(&x, &y) {
            Ok(ranks) => {
                check_range(ranks.p)?;
                check_mirror(ranks.p, mann_whitney(&y, &x).unwrap().p)?;
            }
            Err(error) => prop_assert_eq!(error, StatsError::Ties),
        }
        let (forth, back) = (two_sample_shift(&x, &y, 0.9).unwrap(), two_sample_shift(&y, &x, 0.9).unwrap());
        prop_assert!(near(forth.estimate, -back.estimate) && near(forth.achieved, back.achieved));
        prop_assert!(forth.interval.contains(forth.estimate));
        if let (Ok(forth), Ok(back)) = (welch(&x, &y, 0.95), welch(&y, &x, 0.95)) {
            prop_assert!(near(forth.p, back.p) && near(forth.estimate, -back.estimate));
        }
    }

    #[test]
    fn ratios_do_not_depend_on_the_unit(blocks in proptest::collection::vec((positive(), positive()), 3..8), unit in 0.01..100.0) {
        let scaled: Vec<(f64, f64)> = blocks.iter().map(|(x, y)| (x * unit, y * unit)).collect();
        if let (Ok(plain), Ok(other)) = (paired_ratio(&blocks, 0.95), paired_ratio(&scaled, 0.95)) {
            prop_assert!(near(plain.estimate, other.estimate) && near(plain.interval.low, other.interval.low));
            prop_assert!(plain.interval.low > 0.0 && plain.interval.contains(plain.estimate));
            let equivalent = tost_ratio(&blocks, 0.8, 1.25, 0.05).unwrap();
            prop_assert_eq!(equivalent.equivalent, equivalent.interval.lies_within(0.8, 1.25));
        }
        let (x, y): (Vec<f64>, Vec<f64>) = blocks.iter().copied().unzip();
        if let Ok(ratio) = mean_ratio(&x, &y, 0.95) {
            prop_assert!(ratio.interval.contains(ratio.estimate));
        }
    }

    #[test]
    fn adjusting_keeps_the_order_and_never_lowers(p in proptest::collection::vec(0.0..=1.0_f64, 1..12)) {
        let (strict, lenient) = (holm(&p).unwrap(), benjamini_hochberg(&p).unwrap());
        for i in 0..p.len() {
            prop_assert!(p[i] <= lenient[i] + 1e-15 && lenient[i] <= strict[i] + 1e-12 && strict[i] <= 1.0);
            for j in 0..p.len() {
                if p[i] <= p[j] {
                    prop_assert!(strict[i] <= strict[j] && lenient[i] <= lenient[j]);
                }
            }
        }
    }

    #[test]
    fn no_failure_probability_is_worse_than_the_worst_case(p in 0.0..=1.0_f64, blocks in 2_u32..13, alpha in 0.005..0.3) {
        let here = plan_power(alpha, blocks, p, p).unwrap();
        let worst = worst_case(alpha, blocks).unwrap();
        prop_assert!(here.power <= worst + 1e-9, "{} {}", here.power, worst);
        prop_assert!(worst <= worst_case(alpha, blocks + 1).unwrap() + 1e-12);
        prop_assert!(here.expected_blocks <= f64::from(blocks) + 1e-9);
    }
}

#[test]
fn complete_separation_is_the_least_likely_mann_whitney_whichever_sample_is_longer() {
    for (n, m) in [(2, 2), (5, 5), (3, 6), (6, 3)] {
        let low: Vec<f64> = (0..n).map(f64::from).collect();
        let high: Vec<f64> = (0..m).map(|i| f64::from(i) + 50.0).collect();
        let ways: f64 = (1..=n).map(|i| f64::from(m + i) / f64::from(i)).product();
        let test = mann_whitney(&high, &low).unwrap();
        assert!((test.p.greater - 1.0 / ways).abs() < 1e-12 && (test.p.two_sided - 2.0 / ways).abs() < 1e-12);
    }
}

#[test]
fn bad_input_is_an_error_and_not_a_panic() {
    assert_eq!(Tally::new(3, 2), Err(StatsError::FailuresAboveTrials { failures: 3, trials: 2 }));
    assert!(matches!(Tally::new(0, u32::MAX), Err(StatsError::TooMany { .. })));
    assert_eq!(mean_difference(&[1.0], 0.95), Err(StatsError::TooFew { needed: 2, given: 1 }));
    assert_eq!(mean_difference(&[1.0, f64::NAN], 0.95), Err(StatsError::NotFinite { index: 1 }));
    assert_eq!(mean_difference(&[2.0, 2.0, 2.0], 0.95), Err(StatsError::ZeroVariance { n: 3 }));
    // Sums of tenths differ in their last bits only: identical launches, not a variance.
    assert_eq!(mean_difference(&[0.1 + 0.2, 0.3, 0.3], 0.95), Err(StatsError::ZeroVariance { n: 3 }));
    assert_eq!(paired_ratio(&[(1.0, 2.0), (0.0, 2.0)], 0.95), Err(StatsError::NotPositive { index: 1 }));
    assert!(matches!(mean_difference(&[1.0, 2.0], 1.0), Err(StatsError::OutOfRange { quantity: "level", .. })));
    assert!(matches!(sign_flip(&[1.0; 64]), Err(StatsError::TooMany { .. })));
    assert!(matches!(two_sample(&[1.0; 5000], &[2.0; 5000]), Err(StatsError::TooMany { .. })));
    assert!(matches!(tost(&[1.0, 2.0], 1.0, -1.0, 0.05), Err(StatsError::OutOfRange { .. })));
    assert!(matches!(holm(&[0.5, 1.5]), Err(StatsError::OutOfRange { .. })));
    assert_eq!(mean_ratio(&[1.0, 2.0], &[-5.0, 5.0], 0.95), Err(StatsError::DenominatorNearZero));
    assert!(matches!(worst_case(0.05, 1_000_000), Err(StatsError::TooMany { .. })));
    let none = Tally::default();
    let p = fisher(none, none);
    assert!((p.two_sided - 1.0).abs() < 1e-12 && (p.greater - 1.0).abs() < 1e-12);
    assert!(holm(&[]).unwrap().is_empty());
}

proptest! {
    /// The p of a ratio of means is where its interval begins to hold 1.
    #[test]
    fn the_p_of_a_ratio_of_means_is_that_of_its_interval(
        x in proptest::collection::vec(90.0_f64..110.0, 4..8), y in proptest::collection::vec(90.0_f64..110.0, 4..8),
    ) {
        let p = p_of_no_difference(&x, &y).unwrap();
        prop_assert!((0.0..=1.0).contains(&p));
        let leaves_out = |level: f64| mean_ratio(&x, &y, level).is_ok_and(|found| found.interval.low > 1.0 || found.interval.high < 1.0);
        // Below that an interval of few launches holds everything.
        if p < 0.99 && p > 1e-3 {
            prop_assert!(leaves_out(1.0 - p - 1e-3 * p.min(1.0 - p)), "the interval just below holds 1 at {p}");
            prop_assert!(!leaves_out((1.0 - p + 1e-3 * p).min(1.0 - 1e-12)), "the interval just above leaves 1 out at {p}");
        }
        let (other, same) = (p_of_no_difference(&y, &x).unwrap(), p_of_no_difference(&x, &x).unwrap());
        prop_assert!(p <= 1e-3 || (p - other).abs() < 1e-6, "{p} and {other}: the two arms are treated alike");
        prop_assert!(same > 0.999, "{same}");
    }

    /// The e-process gains nothing in expectation where both arms are alike, whatever came before: its next factor is at most one on average.
    #[test]
    fn the_next_factor_of_the_e_process_is_at_most_one_on_average(
        before in proptest::collection::vec((any::<bool>(), any::<bool>()), 0..12), rate in 0.0_f64..=1.0,
    ) {
        let one = |failed: bool| Tally::new(u32::from(failed), 1).unwrap();
        let blocks: Vec<(Tally, Tally)> = before.iter().map(|(a, b)| (one(*a), one(*b))).collect();
        let last = |blocks: &[(Tally, Tally)]| evalue::two_proportions(blocks, evalue::GAMMA).unwrap().last().copied().unwrap_or(1.0);
        let now = last(&blocks);
        let mut expected = 0.0;
        for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
            let chance = |failed: bool| if failed { rate } else { 1.0 - rate };
            let next = last(&[&blocks[..], &[(one(a), one(b))]].concat());
            prop_assert!(next <= now * 4.0 * (1.0 + 1e-9), "no block multiplies by more than four");
            expected += chance(a) * chance(b) * next;
        }
        prop_assert!(expected <= now * (1.0 + 1e-9), "{expected} after {now}");
    }
}

#[test]
fn the_worst_case_of_the_e_process_is_what_counting_says() {
    // Four blocks of complete separation either way get to 20, and nothing shorter or less: 2 of 256 sequences, each with four failures.
    let worst = evalue::worst_case(0.05, 4).unwrap();
    assert!((worst - 2.0 / 256.0).abs() < 1e-9, "{worst}");
    assert_eq!(evalue::worst_case(0.05, 3).unwrap(), 0.0);
}
