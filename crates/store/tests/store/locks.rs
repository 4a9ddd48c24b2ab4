//! A live run is locked, its end by any signal unlocks it, and looking at a lock is no lock.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};

use bystander_model::ids::RunId;
use bystander_store::{LockError, RunLock};

use crate::fixture::{child, child_folder, state};

fn hold_until_killed(folder: &Path) {
    let state = state(folder);
    let _run = RunLock::acquire(&state, &RunId("r".into())).expect("the run");
    let _file = RunLock::acquire_file(&state, &folder.join("story.toml")).expect("the file");
    let mut out = std::io::stdout().lock();
    writeln!(out, "\nheld").and_then(|()| out.flush()).expect("the parent reads");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("the parent keeps the pipe open");
    panic!("was to be killed");
}

#[test]
fn a_live_run_is_locked_and_a_killed_one_is_not() {
    if let Some(folder) = child_folder() {
        hold_until_killed(&folder);
    }
    let folder = tempfile::tempdir().expect("folder");
    let (state, run, file) = (state(folder.path()), RunId("r".into()), folder.path().join("story.toml"));
    std::fs::write(&file, "").expect("a file");
    assert_eq!(RunLock::holder(&state, &run).expect("looks"), None);

    let mut holder = child("locks::a_live_run_is_locked_and_a_killed_one_is_not", folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a holder");
    let lines = BufReader::new(holder.stdout.take().expect("its output")).lines();
    assert!(lines.map(|line| line.expect("a line")).any(|line| line == "held"));

    let error = RunLock::acquire(&state, &run).expect_err("the run is locked");
    assert!(matches!(&error, LockError::Locked { pid: Some(pid), .. } if *pid == holder.id()), "{error}");
    assert_eq!(error.to_string(), format!("start run r: it is running already in process {}", holder.id()));
    let same_file = folder.path().join(".bystander/../story.toml");
    let error = RunLock::acquire_file(&state, &same_file).expect_err("the file is locked by any spelling");
    assert!(matches!(&error, LockError::Locked { pid: Some(pid), .. } if *pid == holder.id()), "{error}");
    let _other_file = RunLock::acquire_file(&state, &folder.path().join("fixed.toml")).expect("another file is free");
    let _other_run = RunLock::acquire(&state, &RunId("s".into())).expect("another run is free");
    assert_eq!(RunLock::holder(&state, &run).expect("looks").and_then(|holder| holder.pid), Some(holder.id()));

    holder.kill().expect("kills");
    holder.wait().expect("is gone");
    assert_eq!(RunLock::holder(&state, &run).expect("looks"), None);
    let lock = RunLock::acquire(&state, &run).expect("free again");
    assert!(RunLock::acquire(&state, &run).is_err(), "also within one process");
    drop(lock);
    let _again = RunLock::acquire(&state, &run).expect("dropping unlocks");
    let _file = RunLock::acquire_file(&state, &file).expect("free again");
}

#[test]
fn looking_never_makes_a_free_run_look_alive() {
    let folder = tempfile::tempdir().expect("folder");
    let (state, run) = (state(folder.path()), RunId("r".into()));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let lookers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        RunLock::holder(&state, &run).expect("looks");
                    }
                })
            })
            .collect();
        let results: Vec<_> = (0..500).map(|_| RunLock::acquire(&state, &run).map(drop)).collect();
        stop.store(true, Ordering::Relaxed);
        lookers.into_iter().for_each(|looker| looker.join().expect("ends"));
        for result in results {
            result.expect("nobody else runs it");
        }
    });
}
