//! How fast `bystander memory explain` reads a log of a gigabyte, beside `rg -c` on the same file in the same run.
//!
//! `cargo bench -p bystander --bench explain`. The log is the start of a server and what engines print while they serve, then one with prompts in it. Both are
//! run in turn, five times each; medians count, and the page cache is warm. `RG` names ripgrep where it is not on the path; without it only the command itself is timed.

#![expect(clippy::print_stdout, reason = "a bench that only prints what it measured")]

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const BYTES: u64 = 1_000_000_000;
const TIMES: usize = 5;
/// How much longer than `rg -c` it may take.
const LIMIT: f64 = 2.0;
/// Memory that it may take, whatever the size of the log, in KiB.
const MEMORY: u64 = 64 << 10;
/// What somebody asks ripgrep who looks for the same lines.
const PATTERNS: [&str; 2] = ["max_total_num_tokens|OutOfMemory|KV Cache", "max_total_num_tokens"];
/// What prompts are made of.
const WORDS: &str = "the of and model to memory in is server that error it was for on token as with out be at cuda this have from allocated or had by cache but some";
const START: &str = include_str!("../../memory/tests/fixtures/sglang-0.5.9-simulated-llama8b-tp2.log");

fn main() {
    compare("a server that serves", line);
    compare("a server that logs every request with its prompt", |number| if number % 3 == 0 { line(number) } else { request(number) });
}

/// Times both on a log of such lines.
fn compare(what: &str, line: fn(u64) -> String) {
    println!("{what}:");
    let world = tempfile::tempdir().expect("temporary folder");
    let log = world.path().join("server.log");
    write(&log, line).expect("a log");
    // Once for the page cache.
    explain(&log);
    let rg = std::env::var("RG").unwrap_or_else(|_| "rg".to_owned());
    for pattern in PATTERNS {
        let (mut ours, mut theirs, mut most) = (Vec::new(), Vec::new(), 0);
        for _ in 0..TIMES {
            let (took, memory) = explain(&log);
            ours.push(took);
            most = most.max(memory);
            theirs.extend(ripgrep(&rg, pattern, &log));
        }
        let took = median(&mut ours);
        println!(
            "memory explain, 1 GB           {:7.3} s, {:.0} MB/s, {most} KiB at most",
            took.as_secs_f64(),
            BYTES as f64 / 1e6 / took.as_secs_f64()
        );
        assert!(most <= MEMORY, "it takes more memory than it may");
        if theirs.is_empty() {
            println!("ripgrep is not on the path (RG names it): nothing to compare with");
            return;
        }
        let other = median(&mut theirs);
        let times = took.as_secs_f64() / other.as_secs_f64();
        println!("rg -c '{pattern}'  {:7.3} s: {times:.2} times as long (limit {LIMIT})", other.as_secs_f64());
    }
}

/// Writes the log.
fn write(path: &Path, line: fn(u64) -> String) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    out.write_all(START.as_bytes())?;
    let (mut written, mut number) = (START.len() as u64, 0_u64);
    while written < BYTES {
        number += 1;
        let line = line(number);
        written += line.len() as u64;
        out.write_all(line.as_bytes())?;
    }
    out.flush()
}

/// A line of an engine that serves.
fn line(number: u64) -> String {
    let time = format!("2026-11-29 {:02}:{:02}:{:02}", number / 36_000 % 24, number / 600 % 60, number / 10 % 60);
    let (a, b, c) = (number * 7919 % 1000, number * 104_729 % 100, number * 15_485_863 % 400_000);
    match number % 10 {
        0..4 => format!(
            "[{time} TP0] Decode batch, #running-req: {b}, #token: {c}, token usage: 0.{b:02}, cuda graph: True, gen throughput (token/s): {a}.{b:02}, #queue-req: 0, \n"
        ),
        4 | 5 => format!(
            "[{time} TP0] Prefill batch, #new-seq: 1, #new-token: {a}, #cached-token: {c}, token usage: 0.{b:02}, #running-req: {b}, #queue-req: 0, input throughput (token/s): {a}.{b:02}, cuda graph: False\n"
        ),
        6 => format!("[{time}] INFO:     10.0.{b}.{b}:{} - \"GET /health HTTP/1.1\" 200 OK\n", 30_000 + a),
        _ => format!("[{time}] INFO:     10.0.{b}.{b}:{} - \"POST /v1/chat/completions HTTP/1.1\" 200 OK\n", 30_000 + a),
    }
}

/// A request with its prompt: words in an order that does not repeat.
fn request(number: u64) -> String {
    let words: Vec<&str> = WORDS.split(' ').collect();
    let mut random = number;
    let mut prompt = String::new();
    for _ in 0..20 + number * 7919 % 600 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        prompt.push_str(words[usize::try_from(random >> 33).unwrap_or(0) % words.len()]);
        prompt.push(' ');
    }
    format!("[2026-11-29 10:00:00] Receive: obj=GenerateReqInput(rid='{number:032x}', text='{prompt}', input_ids=None, stream=False)\n")
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// The time of the command, and its most resident memory in KiB.
fn explain(log: &Path) -> (Duration, u64) {
    let started = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bystander"));
    let child = command.args(["memory", "explain", "--json"]).arg(log).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = child.spawn().expect("runs");
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    let ended = loop {
        if let Some(ended) = child.try_wait().expect("waited for") {
            break ended;
        }
        most = most.max(peak(&status).unwrap_or(0));
        std::thread::sleep(Duration::from_micros(500));
    };
    let took = started.elapsed();
    assert!(ended.success(), "{ended}");
    (took, most)
}

fn peak(status: &str) -> Option<u64> {
    let text = std::fs::read_to_string(status).ok()?;
    text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.trim().strip_suffix(" kB")?.parse().ok()
}

fn ripgrep(rg: &str, pattern: &str, log: &Path) -> Option<Duration> {
    let started = Instant::now();
    let ended = Command::new(rg).args(["-c", "--no-config", pattern]).arg(log).stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?;
    assert!(matches!(ended.code(), Some(0 | 1)), "{ended}");
    Some(started.elapsed())
}
