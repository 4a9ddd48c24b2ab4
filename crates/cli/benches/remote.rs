//! What another machine costs: hits over SSH a second, the memory of the agent, and trials of `true` there beside trials here.
//!
//! `cargo bench -p bystander --bench remote`, with an sshd on this machine. Loopback is no network: what is measured is what both ends do.

#![expect(clippy::print_stdout, reason = "a bench that only prints what it measured")]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use bystander_testkit::{Run, Sshd, World, until};

const PROGRAM: &str = env!("CARGO_BIN_EXE_bystander");
/// Hits that a program leaves.
const HITS: u64 = 2_000_000;
/// How fast they must arrive, a second.
const RATE: f64 = 100_000.0;
/// What an agent may hold at most, in bytes.
const MEMORY: u64 = 20_000_000;
/// Between two looks at the agent's memory.
const LOOK: Duration = Duration::from_millis(100);
/// Trials of `true`, in two cells.
const TRIALS: u32 = 100;
/// What a trial there may take longer.
const LIMIT: Duration = Duration::from_millis(20);

fn main() {
    let world = World::new(PROGRAM);
    let Some(sshd) = Sshd::start(&world, Some(Path::new(PROGRAM))) else {
        println!("there is no sshd");
        return;
    };
    let (rate, memory) = hits(&world, &sshd);
    println!("hits that arrive      {rate:10.0} a second (aim {RATE:.0})");
    println!("memory of the agent   {:10.1} MB (limit {:.0} MB)", memory as f64 / 1e6, MEMORY as f64 / 1e6);
    let text = format!(
        "program.command = ['true']\nfactors.a = {{ x = {{}}, y = {{ env = {{ A = '1' }} }} }}\n\
         plan = {{ baseline = {{ a = 'x' }}, blocks = {}, stop = 'all', describe = true }}\n",
        TRIALS / 2
    );
    world.write("true.toml", text);
    let here = median(|| once(world.bystander(["run", "--new", "--json", "true.toml", "--state", "here"])));
    let there = median(|| once(on(&world, &sshd, &["run", "--new", "--json", "true.toml", "--state", "there"])));
    let more = there.saturating_sub(here) / TRIALS;
    println!("{TRIALS} trials here       {:10.3} s", here.as_secs_f64());
    println!("{TRIALS} trials there      {:10.3} s, connecting and bringing back the record included", there.as_secs_f64());
    println!("a trial there takes   {:10.3} ms longer (limit {} ms)", more.as_secs_f64() * 1e3, LIMIT.as_millis());
    assert!(rate >= RATE && memory <= MEMORY && more <= LIMIT, "a limit is not kept");
}

fn on(world: &World, sshd: &Sshd, args: &[&str]) -> Run {
    world.bystander(["--on", "ssh://target", "--ssh-config"]).args([sshd.config()]).args(args)
}

/// Hits a second from the first to the last that arrives here, and the most that the agent held, in bytes.
fn hits(world: &World, sshd: &Sshd) -> (f64, u64) {
    // Slower than a ring fills, faster than the aim.
    world.write("far/app.py", format!("def hit(n):\n    x = sum(range(60))\n    return n\nfor n in range({HITS}):\n    hit(n)\n"));
    let probe = format!("app.py:3 {{n}} limit {HITS}");
    let mut running = on(world, sshd, &["watch", "-p", &probe, "--", "python3", "app.py"]).start();
    until("the first hit", Duration::from_secs(60), || running.stdout_length() > 1000);
    let begun = Instant::now();
    let mut memory = 0;
    // Looking for it takes time that the two ends need: the most that it ever held is kept by the system.
    let mut looked = Instant::now();
    until("the last hit", Duration::from_secs(600), || {
        if looked.elapsed() > LOOK {
            memory = memory.max(agent_memory(world));
            looked = Instant::now();
        }
        running.has_ended()
    });
    let took = begun.elapsed();
    let ran = running.wait();
    let arrived = ran.stdout.lines().count();
    println!("hits                  {arrived:10} of {HITS} arrived in {:.1} s; the others were dropped and counted", took.as_secs_f64());
    (arrived as f64 / took.as_secs_f64(), memory)
}

fn agent_memory(world: &World) -> u64 {
    let agents = world.processes().into_iter().filter(|process| process.command.ends_with("bystander agent"));
    let peak = |pid: u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse::<u64>().ok())
    };
    agents.filter_map(|process| peak(process.pid)).max().unwrap_or(0) * 1024
}

fn once(run: Run) -> Duration {
    let ran = run.run();
    assert!(matches!(ran.code, Some(0 | 2)), "{}\n{}", ran.stdout, ran.stderr);
    ran.took
}

fn median(measure: impl Fn() -> Duration) -> Duration {
    let mut times: Vec<Duration> = (0..3).map(|_| measure()).collect();
    times.sort_unstable();
    times[1]
}
