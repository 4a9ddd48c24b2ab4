//! A long run of trials leaves nothing behind in the process that runs them.
//!
//! In a process of its own: the other tests open and close things at the same time.

use std::fs;
use std::process::Command;

use bystander_supervise::ExitStatus;

use crate::bench::{LIMIT, Told, World, until};

/// How the counting process is told from the one that starts it.
const INNER: &str = "SUPERVISE_COUNTS_LEAKS";

fn count(path: &str) -> usize {
    fs::read_dir(path).expect("lists").count()
}

#[test]
fn two_hundred_trials_leave_no_descriptor_no_thread_and_no_zombie() {
    if std::env::var_os(INNER).is_none() {
        let test = "leaks::two_hundred_trials_leave_no_descriptor_no_thread_and_no_zombie";
        let own = std::env::current_exe().expect("is known");
        let output = Command::new(own).args(["--exact", test]).env(INNER, "1").output().expect("runs");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let world = World::new();
    assert_eq!(Told::of(&mut world.start(&["true"])).status(), ExitStatus::Code(0));
    let (descriptors, threads) = (count("/proc/self/fd"), count("/proc/self/task"));
    for _ in 0..200 {
        assert_eq!(Told::of(&mut world.start(&["true"])).status(), ExitStatus::Code(0));
    }
    assert_eq!(count("/proc/self/fd"), descriptors);
    until("joined threads are gone from the list", LIMIT, || count("/proc/self/task") == threads);
    assert_eq!(bystander_supervise::tree::snapshot(std::process::id()), []);
    let children = fs::read_to_string(format!("/proc/self/task/{}/children", std::process::id())).expect("reads");
    assert_eq!(children, "", "zombies are listed too");
}
