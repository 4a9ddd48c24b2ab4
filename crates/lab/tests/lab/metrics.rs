//! What the data say of metrics: effects of a factor, and what an instrument does to them.

use bystander_lab::plan::{Blocks, Plan};
use bystander_model::cell::Cell;
use bystander_model::report::{Answer, Strength, Verdict};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::scripted::{Ends, Scripted, answer, plan, run};

/// Five blocks of two arms, with and without a probe.
fn five_blocks() -> Plan {
    Plan { blocks: Blocks { min: 5, max: 5 }, ..plan(&["a", "b"], &["probe"]) }
}

#[test]
fn metrics_without_variation_have_no_interval() {
    let mut plan = plan(&["a", "b"], &["probe"]);
    plan.blocks = bystander_lab::plan::Blocks { min: 5, max: 5 };
    let (ledger, _) =
        run(&plan, &mut Scripted::new(|cell, _| Ends::Measures(if cell.levels["arm"] == "b" { 158_857.0 } else { 159_171.0 })));
    let effect = answer(&ledger, "factor:arm", "tokens");
    assert_eq!((effect.verdict, effect.interval), (Verdict::Effect, None));
    assert!(effect.text.contains("\u{2212}314 tokens, identical in 5 launches"), "{}", effect.text);
    assert!(effect.rule.as_deref().is_some_and(|rule| rule.starts_with("values that do not vary have no interval")), "{:?}", effect.rule);
    // What has no line of its own is shown by the launches that were measured.
    let shown: Vec<_> = effect.evidence.iter().filter_map(|evidence| Some((evidence.trial?, evidence.text.as_str()))).collect();
    let of = |value: &str| shown.iter().find(|(_, text)| *text == value).and_then(|(trial, _)| ledger.trials.get(trial));
    assert!(of("159171").is_some_and(|trial| trial.slot.cell.levels["arm"] == "a"), "{shown:?}");
    assert!(of("158857").is_some_and(|trial| trial.slot.cell.levels["arm"] == "b"), "{shown:?}");
    let inert = answer(&ledger, "instrument:probe", "tokens");
    assert_eq!(inert.verdict, Verdict::Inert);
    assert!(inert.text.contains("identical in 5 launches"), "{}", inert.text);
}

#[test]
fn metrics_with_variation_have_one_and_equivalence_needs_it_inside_the_margin() {
    let mut plan = plan(&["a", "b"], &["probe"]);
    plan.blocks = bystander_lab::plan::Blocks { min: 5, max: 5 };
    let noisy = |cell: &Cell, n: u32| {
        let jitter = [0.0, 3.0, -2.0, 5.0, 1.0][n as usize % 5];
        let probe = if cell.is_bare() { 0.0 } else { [2.0, -1.0, 1.5, -2.0, 0.5][n as usize % 5] };
        Ends::Measures(1000.0 + jitter + probe + if cell.levels["arm"] == "b" { 400.0 + jitter } else { 0.0 })
    };
    let (ledger, _) = run(&plan, &mut Scripted::new(noisy));
    let effect = answer(&ledger, "factor:arm", "tokens");
    let [low, high] = effect.interval.expect("has an interval");
    assert!(effect.verdict == Verdict::Effect && low < 400.0 && high > 400.0, "{}", effect.text);
    let probe = answer(&ledger, "instrument:probe", "tokens");
    assert_eq!(probe.verdict, Verdict::Inert, "{}", probe.text);
    plan.metrics["tokens"].margin = None;
    let (ledger, _) = run(&plan, &mut Scripted::new(noisy));
    let open = answer(&ledger, "instrument:probe", "tokens");
    assert_eq!(open.verdict, Verdict::NoEffectSeen, "without a margin nothing is shown to be inert: {}", open.text);
    assert!(open.text.contains("is not excluded"), "{}", open.text);
}

/// What is said of the probe when the tokens of a launch are 1000, what the launch's number adds, and what `probe` adds in each arm.
fn of_probe(plan: &Plan, noise: [f64; 5], probe: fn(&str) -> [f64; 5]) -> Answer {
    let script = move |cell: &Cell, n: u32| {
        let n = n as usize % 5;
        let added = if cell.is_bare() { 0.0 } else { probe(&cell.levels["arm"])[n] };
        Ends::Measures(1000.0 + noise[n] + added)
    };
    let (ledger, _) = run(plan, &mut Scripted::new(script));
    answer(&ledger, "instrument:probe", "tokens")
}

#[test]
fn a_difference_that_chance_explains_is_not_laid_on_an_instrument() {
    let mut plan = five_blocks();
    plan.metrics["tokens"].margin = Some(1.0);
    // Mean 4, standard error 1.304: p = 0.037 on the baseline, twice that among two comparisons.
    let probe = |arm: &str| if arm == "a" { [1.0, 2.0, 4.0, 5.0, 8.0] } else { [2.0, -3.0, 1.0, -2.0, 3.0] };
    let found = of_probe(&plan, [0.0; 5], probe);
    let [low, _high] = found.interval.expect("measured");
    assert!(low > 0.0, "alone it would be shown: {found:?}");
    assert_eq!((found.verdict, found.strength), (Verdict::NoEffectSeen, Some(Strength::Consistent)), "{}", found.text);
    assert!(found.text.contains("which chance explains: p = 0.0") && found.text.contains("for 2 comparisons"), "{}", found.text);
    assert!(found.text.contains("is not excluded"), "{}", found.text);
}

#[test]
fn a_change_beside_another_level_alone_is_one() {
    let mut plan = five_blocks();
    let probe = |arm: &str| if arm == "a" { [0.5, -0.4, 0.3, -0.2, 0.1] } else { [400.0, 410.0, 395.0, 405.0, 402.0] };
    for margin in [Some(100.0), None] {
        plan.metrics["tokens"].margin = margin;
        let found = of_probe(&plan, [0.0, 3.0, -2.0, 5.0, 1.0], probe);
        assert_eq!((found.verdict, found.strength), (Verdict::Perturbs, Some(Strength::Shown)), "{}", found.text);
        assert!(found.text.starts_with("It changes the program: beside b/none +40"), "{}", found.text);
        assert!(found.text.contains("; on the baseline "), "{}", found.text);
        assert!(found.p.is_some_and(|p| p < 0.001) && found.estimate.is_some_and(|value| value > 400.0), "{found:?}");
    }
}

#[test]
fn one_launch_per_cell_says_nothing_of_an_instrument() {
    let mut plan = five_blocks();
    plan.blocks = Blocks { min: 1, max: 1 };
    let found = of_probe(&plan, [0.0; 5], |_| [3.0; 5]);
    assert_eq!(found.verdict, Verdict::Undetermined, "{}", found.text);
}

/// The level holds for everything that is said of one instrument. Six hundred runs of a program that no instrument changes, with one seed: at the
/// level of 0.05/3 ten are expected to be blamed, twenty or more once in three hundred seeds; without correction about fifty would be.
#[test]
fn of_many_runs_of_an_unchanged_program_few_blame_the_instrument() {
    let mut plan = five_blocks();
    plan.metrics["tokens"].margin = None;
    let noise = std::sync::Arc::new(std::sync::Mutex::new(ChaCha8Rng::seed_from_u64(2)));
    let mut blamed = 0;
    let mut excluded = 0;
    for _ in 0..600 {
        let noise = std::sync::Arc::clone(&noise);
        let script = move |_: &Cell, _: u32| Ends::Measures(1000.0 + normal(&mut noise.lock().expect("no panic")));
        let (ledger, _) = run(&plan, &mut Scripted::new(script));
        let found = answer(&ledger, "instrument:probe", "tokens");
        blamed += u32::from(found.verdict == Verdict::Perturbs);
        excluded += u32::from(found.text.contains("which chance explains"));
    }
    assert!((1..20).contains(&blamed), "{blamed} of 600 blame it");
    assert!(excluded >= 20, "the correction never mattered: {excluded}");
}

/// A sum of twelve uniform values, which is close to normal with a standard deviation of 1.
fn normal(random: &mut ChaCha8Rng) -> f64 {
    (0..12).map(|_| f64::from(random.next_u32()) / f64::from(u32::MAX)).sum::<f64>() - 6.0
}

#[test]
fn the_levels_of_one_factor_share_its_confidence() {
    let mut plan = Plan { blocks: Blocks { min: 5, max: 5 }, ..plan(&["a", "b", "c"], &[]) };
    plan.metrics["tokens"].margin = None;
    let noisy = |cell: &Cell, n: u32| {
        let high = f64::from(n) * if cell.levels["arm"] == "a" { 1.0 } else { 3.0 };
        Ends::Measures(1000.0 + high)
    };
    let (ledger, _) = run(&plan, &mut Scripted::new(noisy));
    let found = answer(&ledger, "factor:arm=b", "tokens");
    assert_eq!(found.interval_of.as_deref(), Some("mean difference within blocks, 97.5 % (t)"));
    // Differences 0, 2, 4, 6, 8: mean 4, standard error 1.41421, t(0.9875; 4) = 3.49541.
    let [low, high] = found.interval.expect("measured");
    assert!(
        (low - (4.0 - 3.495_41 * 2.0_f64.sqrt())).abs() < 1e-3 && (high - (4.0 + 3.495_41 * 2.0_f64.sqrt())).abs() < 1e-3,
        "{low} {high}"
    );
}

/// Values of the two arms, launch by launch, and what is said of the level.
fn of_level(plan: &Plan, a: &'static [f64], b: &'static [f64]) -> Answer {
    let script = move |cell: &Cell, n: u32| {
        let values = if cell.levels["arm"] == "b" { b } else { a };
        Ends::Measures(values[n as usize % values.len()])
    };
    let (ledger, _) = run(plan, &mut Scripted::new(script));
    answer(&ledger, "factor:arm", "tokens")
}

#[test]
fn a_launch_far_from_the_others_is_said_with_how_far() {
    let mut plan = plan(&["a", "b"], &[]);
    plan.blocks = Blocks { min: 6, max: 6 };
    let found = of_level(&plan, &[10.0, 11.0, 9.5, 10.5, 10.2, 9.8], &[10.1, 10.4, 80.0, 9.9, 10.3, 9.7]);
    assert!(
        found.text.contains("Far from the others: 1 of 6 launches of b/none (80 at the farthest, the median is 10.20)"),
        "{}",
        found.text
    );
    let found = of_level(&plan, &[10.0, 11.0, 9.5, 10.5, 10.2, 9.8], &[10.1, 10.4, 12.0, 9.9, 10.3, 9.7]);
    assert!(!found.text.contains("Far from"), "{}", found.text);
}

#[test]
fn the_check_without_a_distribution_stands_beside_from_six_blocks_on_with_its_own_level() {
    let values: (&'static [f64], &'static [f64]) = (&[10.0, 11.0, 9.5, 10.5, 10.2, 9.8], &[14.0, 15.5, 13.0, 14.6, 14.4, 13.7]);
    let said = |blocks| {
        let mut plan = plan(&["a", "b"], &[]);
        plan.blocks = Blocks { min: blocks, max: blocks };
        of_level(&plan, values.0, values.1).numbers.into_iter().find(|number| number.contains("Hodges-Lehmann"))
    };
    // The differences are 4, 4.5, 3.5, 4.1, 4.2 and 3.9: the median of their Walsh averages, the whole range at 1 - 2/64.
    assert_eq!(said(6).as_deref(), Some("check that assumes no distribution: Hodges-Lehmann +4.050 [+3.500 to +4.500, 96.9 %]"));
    assert_eq!(said(5), None, "five blocks give no interval at 95 %");
}
