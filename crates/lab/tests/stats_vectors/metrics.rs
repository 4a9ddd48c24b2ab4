//! Groups about metrics: block contrasts, two samples, levels of variance, multiplicity.

use bystander_lab::stats::StatsError;
use bystander_lab::stats::equivalence::{Equivalence, tost, tost_sign_flip};
use bystander_lab::stats::kalibera_jones::{mean_ratio, two_level};
use bystander_lab::stats::location::{Shift, paired_shift, two_sample_shift};
use bystander_lab::stats::multiplicity::{benjamini_hochberg, holm};
use bystander_lab::stats::permutation::{sign_flip, two_sample};
use bystander_lab::stats::ranks::{mann_whitney, probability_of_superiority, wilcoxon};
use bystander_lab::stats::student::{mean_difference, welch, welch_ratio};
use serde_json::Value;

use crate::fixture::{EXACT, close, close_interval, count, group, items, number, numbers};

fn close_shift(got: Shift, case: &Value) {
    let estimate = case.get("hl").or_else(|| case.get("hl_shift")).expect("a shift");
    close(got.estimate, estimate, EXACT, "shift");
    close_interval(got.interval, &case["hl_ci"], "shift interval");
    close(got.achieved, &case["hl_ci_achieved"], EXACT, "shift level");
}

fn close_equivalence(got: Equivalence, wanted: &Value) {
    close(got.p_lower, &wanted["p_lower"], EXACT, "lower");
    close(got.p_upper, &wanted["p_upper"], EXACT, "upper");
    close(got.p, &wanted["p"], EXACT, "equivalence");
    if wanted.get("ci90").is_some() {
        close_interval(got.interval, &wanted["ci90"], "90 % interval");
        assert_eq!(got.equivalent, got.interval.lies_within(-1.0, 1.0));
    }
    assert_eq!(got.equivalent, number(&wanted["p"]) <= 0.05);
}

#[test]
fn block_contrasts_agree() {
    for case in items(&group("paired_or_block_contrasts")) {
        let d = numbers(&case["d"]);
        let student = mean_difference(&d, 0.95).unwrap();
        close(student.estimate, &case["mean"], EXACT, "mean");
        close(student.t, &case["t"], EXACT, "t");
        close(student.p, &case["t_p"], EXACT, "t p");
        close_interval(student.interval, &case["t_ci95"], "t interval");
        let flips = sign_flip(&d).unwrap();
        close(flips.two_sided, &case["signflip_two"], EXACT, "sign flip two-sided");
        close(flips.greater, &case["signflip_greater"], EXACT, "sign flip greater");
        close(flips.less, &case["signflip_less"], EXACT, "sign flip less");
        if case["wilcoxon_exact_two"].is_null() {
            assert_eq!(wilcoxon(&d), Err(StatsError::Ties));
        } else {
            let ranks = wilcoxon(&d).unwrap();
            close(ranks.p.two_sided, &case["wilcoxon_exact_two"], EXACT, "wilcoxon");
            let all = (d.len() * (d.len() + 1) / 2) as f64;
            close(ranks.statistic.min(all - ranks.statistic), &case["wilcoxon_W"], EXACT, "smaller rank sum");
        }
        close_shift(paired_shift(&d, 0.95).unwrap(), case);
        close_equivalence(tost(&d, -1.0, 1.0, 0.05).unwrap(), &case["tost_t_pm1"]);
        close_equivalence(tost_sign_flip(&d, -1.0, 1.0, 0.05).unwrap(), &case["tost_signflip_pm1"]);
    }
}

#[test]
fn two_samples_agree() {
    for case in items(&group("two_sample_continuous")) {
        let (x, y) = (numbers(&case["x"]), numbers(&case["y"]));
        let plain = welch(&x, &y, 0.95).unwrap();
        close(plain.t, &case["welch_t"], EXACT, "welch t");
        close(plain.df, &case["welch_df"], EXACT, "welch df");
        close(plain.p, &case["welch_p"], EXACT, "welch p");
        close_interval(plain.interval, &case["welch_ci95_diff"], "welch interval");
        let ratio = welch_ratio(&x, &y, 0.95).unwrap();
        close(ratio.estimate, &case["log_ratio"], EXACT, "log ratio");
        close_interval(ratio.interval, &case["log_ratio_ci95"], "log ratio interval");
        let relabelled = two_sample(&x, &y).unwrap();
        close(relabelled.two_sided, &case["perm_mean_two"], EXACT, "permutation two-sided");
        close(relabelled.greater, &case["perm_mean_greater"], EXACT, "permutation greater");
        let ranks = mann_whitney(&x, &y).unwrap();
        close(ranks.statistic, &case["mw_U"], EXACT, "U");
        close(ranks.p.two_sided, &case["mw_exact_two"], EXACT, "mann-whitney");
        close_shift(two_sample_shift(&x, &y, 0.95).unwrap(), case);
        let superior = probability_of_superiority(&x, &y).unwrap();
        close(superior, &case["prob_superiority"], EXACT, "superiority");
        close(2.0 * superior - 1.0, &case["cliffs_delta"], EXACT, "cliff");
        let means = mean_ratio(&x, &y, 0.95).unwrap();
        close(means.estimate, &case["ratio_of_means"], EXACT, "ratio of means");
        close_interval(means.interval, &case["kalibera_jones_ratio_ci95"], "ratio of means interval");
    }
}

#[test]
fn levels_of_variance_agree() {
    let case = group("kalibera_jones_two_level");
    let launches: Vec<Vec<f64>> = items(&case["data_launch_by_iteration"]).iter().map(numbers).collect();
    let split = two_level(&launches, 0.95).unwrap();
    close(split.within, &case["S1"], EXACT, "S1");
    close(split.within, &case["T1"], EXACT, "T1");
    close(split.between_means, &case["S2"], EXACT, "S2");
    close(split.between, &case["T2"], EXACT, "T2");
    close(split.intraclass, &case["icc"], EXACT, "icc");
    close(split.grand_mean, &case["grand_mean"], EXACT, "mean");
    close_interval(split.interval, &case["ci95"], "interval");
    close((split.interval.high - split.interval.low) / 2.0, &case["half_width95"], EXACT, "half-width");
    let best = split.best_iterations(300.0, 5.0).unwrap().unwrap();
    close(best, &case["optimal_r1_given_cost_launch300s_iter5s"], EXACT, "iterations");
}

/// The weights of B0, B1, T0, T1 in a contrast, by the start of its name.
fn weights(contrast: &str) -> [f64; 4] {
    match contrast.split(" = ").next().unwrap_or_default() {
        "treatment|probe off" => unreachable!("named with a note"),
        "probe|baseline" => [-1.0, 1.0, 0.0, 0.0],
        "probe|treatment" => [0.0, 0.0, -1.0, 1.0],
        "treatment main" => [-0.5, -0.5, 0.5, 0.5],
        "probe main" => [-0.5, 0.5, -0.5, 0.5],
        "interaction" => [1.0, -1.0, -1.0, 1.0],
        other => panic!("no weights for {other}"),
    }
}

#[test]
fn factorial_contrasts_agree() {
    let case = group("factorial_2x2_blocks");
    let arms: Vec<Vec<f64>> = ["B0", "B1", "T0", "T1"].iter().map(|arm| numbers(&case["blocks"][*arm])).collect();
    let contrast = |weights: [f64; 4]| -> Vec<f64> {
        (0..arms[0].len()).map(|block| weights.iter().zip(&arms).map(|(weight, arm)| weight * arm[block]).sum()).collect()
    };
    let mut flips = Vec::new();
    for effect in items(&case["effects"]) {
        let name = effect["contrast"].as_str().expect("a name");
        let headline = name.contains("headline");
        let computed = contrast(if headline { [-1.0, 0.0, 1.0, 0.0] } else { weights(name) });
        for (got, wanted) in computed.iter().zip(items(&effect["values"])) {
            close(*got, wanted, 1e-9, name);
        }
        // The vectors' own values: differences of the arms carry other rounding, which makes or breaks ties.
        let d = numbers(&effect["values"]);
        let student = mean_difference(&d, 0.95).unwrap();
        close(student.estimate, &effect["mean"], EXACT, name);
        close(student.p, &effect["t_p"], EXACT, name);
        close_interval(student.interval, &effect["t_ci95"], name);
        let flip = sign_flip(&d).unwrap().two_sided;
        close(flip, &effect["signflip_p"], EXACT, name);
        close_shift(paired_shift(&d, 0.95).unwrap(), effect);
        if headline || name.starts_with("probe|") || name.starts_with("interaction") {
            flips.push(flip);
        }
    }
    assert_eq!(holm(&flips).unwrap(), numbers(&case["holm_over_signflip_of_first_three_and_interaction"]));
    for (weights, key) in [([-1.0, 1.0, 0.0, 0.0], "on_baseline"), ([0.0, 0.0, -1.0, 1.0], "on_treatment")] {
        close_equivalence(tost(&contrast(weights), -1.0, 1.0, 0.05).unwrap(), &case["probe_equivalence_pm1"][key]);
    }
}

#[test]
fn adjusted_p_values_agree() {
    for case in items(&group("multiplicity")) {
        let p = numbers(&case["p"]);
        for (got, wanted) in holm(&p).unwrap().iter().zip(items(&case["holm"])) {
            close(*got, wanted, EXACT, "holm");
        }
        for (got, wanted) in benjamini_hochberg(&p).unwrap().iter().zip(items(&case["bh"])) {
            close(*got, wanted, EXACT, "benjamini-hochberg");
        }
    }
}

#[test]
fn the_least_attainable_p_values_agree() {
    for case in items(&group("p_value_resolution")) {
        let n = count(&case["n"]) as usize;
        let low: Vec<f64> = (0..n).map(|i| 1.0 + i as f64).collect();
        let high: Vec<f64> = low.iter().map(|value| value + 100.0).collect();
        close(sign_flip(&low).unwrap().two_sided, &case["signflip_two_min"], EXACT, "sign flip");
        close(wilcoxon(&low).unwrap().p.two_sided, &case["wilcoxon_two_min"], EXACT, "wilcoxon");
        close(two_sample(&high, &low).unwrap().two_sided, &case["two_sample_perm_two_min"], EXACT, "permutation");
        close(mann_whitney(&high, &low).unwrap().p.two_sided, &case["mannwhitney_two_min"], EXACT, "mann-whitney");
        close(mann_whitney(&low, &high).unwrap().p.two_sided, &case["mannwhitney_two_min"], EXACT, "mann-whitney mirrored");
        let finite = |shift: Shift| Value::Bool(shift.interval.is_finite());
        assert_eq!(finite(paired_shift(&low, 0.95).unwrap()), case["hl_paired_ci95_finite"]);
        assert_eq!(finite(two_sample_shift(&low, &high, 0.95).unwrap()), case["hl_two_sample_ci95_finite"]);
    }
}
