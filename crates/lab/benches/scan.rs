//! How fast a scanner reads a healthy engine's log: the path of every line that a program writes.

use std::hint::black_box;
use std::time::Duration;

use bystander_lab::cause::Scanner;
use bystander_model::evidence::Stream;
use bystander_model::ids::TimeNs;
use bystander_model::reading::LogBlock;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// As much is read at once.
const BLOCK: usize = 64 << 10;

/// A megabyte of what an engine prints while all is well: access lines, batches, statistics, and now and then a warning.
fn healthy() -> String {
    let lines = [
        "INFO:     127.0.0.1:53210 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK",
        "[2026-11-29 13:31:46 TP0] Decode batch. #running-req: 8, #token: 4211, token usage: 0.12, gen throughput (token/s): 812.44, #queue-req: 0, ",
        "[2026-11-29 13:31:46 TP0] Prefill batch. #new-seq: 1, #new-token: 512, #cached-token: 0, token usage: 0.10, #running-req: 7, #queue-req: 0, ",
        "(APIServer pid=4711) INFO 11-29 13:31:46 [loggers.py:248] Engine 000: Avg prompt throughput: 120.1 tokens/s, Avg generation throughput: 640.0 \
         tokens/s, Running: 8 reqs, Waiting: 0 reqs, GPU KV cache usage: 12.0%, Prefix cache hit rate: 3.1%",
        "Loading safetensors checkpoint shards:  50% Completed | 2/4 [00:03<00:03,  1.52s/it]",
        "[2026-11-29 13:31:46] WARNING server_args.py:1841: Cuda graph is disabled because of using torch native attention backend",
        "(EngineCore_DP0 pid=4720) DEBUG 11-29 13:31:46 [core.py:77] step 4711 took 12.1 ms, 8 sequences, 8 tokens",
    ];
    let mut text = String::new();
    for n in 0.. {
        // Access lines are most of a busy server's log.
        text.push_str(if n % 3 == 0 { lines[(n / 3) % lines.len()] } else { lines[0] });
        text.push('\n');
        if text.len() > 1 << 20 {
            break;
        }
    }
    text
}

/// Reads a log as a trial's is read: whole lines in blocks, not line by line.
fn read(log: &str) -> u64 {
    let mut scanner = Scanner::new();
    let (mut rest, mut first) = (log, 1);
    while !rest.is_empty() {
        let end = rest.len().min(BLOCK);
        let end = rest.as_bytes()[..end].iter().rposition(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
        let block = LogBlock { stream: Stream::Stdout, first, time: TimeNs(first), text: &rest[..end] };
        scanner.block(&block);
        first += block.count();
        rest = &rest[end..];
    }
    scanner.finish().lines
}

fn scan(criterion: &mut Criterion) {
    let log = healthy();
    let mut group = criterion.benchmark_group("scan");
    group.throughput(Throughput::Bytes(log.len() as u64)).measurement_time(Duration::from_secs(5)).sample_size(30);
    group.bench_function("healthy log", |bencher| bencher.iter(|| read(black_box(&log))));
    if let Ok(folder) = std::env::var("BYSTANDER_LOGS") {
        // Real logs, where somebody has some.
        let texts: Vec<String> = std::fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| std::fs::read_to_string(entry.path()).ok())
            .collect();
        let all = texts.concat();
        group.throughput(Throughput::Bytes(all.len() as u64));
        group.bench_function("logs of a folder", |bencher| bencher.iter(|| read(black_box(&all))));
    }
    group.finish();
}

criterion_group!(benches, scan);
criterion_main!(benches);
