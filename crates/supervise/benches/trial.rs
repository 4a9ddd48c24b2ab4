//! What a trial costs: `true` under a keeper against a bare spawn of it, and the reading back of many lines.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use bystander_supervise::{Canceller, KeeperProgram, OutputPaths, Trial, TrialEvent, TrialSpec};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn spec(directory: &Path, argv: &[&str]) -> TrialSpec {
    TrialSpec {
        command: bystander_supervise::Command {
            argv: argv.iter().map(Into::into).collect(),
            env: BTreeMap::from([("PATH".into(), "/bin:/usr/bin".into())]),
            cwd: directory.to_owned(),
            marker: "bench".into(),
            remove_on_exit: Vec::new(),
        },
        keeper: KeeperProgram { exe: env!("CARGO_BIN_EXE_bystander-keeper").into(), args: vec![KeeperProgram::ARGUMENT.into()] },
        output: OutputPaths { stdout: directory.join("stdout"), stderr: directory.join("stderr") },
        hidden: Vec::new(),
        ready: None,
        canceller: Canceller::new(),
        namespace: None,
    }
}

/// Runs a trial from spawn to the last process gone, and returns how many lines it told.
fn run(directory: &Path, argv: &[&str]) -> usize {
    let mut trial = Trial::start(spec(directory, argv)).expect("starts");
    let mut lines = 0;
    while trial.exit().is_none() {
        lines += usize::from(matches!(trial.next(Duration::from_secs(60)), Some(TrialEvent::Line(_))));
    }
    trial.finish(Duration::ZERO, |event| lines += usize::from(matches!(event, TrialEvent::Line(_))));
    lines
}

fn spawn(c: &mut Criterion) {
    let world = tempfile::tempdir().expect("temporary directory");
    let mut group = c.benchmark_group("true");
    group.bench_function("bare", |b| {
        b.iter(|| Command::new("/bin/true").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).output().expect("runs"));
    });
    group.bench_function("trial", |b| b.iter(|| black_box(run(world.path(), &["true"]))));
    group.finish();
}

fn lines(c: &mut Criterion) {
    let world = tempfile::tempdir().expect("temporary directory");
    let mut group = c.benchmark_group("lines");
    group.sample_size(10).throughput(Throughput::Elements(1_000_000));
    group.bench_function("million", |b| b.iter(|| assert_eq!(run(world.path(), &["seq", "1000001", "2000000"]), 1_000_000)));
    group.finish();
}

criterion_group!(benches, spawn, lines);
criterion_main!(benches);
