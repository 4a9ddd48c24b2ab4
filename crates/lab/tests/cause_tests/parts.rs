//! Programs that were ready and stopped answering, that died of what came after, or of which a part had died: and what was never ready, and why.

use bystander_lab::cause::{PartDied, Standing, StandingThread, Standstill, StopWhy, TrialFacts, Unanswering, WorkloadEnd, classify};
use bystander_model::evidence::{Evidence, Stream};
use bystander_model::ids::TimeNs;
use bystander_model::outcome::{Cause, Outcome};

use crate::feed::{S, TRIAL, died, ready, scan, server, stopped};

const ERROR: &str = "Traceback (most recent call last):\n  File \"/app/engine.py\", line 4, in load\nValueError: no such model\n";

fn judge(facts: &TrialFacts) -> (Outcome, Cause) {
    let found = classify(facts, &[]);
    (found.outcome, found.cause.expect("a cause"))
}

fn frame(file: &str, function: &str, at: u64) -> bystander_lab::cause::Frame {
    bystander_lab::cause::Frame { file: file.into(), line: 9, function: Some(function.into()), source: None, at }
}

/// A server whose main thread waits for connections, and of which another thread is at work.
fn serving() -> Standstill {
    let python = "/usr/lib/python3.12";
    let idle = vec![
        frame("/app/serve.py", "<module>", 3),
        frame(&format!("{python}/socketserver.py"), "serve_forever", 4),
        frame(&format!("{python}/selectors.py"), "select", 5),
    ];
    let pool =
        vec![frame(&format!("{python}/threading.py"), "run", 7), frame(&format!("{python}/concurrent/futures/thread.py"), "_worker", 8)];
    let busy = vec![frame(&format!("{python}/socketserver.py"), "process_request_thread", 10), frame("/app/serve.py", "generate", 11)];
    let thread = |name: &str, frames| StandingThread { name: Some(name.into()), wait: Some("waits for a lock".into()), frames };
    let process = Standing {
        pid: 10,
        title: "serve".into(),
        wait: "waits for connections or events".into(),
        frames: idle,
        threads: vec![thread("pool_0", pool), thread("Thread-3", busy)],
        line: 1,
    };
    Standstill { still_s: 0.0, measured: "taken when its workload had failed".into(), shown_by: None, processes: vec![process] }
}

/// A program that was ready, whose workload has failed.
fn unanswering(silent: bool) -> TrialFacts {
    let shown = Evidence::sample(TRIAL, "readiness", "looked at again: it gave no answer");
    TrialFacts {
        ready: ready(2),
        expects_workload: true,
        workload: Some(WorkloadEnd { exit: Some(5), signal: None, timed_out: false, last_line: None }),
        unanswering: Some(Unanswering { shown, silent }),
        standstill: Some(serving()),
        stopped: stopped(9, StopWhy::Done),
        ..server("up\n")
    }
}

#[test]
fn who_takes_a_question_and_says_nothing_hangs_and_who_refuses_has_died() {
    let (outcome, cause) = judge(&unanswering(true));
    assert_eq!((outcome, cause.class.as_str(), cause.signature.as_str()), (Outcome::TimedOut, "hang", "hang in app/serve.py:generate"));
    assert!(cause.text.starts_with("it was ready, and stopped answering under its workload: looked at again"), "{}", cause.text);
    assert!(cause.text.contains("pid 10, thread Thread-3, in generate, app/serve.py:9, waits for a lock"), "{}", cause.text);
    assert!(cause.evidence.iter().any(|evidence| evidence.place == "stacks:11"), "{:?}", cause.evidence);
    let (outcome, cause) = judge(&unanswering(false));
    assert_eq!((outcome, cause.class.as_str()), (Outcome::Failed, "died_under_load"));
    // An exception that explains it is the cause.
    let raised = TrialFacts {
        scan: scan(&format!("up\n\n{}", ERROR.replace("Traceback", "[2026-11-29 13:31:47 TP0] Traceback"))),
        ..unanswering(true)
    };
    assert_eq!(judge(&raised).1.class, "python.ValueError");
}

#[test]
fn who_answers_when_it_is_asked_by_itself_does_not_hang() {
    let answers = Some(Evidence::sample(TRIAL, "readiness", "looked at again: it completed a prompt in 0.2 s"));
    let (outcome, cause) = judge(&TrialFacts { answers, unanswering: None, standstill: None, ..unanswering(true) });
    assert_eq!((outcome, cause.class.as_str()), (Outcome::Failed, "workload"));
    assert!(cause.text.ends_with("; it does not hang: looked at again: it completed a prompt in 0.2 s"), "{}", cause.text);
    assert!(cause.evidence.iter().any(|evidence| evidence.place == "readiness"), "{:?}", cause.evidence);
}

#[test]
fn a_signal_after_it_was_ready_is_a_death_and_before_it_a_signal() {
    let killed = |facts: TrialFacts| TrialFacts { exit: None, signal: Some(11), ..facts };
    let class = |facts: &TrialFacts| judge(facts).1.class;
    assert_eq!(class(&killed(died("up\n", 0, 9))), "signal.SIGSEGV");
    assert_eq!(class(&killed(TrialFacts { ready: ready(1), ..died("up\n", 0, 9) })), "ready_then_died");
    assert_eq!(class(&killed(TrialFacts { held: Some(TimeNs(S)), ..died("up\n", 0, 2) })), "ready_then_died");
    let load = TrialFacts { ready: ready(1), expects_workload: true, under_load: true, ..died("up\n", 0, 9) };
    assert_eq!(class(&killed(load)), "died_under_load");
}

/// A front end that goes on after a part has died.
fn parted(log: &str, traceback: Option<(Stream, u64)>) -> TrialFacts {
    let part_died = PartDied { how: "process 17 (engine) ended with exit code 1".into(), traceback, said: None };
    TrialFacts { part_died: Some(part_died), stopped: stopped(90, StopWhy::PartDied { span_s: 5.0 }), ..server(log) }
}

#[test]
fn the_first_exception_of_the_part_that_died_is_the_cause_whatever_the_rest_prints() {
    let log = format!("loading\n{ERROR}waiting for the engine\nwaiting for the engine\n");
    let (outcome, cause) = judge(&parted(&log, Some((Stream::Stderr, 2))));
    assert_eq!((outcome, cause.class.as_str()), (Outcome::Failed, "python.ValueError"));
    assert!(cause.text.contains("process 17 (engine) ended with exit code 1; the rest went on for 5 s"), "{}", cause.text);
    assert!(!cause.text.contains("went on printing after it"), "{}", cause.text);
    // One that was caught before is not.
    let caught = ERROR.replace("ValueError: no such model", "KeyError: 'optional'");
    let (_, cause) = judge(&parted(&format!("{caught}{log}"), Some((Stream::Stderr, 5))));
    assert_eq!(cause.class, "python.ValueError");
    // Words alone name what is known.
    let (outcome, cause) = judge(&parted("loading\n", None));
    assert_eq!((outcome, cause.class.as_str()), (Outcome::Failed, "part_died"));
}

#[test]
fn why_it_was_never_ready_stands_first_and_tells_failures_apart() {
    let kinds = [
        "http://127.0.0.1:4100/health answered 500",
        "http://127.0.0.1:4100/v1/completions answered 200, and generated nothing",
        "http://127.0.0.1:4100/v1/models does not show `a`: it shows `b`",
        "http://127.0.0.1:4100/health gave no answer (io: Connection refused)",
        "no process of the trial listens on port 4100",
        "no process of the trial listens on port 4100, but somebody else does",
        "no line has matched the `log` pattern",
    ];
    let late = |why: &str| {
        let limit = stopped(90, StopWhy::TimeLimit { limit_s: 80.0 });
        judge(&TrialFacts { stopped: limit, unready: Some(why.into()), ..server("loading\n") })
    };
    let mut signatures = Vec::new();
    for why in kinds {
        let (outcome, cause) = late(why);
        assert_eq!((outcome, cause.class.as_str()), (Outcome::TimedOut, "timeout.starting"));
        assert!(cause.text.starts_with(&format!("never ready: {why}; it was still starting")), "{}", cause.text);
        assert_eq!(late(&why.replace("4100", "4242")).1.signature, cause.signature, "the port is not part of it");
        signatures.push(cause.signature);
    }
    signatures.sort();
    signatures.dedup();
    assert_eq!(signatures.len(), kinds.len(), "{signatures:#?}");
}

/// A front end that was ready and goes on answering, whose workload succeeds.
fn parted_under_load(log: &str, traceback: Option<(Stream, u64)>) -> TrialFacts {
    TrialFacts {
        ready: ready(1),
        expects_workload: true,
        workload: Some(WorkloadEnd { exit: Some(0), signal: None, timed_out: false, last_line: None }),
        stopped: stopped(90, StopWhy::Done),
        ..parted(log, traceback)
    }
}

#[test]
fn a_part_that_dies_under_load_spoils_what_the_rest_answers() {
    let log = format!("ready to roll\nserving\n{ERROR}serving\nserving\n");
    let (outcome, cause) = judge(&parted_under_load(&log, Some((Stream::Stderr, 3))));
    assert_eq!((outcome, cause.class.as_str()), (Outcome::Failed, "died_under_load"));
    assert!(cause.text.starts_with("process 17 (engine) ended with exit code 1, after it was ready"), "{}", cause.text);
    assert!(cause.text.contains("ValueError: no such model") && cause.signature.contains("ValueError"), "{cause:?}");
    // One that was caught is not what a part died of.
    let (outcome, cause) = judge(&parted_under_load(&log, None));
    assert_eq!((outcome, cause.class.as_str()), (Outcome::Failed, "died_under_load"));
    assert!(!cause.text.contains("ValueError"), "{}", cause.text);
    // Without the death the same log is that of a program that completed.
    let whole = TrialFacts { part_died: None, ..parted_under_load(&log, None) };
    assert_eq!(classify(&whole, &[]).outcome, Outcome::Completed);
}
