//! Whatever a log says, the scanner neither panics nor grows.

use bystander_lab::cause::{Scanner, classify, mask};
use bystander_model::evidence::Stream;
use bystander_model::ids::TimeNs;
use bystander_model::reading::LogLine;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};

use crate::feed::{TRIAL, died, nowhere};

fn line() -> impl Strategy<Value = String> {
    let known = prop_oneof![
        Just("Traceback (most recent call last):"),
        Just("  + Exception Group Traceback (most recent call last):"),
        Just("  File \"/app/a.py\", line 3, in f"),
        Just("  File \"/app/a.py\", line 99999999999999999999"),
        Just("  File \"/app/a.py\", line 3"),
        Just("    raise x"),
        Just("    ~~^^"),
        Just("  |   File \"/app/a.py\", line 3, in f"),
        Just("  | ValueError: x"),
        Just("  +-+---------------- 1 ----------------"),
        Just("    +---------------- 2 ----------------"),
        Just("    +------------------------------------"),
        Just("RuntimeError: no"),
        Just("SyntaxError: invalid syntax"),
        Just("During handling of the above exception, another exception occurred:"),
        Just("The above exception was the direct cause of the following exception:"),
        Just("Process TP3:"),
        Just("Exception ignored in: <x>"),
        Just(""),
    ];
    let prefix =
        prop_oneof![Just(""), Just("[rank1]: "), Just("(W pid=3) "), Just("[2026-11-29 13:31:46 TP3] "), Just("x | "), Just("\x1b[1m")];
    prop_oneof![9 => (prefix, known).prop_map(|(prefix, known)| format!("{prefix}{known}")), 1 => any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn arbitrary_lines_are_survived_and_classified(lines in proptest::collection::vec((any::<bool>(), line()), 0..60), exit in any::<i32>()) {
        let mut scanner = Scanner::new();
        for ((out, text), number) in lines.iter().zip(1..) {
            let stream = if *out { Stream::Stdout } else { Stream::Stderr };
            scanner.line(&LogLine { stream, number, time: TimeNs(number), text });
        }
        let facts = bystander_lab::cause::TrialFacts { scan: scanner.finish(), ..died("", exit, 1) };
        assert!(facts.scan.tracebacks.iter().all(|traceback| !traceback.raised.is_empty()));
        let found = classify(&facts, &[]);
        assert!(found.cause.is_none_or(|cause| !cause.signature.is_empty() && !cause.text.is_empty()));
    }

    #[test]
    fn masking_never_panics_and_settles(text in any::<String>()) {
        let once = mask(&text);
        assert_eq!(mask(&once), once);
    }
}

#[test]
fn a_long_log_costs_bounded_memory() {
    let traceback = ["Traceback (most recent call last):", "  File \"/app/a.py\", line 3, in f", "RuntimeError: no"];
    let mut scanner = Scanner::new();
    for number in 1..=60_000_u64 {
        let text = traceback[usize::try_from(number % 3).expect("small")];
        let stream = if number % 2 == 0 { Stream::Stdout } else { Stream::Stderr };
        scanner.line(&LogLine { stream, number, time: TimeNs(number), text });
        scanner.line(&LogLine { stream: Stream::Stderr, number, time: TimeNs(number), text: "error: again" });
    }
    let scan = scanner.finish();
    assert!(scan.tracebacks.len() <= 48 && scan.errors.len() <= 48 && scan.last.len() <= 40);
    assert!(scan.tracebacks_left_out > 0);
    assert_eq!(scan.lines, 120_000);
}

#[test]
fn a_line_of_100_mb_is_kept_short() {
    let long = format!("RuntimeError: {}", "é".repeat(50 << 20));
    let mut scanner = Scanner::new();
    for (text, number) in ["Traceback (most recent call last):", "  File \"/app/a.py\", line 3, in f", &long].into_iter().zip(1..) {
        scanner.line(&LogLine { stream: Stream::Stderr, number, time: TimeNs(number), text });
    }
    let facts =
        bystander_lab::cause::TrialFacts { exit: Some(1), ..bystander_lab::cause::TrialFacts::new(TRIAL, scanner.finish(), nowhere()) };
    assert!(format!("{:?}", facts.scan).len() < 20_000);
    assert!(classify(&facts, &[]).cause.expect("a cause").signature.len() < 300);
}
