//! What came before what: readiness before the workload, a worker before its launcher, a client's hanging up before its server's complaint.

use bystander_lab::cause::{StopWhy, TrialFacts, WorkloadEnd, classify};
use bystander_model::evidence::{Evidence, Stream};
use bystander_model::ids::TimeNs;
use bystander_model::outcome::{Cause, Outcome};

use crate::feed::{S, TRIAL, died, edit, ready, server, stopped};

const HANDLED: &str =
    "Traceback (most recent call last):\n  File \"/app/s.py\", line 4, in tb\nRuntimeError: optional kernel not available\n";
const WORKER: &str = "Traceback (most recent call last):\n  File \"/app/worker.py\", line 9, in <module>\n    load()\n  File \"/app/worker.py\", line 3, in load\nFileNotFoundError: /models/tokenizer.json\n";
const LAUNCHER: &str =
    "Traceback (most recent call last):\n  File \"/app/launcher.py\", line 4, in <module>\nRuntimeError: worker exited with code 1\n";

fn cause(facts: &TrialFacts) -> Cause {
    let found = classify(facts, &[]);
    assert!(matches!(found.outcome, Outcome::Failed | Outcome::TimedOut), "{found:?}");
    found.cause.expect("a cause")
}

/// A server that is ready at a second and lives on; its workload fails with words.
fn served(log: &str, at: u64, words: &str) -> TrialFacts {
    let last_line = (!words.is_empty()).then(|| Evidence::log(TRIAL, Stream::WorkloadStderr, 1, words));
    TrialFacts {
        ready: ready(at),
        expects_workload: true,
        workload: Some(WorkloadEnd { exit: Some(1), signal: None, timed_out: false, last_line }),
        stopped: stopped(50, StopWhy::Done),
        signal: Some(15),
        ended: Some(TimeNs(60 * S)),
        ..server(log)
    }
}

#[test]
fn what_was_survived_before_ready_is_no_cause_of_what_the_workload_says_later() {
    // Its first line comes at second 1; it was seen to be ready within the same second, or in a line that follows.
    let mut at_once = served(&format!("{HANDLED}ready to roll\n"), 1, "accuracy 0.31 is below 0.50");
    at_once.ready.iter_mut().for_each(|ready| ready.at = TimeNs(S + S / 2));
    let mut by_line = served(&format!("{HANDLED}ready to roll\n"), 1, "accuracy 0.31 is below 0.50");
    by_line.ready.iter_mut().for_each(|ready| ready.evidence = vec![Evidence::log(TRIAL, Stream::Stderr, 4, "ready to roll")]);
    for facts in [&at_once, &by_line] {
        let found = cause(facts);
        assert_eq!((found.class.as_str(), found.is_echo), ("workload", false), "{}", found.text);
        assert_eq!(found.signature, "the workload ended with exit code 1: accuracy # is below #");
        assert!(found.text.contains("an earlier traceback at stderr:3 was not what ended it: it was ready after it"), "{}", found.text);
    }
    let late = TrialFacts {
        workload: at_once
            .workload
            .clone()
            .map(|end| WorkloadEnd { last_line: Some(Evidence::log(TRIAL, Stream::WorkloadStderr, 1, "TimeoutError: timed out")), ..end }),
        ..at_once.clone()
    };
    assert_ne!(cause(&late).signature, cause(&at_once).signature);
    // A thread that it lost before is none either, unless a part of it is known to be dead.
    let mut thread = served(&format!("Exception in thread Thread-1:\n{HANDLED}"), 4, "no answer");
    thread.ready.iter_mut().for_each(|ready| ready.at = TimeNs(2 * S + S / 2));
    assert_eq!(cause(&thread).class, "workload");
    // Who died of it a moment later had not survived it.
    let mut dies = TrialFacts { expects_workload: true, ..died(HANDLED, 1, 4) };
    dies.ready.clone_from(&at_once.ready);
    assert_eq!(cause(&dies).class, "python.RuntimeError");
}

#[test]
fn an_error_under_load_is_the_same_failure_only_where_the_work_failed_alike() {
    let log = format!("up\n{HANDLED}");
    let of = |words: &str| cause(&served(&log, 1, words));
    let one = of("accuracy 0.31 is below 0.50");
    assert_eq!(one.class, "python.RuntimeError");
    assert!(one.text.contains("; then the workload ended with exit code 1: accuracy 0.31"), "{}", one.text);
    assert_eq!(one.signature, of("accuracy 0.29 is below 0.50").signature);
    assert_ne!(one.signature, of("TimeoutError: timed out").signature);
    // How a lost connection is told is chance.
    let lost =
        ["ConnectionResetError: [Errno 104] Connection reset by peer", "http.client.RemoteDisconnected: Remote end closed connection"];
    assert_eq!(of(lost[0]).signature, of(lost[1]).signature);
}

#[test]
fn a_worker_s_own_exception_comes_before_its_launcher_s_word_of_it() {
    let found = cause(&died(&format!("{WORKER}{LAUNCHER}"), 1, 99));
    assert_eq!((found.class.as_str(), found.is_echo), ("python.FileNotFoundError", false), "{}", found.text);
    assert!(found.signature.contains("worker.py:load: <path>/tokenizer.json"), "{}", found.signature);
    let fused = WORKER.replace("FileNotFoundError: /models/tokenizer.json", "RuntimeError: illegal memory access in fused_moe");
    assert_ne!(cause(&died(&format!("{fused}{LAUNCHER}"), 1, 99)).signature, found.signature);
    // An added line in the worker is to blame: its launcher says that the worker ended.
    let edits = || vec![edit("/app/worker.py", 3..4)];
    assert_eq!(cause(&TrialFacts { edits: edits(), ..died(&format!("{WORKER}{LAUNCHER}"), 1, 99) }).blames.as_deref(), Some("print"));
    // What was caught long before is not what the launcher speaks of; the worker's is, whatever code the launcher ends with.
    let caught = format!("{HANDLED}falling back\n{}{WORKER}worker exited with code 1\n", "step\n".repeat(5));
    for exit in [1, 3] {
        let found = cause(&TrialFacts { edits: edits(), ..died(&caught, exit, 99) });
        assert_eq!((found.class.as_str(), found.blames.as_deref()), ("python.FileNotFoundError", Some("print")), "{}", found.text);
    }
    // Of several that ended one after another the first.
    let two = format!("{WORKER}{}{LAUNCHER}", WORKER.replace("FileNotFoundError: /models/tokenizer.json", "ValueError: no peer"));
    assert_eq!(cause(&died(&two, 1, 99)).class, "python.FileNotFoundError");
    // A launcher that went on after it speaks of something else.
    let on = format!("{WORKER}{LAUNCHER}{}", "still here\n".repeat(3));
    assert_eq!(cause(&TrialFacts { edits: edits(), ..died(&on, 1, 99) }).blames, None);
}

#[test]
fn a_launcher_s_word_alone_is_no_evidence_of_sameness() {
    for log in [LAUNCHER.to_owned(), "worker exited with -9\n".to_owned()] {
        let found = cause(&died(&log, 1, 99));
        assert!(found.is_echo, "{found:?}");
    }
    let signature = |log: &str| cause(&died(log, 1, 99)).signature;
    assert_ne!(signature("worker exited with -9\n"), signature("worker exited with -11\n"));
}

#[test]
fn a_client_that_hung_up_is_an_effect_and_what_it_got_the_cause() {
    let frames = "  File \"/usr/lib/python3.11/socketserver.py\", line 691, in process_request_thread\n  File \"/usr/lib/python3.11/http/server.py\", line 436, in handle\n  File \"/app/srv.py\", line 20, in chunk\n  File \"/usr/lib/python3.11/socketserver.py\", line 834, in write\n";
    let log = format!("up\nTraceback (most recent call last):\n{frames}BrokenPipeError: [Errno 32] Broken pipe\n");
    let words = "4 of 8 requests failed (error_in_stream 4), more than the 0 % that are tolerated; the first failed to get a whole answer: the server says ";
    let of = |log: &str, said: &str| cause(&served(log, 1, &format!("{words}{said}")));
    let old = of(&log, "adapter lora-7 is not loaded");
    assert_eq!(old.class, "workload", "{}", old.text);
    assert!(old.text.contains("the server noticed that a client had hung up: BrokenPipeError"), "{}", old.text);
    assert!(old.evidence.iter().any(|evidence| evidence.text.starts_with("BrokenPipeError")));
    assert_ne!(old.signature, of(&log, "CUDA illegal memory access in flash kernel").signature, "words far behind tell too");
    assert_eq!(old.signature, of("up\n", "adapter lora-7 is not loaded").signature, "whether it noticed is chance");
    let reset = log.replace("BrokenPipeError: [Errno 32] Broken pipe", "ConnectionResetError: [Errno 104] Connection reset by peer");
    assert_eq!(of(&reset, "x").class, "workload");
    // A connection that it had to somebody else is its own failure, and so is one that ended it.
    let asks =
        log.replace("  File \"/app/srv.py\"", "  File \"/usr/lib/python3.11/http/client.py\", line 9, in send\n  File \"/app/srv.py\"");
    assert_eq!(of(&asks, "x").class, "python.BrokenPipeError");
    assert_eq!(cause(&TrialFacts { ready: ready(1), expects_workload: true, ..died(&log, 1, 99) }).class, "python.BrokenPipeError");
}

#[test]
fn the_next_line_tells_where_the_first_says_nothing() {
    let of = |field: &str| {
        let log = format!(
            "Traceback (most recent call last):\n  File \"/app/a.py\", line 4, in f\npydantic_core.ValidationError: 1 validation error for Config\n{field}\n"
        );
        cause(&died(&log, 1, 99)).signature
    };
    assert_ne!(of("  model"), of("  dtype"));
}
