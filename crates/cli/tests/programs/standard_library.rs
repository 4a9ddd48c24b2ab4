//! Tests of the standard library, probed in what they test: as many run, and each ends as without.

use std::process::Command;

use bystander_testkit::{Mark, Python, pythons, skip};

use crate::experiment::{Experiment, Found, shown, world};

/// The interpreters that ship a test of their own library.
fn with_test(module: &str) -> Vec<&'static Python> {
    let ships = |python: &&Python| {
        let asked = Command::new(&python.path).args(["-B", "-c", &format!("import {module}")]).output();
        asked.is_ok_and(|answer| answer.status.success())
    };
    let found: Vec<_> = pythons().into_iter().filter(ships).collect();
    if found.is_empty() {
        skip(&format!("no Python here ships {module} (Debian: libpython3-testsuite)"), Mark::Machine);
    }
    found
}

#[test]
fn the_tests_of_json_end_the_same_with_a_probe_in_its_decoder() {
    for python in with_test("test.test_json") {
        let world = world();
        let found = Experiment {
            command: &[shown(&python.path), "-m", "unittest", "-v", "test.test_json"],
            ready: None,
            workload: None,
            at: "json.decoder:JSONDecoder.decode",
            after: None,
            capture: &["s", "len(s)"],
            count: "{ log = '^Ran (\\d+) tests? in' }",
        }
        .run(&world);
        assert_same_tests(python, &found, 100);
    }
}

#[test]
fn the_tests_of_bisect_end_the_same_with_a_probe_in_it() {
    for python in with_test("test.test_bisect") {
        let world = world();
        let found = Experiment {
            command: &[shown(&python.path), "-m", "test", "-v", "--fail-env-changed", "test_bisect"],
            ready: None,
            workload: None,
            at: "bisect:bisect_right",
            after: None,
            capture: &["lo", "hi", "x"],
            count: "{ log = '^Ran (\\d+) tests? in' }",
        }
        .run(&world);
        assert_same_tests(python, &found, 10);
    }
}

fn assert_same_tests(python: &Python, found: &Found, least: u64) {
    let version = python.version;
    assert_eq!(found.count("none"), found.count("probe"), "{version:?}");
    assert!(found.count("probe") >= least, "only {} tests of {version:?}", found.count("probe"));
    assert!(found.hits() > 0, "{version:?}: {:?}", found.receipts());
    let (bare, probed) = (results(found, "none"), results(found, "probe"));
    assert!(bare.len() as u64 >= least, "{version:?}: {bare:?}");
    assert_eq!(bare, probed, "{version:?}");
}

/// Every test with its result, as `-v` tells it on either stream; sorted, because a runner may shuffle.
fn results(found: &Found, instrument: &str) -> Vec<String> {
    let text = found.output(instrument, "stdout") + &found.output(instrument, "stderr");
    let mut results: Vec<String> = text
        .lines()
        .filter(|line| line.contains(" ... ") || line.starts_with("OK") || line.starts_with("FAILED"))
        .map(str::to_owned)
        .collect();
    results.sort();
    results
}
