//! `examples/flaky`: about half of all launches fail, whatever the setting is. A few cannot tell, and how many could is said.

use std::path::Path;

use serde_json::Value;

use crate::world::{answer, assert_nothing_left, python_world, run, text, trials, verdict};

#[test]
fn about_half_failing_is_undetermined_with_the_number_that_would_decide() {
    let Some(world) = python_world() else { return };
    let folder = world.copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/flaky"), "flaky");
    let report = run(&world, &folder.join("flaky.toml")).run().exits(2).json();
    let answer = answer(&report, "factor:retries", "outcome");
    assert_eq!(answer["verdict"], Value::from("insufficient"), "{answer:#}");
    let failed: u64 = report["cells"].as_array().expect("cells").iter().filter_map(|cell| cell["failed"].as_u64()).sum();
    let launches = trials(&report).len() as u64;
    assert!(failed * 10 >= launches * 3 && failed * 10 <= launches * 7, "{failed} of {launches}");
    assert!(answer["needs"]["launches_per_cell"].as_u64().is_some_and(|launches| launches > 4), "{answer:#}");
    let rule = text(&answer["needs"]["rule"]);
    assert!(rule.contains("80 %") && rule.contains("Fisher"), "{answer:#}");
    assert_eq!(verdict(&report, "hypothesis:retries mend the start", "outcome"), "refuted");
    assert_eq!(report["differences"], Value::Array(Vec::new()), "the number of a launch is no difference");
    assert_nothing_left(&world);
}
