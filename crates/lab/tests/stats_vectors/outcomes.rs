//! Groups about failures: 2x2 tables, separation, strata, e-processes.

use bystander_lab::stats::boschloo::boschloo;
use bystander_lab::stats::evalue;
use bystander_lab::stats::fisher::{fisher, mid_p_greater};
use bystander_lab::stats::power::clean_launches_against;
use bystander_lab::stats::proportion::{clopper_pearson, newcombe, zero_failure_upper};
use bystander_lab::stats::sign::{mcnemar, sign_test};
use bystander_lab::stats::strata::{Stratum, exact_cmh, zelen};
use bystander_lab::stats::{ExactP, Tally};
use serde_json::Value;

use crate::fixture::{EXACT, SUPREMUM, arms, close, close_interval, count, group, items, number, tally};

fn close_p(got: ExactP, wanted: &Value, tolerance: f64, what: &str) {
    close(got.greater, &wanted["greater"], tolerance, &format!("{what} greater"));
    close(got.less, &wanted["less"], tolerance, &format!("{what} less"));
    close(got.two_sided, &wanted["two_sided"], tolerance, &format!("{what} two-sided"));
}

#[test]
fn two_by_two_tables_agree() {
    for case in items(&group("binary_2x2")) {
        let (arm, control) = arms(&case["table"]);
        let what = case["table"].to_string();
        close_p(fisher(arm, control), &case["fisher"], EXACT, &format!("fisher {what}"));
        close(mid_p_greater(arm, control), &case["fisher_mid_p_greater"], EXACT, &format!("mid-p {what}"));
        close_p(boschloo(arm, control).unwrap(), &case["boschloo"], SUPREMUM, &format!("boschloo {what}"));
        close_interval(newcombe(arm, control, 0.95).unwrap(), &case["newcombe95"], &format!("newcombe 95 {what}"));
        close_interval(newcombe(arm, control, 0.90).unwrap(), &case["newcombe90"], &format!("newcombe 90 {what}"));
        close_interval(clopper_pearson(arm, 0.95).unwrap(), &case["clopper_pearson95_arm1"], &format!("clopper-pearson 1 {what}"));
        close_interval(clopper_pearson(control, 0.95).unwrap(), &case["clopper_pearson95_arm2"], &format!("clopper-pearson 2 {what}"));
        let difference = arm.proportion().unwrap() - control.proportion().unwrap();
        close(difference, &case["risk_diff"], EXACT, &format!("difference {what}"));
    }
}

#[test]
fn complete_separation_agrees_by_launches() {
    for case in items(&group("separation_by_n")) {
        let n = count(&case["n"]);
        let (all, none) = (tally(n, n), tally(0, n));
        let p = fisher(all, none);
        close(p.two_sided, &case["fisher_two"], EXACT, "fisher two-sided");
        close(p.greater, &case["fisher_one"], EXACT, "fisher greater");
        let unconditional = boschloo(all, none).unwrap();
        close(unconditional.two_sided, &case["boschloo_two"], SUPREMUM, "boschloo two-sided");
        close(unconditional.greater, &case["boschloo_one"], SUPREMUM, "boschloo greater");
        close(mid_p_greater(all, none), &case["midp_one"], EXACT, "mid-p");
        close(sign_test(n, 0).unwrap().two_sided, &case["sign_two"], EXACT, "sign");
        let discordant = vec![(true, false); n as usize];
        close(mcnemar(&discordant).unwrap().two_sided, &case["sign_two"], EXACT, "mcnemar");
        close(zero_failure_upper(n, 0.05).unwrap(), &case["zero_fail_upper95"], EXACT, "zero failures");
        close(newcombe(none, none, 0.95).unwrap().high, &case["newcombe_upper"], EXACT, "newcombe of nothing");
        let blocks = vec![(tally(1, 1), tally(0, 1)); n as usize];
        for (gamma, key) in [(0.18, "e_g018"), (0.5, "e_g05"), (1.0, "e_g1")] {
            let path = evalue::two_proportions(&blocks, gamma).unwrap();
            close(path[n as usize - 1], &case[key], EXACT, key);
        }
    }
}

#[test]
fn strata_agree() {
    for case in items(&group("stratified_treatment_effect")["cases"]) {
        let strata: Vec<Stratum> = items(&case["strata"])
            .iter()
            .map(|table| {
                let (arm, control) = arms(table);
                Stratum { arm, control }
            })
            .collect();
        let what = case["strata"].to_string();
        close_p(exact_cmh(&strata).unwrap(), &case["exact_cmh"], EXACT, &format!("cmh {what}"));
        close(zelen(&strata).unwrap(), &case["zelen_homogeneity_p"], EXACT, &format!("zelen {what}"));
    }
}

#[test]
fn e_processes_agree() {
    for case in items(&group("e_process_two_proportions")) {
        let blocks: Vec<(Tally, Tally)> =
            items(&case["blocks"]).iter().map(|block| (tally(count(&block[0]), 1), tally(count(&block[1]), 1))).collect();
        let path = evalue::two_proportions(&blocks, number(&case["gamma"])).unwrap();
        for (got, wanted) in path.iter().zip(items(&case["E"])) {
            close(*got, wanted, EXACT, "two proportions");
        }
    }
    for case in items(&group("e_process_sign")) {
        let signs: Vec<bool> = items(&case["signs"]).iter().map(|sign| count(sign) == 1).collect();
        let path = evalue::signs(&signs, number(&case["a"])).unwrap();
        for (got, wanted) in path.iter().zip(items(&case["E"])) {
            close(*got, wanted, EXACT, "signs");
        }
    }
}

#[test]
fn worked_cases_agree() {
    let mut seen = 0;
    for case in items(&group("worked_cases")) {
        let (arm, control) = match case["case"].as_str().expect("a title") {
            "B0 1/1 failed, B1 1/1 failed, same signature" => (tally(1, 1), tally(1, 1)),
            "B0 0/1, B1 1/1" => (tally(1, 1), tally(0, 1)),
            title if title.contains("7/60") => (tally(7, 60), tally(0, 30)),
            _ => continue,
        };
        seen += 1;
        close(fisher(arm, control).two_sided, &case["fisher_two"], EXACT, "fisher");
        if case.get("boschloo_two").is_some() {
            close(boschloo(arm, control).unwrap().two_sided, &case["boschloo_two"], SUPREMUM, "boschloo");
        }
        if let Some(wanted) = case.get("n_with_capture_needed_for_0_to_be_p05") {
            assert_eq!(clean_launches_against(arm, 0.05).unwrap(), Some(count(wanted)));
        }
    }
    assert_eq!(seen, 3);
}
