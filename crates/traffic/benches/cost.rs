//! What a streamed token costs the client, and how exact its times are, at a thousand streams; beside it, where it is installed, AIPerf.
//!
//! `cargo bench -p bystander-traffic` measures this client. `AIPERF=PATH cargo bench -p bystander-traffic` measures `aiperf` against the same server in the
//! same run; its `builtin` tokenizer needs the network once, and BENCH_TOKENIZER names a folder with another. The server is a process of its own; it notes when it wrote the first and the last token of every answer, by the same clock.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bystander_model::traffic::{Amount, Arrival, Endpoint, Load, Prompt, Summary};
use bystander_testkit::endpoint::{self, Step, answer};
use serde_json::Value;

const STREAMS: u32 = 1000;
const TOKENS: u32 = 100;
const PACE: Duration = Duration::from_millis(50);
/// The marginal cost of a token is the difference of two runs of these many requests: what a client takes to start is in neither.
const FEW: u64 = 1000;
const MANY: u64 = 3000;

fn main() {
    if std::env::args().nth(1).as_deref() == Some("--server") {
        return server();
    }
    let mut server = Server::start();
    // One core is what the client has to be content with, and it is not the server's.
    let all = pin(1);
    say(&format!("{STREAMS} streams at a time, {TOKENS} tokens each, one every {PACE:?}: {} tokens/s", u64::from(STREAMS) * 1000 / 50));
    let few = ours(&server.url, FEW);
    let many = ours(&server.url, MANY);
    let tokens = (many.summary.output_tokens - few.summary.output_tokens) as f64;
    let own = (many.cpu_s - few.cpu_s) * 1e6 / tokens;
    let busy = many.summary.client.cpu_s / many.summary.wall_s;
    say(&format!("bystander: {own:.2} \u{b5}s of processor time a token; {:.1} % of one core; {:.2} s in all", busy * 100.0, many.cpu_s));
    let lag = many.summary.client_lag.expect("starts");
    let round = many.summary.client.clock_error.expect("rounds");
    say(&format!(
        "bystander: a round of its loop took {:.3} ms at p99, {:.3} ms at most; starts {:.3} ms late at p99",
        round.p99 * 1e3,
        round.max * 1e3,
        lag.p99 * 1e3
    ));
    say(&timing(&many.rows, &server.finish()));
    if let Some(aiperf) = std::env::var_os("AIPERF") {
        rustix::thread::sched_setaffinity(None, &all).expect("all cores");
        let server = Server::start();
        let few = aiperf_cpu(Path::new(&aiperf), &server.url, FEW);
        let many = aiperf_cpu(Path::new(&aiperf), &server.url, MANY);
        let other = (many - few) * 1e6 / tokens;
        say(&format!("aiperf: {other:.2} \u{b5}s of processor time a token; {many:.2} s in all"));
        say(&format!("ratio: {:.1}", other / own));
    }
}

/// Keeps this thread, and what it starts, on one core, where there are several; answers on which it was.
fn pin(core: usize) -> rustix::thread::CpuSet {
    let all = rustix::thread::sched_getaffinity(None).expect("its cores");
    if all.is_set(core) {
        let mut one = rustix::thread::CpuSet::new();
        one.set(core);
        rustix::thread::sched_setaffinity(None, &one).expect("a core");
    }
    all
}

/// A benchmark has nobody else to print for it.
fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// A run of this client.
struct Ours {
    summary: Summary,
    /// Processor time of the whole run, in seconds.
    cpu_s: f64,
    rows: Vec<Value>,
}

fn processor_time() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn ours(url: &str, requests: u64) -> Ours {
    let folder = tempfile::tempdir().expect("a folder");
    let prompts = folder.path().join("prompts");
    let numbers = (0..requests).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "{requests}-{number}");
        text
    });
    std::fs::write(&prompts, numbers).expect("prompts");
    let load = Load {
        url: url.to_owned(),
        model: None,
        endpoint: Endpoint::Chat,
        arrival: Arrival::Closed { concurrency: STREAMS },
        amount: Amount::Requests(requests),
        warmup: None,
        prompt: Prompt::File { path: prompts },
        output_tokens: TOKENS,
        ignore_eos: false,
        timeout_s: 600.0,
        errors: 0.0,
        seed: 1,
        api_key_env: None,
        body: serde_json::Map::new(),
    };
    let before = processor_time();
    let summary = bystander_traffic::run(&load, folder.path(), &std::sync::Arc::default(), &mut |_| {}).expect("a run");
    let cpu_s = processor_time() - before;
    assert_eq!((summary.failure.as_deref(), summary.completed), (None, requests));
    let rows = std::fs::read_to_string(folder.path().join("requests.jsonl")).expect("rows");
    Ours { summary, cpu_s, rows: rows.lines().map(|row| serde_json::from_str(row).expect("a row")).collect() }
}

/// How far the client's times of first and last tokens lie from the times at which the server wrote them.
fn timing(rows: &[Value], served: &BTreeMap<String, (u64, u64)>) -> String {
    let mut errors: Vec<f64> = Vec::new();
    for row in rows {
        let (first, last) = served[&format!("{MANY}-{}", row["request"])];
        for (seen, written) in [("first_ns", first), ("last_ns", last)] {
            errors.push((row[seen].as_u64().expect("a time") as f64 - written as f64) / 1e6);
        }
    }
    errors.sort_by(f64::total_cmp);
    let at = |share: f64| errors[((errors.len() - 1) as f64 * share) as usize];
    format!(
        "bystander: seen after written, {} tokens: {:.3} ms at least, {:.3} ms median, {:.3} ms p99, {:.3} ms at most",
        errors.len(),
        at(0.0),
        at(0.5),
        at(0.99),
        at(1.0)
    )
}

/// Processor time of `aiperf` and all of its processes, in seconds.
fn aiperf_cpu(aiperf: &Path, url: &str, requests: u64) -> f64 {
    let folder = tempfile::tempdir().expect("a folder");
    let before = children_time();
    let ran = Command::new(aiperf)
        .args(["profile", "--model", "mock", "--url", url, "--endpoint-type", "chat", "--streaming", "--ui", "none"])
        .arg("--tokenizer")
        .arg(std::env::var_os("BENCH_TOKENIZER").unwrap_or_else(|| "builtin".into()))
        .args(["--concurrency", &STREAMS.to_string(), "--request-count", &requests.to_string()])
        .args(["--synthetic-input-tokens-mean", "16", "--output-tokens-mean", &TOKENS.to_string(), "--random-seed", "1"])
        .arg("--artifact-dir")
        .arg(folder.path())
        .current_dir(folder.path())
        .output()
        .expect("aiperf runs");
    assert!(ran.status.success(), "aiperf: {}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    children_time() - before
}

/// Processor time of children that ended, and of theirs, in seconds.
fn children_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("stat");
    let after = stat.rsplit_once(')').expect("a name").1;
    let fields: Vec<&str> = after.split_whitespace().collect();
    let ticks: f64 = [13, 14].iter().map(|index| fields[*index].parse::<f64>().expect("ticks")).sum();
    ticks / rustix::param::clock_ticks_per_second() as f64
}

/// The server, as a process of its own.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this executable"))
            .arg("--server")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a server");
        let mut url = String::new();
        let mut lines = BufReader::new(child.stdout.take().expect("its output"));
        lines.read_line(&mut url).expect("its address");
        child.stdout = Some(lines.into_inner());
        Self { child, url: url.trim().to_owned() }
    }

    /// Ends it; answers when it wrote the first and the last token of each answer.
    fn finish(&mut self) -> BTreeMap<String, (u64, u64)> {
        drop(self.child.stdin.take());
        let mut text = String::new();
        self.child.stdout.take().expect("its output").read_to_string(&mut text).expect("its account");
        let row = |line: &str| {
            let mut words = line.split(' ');
            let mut number = || words.next().expect("three words");
            (number().to_owned(), (number().parse().expect("a time"), number().parse().expect("a time")))
        };
        text.lines().map(row).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(5) && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::yield_now();
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Serves until standard input ends, and then says when each answer was written.
fn server() {
    pin(0);
    let endpoint = endpoint::Endpoint::start(Box::new(|asked| {
        if asked.head.starts_with("GET") {
            return vec![Step::Send(answer(200, "application/json", r#"{"object":"list","data":[{"id":"mock","object":"model"}]}"#))];
        }
        Step::good(TOKENS, PACE, 16)
    }));
    say(&endpoint.url());
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    for served in endpoint.served() {
        say(&format!("{} {} {}", served.prompt.replace(' ', "_"), served.first_ns, served.last_ns));
    }
}
