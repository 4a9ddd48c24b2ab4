//! What must hold for any report: no escape codes from a program, no colour where none is wanted, ASCII where that is asked for, no word lost.

use bystander_model::ids::TrialId;
use bystander_model::report::{Means, Report};
use bystander_model::value::Value;
use bystander_report::{Style, text, why};

use crate::fixture::step;
use crate::{fixed, fixture, story};

#[test]
fn colour_only_repeats_what_the_words_say() {
    for report in [story::report(), fixed::report(), fixed::broken_off(), fixture::empty()] {
        for render in [text, why] {
            let plain = render(&report, &Style::default());
            let coloured = render(&report, &Style { colour: true, ..Style::default() });
            assert!(!plain.contains('\u{1b}') && coloured.contains('\u{1b}'));
            assert_eq!(without_codes(&coloured), plain);
        }
    }
}

fn without_codes(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| plain + part.split_once('m').expect("a code ends with m").1)
}

#[test]
fn without_unicode_the_signs_are_ascii() {
    for report in [story::report(), fixed::report()] {
        let ascii = Style { unicode: false, ..Style::default() };
        let rendered = text(&report, &ascii) + &why(&report, &ascii);
        assert!(rendered.is_ascii(), "{rendered}");
        assert!(text(&report, &Style::default()).contains('\u{2026}') || why(&report, &Style::default()).contains('\u{2212}'));
    }
}

#[test]
fn text_of_a_program_cannot_steer_the_terminal() {
    let mut report = story::report();
    let evil = "\u{1b}]0;title\u{7}\u{202e}\rgone";
    report.question = Some(evil.to_owned());
    report.answers[0].text = evil.to_owned();
    report.cells[0].causes[0].text = evil.to_owned();
    report.captures[0].hit.values.insert("x".into(), Value::Text(evil.into()));
    report.notes = vec![evil.to_owned()];
    report.trials[0].evidence[0].text = evil.to_owned();
    for rendered in [text(&report, &Style::default()), why(&report, &Style::default())] {
        assert!(rendered.chars().all(|c| c == '\n' || !c.is_control()), "{rendered:?}");
        assert!(!rendered.contains('\u{202e}') && rendered.contains("\\u{1b}]0;title"));
    }
}

#[test]
fn lines_are_no_wider_than_asked_where_words_allow_it() {
    use unicode_width::UnicodeWidthStr as _;
    for report in [story::report(), fixed::report(), fixed::broken_off()] {
        for width in [80, 100, 120, 200] {
            for line in text(&report, &Style { width, ..Style::default() }).lines() {
                assert!(line.width() <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn odd_ranks_are_named() {
    let with = |change: fn(u32, &mut Value)| -> String {
        let mut report = story::report();
        report.captures.truncate(8);
        for (rank, capture) in (0..).zip(&mut report.captures) {
            change(rank, &mut capture.hit.values["available_gpu_memory"]);
        }
        text(&report, &Style { width: 300, ..Style::default() })
    };
    let one = with(|rank, value| {
        if rank == 3 {
            *value = Value::Float(21.1)
        }
    });
    assert!(one.contains("trial 3, 8 ranks: available_gpu_memory = 21.697, but 21.1 on rank 3, total_gpu_memory = 93.999,"), "{one}");
    let spread = with(|rank, value| *value = Value::Float(21.0 + f64::from(rank) / 8.0));
    assert!(spread.contains("available_gpu_memory = 21 (rank 0) to 21.875 (rank 7), total"), "{spread}");
    let words = with(|rank, value| *value = Value::Text(if rank < 4 { "a" } else { "b" }.into()));
    assert!(words.contains("available_gpu_memory = \"a\" on ranks 0\u{2013}3, \"b\" on ranks 4\u{2013}7, total"), "{words}");
    let many = with(|rank, value| *value = Value::Text(format!("v{rank}")));
    assert!(many.contains("available_gpu_memory has 8 different values, total"), "{many}");
}

#[test]
fn long_data_is_cut_and_says_where_the_rest_is() {
    let mut report = story::report();
    let cell = report.cells[0].clone();
    report.cells = (0..40).map(|n| bystander_model::report::CellReport { instrument: format!("i{n}"), ..cell.clone() }).collect();
    report.notes = (0..40).map(|n| format!("note {n}")).collect();
    report.next = (0..40).map(|n| step("", Means::Launches, None, &format!("step {n}"))).collect();
    report.captures = (0..40_u32)
        .map(|n| bystander_model::report::Capture {
            cell: format!("c{n}"),
            trial: TrialId(n),
            hit: story::hit(n),
            hits: u64::from(n),
            unsafe_capture: false,
        })
        .enumerate()
        .map(|(n, mut capture)| {
            capture.hit.values["rest_memory"] = Value::Int(i64::try_from(n).expect("small"));
            capture
        })
        .collect();
    report.restored.proofs = (0..40).map(|_| report.restored.proofs[0].clone()).collect();
    let screen = text(&report, &Style { width: 120, ..Style::default() });
    assert!(screen.lines().count() < 90, "{}", screen.lines().count());
    for cut in [
        "24 more cells (show --why)",
        "37 more (show --why)",
        "36 more (show --why)",
        "34 more (show --why)",
        "36 files more, all listed by show --why",
    ] {
        assert!(screen.contains(cut), "{cut}: {screen}");
    }
    let whole = why(&report, &Style { width: 120, ..Style::default() });
    for n in 0..40 {
        assert!(
            whole.contains(&format!("note {n}\n")) && whole.contains(&format!("step {n}\n")) && whole.contains(&format!(" i{n} ")),
            "{n}"
        );
    }
}

#[test]
fn an_empty_or_strange_report_is_rendered_all_the_same() {
    let mut report: Report = fixture::empty();
    assert!(text(&report, &Style::default()).contains("None yet: nothing was compared."));
    report.status = "new word".into();
    report.question = Some(String::new());
    report.answers = story::report().answers;
    report.answers[0].about = "something".into();
    report.answers[1].text = String::new();
    report.captures = story::report().captures;
    report.captures[0].hit.values.clear();
    for width in [0, 1, 20, 10_000] {
        let style = Style { width, ..Style::default() };
        assert!(text(&report, &style).contains("new word"));
        assert!(why(&report, &style).contains("new word"));
    }
}

/// With one cell no answer speaks of metrics, and a column of nothing would say no reason.
#[test]
fn a_metric_that_no_launch_shows_has_a_line_with_the_reason() {
    let mut report = fixed::report();
    report.cells.truncate(1);
    report.answers.clear();
    for (name, why) in
        [("lost", Some("one of 2 matches, so none counts")), ("twice", Some("one of 2 matches, so none counts")), ("silent", None)]
    {
        report.cells[0].metrics.insert(name.to_owned(), fixture::metric(&[]));
        for trial in &mut report.trials {
            trial.metrics.insert(name.to_owned(), None);
            trial.metric_evidence.extend(why.map(|why| (name.to_owned(), fixture::log(trial.id.0, 30, why))));
        }
    }
    for render in [text, why] {
        let shown = render(&report, &Style::default());
        assert!(shown.contains("\n  lost, twice: \u{2013} (no value in trial 1: one of 2 matches, so none counts)\n"), "{shown}");
        assert!(shown.contains("\n  silent: \u{2013} (no value in trial 1: not seen)\n"), "{shown}");
        assert!(!shown.contains("kv_tokens: \u{2013}"), "what is seen stands in the table: {shown}");
    }
    // Where nothing completed there was nothing to measure.
    report.trials.iter_mut().for_each(|trial| trial.outcome = Some(bystander_model::outcome::Outcome::Failed));
    assert!(!text(&report, &Style::default()).contains("no value in trial"));
}
