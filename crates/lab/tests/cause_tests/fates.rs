//! Tracebacks that ended the program, that it survived, and that leave it open; what is said of an end without one.

use std::os::unix::process::ExitStatusExt;

use bystander_lab::cause::{Place, StopWhy, TrialFacts, WorkloadEnd, classify};
use bystander_model::ids::TimeNs;
use bystander_model::outcome::{Cause, CauseGroup};

use crate::feed::{S, died, edit, ready, scan, server, stopped};
use crate::pythons::{output, pythons};

const ERROR: &str = "Traceback (most recent call last):\n  File \"/app/a.py\", line 4, in f\nKeyError: 'licence'\n";

fn cause(facts: &TrialFacts) -> Cause {
    classify(facts, &[]).cause.expect("a cause")
}

/// The cause of a script's end, on every interpreter.
fn of_script(script: &str, lines: std::ops::Range<u32>, look: impl Fn(&str, Cause)) {
    let folder = tempfile::tempdir().expect("a folder");
    let real = std::fs::canonicalize(folder.path()).expect("real");
    for (minor, python) in pythons() {
        let output = output(&python, folder.path(), script);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let facts = TrialFacts {
            place: Place::here(real.clone()),
            exit: output.status.code(),
            signal: output.status.signal(),
            edits: vec![edit(&real.join("app.py").display().to_string(), lines.clone())],
            ..died(&stderr, 1, 999)
        };
        look(&format!("3.{minor}: {:?}\n{stderr}", output.status), cause(&facts));
    }
}

#[test]
fn a_caught_error_is_not_what_an_exit_code_or_a_signal_ended() {
    let caught = "import os, signal, sys, traceback\ntry:\n    int('x')\nexcept ValueError:\n    traceback.print_exc()\n";
    let exits = format!("{caught}print('fatal: licence file missing', file=sys.stderr)\nsys.exit(4)\n");
    of_script(&exits, 3..4, |said, cause| {
        assert_eq!((cause.class.as_str(), cause.blames), ("exit.code", None), "{said}");
        assert_eq!(cause.signature, "exit code 4: fatal: licence file missing", "{said}");
        assert!(cause.text.contains("it said: fatal: licence file missing"), "{}", cause.text);
        let earlier = "; an earlier traceback at stderr:4 was not what ended it: ValueError: invalid literal for int()";
        assert!(cause.text.replace("stderr:5", "stderr:4").contains(earlier), "{said}{}", cause.text);
        assert!(cause.evidence.iter().any(|evidence| evidence.text.starts_with("ValueError: ")), "{said}");
    });
    of_script(&format!("{caught}os.kill(os.getpid(), signal.SIGKILL)\n"), 3..4, |said, cause| {
        assert_eq!((cause.class.as_str(), cause.blames), ("signal.SIGKILL", None), "{said}");
        assert!(cause.text.contains("was not what ended it: ValueError: "), "{said}{}", cause.text);
    });
}

#[test]
fn an_added_line_that_only_prints_an_error_is_not_blamed() {
    let script = "import sys, traceback\ntry:\n    {}['x']\nexcept KeyError:\n    traceback.print_exc()\nsys.exit('port 8000 busy')\n";
    of_script(script, 2..6, |said, cause| {
        assert_eq!((cause.class.as_str(), cause.group, cause.blames), ("python.KeyError", CauseGroup::Target, None), "{said}");
        assert!(cause.text.contains("print: a line that it added is in the stack"), "{said}{}", cause.text);
        assert!(cause.text.contains("the program went on printing after it"), "{said}{}", cause.text);
        assert!(cause.evidence.iter().any(|evidence| evidence.text == "port 8000 busy"), "{said}");
    });
    // One that nobody caught ends it, and is preferred to one that came before and did not.
    let script = "import traceback\ntry:\n    {}['x']\nexcept KeyError:\n    traceback.print_exc()\nrest = 1\nprint(rst)\n";
    of_script(script, 7..8, |said, cause| {
        assert_eq!((cause.class.as_str(), cause.blames.as_deref()), ("python.NameError", Some("print")), "{said}");
    });
}

#[test]
fn noise_of_a_shutdown_and_other_processes_are_no_going_on() {
    let noise = "/lib/python3.12/multiprocessing/resource_tracker.py:254: UserWarning: resource_tracker: There appear to be 1 leaked objects\n  \
                 warnings.warn('resource_tracker: There appear to be %d '\nException ignored in: <function Foo.__del__ at 0x7f>\n\
                 Traceback (most recent call last):\n  File \"/app/b.py\", line 9, in __del__\nTypeError: 'NoneType' object is not callable\n\n\
                 (EngineCore pid=9) INFO 11-29 13:10:57 [core.py:7] leaving\n[2026-11-29 13:31:46 TP1] leaving\n";
    for (after, blamed) in [(noise.to_owned(), true), (format!("{noise}port 8000 busy\n"), false)] {
        let facts = TrialFacts { edits: vec![edit("/app/a.py", 4..5)], ..died(&format!("{ERROR}{after}"), 1, 99) };
        let cause = cause(&facts);
        assert_eq!((cause.class.as_str(), cause.blames.is_some()), ("python.KeyError", blamed), "{}", cause.text);
    }
    // So many lines later that none of those between is known.
    let later = format!("{ERROR}{}", "still here\n".repeat(60));
    assert_eq!(cause(&TrialFacts { edits: vec![edit("/app/a.py", 4..5)], ..died(&later, 1, 99) }).blames, None);
}

#[test]
fn a_rank_s_or_child_s_traceback_stands_whatever_ends_the_server() {
    for log in [
        ERROR.replace("Traceback", "[2026-11-29 13:31:47 TP3] Scheduler hit an exception: Traceback"),
        ERROR.replace("Traceback", "[2026-11-29 13:31:47] Scheduler hit an exception: Traceback"),
        format!("Process SpawnProcess-1:\n{ERROR}"),
        format!("Exception in thread Thread-1:\n{ERROR}"),
        ERROR.lines().map(|line| format!("(EngineCore pid=7) {line}\n")).collect(),
    ] {
        let facts = TrialFacts { edits: vec![edit("/app/a.py", 4..5)], ..died(&format!("{log}Received sigquit\n"), 3, 99) };
        for facts in [TrialFacts { exit: None, signal: Some(9), ..facts.clone() }, facts] {
            let cause = cause(&facts);
            assert_eq!((cause.class.as_str(), cause.blames.as_deref()), ("python.KeyError", Some("print")), "{log}");
        }
    }
}

#[test]
fn an_interrupt_ends_python_in_its_own_way() {
    let log = ERROR.replace("KeyError: 'licence'", "KeyboardInterrupt");
    for (exit, signal, class) in
        [(Some(130), None, "python.KeyboardInterrupt"), (None, Some(2), "python.KeyboardInterrupt"), (Some(3), None, "exit.code")]
    {
        assert_eq!(cause(&TrialFacts { exit, signal, ..died(&log, 0, 99) }).class, class);
    }
    assert_eq!(cause(&TrialFacts { exit: None, signal: Some(2), ..died(ERROR, 0, 99) }).class, "signal.SIGINT");
}

#[test]
fn an_error_in_a_program_that_lives_on_is_kept_without_blame() {
    let facts = TrialFacts {
        ready: ready(1),
        expects_workload: true,
        workload: Some(WorkloadEnd { exit: Some(2), signal: None, timed_out: false, last_line: None }),
        stopped: stopped(50, StopWhy::Done),
        edits: vec![edit("/app/a.py", 4..5)],
        signal: Some(15),
        ended: Some(TimeNs(60 * S)),
        ..server(&format!("ready\n{ERROR}"))
    };
    let cause = cause(&facts);
    assert_eq!((cause.class.as_str(), cause.blames), ("python.KeyError", None));
    assert!(cause.text.contains("does not show that it ended anything"), "{}", cause.text);
}

#[test]
fn bare_exit_codes_of_unrelated_failures_have_their_own_signatures() {
    let signature = |log: &str, exit: i32| cause(&died(log, exit, 999)).signature;
    assert_eq!(signature("starting\nport 8000 busy\n\n", 1), "exit code 1: port # busy");
    assert_eq!(signature("starting\nport 8001 busy\n", 1), signature("port 8000 busy\n", 1));
    assert_eq!(signature("[2026-11-29 13:31:47] no licence\n", 1), "exit code 1: no licence");
    assert_eq!(signature("", 1), "exit code 1 without a word");
    assert_eq!(signature("\n\n", 0), "exit code 0 before ready without a word");
    assert_eq!(signature("bye\n", 0), "exit code 0 before ready: bye");
    assert!(signature(&"word ".repeat(100), 1).len() < 160);

    let facts = TrialFacts {
        ready: ready(1),
        expects_workload: true,
        workload: Some(WorkloadEnd { exit: Some(2), signal: None, timed_out: false, last_line: None }),
        stopped: stopped(2, StopWhy::Done),
        scan: scan("ready\nrequest 12 refused\nafter the stop\n"),
        ..server("")
    };
    assert_eq!(cause(&facts).signature, "the workload ended with exit code 2: request # refused");
    let said =
        bystander_model::evidence::Evidence::log(facts.trial, bystander_model::evidence::Stream::WorkloadStderr, 4, "port 8000 is shut");
    let workload = facts.workload.clone().map(|end| WorkloadEnd { last_line: Some(said.clone()), ..end });
    let own = cause(&TrialFacts { workload, ..facts });
    assert_eq!(own.signature, "the workload ended with exit code 2: port # is shut");
    assert!(
        own.text.ends_with("port 8000 is shut") && own.evidence.contains(&said),
        "what it said itself comes before the program's words"
    );
}
