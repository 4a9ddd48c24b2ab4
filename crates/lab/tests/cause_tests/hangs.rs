//! Programs that stand still, and engines that serve nobody.

use bystander_lab::cause::{Frame, Progress, Scanner, Standing, Standstill, StopWhy, TrialFacts, WorkloadEnd, classify};
use bystander_model::evidence::Stream;
use bystander_model::ids::TimeNs;
use bystander_model::outcome::{Cause, CauseGroup, Outcome};
use bystander_model::reading::LogLine;

use crate::feed::{S, edit, ready, scan, server, stopped};

const ERROR: &str = "Traceback (most recent call last):\n  File \"/app/a.py\", line 4, in f\nValueError: no such model\n";

fn judge(facts: &TrialFacts) -> (Outcome, Cause) {
    let found = classify(facts, &[]);
    (found.outcome, found.cause.expect("a cause"))
}

fn frame(file: &str, line: u32, function: &str, at: u64) -> Frame {
    Frame { file: file.into(), line, function: Some(function.into()), source: None, at }
}

fn standing(pid: u32, frames: Vec<Frame>) -> Standing {
    let wait = "waits for a lock, with no limit of time".into();
    Standing { pid, title: format!("rank {pid}"), wait, frames, threads: Vec::new(), line: u64::from(pid) }
}

fn standstill(shown_by: Option<&str>) -> Standstill {
    let library = "/venv/lib/python3.12/site-packages/torch/distributed.py";
    Standstill {
        still_s: 60.0,
        measured: "in 60.0 s no output, 0.02 s of processor time".into(),
        shown_by: shown_by.map(str::to_owned),
        processes: vec![
            Standing { wait: "waits for a child to end".into(), ..standing(10, Vec::new()) },
            standing(
                11,
                vec![
                    frame("/app/engine/run.py", 3, "main", 14),
                    frame("/app/engine/load.py", 88, "sync", 15),
                    frame(library, 9, "barrier", 16),
                ],
            ),
            standing(12, vec![frame("/app/engine/run.py", 3, "main", 24), frame("/app/engine/load.py", 88, "sync", 25)]),
        ],
    }
}

fn stalled(log: &str) -> TrialFacts {
    TrialFacts {
        stopped: stopped(90, StopWhy::Stalled { span_s: 60.0 }),
        signal: Some(15),
        ended: Some(TimeNs(91 * S)),
        standstill: Some(standstill(Some("and its stacks were the same at two looks 30.0 s apart"))),
        ..server(log)
    }
}

#[test]
fn a_hang_names_the_program_s_own_place_in_every_process() {
    let (outcome, cause) = judge(&stalled("loading\n"));
    assert_eq!((outcome, cause.class.as_str(), cause.group), (Outcome::TimedOut, "hang", CauseGroup::Target));
    assert_eq!(cause.signature, "hang in engine/load.py:sync", "the same for every rank, wherever it lies, without line or pid");
    assert!(cause.text.starts_with("it hung before it was ready: in 60.0 s no output"), "{}", cause.text);
    assert!(cause.text.contains("pid 11 in sync, engine/load.py:88, waits for a lock"), "{}", cause.text);
    let places: Vec<&str> = cause.evidence.iter().map(|evidence| evidence.place.as_str()).collect();
    assert_eq!(places, ["stacks:10", "stacks:15", "stacks:25", "processes", "stderr:1", "exit"]);
}

#[test]
fn stacks_that_show_nothing_leave_the_time_limit_its_words() {
    let limit = stopped(90, StopWhy::TimeLimit { limit_s: 80.0 });
    let still = Some(Progress { moving: false, text: "nothing".into() });
    let facts = TrialFacts { stopped: limit, progress: still, standstill: Some(standstill(None)), ..stalled("loading\n") };
    let (outcome, cause) = judge(&facts);
    assert_eq!((outcome, cause.class.as_str()), (Outcome::TimedOut, "timeout.stalled"));
    assert!(cause.text.contains("pid 11 in sync, engine/load.py:88"), "{}", cause.text);
    assert!(cause.evidence.iter().any(|evidence| evidence.place == "stacks:15"));
    // Seen to hang, it is a hang at its time limit too, with the same signature.
    let sure = TrialFacts { standstill: Some(standstill(Some("twice"))), ..facts };
    assert_eq!(judge(&sure).1.signature, judge(&stalled("loading\n")).1.signature);
}

#[test]
fn a_process_that_stays_after_its_traceback_has_failed_by_it() {
    let (outcome, cause) = judge(&stalled(&format!("loading\n{ERROR}")));
    assert_eq!(
        (outcome, cause.class.as_str(), cause.signature.as_str()),
        (Outcome::Failed, "python.ValueError", "ValueError in app/a.py:f: no such model")
    );
    assert!(cause.text.contains("its processes stayed, and stood still: in 60.0 s no output"), "{}", cause.text);
    assert!(cause.evidence.iter().any(|evidence| evidence.place == "stacks:15"));

    // A line that an instrument added is blamed for it as if the process had ended: nothing came after.
    let blamed = TrialFacts { edits: vec![edit("/app/a.py", 4..5)], ..stalled(&format!("loading\n{ERROR}")) };
    assert_eq!(judge(&blamed).1.blames.as_deref(), Some("print"));
    let went_on = TrialFacts { scan: scan(&format!("loading\n{ERROR}retrying\n")), ..blamed };
    let (_, cause) = judge(&went_on);
    assert!(cause.blames.is_none() && cause.text.contains("the program went on printing after it"), "{}", cause.text);
    // What the log itself says was harmless explains nothing.
    let harmless = format!("Exception ignored in: <x>\n{ERROR}");
    assert_eq!(judge(&stalled(&harmless)).1.class, "hang");
    // And one that was cut off is none either.
    assert_eq!(judge(&stalled("Traceback (most recent call last):\n  File \"/app/a.py\", line 4, in f\n")).1.class, "hang");
}

/// vLLM's statistics, one line every ten seconds.
fn statistics(rows: &[(u32, u32, &str)]) -> String {
    let row = |&(running, waiting, speed): &(u32, u32, &str)| {
        format!(
            "INFO Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: {speed} tokens/s, Running: {running} reqs, Waiting: {waiting} reqs, \
             GPU KV cache usage: 0.0%\nINFO: 127.0.0.1:1 - \"GET /version HTTP/1.1\" 200 OK\n"
        )
    };
    rows.iter().map(row).collect()
}

#[test]
fn requests_that_wait_while_none_runs_are_a_dead_engine_whatever_http_says() {
    let log = statistics(&[(1, 0, "9.0"), (0, 3, "0.0"), (0, 3, "0.0"), (0, 3, "0.0"), (0, 4, "0.0")]);
    let served = TrialFacts { ready: ready(1), expects_workload: true, standstill: None, ..stalled(&log) };
    let (outcome, cause) = judge(&served);
    assert_eq!((outcome, cause.class.as_str(), cause.signature.as_str()), (Outcome::TimedOut, "hang", "hang: requests wait and none runs"));
    assert!(cause.text.contains("4 lines of its statistics in a row, over 6 s"), "{}", cause.text);
    assert_eq!((cause.evidence[0].place.as_str(), cause.evidence[1].place.as_str()), ("stderr:3", "stderr:9"));
    // A workload that gave up waiting says less than that.
    let workload = Some(WorkloadEnd { exit: None, signal: None, timed_out: true, last_line: None });
    let late = TrialFacts { stopped: stopped(90, StopWhy::Done), workload, ..served };
    let (outcome, cause) = judge(&late);
    assert_eq!((outcome, cause.class.as_str()), (Outcome::TimedOut, "hang"));
    assert!(cause.evidence.iter().any(|evidence| evidence.place == "workload"));
}

#[test]
fn a_row_that_a_running_request_breaks_is_none() {
    for rows in [
        &[(0, 3, "0.0"), (0, 3, "0.0")][..],
        &[(0, 3, "0.0"), (0, 3, "0.0"), (1, 2, "0.0"), (0, 3, "0.0"), (0, 3, "0.0")],
        &[(0, 3, "0.0"), (0, 3, "0.0"), (0, 3, "0.0"), (2, 0, "30.1")],
        &[(0, 0, "0.0"); 9],
        &[(0, 3, "0.5"); 9],
    ] {
        assert_eq!(scan(&statistics(rows)).starved, None, "{rows:?}");
    }
}

#[test]
fn a_scanner_tells_while_it_reads() {
    let mut scanner = Scanner::new();
    let log = format!("{ERROR}{}", statistics(&[(0, 3, "0.0"), (0, 3, "0.0"), (0, 3, "0.0")]));
    let mut told = Vec::new();
    for (text, number) in log.lines().zip(1..) {
        scanner.line(&LogLine { stream: Stream::Stderr, number, time: TimeNs(number * S), text });
        told.push((scanner.has_traceback(), scanner.starved().is_some()));
    }
    assert_eq!(told[1], (false, false));
    assert_eq!(told[2], (true, false), "its last line is enough");
    assert_eq!(told.last(), Some(&(true, true)));
}

#[test]
fn a_limit_that_is_reached_under_load_says_that_it_was_ready_and_what_had_not_ended() {
    let limit = stopped(90, StopWhy::TimeLimit { limit_s: 8.0 });
    let moving = |moving| Some(Progress { moving, text: "measured".into() });
    let last = bystander_model::evidence::Evidence::log(bystander_model::ids::TrialId(1), Stream::Workload, 3, "x=3");
    let workload = Some(WorkloadEnd { exit: None, signal: Some(15), timed_out: false, last_line: Some(last) });
    let facts = TrialFacts {
        stopped: limit,
        standstill: None,
        ready: ready(1),
        expects_workload: true,
        progress: moving(true),
        workload,
        ..stalled("server ready\n")
    };
    let (outcome, cause) = judge(&facts);
    assert_eq!((outcome, cause.class.as_str()), (Outcome::TimedOut, "timeout.running"));
    assert!(cause.text.starts_with("it was ready, and its workload had not ended at the time limit of 8 s (measured); "), "{}", cause.text);
    assert!(cause.text.ends_with("server ready; its workload's last line: x=3"), "{}", cause.text);
    assert!(cause.evidence.iter().any(|evidence| evidence.place == "workload:3"), "{:?}", cause.evidence);
    let still = TrialFacts { progress: moving(false), ..facts.clone() };
    assert!(judge(&still).1.text.starts_with("it was ready, and it stood still while its workload had not ended at"));
    // The workload's own limit has its number.
    let late = Some(WorkloadEnd { exit: None, signal: None, timed_out: true, last_line: None });
    let late = TrialFacts { stopped: stopped(90, StopWhy::Done), workload: late, workload_limit_s: Some(2.5), ..facts };
    let (_, cause) = judge(&late);
    assert!(cause.text.contains("the workload reached its time limit of 2.5 s"), "{}", cause.text);
}
