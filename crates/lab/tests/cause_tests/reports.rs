//! Shapes of lines that people reported from real engines, with the only right answer for each.

use bystander_lab::cause::{MemoryEvents, StopWhy, TrialFacts, WorkloadEnd, classify, first_cause};
use bystander_model::edit::AppliedEdit;
use bystander_model::ids::TimeNs;
use bystander_model::outcome::{Cause, CauseGroup, Outcome};

use crate::feed::{S, died, edit, ready, server, stopped};

fn judge(facts: &TrialFacts) -> (Outcome, Cause) {
    let found = classify(facts, &[]);
    (found.outcome, found.cause.expect("a cause"))
}

fn raised(file: &str, line: u32, function: &str, error: &str) -> String {
    format!("Traceback (most recent call last):\n  File \"{file}\", line {line}, in {function}\n{error}\n")
}

fn with_prefix(prefix: &str, text: &str) -> String {
    text.lines().map(|line| format!("{prefix}{line}\n")).collect()
}

fn print_at(file: &str, added: std::ops::Range<u32>) -> Vec<AppliedEdit> {
    vec![edit(file, added)]
}

#[test]
fn severity_comes_before_time() {
    // C35: a warning of another library three seconds before is a side note, with and without a traceback.
    let warning = "W0828 01:41:15.002805 73 topology.cpp:156] error: No RDMA devices found, check your device installation\n";
    let fatal = "ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.5.";
    let log = format!("{warning}[2026-08-28 01:41:17] Load weight end. elapsed=0.60 s\n{fatal}\nsome more words\nINFO: error rate 0.0\n");
    let (_, cause) = judge(&died(&log, 1, 99));
    assert!(cause.class == "exit.code" && cause.text.ends_with(fatal), "{}", cause.text);
    let (_, cause) = judge(&died(&format!("{warning}{}", raised("/app/kv.py", 4, "size", fatal)), 1, 99));
    assert_eq!((cause.class.as_str(), cause.signature.as_str().starts_with("ValueError in app/kv.py:size")), ("python.ValueError", true));
    // A line with both words is an error, and no noise of a shutdown.
    let (_, cause) = judge(&died("ERROR: UserWarning: the device is lost\nINFO: error rate 0.0\n", 1, 99));
    assert!(cause.text.ends_with("it said: ERROR: UserWarning: the device is lost"), "{}", cause.text);
}

#[test]
fn of_several_ranks_the_first_that_failed_is_the_cause() {
    let first = with_prefix("[rank3]: ", &raised("/app/layer.py", 7, "forward", "IndexError: index 9 is out of bounds"));
    let echo = with_prefix(
        "[rank0]: ",
        &raised(
            "/app/comm.py",
            3,
            "all_reduce",
            "torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error",
        ),
    );
    let watchdog =
        "[rank1]:[E829 01:41:18 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4)\n";
    for log in [format!("{first}{echo}{watchdog}"), format!("{echo}{watchdog}{first}")] {
        let (_, cause) = judge(&died(&log, 1, 99));
        assert_eq!((cause.class.as_str(), cause.text.contains("first on rank3")), ("python.IndexError", true), "{}", cause.text);
    }
    // Without a traceback too: the rank that spoke first, and not the one that was left alone.
    let lines = "(Worker rank=2 pid=7) ERROR no space left on device\n(Worker rank=0 pid=5) ERROR peer is gone\n";
    let (_, cause) = judge(&died(lines, 1, 9));
    assert!(cause.text.ends_with("no space left on device"), "{}", cause.text);
}

#[test]
fn lines_of_a_watchdog_are_no_cause() {
    // A56: it is printed during long compilations too.
    let block = "ERROR 11-29 13:10:57 [shm_broadcast.py:466] No available shared memory broadcast block found in 60 seconds.\n";
    let real = "ERROR 11-29 13:09:57 [core.py:12] cannot open shared object file: libfoo.so\n";
    for log in [format!("{real}{block}"), format!("{block}{real}")] {
        let (_, cause) = judge(&died(&log, 1, 9));
        assert!(cause.text.ends_with("libfoo.so"), "{}", cause.text);
    }
    let wrapper = raised(
        "/app/api.py",
        9,
        "wait",
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore': 1}",
    );
    let facts = died(
        &format!("{}{wrapper}", with_prefix("(EngineCore pid=4) ", &raised("/app/core.py", 2, "init", "OSError: no such file"))),
        1,
        99,
    );
    assert_eq!(first_cause(&facts).expect("a cause").root().kind, "OSError");
    // C03: a parent that is told by a signal, and ends by one.
    let child = raised("/app/w.py", 2, "load", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB.");
    let log =
        format!("{}SIGQUIT received\n", child.replace("Traceback", "[2026-11-29 13:31:47 TP1] Scheduler hit an exception: Traceback"));
    let (_, cause) = judge(&TrialFacts { exit: None, signal: Some(9), ..died(&log, 0, 99) });
    assert_eq!((cause.class.as_str(), cause.group), ("memory.device_oom", CauseGroup::Target));
}

#[test]
fn a_launcher_that_names_no_failed_process_had_waited_for_too_long() {
    // C09: an empty list is a time limit and no crash.
    let error = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}";
    let (outcome, cause) = judge(&died(&raised("/app/api.py", 9, "wait", error), 1, 99));
    assert_eq!((outcome, cause.class.as_str()), (Outcome::TimedOut, "timeout.starting"));
    assert!(cause.text.contains("nobody failed"), "{}", cause.text);
    let named = error.replace("{}", "{'EngineCore_DP0': -9}");
    assert_eq!(judge(&died(&raised("/app/api.py", 9, "wait", &named), 1, 99)).0, Outcome::Failed);
}

#[test]
fn a_port_that_an_engine_found_taken_is_told_from_its_own_words() {
    // C04: the engine waits for its port before it gives up.
    let words = "ValueError: rpc_port at 11236 is not available in 30 seconds. rpc_port is used by a process already. process.cmdline()=['/x/sglang','serve']";
    let (_, cause) = judge(&died(&raised("/app/ports.py", 3, "check", words), 1, 99));
    assert_eq!((cause.class.as_str(), cause.group), ("port_in_use", CauseGroup::Target));
    let (_, bare) = judge(&died(&format!("{words}\n"), 1, 99));
    assert_eq!(bare.class, "port_in_use");
}

#[test]
fn whose_memory_it_was_is_read_from_the_message() {
    // A60: 164.81 MiB are free of 94.97 GiB, and the process that stopped holds 3.18 GiB.
    let amounts = "GPU 0 has a total capacity of 94.97 GiB of which 164.81 MiB is free.";
    let own = "Including non-PyTorch memory, this process has 3.18 GiB memory in use.";
    let error = |named: &str| format!("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. {amounts} {named}{own}");
    let facts =
        |named: &str, pids: &[u32]| TrialFacts { pids: pids.to_vec(), ..died(&raised("/app/w.py", 2, "load", &error(named)), 1, 99) };
    let held = "Process 71 has 91.60 GiB memory in use. ";
    let (outcome, cause) = judge(&facts(held, &[500, 501]));
    assert_eq!((outcome, cause.class.as_str(), cause.group), (Outcome::Void, "gpu_memory_held", CauseGroup::Infrastructure));
    assert!(
        cause.text.contains("91.63 GiB are held by other processes (pid 71 91.60 GiB), 3.18 GiB by the one that stopped"),
        "{}",
        cause.text
    );
    // Another rank of the same trial is the program's own affair.
    assert_eq!(judge(&facts(held, &[71, 500])).1.class, "memory.device_oom");
    // Without numbers of processes it is known only where the trial has no other.
    assert_eq!(judge(&facts("", &[500])).0, Outcome::Void);
    let (outcome, cause) = judge(&facts("", &[500, 501]));
    assert_eq!((outcome, cause.class.as_str(), cause.group), (Outcome::Failed, "memory.device_oom", CauseGroup::Target));
    assert!(cause.text.contains("91.63 GiB are held by other processes"), "{}", cause.text);
    // A10: nearly all of it is its own.
    let own = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB. GPU 3 has a total capacity of 184.00 GiB of which 2.21 GiB is \
               free. Including non-PyTorch memory, this process has 181.77 GiB memory in use.";
    let (outcome, cause) = judge(&TrialFacts { pids: vec![1], ..died(&raised("/app/w.py", 2, "load", own), 1, 99) });
    assert_eq!((outcome, cause.class.as_str()), (Outcome::Failed, "memory.device_oom"));
    // Words that any program may print are no device.
    assert_eq!(judge(&died(&raised("/app/w.py", 2, "load", "ValueError: CUDA out of memory"), 1, 99)).1.class, "python.ValueError");
}

#[test]
fn a_print_where_none_may_be_is_the_instrument_s() {
    // B02, B06: a value read inside a capture; B04: a logger inside a compiled graph; B09: a debugger without a terminal.
    for (error, words) in [
        ("RuntimeError: CUDA error: operation not permitted when stream is capturing", "while a CUDA graph was captured"),
        ("torch.AcceleratorError: CUDA error: operation not permitted when stream is capturing", "while a CUDA graph was captured"),
        ("torch._dynamo.exc.Unsupported: Logger not supported for non-export cases.", "torch compiles as one graph"),
        ("bdb.BdbQuit", "a debugger's prompt in a process without a terminal"),
    ] {
        let log = format!("Process SpawnProcess-1:\n{}", raised("/app/llama.py", 15, "forward", error));
        let facts = TrialFacts { edits: print_at("/app/llama.py", 15..16), ..died(&log, 1, 99) };
        let (_, cause) = judge(&facts);
        assert_eq!((cause.group, cause.blames.as_deref()), (CauseGroup::Instrument, Some("print")), "{error}");
        assert!(cause.text.contains(words), "{}", cause.text);
        let (_, own) = judge(&TrialFacts { edits: Vec::new(), ..facts });
        assert!(own.group == CauseGroup::Target && own.text.contains(words), "{}", own.text);
    }
}

#[test]
fn a_print_that_breaks_in_a_rank_is_blamed_through_the_parent_that_wraps_it() {
    let inner = raised("/app/sizing.py", 15, "profile", "NameError: name 'rest' is not defined");
    let spawn = format!(
        "Traceback (most recent call last):\n  File \"/app/launch.py\", line 5, in main\n\
         torch.multiprocessing.spawn.ProcessRaisedException: \n\n-- Process 1 terminated with the following error:\n{inner}"
    );
    let group = "  + Exception Group Traceback (most recent call last):\n  |   File \"/app/launch.py\", line 5, in main\n  | ExceptionGroup: many (2 sub-exceptions)\n  \
                 +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n    |   File \"/app/other.py\", line 2, in g\n    | KeyError: 'x'\n    \
                 +---------------- 2 ----------------\n    | Traceback (most recent call last):\n    |   File \"/app/sizing.py\", line 15, in profile\n    \
                 | NameError: name 'rest' is not defined\n    +------------------------------------\n";
    let worker = with_prefix(
        "(Worker rank=1 pid=9) ERROR 11-29 13:10:57 [multiproc.py:70] ",
        "  File \"/app/sizing.py\", line 15\n    print(f'{rest'\n          ^\nSyntaxError: '{' was never closed\n",
    );
    let chained = format!(
        "{inner}\nThe above exception was the direct cause of the following exception:\n\n{}",
        raised("/app/launch.py", 5, "main", "RuntimeError: initialization failed")
    );
    for log in [spawn.as_str(), group, worker.as_str(), chained.as_str()] {
        let facts = TrialFacts { edits: print_at("/app/sizing.py", 14..16), ..died(log, 1, 99) };
        let (outcome, cause) = judge(&facts);
        assert_eq!(
            (outcome, cause.group, cause.blames.as_deref()),
            (Outcome::Failed, CauseGroup::Instrument, Some("print")),
            "{log}{}",
            cause.text
        );
        let beside = TrialFacts { edits: print_at("/app/sizing.py", 20..22), ..facts };
        assert_eq!(judge(&beside).1.blames, None, "{log}");
    }
}

#[test]
fn what_a_scheduler_says_counts_where_the_end_agrees() {
    let line = |why: &str| format!("slurmstepd: error: *** JOB 123 ON node7 CANCELLED AT 2026-11-29T13:31:47{why} ***\n");
    for (why, class) in [
        (" DUE TO PREEMPTION", "scheduler.preempted"),
        (" DUE TO TIME LIMIT", "scheduler.time_limit"),
        (" DUE TO NODE FAILURE", "scheduler.node_fail"),
        ("", "scheduler.cancelled"),
    ] {
        let (outcome, cause) = judge(&TrialFacts { exit: None, signal: Some(15), ..died(&line(why), 0, 9) });
        assert_eq!((outcome, cause.class.as_str(), cause.group), (Outcome::Void, class, CauseGroup::Infrastructure));
        assert_eq!(judge(&died(&line(why), 143, 9)).1.class, class, "through a shell");
        // It ended by a code of its own: the words are of somebody else, or came too early.
        assert_eq!(judge(&died(&line(why), 3, 9)).1.class, "exit.code");
    }
    let killed = "slurmstepd: error: Detected 1 oom_kill event in StepId=123.0. Some of the step tasks have been OOM Killed.\n";
    let (outcome, cause) = judge(&TrialFacts { exit: None, signal: Some(9), ..died(killed, 0, 9) });
    assert_eq!((outcome, cause.class.as_str(), cause.group), (Outcome::Failed, "host_oom", CauseGroup::Target));
}

#[test]
fn the_machine_s_count_of_kills_names_nobody() {
    let memory = Some(MemoryEvents { oom_kills: 1, limit_bytes: None, source: "/proc/vmstat".into() });
    let killed = TrialFacts { memory: memory.clone(), exit: None, signal: Some(9), ..died("loading\n", 0, 9) };
    assert_eq!(judge(&killed).1.class, "host_oom");
    assert_eq!(judge(&TrialFacts { memory: memory.clone(), ..died("loading\n", 137, 9) }).1.class, "host_oom");
    // Who ended by a code of its own, or by another signal, was not killed.
    assert_eq!(judge(&TrialFacts { memory: memory.clone(), ..died("loading\n", 3, 9) }).1.class, "exit.code");
    assert_eq!(judge(&TrialFacts { memory, signal: Some(11), ..killed.clone() }).1.class, "signal.SIGSEGV");
    let group = Some(MemoryEvents { oom_kills: 1, limit_bytes: Some(1), source: "/sys/fs/cgroup/x/memory.events".into() });
    assert_eq!(judge(&TrialFacts { memory: group, ..killed }).1.class, "memory_limit");
}

#[test]
fn a_health_check_that_failed_once_is_no_failure() {
    // C11: under load the engine answers late, and goes on; C13's HTTP 200 is no success either.
    let log = "ERROR: Health check failed. Server couldn't get a response from detokenizer for last 20 seconds.\nserving\n";
    let facts = TrialFacts {
        ready: ready(1),
        expects_workload: true,
        workload: Some(WorkloadEnd { exit: Some(0), signal: None, timed_out: false, last_line: None }),
        stopped: stopped(50, StopWhy::Done),
        signal: Some(15),
        ended: Some(TimeNs(51 * S)),
        ..server(log)
    };
    assert_eq!(classify(&facts, &[]).outcome, Outcome::Completed);
}

#[test]
fn exit_zero_after_a_crash_is_no_completion_where_something_else_was_asked() {
    let crash = raised("/app/w.py", 2, "load", "OSError: no such file");
    // A program that had to become ready has not, whatever its code.
    let (outcome, cause) = judge(&died(&crash, 0, 99));
    assert_eq!((outcome, cause.class.as_str()), (Outcome::Failed, "python.OSError"));
    let (outcome, cause) = judge(&TrialFacts {
        ready: ready(1),
        expects_workload: true,
        under_load: true,
        ..died(&format!("ready\nserving\n{crash}"), 0, 99)
    });
    assert_eq!((outcome, cause.class.as_str()), (Outcome::Failed, "python.OSError"));
    // Of one that was only to end well, its code is the answer; that a traceback was its last word is shown.
    let alone = TrialFacts { expects_ready: false, ..died(&crash, 0, 99) };
    let found = classify(&alone, &[]);
    assert_eq!((found.outcome, found.cause), (Outcome::Completed, None));
    assert!(found.evidence.iter().any(|evidence| evidence.text.contains("the exit code is 0 all the same")), "{:?}", found.evidence);
    let caught = TrialFacts { expects_ready: false, ..died(&format!("{crash}retried, done\n"), 0, 99) };
    assert_eq!(classify(&caught, &[]).evidence.len(), 1, "one that was followed by something else was caught");
}
