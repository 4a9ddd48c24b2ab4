//! Words that depend on what there is: one and many, what was launched and what was not, answers that say the same, labels, units.

use bystander_model::outcome::Outcome;
use bystander_model::report::{Report, Strength, Verdict};
use bystander_report::{Style, text, why};

use crate::{fixed, fixture, story};

fn screen(report: &Report) -> String {
    // One line a paragraph, so that no break falls into what is looked for.
    text(report, &Style { width: 100_000, ..Style::default() })
}

#[test]
fn one_is_one_and_many_are_many() {
    let mut report = story::report();
    report.plan.blocks = Some(1);
    assert!(screen(&report).contains("1 of 1 block, "), "{}", screen(&report));
    report.plan.cells = 1;
    report.plan.launches = Some(1);
    let long = why(&report, &Style { width: 100_000, ..Style::default() });
    assert!(long.contains("1 of 1 block done, 1 cell, 1 launch if every block is run"), "{long}");
    let mut other = report.cells[0].clone();
    for number in 0..4 {
        other.causes[0].signature = format!("another {number}");
        report.cells.push(other.clone());
    }
    assert!(screen(&report).contains("\u{2026} 1 more signature (show --why)"), "{}", screen(&report));
    while report.cells.len() < 17 {
        report.cells.push(other.clone());
    }
    assert!(screen(&report).contains("\u{2026} 1 more cell (show --why)"));
    report.cells.push(other);
    assert!(screen(&report).contains("\u{2026} 2 more cells (show --why)"));
}

#[test]
fn what_was_never_launched_is_no_launch() {
    let mut report = story::report();
    report.trials.truncate(3);
    for trial in &mut report.trials {
        trial.outcome = Some(Outcome::Void);
        trial.output.clear();
        trial.provenance = None;
    }
    assert!(screen(&report).contains("0 launches, 3 void trials that nothing was launched in, "), "{}", screen(&report));
    report.trials[0].output.insert("stdout".into(), "/tmp/stdout".into());
    assert!(screen(&report).contains("1 launch, 2 void trials that nothing was launched in, "), "void after it was launched");
    report.trials.truncate(2);
    assert!(screen(&report).contains("1 launch, 1 void trial that nothing was launched in, "));
}

#[test]
fn a_metric_without_a_value_says_why() {
    let mut report = story::report();
    let trial = &mut report.trials[0];
    trial.metrics.insert("lo".to_owned(), None);
    let wide = Style { width: 100_000, ..Style::default() };
    assert!(why(&report, &wide).contains("  lo = not seen\n"), "{}", why(&report, &wide));
    let trial = &mut report.trials[0];
    trial.metric_evidence.insert("lo".to_owned(), fixture::log(1, 7, "2 lines match, and no `pick` says which one counts"));
    let said = why(&report, &wide);
    assert!(said.contains("  lo = no value: 2 lines match, and no `pick` says which one counts\n"), "{said}");
}

#[test]
fn answers_that_say_the_same_are_one() {
    let mut report = story::report();
    for answer in &mut report.answers {
        (answer.verdict, answer.strength) = (Verdict::Invalid, None);
        answer.text = "The run says nothing about this: the port was held.".into();
    }
    let said = screen(&report);
    assert_eq!(said.matches("The run says nothing about this").count(), 1, "{said}");
    assert!(said.contains("  allreduce, print, kv-budget, \u{201c}the print broke the baseline\u{201d}: invalid. The run"), "{said}");
    let claim = report.answers.iter_mut().find(|answer| answer.about.starts_with("hypothesis:")).expect("a claim");
    (claim.verdict, claim.strength) = (Verdict::Refuted, Some(Strength::Shown));
    let mut other = claim.clone();
    other.about = "hypothesis:another".into();
    report.answers.push(other);
    assert_eq!(screen(&report).matches(": refuted (shown). ").count(), 2, "each claim is a question of its own");
    report.answers[1].strength = Some(Strength::Anecdotal);
    assert_eq!(screen(&report).matches("The run says nothing about this").count(), 4, "another strength is another answer");
}

#[test]
fn an_exploratory_answer_is_labelled_and_the_primary_metric_stands_first() {
    let mut report = fixed::report();
    for answer in report.answers.iter_mut().filter(|answer| answer.metric == "tpot_ms") {
        (answer.exploratory, answer.strength) = (true, Some(Strength::Consistent));
    }
    assert!(screen(&report).contains("  allreduce: effect (consistent, exploratory). "), "{}", screen(&report));
    "tpot_ms".clone_into(&mut report.plan.primary);
    let said = screen(&report);
    let (first, cells) = (said.find("  allreduce on tpot_ms: effect").expect("named"), said.find("\nCells\n").expect("cells"));
    assert!(first < cells, "{said}");
    assert!(!said[cells..].contains("tpot_ms: geometric"), "and nowhere twice: {said}");
}

#[test]
fn a_unit_stands_in_the_table() {
    let mut report = fixed::report();
    for cell in &mut report.cells {
        cell.metrics["kv_tokens"].unit = Some("tokens".into());
    }
    let said = screen(&report);
    assert!(said.contains("kv_tokens (median, tokens)") && said.contains("tpot_ms (median)"), "{said}");
}
