//! Wrappers over processes that died without a Python exception: what they died of is the cause, and a wrapper alone is never the same failure.

use bystander_lab::cause::{StopWhy, TrialFacts, classify};
use bystander_model::outcome::{Cause, Outcome};

use crate::feed::{died, ready, server, stopped};

const WRAPPER: &str = "Traceback (most recent call last):\n  File \"/app/main.py\", line 9, in <module>\nRuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore_DP0': -6}\n";

fn cause(log: &str) -> Cause {
    let found = classify(&died(log, 1, 99), &[]);
    assert_eq!(found.outcome, Outcome::Failed, "{log}");
    found.cause.expect("a cause")
}

#[test]
fn what_a_child_died_of_is_the_cause_and_tells_failures_apart() {
    let dump = "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f01 (most recent call first):\n  File \"/app/runner.py\", line 12 in load\n  File \"/app/main.py\", line 3 in <module>\n\nExtension modules: numpy.core (total: 1)\n";
    let all = [
        (
            "terminate called after throwing an instance of 'c10::Error'\n  what():  CUDA error: an illegal memory access\n",
            "signal.SIGABRT",
        ),
        ("terminate called after throwing an instance of 'c10::Error'\n  what():  index out of range\n", "signal.SIGABRT"),
        (
            "terminate called after throwing an instance of 'c10::OutOfMemoryError'\n  what():  CUDA out of memory. Tried to allocate 2.00 GiB\n",
            "memory.device_oom",
        ),
        ("python: ../nccl/src/transport.cc:120: setup: Assertion `x' failed.\n", "signal.SIGABRT"),
        ("free(): invalid pointer\n", "signal.SIGABRT"),
        ("malloc(): invalid size (unsorted)\n", "signal.SIGABRT"),
        ("double free or corruption (!prev)\n", "signal.SIGABRT"),
        ("*** stack smashing detected ***: terminated\n", "signal.SIGABRT"),
        ("thread 'main' panicked at src/main.rs:3:5:\n", "exit.code"),
        (dump, "signal.SIGSEGV"),
    ];
    let mut signatures = Vec::new();
    for (said, class) in all {
        let found = cause(&format!("loading\n{said}{WRAPPER}"));
        assert_eq!((found.class.as_str(), found.is_echo), (class, false), "{}", found.text);
        assert_eq!(found.evidence[0].place, "stderr:2");
        assert!(found.text.contains("; then RuntimeError: Engine core initialization failed"), "{}", found.text);
        let again = cause(&format!("loading\nloading\n{}{WRAPPER}", said.replace("2.00", "3.00").replace("7f01", "7f02")));
        assert_eq!(found.signature, again.signature, "the same failure reads the same");
        signatures.push(found.signature);
    }
    signatures.sort();
    let before = signatures.len();
    signatures.dedup();
    assert_eq!(signatures.len(), before, "{signatures:?}");
    assert!(cause(&format!("{dump}{WRAPPER}")).text.contains("in load, app/runner.py:12"));
}

#[test]
fn the_stacks_of_an_abort_belong_to_what_was_said_before_it() {
    let log = "terminate called after throwing an instance of 'std::out_of_range'\n  what():  past the end\nFatal Python error: Aborted\n\nCurrent thread 0x00007f01 (most recent call first):\n  File \"/app/runner.py\", line 12 in load\nThread 0x00007f02 (most recent call first):\n  File \"/app/other.py\", line 2 in wait\n";
    let found = cause(&format!("{log}{WRAPPER}"));
    assert!(found.signature.contains("past the end in app/runner.py:load"), "{}", found.signature);
    let facts = TrialFacts { exit: None, signal: Some(6), ..died(&format!("{}{log}", "x\n".repeat(40)), 0, 99) };
    let found = classify(&facts, &[]).cause.expect("a cause");
    assert_eq!(found.class, "signal.SIGABRT");
    assert!(found.signature.starts_with("ended by SIGABRT: terminate called") && found.text.contains("what(): past the end"), "{found:?}");
}

#[test]
fn a_wrapper_alone_is_an_echo_and_so_is_an_error_that_was_only_printed() {
    let alone = cause(&format!("loading\n{WRAPPER}"));
    assert!(alone.is_echo && alone.text.contains("of what is not known"), "{}", alone.text);
    let line = "(Worker pid=12) ERROR 11-29 13:10:57 [worker.py:1] OSError: /models/x is not a local folder\n";
    let found = cause(&format!("{line}{WRAPPER}"));
    assert_eq!((found.class.as_str(), found.is_echo), ("python.OSError", true));
    assert!(found.text.starts_with("OSError: /models/x is not a local folder"), "{}", found.text);
    // What a logger calls a warning is none.
    let mild = cause(&format!("WARNING 11-29 13:10:57 [worker.py:1] OSError: no cache\n{WRAPPER}"));
    assert_eq!(mild.class, "python.RuntimeError");
    let pool = "Traceback (most recent call last):\n  File \"/app/main.py\", line 9, in <module>\nconcurrent.futures.process.BrokenProcessPool: A process in the process pool was terminated abruptly\n";
    assert!(cause(pool).is_echo);
    let killed = TrialFacts {
        exit: None,
        signal: Some(9),
        ..died("Received sigquit from a child process. error: it usually means the child failed.\n", 0, 99)
    };
    assert!(classify(&killed, &[]).cause.expect("a cause").is_echo);
    // Its own exception, and reading where nothing is to be read, are no echoes.
    for own in ["ValueError: no such model", "EOFError: EOF when reading a line"] {
        let log = format!("Traceback (most recent call last):\n  File \"/app/main.py\", line 9, in <module>\n{own}\n");
        assert!(!cause(&log).is_echo, "{own}");
    }
}

#[test]
fn a_death_before_an_exception_of_its_own_is_said_and_a_death_before_it_was_ready_is_not() {
    let own = "Traceback (most recent call last):\n  File \"/app/main.py\", line 9, in <module>\nRuntimeError: worker 3 is gone\n";
    let found = cause(&format!("free(): invalid pointer\n{own}"));
    assert_eq!(found.class, "python.RuntimeError");
    assert!(found.signature.ends_with(", after free(): invalid pointer") && found.text.contains("stderr:1"), "{found:?}");
    let later = TrialFacts { ready: ready(9), ..died(&format!("free(): invalid pointer\n{}{own}", "x\n".repeat(9)), 1, 99) };
    assert!(!classify(&later, &[]).cause.expect("a cause").signature.contains("free()"));
    // A front end that waits for ever for who has died.
    let waits = TrialFacts { stopped: stopped(90, StopWhy::TimeLimit { limit_s: 80.0 }), ..server("free(): invalid pointer\nwaiting\n") };
    let found = classify(&waits, &[]).cause.expect("a cause");
    assert!(found.text.contains("before that a process had said, stderr:1: free(): invalid pointer"), "{}", found.text);
}
