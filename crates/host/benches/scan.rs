//! How fast output is looked through: metrics alone with twenty patterns, then everything that a trial's output passes through.
//!
//! The text is an engine's log, lines as vLLM and SGLang write them while they serve. `rg -c` with the same patterns is timed beside it, where it is
//! there. The goal is 500 MB a second and core; processor time is what is counted, so that others on the machine matter less.

use std::hint::black_box;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bystander_host::metrics::scan::Patterns;
use bystander_lab::cause::Scanner;
use bystander_memory::sglang::SglangReader;
use bystander_model::evidence::Stream;
use bystander_model::ids::TimeNs;
use bystander_model::reading::LogBlock;
use bystander_supervise::output::Lines;
use rustix::time::{ClockId, clock_gettime};

/// As much is read back at once.
const BLOCK: usize = 64 << 10;
const BYTES: usize = 64 << 20;

/// Lines of serving engines; one in some thousands is of interest to somebody.
fn log() -> String {
    let mut text = String::with_capacity(BYTES + 1024);
    let mut number = 0_u64;
    while text.len() < BYTES {
        number += 1;
        let (a, b) = (number * 7919 % 1000, number * 104_729 % 100);
        let line = match number % 8 {
            0 => format!("INFO:     127.0.0.1:{} - \"POST /v1/chat/completions HTTP/1.1\" 200 OK\n", 30000 + a),
            1 | 2 => format!(
                "[2026-11-29 13:31:{:02} TP0] Decode batch. #running-req: {b}, #token: {a}, token usage: 0.{b}, cuda graph: True, gen throughput (token/s): {a}.{b}, #queue-req: 0, \n",
                b % 60
            ),
            3 => format!(
                "[2026-11-29 13:31:{:02} TP0] Prefill batch. #new-seq: 1, #new-token: {a}, #cached-token: 0, token usage: 0.{b}, #queue-req: 0, \n",
                b % 60
            ),
            4 => format!(
                "(APIServer pid=2112) INFO 11-29 13:10:{:02} [loggers.py:273] Engine 000: Avg prompt throughput: {a}.{b} tokens/s, Avg generation throughput: {b}.0 tokens/s, GPU KV cache usage: {b}.0%\n",
                b % 60
            ),
            5 => format!("(EngineCore pid=2190) DEBUG 11-29 13:10:{:02} [core.py:{a}] step {number} took 0.0{b} s\n", b % 60),
            6 => format!("2026-11-29 13:31:{:02},{a:03} - worker - INFO - batch {number} done: {{'loss': 0.{a}, 'lr': 1e-4}}\n", b % 60),
            _ => format!("  {number}: weights.layers.{b}.mlp.gate_proj -> cuda:0 ({a} x 4096, bfloat16)\n"),
        };
        text.push_str(&line);
        if number.is_multiple_of(5003) {
            text.push_str(&format!("max_total_num_tokens={number}, chunked_prefill_size=8192, metric_{}={a}\n", number % 20));
        }
    }
    text
}

/// Twenty patterns as people write them.
fn patterns() -> Vec<String> {
    let mut patterns: Vec<String> = (0..10).map(|number| format!(r"metric_{number}=(\d+)")).collect();
    patterns.extend(
        [
            r"max_total_num_tokens=(\d+)",
            r"^Load weight end.*avail mem=([\d.]+) GB",
            r"Mean acceptance length: ([\d.]+)",
            r"GPU KV cache size: ([\d,]+) tokens",
            r"Available KV cache memory: ([\d.]+) GiB",
            r"init engine .* took ([\d.]+) s",
            r"(?i)warm-?up took (\d+)",
            r"Capture cuda graph end\. Time elapsed: ([\d.]+) s",
            r"TTFT.*p50[=: ]+([\d.]+)",
            r"throughput_total\s*[:=]\s*([\d.]+)$",
        ]
        .map(str::to_owned),
    );
    patterns
}

fn blocks(text: &str) -> Vec<LogBlock<'_>> {
    let (mut rest, mut first, mut blocks) = (text, 1, Vec::new());
    while !rest.is_empty() {
        let end = rest.get(..BLOCK.min(rest.len())).or(Some(rest)).and_then(|part| part.rfind('\n')).map_or(rest.len(), |end| end + 1);
        let block = LogBlock { stream: Stream::Stderr, first, time: TimeNs(0), text: &rest[..end] };
        first += block.count();
        blocks.push(block);
        rest = &rest[end..];
    }
    blocks
}

/// The lines as the capture hands them over.
fn as_read(blocks: &[LogBlock<'_>]) -> Vec<Lines> {
    let lines = blocks.iter().map(|block| Lines {
        stream: block.stream,
        first: block.first,
        count: block.count(),
        offset: 0,
        time_ns: block.time,
        text: block.text.as_bytes().to_vec(),
    });
    lines.collect()
}

/// The processor time of this process.
fn spent() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

fn timed(name: &str, bytes: usize, mut run: impl FnMut()) {
    let best = (0..7).map(|_| {
        let start = spent();
        run();
        spent() - start
    });
    told(name, bytes, best.min().unwrap_or_default());
}

#[expect(clippy::print_stdout, reason = "a benchmark's result")]
fn told(name: &str, bytes: usize, took: Duration) {
    println!("{name:44} {:8.0} MB/s", bytes as f64 / 1e6 / took.as_secs_f64());
}

fn main() {
    let text = log();
    let blocks = blocks(&text);
    let read = as_read(&blocks);
    let patterns = patterns();
    let all = || Patterns::new(patterns.iter().map(String::as_str));
    timed("UTF-8 is checked", text.len(), || {
        read.iter().for_each(|lines| drop(black_box(lines.text())));
    });
    timed("metrics, 20 patterns", text.len(), || {
        let mut metrics = all();
        blocks.iter().for_each(|block| metrics.block(block));
        black_box(metrics.matches());
    });
    timed("causes", text.len(), || {
        let mut scanner = Scanner::new();
        blocks.iter().for_each(|block| scanner.block(block));
        black_box(scanner.finish());
    });
    timed("memory reader", text.len(), || {
        let mut reader = SglangReader::new();
        blocks.iter().for_each(|block| reader.block(block));
        black_box(&reader);
    });
    timed("all of it, as a trial does", text.len(), || {
        let (mut metrics, mut scanner, mut reader) = (all(), Scanner::new(), SglangReader::new());
        for lines in &read {
            let text = lines.text();
            let block = LogBlock { stream: lines.stream, first: lines.first, time: lines.time_ns, text: &text };
            scanner.block(&block);
            reader.block(&block);
            metrics.block(&block);
        }
        black_box((metrics.matches(), scanner.finish(), &reader));
    });
    timed("line by line", text.len() / 8, || {
        let (mut metrics, mut scanner, mut reader) = (all(), Scanner::new(), SglangReader::new());
        for line in blocks[..blocks.len() / 8].iter().flat_map(|block| block.lines()) {
            scanner.line(&line);
            reader.line(&line);
            metrics.block(&LogBlock::of_line(&line));
        }
        black_box((metrics.matches(), scanner.finish(), &reader));
    });
    ripgrep(&text, &patterns);
}

/// `rg -c` with the same patterns, fed by a file.
fn ripgrep(text: &str, patterns: &[String]) {
    let Ok(mut file) = tempfile::NamedTempFile::new() else { return };
    if file.write_all(text.as_bytes()).is_err() {
        return;
    }
    let took = (0..3).filter_map(|_| {
        let mut rg = Command::new("rg");
        rg.args(["-c", "-j1", "--no-config"])
            .args(patterns.iter().flat_map(|pattern| ["-e", pattern]))
            .arg(file.path())
            .stdout(Stdio::null());
        let start = Instant::now();
        rg.status().ok().map(|_| start.elapsed())
    });
    if let Some(best) = took.min() {
        told("rg -c -j1, the same patterns", text.len(), best);
    }
}
