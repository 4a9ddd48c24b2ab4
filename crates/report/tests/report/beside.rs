//! What stands beside the answers: old logs, claims that cannot be told apart, conclusions that no longer hold; and the way from one answer to its lines.

use std::path::PathBuf;

use bystander_model::ids::TrialId;
use bystander_model::old_log::{AgainstCell, OldLog, OldLogReport};
use bystander_model::outcome::Outcome;
use bystander_model::report::{Alternatives, Conclusion, Means, Report, Strength, Superseded, Verdict};
use bystander_report::{Style, only, text, why, why_of};
use insta::assert_snapshot;

use crate::fixture::{log, step};
use crate::{fixed, story};

fn report() -> Report {
    let mut report = story::report();
    let line = |number: u64, text: &str| bystander_model::evidence::Evidence {
        trial: None,
        place: format!("baseline_clean.log:{number}"),
        ..log(1, number, text)
    };
    report.old_logs = vec![OldLogReport {
        log: OldLog {
            name: "baseline_clean.log".into(),
            file: PathBuf::from("/srv/baseline_clean.log"),
            sha256: "ab".repeat(32),
            bytes: 81_920,
            lines: 1204,
            engine: Some("sglang".into()),
            version: None,
            configuration: Some(line(3, "server_args=ServerArgs(mem_fraction_static=0.88)")),
            outcome: Outcome::Undetermined,
            cause: None,
            evidence: vec![line(120, "ready to roll")],
            budget: None,
        },
        against: vec![AgainstCell {
            cell: "nccl/none".into(),
            engines: None,
            differs: vec!["mem_fraction_static: 0.88 \u{2192} 0.55".into()],
            unknown: vec!["the version of sglang on both sides".into()],
            same: false,
        }],
        text:
            "Its outcome is undetermined. It cannot serve as the baseline nccl/none: it differs in mem_fraction_static: 0.88 \u{2192} 0.55."
                .into(),
    }];
    report.alternatives = vec![Alternatives {
        claims: vec!["the print".into(), "the cable".into()],
        differ: vec!["custom/print: failed or completed".into()],
        text: "The data cannot tell \u{201c}the print\u{201d} and \u{201c}the cable\u{201d} apart.".into(),
    }];
    report.superseded = vec![Superseded {
        run: "old".into(),
        time_ns: 1,
        conclusion: Conclusion {
            about: "factor:allreduce".into(),
            metric: "outcome".into(),
            verdict: Verdict::Effect,
            strength: Some(Strength::Shown),
            estimate: Some(1.0),
            trial: None,
            text: "It breaks it.".into(),
        },
        by_run: report.run.clone(),
        now: Verdict::BaselineBroken,
        by_trial: Some(TrialId(2)),
        text: "On 2026-11-28 10:00 UTC run old said of allreduce: effect. Contradicted by this run, trial 2: baseline broken.".into(),
        evidence: vec![log(2, 41, "RuntimeError")],
    }];
    report
}

/// The part of a text from one heading to the next.
fn section<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let start = text.find(from).unwrap_or_else(|| panic!("{from} is missing in:\n{text}"));
    &text[start..start + text[start..].find(to).unwrap_or_else(|| panic!("{to} is missing after {from}"))]
}

#[test]
fn what_stands_beside_the_answers_comes_right_after_them() {
    let shown = text(&report(), &Style { width: 100, ..Style::default() });
    assert_snapshot!(section(&shown, "Superseded", "Cells"), @r#"
    Superseded conclusions
      - On 2026-11-28 10:00 UTC run old said of allreduce: effect. Contradicted by this run, trial 2:
        baseline broken. [trial 2 stderr:41]

    Claims that the data cannot tell apart
      - The data cannot tell “the print” and “the cable” apart.

    Logs of earlier runs, which enter no test
      baseline_clean.log: Its outcome is undetermined. It cannot serve as the baseline nccl/none: it
        differs in mem_fraction_static: 0.88 → 0.55. [baseline_clean.log:120]
    "#);
    let long = why(&report(), &Style { width: 100, ..Style::default() });
    assert_snapshot!(section(&long, "Logs of earlier", "\nCells"), @r#"
    Logs of earlier runs, which enter no test
      baseline_clean.log: Its outcome is undetermined. It cannot serve as the baseline nccl/none: it
        differs in mem_fraction_static: 0.88 → 0.55. [baseline_clean.log:120]
        file: /srv/baseline_clean.log, 1204 lines, sha256
          abababababababababababababababababababababababababababababababab
        engine: sglang
        baseline_clean.log:120: ready to roll
        baseline_clean.log:3: server_args=ServerArgs(mem_fraction_static=0.88)
        against nccl/none: differs in mem_fraction_static: 0.88 → 0.55; not known: the version of sglang
          on both sides
    "#);
}

#[test]
fn where_there_is_nothing_nothing_is_said() {
    for text in [text(&story::report(), &Style::default()), why(&story::report(), &Style::default())] {
        for heading in ["Superseded", "Logs of earlier runs", "cannot tell apart"] {
            assert!(!text.contains(heading), "{text}");
        }
    }
}

#[test]
fn one_answer_is_found_by_its_name_with_or_without_its_kind_or_by_a_part_of_its_claim() {
    let report = story::report();
    let about = |name: &str| only(&report, name).answers.into_iter().map(|answer| answer.about).collect::<Vec<_>>();
    assert_eq!(about("factor:allreduce"), ["factor:allreduce"]);
    assert_eq!(about(" AllReduce "), ["factor:allreduce"]);
    assert_eq!(about("instrument:print"), ["instrument:print"]);
    assert_eq!(about("print"), ["instrument:print"], "a whole name comes before a part of a claim");
    assert_eq!(about("broke the"), ["hypothesis:the print broke the baseline"]);
    assert_eq!(about("hypothesis:broke"), ["hypothesis:the print broke the baseline"]);
    for nothing in ["", "factor:print", "factor:broke", "no such thing"] {
        assert!(about(nothing).is_empty() && why_of(&report, nothing, &Style::default()).is_none(), "{nothing:?}");
    }
}

#[test]
fn the_way_goes_from_the_verdict_over_rule_and_numbers_to_the_trials_and_their_lines() {
    let mut report = story::report();
    report.answers[1].rule = Some("one launch without it that fails with the same signature".into());
    report.answers[1].numbers = vec!["nccl/none fails in 1 of 1 launch".into()];
    report.next.push(step("instrument:print", Means::Launches, Some(2), "more blocks"));
    let text = why_of(&report, "print", &Style { width: 100, ..Style::default() }).expect("it is there");
    let mut at = 0;
    for part in [
        "print: not needed (shown)",
        "rule: one launch",
        "numbers: nccl/none",
        "counted: trials 2, 5",
        "Trial 2 (block 1)",
        "stderr:41",
        "Trial 5 (block 1)",
        "To know more",
        "print: more blocks (2 launches)",
    ] {
        at += text[at..].find(part).unwrap_or_else(|| panic!("{part} is missing, or too early, in:\n{text}"));
    }
    assert!(!text.contains("Trial 1 ") && !text.contains("stop ="), "what the answer does not rest on is left out:\n{text}");
}

fn named(report: &Report, name: &str) -> Option<Vec<String>> {
    why_of(report, name, &Style::default())?;
    Some(only(report, name).answers.iter().map(|answer| format!("{} {}", answer.about, answer.metric)).collect())
}

fn all(names: &[&str]) -> Option<Vec<String>> {
    Some(names.iter().map(|name| (*name).to_owned()).collect())
}

#[test]
fn a_metric_and_a_subject_on_a_metric_name_answers() {
    let report = fixed::report();
    assert_eq!(named(&report, "tpot_ms"), all(&["factor:allreduce tpot_ms", "instrument:kv-budget tpot_ms"]));
    assert_eq!(named(&report, "allreduce on kv_tokens"), all(&["factor:allreduce kv_tokens"]));
    assert_eq!(named(&report, "instrument:kv-budget ON tpot_ms"), None, "the word is `on`");
    assert_eq!(named(&report, "Factor:AllReduce on TPOT_ms"), all(&["factor:allreduce tpot_ms"]));
    assert_eq!(named(&report, "outcome"), all(&["factor:allreduce outcome", "instrument:kv-budget outcome"]));
    for none in ["allreduce on nothing", "nothing on tpot_ms", "", " on ", "tpot"] {
        assert_eq!(named(&report, none), None, "{none:?}");
    }
    let mut ambiguous = report;
    ambiguous.answers[0].about = "factor:load on demand".into();
    assert_eq!(named(&ambiguous, "load on demand"), all(&["factor:load on demand outcome"]), "a name may hold the word itself");
}

#[test]
fn a_log_of_an_earlier_run_is_named_like_an_answer() {
    let mut report = report();
    for name in ["baseline_clean.log", "/srv/baseline_clean.log", "BASELINE_CLEAN.log"] {
        let text = why_of(&report, name, &Style::default()).expect("it is there");
        assert!(text.contains("mem_fraction_static: 0.88") && text.contains("1204 lines"), "{text}");
        assert!(!text.contains("Answer"), "no answer rests on it: {text}");
    }
    let line = report.old_logs[0].log.evidence[0].clone();
    report.answers[1].evidence.push(line);
    let text = why_of(&report, "baseline_clean.log", &Style::default()).expect("it is there");
    assert!(text.contains("\nAnswer\n"), "{text}");
    assert_eq!(only(&report, "baseline_clean.log").answers.len(), 1);
    let of_answer = why_of(&report, &report.answers[0].about.clone(), &Style::default()).expect("an answer");
    assert!(!of_answer.contains("Logs of earlier runs"), "a log is not every answer's: {of_answer}");
}
