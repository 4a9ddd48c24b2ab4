//! `bystander doctor`: what it says of a Python is of the one that was named, and it leaves nothing behind.

use std::fs;
use std::path::Path;

use bystander_testkit::{old_python, until};
use serde_json::Value;

use crate::world::{LIMIT, world};

fn of_python(found: &Value) -> (bool, String) {
    let findings = found["findings"].as_array().unwrap_or_else(|| panic!("no findings: {found:#}"));
    let finding = findings.iter().find(|finding| finding["name"] == "python3 for probes").expect("is there");
    (finding["works"].as_bool().expect("a flag"), finding["found"].as_str().expect("a text").to_owned())
}

#[test]
fn the_python_that_is_named_is_the_one_that_is_judged() {
    let world = world();
    let judged = |python: &str| of_python(&world.bystander(["doctor", "--json", "--python", python]).run().exits(0).json());
    let (works, found) = judged("/nonexistent");
    assert!(!works && found.contains("/nonexistent cannot be run"), "{found}");
    let (works, found) = judged("/bin/true");
    assert!(!works && found.contains("does not answer as a Python"), "{found}");
    let (works, found) = judged("/bin/false");
    assert!(!works && found.contains("ends with an error"), "{found}");
    if let Some(old) = old_python() {
        let (works, found) = judged(old.path.to_str().expect("text"));
        assert!(!works && found.contains("is older than 3.8"), "{found}");
    }
}

#[test]
fn a_doctor_that_is_killed_leaves_no_file() {
    let world = world();
    let inner = format!("(ulimit -f 0; exec {} doctor) | cat", env!("CARGO_BIN_EXE_bystander"));
    let ran = world.run(Path::new("/bin/sh")).args(["-c", &inner]).run();
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    let left = || fs::read_dir("/dev/shm").map_or(0, |all| all.flatten().filter(|item| is_doctors(&item.file_name())).count());
    until("no file of a doctor to be left", LIMIT, || left() == 0);
}

fn is_doctors(name: &std::ffi::OsStr) -> bool {
    name.to_string_lossy().contains("bystander-doctor")
}
