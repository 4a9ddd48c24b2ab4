//! Outcomes and causes from the facts about processes.

use bystander_lab::cause::{
    Classification, Contamination, MemoryEvents, PortHolder, Progress, Refusal, StopWhy, TrialFacts, WorkloadEnd, classify,
};
use bystander_lab::requests::Judged;
use bystander_model::evidence::{Evidence, EvidenceKind, Stream};
use bystander_model::ids::TimeNs;
use bystander_model::outcome::{Cause, CauseGroup, Outcome};
use bystander_model::requests::Requests;

use crate::feed::{S, TRIAL, died, nowhere, ready, scan, server, stopped};

const ERROR: &str = "Traceback (most recent call last):\n  File \"/app/a.py\", line 1, in f\nRuntimeError: no\n";

fn judge(facts: &TrialFacts) -> (Outcome, Cause) {
    let Classification { outcome, cause, .. } = classify(facts, &[]);
    (outcome, cause.expect("a cause"))
}

fn class(facts: &TrialFacts) -> (Outcome, String) {
    let (outcome, cause) = judge(facts);
    (outcome, cause.class)
}

fn workload(exit: i32) -> Option<WorkloadEnd> {
    Some(WorkloadEnd { exit: Some(exit), signal: None, timed_out: false, last_line: None })
}

fn failed(class: &str) -> (Outcome, String) {
    (Outcome::Failed, class.to_owned())
}

#[test]
fn a_program_without_ready_completes_by_exit_zero() {
    let facts = TrialFacts { expects_ready: false, ..died("done\n", 0, 2) };
    let found = classify(&facts, &[]);
    assert_eq!((found.outcome, found.cause), (Outcome::Completed, None));
    assert_eq!((found.evidence[0].kind, found.evidence[0].text.as_str()), (EvidenceKind::Exit, "exit code 0"));

    let (outcome, cause) = judge(&TrialFacts { exit: Some(3), ..facts });
    assert_eq!((outcome, cause.class.as_str(), cause.signature.as_str()), (Outcome::Failed, "exit.code", "exit code 3: done"));
}

#[test]
fn a_server_completes_when_it_was_ready_and_its_workload_succeeded() {
    let facts = TrialFacts {
        ready: ready(3),
        expects_workload: true,
        workload: workload(0),
        signal: Some(15),
        ended: Some(TimeNs(9 * S)),
        stopped: stopped(8, StopWhy::Done),
        ..server("a\n")
    };
    let found = classify(&facts, &[]);
    assert_eq!((found.outcome, found.cause), (Outcome::Completed, None));
    let text: Vec<&str> = found.evidence.iter().map(|evidence| evidence.text.as_str()).collect();
    assert_eq!(text, ["ready to roll", "the workload ended with exit code 0", "ended by SIGTERM (15), after Bystander began to end it"]);

    // Its exit code after our signal does not matter, and neither does what it printed then.
    let facts = TrialFacts { exit: Some(1), signal: None, scan: scan(&format!("{}{ERROR}", "x\n".repeat(9))), ..facts };
    assert_eq!(classify(&facts, &[]).outcome, Outcome::Completed);
}

#[test]
fn a_workload_that_fails_fails_the_trial() {
    let facts = TrialFacts {
        ready: ready(3),
        expects_workload: true,
        workload: workload(2),
        signal: Some(15),
        ended: Some(TimeNs(9 * S)),
        stopped: stopped(8, StopWhy::Done),
        ..server("a\n")
    };
    assert_eq!(class(&facts), failed("workload"));
    let late =
        TrialFacts { workload: Some(WorkloadEnd { exit: None, signal: Some(9), timed_out: true, last_line: None }), ..facts.clone() };
    assert_eq!(class(&late), (Outcome::TimedOut, "workload".into()));

    // An error of the server while it served comes first.
    let facts = TrialFacts { scan: scan(&format!("{}{ERROR}", "x\n".repeat(4))), ..facts };
    let (outcome, cause) = judge(&facts);
    assert_eq!((outcome, cause.class.as_str()), (Outcome::Failed, "python.RuntimeError"));
    assert!(cause.evidence.iter().any(|evidence| evidence.text.contains("workload ended with exit code 2")));
}

/// What a command says of its own requests goes beyond its exit code, and a number that is not there decides nothing.
#[test]
fn a_workload_whose_requests_failed_fails_the_trial_and_one_that_does_not_say_settles_nothing() {
    let facts = |requests: Requests, exit: i32| TrialFacts {
        ready: ready(3),
        expects_workload: true,
        workload: workload(exit),
        requests: Some(Judged { requests, evidence: vec![Evidence::log(TRIAL, Stream::Workload, 2, "Failed requests: 20")] }),
        signal: Some(15),
        ended: Some(TimeNs(9 * S)),
        stopped: stopped(8, StopWhy::Done),
        ..server("a\n")
    };
    let passed = Requests { sent: Some(40), failed: Some(2), error_rate: Some(0.05), tolerated: 0.1, ..Requests::default() };
    let found = classify(&facts(passed.clone(), 0), &[]);
    assert_eq!((found.outcome, found.cause), (Outcome::Completed, None));
    assert!(
        found.evidence.iter().any(|one| one.place == "requests" && one.text == "2 of 40 requests failed (5.0 %)"),
        "{:?}",
        found.evidence
    );

    let refused = |failed| Requests {
        failed: Some(failed),
        tolerated: 0.0,
        failure: Some(format!("{failed} of 40 requests failed")),
        ..passed.clone()
    };
    let (outcome, cause) = judge(&facts(refused(2), 0));
    assert_eq!((outcome, cause.class.as_str(), cause.group), (Outcome::Failed, "workload", CauseGroup::Target));
    assert_eq!(cause.text, "the workload ended with exit code 0, and by its own numbers 2 of 40 requests failed");
    assert_eq!(cause.evidence[1].place, "workload:2", "the line is quoted: {:?}", cause.evidence);
    assert_eq!(cause.signature, judge(&facts(refused(3), 0)).1.signature, "how many is no other failure");
    let all = Requests { error_rate: Some(1.0), ..refused(40) };
    assert_ne!(cause.signature, judge(&facts(all, 0)).1.signature, "a server that serves nobody is another");

    let unknown = Requests { unknown: Some("`bad` has no value: not seen".into()), ..Requests::default() };
    let (outcome, cause) = judge(&facts(unknown.clone(), 0));
    assert_eq!((outcome, cause.class.as_str()), (Outcome::Undetermined, "unknown"));
    assert!(cause.text.ends_with("how many of its requests failed is not known: `bad` has no value: not seen"), "{}", cause.text);
    // Its own exit code goes before its words.
    for requests in [unknown, refused(2)] {
        let (outcome, cause) = judge(&facts(requests, 2));
        assert_eq!((outcome, cause.class.as_str()), (Outcome::Failed, "workload"));
        assert_eq!(cause.signature, "the workload ended with exit code 2: a");
    }
}

#[test]
fn an_end_before_ready_is_a_failure_also_with_exit_zero() {
    let (outcome, cause) = judge(&died("bye\n", 0, 2));
    assert_eq!((outcome, cause.class.as_str()), (Outcome::Failed, "exited_early"));
    assert_eq!(cause.evidence[0].place, "exit");
    assert_eq!(class(&died("bye\n", 7, 2)), failed("exit.code"));
}

#[test]
fn an_end_after_ready_is_told_apart() {
    let facts = TrialFacts { ready: ready(3), expects_workload: true, ..died("a\nb\n", 1, 5) };
    let (outcome, cause) = judge(&facts);
    assert_eq!(
        (outcome, cause.class.as_str(), cause.signature.as_str()),
        (Outcome::Failed, "ready_then_died", "exit code 1 after ready: b")
    );

    // What was printed before it was ready was survived; what came after is the cause.
    let before = TrialFacts { ready: ready(60), ..died(ERROR, 1, 70) };
    assert_eq!(class(&TrialFacts { expects_workload: true, ..before }), failed("ready_then_died"));
    let after = TrialFacts { ready: ready(1), expects_workload: true, ..died(&format!("a\nb\n{ERROR}"), 1, 70) };
    assert_eq!(class(&after), failed("python.RuntimeError"));
}

#[test]
fn a_kill_by_nobody_known_says_so() {
    let facts = TrialFacts { exit: None, signal: Some(9), ..died("a\n", 0, 2) };
    let (outcome, cause) = judge(&facts);
    assert_eq!((outcome, cause.class.as_str()), (Outcome::Failed, "signal.SIGKILL"));
    assert!(cause.text.contains("who sent it is not known"), "{}", cause.text);
    // A traceback explains it, since servers kill their own children; a fault of the machine is its own explanation.
    let rank = ERROR.replace("Traceback", "[2026-11-29 13:31:47] Scheduler hit an exception: Traceback");
    let facts = TrialFacts { scan: scan(&rank), ..facts };
    assert_eq!(class(&facts), failed("python.RuntimeError"));
    assert_eq!(class(&TrialFacts { signal: Some(11), ..facts }), failed("signal.SIGSEGV"));
}

#[test]
fn a_shell_s_code_for_a_signal_is_that_signal() {
    let (_, shell) = judge(&died("a\n", 137, 2));
    let (_, direct) = judge(&TrialFacts { exit: None, signal: Some(9), ..died("a\n", 0, 2) });
    assert_eq!((shell.class.as_str(), &shell.signature), ("signal.SIGKILL", &direct.signature));
    assert!(shell.text.contains("(exit code 137, as a shell says it) before it was ready"), "{}", shell.text);
    // Any other code is what the program says, also where it could be a signal's.
    for (code, class, words) in
        [(130, "exit.code", "SIGINT"), (247, "exit.code", "SIGKILL ended a child"), (200, "exit.code", "exit code 200")]
    {
        let (_, cause) = judge(&died("a\n", code, 2));
        assert!(cause.class == class && cause.text.contains(words), "{}", cause.text);
    }
    // After it was ready, what counts is that it died.
    let facts = TrialFacts { ready: ready(1), expects_workload: true, under_load: true, ..died("a\n", 137, 9) };
    let (_, cause) = judge(&facts);
    assert!(cause.class == "died_under_load" && cause.text.contains("while its workload ran"), "{}", cause.text);
}

#[test]
fn an_error_line_near_the_end_explains_an_exit_code() {
    let (_, cause) = judge(&died("loading /models/a\nfatal: cannot read /models/a at 0x7f12\n", 2, 3));
    assert_eq!(cause.signature, "exit code 2: fatal: cannot read <path>/a at <hex>");
    assert!(cause.text.ends_with("it said: fatal: cannot read /models/a at 0x7f12"));
    let far = format!("error: early\n{}", "fine\n".repeat(40));
    assert_eq!(judge(&died(&far, 2, 99)).1.signature, "exit code 2: fine");
}

#[test]
fn the_kernel_s_count_at_the_memory_limit_is_evidence() {
    let memory = Some(MemoryEvents { oom_kills: 1, limit_bytes: Some(4096), source: "/sys/fs/cgroup/x/memory.events".into() });
    let facts = TrialFacts { memory: memory.clone(), scan: scan(ERROR), ..died("", 1, 9) };
    let (outcome, cause) = judge(&facts);
    assert_eq!((outcome, cause.class.as_str(), cause.group), (Outcome::Failed, "memory_limit", CauseGroup::Target));
    assert_eq!((cause.evidence[0].kind, cause.evidence[0].place.as_str()), (EvidenceKind::Sample, "/sys/fs/cgroup/x/memory.events"));
    assert!(cause.evidence.iter().any(|evidence| evidence.text == "RuntimeError: no"), "what was printed is kept");
    let none = memory.map(|events| MemoryEvents { oom_kills: 0, ..events });
    assert_eq!(class(&TrialFacts { memory: none, ..facts }), failed("python.RuntimeError"));
}

#[test]
fn a_port_held_by_another_voids_the_trial_and_names_the_holder() {
    let holder = PortHolder { port: 18300, pid: Some(42), command: Some("python3 -m old".into()), of_this_trial: false, whose: None };
    let facts = TrialFacts { port_holder: Some(holder.clone()), ..died("OSError: [Errno 98] Address already in use\n", 1, 2) };
    let (outcome, cause) = judge(&facts);
    assert_eq!((outcome, cause.class.as_str(), cause.group), (Outcome::Void, "port_in_use", CauseGroup::Infrastructure));
    assert!(cause.text.contains("port 18300 is held by pid 42 (python3 -m old)"), "{}", cause.text);

    // Also where the program did not notice and the other one answered.
    let fooled = TrialFacts { port_holder: Some(holder.clone()), ready: ready(1), ..server("") };
    assert_eq!(class(&fooled), (Outcome::Void, "port_in_use".into()));

    // Where the program itself said so and another was seen to hold it then; a program that went on to fail by something else is not excused.
    let clash = |log: &str| TrialFacts { port_clash: Some(holder.clone()), ..died(log, 1, 9) };
    let bind = "Traceback (most recent call last):\n  File \"/app/a.py\", line 1, in bind\nOSError: [Errno 98] Address already in use\n";
    let (outcome, cause) = judge(&clash(bind));
    assert_eq!((outcome, cause.class.as_str(), cause.group), (Outcome::Void, "port_in_use", CauseGroup::Infrastructure));
    assert!(cause.evidence.iter().any(|evidence| evidence.text.contains("Errno 98")), "{:?}", cause.evidence);
    let other =
        "port 80 is already in use, trying 81\nTraceback (most recent call last):\n  File \"/app/a.py\", line 1, in load\nKeyError: 'x'\n";
    assert_eq!(class(&clash(other)), failed("python.KeyError"));
    let late = TrialFacts {
        stopped: stopped(33, StopWhy::TimeLimit { limit_s: 30.0 }),
        port_clash: Some(holder.clone()),
        ..server("still taken\n")
    };
    assert_eq!(class(&late), (Outcome::Void, "port_in_use".into()));
    let well = TrialFacts { expects_ready: false, ..clash("port 80 is already in use, took 81\n") };
    let well = TrialFacts { exit: Some(0), ..well };
    assert_eq!(classify(&well, &[]).outcome, Outcome::Completed);

    let own = PortHolder { of_this_trial: true, ..holder };
    let log = "Traceback (most recent call last):\n  File \"/app/a.py\", line 1, in bind\nOSError: [Errno 98] Address already in use\n";
    for port_holder in [None, Some(own)] {
        let (outcome, cause) = judge(&TrialFacts { port_holder, ..died(log, 1, 9) });
        assert_eq!((outcome, cause.class.as_str(), cause.group), (Outcome::Failed, "port_in_use", CauseGroup::Target));
    }
    let plain = "ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', 18300): address already in use\n";
    let (_, cause) = judge(&died(plain, 1, 9));
    assert!(cause.class == "port_in_use" && cause.text.contains("who holds it is not known"), "{}", cause.text);
}

#[test]
fn a_time_limit_says_starting_or_stalled_with_the_last_line() {
    let limit = StopWhy::TimeLimit { limit_s: 30.0 };
    let log = "a\nb\nCapturing batches (bs=512 avail_mem=3.10 GB)\n";
    let facts = TrialFacts { stopped: stopped(33, limit), signal: Some(15), ended: Some(TimeNs(34 * S)), ..server(log) };
    let (outcome, cause) = judge(&facts);
    assert_eq!((outcome, cause.class.as_str()), (Outcome::TimedOut, "timeout.starting"));
    assert!(cause.text.contains("its last line, 30.0 s before: Capturing batches"), "{}", cause.text);
    assert_eq!(cause.evidence[0].place, "stderr:3");

    let still = Some(Progress { moving: false, text: "no output and no processor time for 25 s".into() });
    let stalled = TrialFacts { progress: still, ..facts.clone() };
    let (outcome, cause) = judge(&stalled);
    assert_eq!((outcome, cause.class.as_str()), (Outcome::TimedOut, "timeout.stalled"));
    assert_eq!(cause.signature, "timeout, stalled after: Capturing batches (bs=# avail_mem=# GB)");

    // A rank that died before explains why the others stand still.
    let dead = TrialFacts { scan: scan(&format!("{ERROR}waiting\n")), ..stalled };
    let (outcome, cause) = judge(&dead);
    assert_eq!((outcome, cause.class.as_str()), (Outcome::TimedOut, "python.RuntimeError"));
    assert!(cause.text.contains("then it stood still at the time limit"), "{}", cause.text);
    let moving = Some(Progress { moving: true, text: "processor time grew".into() });
    let (_, cause) = judge(&TrialFacts { progress: moving, ..dead });
    assert!(cause.class == "timeout.starting" && cause.text.contains("before that: RuntimeError: no"), "{}", cause.text);
    assert_eq!(class(&TrialFacts { expects_ready: false, ..facts }), (Outcome::TimedOut, "timeout.running".into()));
}

#[test]
fn what_is_no_data_point_is_set_aside() {
    let base = died("a\n", 1, 2);
    let cases = [
        (TrialFacts { stopped: stopped(1, StopWhy::Interrupted), ..base.clone() }, Outcome::Interrupted, "interrupted"),
        (TrialFacts { harness_error: Some("write the record: disk full".into()), ..base.clone() }, Outcome::Undetermined, "harness"),
        (TrialFacts { spawn_error: Some("No such file".into()), ..base.clone() }, Outcome::Void, "spawn"),
        (
            TrialFacts { refusals: vec![Refusal { instrument: "p".into(), reason: "file changed".into() }], ..base.clone() },
            Outcome::Void,
            "instrument.refused",
        ),
        (
            TrialFacts {
                contamination: vec![Contamination {
                    class: "leftover".into(),
                    text: "pid 9 of trial 3 was alive".into(),
                    evidence: Vec::new(),
                }],
                ..base
            },
            Outcome::Void,
            "leftover",
        ),
    ];
    for (facts, outcome, expected) in cases {
        assert_eq!(class(&facts), (outcome, expected.to_owned()));
    }
}

#[test]
fn without_positive_evidence_the_outcome_is_undetermined() {
    let (outcome, cause) = judge(&server("nothing that says it is ready\n"));
    assert_eq!((outcome, cause.class.as_str()), (Outcome::Undetermined, "unknown"));
    assert!(cause.text.contains("would decide"), "{}", cause.text);
    let facts = TrialFacts { stopped: stopped(2, StopWhy::Done), ..TrialFacts::new(TRIAL, scan(""), nowhere()) };
    assert_eq!(class(&facts).0, Outcome::Undetermined);
}

#[test]
fn the_ranks_that_failed_alike_are_counted() {
    let one = |rank: u32| format!("[2026-11-29 13:31:47 TP{rank}] Scheduler hit an exception: {ERROR}\n");
    let (_, cause) = judge(&died(&(0..8).map(one).collect::<String>(), 1, 99));
    assert!(cause.text.ends_with("; first on TP0; printed 8 times"), "{}", cause.text);
}

#[test]
fn a_device_that_is_full_is_known_without_a_traceback_too() {
    for line in [
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
        "ERROR 08-28 01:41:17 [core.py:700] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
    ] {
        let (outcome, cause) = judge(&died(&format!("loading\n{line}\n"), 1, 2));
        assert_eq!((outcome, cause.class.as_str()), (Outcome::Failed, "memory.device_oom"), "{line}: {cause:#?}");
        assert!(cause.text.contains("CUDA out of memory"), "{}", cause.text);
    }
    // Said in passing, and followed by other work, it is no cause.
    let recovered = format!("WARNING: CUDA out of memory, retrying with a smaller batch\n{}", "step\n".repeat(300));
    assert_eq!(class(&died(&recovered, 1, 2)).1, "exit.code");
}
