//! Tracebacks inside logs: prefixes of every sort, several ranks at once, wrappers, healthy logs.

use bystander_lab::cause::{Scanner, first_cause, signature};
use bystander_model::evidence::Stream;
use bystander_model::ids::TimeNs;
use bystander_model::reading::LogLine;

use crate::feed::{S, TRIAL, died, nowhere, scan};

const BODY: &str = "  File \"/app/engine/scheduler.py\", line 10, in run\n    self.size()\n    ~~~~~~~~~^^\n  \
                    File \"/app/engine/sizing.py\", line 88, in init_memory_pool\n    raise RuntimeError(text)\n\
                    RuntimeError: Not enough memory. Current value: mem_fraction_static=0.55\n";

const SIGNATURE: &str = "RuntimeError in engine/sizing.py:init_memory_pool: Not enough memory. Current value: mem_fraction_static=#";

fn signatures(log: &str) -> Vec<String> {
    scan(log).tracebacks.iter().map(|traceback| signature(traceback, &nowhere())).collect()
}

#[test]
fn a_prefix_on_the_first_line_only() {
    let log = format!(
        "[2026-11-29 13:31:46 TP3] Load weight begin.\n[2026-11-29 13:31:47 TP3] Scheduler hit an exception: Traceback (most recent call last):\n{BODY}\n\
         [2026-11-29 13:31:47] Received sigquit from a child process. It usually means the child failed.\n"
    );
    let found = scan(&log).tracebacks;
    assert_eq!((found.len(), found[0].rank.as_deref(), found[0].lead.as_str()), (1, Some("TP3"), "Scheduler hit an exception:"));
    assert_eq!((found[0].first_line, found[0].end_line, found[0].root().at), (2, 8, 8));
    assert_eq!(found[0].root().frames[1].at, 6);
    assert_eq!(signatures(&log), [SIGNATURE]);
    assert!(found[0].root().more.is_empty(), "{:?}", found[0].root().more);
}

#[test]
fn a_prefix_on_every_line() {
    for prefix in [
        "(EngineCore_DP0 pid=123) ERROR 11-29 13:10:57 [core.py:1482] ",
        "(EngineCore_DP0 pid=123) ",
        "[rank3]: ",
        "[2026-11-29 13:31:47,123] [ERROR] ",
        "2026-11-29T13:31:47.5Z ",
        "web-1  | ",
        "<3>Nov 29 13:31:47 host app[712]: ",
        "\x1b[0;36m(EngineCore_DP0 pid=123)\x1b[0;0m ",
    ] {
        let body: String = format!("Traceback (most recent call last):\n{BODY}").lines().map(|line| format!("{prefix}{line}\n")).collect();
        let log = format!("{prefix}starting\n{body}{prefix}later\nunrelated\n");
        assert_eq!(signatures(&log), [SIGNATURE], "{prefix:?}");
    }
}

#[test]
fn processes_with_prefixes_are_told_apart_line_by_line() {
    let text = format!("Traceback (most recent call last):\n{BODY}");
    let log: String = text.lines().flat_map(|line| (0..4).map(move |rank| format!("[rank{rank}]: {line}\n"))).collect();
    let found = scan(&log).tracebacks;
    assert_eq!(found.iter().filter_map(|traceback| traceback.rank.as_deref()).collect::<Vec<_>>(), ["rank0", "rank1", "rank2", "rank3"]);
    assert!(found.iter().all(|traceback| !traceback.interleaved && signature(traceback, &nowhere()) == SIGNATURE));
}

#[test]
fn ranks_that_print_the_same_at_once_are_dealt_out_and_marked() {
    let text = format!("Traceback (most recent call last):\n{BODY}");
    let log: String = text.lines().flat_map(|line| (0..3).map(move |_| format!("{line}\n"))).collect();
    let found = scan(&log).tracebacks;
    assert_eq!(found.len(), 3);
    assert!(found.iter().all(|traceback| traceback.interleaved && signature(traceback, &nowhere()) == SIGNATURE), "{found:?}");
}

#[test]
fn headers_that_ran_together_and_lines_of_others_between() {
    let header = "Traceback (most recent call last):";
    let lines: Vec<&str> = BODY.lines().collect();
    let noise = "[2026-11-29 13:31:47 TP1] Load weight end. avail mem=21.70 GB";
    let log = format!(
        "{header}{header}\n{}\n{noise}\nRank 0 is connected\n{}\n{}\n",
        lines[..3].join("\n"),
        lines[3..].join("\n"),
        lines.join("\n")
    );
    assert_eq!(signatures(&log), [SIGNATURE, SIGNATURE]);
}

#[test]
fn the_first_cause_wins_over_those_who_report_it() {
    let log = format!(
        "(APIServer pid=1) INFO starting\n(EngineCore pid=2) Process EngineCore:\n(EngineCore pid=2) Traceback (most recent call last):\n{}\
         (APIServer pid=1) Traceback (most recent call last):\n\
         (APIServer pid=1)   File \"/app/launch.py\", line 5, in main\n(APIServer pid=1)     wait()\n\
         (APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {{'EngineCore': 1}}\n",
        BODY.lines().map(|line| format!("(EngineCore pid=2) {line}\n")).collect::<String>()
    );
    let facts = died(&log, 1, 99);
    let first = first_cause(&facts).expect("a cause");
    assert_eq!((signature(first, &nowhere()).as_str(), first.rank.as_deref()), (SIGNATURE, Some("EngineCore")));

    // A reporter that happens to print first does not take its place.
    let reporter = "Traceback (most recent call last):\n  File \"/app/launch.py\", line 5, in main\n    wait()\n\
                    RuntimeError: Rank 0 scheduler is dead. Please check if there are relevant logs.\n";
    let facts = died(&format!("{reporter}Traceback (most recent call last):\n{BODY}"), 1, 99);
    assert_eq!(signature(first_cause(&facts).expect("a cause"), &nowhere()), SIGNATURE);
    // Alone it is all there is.
    let facts = died(reporter, 1, 99);
    assert!(first_cause(&facts).expect("a cause").root().message.starts_with("Rank 0 scheduler is dead"));
}

#[test]
fn streams_are_put_in_the_order_of_time() {
    let mut scanner = Scanner::new();
    let mut feed = |stream: Stream, from: u64, log: &str| {
        for (text, number) in log.lines().zip(1..) {
            scanner.line(&LogLine { stream, number, time: TimeNs((from + number) * S), text });
        }
    };
    feed(Stream::Stdout, 100, "Traceback (most recent call last):\n  File \"/app/b.py\", line 1, in late\nValueError: late\n");
    feed(Stream::Stderr, 10, "Traceback (most recent call last):\n  File \"/app/a.py\", line 1, in early\nValueError: early\n");
    let found = scanner.finish().tracebacks;
    assert_eq!(found.iter().map(|traceback| traceback.root().message.as_str()).collect::<Vec<_>>(), ["early", "late"]);
}

#[test]
fn a_healthy_log_with_the_word_error_has_no_cause() {
    let log = "[2026-11-29 13:31:40] Ignore import error when loading models.x: No module named 'y'\n\
               ERROR:root:retrying\n[2026-11-29 13:31:41] WARNING x: Traceback (most recent call last):\n  File \"/app/a.py\", line 1, in f\nValueError: handled\n\
               error rate 0.0\nThe server is fired up and ready to roll!\n";
    let facts = died(log, 0, 99);
    assert_eq!(first_cause(&facts), None);
    assert!(!facts.scan.errors.is_empty(), "they are kept to explain");
}

#[test]
fn a_traceback_that_was_cut_off_is_the_last_resort() {
    let cut = "Traceback (most recent call last):\n  File \"/app/a.py\", line 1, in f\n    g()\n";
    let facts = died(cut, 1, 99);
    let first = first_cause(&facts).expect("a cause");
    assert!(!first.complete && signature(first, &nowhere()) == "cut off in app/a.py:f");
    assert_eq!(scan("Traceback (most recent call last):\n").tracebacks, [], "a header alone tells nothing");
}

#[test]
fn other_texts_that_look_alike_open_nothing() {
    let log = "  File \"data.csv\", line 3\nrow one\nrow two\nProcess finished:\nsee File \"x\", line 3, in y\n";
    assert_eq!(scan(log).tracebacks, []);
}

#[test]
fn evidence_of_a_kept_line_names_its_place() {
    let facts = died("one\ntwo\n", 1, 9);
    assert_eq!(facts.scan.last_line().expect("a line").evidence(TRIAL).place, "stderr:2");
    assert_eq!(facts.scan.lines, 2);
}
