//! What the search passes over changes no answer: real logs, whole and damaged, read line by line and through the search.

use bystander_model::memory::{CauseClass, Explained};
use proptest::prelude::*;

use super::{Asked, Explainer, Read, document, sieve};

/// Real logs, of both engines, that came to serve and that failed.
const LOGS: [&str; 9] = [
    include_str!("../../tests/fixtures/sglang-0.5.9-simulated-llama8b.log"),
    include_str!("../../tests/fixtures/sglang-0.5.9-simulated-llama8b-tp2-24GiB.log"),
    include_str!("../../tests/fixtures/sglang-0.5.9-cpu-tp2.log"),
    include_str!("../../tests/fixtures/sglang-0.5.23-cpu-warm.log"),
    include_str!("../../tests/fixtures/sglang-0.5.5-cpu.log"),
    include_str!("../../tests/fixtures/vllm-0.32.0-simulated-llama8b-eager.log"),
    include_str!("../../tests/fixtures/vllm-0.32.0-simulated-tp2-failed.log"),
    include_str!("../../tests/fixtures/vllm-0.32.0-cpu-tp2.log"),
    include_str!("../../tests/fixtures/vllm-0.32.0-cpu-share.log"),
];
/// Lines that are put between: what servers print while they serve, what ends them, and what looks like a text and is none.
const BETWEEN: [&str; 10] = [
    "[2026-11-29 13:31:46 TP0] Decode batch, #running-req: 1, #token: 900, token usage: 0.01, cuda graph: True, #queue-req: 0, ",
    "(APIServer pid=9) INFO 11-29 13:00:00 [loggers.py:127] Engine 000: Avg prompt throughput: 1.0 tokens/s, GPU KV cache usage: 12.3%",
    "[2026-11-29 13:31:46] Receive: obj=GenerateReqInput(rid='0', text='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB')",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.00 GiB is free.",
    "Traceback (most recent call last):",
    "  File \"/x/model_runner.py\", line 416, in init_memory_pool",
    "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: self.server_args.mem_fraction_static=0.55",
    "Killed",
    "avail mem, mem_usage, Load weight, KV Cach, GB, 12.00 GB free",
    "\u{1b}[36mserver-1  |\u{1b}[0m [2026-11-29 13:31:46 TP0] Memory pool end. avail mem=10.00 GB",
];

/// The answer where lines are taken one by one: every line, whatever it holds, or those that hold a text or are wanted for what stood before them.
fn line_by_line(log: &[u8], is_every: bool) -> Explained {
    let mut explainer = Explainer::new("log");
    let whole = memchr::memrchr(b'\n', log).map_or(0, |end| end + 1);
    explainer.bytes = log.len() as u64;
    for line in log[..whole].split_inclusive(|byte| *byte == b'\n') {
        explainer.lines += 1;
        if is_every || explainer.hungry || sieve::holds_plainly(line) {
            explainer.line(line);
        }
    }
    if whole < log.len() {
        let last = [&log[whole..], b"\n"].concat();
        explainer.is_cut = true;
        explainer.lines += 1;
        if is_every || explainer.hungry || sieve::holds_plainly(&last) {
            explainer.line(&last);
        }
    }
    answer(explainer.finish())
}

/// The answer through the search, in blocks of a size.
fn sieved(log: &[u8], block: usize) -> Explained {
    let mut explainer = Explainer::new("log");
    log.chunks(block.max(1)).for_each(|block| explainer.block(block));
    answer(explainer.finish())
}

fn answer(read: Read) -> Explained {
    document(vec![read], Vec::new(), &Asked::default())
}

fn same(log: &[u8], block: usize, is_every: bool) {
    let (one, other) = (line_by_line(log, is_every), sieved(log, block));
    let text = |explained: &Explained| serde_json::to_string_pretty(explained).expect("a document");
    let (one, other) = (text(&one), text(&other));
    let differ: Vec<_> = one.lines().zip(other.lines()).filter(|(one, other)| one != other).take(4).collect();
    assert!(one == other, "in blocks of {block}: {differ:#?}\n{}", String::from_utf8_lossy(log));
}

#[test]
fn real_logs_are_the_same_in_blocks_of_any_size() {
    for log in LOGS {
        for block in [1, 7, 4096, 1 << 20] {
            same(log.as_bytes(), block, true);
        }
    }
}

#[test]
fn what_somebody_asks_a_server_is_no_word_on_it() {
    let log = format!("{}{}\n", LOGS[0], BETWEEN[2]);
    let told = sieved(log.as_bytes(), 4096);
    let cause = told.servers[0].cause.as_ref().map(|cause| cause.class);
    assert_eq!(cause, Some(CauseClass::Healthy));
}

/// One way to damage a log: what, where, with what.
type Damage = (u8, usize, usize);

fn damaged(log: &str, damages: &[Damage]) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = log.split_inclusive('\n').map(|line| line.as_bytes().to_vec()).collect();
    for &(what, place, with) in damages {
        let count = lines.len().max(1);
        let at = place % count;
        let Some(line) = lines.get_mut(at) else { break };
        let inside = with % line.len().max(1);
        match what {
            0 => drop(lines.remove(at)),
            1 => {
                let again = line.clone();
                lines.insert(with % (lines.len() + 1), again);
            }
            2 => line.truncate(inside),
            3 => drop(line.drain(..inside)),
            // A line that was cut to nothing has no byte to change.
            4 => line.iter_mut().skip(inside).take(1).for_each(|byte| *byte = (with % 256) as u8),
            5 => lines.insert(at, format!("{}\n", BETWEEN[with % BETWEEN.len()]).into_bytes()),
            6 => lines.swap(at, with % count),
            7 => drop(line.splice(0..0, b"engine-1  | ".iter().copied())),
            _ => lines.truncate(at + 1),
        }
        if lines.is_empty() {
            break;
        }
    }
    lines.concat()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn damaged_logs_are_the_same_too(
        log in 0..LOGS.len(),
        damages in proptest::collection::vec((0..9_u8, any::<usize>(), any::<usize>()), 0..24),
        block in 1..9000_usize,
    ) {
        same(&damaged(LOGS[log], &damages), block, false);
    }
}
