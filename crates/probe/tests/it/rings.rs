//! Rings seen from outside: killed processes, many threads, limits, several lives of one pid.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use bystander_model::hit::ReceiptState;
use bystander_model::value::Value;
use bystander_probe::{Drain, ProbeSpec};

use crate::world::{World, on_each, probe};

const LOOP: &str = r#"
import os, sys, threading, time

def step(number):
    double = number * 2
    return double

def main(mode):
    if mode == "kill":
        for number in range(10):
            step(number)
        print("done", flush=True)
        time.sleep(600)
    if mode == "threads":
        def work(base):
            for number in range(base, base + 500):
                step(number)
        threads = [threading.Thread(target=work, args=(index * 1000,)) for index in range(8)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    if mode == "again":
        step(1)
        if len(sys.argv) < 3:
            os.execv(sys.executable, [sys.executable, __file__, "again", "x"])
    if mode == "values":
        step(2**70)
        step(float("nan"))
        step("é" * 300)
        step(b"bytes")
    if mode == "fork":
        for number in range(3):
            pid = os.fork()
            if pid == 0:
                step(number)
                os.kill(os.getpid(), 9)
            os.waitpid(pid, 0)

if __name__ == "__main__":
    main(sys.argv[1])
"#;

fn spec(limit: Option<u64>) -> Vec<ProbeSpec> {
    vec![ProbeSpec { limit, ..probe("loop.py:6", None, &["number"]) }]
}

#[test]
fn a_killed_process_leaves_its_hits_and_receipt() {
    on_each(|python| {
        let world = World::new(python, &[("loop.py", LOOP)]);
        let probes = world.checked(&spec(None));
        let overlay = world.overlay(&probes);
        let mut child = world.command(&["loop.py", "kill"], &overlay.env(None)).stdout(Stdio::piped()).spawn().expect("starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("reads");
        let mut drain = Drain::new(overlay.ring_dir(), &probes);
        let first = drain.poll().expect("drains");
        child.kill().expect("kills");
        child.wait().expect("waits");
        let (rest, receipts) = drain.finish().expect("drains");
        let numbers: Vec<_> = first.iter().chain(&rest).map(|hit| (hit.seq, hit.values["number"].clone())).collect();
        assert_eq!(numbers, (0_u64..10).map(|number| (number, Value::Int(number.cast_signed()))).collect::<Vec<_>>());
        assert_eq!((receipts.len(), receipts[0].state, receipts[0].hits, receipts[0].dropped), (1, ReceiptState::Armed, Some(10), Some(0)));
        assert_eq!(receipts[0].pid, child.id());
    });
}

#[test]
fn counters_are_exact_over_threads_limits_forks_and_lives() {
    on_each(|python| {
        let world = World::new(python, &[("loop.py", LOOP)]);
        let run = world.run(&world.checked(&spec(Some(100))), &["loop.py", "threads"]);
        let receipt = &run.receipts[0];
        assert_eq!(
            (run.hits.len(), receipt.hits, receipt.dropped, receipt.state),
            (100, Some(4000), Some(3900), ReceiptState::Expired),
            "3.{}",
            python.minor
        );

        let run = world.run(&world.checked(&spec(Some(100_000))), &["loop.py", "threads"]);
        assert_eq!((run.hits.len(), run.receipts[0].hits, run.receipts[0].dropped), (4000, Some(4000), Some(0)), "3.{}", python.minor);
        let threads: std::collections::BTreeSet<_> = run.hits.iter().map(|hit| hit.tid).collect();
        assert!(threads.len() >= 2 && !threads.contains(&u64::from(run.receipts[0].pid)), "{threads:?}");

        let run = world.run(&world.checked(&spec(None)), &["loop.py", "again"]);
        assert_eq!((run.hits.len(), run.receipts.len(), run.receipts[0].hits), (2, 1, Some(2)), "3.{}: {:?}", python.minor, run.receipts);

        let run = world.run(&world.checked(&spec(None)), &["loop.py", "fork"]);
        assert_eq!((run.hits.len(), run.receipts.len()), (3, 4), "3.{}", python.minor);
        let parent = run.receipts.iter().filter(|receipt| receipt.state == ReceiptState::NotReached);
        assert_eq!(parent.count(), 1);
    });
}

#[test]
fn values_arrive_in_the_form_of_the_contract() {
    on_each(|python| {
        let world = World::new(python, &[("loop.py", LOOP)]);
        let run = world.run(&world.checked(&spec(None)), &["loop.py", "values"]);
        let shown: Vec<String> = run.hits.iter().map(|hit| serde_json::to_string(&hit.values["number"]).expect("prints")).collect();
        assert_eq!(shown[0], r#"{"type":"int","text":"1180591620717411303424"}"#);
        assert_eq!(shown[1], r#"{"type":"float","text":"nan"}"#);
        assert_eq!(shown[2], format!(r#"{{"type":"str","len":300,"text":"{}","truncated":true}}"#, "é".repeat(200)));
        assert_eq!(shown[3], r#"{"type":"bytes","len":5,"text":"b'bytes'"}"#);
    });
}

#[test]
fn ranks_are_told_by_expression_environment_or_name() {
    let program = "import multiprocessing, sys\n\nclass Rank:\n    def __init__(self, number):\n        self.number = number\n\n    def work(self):\n        x = 1\n        return x\n\n\
                   def run(number):\n    Rank(number).work()\n\nif __name__ == '__main__':\n    context = multiprocessing.get_context(sys.argv[1])\n    for number in (0, 1, 2):\n\
                   \u{20}       process = context.Process(target=run, args=(number,), name='TP%d' % (number + 10))\n        process.start()\n        process.join()\n";
    on_each(|python| {
        let world = World::new(python, &[("ranks.py", program)]);
        for method in ["fork", "spawn"] {
            let told = ProbeSpec { rank: Some("self.number".into()), ..probe("ranks:Rank.work", Some("x = 1"), &["x"]) };
            let run = world.run(&world.checked(&[told]), &["ranks.py", method]);
            let mut ranks: Vec<_> = run.hits.iter().map(|hit| hit.rank).collect();
            ranks.sort_unstable();
            assert_eq!(ranks, [Some(0), Some(1), Some(2)], "3.{} {method}", python.minor);
            let run = world.run(&world.checked(&[probe("ranks:Rank.work", Some("x = 1"), &["x"])]), &["ranks.py", method]);
            let ranks: Vec<_> = run.hits.iter().map(|hit| hit.rank).collect();
            assert_eq!(ranks, [Some(10), Some(11), Some(12)], "3.{} {method}", python.minor);
        }
    });
}
