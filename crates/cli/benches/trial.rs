//! What a trial of `true` costs through the whole of `bystander run`, all checks on, beside a bare spawn of it and, where it is installed, hyperfine.
//!
//! `cargo bench -p bystander --bench trial`. The cost of one trial is the slope between a run of few and a run of many launches, so that the start of the
//! command and its report are not counted in it. `HYPERFINE` names the program where it is not on the path.

#![expect(clippy::print_stdout, reason = "a bench that only prints what it measured")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Launches in the shorter and the longer run: two cells a block.
const FEW: u32 = 20;
const MANY: u32 = 220;
/// How often each is measured; the median counts.
const TIMES: usize = 5;
/// What a trial may cost more than a bare spawn.
const LIMIT: Duration = Duration::from_millis(20);

fn main() {
    let world = tempfile::tempdir().expect("temporary folder");
    let bare = median(|| {
        let started = Instant::now();
        for _ in 0..MANY {
            let ran = Command::new("true").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).output();
            assert!(ran.expect("true runs").status.success());
        }
        started.elapsed() / MANY
    });
    let few = median(|| experiment(world.path(), FEW));
    let many = median(|| experiment(world.path(), MANY));
    let trial = many.saturating_sub(few) / (MANY - FEW);
    println!("bare spawn            {:8.3} ms", millis(bare));
    println!("trial of `true`       {:8.3} ms", millis(trial));
    println!("a trial costs more    {:8.3} ms (limit {:.0} ms)", millis(trial.saturating_sub(bare)), millis(LIMIT));
    println!("start and report      {:8.3} ms", millis(few.saturating_sub(trial * FEW)));
    match hyperfine(world.path()) {
        Some(mean) => println!("hyperfine, `true`     {:8.3} ms (measured time of the command alone: {:.3} ms)", mean.0, mean.1),
        None => println!("hyperfine is not installed (cargo install hyperfine@1.20.0)"),
    }
    assert!(trial.saturating_sub(bare) <= LIMIT, "a trial costs more than it may");
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn median(measure: impl Fn() -> Duration) -> Duration {
    let mut times: Vec<Duration> = (0..TIMES).map(|_| measure()).collect();
    times.sort_unstable();
    times[TIMES / 2]
}

/// Runs an experiment of so many launches from its start to its answers.
fn experiment(world: &Path, launches: u32) -> Duration {
    let file = world.join(format!("{launches}.toml"));
    let text = format!(
        "program.command = ['true']\nfactors.a = {{ x = {{}}, y = {{ env = {{ A = '1' }} }} }}\n\
         plan = {{ baseline = {{ a = 'x' }}, blocks = {}, stop = 'all', describe = true }}\n",
        launches / 2
    );
    fs::write(&file, text).expect("written");
    let started = Instant::now();
    let ran = Command::new(env!("CARGO_BIN_EXE_bystander"))
        .args(["run", "--new", "--json"])
        .arg(&file)
        .env("XDG_STATE_HOME", world.join("state"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("runs");
    let took = started.elapsed();
    assert!(matches!(ran.code(), Some(0 | 2)), "{ran}");
    took
}

/// The wall time of hyperfine for each run of `true`, and the mean that it reports, in milliseconds.
fn hyperfine(world: &Path) -> Option<(f64, f64)> {
    let program = std::env::var_os("HYPERFINE").unwrap_or_else(|| "hyperfine".into());
    let out = world.join("hyperfine.json");
    let runs = MANY.to_string();
    let started = Instant::now();
    let ran = Command::new(program)
        .args(["--shell=none", "--warmup", "0", "--runs", &runs, "--export-json"])
        .arg(&out)
        .args(["true"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .ok()?;
    let wall = millis(started.elapsed()) / f64::from(MANY);
    let report: serde_json::Value = serde_json::from_slice(&fs::read(out).ok()?).ok()?;
    ran.success().then_some((wall, report["results"][0]["mean"].as_f64()? * 1000.0))
}
